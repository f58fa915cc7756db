//! Which blocks are whole and valid, and whether they decide.

use crate::stats::block::log_ratio;
use crate::stats::looks::{FIXED, PER_LOOK, judge_at_looks};

use super::design::{Blocks, Design};
use super::estimate::looks_of;
use super::trial::{Role, Trial};

/// Trials of a block, without its lead-in.
const OF_BLOCK: usize = 4;

/// One attempt at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// The block's number.
    pub block: u32,
    /// Which attempt.
    pub which: u32,
    /// All its trials were run.
    pub complete: bool,
    /// One of them is void.
    pub void: bool,
}

/// The attempts at blocks, in the order of time.
pub(super) fn attempts(trials: &[Trial]) -> Vec<Attempt> {
    let mut all: Vec<(Attempt, usize)> = Vec::new();
    for t in trials {
        let Some(block) = t.plan.block else { continue };
        let attempt = t.plan.attempt;
        if all.last().is_none_or(|(a, _)| (a.block, a.which) != (block, attempt)) {
            all.push((Attempt { block, which: attempt, complete: false, void: false }, 0));
        }
        if let Some((a, n)) = all.last_mut() {
            a.void |= t.void();
            *n += usize::from(t.plan.role == Role::Trial);
            a.complete = *n == OF_BLOCK;
        }
    }
    all.into_iter().map(|(a, _)| a).collect()
}

/// Whether the blocks so far decide, at a number of valid blocks that is a look.
pub(super) fn decided(design: &Design, trials: &[Trial]) -> bool {
    let good: Vec<Attempt> = attempts(trials).into_iter().filter(|a| a.complete && !a.void).collect();
    let reading = |a: &Attempt, cell: usize| -> Vec<f64> {
        let of_block = trials.iter().filter(|t| {
            t.plan.role == Role::Trial
                && (t.plan.block, t.plan.attempt, t.plan.cell) == (Some(a.block), a.which, Some(cell))
        });
        of_block.map(|t| t.readings.get(&design.metric).copied().unwrap_or_default()).collect()
    };
    let ratios: Vec<f64> = good.iter().filter_map(|a| log_ratio(&reading(a, 0), &reading(a, 1))).collect();
    let alpha = match design.blocks {
        Blocks::Fixed(_) => FIXED,
        Blocks::Adaptive => PER_LOOK,
    };
    let looked = judge_at_looks(&[&ratios], design.margin, alpha, &looks_of(design));
    looked.iter().all(|l| l.judgement.decision.settled())
}
