//! Whether the device came back to where it began: the starting setting measured before the first block and after the last.
//!
//! A first trial can switch a device for good (a queue that once went deep is treated differently from then on); no
//! counterbalancing shows that, only this does. Not latched is no proof: see the interval.

use super::t_test::{Estimate, welch};

/// A change is looked at below this p value.
const P_LIMIT: f64 = 0.05;

/// What the return showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    /// It came back, as far as can be seen.
    Back,
    /// It did not, but the drift during the blocks accounts for it.
    DriftOrLatch,
    /// It did not, and drift does not account for it.
    Latched,
}

/// The comparison of the two groups of baseline trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latch {
    /// Mean log after less mean log before (Welch).
    pub change: Estimate,
    /// What drift alone would have changed, in log units.
    pub drift: f64,
    /// The conclusion.
    pub result: Return,
}

/// Compares log readings of the starting setting before and after. `theta` is `ln(1 + margin)`, `slope` the drift of the block
/// trials ([`super::carry_over::slope_beside_cells`]), `distance` the number of trials between the middles of the groups.
/// `None` below two readings in either group.
#[must_use]
pub fn return_to_baseline(
    before: &[f64],
    after: &[f64],
    theta: f64,
    slope: f64,
    distance: f64,
) -> Option<Latch> {
    let change = welch(after, before)?;
    let drift = slope * distance;
    let changed = change.p()? < P_LIMIT && change.value.abs() > theta;
    let result = match (changed, (change.value - drift).abs() > theta) {
        (false, _) => Return::Back,
        (true, false) => Return::DriftOrLatch,
        (true, true) => Return::Latched,
    };
    Some(Latch { change, drift, result })
}
