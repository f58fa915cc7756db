//! Putting back what was left held: by a program that ends, by its supervisor, or by `restore` after both are dead.
//!
//! Safe to run twice and by several at once: each entry is claimed in the journal by one of them before it writes.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::apply::Applied;
use super::back::{Work, write_all};
use super::change::{ChangeReport, Outcome};
use super::control::{QueueControl, SysfsQueue};
use super::journal::{Entry, Journal, JournalError, Owner};
use super::plan;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;

/// How putting back one entry ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All of it is back that was still as it was left.
    Done,
    /// A part could not be put back; it stays due.
    Partly,
    /// The device is gone, and its settings with it; the entry is closed.
    Gone,
    /// Not touched: another living process is at work with the device.
    Busy(u32),
    /// Not touched: somebody else has dealt with it meanwhile.
    Settled,
    /// Not touched: the journal can not be written, so that nobody would know of it.
    NoJournal,
}

/// What putting back one entry came to.
#[derive(Clone, Debug)]
pub struct PutBack {
    /// The device.
    pub device: KernelName,
    /// What was put back, or could not be.
    pub changes: Vec<ChangeReport>,
    /// What somebody else changed since, and was left alone.
    pub foreign: Vec<ChangeReport>,
    /// What could not be put back, in words.
    pub not_restored: Vec<String>,
    /// How it ended.
    pub end: End,
    /// What could not be noted in the journal, in words.
    pub warning: Option<String>,
}

impl PutBack {
    fn nothing(device: &KernelName, end: End, warning: Option<String>) -> Self {
        Self {
            device: device.clone(),
            changes: Vec::new(),
            foreign: Vec::new(),
            not_restored: Vec::new(),
            end,
            warning,
        }
    }

    /// Of a set that was taken back from memory.
    pub(super) fn without_journal(device: &KernelName, applied: &Applied, why: &JournalError) -> Self {
        let not_restored = applied.report.not_restored.clone();
        let end = if not_restored.is_empty() { End::Done } else { End::Partly };
        Self { not_restored, ..Self::nothing(device, end, Some(why.to_string())) }
    }
}

/// The entries that wait to be put back and for which nobody who `is_alive` answers, newest first, so that one that
/// was laid over another goes first. `entries` are those of this boot, as [`Journal::entries`] gives them.
pub fn pending(entries: &[Entry], is_alive: impl Fn(&Owner) -> bool) -> Vec<&Entry> {
    entries.iter().rev().filter(|e| e.unsettled() && e.answered_by(&is_alive).is_none()).collect()
}

/// A sentence for each device on which programs that are gone left settings held: what it is, and what to do about it.
/// Empty if the journal holds nothing of the kind, or can not be read by this user.
#[must_use]
pub fn left_held(journal: &Journal) -> Vec<String> {
    let entries = journal.entries().unwrap_or_default();
    let mut devices: Vec<&KernelName> =
        pending(&entries, Owner::alive).into_iter().filter(|e| e.holds()).map(|e| &e.device.name).collect();
    devices.sort();
    devices.dedup();
    let words = |d| {
        format!("{d}: a program that was killed left settings held here; `blktune restore` puts them back")
    };
    devices.into_iter().map(words).collect()
}

/// The entries that wait to be put back by one process, alive or not, newest first.
#[must_use]
pub fn owned_by(entries: &[Entry], owner: Owner) -> Vec<&Entry> {
    entries.iter().rev().filter(|e| e.unsettled() && e.answered_by(|o| *o == owner).is_some()).collect()
}

/// Puts back what `entry` moved, in the safe order and verified, and nothing that somebody else has changed since. What
/// the kernel refuses stays due; the rest is put back all the same. Whoever is `instead_of` counts as dead.
///
/// Blocks for as long as the queue takes to drain.
pub fn put_back(
    journal: &Journal,
    queue: &dyn QueueControl,
    entry: &Entry,
    instead_of: Option<Owner>,
) -> PutBack {
    let device = &entry.device.name;
    if let Err(e) = journal.claim(entry, instead_of) {
        let (end, warning) = match e {
            JournalError::Busy { pid, .. } => (End::Busy(pid), None),
            JournalError::Settled(_) => (End::Settled, None),
            JournalError::Io { .. } | JournalError::NotTrusted { .. } => {
                (End::NoJournal, Some(e.to_string()))
            }
        };
        return PutBack::nothing(device, end, warning);
    }
    let words = |r: Result<(), JournalError>| r.err().map(|e| e.to_string());
    let before = queue.read();
    let work = Work::plan(entry, &before);
    let after =
        if before.attributes.is_empty() { before.clone() } else { write_all(queue, entry, &work.writes()) };
    if after.attributes.is_empty() {
        return PutBack::nothing(device, End::Gone, words(journal.close(entry)));
    }
    let mut not_restored = Vec::new();
    let mut changes = Vec::new();
    for c in &work.back {
        let (was, now) = (before.effective(&c.name), after.effective(&c.name));
        let back = now.as_deref().is_some_and(|n| plan::same_value(&c.name, &c.requested, n));
        let message = (!back).then(|| {
            let shown = now.as_deref().unwrap_or("absent");
            format!("{device} {} is {shown}, and could not be put back to {}", c.name, c.requested)
        });
        not_restored.extend(message.clone());
        let outcome = match (back, was == now) {
            (true, true) => Outcome::Unchanged,
            (true, false) => Outcome::Applied,
            (false, _) => Outcome::Refused,
        };
        changes.push(ChangeReport {
            device: device.clone(),
            name: c.name.clone(),
            requested: c.requested.clone(),
            before: was,
            effective: now,
            outcome,
            message,
        });
    }
    let foreign = work.foreign.iter().map(|f| f.report(device)).collect();
    // A claim that is left behind makes the next attempt look at everything, not only at what is as it was left.
    let (end, warning) = if not_restored.is_empty() {
        (End::Done, words(journal.put_back(&entry.id)))
    } else {
        (End::Partly, None)
    };
    PutBack { device: device.clone(), changes, foreign, not_restored, end, warning }
}

