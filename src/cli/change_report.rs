//! What `set` and `undo` answer: the report as text and as JSON, and the exit code it comes to.

use std::io;

use serde::Serialize;

use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::attr;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::tuning::apply::Cause;
use crate::tuning::change::{ApplyReport, ChangeReport, Outcome, SideEffect};
use crate::tuning::journal::{Journal, JournalError};

/// Why `set` and `undo` do nothing on a captured tree.
pub(super) const CAPTURED: &str =
    "a captured tree can be looked at, not changed; leave --sysroot out, or add --dry-run";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'a ApplyReport,
}

/// Writes a report to stdout, as one document of this schema or as lines.
pub(super) fn print(report: &ApplyReport, schema: &'static str, as_json: bool) -> CommandResult {
    if as_json { output::json(&Document { schema, report }) } else { output::text(&text(report)) }
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
fn text(report: &ApplyReport) -> String {
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

/// Says that the change was made but not written down in full.
pub(super) fn warn(what: &str) {
    output::say(format_args!("blktune: the journal is incomplete: {what}"));
}

/// The journal of this boot of the host.
pub(super) fn journal(root: &SysRoot) -> Result<Journal, Failure> {
    let boot = attr::read(&root.proc("sys/kernel/random/boot_id"))
        .map_err(|e| Failure::Unexpected(e.to_string()))?;
    Ok(Journal::new(&root.run_dir(), &boot))
}

/// Why the journal could not be read or written, as the end of a command.
pub(super) fn unreadable(e: &JournalError) -> Failure {
    match e {
        JournalError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(format!("{e}; run as root (sudo, doas or run0)"))
        }
        JournalError::Io { .. } => Failure::Unexpected(e.to_string()),
        JournalError::NotTrusted { .. } => Failure::Unsafe(e.to_string()),
        JournalError::Busy { .. } | JournalError::Settled(_) => Failure::GoneOrBusy(e.to_string()),
    }
}
