//! What was changed since boot, written down before it is done, so that it can be taken back.
//!
//! A file of JSON lines, only ever appended to. An `intent` line names a device with everything that tells it from its
//! successors, every value that is about to be written, and every value that was there before; it is on disk before
//! the first write to the queue. One line, so one `fsync`, is enough for all writes of a set: whichever of them were
//! done when the program died, what has to come back is in that line. `done` says that all were read back, or rolled
//! back. An intent without `done` counts as held: nobody knows how far it came. `more` opens an entry again, for what
//! is written next on top of what it holds; it goes back to the same beginning.
//!
//! Taking back begins with a `claimed` line, so that two programs never put the same entry back at once, and so that
//! the next one knows of an attempt that was interrupted. The lock on the file is held for the moment of an append,
//! never while a queue is written, which may take as long as the device likes.
//!
//! Lines of another boot are never acted upon: a reboot forgets settings, and so does the journal. Lines of another
//! format, and one that was cut off, are passed over.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};

use super::apply::Applied;
use super::change::Change;
use super::entry::{self, Event, FORMAT, Line, StoredChange, StoredId};
pub use super::entry::{Entry, EntryId, Mode, Moved, Owner, Stage};
use super::{plan, private};
use crate::clock::{Clock, SystemClock};
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// The file within the directory.
const FILE: &str = "changes.jsonl";

/// More than this is not read.
const MOST_BYTES: u64 = 64 << 20;

/// A file longer than this is made anew before the next entry, with what may still be needed.
const LARGE: u64 = 512 << 10;

/// Settled entries that a file made anew takes along, for `undo`.
const REMEMBERED: usize = 100;

/// Why the journal can not be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file or directory could not be made, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Someone else could have written it.
    #[error("{}: {what}; remove it if you did not put it there", path.display())]
    NotTrusted {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another program that runs holds settings of the device, or is changing them.
    #[error("{device} is held by process {pid}; try again when it has ended")]
    Busy {
        /// The device.
        device: KernelName,
        /// The program.
        pid: u32,
    },
    /// What was to be done with the entry was done meanwhile, by this program or another.
    #[error("that change of {0} is not as it was; another program has dealt with it")]
    Settled(KernelName),
}

/// Something that reached the journal's file; for those who want to know how far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A line was written.
    Appended,
    /// And is on disk.
    Synced,
}

type Observer = dyn Fn(Step) + Send + Sync;

/// The journal of one host.
#[derive(Clone)]
pub struct Journal {
    dir: PathBuf,
    boot: String,
    observer: Option<Arc<Observer>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("dir", &self.dir).field("boot", &self.boot).finish_non_exhaustive()
    }
}

/// What is about to be done.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    /// To which device.
    pub device: &'a DeviceId,
    /// What will be written.
    pub planned: &'a [Change],
    /// The queue as it reads now.
    pub before: &'a QueueState,
    /// The wall clock, in seconds since 1970.
    pub time: u64,
    /// Held or kept.
    pub mode: Mode,
    /// Who answers for it.
    pub owner: Owner,
    /// When it goes back unless it is confirmed, in seconds since 1970.
    pub reverts_at: Option<u64>,
    /// The undone entry that is carried out again.
    pub redo_of: Option<&'a EntryId>,
}

impl Journal {
    /// The journal in `dir`, which need not exist yet, of the boot named `boot` (the text of the kernel's `boot_id`).
    #[must_use]
    pub fn new(dir: &Path, boot: &str) -> Self {
        Self { dir: dir.to_path_buf(), boot: boot.trim().to_owned(), observer: None }
    }

