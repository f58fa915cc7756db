//! What all devices do together, each byte counted once.

use std::collections::{HashMap, HashSet};

use super::delta::Delta;
use super::note::Note;
use super::rates::Rates;
use super::tracker::Frame;
use crate::sys::name::KernelName;

/// Drivers whose devices repeat the bytes of those below them or have nothing below them, by the beginnings of their
/// names: a second opinion, for where only names are known.
const NO_LEAVES: [&str; 10] =
    ["loop", "ram", "zram", "dm-", "md", "bcache", "zd", "nullb", "drbd", "mtdblock"];

/// Which devices are leaves: real ones with nothing below them. Where sysfs was not asked, names decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaves {
    known: HashMap<KernelName, bool>,
}

impl Leaves {
    /// Notes what sysfs says of a device or partition.
    pub fn learn(&mut self, name: &KernelName, leaf: bool) {
        if self.known.get(name) != Some(&leaf) {
            self.known.insert(name.clone(), leaf);
        }
    }

    /// Forgets the devices that are not kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&KernelName) -> bool) {
        self.known.retain(|name, _| keep(name));
    }

    /// What sysfs says and the name would not have told.
    pub fn surprises(&self) -> impl Iterator<Item = (&KernelName, bool)> {
        self.known.iter().map(|(name, leaf)| (name, *leaf)).filter(|(name, leaf)| leaf_by_name(name) != *leaf)
    }

    /// Whether the bytes of this whole device count.
    #[must_use]
    pub fn counts(&self, name: &KernelName) -> bool {
        self.known.get(name).copied().unwrap_or_else(|| leaf_by_name(name))
    }
}

/// Whether a whole device of this name is a leaf, as far as names can tell.
#[must_use]
pub fn leaf_by_name(name: &KernelName) -> bool {
    !NO_LEAVES.iter().any(|stem| name.sysfs().starts_with(stem)) && name.multipath_head().is_none()
}

/// The sum over leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Total {
    /// The figures: rates and requests in flight added up, waits and sizes over all requests, busy that of the busiest.
    pub rates: Rates,
    /// How many devices are in it, known or not.
    pub leaves: usize,
}

/// Adds up what is in the frame: leaves only, partitions never beside their device, the head or the paths of an NVMe
/// multipath device but not both. A leaf whose rates are unknown, or over another time than the frame's, is left out
/// and noted; the total is unknown only if all are.
#[must_use]
pub fn total(frame: &Frame, leaves: &Leaves) -> Total {
    let heads: HashSet<&KernelName> = frame.paths.iter().map(|(head, _)| head).collect();
    let mut sum: Option<Delta> = None;
    let (mut found, mut missing) = (0, 0);
    let mut notes: Vec<Note> = Vec::new();
    let mut whole: Option<&KernelName> = None;
    for d in &frame.devices {
        let name = &d.key.name;
        if whole.is_some_and(|w| name.could_be_partition_of(w)) {
            continue;
        }
        whole = Some(name);
        let is_path = !heads.is_empty() && name.multipath_head().is_some_and(|h| heads.contains(&h));
        if is_path || !leaves.counts(name) {
            continue;
        }
        found += 1;
        match d.delta.filter(|_| Some(d.rates.interval) == frame.interval) {
            Some(delta) => sum = Some(sum.map_or(delta, |s| s.beside(&delta))),
            None => missing += 1,
        }
        notes.extend(d.rates.notes.iter().filter(|n| matches!(n, Note::Suspended(_) | Note::TimeWentBack)));
    }
    let mut rates = match (sum, frame.interval) {
        (Some(sum), Some(interval)) => Rates::of(&sum, interval),
        _ => Rates::default(),
    };
    notes.dedup();
    rates.notes.splice(0..0, notes);
    if frame.interval.is_some() && missing > 0 {
        rates.notes.push(Note::Without(missing));
    }
    Total { rates, leaves: found }
}
