//! The warning light for the order of trials, for one comparison: whether what ran before influenced what was read.

use serde::{Deserialize, Serialize};

pub use crate::stats::light::Light;

/// What is known about the order of trials. Log units: 0.05 is 5.1 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Green: an effect as large as the margin is ruled out. Amber: it is not. Red: there is one.
    pub light: Light,
    /// How much more a trial right after the candidate reads than one right after the baseline.
    pub carryover: Option<f64>,
    /// Its 90 % interval.
    pub carryover_ci: Option<[f64; 2]>,
    /// Its two-sided p value.
    pub carryover_p: Option<f64>,
    /// ABBA blocks less BAAB blocks.
    pub order_difference: Option<f64>,
    /// Change of the log reading from one trial to the next.
    pub drift_per_trial: Option<f64>,
    /// What that comes to over all trials, as a share: 0.05 is 5 %.
    pub drift_total: Option<f64>,
    /// Correlation of neighbouring blocks, where it is large enough to warn of.
    pub neighbours_alike: Option<f64>,
    /// The device did not come back to its starting performance; `None` if that was not measured. "No" is no proof: see
    /// `returned_ci`.
    pub latched: Option<bool>,
    /// Log reading of the starting settings after the last block, less before the first.
    pub returned: Option<f64>,
    /// Its 95 % interval.
    pub returned_ci: Option<[f64; 2]>,
    /// What drift alone would have changed there.
    pub returned_drift: Option<f64>,
    /// Every judged block began with a lead-in of its own first cell.
    pub lead_ins: bool,
    /// The candidate that this is about: of several, the one with the worst light.
    pub candidate: String,
    /// The light in words.
    pub text: String,
}
