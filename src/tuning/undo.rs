//! Taking the last kept set of changes back, and carrying out again what was taken back.

use super::apply::{Cause, carry_out};
use super::back::Work;
use super::change::{ApplyReport, Change, ChangeReport, Outcome};
use super::control::QueueControl;
use super::journal::{Entry, Journal, JournalError, Stage};
use super::keep::{self, Kept};
use super::plan;
use super::tag_depth;
use crate::sys::attr::{self, AttrError};
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// What taking back an entry came to.
#[derive(Clone, Debug)]
pub struct Undone {
    /// The device.
    pub device: KernelName,
    /// What became of each setting. One that somebody else changed meanwhile is `refused` and left alone.
    pub report: ApplyReport,
    /// What sort of refusal let nothing be undone; None if it was.
    pub cause: Option<Cause>,
    /// The same in words.
    pub why: Option<String>,
    /// What could not be noted in the journal, in words.
    pub warning: Option<String>,
}

impl Undone {
    fn refused(device: KernelName, cause: Cause, why: String) -> Self {
        Self { device, report: ApplyReport::default(), cause: Some(cause), why: Some(why), warning: None }
    }
}

/// The last entry that can be taken back, of the devices that `of` accepts. One that was refused, undone, or moved
/// nothing is passed over, and so is one that is held: whoever holds it puts it back.
#[must_use]
pub fn latest(entries: &[Entry], of: impl Fn(&DeviceId) -> bool) -> Option<&Entry> {
    entries.iter().rev().find(|e| {
        let something = match e.stage {
            Stage::Open => true,
            Stage::Kept => e.moved.iter().any(|m| plan::restorable(&m.name)),
            Stage::Held | Stage::RolledBack | Stage::PutBack | Stage::Undone | Stage::Closed => false,
        };
        something && of(&e.device)
    })
}

/// The entry that a redo would carry out again, of the devices that `of` accepts: the one undone last, unless a new
/// change of its device came after.
#[must_use]
pub fn latest_undone(entries: &[Entry], of: impl Fn(&DeviceId) -> bool) -> Option<&Entry> {
    let redone = |e: &Entry| {
        entries.iter().any(|later| {
            later.redo_of.as_ref() == Some(&e.id) && matches!(later.stage, Stage::Kept | Stage::Undone)
        })
    };
    let overtaken = |e: &Entry| {
        entries.iter().any(|later| {
            later.began > e.undone_at
                && later.redo_of.is_none()
                && matches!(later.stage, Stage::Kept | Stage::Undone)
                && later.device.same_device(&e.device)
        })
    };
    entries
        .iter()
        .filter(|e| e.stage == Stage::Undone && of(&e.device) && !redone(e) && !overtaken(e))
        .max_by_key(|e| e.undone_at)
}

/// Puts back what `entry` moved, side effects included, and nothing that somebody else has changed since. All of it, or
/// nothing if the kernel refuses a part. Claimed in the journal before the first write, so that one that is interrupted
/// is finished by `restore`, and noted after the last.
pub fn undo(journal: &Journal, queue: &dyn QueueControl, entry: &Entry) -> Undone {
    let device = entry.device.name.clone();
    let now = queue.read();
    if now.attributes.is_empty() {
        let why = format!("{device} is gone, and its settings with it");
        return Undone::refused(device, Cause::Gone, why);
    }
    let work = Work::plan(entry, &now);
    let nothing_ours = work.back.is_empty() && !work.foreign.is_empty();
    if let Err(e) = journal.claim(entry, None) {
        let cause = match e {
            JournalError::Busy { .. } | JournalError::Settled(_) => Cause::Gone,
            JournalError::Io { .. } | JournalError::NotTrusted { .. } => Cause::Journal,
        };
        return Undone::refused(device, cause, e.to_string());
    }
    let applied = carry_out(queue, &device, &work.writes(), now, &mut |_, _| Ok(()));
    let mut report = applied.report;
    // What was interrupted, or moved by others since, may read as it did before while the tags do not follow.
    let settled = applied.written.iter().any(|name| name == "scheduler" || name == "nr_requests");
    if applied.cause.is_none() && !settled && tag_depth::concerns(entry) {
        let short = |e: AttrError| format!("{device} nr_requests: {}", attr::explain(&e.source));
        report.not_restored.extend(tag_depth::renew(queue).err().map(short));
    }
    report.changes.retain(|c| c.outcome == Outcome::Refused || work.back.iter().any(|b| b.name == c.name));
    report.changes.extend(work.foreign.iter().map(|f| f.report(&device)));
    // A value that the driver chose may be one that the kernel does not take from anybody (nr_requests below 4).
    let short = |c: &&ChangeReport| c.outcome == Outcome::Clamped;
    report.not_restored.extend(report.changes.iter().filter(short).map(|c| {
        let now = c.effective.as_deref().unwrap_or("absent");
        format!(
            "{device} {} was {} and is {now}: the kernel does not take the former value",
            c.name, c.requested
        )
    }));
    let cause = applied.cause.or(nothing_ours.then_some(Cause::Value));
    let why = applied.why.or_else(|| nothing_ours.then(|| work.foreign_words(&device)));
    let noted = match (cause.is_none(), report.not_restored.is_empty()) {
        (true, _) => journal.put_back(&entry.id),
        (false, true) => journal.release(&entry.id),
        // Neither as it was nor taken back: the claim stays, and `restore` finishes it.
        (false, false) => Ok(()),
    };
    Undone { device, report, cause, why, warning: noted.err().map(|e| e.to_string()) }
}

/// Carries out an undone entry again, as a kept set of its own: noted before and after like any other, so that it can
/// be undone and, if it is interrupted, is put back by `restore`. `time` is the wall clock in seconds since 1970.
pub fn redo(journal: &Journal, queue: &dyn QueueControl, entry: &Entry, time: u64) -> Kept {
    keep::apply_again(journal, queue, entry, time)
}

/// What [`undo`] of an entry would write to a queue in this state, and what it would leave alone because somebody else
/// changed it.
#[must_use]
pub fn preview(entry: &Entry, now: &QueueState) -> (Vec<Change>, Vec<ChangeReport>) {
    let work = Work::plan(entry, now);
    let foreign = work.foreign.iter().map(|f| f.report(&entry.device.name)).collect();
    (work.back, foreign)
}