/// Something that was not touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// The device.
    pub device: KernelName,
    /// The setting that somebody else changed; None if it is about all that was held.
    pub name: Option<String>,
    /// The process that holds it.
    pub pid: Option<u32>,
    /// Why, in words.
    pub message: String,
}

/// An entry that will never be acted upon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Closed {
    /// The device, as it was called.
    pub device: KernelName,
    /// Why, in words.
    pub message: String,
}

/// What putting back came to, over all devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// What was put back, setting by setting.
    pub restored: Vec<ChangeReport>,
    /// What was not touched.
    pub left_alone: Vec<LeftAlone>,
    /// What belonged to another boot or to a device that is gone.
    pub closed: Vec<Closed>,
    /// What could not be put back, in words.
    pub not_restored: Vec<String>,
    /// Devices whose queue takes longer than there was time for; it goes on there.
    pub stuck: Vec<KernelName>,
    /// What could not be noted in the journal, in words.
    pub warnings: Vec<String>,
}

impl RestoreReport {
    fn add(&mut self, done: PutBack) {
        let PutBack { device, changes, foreign, not_restored, end, warning } = done;
        self.restored.extend(changes.into_iter().filter(|c| c.outcome != Outcome::Refused));
        self.left_alone.extend(foreign.into_iter().map(|f| LeftAlone {
            device: f.device,
            name: Some(f.name),
            pid: None,
            message: f.message.unwrap_or_default(),
        }));
        self.not_restored.extend(not_restored);
        match end {
            End::Done | End::Partly | End::Settled => {}
            End::Gone => self.closed.push(Closed::gone(&device)),
            End::Busy(pid) => self.left_alone.push(LeftAlone::owned(&device, pid)),
            End::NoJournal => {
                let why = warning.clone().unwrap_or_default();
                self.not_restored.push(format!("{device}: the journal can not be written: {why}"));
            }
        }
        self.warnings.extend(warning);
    }

    fn merge(&mut self, other: Self) {
        self.restored.extend(other.restored);
        self.left_alone.extend(other.left_alone);
        self.closed.extend(other.closed);
        self.not_restored.extend(other.not_restored);
        self.stuck.extend(other.stuck);
        self.warnings.extend(other.warnings);
    }
}

impl LeftAlone {
    pub(super) fn owned(device: &KernelName, pid: u32) -> Self {
        let message = format!("held by process {pid}, which runs and will put it back");
        Self { device: device.clone(), name: None, pid: Some(pid), message }
    }
}

impl Closed {
    fn gone(device: &KernelName) -> Self {
        Self {
            device: device.clone(),
            message: "the device is gone, and its settings with it; nothing was written".to_owned(),
        }
    }
}

/// Whether the name belongs to the very device that the entry is about.
fn is_there(root: &SysRoot, entry: &Entry) -> bool {
    inventory::identify(root, &entry.device.name).is_some_and(|now| now.same_device(&entry.device))
}

/// Puts back what one process holds, alive or not: for its supervisor, once the process has died or does not end. Waits
/// `within` for the queues; a device that takes longer is named in the report, and delays no other.
///
/// # Errors
/// The journal can not be read.
pub fn restore_owned_by(
    journal: &Journal,
    root: &SysRoot,
    owner: Owner,
    within: Duration,
) -> Result<RestoreReport, JournalError> {
    let entries = journal.entries()?;
    let due: Vec<Entry> = owned_by(&entries, owner).into_iter().cloned().collect();
    Ok(device_by_device(journal, root, due, Some(owner), Some(within)))
}

