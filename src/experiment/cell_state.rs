//! What a cell makes of a queue: which settings are brought to which value, and what the queue must read then.

use std::collections::BTreeSet;

use crate::sys::queue::QueueState;
use crate::tuning::change::Change;
use crate::tuning::plan;

use super::cells;
use super::design::{Design, Isolation};

/// What is written before a trial: first what is brought to its value in a safe order, then what is written bare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Brought to these values, in the order that is safe; what has its value already is not written.
    pub settled: Vec<Change>,
    /// Written as an echo does; what it moves besides stays moved.
    pub bare: Vec<Change>,
}

/// The cells of a design on the queue that was found.
#[derive(Clone, Debug)]
pub struct CellStates {
    start: QueueState,
    levels: Vec<Vec<Change>>,
    isolation: Isolation,
}

/// A setting that reads otherwise than it should: its name, what it should read and what it reads; None is absent.
pub type Mismatch = (String, Option<String>, Option<String>);

impl CellStates {
    /// `start` is the queue before anything was written.
    #[must_use]
    pub fn new(design: &Design, start: QueueState) -> Self {
        let levels = design.cells.iter().map(|c| cells::changes(&design.factors, c)).collect();
        Self { start, levels, isolation: design.isolation }
    }

    /// The queue before anything was written.
    #[must_use]
    pub const fn start(&self) -> &QueueState {
        &self.start
    }

    /// What a cell sets; nothing for the settings that were found.
    #[must_use]
    pub fn levels(&self, cell: Option<usize>) -> &[Change] {
        cell.and_then(|c| self.levels.get(c)).map_or(&[], Vec::as_slice)
    }

    /// Whether a cell is the settings that were found.
    #[must_use]
    pub fn as_found(&self, cell: usize) -> bool {
        differing(self.levels(Some(cell)), &self.start).is_empty()
    }

    /// What is written for a trial of that cell, None for the settings that were found, on a queue that reads `now`.
    #[must_use]
    pub fn writes(&self, cell: Option<usize>, now: &QueueState) -> Writes {
        let levels = self.levels(cell);
        match (self.isolation, cell) {
            (Isolation::Isolated, _) | (Isolation::SideEffects, None) => {
                Writes { settled: needed(self.full(levels), levels, now), bare: Vec::new() }
            }
            // An echo writes whether or not the value is there already, and may move something else by it.
            (Isolation::SideEffects, Some(_)) => {
                Writes { settled: needed(self.full(&[]), &[], now), bare: levels.to_vec() }
            }
            (Isolation::Sequence, Some(_)) => Writes { settled: Vec::new(), bare: levels.to_vec() },
            // What was found is found without a write; later it is gone back to as people do, by echoes.
            (Isolation::Sequence, None) => {
                Writes { settled: Vec::new(), bare: differing(&self.found_levels(), now) }
            }
        }
    }

    /// The settings that some cell names, with the values that were found.
    fn found_levels(&self) -> Vec<Change> {
        let mut found: Vec<Change> = Vec::new();
        for name in self.levels.iter().flatten().map(|c| &c.name) {
            if !found.iter().any(|c| c.name == *name)
                && let Some(value) = self.start.effective(name)
            {
                found.push(Change { name: name.clone(), requested: value });
            }
        }
        found
    }

    /// The full state of a cell: its levels, and everything else that can be put back at the value that was found. What
    /// the kernel derives from the scheduler is wanted only under the scheduler that it was found with: a value of
    /// another scheduler's would be kept by hand. `wbt_lat_usec` is wanted only if a cell names it, since a write of it,
    /// be it of the value it has, stays for good.
    fn full(&self, levels: &[Change]) -> Vec<Change> {
        let named = |name: &str| levels.iter().any(|c| c.name == name);
        let by_a_cell = |name: &str| self.levels.iter().flatten().any(|c| c.name == name);
        let found = self.start.effective("scheduler");
        let switches = levels.iter().find(|c| c.name == "scheduler").is_some_and(|c| {
            !found.as_deref().is_some_and(|s| plan::same_value("scheduler", &c.requested, s))
        });
        let rest = self.start.attributes.keys().filter(|name| {
            !(named(name) || switches && derived(name)) && plan::puts_back(name, &self.start, by_a_cell)
        });
        let rest = rest
            .filter_map(|name| Some(Change { name: name.clone(), requested: self.start.effective(name)? }));
        // bfq's idle time has two names; the one that a cell gives moves the other.
        let alias = |c: &Change| match c.name.as_str() {
            "iosched/slice_idle" => named("iosched/slice_idle_us"),
            "iosched/slice_idle_us" => named("iosched/slice_idle"),
            _ => false,
        };
        levels.iter().cloned().chain(rest.filter(|c| !alias(c))).collect()
    }

    /// What of the settings that were to be as they were found is not, on a queue on which [`CellStates::writes`] was
    /// carried out. Empty in ordinary cases, and where bare writes may move what they like.
    #[must_use]
    pub fn strays(&self, cell: Option<usize>, read: &QueueState) -> Vec<Mismatch> {
        match (self.isolation, cell) {
            (Isolation::Isolated, _) | (Isolation::SideEffects, None) => {}
            (Isolation::SideEffects, Some(_)) | (Isolation::Sequence, _) => return Vec::new(),
        }
        let levels = self.levels(cell);
        let kept = self.full(levels).into_iter().filter(|c| !levels.contains(c));
        kept.filter_map(|c| {
            let now = read.effective(&c.name);
            let same = now.as_deref().is_some_and(|n| plan::same_value(&c.name, &c.requested, n));
            (!same).then_some((c.name, Some(c.requested), now))
        })
        .collect()
    }
}

/// Of a full state, what has to be asked for: the levels, what differs now, and what may move when those are written.
fn needed(full: Vec<Change>, levels: &[Change], now: &QueueState) -> Vec<Change> {
    let differs = differing(&full, now);
    if differs.is_empty() {
        return Vec::new();
    }
    let moves = |c: &Change| derived(&c.name) && c.name != "wbt_lat_usec" || c.name == "read_ahead_kb";
    full.into_iter().filter(|c| levels.contains(c) || differs.contains(c) || moves(c)).collect()
}

/// What the kernel sets anew when the scheduler is switched.
fn derived(name: &str) -> bool {
    matches!(name, "nr_requests" | "wbt_lat_usec" | "async_depth") || name.starts_with("iosched/")
}

fn differing(changes: &[Change], now: &QueueState) -> Vec<Change> {
    let differs = |c: &&Change| {
        now.effective(&c.name).is_none_or(|read| !plan::same_value(&c.name, &c.requested, &read))
    };
    changes.iter().filter(differs).cloned().collect()
}

/// The settings in which two readings of a queue differ. Only what can be written is looked at: limits and states that the
/// kernel alone moves are no settings.
#[must_use]
pub fn mismatches(should: &QueueState, reads: &QueueState) -> Vec<Mismatch> {
    let writable = |state: &QueueState| -> BTreeSet<String> {
        let can = state.attributes.iter().filter(|(n, a)| a.writable && plan::restorable(n));
        can.map(|(n, _)| n.clone()).collect()
    };
    let names: BTreeSet<String> = writable(should).union(&writable(reads)).cloned().collect();
    should.differences(reads).into_iter().filter(|(name, ..)| names.contains(name)).collect()
}
