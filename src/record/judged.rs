//! What follows from a record: what was said when the experiment ended or, if it has no end, what its trials say.

use super::reader::Record;
use super::summary::Ended;
use crate::experiment::analysis::{Analysis, analyse};
use crate::experiment::circumstances::{Circumstances, Early};
use crate::experiment::estimate::block_time;
use crate::experiment::event::{Ending, Event};
use crate::experiment::observation::{Question, from_trials};
use crate::experiment::trial::Trial;

/// More trials are not judged: the longest experiment has 100 blocks of five, half as many again if they are void, and some
/// tens around them.
const MOST_TRIALS: usize = 2_000;
/// More cells are not judged. An experiment of ours has two.
const MOST_CELLS: usize = 24;

impl Record {
    /// The trials in the order they were written.
    #[must_use]
    pub fn only_trials(&self) -> Vec<Trial> {
        self.trials.iter().map(|(t, _)| t.clone()).collect()
    }

    /// The question that its experiment asked.
    #[must_use]
    pub fn question(&self) -> Question {
        let design = &self.manifest.design;
        Question::of(design, Some(block_time(design).as_secs_f64()))
    }

    /// What an analysis has to know beside the trials.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let ending = self.ending();
        let told = ending.as_ref().map(|(e, why)| (*e, why.as_str()));
        let known = Circumstances::of(&self.manifest.design, &self.only_trials(), told);
        match ending {
            Some(_) => known,
            None => Circumstances { early: Some(Early::CutOff), ..known },
        }
    }

    /// How the experiment ended and why, as it was told last, else by the summary; `None` if it was cut off before.
    fn ending(&self) -> Option<(Ending, String)> {
        // An experiment that went on after that has not ended by it.
        let last = self.events.iter().rev().map_while(|line| {
            let event = serde_json::from_value::<Event>(line.get("event")?.clone());
            Some(event.ok().filter(|e| matches!(e, Event::Ended { .. } | Event::Began { .. })))
        });
        if let Some(Event::Ended { ending, reason }) = last.flatten().next() {
            return Some((ending, reason));
        }
        let summary = self.summary.as_ref()?;
        let ending = match summary.ended {
            Ended::Finished => Ending::Finished,
            Ended::Stopped => Ending::Stopped,
            Ended::Invalid => Ending::Invalid,
            Ended::Failed => Ending::Broken,
        };
        Some((ending, summary.why.clone()))
    }

    /// What follows from the trials that are there, judged now: by the last look that there was.
    ///
    /// # Errors
    /// Why they can not be judged, in a sentence's words.
    pub fn judge(&self) -> Result<Analysis, String> {
        let design = &self.manifest.design;
        let trials = self.only_trials();
        if trials.is_empty() {
            return Err("no trial is in this record".to_owned());
        }
        if trials.len() > MOST_TRIALS || !(2..=MOST_CELLS).contains(&design.cells.len()) {
            return Err("this record has more trials or cells than an experiment has, or too few".to_owned());
        }
        if trials.windows(2).any(|w| matches!(w, [a, b] if a.plan.number >= b.plan.number)) {
            return Err("the trials of this record are not in the order of time".to_owned());
        }
        let question = self.question();
        Ok(analyse(&question, &from_trials(&question, &trials), &self.circumstances()))
    }
}
