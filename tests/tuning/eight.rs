//! Sets of eight settings over a queue of files in which writes fail or lie: all or nothing, and said.

use blktune::sys::queue::QueueState;
use blktune::tuning::apply::{Applied, Cause};
use blktune::tuning::change::Outcome;
use blktune::tuning::control::QueueControl;

use super::fake::{FakeQueue, Fault};
use super::tree::Tree;
use super::{carry_out, of};

/// From any scheduler: what is asked for differs from every start below, so that all eight are written.
const EIGHT: &str = "read_ahead_kb=512 wbt_lat_usec=5000 iosched/read_expire=80 nr_requests=64 scheduler=mq-deadline \
                     iostats=0 max_sectors_kb=512 rotational=1";

/// Queues to start from, each by the writes of somebody else.
const STARTS: [&[(&str, &str)]; 4] = [
    &[],
    &[("scheduler", "bfq"), ("iosched/slice_idle_us", "1500"), ("nr_requests", "100")],
    &[("scheduler", "kyber"), ("iosched/async_depth", "7"), ("wbt_lat_usec", "777"), ("read_ahead_kb", "4")],
    &[("add_random", "1"), ("write_cache", "write through"), ("nomerges", "2"), ("read_ahead_kb", "8192")],
];

fn tree(start: &[(&str, &str)]) -> Tree {
    let kernel = FakeQueue::new();
    for (name, value) in start {
        kernel.foreign(name, value);
    }
    Tree::new(kernel)
}

/// Nothing of the set is left, and the report says so; `why` is for the message of a failure.
fn assert_no_trace(before: &QueueState, tree: &Tree, applied: &Applied, why: &str) {
    assert_eq!(before.differences(&tree.read()), [], "{why}");
    assert!(
        applied.report.rolled_back && applied.report.not_restored.is_empty(),
        "{why}: {:?}",
        applied.report
    );
    assert_eq!(applied.report.side_effects, [], "{why}");
    assert!(applied.cause.is_some() && applied.why.is_some(), "{why}");
    assert!(
        applied.report.changes.iter().any(|c| c.outcome == Outcome::Refused && c.message.is_some()),
        "{why}"
    );
}

#[test]
fn all_eight_are_written_once_in_the_order_that_lets_none_undo_another() {
    for start in STARTS {
        let t = tree(start);
        let a = carry_out(&t, EIGHT);
        assert_eq!(a.cause, None, "{start:?}: {:?}", a.why);
        let names: Vec<String> = t.kernel.writes().into_iter().map(|(n, _)| n).collect();
        assert_eq!(
            names,
            [
                "rotational",
                "max_sectors_kb",
                "iostats",
                "scheduler",
                "nr_requests",
                "iosched/read_expire",
                "wbt_lat_usec",
                "read_ahead_kb"
            ],
            "{start:?}"
        );
        assert_eq!(a.written, names);
        for c in &a.report.changes {
            assert_eq!(
                (c.outcome, c.effective.as_ref()),
                (Outcome::Applied, Some(&c.requested)),
                "{}",
                c.name
            );
            assert_eq!(t.read().effective(&c.name).as_ref(), Some(&c.requested), "{}", c.name);
        }
        for (name, before, after) in a.before.differences(&t.read()) {
            let told = a
                .report
                .side_effects
                .iter()
                .any(|s| (&s.name, &s.before, &s.after) == (&name, &before, &after));
            assert!(told || EIGHT.contains(&name), "{start:?}: {name} moved and nobody told");
        }
    }
}

#[test]
fn one_failure_at_any_write_leaves_the_queue_as_it_was_and_says_so() {
    for start in STARTS {
        for fault in
            [Fault::Refuse(libc::EINVAL), Fault::Lie, Fault::HalfDone(libc::EIO), Fault::Refuse(libc::EACCES)]
        {
            for k in 0..8 {
                let t = tree(start);
                let before = t.read();
                t.kernel.fail(k, fault);
                let a = carry_out(&t, EIGHT);
                let why = format!("from {start:?}, {fault:?} at write {k}");
                assert_no_trace(&before, &t, &a, &why);
                let culprit = &t.kernel.writes()[k].0;
                let said = of(&a, culprit).message.clone().unwrap();
                assert!(!said.contains("because"), "{why}: the culprit's own reason is told: {said}");
                assert_eq!(fault == Fault::Lie, said.contains("nothing changed"), "{why}: {said}");
                let rights = fault == Fault::Refuse(libc::EACCES);
                assert_eq!(a.cause, Some(if rights { Cause::Rights } else { Cause::Value }), "{why}");
            }
        }
    }
}

