//! Outcomes and rollback over the fake queue.

use blktune::sys::name::KernelName;
use blktune::tuning::apply::{Applied, Cause, apply, take_back};
use blktune::tuning::change::{Change, Outcome};
use blktune::tuning::control::QueueControl;
use proptest::prelude::*;

use super::fake::{FakeQueue, Fault};
use super::{carry_out, of, only, set};

const FOUR: &str = "read_ahead_kb=512 nr_requests=64 scheduler=bfq rotational=1";

#[test]
fn the_order_lets_no_write_undo_another() {
    let q = FakeQueue::new();
    let a = carry_out(&q, FOUR);
    let names: Vec<String> = q.writes().into_iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["rotational", "scheduler", "nr_requests", "read_ahead_kb"]);
    for (name, value) in
        [("rotational", "1"), ("scheduler", "bfq"), ("nr_requests", "64"), ("read_ahead_kb", "512")]
    {
        assert_eq!((q.get(name).as_str(), of(&a, name).outcome), (value, Outcome::Applied), "{name}");
    }
    let asked: Vec<&str> = a.report.changes.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        asked,
        ["read_ahead_kb", "nr_requests", "scheduler", "rotational"],
        "the order it was asked for in"
    );
    assert!(
        a.report.side_effects.iter().any(|s| s.name == "wbt_lat_usec" && s.after.as_deref() == Some("0"))
    );
    assert!(a.report.side_effects.iter().all(|s| s.name != "read_ahead_kb" && s.name != "nr_requests"));
}

#[test]
fn what_it_has_already_is_not_written() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "scheduler=none read_ahead_kb=64 nr_requests=0128 rotational=0");
    assert!(q.writes().is_empty() && a.written.is_empty() && a.cause.is_none());
    assert!(a.report.changes.iter().all(|c| c.outcome == Outcome::Unchanged), "{:?}", a.report);
}

#[test]
fn a_wanted_value_that_an_earlier_write_moves_is_written_after_all() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "rotational=1 read_ahead_kb=64 scheduler=bfq nr_requests=128");
    assert_eq!((q.get("read_ahead_kb").as_str(), q.get("nr_requests").as_str()), ("64", "128"));
    assert_eq!(of(&a, "read_ahead_kb").outcome, Outcome::Unchanged);
    assert_eq!(of(&a, "nr_requests").outcome, Outcome::Unchanged);
}

#[test]
fn the_ratchet_of_read_ahead_is_told() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "rotational=1");
    assert_eq!(only(&a), (Outcome::Applied, "1"));
    let s = &a.report.side_effects[0];
    assert_eq!(
        (s.name.as_str(), s.before.as_deref(), s.after.as_deref()),
        ("read_ahead_kb", Some("64"), Some("2560"))
    );
}

#[test]
fn rounding_and_limits_are_clamped_also_onto_the_present_value() {
    let q = FakeQueue::new();
    for _ in 0..2 {
        let a = carry_out(&q, "read_ahead_kb=1001");
        assert_eq!(only(&a), (Outcome::Clamped, "1000"));
        assert_eq!(a.report.changes[0].message.as_deref(), Some("set to 1000 KiB (whole pages)"));
        let a = carry_out(&q, "nr_requests=1");
        assert_eq!(only(&a), (Outcome::Clamped, "4"));
    }
    assert_eq!(only(&carry_out(&q, "read_ahead_kb=3")), (Outcome::Clamped, "0"));
}

#[test]
fn the_kernels_other_name_of_mq_deadline_is_applied() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "scheduler=deadline");
    assert_eq!(only(&a), (Outcome::Applied, "mq-deadline"));
    assert!(a.report.changes[0].message.as_deref().unwrap().contains("other name"));
    assert_eq!(only(&carry_out(&q, "scheduler=deadline")).0, Outcome::Unchanged);
}

#[test]
fn what_can_not_be_legal_never_reaches_the_kernel() {
    for bad in [
        "scheduler=[bfq]",
        "scheduler=none-such",
        "scheduler=nonempty",
        "scheduler=",
        "scheduler=BFQ",
        "scheduler=../x",
        "read_ahead_kb=-1",
        "read_ahead_kb=4k",
        "read_ahead_kb=",
        "read_ahead_kb=+8",
        "read_ahead_kb=0x10",
        "read_ahead_kb=1.5",
        "nr_requests=-1",
        "nr_requests=many",
        "rotational=yes",
        "rotational=-1",
        "wbt_lat_usec=-",
        "wbt_lat_usec=--1",
        "logical_block_size=4096",
        "no_such_thing=1",
        "iosched/slice_idle=0",
        "../evil=1",
    ] {
        let q = FakeQueue::new();
        let before = q.read();
        let a = carry_out(&q, bad);
        assert_eq!((only(&a).0, a.cause), (Outcome::Refused, Some(Cause::Value)), "{bad}");
        assert!(a.report.changes[0].message.is_some() && a.report.rolled_back, "{bad}");
        assert!(q.writes().is_empty(), "{bad} was written");
        assert_eq!(q.read(), before, "{bad}");
    }
}

