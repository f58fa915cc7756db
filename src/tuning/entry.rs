//! What the journal says: entries, read from its lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::change::Change;
use crate::sys::device::{DevNum, DeviceId};
use crate::sys::name::KernelName;

/// Version of the lines; others are passed over.
pub(super) const FORMAT: u32 = 2;

/// Names one entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub(super) String);

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

/// A process, as far as it answers for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// Process number.
    pub pid: u32,
    /// Start time of the process in clock ticks since boot, which tells a reused number apart.
    pub started: u64,
}

impl Owner {
    /// This process.
    #[must_use]
    pub fn this() -> Self {
        Self::of(std::process::id()).unwrap_or(Self { pid: std::process::id(), started: 0 })
    }

    /// The process of that number; None if there is none, or only what is left of one that ended.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
        // A zombie does nothing any more, and X is one about to be forgotten.
        (!matches!(stat.state, 'Z' | 'X' | 'x')).then_some(Self { pid, started: stat.starttime })
    }

    /// Whether that process still runs: number and start time match, and it is no zombie.
    #[must_use]
    pub fn alive(&self) -> bool {
        Self::of(self.pid) == Some(*self)
    }
}

/// What is to become of a set when the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is put back, however the program ends.
    Held,
    /// It stays until `undo` or a reboot.
    Kept,
}

/// How far an entry got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Noted, and no word since: being written at this moment, or interrupted. Counts as held, whatever was meant.
    Open,
    /// Carried out and read back; goes back when its owner ends.
    Held,
    /// Carried out and read back, or confirmed; stays.
    Kept,
    /// Refused, and everything put back.
    RolledBack,
    /// Was held, and was put back.
    PutBack,
    /// Was kept, and was taken back by `undo`.
    Undone,
    /// Never to be acted upon: the device is gone, or the boot is over.
    Closed,
}

/// One set of changes of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub id: EntryId,
    /// The kernel's id of the boot it belongs to.
    pub boot: String,
    /// When it began, in seconds since 1970.
    pub time: u64,
    /// Who answers for it.
    pub owner: Owner,
    /// What it was meant to be.
    pub mode: Mode,
    /// When it goes back unless it is confirmed, in seconds since 1970; None if it does not wait for a confirmation.
    pub reverts_at: Option<u64>,
    /// The device, as it was then.
    pub device: DeviceId,
    /// What was asked for, and differed; of an entry that goes on, the last value of each setting.
    pub planned: Vec<Change>,
    /// Everything that can be put back, as it read before.
    pub before: BTreeMap<String, String>,
    /// What moved; empty until it is carried out.
    pub moved: Vec<Moved>,
    /// How far it got.
    pub stage: Stage,
    /// Who began to take it back and has not said how that ended.
    pub claim: Option<Owner>,
    /// The undone entry that this one carried out again.
    pub redo_of: Option<EntryId>,
    /// Line in which it began: the order of entries.
    pub(super) began: usize,
    /// Line in which it was undone last.
    pub(super) undone_at: usize,
}

