//! Taking the last kept set of changes back.

use super::apply::{Cause, carry_out};
use super::change::{ApplyReport, Change, ChangeReport, Outcome};
use super::control::QueueControl;
use super::journal::{Entry, Journal, Moved, Stage};
use super::plan;
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

/// The last entry that can be taken back, of the devices that `of` accepts. One that was refused, undone, or moved
/// nothing is passed over.
#[must_use]
pub fn latest(entries: &[Entry], of: impl Fn(&DeviceId) -> bool) -> Option<&Entry> {
    entries.iter().rev().find(|e| {
        let something = match &e.stage {
            Stage::Open => true,
            Stage::Kept(moved) => moved.iter().any(|m| plan::restorable(&m.name)),
            Stage::RolledBack | Stage::Undone => false,
        };
        something && of(&e.device)
    })
}

/// Puts back what `entry` moved, side effects included, and nothing that somebody else has changed since. All of it, or
/// nothing if the kernel refuses a part. Notes it in the journal.
pub fn undo(journal: &Journal, queue: &dyn QueueControl, entry: &Entry) -> Undone {
    let device = entry.device.name.clone();
    let now = queue.read();
    if now.attributes.is_empty() {
        let why = Some(format!("{device} is gone, and its settings with it"));
        return Undone {
            device,
            report: ApplyReport::default(),
            cause: Some(Cause::Gone),
            why,
            warning: None,
        };
    }
    let work = Work::plan(entry, &now);
    let nothing_ours = work.back.is_empty() && !work.foreign.is_empty();
    let mut all = work.back.clone();
    all.extend(work.hold.iter().cloned());
    // The entry itself holds the values to go back to: cut off here, the next undo goes on from where this one was.
    let applied = carry_out(queue, &device, &all, now.clone(), &mut |_, _| Ok(()));
    let mut report = applied.report;
    report.changes.retain(|c| c.outcome == Outcome::Refused || work.back.iter().any(|b| b.name == c.name));
    report.changes.extend(work.foreign.iter().map(|f| f.report(&device)));
    let cause = applied.cause.or(nothing_ours.then_some(Cause::Value));
    let why = applied.why.or_else(|| nothing_ours.then(|| work.foreign_words(&device)));
    let warning =
        if cause.is_none() { journal.mark_undone(&entry.id).err().map(|e| e.to_string()) } else { None };
    Undone { device, report, cause, why, warning }
}

/// What [`undo`] of an entry would write to a queue in this state, and what it would leave alone because somebody else
/// changed it.
#[must_use]
pub fn preview(entry: &Entry, now: &QueueState) -> (Vec<Change>, Vec<ChangeReport>) {
    let work = Work::plan(entry, now);
    let foreign = work.foreign.iter().map(|f| f.report(&entry.device.name)).collect();
    (work.back, foreign)
}

/// A setting that is not as it was left.
#[derive(Debug)]
struct Foreign {
    name: String,
    wanted: String,
    left: Option<String>,
    now: Option<String>,
}

impl Foreign {
    fn words(&self) -> String {
        let shown = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_owned());
        format!(
            "is {} now, not the {} that blktune left; something else changed it (tuned, a udev rule, a person?); \
             not touched",
            shown(&self.now),
            shown(&self.left)
        )
    }

    fn report(&self, device: &KernelName) -> ChangeReport {
        ChangeReport {
            device: device.clone(),
            name: self.name.clone(),
            requested: self.wanted.clone(),
            before: self.now.clone(),
            effective: self.now.clone(),
            outcome: Outcome::Refused,
            message: Some(self.words()),
        }
    }
}

/// What an undo has to do.
#[derive(Debug, Default)]
struct Work {
    /// To go back.
    back: Vec<Change>,
    /// To stay as it is, against what the writes above would move.
    hold: Vec<Change>,
    /// To be left alone.
    foreign: Vec<Foreign>,
}

impl Work {
    fn foreign_words(&self, device: &KernelName) -> String {
        let words: Vec<String> =
            self.foreign.iter().map(|f| format!("{device} {} {}", f.name, f.words())).collect();
        words.join("; ")
    }

    fn plan(entry: &Entry, now: &QueueState) -> Self {
        let moved = moved(entry, now);
        let scheduler = moved.iter().find(|m| m.name == "scheduler");
        let is_as_left = |m: &Moved| now.effective(&m.name) == m.effective;
        let switching = scheduler.is_some_and(is_as_left);
        let mut work = Self::default();
        let wrote = |name: &str| entry.planned.iter().any(|c| c.name == name);
        for m in moved.iter().filter(|m| !m.name.starts_with("iosched/") || scheduler.is_none()) {
            let ours = plan::puts_back(&m.name, now, wrote);
            let Some(wanted) = m.before.clone().filter(|_| ours) else { continue };
            let derived = m.name == "nr_requests" && !entry.planned.iter().any(|c| c.name == m.name);
            if now.effective(&m.name).as_ref() == Some(&wanted)
                || (derived && scheduler.is_some() && !switching)
            {
                // There already; or moved by a switch of scheduler that is not ours to take back.
                continue;
            }
            if is_as_left(m) {
                work.back.push(Change { name: m.name.clone(), requested: wanted });
            } else {
                let left = m.effective.clone();
                work.foreign.push(Foreign {
                    name: m.name.clone(),
                    wanted,
                    left,
                    now: now.effective(&m.name),
                });
            }
        }
        if switching {
            // They went with the scheduler and come back with its defaults.
            for (name, value) in entry.before.iter().filter(|(n, _)| n.starts_with("iosched/")) {
                work.back.push(Change { name: name.clone(), requested: value.clone() });
            }
        }
        for name in ["nr_requests", "read_ahead_kb"] {
            let Some(value) = now.effective(name) else { continue };
            // A number of requests that fits this scheduler may be too many for the former one.
            let fits = name != "nr_requests" || !switching || entry.before.get(name) == Some(&value);
            if fits && !work.back.iter().any(|c| c.name == name) {
                work.hold.push(Change { name: name.to_owned(), requested: value });
            }
        }
        work
    }
}

/// What the entry moved. For one that was interrupted: what differs now from what was noted before, since nobody knows
/// how far it came.
fn moved(entry: &Entry, now: &QueueState) -> Vec<Moved> {
    match &entry.stage {
        Stage::Kept(moved) => moved.clone(),
        Stage::Open | Stage::RolledBack | Stage::Undone => entry
            .before
            .iter()
            .filter_map(|(name, before)| {
                let effective = now.effective(name);
                (effective.as_ref() != Some(before)).then(|| Moved {
                    name: name.clone(),
                    before: Some(before.clone()),
                    effective,
                })
            })
            .collect(),
    }
}