#[test]
fn a_scheduler_that_is_not_listed_is_the_kernels_to_refuse() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "scheduler=bfq2 read_ahead_kb=512");
    assert_eq!(q.writes().len(), 1, "it may be in a module");
    let message = of(&a, "scheduler").message.clone().unwrap();
    assert!(message.contains("none mq-deadline kyber bfq") && message.contains("bfq2"), "{message}");
    assert_eq!(of(&a, "read_ahead_kb").outcome, Outcome::Refused);
    assert!(of(&a, "read_ahead_kb").message.as_deref().unwrap().contains("scheduler"));
}

#[test]
fn one_illegal_value_stops_the_whole_set_before_it_begins() {
    let q = FakeQueue::new();
    let a = carry_out(&q, "scheduler=bfq read_ahead_kb=4k");
    assert!(q.writes().is_empty());
    assert!(a.report.changes.iter().all(|c| c.outcome == Outcome::Refused));
}

#[test]
fn a_failure_at_any_write_leaves_the_queue_as_it_was() {
    for start in ["", "scheduler=mq-deadline nr_requests=32", "scheduler=bfq read_ahead_kb=256"] {
        for fault in
            [Fault::Refuse(libc::EINVAL), Fault::Lie, Fault::HalfDone(libc::EIO), Fault::Refuse(libc::EACCES)]
        {
            for k in 0..4 {
                let q = FakeQueue::new();
                carry_out(&q, start);
                if start.contains("bfq") {
                    q.foreign("iosched/slice_idle_us", "1500");
                }
                if start.contains("mq-deadline") {
                    q.foreign("iosched/async_depth", "7");
                }
                let before = q.read();
                q.fail(k, fault);
                let a = carry_out(&q, "rotational=1 scheduler=kyber nr_requests=64 read_ahead_kb=512");
                let case = format!("from {start:?}, {fault:?} at write {k}");
                assert_eq!(q.read(), before, "{case}");
                assert!(a.report.rolled_back && a.report.not_restored.is_empty(), "{case}");
                assert!(a.report.side_effects.is_empty(), "{case}");
                let refused = ["rotational", "scheduler", "nr_requests", "read_ahead_kb"][k];
                assert_eq!(of(&a, refused).outcome, Outcome::Refused, "{case}");
                if fault == Fault::Lie {
                    assert!(
                        of(&a, refused).message.as_deref().unwrap().contains("nothing changed"),
                        "{case}"
                    );
                }
                let expected =
                    if fault == Fault::Refuse(libc::EACCES) { Cause::Rights } else { Cause::Value };
                assert_eq!(a.cause, Some(expected), "{case}");
            }
        }
    }
}

#[test]
fn what_can_not_be_put_back_is_named() {
    for k in 1..4 {
        let q = FakeQueue::new();
        q.break_from(k);
        let a = carry_out(&q, FOUR);
        assert!(!a.report.rolled_back, "broken from {k}");
        assert!(
            a.report.not_restored.iter().any(|t| t.contains("rotational was 0 and is 1 now")),
            "{:?}",
            a.report
        );
        assert!(a.report.not_restored.iter().any(|t| t.contains("read_ahead_kb was 64")), "{:?}", a.report);
    }
}

#[test]
fn a_queue_that_is_busy_for_a_moment_is_tried_again() {
    let q = FakeQueue::new();
    q.fail(0, Fault::Refuse(libc::EBUSY));
    q.fail(1, Fault::Refuse(libc::EBUSY));
    assert_eq!(only(&carry_out(&q, "scheduler=kyber")), (Outcome::Applied, "kyber"));
    let q = FakeQueue::new();
    for k in 0..32 {
        q.fail(k, Fault::Refuse(libc::EBUSY));
    }
    let a = carry_out(&q, "scheduler=kyber");
    assert_eq!((only(&a).0, a.cause), (Outcome::Refused, Some(Cause::Gone)));
}

#[test]
fn nothing_is_written_that_could_not_be_noted() {
    let q = FakeQueue::new();
    let name = KernelName::new("loop3").unwrap();
    let a = apply(&q, &name, &set(FOUR), &mut |_, _| Err("disk full".to_owned()));
    assert!(q.writes().is_empty());
    assert_eq!(a.cause, Some(Cause::Journal));
    assert!(a.report.changes.iter().all(|c| c.outcome == Outcome::Refused));
    assert!(a.report.changes[0].message.as_deref().unwrap().contains("disk full"));
}

