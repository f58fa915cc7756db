//! What changes with time alone: a linear drift over trial numbers, and blocks that resemble their neighbours.

use super::least_squares::fit;
use super::summary::{autocorrelation, count, mean};
use super::t_test::Estimate;

/// Blocks from which the correlation of neighbours is looked at.
pub const LAG_FROM: usize = 10;

/// The slope of log readings over their trial numbers (log units a trial). Numbers count every trial in the order of time,
/// also lead-ins, whose values are not among `logs`. `None` below three trials or if all have one number.
#[must_use]
pub fn drift(numbers: &[f64], logs: &[f64]) -> Option<Estimate> {
    let middle = mean(numbers)?;
    let rows: Vec<Vec<f64>> = numbers.iter().map(|n| vec![1.0, n - middle]).collect();
    fit(&rows, logs)?.get(1).copied()
}

/// What a slope comes to over `trials` trials, as a share: `exp(slope x (trials - 1)) - 1`.
#[must_use]
pub fn total(slope: f64, trials: usize) -> f64 {
    (slope * count(trials.saturating_sub(1))).exp_m1()
}

/// The correlation of neighbouring blocks, if there are enough of them and it is large enough to warn of: beyond 2 / sqrt(n).
#[must_use]
pub fn neighbours_alike(d: &[f64]) -> Option<f64> {
    autocorrelation(d, 1).filter(|r| d.len() >= LAG_FROM && r.abs() > 2.0 / count(d.len()).sqrt())
}