#[test]
fn one_write_of_five_failing_for_ever_leaves_the_queue_as_it_was() {
    for start in STARTS {
        for fault in
            [Fault::Refuse(libc::EINVAL), Fault::Refuse(libc::EIO), Fault::Lie, Fault::HalfDone(libc::EIO)]
        {
            for first in 0..5 {
                let t = tree(start);
                let before = t.read();
                t.kernel.fail_every(5, first, fault);
                let a = carry_out(&t, EIGHT);
                assert_no_trace(
                    &before,
                    &t,
                    &a,
                    &format!("from {start:?}, {fault:?} at write {first} and each fifth"),
                );
            }
        }
    }
}

#[test]
fn wbt_is_written_only_when_asked_for_and_when_that_is_taken_back() {
    for start in STARTS {
        for k in 0..8 {
            let t = tree(start);
            t.kernel.fail(k, Fault::Refuse(libc::EIO));
            carry_out(&t, EIGHT);
            let by_us = t.kernel.writes().iter().filter(|(n, _)| n == "wbt_lat_usec").count();
            // The sixth write is its own, and is refused without a trace; after the seventh it has to go back.
            assert_eq!(by_us, usize::from(k >= 6) + usize::from(k > 6), "from {start:?}, refused at {k}");
        }
        let without = EIGHT.replace("wbt_lat_usec=5000 ", "");
        for k in 0..7 {
            let t = tree(start);
            let before = t.read();
            t.kernel.fail(k, Fault::Lie);
            assert_no_trace(&before, &t, &carry_out(&t, &without), "seven");
            assert!(
                t.kernel.writes().iter().all(|(n, _)| n != "wbt_lat_usec"),
                "from {start:?}, a lie at {k}"
            );
        }
    }
}

#[test]
fn what_the_kernel_does_not_take_back_is_named() {
    let t = tree(&[]);
    t.kernel.fail(1, Fault::Refuse(libc::EINVAL));
    let a = carry_out(&t, "discard_max_bytes=0 scheduler=bfq");
    assert!(!a.report.rolled_back);
    let left = a.report.not_restored.join("\n");
    assert!(left.contains("loop3 discard_max_bytes was 1073741824 and is 0 now"), "{left}");
    assert!(left.contains("discard_granularity was 4096 and is 0 now"), "{left}");
    assert_eq!(a.report.not_restored.len(), 2, "read-ahead, which it raised, is back: {left}");
}

#[test]
fn tunables_of_a_scheduler_that_can_not_be_left_are_left_alone() {
    let t = tree(&[("scheduler", "mq-deadline"), ("iosched/async_depth", "7")]);
    t.kernel.stick("scheduler", 1);
    t.kernel.fail(2, Fault::Refuse(libc::EINVAL));
    let a = carry_out(&t, "scheduler=kyber rotational=1 read_ahead_kb=512");
    assert!(
        a.report.not_restored.iter().any(|n| n.contains("scheduler was mq-deadline and is kyber now")),
        "{a:?}"
    );
    assert_eq!(
        (t.kernel.get("rotational"), t.kernel.get("read_ahead_kb")),
        ("0".to_owned(), "64".to_owned())
    );
    assert_eq!(t.kernel.get("iosched/async_depth"), "192", "7 was for mq-deadline");
}

#[test]
fn a_tunable_can_be_asked_for_with_the_scheduler_it_comes_with() {
    let t = tree(&[]);
    let a = carry_out(&t, "iosched/slice_idle=0 scheduler=bfq");
    assert_eq!((a.cause, t.kernel.get("iosched/slice_idle").as_str()), (None, "0"));
    assert_eq!(of(&a, "iosched/slice_idle").outcome, Outcome::Applied);
    // One that goes with the scheduler is refused by the kernel, and everything is put back.
    let before = t.read();
    let a = carry_out(&t, "iosched/slice_idle=4 scheduler=kyber");
    assert_no_trace(&before, &t, &a, "slice_idle under kyber");
    assert_eq!(a.cause, Some(Cause::Value), "the device is there");
    assert!(
        of(&a, "iosched/slice_idle")
            .message
            .as_deref()
            .unwrap()
            .contains("kyber, the scheduler then, has no")
    );
}

#[test]
fn slice_idle_is_written_under_one_of_its_two_names() {
    let t = tree(&[("scheduler", "bfq")]);
    let a = carry_out(&t, "iosched/slice_idle=2 iosched/slice_idle_us=2500 iosched/strict_guarantees=1");
    let names: Vec<String> = t.kernel.writes().into_iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["iosched/strict_guarantees", "iosched/slice_idle_us"]);
    assert!(a.report.changes.iter().all(|c| c.outcome == Outcome::Applied), "{:?}", a.report);
    let a = carry_out(&t, "iosched/slice_idle=2 iosched/slice_idle_us=8000");
    assert_eq!((a.cause, t.kernel.writes().len()), (Some(Cause::Value), 2), "they contradict each other");
    assert!(of(&a, "iosched/slice_idle").message.as_deref().unwrap().contains("give one of the two"));
}
