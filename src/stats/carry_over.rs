//! What a trial leaves behind for the next: first-order carry-over, and a difference between the orders of blocks.
//!
//! The carry-over is that of the candidate less that of the baseline, in log units: 0.05 means that a trial right after the
//! candidate reads 5 % more than one right after the baseline. Counterbalancing cancels drift, not this. The estimate never
//! chooses the analysis (Freeman 1989 on why a pre-test biases); it only warns or withholds.

use super::block::{Block, Order};
use super::least_squares::fit;
use super::summary::{count, mean};
use super::t_test::{Estimate, pooled, welch};

/// Carry-over from blocks of four. With `lead_in` (every block was preceded by a trial of its own first cell) all four steps
/// are used, else the two middle trials. Block, cell and linear drift cancel. `None` unless both orders occur and there
/// are at least three blocks.
#[must_use]
pub fn carry_over(blocks: &[Block], lead_in: bool) -> Option<Estimate> {
    let step = |b: &Block| {
        let y = b.logs();
        (y[2] - y[1]) + if lead_in { y[3] - y[0] } else { 0.0 }
    };
    let of = |order| blocks.iter().filter(|b| b.order == order).map(step).collect::<Vec<_>>();
    Some(pooled(&of(Order::Abba), &of(Order::Baab))?.scaled(if lead_in { 0.25 } else { 0.5 }))
}

/// Mean log ratio of the ABBA blocks less that of the BAAB blocks (Welch). `None` below two of either.
#[must_use]
pub fn order_difference(blocks: &[Block]) -> Option<Estimate> {
    let of =
        |order| blocks.iter().filter(|b| b.order == order).filter_map(Block::log_ratio).collect::<Vec<_>>();
    welch(&of(Order::Abba), &of(Order::Baab))
}

/// A trial of a block, for the regressions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The block's index from 0.
    pub block: usize,
    /// The trial's number in the order of time, every trial counted.
    pub number: usize,
    /// The cell's index; 0 is the baseline.
    pub cell: usize,
    /// The cell of the trial just before, if it was one of the cells compared.
    pub previous: Option<usize>,
    /// Natural logarithm of the reading.
    pub log: f64,
}

/// Carry-over of cell `candidate` less that of cell 0 for any design, by least squares on block, cell, previous cell and
/// place in time; equal to [`carry_over`] with lead-ins in a balanced ABBA design. `cells` counts all. `None` if the design
/// does not allow it.
#[must_use]
pub fn by_least_squares(steps: &[Step], cells: usize, candidate: usize) -> Option<Estimate> {
    let blocks = steps.iter().map(|s| s.block).max()? + 1;
    let known: Vec<&Step> = steps.iter().filter(|s| s.previous.is_some()).collect();
    let middles: Vec<f64> = (0..blocks)
        .map(|b| {
            let numbers: Vec<f64> = known.iter().filter(|s| s.block == b).map(|s| count(s.number)).collect();
            mean(&numbers).unwrap_or_default()
        })
        .collect();
    let row = |s: &&Step| {
        let mut r: Vec<f64> = (0..blocks).map(|b| indicator(b == s.block)).collect();
        r.extend((1..cells).map(|c| indicator(c == s.cell)));
        r.extend((1..cells).map(|c| indicator(Some(c) == s.previous)));
        r.push(count(s.number) - middles[s.block]);
        r
    };
    let rows: Vec<Vec<f64>> = known.iter().map(row).collect();
    let logs: Vec<f64> = known.iter().map(|s| s.log).collect();
    let at = blocks + (cells.checked_sub(1)?) + candidate.checked_sub(1)?;
    fit(&rows, &logs)?.get(at).copied()
}

/// The slope over the trial number that is left once cell and previous cell are accounted for (log units a trial): the drift
/// that a return to the baseline is measured against. `None` if the design does not allow it.
#[must_use]
pub fn slope_beside_cells(steps: &[Step], cells: usize) -> Option<f64> {
    let middle = mean(&steps.iter().map(|s| count(s.number)).collect::<Vec<_>>())?;
    let row = |s: &Step, with_previous: bool| {
        let mut r = vec![1.0];
        r.extend((1..cells).map(|c| indicator(c == s.cell)));
        if with_previous {
            r.extend((1..cells).map(|c| indicator(Some(c) == s.previous)));
        }
        r.push(count(s.number) - middle);
        r
    };
    let logs: Vec<f64> = steps.iter().map(|s| s.log).collect();
    let solve = |with_previous| {
        let rows: Vec<Vec<f64>> = steps.iter().map(|s| row(s, with_previous)).collect();
        fit(&rows, &logs)?.last().map(|e| e.value)
    };
    // In a strict alternation the previous cell says nothing new.
    solve(true).or_else(|| solve(false))
}

fn indicator(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
