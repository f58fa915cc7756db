//! Bare writes: what an echo moves besides, and what comes of echoes in sequence where the kernel raises read-ahead at every
//! write of a limit and never lowers it.

use std::cell::RefCell;
use std::rc::Rc;

use blktune::experiment::analysis::{Analysis, analyse};
use blktune::experiment::conductor::Conductor;
use blktune::experiment::design::{Blocks, Isolation};
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::order::Light;
use blktune::experiment::schedule::order_of;
use blktune::experiment::so_far::SoFar;
use blktune::experiment::trial::{Gate, Role, Trial};
use blktune::experiment::verdict::Verdict;
use blktune::stats::block::Order;
use blktune::tuning::control::QueueControl as _;

use super::made::{Made, Nature, first_block, question, rotational, run};

/// A device on which read-ahead is everything.
const RATCHET: Nature = Nature { noise: 0.005, read_ahead: 0.1, ..Nature::SAME };
/// Nothing but noise.
const QUIET: Nature = Nature { noise: 0.005, ..Nature::SAME };

fn analysed(conductor: &Conductor) -> Analysis {
    let question = Question::of(conductor.design(), None);
    analyse(&question, &from_trials(&question, conductor.trials()), &conductor.circumstances())
}

/// The seeds whose first block begins with the baseline, and with the candidate.
fn either_first() -> [u64; 2] {
    [Order::Abba, Order::Baab].map(first_block)
}

/// Read-ahead and the rotational flag in each trial, in the order of time.
type Seen = Rc<RefCell<Vec<(String, String)>>>;

fn watched(bench: &mut Made) -> Seen {
    let seen = Seen::default();
    let to = Rc::clone(&seen);
    bench.spoil = Some(Box::new(move |_, queue, _| {
        to.borrow_mut().push((queue.get("rotational"), queue.get("read_ahead_kb")));
        Ok(())
    }));
    seen
}

#[test]
fn in_sequence_a_ratchet_is_named_and_nothing_follows() {
    for (seed, nature) in either_first().into_iter().flat_map(|s| [(s, RATCHET), (s, QUIET)]) {
        let mut bench = Made::new(nature, seed);
        let seen = watched(&mut bench);
        let (conductor, conducted, events) = run(rotational(seed, Isolation::Sequence), &mut bench, None);
        assert_eq!(bench.queue.read(), bench.start, "{seed}");
        // Named by the ending, by the light, and by the verdict, whatever the readings were.
        let first = if order_of(seed, 1) == Order::Abba {
            "read_ahead_kb was 128 in the first trial of rotational=0, 2560 in trial 8"
        } else {
            // Both cells were only ever seen with the raised one; the way back shows it.
            "read_ahead_kb was 64 in the first trial of the settings that were found, 2560 in trial"
        };
        assert_eq!(conducted.ending, Ending::Invalid, "{seed}: {conducted:?}");
        assert!(conducted.reason.contains(first), "{seed}: {}", conducted.reason);
        let a = analysed(&conductor);
        assert_eq!(a.order.light, Light::Red, "{seed}");
        assert!(a.order.text.contains(first), "{seed}: {}", a.order.text);
        assert!(a.comparisons.iter().all(|c| c.verdict == Verdict::Invalid), "{seed}");
        assert!(a.sentence().starts_with("Not valid: ") && a.sentence().contains(first), "{}", a.sentence());
        // More blocks would not help: it ends at the first look, and the way back was tried.
        assert_eq!(events.iter().filter(|e| matches!(e, Event::Look { .. })).count(), 1, "{seed}");
        assert_eq!(a.complete_blocks, 6, "{seed}");
        let of = |role| conductor.trials().iter().filter(move |t| t.plan.role == role);
        assert_eq!(of(Role::BaselineAfter).count(), 3, "{seed}");
        // Nothing is void: a ratchet is no accident. Each trial that it reached says so.
        assert!(!conductor.trials().iter().any(Trial::void), "{seed}");
        for trial in of(Role::BaselineAfter) {
            let said = trial.findings.iter().find(|f| f.gate == Gate::G1).unwrap();
            assert!(!said.voids && said.text.contains("2560"), "{said:?}");
        }
        // The flag alone goes back by an echo, and what it moved stays.
        let seen = seen.borrow();
        let shown = |i: usize| (seen[i].0.as_str(), seen[i].1.as_str());
        assert_eq!((shown(0), shown(seen.len() - 1)), (("0", "64"), ("0", "2560")), "{seed}");
        // What the device did is said first where it was seen, and then what moved.
        assert_eq!(a.order.latched, Some(nature.read_ahead > 0.0), "{seed}");
        let did = a.order.text.starts_with("the device did not come back to its starting performance (");
        assert_eq!(did, nature.read_ahead > 0.0, "{}", a.order.text);
    }
}

