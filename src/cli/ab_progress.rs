//! How far an experiment is, for the line on stderr.

use crate::experiment::design::Design;
use crate::experiment::estimate::looks_of;
use crate::experiment::event::Event;
use crate::experiment::schedule::MOST_ROUNDS;
use crate::experiment::trial::{PlannedTrial, Role};

/// Keeps the words in front of a trial's progress, and has a sentence for what should not pass unseen.
pub(super) struct Teller {
    cells: Vec<String>,
    /// That there will be, as far as is known.
    trials: usize,
    /// The block and its attempt, and trials begun in it.
    attempt: (Option<u32>, u32),
    in_attempt: usize,
    last_look: usize,
    now: String,
}

impl Teller {
    pub(super) fn new(design: &Design, plan: &[PlannedTrial]) -> Self {
        Self {
            cells: design.cells.iter().map(|c| c.name.clone()).collect(),
            trials: plan.len(),
            attempt: (None, 0),
            in_attempt: 0,
            last_look: looks_of(design).last().copied().unwrap_or_default(),
            now: String::new(),
        }
    }

    /// `trial 26 of 106, block 5 of 20 none: `
    pub(super) fn lead(&self) -> String {
        self.now.clone()
    }

    /// Counts the trials of an attempt, which are run again if it is void, and those outside of blocks that are.
    fn count(&mut self, plan: &PlannedTrial) {
        let attempt = (plan.block, plan.attempt);
        self.in_attempt = if self.attempt == attempt { self.in_attempt + 1 } else { 1 };
        self.attempt = attempt;
        if plan.block.is_none() && plan.attempt > 1 {
            self.trials += 1;
        }
        // Of an experiment that goes on, what was repeated before is not known here.
        self.trials = self.trials.max(usize::try_from(plan.number).unwrap_or(usize::MAX));
    }

    /// Takes an event; a sentence that is to stay.
    pub(super) fn hear(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::TrialStarted { plan } => {
                if plan.role == Role::Precondition {
                    // How many there will be is not known.
                    self.trials += 1;
                    self.now =
                        format!("round {} of at most {MOST_ROUNDS}, until it is steady: ", plan.number);
                    return None;
                }
                self.count(plan);
                let cell = plan.cell.and_then(|c| self.cells.get(c)).map_or("as found", String::as_str);
                let lead_in = if plan.role == Role::LeadIn { ", lead-in" } else { "" };
                let block =
                    plan.block.map_or_else(String::new, |b| format!(", block {b} of {}", self.last_look));
                self.now = format!("trial {} of {}{block}, {cell}{lead_in}: ", plan.number, self.trials);
                None
            }
            Event::BlockVoid { .. } => {
                self.trials += self.in_attempt;
                event.sentence()
            }
            event => event.sentence(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::schedule;
    use crate::sys::queue::{Attribute, QueueState};

    fn teller() -> Teller {
        let attribute = Attribute { value: Some("[none] bfq".to_owned()), writable: true };
        let state = QueueState { attributes: [("scheduler".to_owned(), attribute)].into() };
        let factors = vec!["scheduler=none,bfq".to_owned()];
        let asked = Asked { factors, ..Asked::new("vdb", "randwrite-4k", 42) };
        let design = design(&asked, &state).unwrap().design;
        Teller::new(&design, &schedule::whole(&design))
    }

    fn started(t: &mut Teller, role: Role, number: u32, block: Option<u32>, attempt: u32) -> String {
        let plan = PlannedTrial { number, role, cell: None, block, position: None, attempt };
        assert_eq!(t.hear(&Event::TrialStarted { plan }), None);
        t.lead()
    }

    #[test]
    fn rounds_and_what_is_repeated_are_counted_in() {
        let t = &mut teller();
        let first = started(t, Role::Precondition, 1, None, 1);
        assert_eq!(first, "round 1 of at most 25, until it is steady: ");
        started(t, Role::Precondition, 2, None, 1);
        // Two rounds beyond the 106 of the plan.
        assert_eq!(started(t, Role::BaselineBefore, 3, None, 1), "trial 3 of 108, as found: ");
        assert_eq!(started(t, Role::BaselineBefore, 4, None, 2), "trial 4 of 109, as found: ");
        started(t, Role::LeadIn, 5, Some(1), 1);
        started(t, Role::Trial, 6, Some(1), 1);
        let void = Event::BlockVoid { block: 1, attempt: 1, reason: "others".to_owned(), left: 2 };
        assert!(t.hear(&void).unwrap().contains("void and repeated (2 more may be): others"));
        let again = started(t, Role::LeadIn, 7, Some(1), 2);
        assert_eq!(again, "trial 7 of 111, block 1 of 20, as found, lead-in: ");
    }
}
