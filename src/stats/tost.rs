//! Equivalence by two one-sided tests (Schuirmann 1987): "no difference" as a claim that is tested.

use super::distribution::t_above;
use super::t_test::{Estimate, one_sample};

/// The two tests and their larger p value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tost {
    /// `ln(1 + margin)`: the largest log ratio that does not matter.
    pub theta: f64,
    /// p value against "at or below -theta".
    pub p_lower: f64,
    /// p value against "at or above theta".
    pub p_upper: f64,
}

impl Tost {
    /// The p value of the whole: small means equivalent within the margin.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.p_lower.max(self.p_upper)
    }
}

/// Tests whether the mean of `d` (log ratios) lies within `ln(1 + margin)` of 0; `margin` as a share (0.03). `None` below two
/// values.
#[must_use]
pub fn tost(d: &[f64], margin: f64) -> Option<Tost> {
    let (m, theta) = (one_sample(d)?, margin.ln_1p());
    let above = |value: f64| t_above(Estimate { value, ..m }.t(), m.df);
    Some(Tost { theta, p_lower: above(m.value + theta)?, p_upper: above(theta - m.value)? })
}