#[test]
fn a_set_is_taken_back_when_another_device_refuses_its_part() {
    let q = FakeQueue::new();
    let before = q.read();
    let mut a = carry_out(&q, FOUR);
    assert_ne!(q.read(), before);
    take_back(&q, &KernelName::new("loop3").unwrap(), &mut a, "loop4 refused its part");
    assert_eq!(q.read(), before);
    assert!(a.report.rolled_back && of(&a, "scheduler").outcome == Outcome::Refused);
    assert!(of(&a, "scheduler").message.as_deref().unwrap().contains("loop4"));
}

/// Some settings, each once, with values that are taken, limited or refused.
fn any_set() -> impl Strategy<Value = Vec<Change>> {
    let words = |name: &'static str, words: &[&'static str]| {
        (Just(name), prop::sample::select(words.to_vec()).prop_map(str::to_owned))
    };
    let numbers = |name: &'static str, below: u64| (Just(name), (0..below).prop_map(|n| n.to_string()));
    let change = prop_oneof![
        4 => words("scheduler", &["none", "mq-deadline", "kyber", "bfq", "deadline", "bfq2"]),
        1 => words("write_cache", &["write back", "write through", "none"]),
        1 => words("wbt_lat_usec", &["0", "-1", "2000", "5000", "75000"]),
        1 => numbers("rotational", 3),
        1 => numbers("add_random", 3),
        1 => numbers("iostats", 3),
        1 => numbers("stable_writes", 3),
        1 => numbers("max_sectors_kb", 2000),
        1 => (Just("discard_max_bytes"), (1u64..600_000).prop_map(|n| (n * 2048).to_string())),
        2 => numbers("nr_requests", 5000),
        1 => numbers("nomerges", 5),
        1 => numbers("rq_affinity", 4),
        1 => numbers("io_timeout", 1000),
        2 => numbers("read_ahead_kb", 100_000),
        1 => numbers("iosched/read_expire", 1000),
        1 => numbers("iosched/async_depth", 300),
        1 => numbers("iosched/slice_idle", 20),
        1 => numbers("iosched/slice_idle_us", 20_000),
        1 => numbers("iosched/strict_guarantees", 3),
    ];
    proptest::collection::vec(change, 1..10).prop_map(|changes| {
        let unique: std::collections::BTreeMap<&str, String> = changes.into_iter().collect();
        unique.into_iter().map(|(name, requested)| Change { name: name.to_owned(), requested }).collect()
    })
}

fn carry_out_all(queue: &FakeQueue, changes: &[Change]) -> Applied {
    apply(queue, &KernelName::new("loop3").unwrap(), changes, &mut |_, _| Ok(()))
}

proptest! {
    #[test]
    fn a_set_is_carried_out_or_leaves_no_trace(
        history in proptest::collection::vec(any_set(), 0..3),
        asked in any_set(),
        fault in prop::option::of((0usize..9, prop::sample::select(vec![
            Fault::Refuse(libc::EINVAL), Fault::Lie, Fault::HalfDone(libc::EIO), Fault::Refuse(libc::EPERM),
        ]))),
    ) {
        let q = FakeQueue::new();
        for h in &history {
            carry_out_all(&q, h);
        }
        let before = q.read();
        if let Some((k, f)) = fault {
            q.fail(k, f);
        }
        let a = carry_out_all(&q, &asked);
        let after = q.read();
        prop_assert_eq!(&a.after, &after, "the report is of the last reading");
        if a.cause.is_some() {
            // A fault that was not met strikes while putting back.
            if a.report.not_restored.is_empty() {
                prop_assert_eq!(after, before);
                prop_assert!(a.report.rolled_back);
            } else {
                prop_assert!(fault.is_some());
            }
            prop_assert!(a.report.changes.iter().any(|c| c.outcome == Outcome::Refused));
        } else {
            for c in &a.report.changes {
                prop_assert_eq!(c.effective.clone(), after.effective(&c.name));
                prop_assert!(c.outcome != Outcome::Refused);
                let moved_on = c.message.as_deref().is_some_and(|m| m.contains("and then something moved it"));
                prop_assert!(!moved_on, "the order lets no write undo another: {:?}", c);
            }
            let asked_wbt = asked.iter().any(|c| c.name == "wbt_lat_usec");
            prop_assert!(asked_wbt || a.written.iter().all(|n| n != "wbt_lat_usec"));
            let told: Vec<&str> = a.report.changes.iter().map(|c| c.name.as_str())
                .chain(a.report.side_effects.iter().map(|s| s.name.as_str())).collect();
            for (name, _, _) in before.differences(&after) {
                prop_assert!(told.contains(&name.as_str()), "{} moved and nobody told", name);
            }
        }
    }
}
