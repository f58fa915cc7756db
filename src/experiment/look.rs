//! Which blocks are whole and valid, and whether they decide.

use super::analysis;
use super::circumstances::Circumstances;
use super::design::Design;
use super::observation::{Question, TRIALS_OF_TWO, from_trials};
use super::trial::{Role, Trial};

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
            a.complete = *n == TRIALS_OF_TWO;
        }
    }
    all.into_iter().map(|(a, _)| a).collect()
}

/// Whether the blocks so far decide, at a number of valid blocks that is a look.
pub(super) fn decided(design: &Design, trials: &[Trial]) -> bool {
    let question = Question::of(design, None);
    analysis::live(&question, &from_trials(&question, trials), &Circumstances::default()).decided()
}
