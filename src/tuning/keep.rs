//! A set of changes that stays: carried out, and written down so that it can be undone.

use super::apply::{Applied, apply, take_back};
use super::change::Change;
use super::control::QueueControl;
use super::journal::{EntryId, Journal};
use crate::sys::device::DeviceId;

/// A set that was carried out on one device, and its place in the journal.
#[derive(Clone, Debug)]
pub struct Kept {
    /// What it came to.
    pub applied: Applied,
    /// Its entry; None if nothing was to be written.
    pub entry: Option<EntryId>,
    /// What could not be noted after the writes, in words: the change stands, and counts as interrupted.
    pub warning: Option<String>,
}

/// Carries out `changes` on a queue (see [`apply`]): noted in the journal before the first write and after the last.
/// `time` is the wall clock in seconds since 1970.
pub fn apply_and_keep(
    journal: &Journal,
    queue: &dyn QueueControl,
    device: &DeviceId,
    changes: &[Change],
    time: u64,
) -> Kept {
    let mut entry = None;
    let applied = apply(queue, &device.name, changes, &mut |before, planned| {
        let id = journal.intend(device, planned, before, time).map_err(|e| e.to_string())?;
        entry = Some(id);
        Ok(())
    });
    let warning = note(journal, entry.as_ref(), &applied);
    Kept { applied, entry, warning }
}

/// Takes a set back because another device of the same command refused its part.
pub fn take_back_kept(
    journal: &Journal,
    queue: &dyn QueueControl,
    device: &DeviceId,
    kept: &mut Kept,
    because: &str,
) {
    take_back(queue, &device.name, &mut kept.applied, because);
    kept.warning = note(journal, kept.entry.as_ref(), &kept.applied);
}

fn note(journal: &Journal, entry: Option<&EntryId>, applied: &Applied) -> Option<String> {
    journal.complete(entry?, applied).err().map(|e| e.to_string())
}
