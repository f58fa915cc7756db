//! `blktune put-back PID STARTED`, not for people: the process that a supervisor starts to put back what its program
//! held. A process of its own, because a write to a queue that does not drain blocks for good, and the supervisor must
//! not.

use std::time::Duration;

use super::change_report::journal;
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Owner;
use crate::tuning::restore::{RestoreReport, restore_owned_by};

/// Whose changes.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct PutBackArgs {
    /// Process number
    pid: u32,
    /// Start time of the process in clock ticks since boot
    started: u64,
}

/// Longer than any queue takes that drains at all.
const WITHIN: Duration = Duration::from_hours(1);

/// Puts back what that process holds, alive or not, and says so line by line.
///
/// # Errors
/// The journal can not be read, or settings not be put back.
pub(super) fn run(args: &PutBackArgs, root: &SysRoot) -> CommandResult {
    let owner = Owner { pid: args.pid, started: args.started };
    let report = restore_owned_by(&journal(root)?, root, owner, WITHIN)
        .map_err(|e| Failure::NotRestored(e.to_string()))?;
    output::text(&in_lines(&report))?;
    if report.not_restored.is_empty() {
        Ok(())
    } else {
        Err(Failure::NotRestored(report.not_restored.join("; ")))
    }
}

fn in_lines(report: &RestoreReport) -> String {
    let mut lines = Vec::new();
    for c in &report.restored {
        let (was, now) = (c.before.as_deref().unwrap_or("-"), c.effective.as_deref().unwrap_or("-"));
        lines.push(format!("put back: {} {} {was} -> {now}\n", c.device, c.name));
    }
    lines.extend(report.not_restored.iter().map(|what| format!("not put back: {what}\n")));
    lines.extend(report.left_alone.iter().map(|l| format!("left alone: {} {}\n", l.device, l.message)));
    lines.concat()
}
