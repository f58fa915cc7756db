//! How much to measure: what can be seen with so many blocks, and how many are needed.

use super::distribution::t_quantile;
use super::summary::count;

/// Blocks that an experiment may have at most.
pub const MOST_BLOCKS: usize = 100;
/// Blocks below which there is no verdict: by convention, and since the exact signed-rank test can not reach 5 % below.
pub const FEWEST_BLOCKS: usize = 6;

/// The smallest effect (log units) that `n` blocks of standard deviation `s` find with a power of 80 % at `alpha`. `None`
/// below two blocks.
#[must_use]
pub fn detectable(s: f64, n: usize, alpha: f64) -> Option<f64> {
    let df = degrees(n)?;
    Some((t_quantile(1.0 - alpha / 2.0, df)? + t_quantile(0.8, df)?) * s / count(n).sqrt())
}

/// The smallest margin, as log ratio, within which `n` blocks of standard deviation `s` could show equivalence at all.
#[must_use]
pub fn margin_floor(s: f64, n: usize) -> Option<f64> {
    half_width(s, n, 0.10)
}

/// Half the width of the interval of confidence `1 - alpha` of the mean of `n` values.
#[must_use]
pub fn half_width(s: f64, n: usize, alpha: f64) -> Option<f64> {
    Some(t_quantile(1.0 - alpha / 2.0, degrees(n)?)? * s / count(n).sqrt())
}

/// The smallest even number of blocks, from 6 to 100, whose interval of confidence `1 - alpha` reaches at most `ln(1 + h)` to
/// either side; `None` if more would be needed.
#[must_use]
pub fn blocks_for_precision(s: f64, h: f64, alpha: f64) -> Option<usize> {
    (FEWEST_BLOCKS..=MOST_BLOCKS)
        .step_by(2)
        .find(|n| half_width(s, *n, alpha).is_some_and(|half| half <= h.ln_1p()))
}

/// What is known when the blocks run out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    /// Blocks so far.
    pub n: usize,
    /// Their mean log ratio.
    pub mean: f64,
    /// Their standard deviation.
    pub s: f64,
    /// `ln(1 + margin)`.
    pub theta: f64,
    /// Alpha of the interval that must exclude 0.
    pub alpha: f64,
    /// Twice this is left outside the interval that must lie within theta.
    pub alpha_equivalent: f64,
    /// Blocks come in multiples of this: 2, or a complete set of sequences.
    pub step: usize,
}

impl Undecided {
    /// How many blocks more would decide if mean and spread stay as they are; `None` if that would make over 100. The answer
    /// is for a new experiment: a finished one is never extended, since that makes false winners.
    #[must_use]
    pub fn blocks_more(&self) -> Option<usize> {
        let step = self.step.max(1);
        // Blocks so far may be short of a whole number of sets.
        let first = if step == 2 { 2 } else { step - self.n % step };
        (first..=MOST_BLOCKS.checked_sub(self.n)?).step_by(step).find(|k| {
            let n = self.n + k;
            let reach = |alpha| half_width(self.s, n, alpha).unwrap_or(f64::INFINITY);
            self.mean.abs() + reach(2.0 * self.alpha_equivalent) < self.theta
                || self.mean.abs() > reach(self.alpha)
        })
    }
}

/// Repetitions of each level below the highest: where a repeat costs much and varies little, fewer (Kalibera and Jones 2013):
/// `ceil(sqrt((c[i+1] / c[i]) (T[i] / T[i+1])))` of costs and unbiased variances from the lowest level up. `None` for a level
/// whose figures are not positive.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating is what is wanted
pub fn repetitions(cost: &[f64], variance: &[f64]) -> Vec<Option<usize>> {
    let levels = cost.windows(2).zip(variance.windows(2));
    levels
        .map(|(c, t)| {
            let r = (c[1] / c[0] * t[0] / t[1]).sqrt().ceil();
            (r.is_finite() && r > 0.0).then_some(r as usize)
        })
        .collect()
}

fn degrees(n: usize) -> Option<f64> {
    n.checked_sub(1).filter(|df| *df > 0).map(count)
}
