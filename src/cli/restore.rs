//! `blktune restore`: put back what an interrupted program left held.

use serde::Serialize;

use super::change_report::{CAPTURED, journal, unreadable, warn};
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::root::SysRoot;
use crate::tuning::restore::{RestoreReport, foresee, restore_all};

const SCHEMA: &str = "blktune.restore/1";

/// Arguments of `restore`.
#[derive(clap::Args, Clone, Debug)]
pub struct RestoreArgs {
    /// Show what would be put back; write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON document (schema blktune.restore/1)
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    dry_run: bool,
    #[serde(flatten)]
    report: &'a RestoreReport,
}

/// Runs `restore`.
///
/// # Errors
/// The journal can not be read, or something could not be put back.
pub fn run(args: &RestoreArgs, root: &SysRoot) -> CommandResult {
    if !root.is_live() {
        return Err(Failure::Usage(CAPTURED.to_owned()));
    }
    let journal = journal(root)?;
    let report = if args.dry_run { foresee(&journal, root) } else { restore_all(&journal, root) }
        .map_err(|e| unreadable(&e))?;
    for w in &report.warnings {
        warn(w);
    }
    if args.json {
        output::json(&Document { schema: SCHEMA, dry_run: args.dry_run, report: &report })?;
    } else {
        output::text(&text(&report, args.dry_run))?;
    }
    if report.not_restored.is_empty() {
        return Ok(());
    }
    Err(Failure::NotRestored(format!(
        "could not be put back: {}; try again once the device answers",
        report.not_restored.join("; ")
    )))
}

fn text(report: &RestoreReport, dry_run: bool) -> String {
    let word = if dry_run { "would be put back" } else { "put back" };
    let mut lines: Vec<String> = Vec::new();
    for c in &report.restored {
        let (from, to) = (c.before.as_deref().unwrap_or("-"), &c.requested);
        lines.push(format!("{} {} {from} -> {to} {word}\n", c.device, c.name));
    }
    for l in &report.left_alone {
        let what = l.name.as_ref().map(|n| format!(" {n}")).unwrap_or_default();
        lines.push(format!("{}{what} left alone: {}\n", l.device, l.message));
    }
    for c in &report.closed {
        lines.push(format!("{} closed: {}\n", c.device, c.message));
    }
    if lines.is_empty() && report.not_restored.is_empty() {
        lines.push("nothing to restore\n".to_owned());
    }
    lines.concat()
}
