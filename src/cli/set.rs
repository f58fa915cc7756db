//! `blktune set`: change settings of devices, as one transaction.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::outcome::{CommandResult, Failure};
use crate::clock::{Clock, SystemClock};
use crate::sys::attr;
use crate::sys::device::{DevNum, DeviceId};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::tuning::apply::Cause;
use crate::tuning::catalogue;
use crate::tuning::change::{ApplyReport, Change, ChangeReport, Outcome, SideEffect};
use crate::tuning::control::{QueueControl, SysfsQueue};
use crate::tuning::journal::Journal;
use crate::tuning::keep::{Kept, apply_and_keep, take_back_kept};
use crate::tuning::plan;

/// Arguments of `set`.
#[derive(clap::Args, Clone, Debug)]
pub struct SetArgs {
    /// Devices, and what to set on them: `sda scheduler=bfq read_ahead_kb=512`
    #[arg(required = true, value_name = "DEVICE|NAME=VALUE")]
    pub items: Vec<String>,
    /// Show what would be written, in order, and what is known to move with it; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document (schema blktune.set/1)
    #[arg(long)]
    pub json: bool,
}

/// Runs `set`.
///
/// # Errors
/// Usage, lack of rights, a refused change (all put back), or settings that could not be put back.
pub fn run(args: &SetArgs, root: &SysRoot) -> CommandResult {
    let (devices, changes) = sort_items(&args.items)?;
    if !root.is_live() && !args.dry_run {
        return Err(Failure::Usage(CAPTURED.to_owned()));
    }
    let mut queues: Vec<SysfsQueue> = Vec::new();
    for text in devices {
        let id = resolve(root, text)?;
        if !queues.iter().any(|q| q.id().name == id.name) {
            queues.push(SysfsQueue::new(root.clone(), id));
        }
    }
    if args.dry_run {
        dry_run(&queues, &changes, args.json)
    } else {
        change(&queues, &changes, root, args.json)
    }
}

const SCHEMA: &str = "blktune.set/1";

pub(super) const CAPTURED: &str =
    "a captured tree can be looked at, not changed; leave --sysroot out, or add --dry-run";

/// Devices and changes of one list: what holds a `=` is a change, unless it is a path.
fn sort_items(items: &[String]) -> Result<(Vec<&str>, Vec<Change>), Failure> {
    let usage = |e: plan::SetError| Failure::Usage(e.to_string());
    let (changes, devices): (Vec<&String>, Vec<&String>) =
        items.iter().partition(|i| i.contains('=') && !i.starts_with('/'));
    let changes: Vec<Change> =
        changes.into_iter().map(|c| plan::parse_change(c)).collect::<Result<_, _>>().map_err(usage)?;
    plan::no_duplicates(&changes).map_err(usage)?;
    if devices.is_empty() {
        return Err(Failure::Usage(
            "no device named; write it before the changes, as in: set sda read_ahead_kb=512".to_owned(),
        ));
    }
    if changes.is_empty() {
        return Err(Failure::Usage(format!(
            "nothing to set; write NAME=VALUE behind the device (blktune changes {})",
            catalogue::CHANGEABLE.join(", ")
        )));
    }
    Ok((devices.into_iter().map(String::as_str).collect(), changes))
}

fn change(queues: &[SysfsQueue], changes: &[Change], root: &SysRoot, as_json: bool) -> CommandResult {
    for queue in queues {
        let state = queue.read();
        let legal = changes.iter().all(|c| plan::refusal(c, &state).is_none());
        if let Some(e) = queue.write_error().filter(|_| legal) {
            return Err(Failure::NotPermitted(e.to_string()));
        }
    }
    let journal = journal(root)?;
    let time = SystemClock.wall().0 / 1_000_000_000;
    let mut done: Vec<(&SysfsQueue, Kept)> = Vec::new();
    let (mut cause, mut why) = (None, None);
    for queue in queues {
        let kept = apply_and_keep(&journal, queue, queue.id(), changes, time);
        (cause, why) = (kept.applied.cause, kept.applied.why.clone());
        done.push((queue, kept));
        if cause.is_some() {
            let because = format!("{} refused its part", queue.id().name);
            let others = done.len() - 1;
            for (queue, kept) in &mut done[..others] {
                take_back_kept(&journal, *queue, queue.id(), kept, &because);
            }
            break;
        }
    }
    let mut report = ApplyReport::default();
    for (_, kept) in &done {
        report.changes.extend(kept.applied.report.changes.iter().cloned());
        report.side_effects.extend(kept.applied.report.side_effects.iter().cloned());
        report.not_restored.extend(kept.applied.report.not_restored.iter().cloned());
        if let Some(w) = &kept.warning {
            warn(w);
        }
    }
    report.rolled_back = cause.is_some() && done.iter().all(|(_, k)| k.applied.report.rolled_back);
    print(&if as_json { json_text(SCHEMA, &report) } else { text(&report) })?;
    if !as_json && cause.is_none() {
        for (queue, _) in done.iter().filter(|(_, k)| k.entry.is_some()) {
            let _ = writeln!(io::stderr(), "take it back with: blktune undo {}", queue.id().name);
        }
    }
    ending(&report, cause, why.as_deref())
}

