//! `blktune set`: change settings of devices, as one transaction.

use std::time::Duration;

use serde_json::{Value, json};

use super::change_report::{CAPTURED, ending, journal, print, warn};
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use super::set_held::{self, Until};
use crate::clock::{Clock, SystemClock};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::tuning::catalogue;
use crate::tuning::change::{ApplyReport, Change, Outcome};
use crate::tuning::control::{QueueControl, SysfsQueue};
use crate::tuning::held::{Held, hold, hold_until_confirmed};
use crate::tuning::{plan, restore, snapshot};

/// Arguments of `set`.
// Flags of the command line, of which clap lets only the right ones be given together.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Clone, Debug)]
pub struct SetArgs {
    /// Devices, and what to set on them: `sda scheduler=bfq read_ahead_kb=512`
    #[arg(required_unless_present = "confirm", value_name = "DEVICE|NAME=VALUE")]
    pub items: Vec<String>,
    /// Show what would be written, in order, and what is known to move with it; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Stay until a signal comes, then put everything back
    #[arg(long, conflicts_with_all = ["revert_after", "dry_run"])]
    pub hold: bool,
    /// Put everything back after this time, 1s to 1h, unless `blktune set --confirm` comes before
    #[arg(long, value_name = "TIME", value_parser = set_held::parse_time, conflicts_with = "dry_run")]
    pub revert_after: Option<Duration>,
    /// Keep what waits to be put back by --revert-after; of the devices named, or all
    #[arg(long, conflicts_with_all = ["hold", "revert_after", "dry_run"])]
    pub confirm: bool,
    /// Print one JSON document (schema blktune.set/1)
    #[arg(long)]
    pub json: bool,
}

/// Runs `set`.
///
/// # Errors
/// Usage, lack of rights, a refused change (all put back), or settings that could not be put back.
pub fn run(args: &SetArgs, root: &SysRoot, instead: Option<&str>) -> CommandResult {
    if args.confirm {
        return set_held::confirm(&args.items, root, instead, args.json);
    }
    let (mut devices, changes) = sort_items(&args.items)?;
    if devices.is_empty() {
        devices.extend(instead);
    }
    if devices.is_empty() {
        return Err(Failure::Usage(
            "no device named; write it before the changes, as in: set sda read_ahead_kb=512".to_owned(),
        ));
    }
    if !root.is_live() && !args.dry_run {
        return Err(Failure::Usage(CAPTURED.to_owned()));
    }
    let mut queues: Vec<SysfsQueue> = Vec::new();
    for text in devices {
        let found = resolve(root, text)?;
        if let Some(note) = found.note {
            output::say(format_args!("blktune: {note}"));
        }
        let id = found.id;
        if !queues.iter().any(|q| q.id().name == id.name) {
            queues.push(SysfsQueue::new(root.clone(), id));
        }
    }
    if args.dry_run {
        dry_run(&queues, &changes, args.json)
    } else {
        change(&queues, &changes, root, &Until::of(args)?, args.json)
    }
}

pub(super) const SCHEMA: &str = "blktune.set/1";

/// Devices and changes of one list: what holds a `=` is a change, unless it is a path.
fn sort_items(items: &[String]) -> Result<(Vec<&str>, Vec<Change>), Failure> {
    let usage = |e: plan::SetError| Failure::Usage(e.to_string());
    let (changes, devices): (Vec<&String>, Vec<&String>) =
        items.iter().partition(|i| i.contains('=') && !i.starts_with('/'));
    let changes: Vec<Change> =
        changes.into_iter().map(|c| plan::parse_change(c)).collect::<Result<_, _>>().map_err(usage)?;
    plan::no_duplicates(&changes).map_err(usage)?;
    if changes.is_empty() {
        return Err(Failure::Usage(
            "nothing to set; write NAME=VALUE behind the device (blktune show DEVICE lists the names)"
                .to_owned(),
        ));
    }
    Ok((devices.into_iter().map(String::as_str).collect(), changes))
}

