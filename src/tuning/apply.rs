//! Carrying out a set of changes on one queue: all of it, read back, or none of it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::change::{ApplyReport, Change, ChangeReport, Outcome, SideEffect};
use super::control::QueueControl;
use super::plan;
use super::tag_depth;
use super::words;
use crate::sys::attr::{self, AttrError};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Pauses between tries of a write that the kernel answers with EBUSY (a queue being reconfigured) or EINTR: under a
/// second together.
const BUSY_PAUSES_MS: [u64; 6] = [10, 20, 50, 100, 250, 500];

/// A write can move what was right before it, and can fail once and not again: what differs is written again, this often.
const ROUNDS_OF_PUTTING_BACK: usize = 4;

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
    /// The settings whose writes were tried, whatever the kernel answered, in that order.
    pub written: Vec<String>,
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
    apply_known(queue, device, changes, &QueueState::default(), before_writing)
}

/// [`apply`], where what `known` reads needs no judging: it was read from this queue before.
pub(super) fn apply_known(
    queue: &dyn QueueControl,
    device: &KernelName,
    changes: &[Change],
    known: &QueueState,
    before_writing: &mut BeforeWriting<'_>,
) -> Applied {
    let before = queue.read();
    match judged(device, changes, known, &before) {
        Some(refused) => refused,
        None => carry_out(queue, device, changes, before, before_writing),
    }
}

/// The refusal of a set that can not be tried; None if it can.
fn judged(
    device: &KernelName,
    changes: &[Change],
    known: &QueueState,
    before: &QueueState,
) -> Option<Applied> {
    let mut problems = plan::refusals(changes, before);
    let cause = if before.attributes.is_empty() { Cause::Gone } else { Cause::Value };
    if cause == Cause::Value {
        let was_read = |name: &str| {
            let asked = changes.iter().find(|c| c.name == name).map(|c| c.requested.as_str());
            asked.is_some_and(|a| known.effective(name).as_deref() == Some(a))
        };
        problems.retain(|(name, _)| !was_read(name));
    }
    let none = problems.is_empty();
    (!none).then(|| refused(device, changes, before.clone(), before.clone(), &problems, cause, Vec::new()))
}

/// Writes just these, in this order and whether or not they differ, as an echo does. Nothing but a refusal of the kernel is
/// put right: then everything is put back and verified. What else moved stays moved.
pub(super) fn write_bare(
    queue: &dyn QueueControl,
    device: &KernelName,
    changes: &[Change],
    before_writing: &mut BeforeWriting<'_>,
) -> Applied {
    let before = queue.read();
    if let Some(refused) = judged(device, changes, &QueueState::default(), &before) {
        return refused;
    }
    if let Err(why) = before_writing(&before, changes) {
        return unnoted(device, changes, changes, &before, &why);
    }
    let mut written: Vec<String> = Vec::new();
    let mut verified: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for change in changes {
        written.push(change.name.clone());
        let answer = write_patiently(queue, &change.name, &change.requested);
        let state = queue.read();
        if let Err(e) = answer {
            let problem = (change.name.as_str(), words::refusal(change, &state, &e));
            return taken_back(queue, device, changes, before, problem, cause_of(&e, &state), written);
        }
        verified.insert(&change.name, state.effective(&change.name));
    }
    let after = queue.read();
    let report = succeeded(device, changes, &before, &after, &verified);
    Applied { report, cause: None, why: None, before, after, written }
}

/// The refusal of a set that could not be written down: `expected` is what would have been written.
fn unnoted(
    device: &KernelName,
    changes: &[Change],
    expected: &[Change],
    before: &QueueState,
    why: &str,
) -> Applied {
    let problems: Vec<_> = expected.iter().map(|c| (c.name.clone(), format!("not written: {why}"))).collect();
    refused(device, changes, before.clone(), before.clone(), &problems, Cause::Journal, Vec::new())
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
            report: succeeded(device, changes, &before, &before, &BTreeMap::new()),
            cause: None,
            why: None,
            before: before.clone(),
            after: before,
            written: Vec::new(),
        };
    }
    if let Err(why) = before_writing(&before, &expected) {
        return unnoted(device, changes, &expected, &before, &why);
    }
    let mut state = before.clone();
    let mut written: Vec<String> = Vec::new();
    let mut verified: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for change in plan::order(changes) {
        if !differs(&state, change) {
            continue;
        }
        let prior = state.effective(&change.name);
        written.push(change.name.clone());
        let answer = write_patiently(queue, &change.name, &change.requested);
        state = queue.read();
        let problem = match answer {
            Err(e) => Some((words::refusal(change, &state, &e), cause_of(&e, &state))),
            Ok(()) => words::disbelief(change, prior.as_deref(), &state).map(|why| (why, Cause::Value)),
        };
        if let Some((why, cause)) = problem {
            return taken_back(queue, device, changes, before, (&change.name, why), cause, written);
        }
        verified.insert(&change.name, state.effective(&change.name));
    }
    if tag_depth::in_doubt(&written)
        && let Err(e) = tag_depth::renew(queue)
    {
        let cause = cause_of(&e, &queue.read());
        let why = format!("the driver's tags can not be made what it reads: {}", attr::explain(&e.source));
        return taken_back(queue, device, changes, before, ("nr_requests", why), cause, written);
    }
    let after = queue.read();
    let report = succeeded(device, changes, &before, &after, &verified);
    Applied { report, cause: None, why: None, before, after, written }
}

