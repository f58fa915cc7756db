//! Which trial comes when: the order of blocks by the seed, lead-ins, and trials of the settings that were found around them.

use crate::stats::block::Order;
use crate::stats::splitmix64::SplitMix64;

use super::design::Design;
use super::estimate::looks_of;
use super::trial::{PlannedTrial, Role};

/// Trials of the settings that were found, before the first block and after the last.
pub const BASELINE_TRIALS: usize = 3;
/// Rounds that a workload that writes is given to become steady.
pub const MOST_ROUNDS: u32 = 25;
/// Blocks that may be void in any case, and trials of the settings that were found.
pub const FEWEST_REPEATS: usize = 3;

/// The order of a block, which counts from 1. Each two blocks are a group with one of either order; the top bit of the
/// seed's next number tells which comes first.
#[must_use]
pub fn order_of(seed: u64, block: u32) -> Order {
    let (group, place) = (block.saturating_sub(1) / 2, block.saturating_sub(1) % 2);
    let mut tosses = SplitMix64::new(seed);
    for _ in 0..group {
        tosses.next_u64();
    }
    if tosses.toss() == (place == 0) { Order::Baab } else { Order::Abba }
}

/// The cells of a block of that order, in the order of time.
#[must_use]
pub const fn cells_of(order: Order) -> [usize; 4] {
    match order {
        Order::Abba => [0, 1, 1, 0],
        Order::Baab => [1, 0, 0, 1],
    }
}

/// The trials of an attempt at a block, the first of them with that number.
#[must_use]
pub fn block(design: &Design, block: u32, attempt: u32, number: u32) -> Vec<PlannedTrial> {
    let cells = cells_of(order_of(design.seed, block));
    let lead_in = design.lead_ins.then_some((Role::LeadIn, cells[0], None));
    let trials = cells.into_iter().zip(1_u8..).map(|(cell, place)| (Role::Trial, cell, Some(place)));
    lead_in
        .into_iter()
        .chain(trials)
        .zip(number..)
        .map(|((role, cell, position), number)| PlannedTrial {
            number,
            role,
            cell: Some(cell),
            block: Some(block),
            position,
            attempt,
        })
        .collect()
}

/// A trial outside of blocks, with the settings that were found.
#[must_use]
pub const fn outside(role: Role, number: u32, attempt: u32) -> PlannedTrial {
    PlannedTrial { number, role, cell: None, block: None, position: None, attempt }
}

/// The whole experiment up to its last look, if no block has to be repeated and without the rounds that bring a workload
/// that writes to its steady state.
#[must_use]
pub fn whole(design: &Design) -> Vec<PlannedTrial> {
    let mut all = Vec::new();
    let number = |all: &Vec<PlannedTrial>| u32::try_from(all.len()).unwrap_or(u32::MAX).saturating_add(1);
    for _ in 0..BASELINE_TRIALS {
        all.push(outside(Role::BaselineBefore, number(&all), 1));
    }
    let last = looks_of(design).last().copied().unwrap_or_default();
    for b in 1..=u32::try_from(last).unwrap_or(u32::MAX) {
        let first = number(&all);
        all.extend(block(design, b, 1, first));
    }
    for _ in 0..BASELINE_TRIALS {
        all.push(outside(Role::BaselineAfter, number(&all), 1));
    }
    all
}