fn change(
    queues: &[SysfsQueue],
    changes: &[Change],
    root: &SysRoot,
    until: &Until,
    as_json: bool,
) -> CommandResult {
    for queue in queues {
        let state = queue.read();
        let legal = plan::refusals(changes, &state).is_empty();
        if let Some(e) = queue.write_error().filter(|_| legal) {
            return Err(Failure::NotPermitted(e.to_string()));
        }
    }
    let journal = journal(root)?;
    snapshot::forget_gone(&journal, root);
    for words in restore::left_held(&journal) {
        output::say(format_args!("blktune: {words}"));
    }
    let time = SystemClock.wall().0 / 1_000_000_000;
    let keeper = until.start_keeper()?;
    // Held until all of them are read back, so that a set of several devices that is cut off goes back on all.
    let mut done: Vec<Held<&SysfsQueue>> = Vec::new();
    let (mut cause, mut why) = (None, None);
    for queue in queues {
        let held = match &keeper {
            Some(k) => {
                hold_until_confirmed(&journal, queue, queue.id(), changes, time, k.owner, k.reverts_at)
            }
            None => hold(&journal, queue, queue.id(), changes, time),
        };
        (cause, why) = (held.applied().cause, held.applied().why.clone());
        done.push(held);
        if cause.is_some() {
            break;
        }
    }
    for w in done.iter().filter_map(Held::warning) {
        warn(w);
    }
    let mut report = ApplyReport { rolled_back: cause.is_some(), ..ApplyReport::default() };
    let last = done.len().saturating_sub(1);
    let because = done.last().map(|d| format!("{} refused its part", d.device().name)).unwrap_or_default();
    let mut held = Vec::new();
    for (i, one) in done.into_iter().enumerate() {
        let part = if cause.is_some() && i < last {
            one.take_back(&because)
        } else {
            let part = one.applied().report.clone();
            held.push(one);
            part
        };
        report.rolled_back &= part.rolled_back;
        report.changes.extend(part.changes);
        report.side_effects.extend(part.side_effects);
        report.not_restored.extend(part.not_restored);
    }
    if cause.is_some() {
        print(&report, SCHEMA, as_json)?;
        return ending(&report, cause, why.as_deref());
    }
    set_held::finish(held, &report, until, keeper, as_json)
}

fn dry_run(queues: &[SysfsQueue], changes: &[Change], as_json: bool) -> CommandResult {
    let mut foreseen: Vec<Foreseen<'_>> = Vec::new();
    let mut effects: Vec<(&KernelName, String)> = Vec::new();
    for queue in queues {
        let state = queue.read();
        let device = &queue.id().name;
        let problems = plan::refusals(changes, &state);
        foreseen.extend(plan::order(changes).into_iter().map(|c| Foreseen::of(device, c, &state, &problems)));
        effects.extend(catalogue::known_side_effects(changes, &state).into_iter().map(|e| (device, e)));
    }
    let told = if as_json {
        let effects: Vec<Value> =
            effects.iter().map(|(device, effect)| json!({"device": device, "effect": effect})).collect();
        let changes: Vec<Value> = foreseen.iter().map(Foreseen::json).collect();
        format!(
            "{:#}\n",
            json!({"schema": SCHEMA, "dry_run": true, "changes": changes, "side_effects": [],
                   "known_side_effects": effects, "rolled_back": false})
        )
    } else {
        let moves = effects.iter().map(|(device, effect)| format!("{device} known to move: {effect}\n"));
        foreseen.iter().map(Foreseen::line).chain(moves).collect()
    };
    output::text(&told)?;
    let refused: Vec<String> = foreseen
        .iter()
        .filter_map(|f| f.problem.as_ref().map(|why| format!("{} {}: {why}", f.device, f.change.name)))
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(Failure::Refused(refused.join("; "))) }
}

/// One change of a dry run.
struct Foreseen<'a> {
    device: &'a KernelName,
    change: &'a Change,
    before: Option<String>,
    same: bool,
    problem: Option<String>,
}

impl<'a> Foreseen<'a> {
    fn of(
        device: &'a KernelName,
        change: &'a Change,
        state: &QueueState,
        problems: &[(String, String)],
    ) -> Self {
        let before = state.effective(&change.name);
        let same = before.as_deref().is_some_and(|b| plan::same_value(&change.name, &change.requested, b));
        let problem = problems.iter().find(|(name, _)| *name == change.name).map(|(_, why)| why.clone());
        Self { device, change, before, same, problem }
    }

    fn line(&self) -> String {
        let Change { name, requested } = self.change;
        let (device, before) = (self.device, self.before.as_deref().unwrap_or("-"));
        match &self.problem {
            Some(why) => format!("{device} {name} {before} -> {requested} would be refused: {why}\n"),
            None if self.same => format!("{device} {name} is {before} already\n"),
            None => format!("{device} {name} {before} -> {requested} would be written\n"),
        }
    }

    fn json(&self) -> Value {
        let outcome = match (&self.problem, self.same) {
            (Some(_), _) => Some(Outcome::Refused),
            (None, true) => Some(Outcome::Unchanged),
            // Only the kernel knows.
            (None, false) => None,
        };
        json!({
            "device": self.device, "name": self.change.name, "requested": self.change.requested,
            "before": self.before, "effective": null, "outcome": outcome, "message": self.problem,
        })
    }
}