/// Puts everything back that a set has written by now, because of one setting: `problem` is its name and the reason.
fn taken_back(
    queue: &dyn QueueControl,
    device: &KernelName,
    changes: &[Change],
    before: QueueState,
    problem: (&str, String),
    cause: Cause,
    written: Vec<String>,
) -> Applied {
    put_back(queue, &before, &written);
    let after = queue.read();
    let problems = [(problem.0.to_owned(), problem.1)];
    refused(device, changes, before, after, &problems, cause, written)
}

/// Takes a carried-out set back because another device of the same command refused its part; the report then says so.
pub fn take_back(queue: &dyn QueueControl, device: &KernelName, applied: &mut Applied, because: &str) {
    let changes: Vec<Change> = applied
        .report
        .changes
        .iter()
        .map(|c| Change { name: c.name.clone(), requested: c.requested.clone() })
        .collect();
    if !applied.written.is_empty() {
        put_back(queue, &applied.before, &applied.written);
    }
    let after = queue.read();
    let problems: Vec<(String, String)> = applied
        .report
        .changes
        .iter()
        .filter(|c| c.outcome != Outcome::Unchanged)
        .map(|c| (c.name.clone(), format!("put back, because {because}")))
        .collect();
    let written = std::mem::take(&mut applied.written);
    *applied = refused(device, &changes, applied.before.clone(), after, &problems, Cause::Value, written);
    applied.why = Some(because.to_owned());
}

/// Writes back, in safe order, what differs from `target` and is to be put back (see [`plan::puts_back`]) by a set that
/// tried to write `written`: also what moved as a side effect, and the tunables that went with a scheduler. What still
/// differs afterwards is for the caller to see.
fn put_back(queue: &dyn QueueControl, target: &QueueState, written: &[String]) {
    let wrote = |name: &str| written.iter().any(|w| w == name);
    let wanted: Vec<Change> = target
        .attributes
        .keys()
        .filter(|name| plan::puts_back(name, target, wrote))
        .filter_map(|name| Some(Change { name: name.clone(), requested: target.effective(name)? }))
        .collect();
    for round in 0..ROUNDS_OF_PUTTING_BACK {
        let mut state = queue.read();
        let mut again: Vec<&str> = Vec::new();
        for change in plan::order(&wanted) {
            if state.effective(&change.name).as_deref() == Some(change.requested.as_str()) {
                continue;
            }
            // Tunables of one name belong to several schedulers; these are the former one's.
            let its_scheduler = state.effective("scheduler") == target.effective("scheduler");
            if change.name.starts_with("iosched/") && !its_scheduler {
                continue;
            }
            // A failure shows in the comparison afterwards; the others are put back all the same.
            let _ = match round {
                0 => write_patiently(queue, &change.name, &change.requested),
                _ => queue.write(&change.name, &change.requested),
            };
            again.push(&change.name);
            state = queue.read();
        }
        if tag_depth::in_doubt(&again) {
            // As above.
            let _ = tag_depth::renew(queue);
            state = queue.read();
        }
        if state.attributes.is_empty() || target.differences(&state).is_empty() {
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

/// The sort of the kernel's answer; `state` is the queue after it. What is missing on a device that is there is a matter
/// of the name (a tunable of another scheduler), not of the device.
fn cause_of(e: &AttrError, state: &QueueState) -> Cause {
    match e.errno() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => Cause::Rights,
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) if state.attributes.is_empty() => Cause::Gone,
        Some(libc::EBUSY) => Cause::Gone,
        _ => Cause::Value,
    }
}

/// The report of a set that was carried out. `verified` is what was read right after each write.
fn succeeded(
    device: &KernelName,
    changes: &[Change],
    before: &QueueState,
    after: &QueueState,
    verified: &BTreeMap<&str, Option<String>>,
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
            let verified = verified.get(c.name.as_str()).and_then(|v| v.as_deref());
            let message = words::success(c, outcome, was.as_deref(), verified, after);
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
    written: Vec<String>,
) -> Applied {
    let wrote = !written.is_empty();
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
            .map(|(name, was, now)| {
                words::not_restored(device, &name, (was.as_deref(), &before), now.as_deref())
            })
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
        written,
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
