//! What an analysis looks at, wherever it was measured: by an experiment of ours, or elsewhere and handed in as a table.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::design::{Blocks, Cell, Design};
use super::metric::Metric;
use super::trial::{Role, Trial};

/// Trials of a block of two cells (ABBA or BAAB), without its lead-in.
pub const TRIALS_OF_TWO: usize = 4;

/// A metric by its word, and which way is good. Tables have words of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Its word: that of `--metric`, or the table's.
    pub word: String,
    /// Whether more is better, as of a rate.
    pub more_is_better: bool,
}

impl Measure {
    /// The measure that a word stands for. One that speaks of time, a percentile or cost is better when less; what says
    /// nothing of the kind is a rate.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        if let Some(metric) = Metric::parse(word) {
            return metric.into();
        }
        let lower = word.to_lowercase();
        let mut parts = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let percentile = |p: &str| {
            p.strip_prefix('p').is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
        };
        let less = parts.any(|p| {
            percentile(p)
                || ["lat", "latency", "clat", "slat", "await", "time", "mean", "max", "cpu", "ns", "us", "ms"]
                    .contains(&p)
        }) || lower.contains("latenc");
        Measure { word: word.to_owned(), more_is_better: !less }
    }
}

impl From<Metric> for Measure {
    fn from(metric: Metric) -> Self {
        Measure { word: metric.word().to_owned(), more_is_better: metric.more_is_better() }
    }
}

/// What is asked of the observations. Fixed before the first of them was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What is compared; the first is the baseline.
    pub cells: Vec<Cell>,
    /// The primary metric first; each gets a verdict of its own.
    pub measures: Vec<Measure>,
    /// Smallest difference that matters, as a share: 0.03.
    pub margin: f64,
    /// How many blocks, and so when it is judged.
    pub blocks: Blocks,
    /// Trials in a block, without the lead-in; `None` if only the observations tell.
    pub block_trials: Option<usize>,
    /// How long a block takes, seconds; `None` if only the observations tell.
    pub block_s: Option<f64>,
    /// Of the resampling that is shown beside the verdict.
    pub seed: u64,
}

impl Question {
    /// The question of an experiment of ours. `block_s` is how long one of its blocks takes.
    #[must_use]
    pub fn of(design: &Design, block_s: Option<f64>) -> Self {
        let others = Metric::ALL.into_iter().filter(|m| *m != design.metric);
        Question {
            cells: design.cells.clone(),
            measures: std::iter::once(design.metric).chain(others).map(Measure::from).collect(),
            margin: design.margin,
            blocks: design.blocks,
            block_trials: Some(match design.cells.len() {
                2 => TRIALS_OF_TWO,
                k => k,
            }),
            block_s,
            seed: design.seed,
        }
    }

    /// `ln(1 + margin)`.
    #[must_use]
    pub fn theta(&self) -> f64 {
        self.margin.ln_1p()
    }
}

/// One trial, as far as an analysis needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Its place in the order of time, from 1, every trial counted: lead-ins and void ones too.
    pub number: u32,
    /// What it was for.
    pub role: Role,
    /// Index into [`Question::cells`]; `None` with the settings that were found.
    pub cell: Option<usize>,
    /// Its block; `None` outside of blocks.
    pub block: Option<u32>,
    /// Its place in the block, from 1.
    pub position: Option<u8>,
    /// A gate voided it or another trial of the same attempt at its block: it ran, and its reading is not used.
    pub void: bool,
    /// When it began, seconds.
    pub started_s: Option<f64>,
    /// Bytes moved and in how many seconds, where that is known.
    pub moved: Option<(u64, f64)>,
    /// A reading of each of [`Question::measures`]; `None` where it could not be had.
    pub values: Vec<Option<f64>>,
}

impl Observation {
    /// The reading of a measure, if its logarithm can be taken.
    #[must_use]
    pub fn reading(&self, measure: usize) -> Option<f64> {
        self.values.get(measure).copied().flatten().filter(|v| v.is_finite() && *v > 0.0)
    }
}

/// The trials of an experiment of ours as observations, in the order they are given (that of time).
#[must_use]
pub fn from_trials(question: &Question, trials: &[Trial]) -> Vec<Observation> {
    let metrics: Vec<Option<Metric>> = question.measures.iter().map(|m| Metric::parse(&m.word)).collect();
    let mut void: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    for t in trials {
        let Some(block) = t.plan.block else { continue };
        if t.void() {
            void.insert((block, t.plan.attempt));
        }
        let attempt = last.entry(block).or_default();
        *attempt = t.plan.attempt.max(*attempt);
    }
    let attempt_void = |t: &Trial| {
        let attempt = t.plan.attempt;
        // Of a block that was interrupted and repeated, only what was run last counts.
        let again = |block| last.get(&block).is_some_and(|last| attempt < *last);
        t.plan.block.is_some_and(|block| void.contains(&(block, attempt)) || again(block))
    };
    trials
        .iter()
        .map(|t| Observation {
            number: t.plan.number,
            role: t.plan.role,
            cell: t.plan.cell,
            block: t.plan.block,
            position: t.plan.position,
            void: t.void() || attempt_void(t),
            started_s: Some(t.started_s),
            moved: Some((t.bytes, t.window_s)),
            values: metrics.iter().map(|m| m.and_then(|m| t.readings.get(&m).copied())).collect(),
        })
        .collect()
}
