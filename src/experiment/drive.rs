//! Does what the conductor asks for, on a bench, and tells what happens. It decides nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::Clock;

use super::bench::{Bench, BenchError};
use super::conductor::{Conductor, Outcome, Step};
use super::event::{Ending, Event};

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conducted {
    /// How.
    pub ending: Ending,
    /// Why, in a sentence's words.
    pub reason: String,
    /// Settings that could not be put back, in sentences.
    pub not_restored: Vec<String>,
}

/// Conducts an experiment to its end. What is held is put back however it ends; if this thread panics, by the end of the
/// bench. `stop` is looked at between steps and handed to those that take time.
pub fn conduct(
    conductor: &mut Conductor,
    bench: &mut dyn Bench,
    clock: &dyn Clock,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Event),
) -> Conducted {
    // An experiment that goes on has a past, and its trials' times ascend.
    let past = conductor.trials().last().map_or(0.0, |t| t.started_s + t.window_s);
    let began = clock.boot();
    let mut not_restored = Vec::new();
    loop {
        let asked = conductor.step();
        for event in conductor.take_events() {
            tell(&event);
        }
        let outcome = match asked {
            Step::End => break,
            Step::PutBack => {
                not_restored = bench.put_back();
                Outcome::PutBack(not_restored.clone())
            }
            _ if stop.load(Ordering::Relaxed) => Outcome::Failed(BenchError::Stopped),
            asked => carry_out(asked, bench, stop).unwrap_or_else(Outcome::Failed),
        };
        conductor.told(outcome, past + clock.boot().since(began).seconds());
        for event in conductor.take_events() {
            tell(&event);
        }
    }
    let (ending, reason) = conductor.ending().unwrap_or((Ending::Broken, ""));
    Conducted { ending, reason: reason.to_owned(), not_restored }
}

fn carry_out(asked: Step, bench: &mut dyn Bench, stop: &AtomicBool) -> Result<Outcome, BenchError> {
    Ok(match asked {
        Step::Drain => bench.drain(stop).map(|()| Outcome::Done)?,
        Step::Read => Outcome::Settings(bench.settings()),
        Step::Apply(changes) => Outcome::Settings(bench.apply(&changes)?),
        Step::WriteBare(changes) => Outcome::Settings(bench.write_bare(&changes)?),
        Step::Settle(time) => bench.settle(time, stop).map(|()| Outcome::Done)?,
        Step::Measure(jobs) => Outcome::Measured(Box::new(bench.measure(&jobs, stop)?)),
        Step::PutBack | Step::End => Outcome::Done,
    })
}
