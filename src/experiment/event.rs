//! What is told while an experiment is conducted: what the record keeps and the screen shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::trial::{PlannedTrial, Trial};

/// What is being done for a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waiting until nothing is in flight.
    Draining,
    /// Writing settings and reading them back.
    Applying,
    /// The pause after that.
    Settling,
    /// Ramp and measured time.
    Measuring,
    /// Settings go back to what was found.
    PuttingBack,
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// A look decided every comparison.
    Decided,
    /// All blocks there can be.
    Finished,
    /// It was told to stop. Judged by the last look there was.
    Stopped,
    /// By rule, nothing follows from it.
    Invalid,
    /// The kernel does not take a cell's setting.
    Refused,
    /// The device is gone, or another one.
    Gone,
    /// Something else kept it from going on.
    Broken,
}

/// One thing that happened, in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It begins, or goes on after an interruption. The settings that were found, by name; None where one can not be read.
    Began {
        /// What is put back in the end.
        settings: BTreeMap<String, Option<String>>,
        /// Trials that were done before.
        resumed: usize,
    },
    /// A trial is about to be prepared.
    TrialStarted {
        /// Which.
        plan: PlannedTrial,
    },
    /// What is done for it now.
    Phase {
        /// Of the trial that was started last.
        phase: Phase,
    },
    /// A trial was run, or could not be.
    TrialDone {
        /// Its figures and what the gates found.
        trial: Trial,
        /// In the shape of `run --json`; null if it failed.
        detail: serde_json::Value,
    },
    /// The rounds before everything are over.
    Preconditioned {
        /// How many.
        rounds: u32,
        /// The last five were steady; else it goes on all the same, and it is said.
        steady: bool,
    },
    /// A block is repeated.
    BlockVoid {
        /// Its number, which it keeps.
        block: u32,
        /// The attempt that is void.
        attempt: u32,
        /// Why.
        reason: String,
        /// Blocks that may yet be void before nothing follows from it all.
        left: usize,
    },
    /// It was judged.
    Look {
        /// Valid blocks.
        blocks: usize,
        /// Whether every comparison is decided.
        decided: bool,
        /// Whether it was the last look there can be.
        last: bool,
    },
    /// Settings were put back.
    PutBack {
        /// What could not be, in sentences; empty in ordinary endings.
        not_restored: Vec<String>,
    },
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
        /// Why, in a sentence's words.
        reason: String,
    },
}

impl Event {
    /// The sentence of what should not pass unseen; None of everything else.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        match self {
            Event::BlockVoid { block, reason, left, .. } => {
                Some(format!("block {block} is void and repeated ({left} more may be): {reason}"))
            }
            Event::Look { blocks, decided, last } => Some(match (decided, last) {
                (true, _) => format!("look at {blocks} blocks: decided"),
                (false, true) => format!("look at {blocks} blocks, the last"),
                (false, false) => format!("look at {blocks} blocks: not decided yet"),
            }),
            Event::Preconditioned { rounds, steady: false } => {
                Some(format!("not steady after {rounds} rounds of the workload; it goes on all the same"))
            }
            _ => None,
        }
    }
}
