//! From observations to cells, comparisons, the order light, verdicts and sentences. The fields are those of the JSON of
//! `ab` and `analyse`.

use serde::{Deserialize, Serialize};

use super::order::Order;
use super::trial::Role;
use super::verdict::{Comparison, Verdict};

/// What a caller knows that the observations do not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Why nothing follows from these trials, without "Not valid" and full stop; `None` if nothing speaks against them.
    pub invalid: Option<String>,
    /// It was stopped before its end.
    pub stopped: bool,
    /// Sentences on cells: unsteady, host-bound.
    pub remarks: Vec<String>,
}

/// A cell's own figures, for display: the verdict is made of ratios within blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// Its name.
    pub name: String,
    /// The level of each factor.
    pub levels: Vec<String>,
    /// Trials used.
    pub trials: usize,
    /// All bytes over all measured time, where that is known.
    pub bytes_per_s: Option<f64>,
    /// A figure of each metric, the primary first.
    pub figures: Vec<CellFigure>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigure {
    /// The metric's word.
    pub metric: String,
    /// Geometric mean over trials, in the metric's unit.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// One trial, as shown in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialFigures {
    /// Place in the order of time, from 1.
    pub number: u32,
    /// What it was for.
    pub role: Role,
    /// Its cell; `None` with the settings that were found.
    pub cell: Option<String>,
    /// Its block.
    pub block: Option<u32>,
    /// Its place in the block.
    pub position: Option<u8>,
    /// When it began, seconds.
    pub started_s: Option<f64>,
    /// Its reading of the primary metric.
    pub value: Option<f64>,
    /// Used by the analysis.
    pub used: bool,
    /// Far from the other trials of its cell.
    pub outlier: bool,
}

/// Everything that follows from the observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The cells, the baseline first.
    pub cells: Vec<CellFigures>,
    /// Every candidate on the primary metric, then on the others.
    pub comparisons: Vec<Comparison>,
    /// The order of trials, by the primary metric.
    pub order: Order,
    /// Smallest difference that matters, as a share.
    pub margin: f64,
    /// Complete blocks, also those after the look.
    pub complete_blocks: usize,
    /// The next look, while there is one to come.
    pub next_look: Option<usize>,
    /// This is no point of decision: between two looks of an experiment that goes on.
    pub interim: bool,
    /// Metrics that disagree, said aloud.
    pub trade_offs: Vec<String>,
    /// What else should be known, each a sentence.
    pub warnings: Vec<String>,
    /// All trials in the order of time.
    pub trials: Vec<TrialFigures>,
}

impl Analysis {
    /// The comparisons on the primary metric.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|c| c.primary)
    }

    /// Whether every candidate is decided on the primary metric: an adaptive experiment ends here.
    #[must_use]
    pub fn decided(&self) -> bool {
        self.primary().all(|c| c.verdict.decided())
    }

    /// Whether nothing follows from it.
    #[must_use]
    pub fn invalid(&self) -> bool {
        self.primary().any(|c| c.verdict == Verdict::Invalid)
    }

    /// The sentence of the first candidate on the primary metric.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.primary().next().map_or("", |c| &c.sentence)
    }
}