/// Puts back what programs that are gone left held, closes what belonged to another boot, and says what was left alone
/// because its owner lives. Waits for as long as the queues take.
///
/// # Errors
/// The journal can not be read.
pub fn restore_all(journal: &Journal, root: &SysRoot) -> Result<RestoreReport, JournalError> {
    let mut report = RestoreReport::default();
    for entry in journal.leftovers()? {
        report.warnings.extend(journal.close(&entry).err().map(|e| e.to_string()));
        report.closed.push(of_another_boot(&entry));
    }
    let entries = journal.entries()?;
    report.left_alone.extend(still_held(&entries));
    let due: Vec<Entry> = pending(&entries, Owner::alive).into_iter().cloned().collect();
    report.merge(device_by_device(journal, root, due, None, None));
    Ok(report)
}

/// What [`restore_all`] would do: nothing is written, neither to queues nor to the journal. Entries that lie over one
/// another are shown as if each were the last.
///
/// # Errors
/// The journal can not be read.
pub fn foresee(journal: &Journal, root: &SysRoot) -> Result<RestoreReport, JournalError> {
    let mut report = RestoreReport::default();
    report.closed.extend(journal.leftovers()?.iter().map(of_another_boot));
    let entries = journal.entries()?;
    report.left_alone.extend(still_held(&entries));
    for entry in pending(&entries, Owner::alive) {
        let device = &entry.device.name;
        let queue = SysfsQueue::new(root.clone(), entry.device.clone());
        let now = queue.read();
        if !is_there(root, entry) || now.attributes.is_empty() {
            report.closed.push(Closed::gone(device));
            continue;
        }
        let work = Work::plan(entry, &now);
        report.restored.extend(work.back.iter().map(|c| ChangeReport {
            device: device.clone(),
            name: c.name.clone(),
            requested: c.requested.clone(),
            before: now.effective(&c.name),
            effective: None,
            outcome: Outcome::Applied,
            message: Some("would be put back".to_owned()),
        }));
        report.left_alone.extend(work.foreign.iter().map(|f| f.report(device)).map(|f| LeftAlone {
            device: f.device,
            name: Some(f.name),
            pid: None,
            message: f.message.unwrap_or_default(),
        }));
    }
    Ok(report)
}

fn of_another_boot(entry: &Entry) -> Closed {
    Closed {
        device: entry.device.name.clone(),
        message: "of another boot, which the settings did not outlive; nothing was written".to_owned(),
    }
}

fn still_held(entries: &[Entry]) -> Vec<LeftAlone> {
    let held = |e: &Entry| e.answered_by(Owner::alive).map(|by| LeftAlone::owned(&e.device.name, by.pid));
    entries.iter().filter_map(held).collect()
}

/// One thread a device, so that a queue that does not drain holds up no other. Entries of one device in the order
/// given.
fn device_by_device(
    journal: &Journal,
    root: &SysRoot,
    due: Vec<Entry>,
    instead_of: Option<Owner>,
    within: Option<Duration>,
) -> RestoreReport {
    let mut report = RestoreReport::default();
    let mut waiting: BTreeMap<KernelName, Vec<Entry>> = BTreeMap::new();
    for entry in due {
        waiting.entry(entry.device.name.clone()).or_default().push(entry);
    }
    let (to, from) = mpsc::channel();
    let mut names: Vec<KernelName> = Vec::new();
    for (name, entries) in waiting {
        let (journal, root, to, device) = (journal.clone(), root.clone(), to.clone(), name.clone());
        let work = move || {
            let mut part = RestoreReport::default();
            for entry in entries {
                part.add(put_back_there(&journal, &root, &entry, instead_of));
            }
            // Nobody listens any more if time was up.
            let _ = to.send((device, part));
        };
        match std::thread::Builder::new().name(format!("restore-{name}")).spawn(work) {
            Ok(_) => names.push(name),
            Err(e) => report.not_restored.push(format!("{name}: no thread can be started: {e}")),
        }
    }
    drop(to);
    let end = within.map(|w| Instant::now() + w);
    while !names.is_empty() {
        let answer = match end {
            Some(end) => from.recv_timeout(end.saturating_duration_since(Instant::now())).ok(),
            None => from.recv().ok(),
        };
        let Some((device, part)) = answer else { break };
        names.retain(|n| *n != device);
        report.merge(part);
    }
    report.stuck = names;
    report
}

fn put_back_there(journal: &Journal, root: &SysRoot, entry: &Entry, instead_of: Option<Owner>) -> PutBack {
    if is_there(root, entry) {
        let queue = SysfsQueue::new(root.clone(), entry.device.clone());
        put_back(journal, &queue, entry, instead_of)
    } else {
        let warning = journal.close(entry).err().map(|e| e.to_string());
        PutBack::nothing(&entry.device.name, End::Gone, warning)
    }
}
