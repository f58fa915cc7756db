//! A trial as an experiment keeps it: where it stands in the schedule, its figures, and what the gates said.

use serde::{Deserialize, Serialize};

use super::metric::Readings;

/// What a trial is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Of a block; the analysis is made of these.
    Trial,
    /// Before a block, in its first cell, discarded.
    LeadIn,
    /// With the settings that were found, before the first block.
    BaselineBefore,
    /// The same after the last block.
    BaselineAfter,
    /// Of a workload that writes, before everything, until it is steady.
    Precondition,
}

/// A trial that is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Counts every trial in the order of time from 1: lead-ins and void ones too.
    pub number: u32,
    /// What it is for.
    pub role: Role,
    /// Index of its cell; None with the settings that were found.
    pub cell: Option<usize>,
    /// Its block, from 1. A block that is repeated keeps its number.
    pub block: Option<u32>,
    /// Its place in the block, from 1; None for a lead-in.
    pub position: Option<u8>,
    /// Which attempt at the block it belongs to, from 1.
    pub attempt: u32,
}

/// A rule that looks at every trial (`docs/statistics.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Gate {
    /// Settings read back equal at start and end.
    G1,
    /// Steady within the trial.
    G2,
    /// No I/O error, no short transfer.
    G3,
    /// No I/O of others, nothing served from a cache.
    G4,
    /// The host was not the limit.
    G5,
    /// No throttling by heat.
    G6,
    /// No suspend of the host, no stop of this program, no jump of the clock.
    G7,
    /// The same device.
    G8,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The gate.
    pub gate: Gate,
    /// It voids the trial and with it its block; else it is counted and printed.
    pub voids: bool,
    /// What was found, in a sentence's words.
    pub text: String,
}

/// A trial that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Where it stands.
    #[serde(flatten)]
    pub plan: PlannedTrial,
    /// When it began, seconds since the experiment did, by the boot clock.
    pub started_s: f64,
    /// Measured time, seconds.
    pub window_s: f64,
    /// I/Os completed in it.
    pub ios: u64,
    /// Bytes moved in it.
    pub bytes: u64,
    /// Its figures.
    pub readings: Readings,
    /// What the gates found.
    pub findings: Vec<Finding>,
    /// The trial's warnings, each a sentence.
    pub warnings: Vec<String>,
}

impl Trial {
    /// Whether a gate voids it.
    #[must_use]
    pub fn void(&self) -> bool {
        self.findings.iter().any(|f| f.voids)
    }

    /// What the first gate that voids it found, with its number.
    #[must_use]
    pub fn why_void(&self) -> String {
        let first = self.findings.iter().find(|f| f.voids).map_or("", |f| f.text.as_str());
        format!("trial {}: {first}", self.plan.number)
    }
}