impl Entry {
    /// Whether it waits to be put back should nobody be left who answers for it: not read back yet, held, or an undo
    /// that was not finished.
    #[must_use]
    pub fn unsettled(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Held) || self.claim.is_some()
    }

    /// Whether anything was written, or may have been: not of an experiment that only keeps others from the device.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.planned.is_empty() || !self.moved.is_empty()
    }

    /// Who is at work with its device or will put it back, among those that `is_alive`.
    #[must_use]
    pub fn answered_by(&self, is_alive: impl Fn(&Owner) -> bool) -> Option<Owner> {
        let owner = matches!(self.stage, Stage::Open | Stage::Held).then_some(self.owner);
        [self.claim, owner].into_iter().flatten().find(|o| is_alive(o))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) v: u32,
    pub(super) boot: String,
    pub(super) id: EntryId,
    #[serde(flatten)]
    pub(super) event: Event,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Event {
    /// About to be written.
    Intent {
        time: u64,
        owner: Owner,
        mode: Mode,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reverts_at: Option<u64>,
        device: StoredId,
        changes: Vec<StoredChange>,
        before: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        redo_of: Option<EntryId>,
    },
    /// More is about to be written, under an entry that goes on.
    More { changes: Vec<StoredChange> },
    /// Written and read back, or rolled back.
    Done { rolled_back: bool, moved: Vec<Moved> },
    /// A held one is kept from now on.
    Confirmed,
    /// Somebody begins to take it back.
    Claimed { owner: Owner },
    /// And did not: as it was.
    Released,
    /// And did.
    PutBack,
    /// Not to be acted upon.
    Closed,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredChange {
    name: String,
    requested: String,
}

impl StoredChange {
    pub(super) fn of(change: &Change) -> Self {
        Self { name: change.name.clone(), requested: change.requested.clone() }
    }
}

/// A [`DeviceId`] as it is written down.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredId {
    name: String,
    devnum: Option<String>,
    diskseq: Option<u64>,
    wwid: Option<String>,
    serial: Option<String>,
}

impl StoredId {
    pub(super) fn of(id: &DeviceId) -> Self {
        Self {
            name: id.name.kernel(),
            devnum: id.devnum.map(|d| d.to_string()),
            diskseq: id.diskseq,
            wwid: id.wwid.clone(),
            serial: id.serial.clone(),
        }
    }

    pub(super) fn back(self) -> Option<DeviceId> {
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

/// The entries in the text of a journal, of all boots, oldest first. Never fails: what is not understood is passed
/// over.
pub(super) fn parse(bytes: &[u8]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if line.v != FORMAT {
            continue;
        }
        let known = entries.iter_mut().rfind(|e| e.id == line.id && e.boot == line.boot);
        match (line.event, known) {
            (Event::Intent { time, owner, mode, reverts_at, device, changes, before, redo_of }, None) => {
                let Some(device) = device.back() else { continue };
                let planned =
                    changes.into_iter().map(|c| Change { name: c.name, requested: c.requested }).collect();
                entries.push(Entry {
                    id: line.id,
                    boot: line.boot,
                    time,
                    owner,
                    mode,
                    reverts_at,
                    device,
                    planned,
                    before,
                    moved: Vec::new(),
                    stage: Stage::Open,
                    claim: None,
                    redo_of,
                    began: at,
                    undone_at: 0,
                });
            }
            (event, Some(entry)) => digest(entry, event, at),
            (_, None) => {}
        }
    }
    entries
}

fn digest(entry: &mut Entry, event: Event, at: usize) {
    match event {
        Event::Intent { .. } => {}
        Event::More { changes } => {
            // Whatever became of what was written before, nobody knows how far this one comes.
            if matches!(entry.stage, Stage::Open | Stage::Held) {
                entry.stage = Stage::Open;
                for c in changes {
                    entry.planned.retain(|p| p.name != c.name);
                    entry.planned.push(Change { name: c.name, requested: c.requested });
                }
            }
        }
        Event::Done { rolled_back, moved } => {
            // Twice for a set that was carried out and then went down with another device's.
            if matches!(entry.stage, Stage::Open | Stage::Held | Stage::Kept) {
                entry.stage = match (rolled_back, entry.mode) {
                    (true, _) => Stage::RolledBack,
                    (false, Mode::Held) => Stage::Held,
                    (false, Mode::Kept) => Stage::Kept,
                };
                entry.moved = moved;
            }
        }
        Event::Confirmed => {
            if entry.stage == Stage::Held {
                entry.stage = Stage::Kept;
                entry.mode = Mode::Kept;
            }
        }
        Event::Claimed { owner } => entry.claim = Some(owner),
        Event::Released => entry.claim = None,
        Event::PutBack => {
            entry.claim = None;
            entry.undone_at = at;
            entry.stage = if entry.stage == Stage::Kept { Stage::Undone } else { Stage::PutBack };
        }
        Event::Closed => {
            entry.claim = None;
            entry.stage = Stage::Closed;
        }
    }
}
