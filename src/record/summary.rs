//! How an experiment ended, and what follows from it.

use serde::{Deserialize, Serialize};

use super::SCHEMA;
use crate::experiment::analysis::Analysis;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// As planned: a look decided, or the last block was run.
    Finished,
    /// It was told to stop.
    Stopped,
    /// Nothing can follow from it: too many void blocks, or failures follow one cell.
    Invalid,
    /// It could not go on: the device is gone, a setting was refused, the workload failed.
    Failed,
}

/// The end of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// `blktune.record/1`.
    pub schema: String,
    /// How it ended.
    pub ended: Ended,
    /// Why, in a sentence's words.
    pub why: String,
    /// Seconds from its start to its end, by the boot clock.
    pub took_s: f64,
    /// Whether all settings were put back; None if nothing was changed.
    pub restored: Option<bool>,
    /// Sentences on what could not be put back.
    #[serde(default)]
    pub not_restored: Vec<String>,
    /// What follows from the trials; None if nothing was measured.
    pub analysis: Option<Analysis>,
}

impl Summary {
    /// The end of an experiment.
    #[must_use]
    pub fn new(ended: Ended, why: impl Into<String>, took_s: f64) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            ended,
            why: why.into(),
            took_s,
            restored: None,
            not_restored: Vec::new(),
            analysis: None,
        }
    }
}
