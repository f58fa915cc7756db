//! How it is conducted: repeats and their limits, stops, what is put back.

use blktune::experiment::analysis::analyse;
use blktune::experiment::bench::BenchError;
use blktune::experiment::calibration::{Calibration, Here};
use blktune::experiment::conductor::Conductor;
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::trial::{Role, Trial};
use blktune::experiment::verdict::Verdict;
use blktune::stats::block::Order;
use blktune::tuning::control::QueueControl as _;

use super::made::{Made, Nature, Spoil, first_block, go_on, question, run};

const QUIET: Nature = Nature { noise: 0.01, ..Nature::SAME };

#[test]
fn stopped_at_any_event_settings_are_back_and_finished_trials_kept() {
    let design = question("randread-4k", 42, |_| {});
    let mut bench = Made::new(QUIET, 1);
    let (_, whole, events) = run(design.clone(), &mut bench, None);
    assert_eq!(whole.ending, Ending::Decided);
    for at in 0..events.len() {
        let mut bench = Made::new(QUIET, 1);
        let (conductor, conducted, told) = run(design.clone(), &mut bench, Some(at));
        assert_eq!(bench.put_back, 1, "event {at}");
        assert_eq!(bench.queue.read(), bench.start, "event {at}");
        assert!(matches!(told.last(), Some(Event::Ended { .. })), "event {at}");
        let done = told.iter().filter(|e| matches!(e, Event::TrialDone { .. })).count();
        assert_eq!(conductor.trials().len(), done, "event {at}");
        assert!(matches!(conducted.ending, Ending::Stopped | Ending::Decided), "event {at}: {conducted:?}");
    }
}

#[test]
fn a_rewritten_scheduler_voids_its_block_which_is_repeated_in_its_place() {
    let mut bench = Made::new(QUIET, 1);
    bench.spoil = Some(Box::new(|n, queue, _| {
        if n == 6 {
            queue.foreign("scheduler", "kyber");
        }
        Ok(())
    }));
    let (conductor, conducted, events) = run(question("randread-4k", 42, |_| {}), &mut bench, None);
    assert_eq!(conducted.ending, Ending::Decided, "{conducted:?}");
    let void = events.iter().find_map(|e| match e {
        Event::BlockVoid { block, reason, left, .. } => Some((*block, reason.clone(), *left)),
        _ => None,
    });
    let (block, reason, left) = void.unwrap();
    assert_eq!((block, left), (1, 2));
    assert!(
        reason.contains("scheduler changed from") && reason.contains("is tuned, a udev rule"),
        "{reason}"
    );
    let again: Vec<_> =
        conductor.trials().iter().filter(|t| t.plan.block == Some(1) && t.plan.attempt == 2).collect();
    assert_eq!(again.len(), 5);
    assert_eq!(again[0].plan.role, Role::LeadIn);
}

#[test]
fn repeats_have_their_limit() {
    let mut bench = Made::new(QUIET, 1);
    bench.spoil = Some(Box::new(|n, _, m| {
        // The seed begins with the candidate: its lead-in, then one of the baseline, then two lead-ins.
        m.errors = u64::from([4, 7, 8, 9].contains(&n));
        Ok(())
    }));
    let (_, conducted, events) = run(question("randread-4k", 42, |_| {}), &mut bench, None);
    assert_eq!(conducted.ending, Ending::Invalid);
    let repeats = events.iter().filter(|e| matches!(e, Event::BlockVoid { .. })).count();
    assert_eq!(repeats, 3);
    assert!(conducted.reason.contains("4 blocks were void, more than 3"), "{}", conducted.reason);
    assert_eq!(bench.queue.read(), bench.start);
}

