//! A set of changes that stays: carried out, and written down so that it can be undone.

use super::apply::{Applied, Cause, apply, carry_out, take_back};
use super::change::Change;
use super::control::QueueControl;
use super::journal::{Entry, EntryId, Intent, Journal, JournalError, Mode, Owner};
use super::snapshot;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;

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
    noted(journal, device, Terms::kept(time), |note| apply(queue, &device.name, changes, note))
}

/// [`apply_and_keep`] of values that were read from this queue before, so that nothing has to be judged.
pub(super) fn bring_to(
    journal: &Journal,
    queue: &dyn QueueControl,
    device: &DeviceId,
    changes: &[Change],
    time: u64,
) -> Kept {
    noted(journal, device, Terms::kept(time), |note| {
        carry_out(queue, &device.name, changes, queue.read(), note)
    })
}

/// What was asked for in `entry`, once more.
pub(super) fn apply_again(journal: &Journal, queue: &dyn QueueControl, entry: &Entry, time: u64) -> Kept {
    let device = &entry.device;
    let terms = Terms { redo_of: Some(&entry.id), ..Terms::kept(time) };
    noted(journal, device, terms, |note| apply(queue, &device.name, &entry.planned, note))
}

/// On which terms a set is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) time: u64,
    pub(super) mode: Mode,
    pub(super) owner: Owner,
    pub(super) reverts_at: Option<u64>,
    pub(super) redo_of: Option<&'a EntryId>,
}

impl Terms<'_> {
    fn kept(time: u64) -> Self {
        Self { time, mode: Mode::Kept, owner: Owner::this(), reverts_at: None, redo_of: None }
    }
}

/// Carries something out with a note before the first write and after the last.
pub(super) fn noted(
    journal: &Journal,
    device: &DeviceId,
    terms: Terms<'_>,
    work: impl FnOnce(&mut dyn FnMut(&QueueState, &[Change]) -> Result<(), String>) -> Applied,
) -> Kept {
    let (mut entry, mut held_by_other, mut no_snapshot) = (None, false, None);
    let mut applied = work(&mut |before, planned| {
        no_snapshot = snapshot::keep_first(journal, device, before).err();
        let Terms { time, mode, owner, reverts_at, redo_of } = terms;
        let noted =
            journal.intend(Intent { device, planned, before, time, mode, owner, reverts_at, redo_of });
        held_by_other = matches!(noted, Err(JournalError::Busy { .. }));
        entry = Some(noted.map_err(|e| e.to_string())?);
        Ok(())
    });
    if held_by_other {
        applied.cause = Some(Cause::Gone);
    }
    let incomplete = note(journal, entry.as_ref(), &applied);
    let no_snapshot = no_snapshot.map(|e| format!("the way back to boot: {e}"));
    Kept { applied, entry, warning: incomplete.or(no_snapshot) }
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
