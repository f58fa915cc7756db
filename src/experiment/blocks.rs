//! Which observations make a block, and whether the blocks are counterbalanced.

use super::observation::{Observation, Question};
use super::trial::Role;
use crate::stats::block::{Block, Order, log_ratio};
use crate::stats::carry_over::Step;
use crate::stats::planning::FEWEST_BLOCKS;
use crate::stats::summary::{count, mean};

/// A candidate's trials may stand this much later in their block than the baseline's, on average, in trials: what is left
/// where an odd number of pairs was run. Beyond it a drift looks like an effect.
const LEAN_LIMIT: f64 = 0.25;

/// The trials of one block, in the order of time.
#[derive(Clone, Debug)]
pub(super) struct BlockTrials<'a> {
    /// Its number.
    pub number: u32,
    /// Its trials, without the lead-in.
    pub trials: Vec<&'a Observation>,
    /// A lead-in of its own first cell ran right before it.
    pub lead_in: bool,
}

impl BlockTrials<'_> {
    fn readings(&self, cell: usize, measure: usize) -> Option<Vec<f64>> {
        self.trials.iter().filter(|o| o.cell == Some(cell)).map(|o| o.reading(measure)).collect()
    }

    /// Whether both the baseline and this candidate are in it.
    pub(super) fn compares(&self, candidate: usize) -> bool {
        [0, candidate].iter().all(|c| self.trials.iter().any(|o| o.cell == Some(*c)))
    }

    /// The log ratio of the candidate to the baseline; `None` if a reading is missing.
    pub(super) fn log_ratio(&self, candidate: usize, measure: usize) -> Option<f64> {
        log_ratio(&self.readings(0, measure)?, &self.readings(candidate, measure)?)
    }

    /// As ABBA or BAAB, if it is one.
    pub(super) fn of_four(&self, measure: usize) -> Option<Block> {
        let order = match *self.trials.iter().map(|o| o.cell).collect::<Option<Vec<_>>>()? {
            [0, 1, 1, 0] => Order::Abba,
            [1, 0, 0, 1] => Order::Baab,
            _ => return None,
        };
        let readings: Option<Vec<f64>> = self.trials.iter().map(|o| o.reading(measure)).collect();
        Some(Block { order, readings: readings?.try_into().ok()? })
    }

    /// How many trials later in the block the candidate's stand, on average, than the baseline's.
    fn lean(&self, candidate: usize) -> f64 {
        let middle = |cell| {
            let at = self.trials.iter().enumerate().filter(|(_, o)| o.cell == Some(cell));
            mean(&at.map(|(i, _)| count(i)).collect::<Vec<_>>()).unwrap_or_default()
        };
        middle(candidate) - middle(0)
    }
}

/// The observations, sorted into blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks<'a> {
    /// Complete ones, in the order of time.
    pub complete: Vec<BlockTrials<'a>>,
    /// Those with fewer or more trials than a block has: number, trials, and how many it should have.
    pub left_out: Vec<(u32, usize, usize)>,
}

impl<'a> Blocks<'a> {
    /// Sorts them. `observations` are in the order of time.
    pub(super) fn of(question: &Question, observations: &'a [Observation]) -> Self {
        let mut all: Vec<BlockTrials<'a>> = Vec::new();
        for o in observations.iter().filter(|o| o.role == Role::Trial && !o.void && o.cell.is_some()) {
            let Some(number) = o.block else { continue };
            // The block of the trial before, nearly always.
            match all.iter_mut().rev().find(|b| b.number == number) {
                Some(block) => block.trials.push(o),
                None => all.push(BlockTrials { number, trials: vec![o], lead_in: false }),
            }
        }
        let size = question.block_trials.unwrap_or_else(|| most_frequent(all.iter().map(|b| b.trials.len())));
        for block in &mut all {
            let first = block.trials[0];
            block.lead_in = observations.iter().any(|o| {
                o.role == Role::LeadIn
                    && Some(o.number) == first.number.checked_sub(1)
                    && o.cell == first.cell
            });
        }
        let (complete, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|b| b.trials.len() == size);
        let left_out = other.iter().map(|b| (b.number, b.trials.len(), size)).collect();
        Blocks { complete, left_out }
    }

    /// The complete blocks that compare this candidate with the baseline.
    pub(super) fn comparing(&self, candidate: usize) -> Vec<&BlockTrials<'a>> {
        self.complete.iter().filter(|b| b.compares(candidate)).collect()
    }
}

/// Why the blocks can not tell a drift from an effect; `None` if they can, or if there are too few to say.
pub(super) fn lopsided(blocks: &[&BlockTrials<'_>], candidate: usize, names: [&str; 2]) -> Option<String> {
    let [baseline, name] = names;
    if blocks.is_empty() {
        return Some(format!(
            "not counterbalanced: no block holds trials of both {baseline} and {name}, so a drift can not be told from an effect"
        ));
    }
    let leans: Vec<f64> = blocks.iter().map(|b| b.lean(candidate)).collect();
    let mean = mean(&leans)?;
    let one_way = leans.iter().all(|l| *l > 0.0) || leans.iter().all(|l| *l < 0.0);
    if mean.abs() <= LEAN_LIMIT || (blocks.len() < FEWEST_BLOCKS && !one_way) {
        return None;
    }
    let way = if mean > 0.0 { "later" } else { "earlier" };
    Some(format!(
        "not counterbalanced: within their blocks the trials of {name} ran {:.1} trials {way} than those of {baseline} on \
         average, so a drift can not be told from an effect",
        mean.abs()
    ))
}

/// The trials of blocks as rows of a regression on cell and previous cell.
pub(super) fn steps(blocks: &[&BlockTrials<'_>], observations: &[Observation], measure: usize) -> Vec<Step> {
    let before = |o: &Observation| {
        let number = o.number.checked_sub(1)?;
        let at = observations.binary_search_by_key(&number, |p| p.number).ok()?;
        observations[at].cell
    };
    let row = |block: usize, o: &Observation| {
        Some(Step {
            block,
            number: usize::try_from(o.number).ok()?,
            cell: o.cell?,
            previous: before(o),
            log: o.reading(measure)?.ln(),
        })
    };
    blocks.iter().enumerate().flat_map(|(i, b)| b.trials.iter().filter_map(move |o| row(i, o))).collect()
}

/// The most frequent of the sizes, the larger of two as frequent; 0 of none.
fn most_frequent(sizes: impl Iterator<Item = usize>) -> usize {
    let mut times = std::collections::BTreeMap::<usize, usize>::new();
    for size in sizes {
        *times.entry(size).or_default() += 1;
    }
    times.into_iter().max_by_key(|(size, n)| (*n, *size)).map_or(0, |(size, _)| size)
}
