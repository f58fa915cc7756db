//! Carrying out a set of changes on one queue: all of it, read back, or none of it.

use std::io;
use std::time::Duration;

use super::change::{ApplyReport, Change, ChangeReport, Outcome, SideEffect};
use super::control::QueueControl;
use super::plan;
use super::words;
use crate::sys::attr::AttrError;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Pauses between tries of a write that the kernel answers with EBUSY (a queue being reconfigured) or EINTR: under a
/// second together.
const BUSY_PAUSES_MS: [u64; 6] = [10, 20, 50, 100, 250, 500];

/// What a set of changes ended in: the report for people, and what a later step needs of it.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What became of each change.
    pub report: ApplyReport,
    /// What sort of refusal ended the set; None if it was carried out.
    pub cause: Option<Cause>,
    /// What was refused and why, in words, without what merely went down with it.
    pub why: Option<String>,
    /// The queue before.
    pub before: QueueState,
    /// The queue after, also when everything was put back.
    pub after: QueueState,
    /// Whether anything was written at all.
    pub wrote: bool,
}

/// The sort of a refusal, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Unknown, illegal or read-only; or the kernel does not take the value.
    Value,
    /// This process may not write it.
    Rights,
    /// The device is gone, or it stayed busy.
    Gone,
    /// It could not be written down before.
    Journal,
}

/// Called once, before the first write, with the state before and the changes that will be written: the place to write
/// down what is about to happen. An error (in words) stops everything.
pub type BeforeWriting<'a> = dyn FnMut(&QueueState, &[Change]) -> Result<(), String> + 'a;

/// Carries out `changes`: refused as a whole if one of them can not be written, else written in a safe order (see
/// [`plan::order`]), each read back; on a refusal everything is put back and verified. Only what differs is written.
///
/// Blocks for as long as the queue takes to drain.
pub fn apply(
    queue: &dyn QueueControl,
    device: &KernelName,
    changes: &[Change],
    before_writing: &mut BeforeWriting<'_>,
) -> Applied {
    let before = queue.read();
    let problems: Vec<(String, String)> =
        changes.iter().filter_map(|c| plan::refusal(c, &before).map(|why| (c.name.clone(), why))).collect();
    if problems.is_empty() {
        return carry_out(queue, device, changes, before, before_writing);
    }
    let cause = if before.attributes.is_empty() { Cause::Gone } else { Cause::Value };
    refused(device, changes, before.clone(), before, &problems, cause, false)
}

/// [`apply`] without judging the values first: they were read from this queue before.
pub(super) fn carry_out(
    queue: &dyn QueueControl,
    device: &KernelName,
    changes: &[Change],
    before: QueueState,
    before_writing: &mut BeforeWriting<'_>,
) -> Applied {
    let differs = |state: &QueueState, c: &Change| {
        state.effective(&c.name).is_none_or(|now| !plan::same_value(&c.name, &c.requested, &now))
    };
    // What is written is decided change by change, as earlier ones move later ones; this is what is known now.
    let expected: Vec<Change> = changes.iter().filter(|c| differs(&before, c)).cloned().collect();
    if expected.is_empty() {
        return Applied {
            report: succeeded(device, changes, &before, &before),
            cause: None,
            why: None,
            before: before.clone(),
            after: before,
            wrote: false,
        };
    }
    if let Err(why) = before_writing(&before, &expected) {
        let problems: Vec<_> =
            expected.iter().map(|c| (c.name.clone(), format!("not written: {why}"))).collect();
        return refused(device, changes, before.clone(), before, &problems, Cause::Journal, false);
    }
    let mut state = before.clone();
    for change in plan::order(changes) {
        if !differs(&state, change) {
            continue;
        }
        let prior = state.effective(&change.name);
        let answer = write_patiently(queue, &change.name, &change.requested);
        state = queue.read();
        let problem = match answer {
            Err(e) => Some((words::refusal(change, &state, &e), cause_of(&e))),
            Ok(()) => words::disbelief(change, prior.as_deref(), state.effective(&change.name).as_deref())
                .map(|why| (why, Cause::Value)),
        };
        if let Some((why, cause)) = problem {
            put_back(queue, &before);
            let after = queue.read();
            return refused(device, changes, before, after, &[(change.name.clone(), why)], cause, true);
        }
    }
    let after = queue.read();
    let report = succeeded(device, changes, &before, &after);
    Applied { report, cause: None, why: None, before, after, wrote: true }
}

/// Takes a carried-out set back because another device of the same command refused its part; the report then says so.
pub fn take_back(queue: &dyn QueueControl, device: &KernelName, applied: &mut Applied, because: &str) {
    let changes: Vec<Change> = applied
        .report
        .changes
        .iter()
        .map(|c| Change { name: c.name.clone(), requested: c.requested.clone() })
        .collect();
    if applied.wrote {
        put_back(queue, &applied.before);
    }
    let after = queue.read();
    let problems: Vec<(String, String)> = applied
        .report
        .changes
        .iter()
        .filter(|c| c.outcome != Outcome::Unchanged)
        .map(|c| (c.name.clone(), format!("put back, because {because}")))
        .collect();
    *applied =
        refused(device, &changes, applied.before.clone(), after, &problems, Cause::Value, applied.wrote);
    applied.why = Some(because.to_owned());
}

