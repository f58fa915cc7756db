//! Whatever is pressed and whatever happens in whatever order around an experiment: the screen never panics, an experiment
//! starts by Enter in a plan or in the question after it and by nothing else, and settings are written by Enter in a diff.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "tuning/fake.rs"]
#[allow(dead_code)] // faults that only the tests of settings need
mod fake;
#[path = "experiment/made.rs"]
#[allow(dead_code)] // what only the tests of the conductor need
mod made;
mod support;
#[path = "experiment/told.rs"]
#[allow(dead_code)] // what only the tests of single states need
mod told;

use std::cell::Cell;

use blktune::app::actions::{Place, place};
use blktune::app::effect::Effect;
use blktune::app::key::Key;
use blktune::app::message::{ExperimentEnd, Message, NotBegun};
use blktune::experiment::analysis::Analysis;
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::trial::Role;
use proptest::prelude::*;
use support::chance::until_seen;
use support::model::{Screen, fleet, name, queue};
use told::{Plot, QUIET, conducted, form, measuring, progress, started};

/// What can happen, by its number.
struct Pool {
    events: Vec<Event>,
    analyses: Vec<Analysis>,
    ends: Vec<ExperimentEnd>,
    began: Message,
}

impl Pool {
    /// Of an experiment that comes to its end with a winner, and of one without that is stopped.
    fn new() -> Self {
        let mut pool =
            Pool { events: Vec::new(), analyses: Vec::new(), ends: Vec::new(), began: progress(0) };
        let faster = made::Nature { effect: 0.05, ..QUIET };
        let spoiled = vec![5, 9, 13];
        for plot in [
            Plot { nature: faster, ..Plot::default() },
            Plot {
                spoiled,
                stop_at: Some(200),
                not_restored: vec!["scheduler".to_owned()],
                ..Plot::default()
            },
        ] {
            let s = started(80, 24);
            let told = conducted(&s, plot);
            pool.analyses.extend(told.analyses());
            pool.analyses.push(told.end.analysis.clone());
            pool.events.extend(told.events.iter().cloned());
            pool.began = told.began();
            pool.ends.push(told.end);
        }
        pool
    }

    fn event(&self, at: prop::sample::Index) -> Message {
        Message::Experiment(Box::new(at.get(&self.events).clone()))
    }

    fn message(&self, what: &Happens) -> Message {
        match what {
            Happens::Began => self.began.clone(),
            Happens::Event(at) => self.event(*at),
            Happens::Odd(at, text, n) => {
                Message::Experiment(Box::new(odd(at.get(&self.events).clone(), text, *n)))
            }
            Happens::Progress(s) => progress(*s),
            Happens::Analysis(at, odd) => {
                let mut a = at.get(&self.analyses).clone();
                if *odd {
                    strange(&mut a);
                }
                Message::ExperimentAnalysis(Box::new(a))
            }
            Happens::Ended(at, ending, odd) => {
                let mut end = at.get(&self.ends).clone();
                end.ending = *ending;
                if *odd {
                    strange(&mut end.analysis);
                    end.record = None;
                }
                Message::ExperimentEnded(Ok(Box::new(end)))
            }
            Happens::NotBegun(why) => Message::ExperimentEnded(Err(why.clone())),
            Happens::Devices(there) => {
                let all = fleet().into_iter().filter(|d| *there || d.name().kernel() != "sdb");
                Message::Inventory(all.collect())
            }
            Happens::Queue(scheduler) => Message::Queue { device: name("sdb"), state: queue(scheduler, 128) },
            Happens::Size(width, height) => Message::Resize { width: *width, height: *height },
        }
    }
}

