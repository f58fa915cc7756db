//! `blktune undo`: take back the last kept set of changes.

use super::change_report::{CAPTURED, ending, journal, print, unreadable, warn};
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::clock::{Clock, SystemClock};
use crate::sys::device::DeviceId;
use crate::sys::inventory;
use crate::sys::root::SysRoot;
use crate::tuning::change::ApplyReport;
use crate::tuning::control::SysfsQueue;
use crate::tuning::journal::{Entry, Journal, Owner};
use crate::tuning::keep::Kept;
use crate::tuning::snapshot;
use crate::tuning::undo::{latest, latest_undone, redo, undo};

const SCHEMA: &str = "blktune.undo/1";

/// Arguments of `undo`.
// Flags of the command line, of which clap lets only the right ones be given together.
#[allow(clippy::struct_excessive_bools)]
#[derive(clap::Args, Clone, Debug)]
pub struct UndoArgs {
    /// Take back the last change of this device; without it, the last change of any
    pub device: Option<String>,
    /// Take back everything that was kept since the journal of this boot began
    #[arg(long, conflicts_with_all = ["to_boot", "redo"])]
    pub all: bool,
    /// Bring every setting back to what it was before blktune first changed the device in this boot
    #[arg(long, conflicts_with = "redo")]
    pub to_boot: bool,
    /// Carry out again what was taken back last
    #[arg(long)]
    pub redo: bool,
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
    snapshot::forget_gone(&journal, root);
    let work = Work { journal: &journal, root, wanted: wanted.as_ref(), as_json: args.json };
    match (args.to_boot, args.redo) {
        (true, _) => work.to_boot(),
        (_, true) => work.redo(),
        _ => work.undo(args.all),
    }
}

/// What the three ways back have in common.
struct Work<'a> {
    journal: &'a Journal,
    root: &'a SysRoot,
    wanted: Option<&'a DeviceId>,
    as_json: bool,
}

impl Work<'_> {
    fn is_meant(&self, id: &DeviceId) -> bool {
        match self.wanted {
            Some(w) => w.same_device(id),
            // What belonged to a device that is gone went with it.
            None => SysfsQueue::new(self.root.clone(), id.clone()).is_still_there(),
        }
    }

    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        self.journal.entries().map_err(|e| unreadable(&e))
    }

    fn queue(&self, device: &DeviceId) -> Result<SysfsQueue, Failure> {
        let queue = SysfsQueue::new(self.root.clone(), device.clone());
        match queue.write_error() {
            Some(e) => Err(Failure::NotPermitted(e.to_string())),
            None => Ok(queue),
        }
    }

    fn nothing(&self, what: &str) -> CommandResult {
        output::say(format_args!("{what}"));
        if self.as_json { print(&ApplyReport::default(), SCHEMA, true) } else { Ok(()) }
    }

    /// The last change, or one after the other until there is none left.
    fn undo(&self, all: bool) -> CommandResult {
        let mut report = ApplyReport::default();
        let mut device = None;
        let mut ended = Ok(());
        loop {
            let entries = self.entries()?;
            let Some(entry) = latest(&entries, |id| self.is_meant(id)) else { break };
            if let Some(by) = entry.answered_by(Owner::alive) {
                ended = Err(Failure::GoneOrBusy(format!(
                    "{} is being changed by process {}; try again when it is done",
                    entry.device.name, by.pid
                )));
                break;
            }
            device = Some(entry.device.name.clone());
            let undone = undo(self.journal, &self.queue(&entry.device)?, entry);
            if let Some(w) = &undone.warning {
                warn(w);
            }
            report.changes.extend(undone.report.changes.iter().cloned());
            report.side_effects.extend(undone.report.side_effects.iter().cloned());
            report.not_restored.extend(undone.report.not_restored.iter().cloned());
            report.rolled_back |= undone.report.rolled_back;
            ended = ending(&undone.report, undone.cause, undone.why.as_deref());
            // Without a note the same entry would be found again.
            if !all || ended.is_err() || undone.warning.is_some() {
                break;
            }
        }
        match device {
            None if ended.is_ok() => return self.nothing("nothing to undo since this boot"),
            Some(device) if report.changes.is_empty() && ended.is_ok() && !self.as_json => {
                output::text(&format!("{device} is already as it was\n"))?;
            }
            _ => print(&report, SCHEMA, self.as_json)?,
        }
        ended
    }

    fn redo(&self) -> CommandResult {
        let entries = self.entries()?;
        let Some(entry) = latest_undone(&entries, |id| self.is_meant(id)) else {
            return self.nothing("nothing to redo");
        };
        let kept = redo(self.journal, &self.queue(&entry.device)?, entry, seconds());
        self.tell(&[kept])
    }

    fn to_boot(&self) -> CommandResult {
        let devices: Vec<DeviceId> = match self.wanted {
            Some(one) => vec![one.clone()],
            None => inventory::scan(self.root)
                .map_err(|e| Failure::Unexpected(e.to_string()))?
                .into_iter()
                .map(|d| d.id)
                .collect(),
        };
        let mut done = Vec::new();
        for device in devices {
            let Some(then) = snapshot::load(self.journal, &device).map_err(|e| unreadable(&e))? else {
                continue;
            };
            done.push(snapshot::back_to(self.journal, &self.queue(&device)?, &then, seconds()));
        }
        if done.is_empty() {
            return self.nothing("blktune has changed nothing since this boot");
        }
        self.tell(&done)
    }

    /// One report of all; ends as the first that was refused.
    fn tell(&self, done: &[Kept]) -> CommandResult {
        let mut report = ApplyReport::default();
        for one in done {
            report.changes.extend(one.applied.report.changes.iter().cloned());
            report.side_effects.extend(one.applied.report.side_effects.iter().cloned());
            report.not_restored.extend(one.applied.report.not_restored.iter().cloned());
            report.rolled_back |= one.applied.report.rolled_back;
            if let Some(w) = &one.warning {
                warn(w);
            }
        }
        if report.changes.is_empty() && !self.as_json {
            output::text("already as it was\n")?;
        } else {
            print(&report, SCHEMA, self.as_json)?;
        }
        let refused = done.iter().find(|d| d.applied.cause.is_some());
        ending(&report, refused.and_then(|r| r.applied.cause), refused.and_then(|r| r.applied.why.as_deref()))
    }
}

fn seconds() -> u64 {
    SystemClock.wall().0 / 1_000_000_000
}