/// Writes back, in safe order, every restorable attribute that differs from `target`. What still differs afterwards is
/// for the caller to see. Two rounds, since a write can move what was right before it.
fn put_back(queue: &dyn QueueControl, target: &QueueState) {
    let wanted: Vec<Change> = target
        .attributes
        .iter()
        .filter(|(name, attribute)| plan::restorable(name) && attribute.writable)
        .filter_map(|(name, _)| Some(Change { name: name.clone(), requested: target.effective(name)? }))
        .collect();
    for _ in 0..2 {
        let mut state = queue.read();
        for change in plan::order(&wanted) {
            if state.effective(&change.name).as_deref() == Some(change.requested.as_str()) {
                continue;
            }
            // A failure shows in the comparison afterwards; the others are put back all the same.
            let _ = write_patiently(queue, &change.name, &change.requested);
            state = queue.read();
        }
        if target.differences(&state).is_empty() {
            break;
        }
    }
}

pub(super) fn write_patiently(queue: &dyn QueueControl, name: &str, value: &str) -> Result<(), AttrError> {
    let mut pauses = BUSY_PAUSES_MS.iter();
    loop {
        match queue.write(name, value) {
            Err(e) if matches!(e.errno(), Some(libc::EBUSY | libc::EINTR)) => match pauses.next() {
                Some(ms) => std::thread::sleep(Duration::from_millis(*ms)),
                None => return Err(e),
            },
            answer => return answer,
        }
    }
}

fn cause_of(e: &AttrError) -> Cause {
    match (e.errno(), e.source.kind()) {
        (Some(libc::EACCES | libc::EPERM | libc::EROFS), _) => Cause::Rights,
        (Some(libc::ENODEV | libc::ENXIO | libc::EBUSY), _) | (_, io::ErrorKind::NotFound) => Cause::Gone,
        _ => Cause::Value,
    }
}

fn succeeded(
    device: &KernelName,
    changes: &[Change],
    before: &QueueState,
    after: &QueueState,
) -> ApplyReport {
    let reports = changes
        .iter()
        .map(|c| {
            let (was, now) = (before.effective(&c.name), after.effective(&c.name));
            let same = now.as_deref().is_some_and(|now| plan::same_value(&c.name, &c.requested, now));
            let outcome = match (same, was == now) {
                (true, true) => Outcome::Unchanged,
                (true, false) => Outcome::Applied,
                (false, _) => Outcome::Clamped,
            };
            let message = words::success(c, outcome, now.as_deref());
            report(device, c, was, now, outcome, message)
        })
        .collect();
    ApplyReport {
        changes: reports,
        side_effects: side_effects(device, changes, before, after),
        rolled_back: false,
        not_restored: Vec::new(),
    }
}

/// The report of a set that was refused: `problems` by name, everything else was put back or not written.
fn refused(
    device: &KernelName,
    changes: &[Change],
    before: QueueState,
    after: QueueState,
    problems: &[(String, String)],
    cause: Cause,
    wrote: bool,
) -> Applied {
    let why: Vec<String> = problems.iter().map(|(n, why)| format!("{device} {n}: {why}")).collect();
    let why = why.join("; ");
    let names: Vec<&str> = problems.iter().map(|(n, _)| n.as_str()).collect();
    let reports = changes
        .iter()
        .map(|c| {
            let (was, now) = (before.effective(&c.name), after.effective(&c.name));
            let problem = problems.iter().find(|(n, _)| *n == c.name).map(|(_, why)| why.clone());
            let had_it = was.as_deref().is_some_and(|w| plan::same_value(&c.name, &c.requested, w));
            let (outcome, message) = match problem {
                Some(why) => (Outcome::Refused, Some(why)),
                None if had_it => (Outcome::Unchanged, None),
                None => (
                    Outcome::Refused,
                    Some(format!("not changed, because {} was refused", names.join(" and "))),
                ),
            };
            report(device, c, was, now, outcome, message)
        })
        .collect();
    // A device that is gone took its settings along: nothing is left to put back.
    let gone = after.attributes.is_empty();
    let not_restored: Vec<String> = if wrote && !gone {
        before
            .differences(&after)
            .into_iter()
            .map(|(name, was, now)| words::not_restored(device, &name, was.as_deref(), now.as_deref()))
            .collect()
    } else {
        Vec::new()
    };
    let side_effects =
        if not_restored.is_empty() { Vec::new() } else { side_effects(device, changes, &before, &after) };
    Applied {
        report: ApplyReport {
            changes: reports,
            side_effects,
            rolled_back: not_restored.is_empty() && !(wrote && gone),
            not_restored,
        },
        cause: Some(cause),
        why: Some(why),
        before,
        after,
        wrote,
    }
}

fn report(
    device: &KernelName,
    change: &Change,
    before: Option<String>,
    effective: Option<String>,
    outcome: Outcome,
    message: Option<String>,
) -> ChangeReport {
    ChangeReport {
        device: device.clone(),
        name: change.name.clone(),
        requested: change.requested.clone(),
        before,
        effective,
        outcome,
        message,
    }
}

/// Every attribute that moved and was not asked for.
fn side_effects(
    device: &KernelName,
    changes: &[Change],
    before: &QueueState,
    after: &QueueState,
) -> Vec<SideEffect> {
    before
        .differences(after)
        .into_iter()
        .filter(|(name, _, _)| !changes.iter().any(|c| c.name == *name))
        .map(|(name, before, after)| SideEffect { device: device.clone(), name, before, after })
        .collect()
}
