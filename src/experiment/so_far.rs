//! What follows from an experiment that goes on, after each of its blocks.

use super::analysis::{self, Analysis};
use super::carried;
use super::circumstances::Circumstances;
use super::design::Design;
use super::event::Event;
use super::observation::{Question, TRIALS_OF_TWO, from_trials};
use super::trial::{Role, Trial};

/// The trials until now.
#[derive(Clone, Debug)]
pub struct SoFar {
    question: Question,
    trials: Vec<Trial>,
}

impl SoFar {
    /// Of an experiment that begins, or goes on after the trials that were `done` before.
    #[must_use]
    pub fn new(design: &Design, done: Vec<Trial>) -> Self {
        Self { question: Question::of(design, None), trials: done }
    }

    /// Takes in what happened. True if with it a block is complete, void or not, and so there is more to be known.
    pub fn take(&mut self, event: &Event) -> bool {
        let Event::TrialDone { trial, .. } = event else { return false };
        self.trials.push(trial.clone());
        trial.plan.role == Role::Trial && trial.plan.position.map(usize::from) == Some(TRIALS_OF_TWO)
    }

    /// What follows from them. Takes some milliseconds, so not while anything is measured.
    #[must_use]
    pub fn analysis(&self) -> Analysis {
        let observations = from_trials(&self.question, &self.trials);
        // What was carried over stays so, whatever is yet to come.
        let told = Circumstances { carried_over: carried::said(&self.trials), ..Circumstances::default() };
        analysis::live(&self.question, &observations, &told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::cells::tests::queue;
    use crate::experiment::design::Blocks;
    use crate::experiment::metric::{Metric, Readings};
    use crate::experiment::schedule;

    #[test]
    fn after_each_block_there_is_something_to_be_known() {
        let factors = vec!["scheduler=none,bfq".to_owned()];
        let asked = Asked { factors, blocks: Blocks::Fixed(6), ..Asked::new("vdb", "randread-4k", 1) };
        let design = design(&asked, &queue()).unwrap().design;
        let mut so_far = SoFar::new(&design, Vec::new());
        let mut blocks = Vec::new();
        for plan in schedule::whole(&design) {
            let mut readings = Readings::default();
            let rate = if plan.cell == Some(1) { 200.0 } else { 100.0 };
            readings.insert(Metric::Iops, rate + f64::from(plan.number % 3));
            let started_s = f64::from(plan.number) * 10.0;
            let trial = Trial {
                plan,
                started_s,
                window_s: 8.0,
                ios: 1000,
                bytes: 4_096_000,
                readings,
                findings: Vec::new(),
                warnings: Vec::new(),
            };
            let done = Event::TrialDone { trial, detail: serde_json::Value::Null };
            if so_far.take(&done) {
                blocks.push(so_far.analysis());
            }
        }
        assert_eq!(blocks.iter().map(|a| a.complete_blocks).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
        assert!(blocks[4].interim && !blocks[4].decided(), "between looks nothing is decided");
        assert!(blocks[5].decided() && !blocks[5].interim, "{}", blocks[5].sentence());
    }
}