/// The same with words and numbers that nobody expects.
fn odd(event: Event, text: &str, n: u32) -> Event {
    match event {
        Event::TrialStarted { mut plan } => {
            (plan.number, plan.cell, plan.block) = (n, Some(n as usize), Some(n));
            Event::TrialStarted { plan }
        }
        Event::TrialDone { mut trial, detail } => {
            (trial.plan.number, trial.plan.cell, trial.plan.block) = (n, Some(n as usize % 4), Some(n % 9));
            trial.plan.role = if n.is_multiple_of(2) { Role::Precondition } else { Role::Trial };
            trial.started_s = f64::NAN;
            trial
                .readings
                .values_mut()
                .for_each(|v| *v = if n.is_multiple_of(3) { f64::INFINITY } else { 1e-300 });
            Event::TrialDone { trial, detail }
        }
        _ => Event::BlockVoid { block: n, attempt: n, reason: text.to_owned(), left: n as usize },
    }
}

fn strange(a: &mut Analysis) {
    for (i, c) in a.comparisons.iter_mut().enumerate() {
        (c.ratio, c.ci) = match i % 3 {
            0 => (Some(f64::INFINITY), Some([0.0, f64::NAN])),
            1 => (Some(0.0), Some([1e-300, 1e300])),
            _ => (Some(f64::NAN), None),
        };
        c.metric.push('?');
    }
    a.margin = 0.0;
    a.cells.pop();
}

