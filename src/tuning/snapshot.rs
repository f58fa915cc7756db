//! The way back to boot: the queue of a device as it was when blktune first set out to change it in this boot.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change::Change;
use super::control::QueueControl;
use super::entry::StoredId;
use super::journal::{Journal, JournalError};
use super::keep::{self, Kept};
use super::{plan, private};
use crate::sys::device::DeviceId;
use crate::sys::inventory;
use crate::sys::queue::{Attribute, QueueState};
use crate::sys::root::SysRoot;

/// Version of the file; others are passed over.
const FORMAT: u32 = 1;
/// A queue has some fifty attributes of at most a page.
const MOST_BYTES: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u32,
    boot: String,
    device: StoredId,
    attributes: BTreeMap<String, String>,
}

/// What a device's queue read before the first change of this boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The device, as it was then.
    pub device: DeviceId,
    /// Every attribute that could be read, in the form it is written in.
    pub attributes: BTreeMap<String, String>,
}

impl Snapshot {
    /// The queue that it shows, for comparing: every attribute in the form it is written in.
    #[must_use]
    pub fn state(&self) -> QueueState {
        let shown = |value: &String| Attribute { value: Some(value.clone()), writable: true };
        QueueState { attributes: self.attributes.iter().map(|(n, v)| (n.clone(), shown(v))).collect() }
    }
}

/// Stores the queue unless that was done before in this boot for this very device. Written beside and renamed, so that
/// there is a whole one or none.
pub(super) fn keep_first(
    journal: &Journal,
    device: &DeviceId,
    state: &QueueState,
) -> Result<(), JournalError> {
    if load(journal, device)?.is_some() {
        return Ok(());
    }
    let attributes = state.attributes.keys().filter_map(|n| Some((n.clone(), state.effective(n)?))).collect();
    let stored =
        Stored { v: FORMAT, boot: journal.boot().to_owned(), device: StoredId::of(device), attributes };
    let path = path(journal, device);
    let bytes =
        serde_json::to_vec(&stored).map_err(|e| JournalError::Io { path: path.clone(), source: e.into() })?;
    private::make_dir(journal.dir())?;
    private::replace(&path, &bytes, |_| Ok(())).map(drop)
}

/// The snapshot of this device in this boot; None if blktune has not changed it yet.
///
/// # Errors
/// There is one that can not be read, or that someone else could have written.
pub fn load(journal: &Journal, device: &DeviceId) -> Result<Option<Snapshot>, JournalError> {
    let stored = match read(&path(journal, device)) {
        Err(JournalError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    private::check_dir(journal.dir())?;
    let Some(stored) = stored else { return Ok(None) };
    let of_now = stored.v == FORMAT && stored.boot == journal.boot();
    let found = stored.device.back().filter(|then| of_now && then.same_device(device));
    Ok(found.map(|device| Snapshot { device, attributes: stored.attributes }))
}

/// Brings a queue back to its snapshot: as a kept set of changes of its own, so that it can be undone. Values that the
/// kernel derives are left to it. `time` is the wall clock in seconds since 1970.
pub fn back_to(journal: &Journal, queue: &dyn QueueControl, snapshot: &Snapshot, time: u64) -> Kept {
    let now = queue.read();
    let wanted: Vec<Change> = snapshot
        .attributes
        .iter()
        .filter(|(name, value)| now.effective(name).as_ref() != Some(value))
        .filter(|(name, _)| {
            let comes_back = name.starts_with("iosched/") && plan::restorable(name);
            comes_back || plan::puts_back(name, &now, |_| true)
        })
        .map(|(name, value)| Change { name: name.clone(), requested: value.clone() })
        .collect();
    // Those that are right now may move with the others.
    let stay = snapshot
        .attributes
        .iter()
        .filter(|(name, _)| matches!(name.as_str(), "read_ahead_kb" | "nr_requests") && !wanted.is_empty())
        .filter(|(name, _)| !wanted.iter().any(|c| c.name == **name))
        .map(|(name, value)| Change { name: name.clone(), requested: value.clone() });
    let all: Vec<Change> = wanted.iter().cloned().chain(stay).collect();
    keep::bring_to(journal, queue, &snapshot.device, &all, time)
}

/// Removes the snapshots of devices that are gone, and of other boots: none of them can be gone back to. What can not be
/// read or removed stays, and costs a few hundred bytes until the next boot.
pub fn forget_gone(journal: &Journal, root: &SysRoot) {
    if private::check_dir(journal.dir()).is_err() {
        return;
    }
    let Ok(files) = std::fs::read_dir(journal.dir()) else { return };
    let ours = |n: &str| n.starts_with("boot-") && Path::new(n).extension().is_some_and(|e| e == "json");
    for file in files.flatten().filter(|f| f.file_name().to_str().is_some_and(ours)) {
        let Some(stored) = read(&file.path()).ok().flatten() else { continue };
        let here = |id: DeviceId| {
            inventory::identify(root, &id.name).is_some_and(|now| now.same_device(&id))
                && stored.boot == journal.boot()
        };
        if !stored.device.back().is_some_and(here) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}

/// A stored snapshot; None if it is of another format.
fn read(path: &Path) -> Result<Option<Stored>, JournalError> {
    let file = private::open(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    let fail = |source| JournalError::Io { path: path.to_path_buf(), source };
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(fail)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

/// One file a device: the name and what tells it from a successor of that name.
fn path(journal: &Journal, device: &DeviceId) -> PathBuf {
    let which = match (device.diskseq, device.devnum) {
        (Some(seq), _) => seq.to_string(),
        (None, Some(number)) => format!("{}-{}", number.major, number.minor),
        (None, None) => "0".to_owned(),
    };
    journal.dir().join(format!("boot-{}-{which}.json", device.name.sysfs()))
}