    /// The same journal, telling `observer` of every line right after it was written and after it reached the disk.
    #[must_use]
    pub fn observed(mut self, observer: impl Fn(Step) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The boot it is of.
    #[must_use]
    pub fn boot(&self) -> &str {
        &self.boot
    }

    /// Notes what is about to be written to a device. On return it is on disk.
    ///
    /// # Errors
    /// [`JournalError::Busy`] if another living process holds the device, else if it can not be written down; nothing
    /// may be changed then.
    pub fn intend(&self, intent: Intent<'_>) -> Result<EntryId, JournalError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        // With the time, since a program that executes itself anew keeps its number and counts from zero.
        let id = EntryId(format!("{}-{}-{n}", std::process::id(), SystemClock.boot().0));
        let Intent { device, planned, before, time, mode, owner, reverts_at, redo_of } = intent;
        let restorable = before
            .attributes
            .iter()
            .filter(|(name, attribute)| attribute.writable && plan::restorable(name))
            .filter_map(|(name, _)| Some((name.clone(), before.effective(name)?)))
            .collect();
        let event = Event::Intent {
            time,
            owner,
            mode,
            reverts_at,
            device: StoredId::of(device),
            changes: planned.iter().map(StoredChange::of).collect(),
            before: restorable,
            redo_of: redo_of.cloned(),
        };
        self.append_if(&id, event, |entries| free_for(entries, device, &[owner, Owner::this()]))?;
        Ok(id)
    }

    /// Notes that more is about to be written to the device of an entry that this process holds. On return it is on
    /// disk.
    ///
    /// # Errors
    /// [`JournalError::Settled`] if the entry is not held any more, [`JournalError::Busy`] if somebody is putting it back
    /// right now, else if it can not be written down; nothing may be changed then.
    pub fn more(&self, id: &EntryId, device: &DeviceId, planned: &[Change]) -> Result<(), JournalError> {
        let event = Event::More { changes: planned.iter().map(StoredChange::of).collect() };
        self.append_if(id, event, |entries| {
            let now = entries.iter().find(|e| e.id == *id);
            match now.map(|e| (e.stage, e.claim)) {
                Some((_, Some(by))) if by.alive() => {
                    Err(JournalError::Busy { device: device.name.clone(), pid: by.pid })
                }
                Some((Stage::Open | Stage::Held, None)) => Ok(()),
                _ => Err(JournalError::Settled(device.name.clone())),
            }
        })
    }

    /// Notes what an intended set came to: carried out, or refused and put back.
    ///
    /// # Errors
    /// If it can not be written down; the entry then counts as interrupted, and is put back by `restore`.
    pub fn complete(&self, id: &EntryId, applied: &Applied) -> Result<(), JournalError> {
        let moved = applied
            .before
            .differences(&applied.after)
            .into_iter()
            .map(|(name, before, effective)| Moved { name, before, effective })
            .collect();
        // Not restored in full: what is known of it is no more than of an interrupted one.
        let settled = applied.report.not_restored.is_empty();
        if !settled {
            return Ok(());
        }
        self.done(id, applied.report.rolled_back, moved)
    }

    /// Notes what an entry holds from now on.
    ///
    /// # Errors
    /// As [`Journal::complete`].
    pub(super) fn done(
        &self,
        id: &EntryId,
        rolled_back: bool,
        moved: Vec<Moved>,
    ) -> Result<(), JournalError> {
        self.append(id, Event::Done { rolled_back, moved })
    }

    /// Turns a held entry into a kept one.
    ///
    /// # Errors
    /// [`JournalError::Settled`] if it is not held any more, [`JournalError::Busy`] if somebody is putting it back
    /// right now, else if it can not be written down; it then stays held.
    pub fn confirm(&self, entry: &Entry) -> Result<(), JournalError> {
        self.append_if(&entry.id, Event::Confirmed, |entries| {
            let now = self.find(entries, entry)?;
            match now.claim {
                Some(by) if by.alive() => {
                    Err(JournalError::Busy { device: now.device.name.clone(), pid: by.pid })
                }
                None if now.stage == Stage::Held => Ok(()),
                _ => Err(JournalError::Settled(now.device.name.clone())),
            }
        })
    }

    /// Announces that this process is about to take the entry back. An earlier attempt of its own that did not succeed is
    /// no obstacle to one that knows of it, being read after it. Whoever is `instead_of` counts as dead: a program
    /// that is stuck, and whose supervisor acts for it.
    ///
    /// # Errors
    /// [`JournalError::Settled`] if the entry is not as it was read, [`JournalError::Busy`] if another living process
    /// is at work with the device, else if it can not be written down; nothing may be changed then.
    pub fn claim(&self, entry: &Entry, instead_of: Option<Owner>) -> Result<(), JournalError> {
        let us = Owner::this();
        self.append_if(&entry.id, Event::Claimed { owner: us }, |entries| {
            let now = self.find(entries, entry)?;
            if let Some(by) = now.claim.filter(|by| *by != us && Some(*by) != instead_of && by.alive()) {
                return Err(JournalError::Busy { device: now.device.name.clone(), pid: by.pid });
            }
            if now.stage != entry.stage || now.claim != entry.claim {
                return Err(JournalError::Settled(now.device.name.clone()));
            }
            let ours: Vec<Owner> = [Some(us), instead_of].into_iter().flatten().collect();
            free_for(entries, &entry.device, &ours)
        })
    }

    /// Notes that a claimed entry was not taken back after all, and is as it was.
    ///
    /// # Errors
    /// If it can not be written down; the entry then counts as half taken back.
    pub fn release(&self, id: &EntryId) -> Result<(), JournalError> {
        self.append(id, Event::Released)
    }

    /// Notes that an entry was taken back.
    ///
    /// # Errors
    /// If it can not be written down; it would then be found again, with nothing left to do.
    pub fn put_back(&self, id: &EntryId) -> Result<(), JournalError> {
        self.append(id, Event::PutBack)
    }

    /// Notes that an entry is never to be acted upon: its device is gone, or its boot is over.
    ///
    /// # Errors
    /// If it can not be written down; it would then be found again.
    pub fn close(&self, entry: &Entry) -> Result<(), JournalError> {
        let line = Line { v: FORMAT, boot: entry.boot.clone(), id: entry.id.clone(), event: Event::Closed };
        self.append_line(&line, |_| Ok(()))
    }

    /// The entries of this boot, oldest first. Empty if there is no journal.
    ///
    /// # Errors
    /// If there is one that can not be read, or that someone else could have written.
    pub fn entries(&self) -> Result<Vec<Entry>, JournalError> {
        Ok(self.all()?.into_iter().filter(|e| e.boot == self.boot).collect())
    }

    /// The entries of other boots that were left unsettled, oldest first: to be told and closed, never written.
    ///
    /// # Errors
    /// As [`Journal::entries`].
    pub fn leftovers(&self) -> Result<Vec<Entry>, JournalError> {
        Ok(self.all()?.into_iter().filter(|e| e.boot != self.boot && e.unsettled()).collect())
    }

    /// The entries of this boot in the text of a journal. Never fails: what is not understood is passed over.
    #[must_use]
    pub fn parse(&self, bytes: &[u8]) -> Vec<Entry> {
        entry::parse(bytes).into_iter().filter(|e| e.boot == self.boot).collect()
    }

    fn all(&self) -> Result<Vec<Entry>, JournalError> {
        let options = OpenOptions::new().read(true).to_owned();
        let mut file = match self.open_locked(options, FlockOperation::LockShared) {
            Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            other => other?,
        };
        private::check_dir(&self.dir)?;
        Ok(entry::parse(&self.read(&mut file)?))
    }

    fn find<'a>(&self, entries: &'a [Entry], entry: &Entry) -> Result<&'a Entry, JournalError> {
        let found = entries.iter().find(|e| e.id == entry.id && e.boot == self.boot);
        found.ok_or_else(|| JournalError::Settled(entry.device.name.clone()))
    }

    fn append(&self, id: &EntryId, event: Event) -> Result<(), JournalError> {
        self.append_if(id, event, |_| Ok(()))
    }

    fn append_if(
        &self,
        id: &EntryId,
        event: Event,
        allowed: impl FnOnce(&[Entry]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        self.append_line(&Line { v: FORMAT, boot: self.boot.clone(), id: id.clone(), event }, allowed)
    }

    /// Appends a line if what is in the journal at that moment allows it.
    fn append_line(
        &self,
        line: &Line,
        allowed: impl FnOnce(&[Entry]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let path = self.path();
        let fail = |source| JournalError::Io { path: path.clone(), source };
        let mut text = serde_json::to_vec(line).map_err(|e| fail(e.into()))?;
        text.push(b'\n');
        private::make_dir(&self.dir)?;
        let options = OpenOptions::new().read(true).append(true).create(true).mode(0o600).to_owned();
        let mut file = self.open_locked(options, FlockOperation::LockExclusive)?;
        let bytes = self.read(&mut file)?;
        allowed(&entry::parse(&bytes).into_iter().filter(|e| e.boot == self.boot).collect::<Vec<_>>())?;
        if matches!(line.event, Event::Intent { .. }) && bytes.len() as u64 > LARGE {
            file = private::replace(&path, &self.still_needed(&bytes), |new| {
                flock(new, FlockOperation::LockExclusive).map_err(Into::into)
            })?;
        }
        if !ends_with_newline(&mut file).map_err(fail)? {
            // A line was cut off; it must not swallow this one.
            text.insert(0, b'\n');
        }
        file.write_all(&text).map_err(fail)?;
        self.tell(Step::Appended);
        file.sync_all().map_err(fail)?;
        private::sync_dir(&self.dir)?;
        self.tell(Step::Synced);
        Ok(())
    }

    fn tell(&self, step: Step) {
        if let Some(observer) = &self.observer {
            observer(step);
        }
    }

    /// The lines of this boot's entries that are unsettled or young.
    fn still_needed(&self, bytes: &[u8]) -> Vec<u8> {
        let entries = self.parse(bytes);
        let young = entries.len().saturating_sub(REMEMBERED);
        let needed: Vec<&EntryId> = entries
            .iter()
            .enumerate()
            .filter(|(i, e)| *i >= young || e.unsettled())
            .map(|(_, e)| &e.id)
            .collect();
        let mut out = Vec::new();
        for text in bytes.split(|b| *b == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(text) else { continue };
            if line.v == FORMAT && line.boot == self.boot && needed.contains(&&line.id) {
                out.extend_from_slice(text);
                out.push(b'\n');
            }
        }
        out
    }

    fn path(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    fn read(&self, file: &mut File) -> Result<Vec<u8>, JournalError> {
        let mut bytes = Vec::new();
        let fail = |source| JournalError::Io { path: self.path(), source };
        file.seek(SeekFrom::Start(0)).map_err(fail)?;
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(fail)?;
        Ok(bytes)
    }

    /// Opens and locks the file that has the name once it is locked: the one that was opened may have been replaced
    /// while this waited.
    fn open_locked(&self, mut options: OpenOptions, how: FlockOperation) -> Result<File, JournalError> {
        let path = self.path();
        let fail = |source| JournalError::Io { path: path.clone(), source };
        loop {
            let file = private::open(&path, &mut options)?;
            loop {
                match flock(&file, how) {
                    Err(rustix::io::Errno::INTR) => {}
                    answer => break answer.map_err(|e| fail(e.into()))?,
                }
            }
            let ours = file.metadata().map_err(fail)?;
            match std::fs::symlink_metadata(&path) {
                Ok(named) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()) => return Ok(file),
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fail(e)),
                _ => {}
            }
        }
    }
}

/// Whether nobody but `ours` is at work with a device.
fn free_for(entries: &[Entry], device: &DeviceId, ours: &[Owner]) -> Result<(), JournalError> {
    let other = |o: &Owner| !ours.contains(o) && o.alive();
    let at_work = entries
        .iter()
        .filter(|e| e.unsettled() && e.device.same_device(device))
        .find_map(|e| e.answered_by(other));
    match at_work {
        Some(by) => Err(JournalError::Busy { device: device.name.clone(), pid: by.pid }),
        None => Ok(()),
    }
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
