//! Blocks of two cells in the counterbalanced orders ABBA and BAAB, and the log ratio of a block.

use super::summary::mean_log;

/// The order of the two cells in a block of four trials. Either cancels a linear drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Baseline, candidate, candidate, baseline.
    Abba,
    /// Candidate, baseline, baseline, candidate.
    Baab,
}

/// A block of four trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Which cell when.
    pub order: Order,
    /// The four readings in the order of time; positive.
    pub readings: [f64; 4],
}

impl Block {
    /// The log ratio of the block, see [`log_ratio`].
    #[must_use]
    pub fn log_ratio(&self) -> Option<f64> {
        let [w, x, y, z] = self.readings;
        match self.order {
            Order::Abba => log_ratio(&[w, z], &[x, y]),
            Order::Baab => log_ratio(&[x, y], &[w, z]),
        }
    }

    /// The logarithms of the readings.
    #[must_use]
    pub fn logs(&self) -> [f64; 4] {
        self.readings.map(f64::ln)
    }
}

/// Mean log of the candidate's readings less mean log of the baseline's, in one block: above 0 the candidate reads more.
/// `None` if either has none or a reading is not positive.
///
/// The block is the unit of the analysis: trials within it share the state of the device (Kalibera and Jones 2013).
#[must_use]
pub fn log_ratio(baseline: &[f64], candidate: &[f64]) -> Option<f64> {
    Some(mean_log(candidate)? - mean_log(baseline)?)
}

/// What a first-order carry-over of `lambda` (candidate's less baseline's, log units) adds to the log ratio of a block that
/// was entered from its own first cell (`own_first_cell`) or from the other: nothing, or half of it taken away.
///
/// This is why a block begins with a lead-in trial of its own first cell.
#[must_use]
pub fn carry_over_bias(lambda: f64, own_first_cell: bool) -> f64 {
    if own_first_cell { 0.0 } else { -lambda / 2.0 }
}
