//! Whose the changes of an experiment are, on every screen that says who changed a setting.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use blktune::app::effect::Effect;
use blktune::app::mark::{By, What};
use blktune::app::message::{ExperimentBeginning, ExperimentEnd, Message};
use blktune::app::parting::left_changed;
use blktune::experiment::analysis::Analysis;
use blktune::experiment::asked::{self, Asked};
use blktune::experiment::event::Ending;
use blktune::experiment::so_far::SoFar;
use blktune::sys::queue::QueueState;
use blktune::tuning::change::{ApplyReport, Outcome};
use support::model::{Screen, name, queue};
use support::scenes::{report, settings};

/// The settings of sda, which an experiment has begun with.
fn begun() -> Screen {
    let mut s = settings(120, 40);
    reads(&mut s, queue("mq-deadline", 128));
    begin(&mut s);
    s
}

fn begin(s: &mut Screen) {
    let device = s.id("sda");
    let beginning = ExperimentBeginning { device, record: None, weak: Vec::new(), notes: Vec::new() };
    s.send(Message::ExperimentBegan(Box::new(beginning)));
}

fn reads(s: &mut Screen, state: QueueState) {
    s.send(Message::Queue { device: name("sda"), state });
}

fn nothing_follows() -> Analysis {
    let factors = vec!["scheduler=none,bfq".to_owned()];
    let asked = Asked { factors, ..Asked::new("sda", "randread-4k", 1) };
    let design = asked::design(&asked, &queue("none", 128)).unwrap().design;
    SoFar::new(&design, Vec::new()).analysis()
}

fn end(s: &mut Screen) {
    let end = ExperimentEnd {
        ending: Ending::Stopped,
        reason: "stopped".to_owned(),
        analysis: nothing_follows(),
        not_restored: Vec::new(),
        notes: Vec::new(),
        record: None,
    };
    s.send(Message::ExperimentEnded(Ok(Box::new(end))));
}

/// What happened to sda, in words of a kind.
fn marks(s: &Screen) -> Vec<String> {
    let words = |what: &What| match what {
        What::Setting { name, new, by, .. } => format!("{name} {new} {by:?}"),
        What::Note(text) => text.clone(),
    };
    let entry = s.model.fleet.get(&s.id("sda")).unwrap();
    entry.marks.iter().map(|m| words(&m.what)).collect()
}

#[test]
fn levels_of_an_experiment_are_not_by_something_else() {
    let mut s = begun();
    let before = marks(&s);
    assert_eq!(before.last().map(String::as_str), Some("experiment begins"));
    for level in ["none", "bfq", "none"] {
        reads(&mut s, queue(level, 512));
        assert!(s.text().contains("at the start; changed by the experiment"), "{}", s.text());
    }
    assert_eq!(marks(&s), before);
    reads(&mut s, queue("mq-deadline", 128));
    end(&mut s);
    assert_eq!(s.effects.last(), Some(&Effect::ReadQueue(name("sda"))));
    reads(&mut s, queue("mq-deadline", 128));
    assert_eq!(marks(&s)[before.len()..], ["experiment ended"]);
    // What reads otherwise from now on is somebody else's doing.
    reads(&mut s, queue("kyber", 128));
    assert_eq!(marks(&s).last(), Some(&format!("scheduler kyber {:?}", By::Other)));
    assert!(s.text().contains("at the start; changed by something else"), "{}", s.text());
}

#[test]
fn what_somebody_else_left_is_told_when_the_experiment_has_ended() {
    let mut s = begun();
    reads(&mut s, queue("bfq", 128));
    end(&mut s);
    reads(&mut s, queue("mq-deadline", 4096));
    assert_eq!(marks(&s).last(), Some(&format!("read_ahead_kb 4096 {:?}", By::Other)));
}

#[test]
fn a_choice_stays_while_an_experiment_passes_by_it() {
    let mut s = begun();
    let id = s.id("sda");
    s.model.fleet.get_mut(&id).unwrap().stage("scheduler", Some("bfq".to_owned()));
    reads(&mut s, queue("bfq", 128));
    reads(&mut s, queue("none", 128));
    assert!(s.model.fleet.get(&id).unwrap().staged.contains_key("scheduler"));
}

/// The program is left in the middle: what was changed before goes back to being so, and stays.
#[test]
fn what_stays_changed_is_told_as_it_will_be() {
    let mut s = settings(120, 40);
    reads(&mut s, queue("mq-deadline", 128));
    let device = s.id("sda");
    let changes = vec![report("scheduler", "bfq", "mq-deadline", "bfq", Outcome::Applied)];
    let result = Ok(ApplyReport { changes, ..ApplyReport::default() });
    s.send(Message::Applied { device, result });
    reads(&mut s, queue("bfq", 128));
    let stays = left_changed(&s.model);
    assert_eq!(stays.len(), 1, "{stays:?}");
    begin(&mut s);
    reads(&mut s, queue("none", 512));
    assert_eq!(left_changed(&s.model), stays);
}
