//! What an analysis has to know beside the observations: how the experiment ended, and what is to be said of its cells.

use super::carried;
use super::design::Design;
use super::event::Ending;
use super::gate;
use super::metric::Metric;
use super::schedule::{BASELINE_TRIALS, FEWEST_REPEATS, MOST_ROUNDS};
use super::trial::{Role, Trial};
use crate::stats::steady::{WINDOW, Window};

/// Why there are no more trials, where more were to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Early {
    /// It was told to stop.
    Stopped,
    /// It could not go on.
    Failed,
    /// Its record has no end.
    CutOff,
}

impl Early {
    /// Its word in a table of trials.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Early::Stopped => "stopped",
            Early::Failed => "failed",
            Early::CutOff => "cut off",
        }
    }

    /// What is meant by a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Early::Stopped, Early::Failed, Early::CutOff].into_iter().find(|e| e.word() == word)
    }
}

/// What a caller knows that the observations do not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circumstances {
    /// Why nothing follows from these trials, without "Not valid" and full stop; `None` if nothing speaks against them.
    pub invalid: Option<String>,
    /// Settings that trials took over from those before them, in words without a full stop: the light is red, and nothing
    /// follows.
    pub carried_over: Option<String>,
    /// Why it ended before its end; `None` if it did not, or goes on.
    pub early: Option<Early>,
    /// Sentences on cells: unsteady, host-bound.
    pub remarks: Vec<String>,
}

impl Circumstances {
    /// Of an experiment of ours with these trials, in the order of time, and this end. All of it is in a record.
    #[must_use]
    pub fn of(design: &Design, trials: &[Trial], ending: Option<(Ending, &str)>) -> Self {
        let invalid = match ending {
            Some((Ending::Invalid | Ending::Refused, why)) => Some(why.to_owned()),
            _ => None,
        };
        let early = match ending {
            Some((Ending::Stopped, _)) => Some(Early::Stopped),
            Some((Ending::Gone | Ending::Broken, _)) => Some(Early::Failed),
            _ => None,
        };
        let mut remarks: Vec<String> = unsteady(trials).into_iter().chain(not_known(trials)).collect();
        remarks.extend(gate::remarks(trials, &design.cells));
        Self { invalid, carried_over: carried::said(trials), early, remarks }
    }
}

/// What a round before everything tells of the device's pace.
pub(super) fn pace(round: &Trial) -> f64 {
    round.readings.get(&Metric::Throughput).copied().unwrap_or_default()
}

/// Whether the last rounds are steady.
pub(super) fn steady(rounds: &[f64]) -> bool {
    let last = rounds.len().checked_sub(WINDOW).and_then(|from| rounds.get(from..));
    last.and_then(Window::of).is_some_and(|w| w.steady())
}

/// That a workload that writes went on without having become steady. Rounds before an interruption count for themselves.
fn unsteady(trials: &[Trial]) -> Option<String> {
    let round = |t: &Trial| t.plan.role == Role::Precondition;
    let end = trials.iter().rposition(round)?.saturating_add(1);
    let start = trials[..end].iter().rposition(|t| !round(t)).map_or(0, |i| i.saturating_add(1));
    let rounds: Vec<f64> = trials[start..end].iter().map(pace).collect();
    let given_up = u32::try_from(rounds.len()).is_ok_and(|n| n >= MOST_ROUNDS) && !steady(&rounds);
    given_up.then(|| format!("the workload was not steady after {} rounds", rounds.len()))
}

/// That the device's return can not be told, since too many of the trials that tell it were void.
fn not_known(trials: &[Trial]) -> Option<String> {
    let after = || trials.iter().filter(|t| t.plan.role == Role::BaselineAfter);
    let void: Vec<&Trial> = after().filter(|t| t.void()).collect();
    let good = after().count().saturating_sub(void.len());
    let last = void.last().filter(|_| good < BASELINE_TRIALS && void.len() > FEWEST_REPEATS)?;
    Some(format!(
        "whether the device came back to its starting performance is not known: {} trials after the last block were void; the last: {}",
        void.len(),
        last.why_void()
    ))
}