#[test]
fn failures_of_one_cell_alone_are_no_accident() {
    let mut bench = Made::new(QUIET, 1);
    bench.spoil = Some(Box::new(|_, queue, m| {
        m.errors = u64::from(queue.get("scheduler") == "bfq");
        Ok(())
    }));
    let (conductor, conducted, _) = run(question("randread-4k", 42, |_| {}), &mut bench, None);
    assert_eq!(conducted.ending, Ending::Invalid);
    assert!(conducted.reason.contains("failures follow one cell: 3 trials of bfq"), "{}", conducted.reason);
    assert!(conductor.circumstances().invalid.is_some());
    // The seed begins with the candidate, so nothing but its lead-ins ever ran, beside the settings that are the baseline's.
    let void: Vec<Role> = conductor.trials().iter().filter(|t| t.void()).map(|t| t.plan.role).collect();
    assert_eq!(void, [Role::LeadIn; 3]);
}

#[test]
fn what_fails_in_the_cell_that_was_tried_alone_is_not_laid_at_its_door() {
    // Neither cell is as found, and something fails every trial from the fourth on: the other cell never ran.
    let design = question("randread-4k", 42, |a| a.factors = vec!["scheduler=mq-deadline,bfq".to_owned()]);
    let failing = |from: usize| -> Spoil {
        Box::new(move |n, _, m| {
            m.errors = u64::from(n >= from);
            Ok(())
        })
    };
    let mut bench = Made::new(QUIET, 1);
    bench.spoil = Some(failing(4));
    let (_, conducted, _) = run(design.clone(), &mut bench, None);
    assert_eq!(conducted.ending, Ending::Invalid);
    assert!(conducted.reason.contains("4 blocks were void, more than 3"), "{}", conducted.reason);
    // The baseline's lead-ins alone fail, after the very same settings held three times: no matter of the cell. Those trials
    // speak for the other cell no more if it differs by its workload.
    let seed = first_block(Order::Abba);
    for factor in ["scheduler=none,bfq", "bs=4k,8k"] {
        let mut bench = Made::new(QUIET, 1);
        bench.spoil = Some(failing(4));
        let design = question("randread-4k", seed, |a| a.factors = vec![factor.to_owned()]);
        let (_, conducted, _) = run(design, &mut bench, None);
        assert!(conducted.reason.contains("4 blocks were void, more than 3"), "{}", conducted.reason);
    }
}

#[test]
fn a_device_that_goes_away_ends_it_and_finished_blocks_are_gone_on_with() {
    let design = question("randread-4k", 42, |_| {});
    let mut bench = Made::new(QUIET, 1);
    bench.spoil =
        Some(Box::new(
            |n, _, _| {
                if n == 16 { Err(BenchError::Gone("vdb is gone".to_owned())) } else { Ok(()) }
            },
        ));
    let (conductor, conducted, _) = run(design.clone(), &mut bench, None);
    assert_eq!((conducted.ending, bench.put_back), (Ending::Gone, 1));
    // Three before, two blocks of five, and two of the third.
    assert_eq!(conductor.trials().len(), 15);
    let mut bench = Made::new(QUIET, 2);
    let mut resumed = Conductor::resume(design, bench.found(), conductor.trials().to_vec());
    let (conducted, _) = go_on(&mut resumed, &mut bench, None);
    assert_eq!(conducted.ending, Ending::Decided);
    let next = &resumed.trials()[15].plan;
    assert_eq!((next.number, next.role, next.block, next.attempt), (16, Role::LeadIn, Some(3), 2));
    assert_eq!(resumed.trials().iter().filter(|t| t.plan.role == Role::BaselineBefore).count(), 3);
}

#[test]
fn a_workload_that_writes_gets_at_most_25_rounds_to_become_steady() {
    for (drift, rounds, steady) in [(0.0, 5, true), (0.2, 25, false)] {
        let mut bench = Made::new(Nature { drift, noise: 0.001, ..QUIET }, 1);
        let (conductor, _, events) = run(question("randwrite-4k", 42, |_| {}), &mut bench, None);
        assert!(events.contains(&Event::Preconditioned { rounds, steady }), "{drift}");
        let said = conductor.circumstances().remarks.iter().any(|r| r.contains("not steady after 25"));
        assert_eq!(said, !steady);
    }
}

