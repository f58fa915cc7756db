//! `blktune undo`: take back the last kept set of changes.

use super::change_report::{CAPTURED, ending, journal, print, unreadable, warn};
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::device::DeviceId;
use crate::sys::root::SysRoot;
use crate::tuning::change::ApplyReport;
use crate::tuning::control::SysfsQueue;
use crate::tuning::journal::Stage;
use crate::tuning::undo::{latest, undo};

const SCHEMA: &str = "blktune.undo/1";

/// Arguments of `undo`.
#[derive(clap::Args, Clone, Debug)]
pub struct UndoArgs {
    /// Take back the last change of this device; without it, the last change of any
    pub device: Option<String>,
    /// Print one JSON document (schema blktune.undo/1)
    #[arg(long)]
    pub json: bool,
}

/// Runs `undo`.
///
/// # Errors
/// Lack of rights, settings that somebody else changed since, a refusal by the kernel (all as before), or settings that
/// could not be put back.
pub fn run(args: &UndoArgs, root: &SysRoot, instead: Option<&str>) -> CommandResult {
    if !root.is_live() {
        return Err(Failure::Usage(CAPTURED.to_owned()));
    }
    let typed = args.device.as_deref().or(instead);
    let wanted: Option<DeviceId> = typed.map(|d| resolve(root, d).map(|found| found.id)).transpose()?;
    let journal = journal(root)?;
    let entries = journal.entries().map_err(|e| unreadable(&e))?;
    let found = latest(&entries, |id| match &wanted {
        Some(w) => w.same_device(id),
        // What belonged to a device that is gone went with it.
        None => SysfsQueue::new(root.clone(), id.clone()).is_still_there(),
    });
    let Some(entry) = found else {
        eprintln!("nothing to undo since this boot");
        return if args.json { print(&ApplyReport::default(), SCHEMA, true) } else { Ok(()) };
    };
    if entry.stage == Stage::Open && entry.owner.alive() {
        return Err(Failure::GoneOrBusy(format!(
            "{} is being changed by process {}; try again when it is done",
            entry.device.name, entry.owner.pid
        )));
    }
    let queue = SysfsQueue::new(root.clone(), entry.device.clone());
    if let Some(e) = queue.write_error() {
        return Err(Failure::NotPermitted(e.to_string()));
    }
    let undone = undo(&journal, &queue, entry);
    if let Some(w) = &undone.warning {
        warn(w);
    }
    let nothing_to_do = undone.report.changes.is_empty() && undone.cause.is_none();
    if nothing_to_do && !args.json {
        output::text(&format!("{} is already as it was\n", undone.device))?;
    } else {
        print(&undone.report, SCHEMA, args.json)?;
    }
    ending(&undone.report, undone.cause, undone.why.as_deref())
}
