//! A set of changes that goes back: carried out, written down, and put back when its holder is done or dies.

use super::apply::{Applied, apply, take_back};
use super::change::{ApplyReport, Change};
use super::control::QueueControl;
use super::journal::{EntryId, Journal, JournalError, Mode, Owner};
use super::keep::{Kept, Terms, noted};
use super::restore::{self, PutBack};
use super::tag_depth;
use crate::sys::device::DeviceId;

/// Held settings of one device. Give them back with [`Held::release`]; dropped, they are put back too, but then nobody
/// hears how that went. When the process dies first, its supervisor or `restore` does it from the journal.
#[must_use = "dropping it puts the settings back at once"]
#[derive(Debug)]
pub struct Held<Q: QueueControl> {
    pub(super) journal: Journal,
    pub(super) queue: Q,
    pub(super) device: DeviceId,
    pub(super) kept: Kept,
    /// Whether this guard still has to put something back.
    pub(super) armed: bool,
}

/// Carries out `changes` on a queue and holds them, in the name of this process. `time` is the wall clock in seconds
/// since 1970. Look at [`Held::applied`] for what became of them: on a refusal everything is put back already.
pub fn hold<Q: QueueControl>(
    journal: &Journal,
    queue: Q,
    device: &DeviceId,
    changes: &[Change],
    time: u64,
) -> Held<Q> {
    let terms = Terms { time, mode: Mode::Held, owner: Owner::this(), reverts_at: None, redo_of: None };
    hold_on(journal, queue, device, changes, terms)
}

/// [`hold`] in the name of another process (`owner`), which puts the settings back at `reverts_at` (seconds since 1970)
/// unless they are confirmed before. Let the guard go with [`Held::leave`].
pub fn hold_until_confirmed<Q: QueueControl>(
    journal: &Journal,
    queue: Q,
    device: &DeviceId,
    changes: &[Change],
    time: u64,
    owner: Owner,
    reverts_at: u64,
) -> Held<Q> {
    let terms = Terms { time, mode: Mode::Held, owner, reverts_at: Some(reverts_at), redo_of: None };
    hold_on(journal, queue, device, changes, terms)
}

fn hold_on<Q: QueueControl>(
    journal: &Journal,
    queue: Q,
    device: &DeviceId,
    changes: &[Change],
    terms: Terms<'_>,
) -> Held<Q> {
    let kept = noted(journal, device, terms, |note| apply(&queue, &device.name, changes, note));
    let armed = kept.entry.is_some() && !kept.applied.report.rolled_back;
    Held { journal: journal.clone(), queue, device: device.clone(), kept, armed }
}

impl<Q: QueueControl> Held<Q> {
    /// Nothing yet, on a queue as it reads now.
    pub(super) fn nothing(journal: &Journal, queue: Q, device: &DeviceId) -> Self {
        let now = queue.read();
        let applied = Applied {
            report: ApplyReport::default(),
            cause: None,
            why: None,
            before: now.clone(),
            after: now,
            written: Vec::new(),
        };
        let kept = Kept { applied, entry: None, warning: None };
        Held { journal: journal.clone(), queue, device: device.clone(), kept, armed: false }
    }

    /// What the set came to.
    #[must_use]
    pub fn applied(&self) -> &Applied {
        &self.kept.applied
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &DeviceId {
        &self.device
    }

    /// The entry in the journal; None if nothing was to be written.
    #[must_use]
    pub fn entry(&self) -> Option<&EntryId> {
        self.kept.entry.as_ref()
    }

    /// What could not be noted, in words.
    #[must_use]
    pub fn warning(&self) -> Option<&str> {
        self.kept.warning.as_deref()
    }

    /// Puts the settings back and verifies that. None if there was nothing to put back.
    pub fn release(mut self) -> Option<PutBack> {
        self.put_back()
    }

    /// Takes the set back because another device of the same command refused its part, and says what came of that.
    pub fn take_back(mut self, because: &str) -> ApplyReport {
        self.armed = false;
        take_back(&self.queue, &self.device.name, &mut self.kept.applied, because);
        if let Some(id) = &self.kept.entry {
            // Not noted, it counts as held by whoever answers for it, and is put back once more.
            let _ = self.journal.complete(id, &self.kept.applied);
        }
        self.kept.applied.report.clone()
    }

    /// Turns the set into a kept one.
    ///
    /// # Errors
    /// As [`Journal::confirm`]; the settings are then put back, as this guard is gone.
    pub fn confirm(mut self) -> Result<(), JournalError> {
        let Some(id) = self.kept.entry.clone() else { return Ok(()) };
        let entries = self.journal.entries()?;
        if let Some(entry) = entries.iter().find(|e| e.id == id) {
            self.journal.confirm(entry)?;
        }
        self.armed = false;
        Ok(())
    }

    /// Leaves the settings to the process in whose name they are held.
    pub fn leave(mut self) -> Kept {
        self.armed = false;
        self.kept.clone()
    }

    pub(super) fn put_back(&mut self) -> Option<PutBack> {
        if !std::mem::take(&mut self.armed) {
            return None;
        }
        let id = self.kept.entry.as_ref()?;
        match self.journal.entries() {
            Ok(entries) => {
                let entry = entries.iter().find(|e| e.id == *id)?;
                Some(restore::put_back(&self.journal, &self.queue, entry, None))
            }
            // The journal is out of reach, but this guard knows itself what was there before.
            Err(e) => {
                let switched = self.kept.applied.written.iter().any(|name| name == "scheduler");
                take_back(&self.queue, &self.device.name, &mut self.kept.applied, "it ended");
                if switched {
                    // A bare write may have come to `none` already. There is nobody to tell.
                    let _ = tag_depth::renew(&self.queue);
                }
                Some(PutBack::without_journal(&self.device.name, &self.kept.applied, &e))
            }
        }
    }
}

impl<Q: QueueControl> Drop for Held<Q> {
    fn drop(&mut self) {
        // The last resort, while a panic unwinds: there is nobody to tell.
        let _ = self.put_back();
    }
}
