//! What is said of one comparison: the word, the figures it follows from, the sentence.

use serde::{Deserialize, Serialize};

/// The word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate wins on the metric.
    Better,
    /// The baseline wins.
    Worse,
    /// They differ by less than the margin.
    Equivalent,
    /// Neither is sure.
    Inconclusive,
    /// Too few blocks, or the next look is not yet reached.
    Preliminary,
    /// Nothing follows from these trials.
    Invalid,
}

impl Verdict {
    /// Whether the question is answered.
    #[must_use]
    pub const fn decided(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse | Verdict::Equivalent)
    }
}

/// A ratio with the ends of an interval, and the interval's confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// Candidate over baseline.
    pub ratio: f64,
    /// Lower and upper end; `None` if too few blocks give one.
    pub ci: Option<[f64; 2]>,
    /// Confidence, 0 to 1; exact where the method has only certain ones.
    pub confidence: Option<f64>,
}

/// Trials that were not counterbalanced, compared all the same: no verdict follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unblocked {
    /// What it must be called.
    pub label: String,
    /// The typical ratio of any candidate's reading to any baseline's (Hodges and Lehmann).
    pub shift: RatioInterval,
    /// Two-sided p value of Mann and Whitney.
    pub p: f64,
}

/// One candidate against the baseline, on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the fields of a document, not the states of something
pub struct Comparison {
    /// The baseline's name.
    pub baseline: String,
    /// The candidate's name.
    pub candidate: String,
    /// The metric's word.
    pub metric: String,
    /// Whether this is the metric that decides.
    pub primary: bool,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Blocks judged: those up to the look.
    pub blocks: usize,
    /// Candidate over baseline; `None` without a block.
    pub ratio: Option<f64>,
    /// The interval of the ratio, at `confidence`.
    pub ci: Option<[f64; 2]>,
    /// Confidence of `ci`, 0 to 1.
    pub confidence: f64,
    /// The interval of the ratio that must lie within the margin to be called equivalent.
    pub ci_equivalence: Option<[f64; 2]>,
    /// Two-sided p value of the difference.
    pub p: Option<f64>,
    /// The same adjusted for all candidates (Holm).
    pub p_adjusted: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// The whole interval is beyond the margin.
    pub at_least_margin: bool,
    /// Equivalent, and yet there surely is a difference.
    pub measurable: bool,
    /// All blocks read the same.
    pub identical: bool,
    /// Blocks at the look that judged; `None` before the first.
    pub look: Option<usize>,
    /// That look was the last that there can be.
    pub last_look: bool,
    /// Alpha of a look, for all candidates together.
    pub alpha: f64,
    /// Half the carry-over was counted against it, since there were no lead-ins (log units).
    pub carryover_against: Option<f64>,
    /// Blocks that a new experiment would need if mean and spread stay; `None` if over 100, or not asked.
    pub new_experiment_blocks: Option<usize>,
    /// Typical block ratio (Hodges and Lehmann), which single blocks move little.
    pub hodges_lehmann: Option<RatioInterval>,
    /// Exact signed-rank p value.
    pub wilcoxon_p: Option<f64>,
    /// The ends of the bootstrap interval (`BCa`) of the ratio, at `confidence`.
    pub bca: Option<[f64; 2]>,
    /// The typical block and the mean differ by more than half the margin.
    pub typical_and_mean_disagree: bool,
    /// Log ratio of every block, in the order of time, also of those after the look; above 0 the candidate reads more.
    pub d: Vec<Option<f64>>,
    /// What can be said without blocks.
    pub unblocked: Option<Unblocked>,
    /// The verdict in words.
    pub sentence: String,
}
