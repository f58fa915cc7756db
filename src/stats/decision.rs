//! The decision rules: from the log ratios of blocks to better, worse, equivalent or not known.
//!
//! Equivalence is asked first, on purpose: a sure difference of 0.8 % under a margin of 3 % does not matter.

use super::distribution::t_two_sided;
use super::holm::adjusted;
use super::interval::Interval;
use super::planning::{FEWEST_BLOCKS, Undecided};
use super::summary::{count, mean};
use super::t_test::{IDENTICAL, identical, one_sample};

/// What the blocks say about the candidate's readings, whichever direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Fewer than six blocks: nothing is decided.
    Preliminary,
    /// The difference is within the margin; `measurable` if there surely is one.
    Equivalent {
        /// The interval of the difference excludes 0.
        measurable: bool,
    },
    /// The candidate reads more; `at_least_margin` if surely by the margin.
    More {
        /// The whole interval is beyond the margin.
        at_least_margin: bool,
    },
    /// The candidate reads less.
    Less {
        /// The whole interval is beyond the margin.
        at_least_margin: bool,
    },
    /// Neither is sure.
    Inconclusive,
}

impl Decision {
    /// Whether it stands, whatever comes after.
    #[must_use]
    pub const fn settled(self) -> bool {
        matches!(self, Decision::Equivalent { .. } | Decision::More { .. } | Decision::Less { .. })
    }
}

/// One comparison judged, in log units.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Blocks judged.
    pub n: usize,
    /// Mean log ratio.
    pub mean: f64,
    /// Standard deviation of the blocks; 0 if all are identical, `None` below two.
    pub s: Option<f64>,
    /// The interval of the difference, of confidence `1 - alpha / comparisons`; `None` below two blocks.
    pub difference: Option<Interval>,
    /// The interval that must lie within the margin, of confidence `1 - 2 alpha / comparisons`.
    pub equivalence: Option<Interval>,
    /// Two-sided p value of the difference by itself.
    pub p: Option<f64>,
    /// The same adjusted for all comparisons (Holm).
    pub p_adjusted: Option<f64>,
    /// Alpha that it was judged at, for all comparisons together.
    pub alpha: f64,
    /// Number of comparisons with one baseline.
    pub comparisons: usize,
    /// `ln(1 + margin)`.
    pub theta: f64,
    /// What follows.
    pub decision: Decision,
}

impl Judgement {
    /// All blocks read exactly the same: a clock too coarse, or a cached result.
    #[must_use]
    pub fn identical(&self) -> bool {
        self.s == Some(0.0)
    }

    /// Confidence of [`Judgement::difference`].
    #[must_use]
    pub fn confidence(&self) -> f64 {
        1.0 - self.alpha / count(self.comparisons.max(1))
    }

    /// How many blocks more a new experiment should have; see [`Undecided::blocks_more`].
    #[must_use]
    pub fn blocks_more(&self, step: usize) -> Option<usize> {
        let each = self.alpha / count(self.comparisons.max(1));
        let (n, mean, theta) = (self.n, self.mean, self.theta);
        Undecided { n, mean, s: self.s?, theta, alpha: each, alpha_equivalent: each, step }.blocks_more()
    }

    /// Accounts for a carry-over that lead-ins did not take away: a winner must win, and an equivalence hold, with half of it
    /// against them.
    #[must_use]
    pub fn against(mut self, lambda: f64) -> Judgement {
        let half = lambda.abs() / 2.0;
        let towards_zero = |i: Interval| i.moved(if self.mean > 0.0 { -half } else { half });
        match self.decision {
            Decision::More { .. } | Decision::Less { .. } => {
                self.difference = self.difference.map(towards_zero);
                let more = matches!(self.decision, Decision::More { .. });
                let wins = |i: &Interval| if more { i.lo > 0.0 } else { i.hi < 0.0 };
                self.decision = match self.difference.filter(wins) {
                    Some(i) => winner(more, i.beyond(self.theta)),
                    None => Decision::Inconclusive,
                };
            }
            Decision::Equivalent { .. } => {
                self.equivalence = self.equivalence.map(|i| i.widened(half));
                self.difference = self.difference.map(|i| i.widened(half));
                self.decision = if self.equivalence.is_some_and(|i| i.inside(self.theta)) {
                    equivalent(self.difference)
                } else {
                    Decision::Inconclusive
                };
            }
            Decision::Preliminary | Decision::Inconclusive => {}
        }
        self
    }
}

/// Judges one comparison: `d` are the log ratios of its blocks, `margin` is a share (0.03).
#[must_use]
pub fn judge(d: &[f64], margin: f64, alpha: f64) -> Judgement {
    one(d, margin, alpha, 1)
}

/// Judges all comparisons with one baseline together: winners by Holm at `alpha`, equivalence and shown intervals
/// simultaneously (alpha divided by their number).
#[must_use]
pub fn judge_all(family: &[&[f64]], margin: f64, alpha: f64) -> Vec<Judgement> {
    let mut all: Vec<Judgement> = family.iter().map(|d| one(d, margin, alpha, family.len())).collect();
    let p = adjusted(&all.iter().map(|j| j.p.unwrap_or(1.0)).collect::<Vec<_>>());
    for (j, p) in all.iter_mut().zip(p) {
        j.p_adjusted = j.p.map(|_| p);
        if family.len() > 1 && j.n >= FEWEST_BLOCKS && !matches!(j.decision, Decision::Equivalent { .. }) {
            let beyond = j.difference.is_some_and(|i| i.beyond(j.theta));
            j.decision = if p <= alpha { winner(j.mean > 0.0, beyond) } else { Decision::Inconclusive };
        }
    }
    all
}

fn one(d: &[f64], margin: f64, alpha: f64, comparisons: usize) -> Judgement {
    let theta = margin.ln_1p();
    let estimate = one_sample(d);
    let each = alpha / count(comparisons.max(1));
    let p = estimate.and_then(|e| t_two_sided(e.t(), e.df));
    let difference = estimate.and_then(|e| e.interval(each));
    let equivalence = estimate.and_then(|e| e.interval(2.0 * each));
    let decision = match (difference, equivalence) {
        (Some(ci), Some(eq)) if d.len() >= FEWEST_BLOCKS => {
            if eq.inside(theta) {
                equivalent(Some(ci))
            } else if ci.beyond(0.0) {
                winner(ci.lo > 0.0, ci.beyond(theta))
            } else {
                Decision::Inconclusive
            }
        }
        _ if d.len() >= FEWEST_BLOCKS => Decision::Inconclusive,
        _ => Decision::Preliminary,
    };
    let s = estimate.map(|e| if identical(d) { 0.0 } else { e.error * count(d.len()).sqrt() });
    let mean = mean(d).unwrap_or_default();
    Judgement {
        n: d.len(),
        mean,
        s,
        difference,
        equivalence,
        p,
        p_adjusted: p,
        alpha,
        comparisons,
        theta,
        decision,
    }
}

const fn winner(more: bool, at_least_margin: bool) -> Decision {
    if more { Decision::More { at_least_margin } } else { Decision::Less { at_least_margin } }
}

fn equivalent(difference: Option<Interval>) -> Decision {
    // A mean of rounding errors alone is none.
    Decision::Equivalent { measurable: difference.is_some_and(|i| i.beyond(IDENTICAL)) }
}
