//! How far an experiment is, for the line on stderr.

use crate::experiment::design::Design;
use crate::experiment::estimate::looks_of;
use crate::experiment::event::Event;
use crate::experiment::trial::{PlannedTrial, Role};

/// Keeps the words in front of a trial's progress, and has a sentence for what should not pass unseen.
pub(super) struct Teller {
    cells: Vec<String>,
    trials: usize,
    last_look: usize,
    now: String,
}

impl Teller {
    pub(super) fn new(design: &Design, plan: &[PlannedTrial]) -> Self {
        Self {
            cells: design.cells.iter().map(|c| c.name.clone()).collect(),
            trials: plan.len(),
            last_look: looks_of(design).last().copied().unwrap_or_default(),
            now: String::new(),
        }
    }

    /// `trial 26 of 106, block 5 of 20 none: `
    pub(super) fn lead(&self) -> String {
        self.now.clone()
    }

    /// Takes an event; a sentence that is to stay.
    pub(super) fn hear(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::TrialStarted { plan } => {
                let cell = plan.cell.and_then(|c| self.cells.get(c)).map_or("as found", String::as_str);
                let lead_in = if plan.role == Role::LeadIn { ", lead-in" } else { "" };
                let block =
                    plan.block.map_or_else(String::new, |b| format!(", block {b} of {}", self.last_look));
                self.now = format!("trial {} of {}{block}, {cell}{lead_in}: ", plan.number, self.trials);
                None
            }
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
