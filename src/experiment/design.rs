//! The question: which cells are compared, by what, and how it is measured. Fixed before the first trial.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::metric::Metric;

/// What a factor varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactorKind {
    /// A setting of the queue, by its attribute: `scheduler`, `iosched/slice_idle`.
    Setting,
    /// A key of the workload: `bs`, `iodepth`.
    Workload,
}

/// A variable and its levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// The attribute below `queue/`, or the key of `--set`.
    pub name: String,
    /// Which of the two.
    pub kind: FactorKind,
    /// Its values, as they are written; the first is the baseline's.
    pub levels: Vec<String>,
}

/// One combination of levels: a full state of the queue and a workload. What no factor names is as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What it is called: its levels, as in `none/1`.
    pub name: String,
    /// The level of each factor, in the order of [`Design::factors`].
    pub levels: Vec<String>,
}

/// The preset that is run and what `--set` changes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// The preset's name.
    pub preset: String,
    /// `KEY=VALUE`, or `JOB.KEY=VALUE`, in the order they were given. The design's times go over `runtime` and `ramp`.
    pub set: Vec<String>,
}

/// How many blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// So many, judged once at the end at 5 %.
    Fixed(usize),
    /// Until a look decides; each look at its smaller alpha.
    Adaptive,
}

/// What a trial starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Every setting is brought to the cell's value, so that nothing but the factors differs.
    #[default]
    Isolated,
    /// The settings that were found, and then the cell's levels as bare writes: what an echo would move moves
    /// (`--side-effects`).
    SideEffects,
    /// Bare writes upon what the trial before left, nothing put back between (`--side-effects=sequence`).
    Sequence,
}

/// An experiment, as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// The device whose settings are varied, by its kernel name in the spelling of `/dev`.
    pub device: String,
    /// What the workload uses, if not the device itself: a partition, a file, or a directory for a scratch file.
    pub target: Option<PathBuf>,
    /// What varies.
    pub factors: Vec<Factor>,
    /// What is compared; the first is the baseline.
    pub cells: Vec<Cell>,
    /// What is run in each cell.
    pub workload: Workload,
    /// What decides.
    pub metric: Metric,
    /// Smallest difference that matters, as a share: 0.03.
    pub margin: f64,
    /// Measured part of a trial.
    pub trial: Duration,
    /// Before it, discarded.
    pub ramp: Duration,
    /// Pause after settings were changed.
    pub settle: Duration,
    /// How many blocks.
    pub blocks: Blocks,
    /// Whether a block begins with a discarded trial of its own first cell.
    pub lead_ins: bool,
    /// What a trial starts from.
    pub isolation: Isolation,
    /// Also cells that should make no difference were asked for.
    pub control: bool,
    /// Both cells are the same, to learn how quiet the machine is.
    pub calibration: bool,
    /// Of the order of blocks and of the workload's offsets.
    pub seed: u64,
}

impl Design {
    /// `ln(1 + margin)`.
    #[must_use]
    pub fn theta(&self) -> f64 {
        self.margin.ln_1p()
    }
}