#[test]
fn the_same_echoes_from_the_restored_baseline_are_a_difference_and_isolated_there_is_none() {
    for seed in either_first() {
        for (isolation, verdict, read_ahead) in [
            (Isolation::Isolated, Verdict::Equivalent, ["64", "64"]),
            (Isolation::SideEffects, Verdict::Better, ["128", "2560"]),
        ] {
            let mut bench = Made::new(RATCHET, seed);
            let seen = watched(&mut bench);
            let (conductor, conducted, _) = run(rotational(seed, isolation), &mut bench, None);
            assert_eq!(conducted.ending, Ending::Decided, "{isolation:?}: {conducted:?}");
            let a = analysed(&conductor);
            assert_eq!(a.comparisons[0].verdict, verdict, "{}", a.sentence());
            assert_ne!(a.order.light, Light::Red, "{}", a.order.text);
            for (trial, seen) in conductor.trials().iter().zip(seen.borrow().iter()) {
                let should = trial.plan.cell.map_or("64", |c| read_ahead[c]);
                assert_eq!(seen.1, should, "{isolation:?} {:?}", trial.plan);
            }
        }
    }
}

#[test]
fn a_sequence_whose_settings_all_come_back_is_judged_as_any_other() {
    let mut bench = Made::new(QUIET, 1);
    let design = question("randread-4k", 42, |a| a.isolation = Isolation::Sequence);
    let (conductor, conducted, _) = run(design, &mut bench, None);
    assert_eq!(conducted.ending, Ending::Decided, "{conducted:?}");
    let a = analysed(&conductor);
    assert_eq!((a.comparisons[0].verdict, a.order.light), (Verdict::Equivalent, Light::Green));
}

#[test]
fn what_a_switch_resets_for_good_is_carried_over_too() {
    let mut bench = Made::new(QUIET, 1);
    // Chosen by hand; a switch to bfq and back gives the default.
    bench.queue.foreign("nr_requests", "64");
    bench.start = bench.queue.read();
    let design = question("randread-4k", 42, |a| a.isolation = Isolation::Sequence);
    let (conductor, conducted, _) = run(design, &mut bench, None);
    assert_eq!(conducted.ending, Ending::Invalid);
    assert!(conducted.reason.contains("nr_requests was 64 in the first trial of"), "{}", conducted.reason);
    assert_eq!(analysed(&conductor).order.light, Light::Red);
    assert_eq!(bench.queue.get("nr_requests"), "64");
}

#[test]
fn stopped_in_a_sequence_it_says_what_was_carried_over_until_then() {
    let seed = either_first()[0];
    let mut design = rotational(seed, Isolation::Sequence);
    design.blocks = Blocks::Fixed(6);
    let mut bench = Made::new(RATCHET, seed);
    let (_, _, events) = run(design.clone(), &mut bench, None);
    let eighth =
        events.iter().position(|e| matches!(e, Event::TrialDone { trial, .. } if trial.plan.number == 8));
    let mut bench = Made::new(RATCHET, seed);
    let (conductor, conducted, _) = run(design, &mut bench, eighth);
    assert_eq!((conducted.ending, bench.put_back), (Ending::Stopped, 1));
    let a = analysed(&conductor);
    assert_eq!((a.comparisons[0].verdict, a.order.light), (Verdict::Invalid, Light::Red));
    assert!(a.sentence().contains("read_ahead_kb was 128"), "{}", a.sentence());
    // And while it goes on, after the very block.
    let mut so_far = SoFar::new(conductor.design(), Vec::new());
    assert_eq!(events.iter().take_while(|e| !so_far.take(e)).count(), eighth.unwrap());
    let a = so_far.analysis();
    assert_eq!((a.order.light, a.complete_blocks), (Light::Red, 1));
    assert!(a.sentence().contains("read_ahead_kb was 128"), "{}", a.sentence());
}
