//! A queue whose settings are changed again and again and go back to where they began: what an experiment holds.
//!
//! All changes are one entry of the journal, which notes the queue as it was at the beginning. Before each change it
//! is on disk that these settings are about to be written, and after it what they read: so whoever puts back, this
//! guard, the supervisor or `restore`, brings everything to the beginning that was moved on the way, the last change's
//! side effects and those of the first alike, and tells what somebody else has changed since.

use std::collections::BTreeSet;

use super::apply::{Applied, BeforeWriting, Cause, apply_known, write_bare};
use super::change::Change;
use super::control::QueueControl;
use super::entry::{Mode, Moved, Owner};
use super::held::Held;
use super::journal::{Intent, Journal, JournalError};
use super::restore::PutBack;
use super::snapshot;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;

/// The queue of one device, held from its beginning. Dropped, it is put back, but then nobody hears how that went.
#[must_use = "dropping it puts the settings back at once"]
#[derive(Debug)]
pub struct HeldQueue<Q: QueueControl> {
    /// All changes as one set: the queue before the first of them and after the last, and what is to go back. Its entry is
    /// None as long as nothing was written.
    all: Held<Q>,
    start: QueueState,
    /// The wall clock at the beginning, in seconds since 1970.
    time: u64,
    /// Settings that were written, or moved while others were.
    ours: BTreeSet<String>,
}

impl<Q: QueueControl> HeldQueue<Q> {
    /// Takes the queue as it reads now for the beginning. Nothing is written, and nothing noted before something is.
    /// `time` is the wall clock in seconds since 1970.
    pub fn begin(journal: &Journal, queue: Q, device: &DeviceId, time: u64) -> Self {
        let all = Held::nothing(journal, queue, device);
        let start = all.applied().before.clone();
        Self { all, start, time, ours: BTreeSet::new() }
    }

    /// Has the device for this process before anything is written, so that no other program changes it meanwhile: what
    /// is measured between two changes, or without any, hangs on it, too. An entry that holds nothing yet; the first
    /// change goes on with it.
    ///
    /// # Errors
    /// [`JournalError::Busy`] if another living process holds the device, else if it can not be written down. Changes may
    /// be tried all the same.
    pub fn claim(&mut self) -> Result<(), JournalError> {
        if self.all.kept.entry.is_some() {
            return Ok(());
        }
        let Held { journal, device, kept, armed, .. } = &mut self.all;
        let id = journal.intend(first_intent(device, &[], &self.start, self.time))?;
        *armed = true;
        kept.entry = Some(id.clone());
        journal.done(&id, false, Vec::new())
    }

    /// The queue as it was at the beginning.
    #[must_use]
    pub fn start(&self) -> &QueueState {
        &self.start
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &DeviceId {
        &self.all.device
    }

    /// The queue as it reads now; empty if the device is gone.
    #[must_use]
    pub fn read(&self) -> QueueState {
        self.all.queue.read()
    }

    /// Carries out `changes` as [`super::apply::apply`] does: all of them, or it is as it was before this call. Values of
    /// the beginning need no judging. Blocks for as long as the queue takes to drain.
    pub fn change(&mut self, changes: &[Change]) -> Applied {
        let start = self.start.clone();
        self.carry_out(|queue, device, note| apply_known(queue, &device.name, changes, &start, note))
    }

    /// Writes just `changes`, in this order and whether or not they differ, as an echo does. What else they move stays
    /// moved until the next change, or until all goes back. A refusal takes all of them back.
    pub fn write_bare(&mut self, changes: &[Change]) -> Applied {
        self.carry_out(|queue, device, note| write_bare(queue, &device.name, changes, note))
    }

    /// What could not be noted of late, in words. The settings go back all the same.
    pub fn take_warning(&mut self) -> Option<String> {
        self.all.kept.warning.take()
    }

    /// Brings everything to the beginning and verifies that. None if there is nothing to put back. Another change may
    /// follow.
    pub fn put_back(&mut self) -> Option<PutBack> {
        let done = self.all.put_back();
        self.all.kept.entry = None;
        self.ours.clear();
        done
    }

    fn carry_out(
        &mut self,
        work: impl FnOnce(&dyn QueueControl, &DeviceId, &mut BeforeWriting<'_>) -> Applied,
    ) -> Applied {
        let held_before = self.all.armed;
        let first = self.ours.is_empty();
        let (mut noted, mut held_by_other) = (false, false);
        let mut applied = {
            let Held { journal, queue, device, kept, .. } = &mut self.all;
            let (start, time) = (&self.start, self.time);
            work(queue, device, &mut |_, planned| {
                if first {
                    kept.warning = snapshot::keep_first(journal, device, start)
                        .err()
                        .map(|e| format!("the way back to boot: {e}"));
                }
                let answer = if let Some(id) = kept.entry.as_ref() {
                    journal.more(id, device, planned)
                } else {
                    let intent = first_intent(device, planned, start, time);
                    journal.intend(intent).map(|id| kept.entry = Some(id))
                };
                held_by_other = matches!(answer, Err(JournalError::Busy { .. } | JournalError::Settled(_)));
                noted = answer.is_ok();
                answer.map_err(|e| e.to_string())
            })
        };
        if held_by_other {
            applied.cause = Some(Cause::Gone);
        }
        if noted {
            self.note(&applied, held_before);
        }
        // As one set that began at the beginning: what this guard knows itself if the journal is out of reach.
        self.all.armed = self.all.kept.entry.is_some();
        self.all.kept.applied = Applied {
            before: self.start.clone(),
            written: self.ours.iter().cloned().collect(),
            ..applied.clone()
        };
        applied
    }

    /// Notes what is held from now on. Where that is not certain the entry stays open, and then everything that was to be
    /// written counts.
    fn note(&mut self, applied: &Applied, held_before: bool) {
        let moved = applied.before.differences(&applied.after).into_iter().map(|(name, _, _)| name);
        self.ours.extend(moved.chain(applied.written.iter().cloned()));
        if !applied.report.not_restored.is_empty() || applied.after.attributes.is_empty() {
            return;
        }
        let Some(id) = self.all.kept.entry.clone() else { return };
        // The first change of an entry took itself back: nothing is held.
        let nothing = applied.report.rolled_back && !held_before;
        let all: Vec<Moved> = self
            .ours
            .iter()
            .map(|name| Moved {
                name: name.clone(),
                before: self.start.effective(name),
                effective: applied.after.effective(name),
            })
            .collect();
        let answer = self.all.journal.done(&id, nothing, if nothing { Vec::new() } else { all });
        if nothing {
            self.all.kept.entry = None;
            self.ours.clear();
        }
        if let Err(e) = answer {
            self.all.kept.warning = Some(e.to_string());
        }
    }
}

/// The beginning of an entry that goes on.
fn first_intent<'a>(
    device: &'a DeviceId,
    planned: &'a [Change],
    before: &'a QueueState,
    time: u64,
) -> Intent<'a> {
    let (mode, owner) = (Mode::Held, Owner::this());
    Intent { device, planned, before, time, mode, owner, reverts_at: None, redo_of: None }
}