#[test]
fn a_calibration_tells_how_quiet_the_machine_is() {
    let start = Made::new(QUIET, 1).start;
    for (noise, verdict) in [(0.005, Verdict::Equivalent), (0.08, Verdict::Inconclusive)] {
        let design = question("randread-4k", 42, |a| {
            a.factors.clear();
            a.calibrate = true;
        });
        let mut bench = Made::new(Nature { noise, ..QUIET }, 3);
        let (conductor, conducted, _) = run(design.clone(), &mut bench, None);
        assert_eq!(conducted.ending == Ending::Decided, verdict == Verdict::Equivalent);
        let question = Question::of(&design, None);
        let analysis =
            analyse(&question, &from_trials(&question, conductor.trials()), &conductor.circumstances());
        let text = |s: &str| s.to_owned();
        let here =
            Here { device: text("vdb"), identity: text("x"), kernel: text("6"), now_s: 1, found: &start };
        let made = Calibration::of(&design, &here, &analysis).unwrap();
        assert_eq!((made.verdict, made.blocks), (verdict, 6));
        // A block's difference of two means of two trials each has the spread of one trial.
        assert!((0.3..3.0).contains(&(made.spread / noise)), "{noise}: {}", made.spread);
        assert_eq!(made.settings["scheduler"], "none");
        let other = super::made::question("randread-4k", 42, |_| {});
        assert_eq!(Calibration::of(&other, &here, &analysis), None, "no calibration");
        assert_eq!(made.says(&other, &here).loud(), verdict != Verdict::Equivalent);
    }
}

#[test]
fn a_device_replaced_before_the_first_trial_is_seen() {
    type Replace = fn(&mut Made);
    let cases: [(Replace, &str); 2] =
        [(|b| b.id.diskseq = Some(8), "another device"), (|b| b.size.0 /= 2, "its size changed")];
    for (replace, part) in cases {
        let mut bench = Made::new(QUIET, 1);
        let mut conductor = Conductor::new(question("randread-4k", 42, |_| {}), bench.found());
        replace(&mut bench);
        let (conducted, _) = go_on(&mut conductor, &mut bench, None);
        assert_eq!((conducted.ending, bench.put_back), (Ending::Gone, 1), "{conducted:?}");
        assert!(conducted.reason.contains(part), "{}", conducted.reason);
        let [only] = conductor.trials() else { panic!("it went on: {}", conductor.trials().len()) };
        assert!(only.void());
    }
}

#[test]
fn what_was_looked_at_before_an_interruption_is_judged_once_more_and_no_more() {
    let design = question("randread-4k", 42, |_| {});
    let mut bench = Made::new(QUIET, 1);
    let (whole, ..) = run(design.clone(), &mut bench, None);
    // Up to the last trial of the sixth block: decided, and only the way back is left.
    let blocks = |t: &&Trial| t.plan.role != Role::BaselineAfter;
    let done: Vec<Trial> = whole.trials().iter().filter(blocks).cloned().collect();
    let mut bench = Made::new(QUIET, 2);
    let mut resumed = Conductor::resume(design.clone(), bench.found(), done.clone());
    let (conducted, events) = go_on(&mut resumed, &mut bench, None);
    assert_eq!(conducted.ending, Ending::Decided);
    let looks = events.iter().filter(|e| matches!(e, Event::Look { decided: true, .. })).count();
    assert_eq!((looks, resumed.trials().len()), (1, done.len() + 3));
    // A look that left it open: the attempt at the block after it counts on.
    let mut bench = Made::new(Nature { noise: 0.2, ..QUIET }, 3);
    let mut open = Conductor::new(design.clone(), bench.found());
    let (_, events) = go_on(&mut open, &mut bench, None);
    assert!(events.contains(&Event::Look { blocks: 6, decided: false, last: false }), "too quiet");
    let cut = open.trials().iter().position(|t| t.plan.block == Some(7)).unwrap() + 2;
    let mut resumed = Conductor::resume(design, bench.found(), open.trials()[..cut].to_vec());
    let (_, events) = go_on(&mut resumed, &mut bench, None);
    let looks = events.iter().filter(|e| matches!(e, Event::Look { blocks: 6, .. })).count();
    let next = &resumed.trials()[cut].plan;
    assert_eq!((looks, next.block, next.attempt), (1, Some(7), 2));
}