fn dry_run(queues: &[SysfsQueue], changes: &[Change], as_json: bool) -> CommandResult {
    let mut foreseen: Vec<Foreseen<'_>> = Vec::new();
    let mut effects: Vec<(&KernelName, String)> = Vec::new();
    for queue in queues {
        let state = queue.read();
        let device = &queue.id().name;
        foreseen.extend(plan::order(changes).into_iter().map(|c| Foreseen::of(device, c, &state)));
        effects.extend(catalogue::known_side_effects(changes, &state).into_iter().map(|e| (device, e)));
    }
    let output = if as_json {
        let effects: Vec<Value> =
            effects.iter().map(|(device, effect)| json!({"device": device, "effect": effect})).collect();
        let changes: Vec<Value> = foreseen.iter().map(Foreseen::json).collect();
        format!(
            "{:#}\n",
            json!({"schema": SCHEMA, "dry_run": true, "changes": changes, "side_effects": [],
                   "known_side_effects": effects, "rolled_back": false})
        )
    } else {
        let told = effects.iter().map(|(device, effect)| format!("{device} known to move: {effect}\n"));
        foreseen.iter().map(Foreseen::line).chain(told).collect()
    };
    print(&output)?;
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
    fn of(device: &'a KernelName, change: &'a Change, state: &QueueState) -> Self {
        let before = state.effective(&change.name);
        let same = before.as_deref().is_some_and(|b| plan::same_value(&change.name, &change.requested, b));
        Self { device, change, before, same, problem: plan::refusal(change, state) }
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

/// The exit of a set: nothing for one that was carried out.
pub(super) fn ending(report: &ApplyReport, cause: Option<Cause>, why: Option<&str>) -> CommandResult {
    if !report.not_restored.is_empty() {
        return Err(Failure::NotRestored(format!(
            "could not be put back: {}",
            report.not_restored.join("; ")
        )));
    }
    let Some(cause) = cause else { return Ok(()) };
    let said = why.unwrap_or("refused").to_owned();
    Err(match cause {
        Cause::Value => Failure::Refused(format!("{said}; nothing was changed")),
        Cause::Rights => Failure::NotPermitted(said),
        Cause::Gone => Failure::GoneOrBusy(said),
        Cause::Journal => Failure::Unexpected(said),
    })
}

/// A report as lines: what was asked for first, then what moved with it.
pub(super) fn text(report: &ApplyReport) -> String {
    let mut lines: Vec<String> = report.changes.iter().map(change_line).collect();
    lines.extend(side_effect_lines(&report.side_effects));
    if report.rolled_back {
        lines.push("nothing was changed: everything is as it was\n".to_owned());
    }
    lines.concat()
}

/// What moved, a line each; what came or went with a scheduler in one line.
fn side_effect_lines(effects: &[SideEffect]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut devices: Vec<&KernelName> = effects.iter().map(|e| &e.device).collect();
    devices.dedup();
    for device in devices {
        let (mut new, mut gone) = (Vec::new(), Vec::new());
        for e in effects.iter().filter(|e| e.device == *device) {
            match (&e.before, &e.after) {
                (Some(before), Some(after)) => {
                    lines.push(format!("{device} also: {} {before} -> {after}\n", e.name));
                }
                (None, Some(after)) => new.push(format!("{}={after}", e.name)),
                (_, None) => gone.push(e.name.clone()),
            }
        }
        for (word, names) in [("gone", gone), ("new", new)] {
            if !names.is_empty() {
                lines.push(format!("{device} {word}: {}\n", names.join(" ")));
            }
        }
    }
    lines
}

fn change_line(change: &ChangeReport) -> String {
    let word = match change.outcome {
        Outcome::Applied => "applied",
        Outcome::Clamped => "clamped",
        Outcome::Refused => "refused",
        Outcome::Unchanged => "unchanged",
    };
    let to = match change.outcome {
        Outcome::Refused => &change.requested,
        _ => change.effective.as_ref().unwrap_or(&change.requested),
    };
    let message = change.message.as_deref().map(|m| format!(": {m}")).unwrap_or_default();
    let before = change.before.as_deref().unwrap_or("-");
    format!("{} {} {before} -> {to} {word}{message}\n", change.device, change.name)
}

/// A report as one document.
pub(super) fn json_text(schema: &str, report: &ApplyReport) -> String {
    format!(
        "{:#}\n",
        json!({
            "schema": schema,
            "changes": report.changes,
            "side_effects": report.side_effects,
            "rolled_back": report.rolled_back,
            "not_restored": report.not_restored,
        })
    )
}

/// Writes to stdout; a reader that has gone away is no error.
pub(super) fn print(text: &str) -> CommandResult {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Unexpected(format!("stdout: {e}"))),
        _ => Ok(()),
    }
}

pub(super) fn warn(what: &str) {
    let _ = writeln!(io::stderr(), "blktune: the journal is incomplete: {what}");
}

/// The journal of this boot of the host.
pub(super) fn journal(root: &SysRoot) -> Result<Journal, Failure> {
    let boot = attr::read(&root.proc("sys/kernel/random/boot_id"))
        .map_err(|e| Failure::Unexpected(e.to_string()))?;
    Ok(Journal::new(&root.run_dir(), &boot))
}

/// The device that a person named, by kernel name or `/dev` path.
pub(super) fn resolve(root: &SysRoot, text: &str) -> Result<DeviceId, Failure> {
    let real = std::fs::canonicalize(text).ok().and_then(|p| SysRoot::below_dev(&p));
    let spelled = real.or_else(|| SysRoot::below_dev(text.as_ref())).unwrap_or_else(|| text.to_owned());
    let missing =
        || Failure::GoneOrBusy(format!("{text}: no such device; `blktune list` names those that are there"));
    let name = KernelName::new(&spelled).ok_or_else(missing)?;
    let dir = root.block(&name);
    if !dir.exists() {
        return Err(missing());
    }
    Ok(DeviceId {
        name,
        devnum: attr::read_opt(&dir.join("dev")).and_then(|t| DevNum::parse(&t)),
        diskseq: attr::read_u64(&dir.join("diskseq")),
        wwid: attr::read_opt(&dir.join("wwid")),
        serial: None,
    })
}
