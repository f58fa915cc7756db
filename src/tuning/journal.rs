//! What was changed since boot, written down before it is done, so that it can be taken back.
//!
//! A file of JSON lines, only ever appended to. An `intent` line reaches the disk before the first write to a queue; a
//! `done` line says what it came to; an `undone` line that it was taken back. An intent without a `done` was
//! interrupted. Lines of another boot are never acted upon: a reboot forgets settings, and so does the journal. Lines of
//! another format, and one that was cut off, are passed over.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::apply::Applied;
use super::change::Change;
use super::plan;
use crate::clock::{Clock, SystemClock};
use crate::sys::device::{DevNum, DeviceId};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Version of the lines; others are passed over.
const FORMAT: u32 = 1;

/// The file within the directory.
const FILE: &str = "changes.jsonl";

/// More than this is not read: some ten thousand sets of changes.
const MOST_BYTES: u64 = 64 << 20;

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
}

/// The journal of one host.
#[derive(Debug)]
pub struct Journal {
    dir: PathBuf,
    boot: String,
}

/// Names one entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(String);

/// One attribute that a set moved, asked for or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The attribute.
    pub name: String,
    /// What it read before; None if it was not there.
    pub before: Option<String>,
    /// What it read when the set was done; None if it was gone.
    pub effective: Option<String>,
}

/// Who is changing something now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process number.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot, which tells a reused number apart.
    pub started: u64,
}

/// How far an entry got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Noted, and no word since: being written at this moment, or interrupted.
    Open,
    /// Carried out; what moved.
    Kept(Vec<Moved>),
    /// Refused, and everything put back.
    RolledBack,
    /// Taken back by `undo`.
    Undone,
}

/// One set of changes of one device in this boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// When it began, in seconds since 1970.
    pub time: u64,
    /// Who wrote it.
    pub owner: Owner,
    /// The device, as it was then.
    pub device: DeviceId,
    /// What was asked for, and differed.
    pub planned: Vec<Change>,
    /// Everything that can be put back, as it read before.
    pub before: BTreeMap<String, String>,
    /// How far it got.
    pub stage: Stage,
}

#[derive(Serialize, Deserialize)]
struct Line {
    v: u32,
    boot: String,
    id: EntryId,
    #[serde(flatten)]
    event: Event,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Intent {
        time: u64,
        owner: Owner,
        device: StoredId,
        changes: Vec<StoredChange>,
        before: BTreeMap<String, String>,
    },
    Done {
        kept: bool,
        moved: Vec<Moved>,
    },
    Undone,
}

#[derive(Serialize, Deserialize)]
struct StoredChange {
    name: String,
    requested: String,
}

#[derive(Serialize, Deserialize)]
struct StoredId {
    name: String,
    devnum: Option<String>,
    diskseq: Option<u64>,
    wwid: Option<String>,
    serial: Option<String>,
}

impl StoredId {
    fn of(id: &DeviceId) -> Self {
        Self {
            name: id.name.kernel(),
            devnum: id.devnum.map(|d| d.to_string()),
            diskseq: id.diskseq,
            wwid: id.wwid.clone(),
            serial: id.serial.clone(),
        }
    }

    fn back(self) -> Option<DeviceId> {
        Some(DeviceId {
            name: KernelName::new(&self.name)?,
            devnum: match self.devnum {
                Some(text) => Some(DevNum::parse(&text)?),
                None => None,
            },
            diskseq: self.diskseq,
            wwid: self.wwid,
            serial: self.serial,
        })
    }
}

impl Journal {
    /// The journal in `dir`, which need not exist yet, of the boot named `boot` (the text of the kernel's `boot_id`).
    #[must_use]
    pub fn new(dir: &Path, boot: &str) -> Self {
        Self { dir: dir.to_path_buf(), boot: boot.trim().to_owned() }
    }