#[derive(Clone, Debug)]
enum Happens {
    Began,
    Event(prop::sample::Index),
    Odd(prop::sample::Index, String, u32),
    Progress(u64),
    Analysis(prop::sample::Index, bool),
    Ended(prop::sample::Index, Ending, bool),
    NotBegun(NotBegun),
    Devices(bool),
    Queue(&'static str),
    Size(u16, u16),
}

#[derive(Clone, Debug)]
enum Step {
    Press(Key),
    Happens(Happens),
    Second,
}

fn steps() -> impl Strategy<Value = Step> {
    let at = any::<prop::sample::Index>;
    let letters: Vec<Key> = "4444jjkkllhh  aaccnneqyux123?7gGb".chars().map(Key::Char).collect();
    let ending = prop::sample::select(vec![
        Ending::Decided,
        Ending::Finished,
        Ending::Stopped,
        Ending::Invalid,
        Ending::Refused,
        Ending::Gone,
        Ending::Broken,
    ]);
    let why = prop_oneof![
        "\\PC{0,60}".prop_map(NotBegun::Busy),
        "\\PC{0,60}".prop_map(NotBegun::Refused),
        Just(NotBegun::Stopped)
    ];
    let happens = prop_oneof![
        2 => Just(Happens::Began),
        8 => at().prop_map(Happens::Event),
        2 => (at(), "\\PC{0,80}", any::<u32>()).prop_map(|(a, t, n)| Happens::Odd(a, t, n)),
        2 => any::<u32>().prop_map(|s| Happens::Progress(s.into())),
        3 => (at(), prop::bool::weighted(0.2)).prop_map(|(a, odd)| Happens::Analysis(a, odd)),
        2 => (at(), ending, prop::bool::weighted(0.2)).prop_map(|(a, e, odd)| Happens::Ended(a, e, odd)),
        1 => why.prop_map(Happens::NotBegun),
        1 => any::<bool>().prop_map(Happens::Devices),
        1 => prop::sample::select(vec!["none", "bfq"]).prop_map(Happens::Queue),
        1 => prop::sample::select(vec![(60, 16), (80, 24), (120, 40), (300, 90), (20, 5)])
            .prop_map(|(w, h)| Happens::Size(w, h)),
    ];
    prop_oneof![
        12 => prop::sample::select(letters).prop_map(Step::Press),
        8 => Just(Step::Press(Key::Enter)),
        2 => Just(Step::Press(Key::Esc)),
        2 => prop::sample::select(vec![Key::Tab, Key::Right, Key::PageDown, Key::End, Key::Home, Key::Backspace])
            .prop_map(Step::Press),
        14 => happens.prop_map(Step::Happens),
        1 => Just(Step::Second),
    ]
}

#[test]
fn whatever_happens_only_enter_in_its_place_starts_and_writes() {
    let pool = Pool::new();
    let [started, asked, stopped, wrote, compared] = [const { Cell::new(0u32) }; 5];
    let see = |cell: &Cell<u32>| cell.set(cell.get() + 1);
    let try_it = |steps: Vec<Step>| {
        let mut s = form(80, 24);
        s.keys(" lll ");
        for (i, step) in steps.into_iter().enumerate() {
            let before = s.effects.len();
            let at = place(&s.model);
            let going = s.model.experimenting();
            let key = match step {
                Step::Press(key) => {
                    s.send(Message::Key(key));
                    Some(key)
                }
                Step::Happens(what) => {
                    s.send(pool.message(&what));
                    None
                }
                Step::Second => {
                    s.seconds(1);
                    None
                }
            };
            for effect in &s.effects[before..] {
                match effect {
                    Effect::StartExperiment(order) => {
                        prop_assert!(key == Some(Key::Enter) && !going, "{:?} at {:?}", key, at);
                        prop_assert!(matches!(at, Place::Plan | Place::Question), "{:?}", at);
                        prop_assert!(order.designed.refusal().is_none());
                        prop_assert_eq!(order.busy_ok, at == Place::Question);
                        see(if order.busy_ok { &asked } else { &started });
                    }
                    Effect::StopExperiment => {
                        prop_assert!(going, "it stops what does not go on");
                        see(&stopped);
                    }
                    Effect::Apply { .. } | Effect::Undo { .. } | Effect::Redo { .. } => {
                        prop_assert!(
                            key == Some(Key::Enter) && at == Place::Changes,
                            "{:?} at {:?}",
                            key,
                            at
                        );
                        prop_assert!(!going, "it writes to a queue that an experiment holds");
                        see(&wrote);
                    }
                    Effect::StartRun { .. } => prop_assert!(!going, "a run beside an experiment"),
                    _ => {}
                }
            }
            let shown = s.model.course.as_ref().is_some_and(|c| !c.going());
            if shown {
                see(&compared);
            }
            if i % 8 == 0 {
                prop_assert!(!s.text().is_empty());
            }
        }
        for (width, height) in [(60, 16), (80, 24), (120, 40), (400, 100)] {
            s.send(Message::Resize { width, height });
            prop_assert!(!s.text().is_empty());
        }
        Ok(())
    };
    let all = prop::collection::vec(steps(), 1..160);
    let sought = [
        (&started, 10, "a start from the plan"),
        (&asked, 2, "a start of a busy device"),
        (&stopped, 2, "a stop"),
        (&wrote, 1, "a better cell kept"),
        (&compared, 50, "a result"),
    ];
    until_seen(24, file!(), &all, &sought, try_it);
}

/// All letters and other keys, once, in each place of the screen.
#[test]
fn no_single_key_starts_or_writes_anything() {
    let keys: Vec<Key> =
        (' '..='~').map(Key::Char).chain([Key::Esc, Key::Tab, Key::Left, Key::Right]).collect();
    let faster = made::Nature { effect: 0.05, ..QUIET };
    let told = conducted(&started(80, 24), Plot { nature: faster, ..Plot::default() });
    let planned = || {
        let mut s = form(80, 24);
        s.keys(" lll ");
        s
    };
    let going = || {
        let mut s = started(80, 24);
        told.until(&mut s, measuring(2, 1));
        s
    };
    let compared = || {
        let mut s = started(80, 24);
        told.whole(&mut s);
        s
    };
    let made: [&dyn Fn() -> Screen; 3] = [&planned, &going, &compared];
    for make in made {
        for key in &keys {
            let mut s = make();
            let before = s.effects.len();
            s.send(Message::Key(*key));
            let does = s.effects[before..].iter().any(|e| {
                matches!(
                    e,
                    Effect::StartExperiment(_)
                        | Effect::StopExperiment
                        | Effect::StartRun { .. }
                        | Effect::Apply { .. }
                        | Effect::Undo { .. }
                        | Effect::Redo { .. }
                )
            });
            assert!(!does, "{key:?}: {:?}", &s.effects[before..]);
        }
    }
}