    /// Notes that `planned` is about to be written to a device whose queue reads `before`. On return it is on disk.
    ///
    /// # Errors
    /// If it can not be written down; nothing may be changed then.
    pub fn intend(
        &self,
        device: &DeviceId,
        planned: &[Change],
        before: &QueueState,
        time: u64,
    ) -> Result<EntryId, JournalError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let owner = Owner { pid: std::process::id(), started: start_of(std::process::id()).unwrap_or(0) };
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        // With the time, since a program that executes itself anew keeps number and start, and counts from zero.
        let id = EntryId(format!("{}-{}-{n}", owner.pid, SystemClock.boot().0));
        let restorable = before
            .attributes
            .keys()
            .filter(|name| plan::restorable(name))
            .filter_map(|name| Some((name.clone(), before.effective(name)?)))
            .collect();
        let event = Event::Intent {
            time,
            owner,
            device: StoredId::of(device),
            changes: planned
                .iter()
                .map(|c| StoredChange { name: c.name.clone(), requested: c.requested.clone() })
                .collect(),
            before: restorable,
        };
        self.append(&id, event)?;
        Ok(id)
    }

    /// Notes what an intended set came to: kept, or refused and put back.
    ///
    /// # Errors
    /// If it can not be written down; the entry then counts as interrupted, and can still be undone.
    pub fn complete(&self, id: &EntryId, applied: &Applied) -> Result<(), JournalError> {
        let moved = applied
            .before
            .differences(&applied.after)
            .into_iter()
            .map(|(name, before, effective)| Moved { name, before, effective })
            .collect();
        self.append(id, Event::Done { kept: !applied.report.rolled_back, moved })
    }

    /// Notes that an entry was taken back.
    ///
    /// # Errors
    /// If it can not be written down; `undo` would then find it again, with nothing left to do.
    pub fn mark_undone(&self, id: &EntryId) -> Result<(), JournalError> {
        self.append(id, Event::Undone)
    }

    /// The entries of this boot, oldest first. Empty if there is no journal.
    ///
    /// # Errors
    /// If there is one that can not be read, or that someone else could have written.
    pub fn entries(&self) -> Result<Vec<Entry>, JournalError> {
        let path = self.dir.join(FILE);
        let file = match open(&path, OpenOptions::new().read(true)) {
            Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            other => other?,
        };
        check_dir(&self.dir)?;
        let mut bytes = Vec::new();
        let fail = |source| JournalError::Io { path: path.clone(), source };
        flock(&file, FlockOperation::LockShared).map_err(|e| fail(e.into()))?;
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(fail)?;
        Ok(self.parse(&bytes))
    }

    /// The entries in the text of a journal. Never fails: what is not understood is passed over.
    #[must_use]
    pub fn parse(&self, bytes: &[u8]) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for line in bytes.split(|b| *b == b'\n') {
            let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
            if line.v != FORMAT || line.boot != self.boot {
                continue;
            }
            let known = entries.iter_mut().rfind(|e| e.id == line.id);
            match (line.event, known) {
                (Event::Intent { time, owner, device, changes, before }, None) => {
                    let Some(device) = device.back() else { continue };
                    let planned = changes
                        .into_iter()
                        .map(|c| Change { name: c.name, requested: c.requested })
                        .collect();
                    entries.push(Entry {
                        id: line.id,
                        time,
                        owner,
                        device,
                        planned,
                        before,
                        stage: Stage::Open,
                    });
                }
                (Event::Done { kept, moved }, Some(entry)) if entry.stage != Stage::Undone => {
                    entry.stage = if kept { Stage::Kept(moved) } else { Stage::RolledBack };
                }
                (Event::Undone, Some(entry)) => entry.stage = Stage::Undone,
                _ => {}
            }
        }
        entries
    }

    fn append(&self, id: &EntryId, event: Event) -> Result<(), JournalError> {
        let line = Line { v: FORMAT, boot: self.boot.clone(), id: id.clone(), event };
        let path = self.dir.join(FILE);
        let fail = |source| JournalError::Io { path: path.clone(), source };
        let mut text = serde_json::to_vec(&line).map_err(|e| fail(e.into()))?;
        text.push(b'\n');
        make_dir(&self.dir)?;
        let mut file = open(&path, OpenOptions::new().read(true).append(true).create(true).mode(0o600))?;
        // Held for this append only, never while a queue is written.
        flock(&file, FlockOperation::LockExclusive).map_err(|e| fail(e.into()))?;
        if !ends_with_newline(&mut file).map_err(fail)? {
            // A line was cut off; it must not swallow this one.
            text.insert(0, b'\n');
        }
        file.write_all(&text).map_err(fail)?;
        file.sync_all().map_err(fail)?;
        let dir = File::open(&self.dir).map_err(fail)?;
        dir.sync_all().map_err(fail)
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

/// Makes the directory for this user alone; one that exists must belong to this user and be closed to others' writes,
/// for what is read here is later written to the kernel.
fn make_dir(dir: &Path) -> Result<(), JournalError> {
    match DirBuilder::new().recursive(false).mode(0o700).create(dir) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(JournalError::Io { path: dir.to_path_buf(), source }),
    }
    check_dir(dir)
}

fn check_dir(dir: &Path) -> Result<(), JournalError> {
    let meta = std::fs::symlink_metadata(dir)
        .map_err(|source| JournalError::Io { path: dir.to_path_buf(), source })?;
    let distrust = |what| JournalError::NotTrusted { path: dir.to_path_buf(), what };
    if !meta.is_dir() {
        return Err(distrust("not a directory"));
    }
    owned_by_us(&meta).map_err(distrust)
}

fn open(path: &Path, options: &mut OpenOptions) -> Result<File, JournalError> {
    let file = options
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(|source| JournalError::Io { path: path.to_path_buf(), source })?;
    let meta = file.metadata().map_err(|source| JournalError::Io { path: path.to_path_buf(), source })?;
    let distrust = |what| JournalError::NotTrusted { path: path.to_path_buf(), what };
    if !meta.is_file() {
        return Err(distrust("not a regular file"));
    }
    owned_by_us(&meta).map_err(distrust)?;
    Ok(file)
}

fn owned_by_us(meta: &std::fs::Metadata) -> Result<(), &'static str> {
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to another user");
    }
    if meta.mode() & 0o022 != 0 {
        return Err("others may write to it");
    }
    Ok(())
}

impl Owner {
    /// Whether that process still runs.
    #[must_use]
    pub fn alive(&self) -> bool {
        start_of(self.pid) == Some(self.started)
    }
}

/// Start time of a process that is not a zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    (stat.state != 'Z').then_some(stat.starttime)
}
