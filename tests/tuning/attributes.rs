//! Real loop devices: every other attribute than the first four, one by one and eight at once.

use blktune::tuning::apply::Cause;
use blktune::tuning::change::Outcome::{self, Applied as Done, Clamped, Refused, Unchanged};
use blktune::tuning::control::QueueControl;

use super::device::Bench;
use super::{carry_out, of};

/// A bench whose queue is in a known state under mq-deadline.
fn bench() -> Option<Bench> {
    let b = Bench::new()?;
    assert!(b.offers("mq-deadline"), "this kernel has no mq-deadline to switch to");
    b.device.known_queue();
    b.device.put("scheduler", "mq-deadline");
    Some(b)
}

/// What is left of a set is what the table says, in the report and in the kernel.
fn check(b: &Bench, cases: &[(&str, &str, Outcome, &str)]) {
    for (name, value, outcome, effective) in cases {
        let before = b.state();
        if !before.attributes.contains_key(*name) {
            println!("this kernel's loop devices have no {name}; not tested");
            continue;
        }
        let a = carry_out(&b.queue, &format!("{name}={value}"));
        let c = &a.report.changes[0];
        let case = format!("{name}={value}: {:?}", c.message);
        assert_eq!((c.outcome, c.effective.as_deref()), (*outcome, Some(*effective)), "{case}");
        assert_eq!(b.device.get(name), *effective, "{case}: the kernel");
        if *outcome == Refused {
            assert_eq!(before.differences(&b.state()), [], "{case}");
        }
        if matches!(outcome, Clamped | Refused) {
            assert!(c.message.is_some(), "{case}");
        }
    }
}

#[test]
fn limits_and_what_the_queue_does_with_requests() {
    let Some(b) = bench() else { return };
    let most = b.device.get("max_hw_sectors_kb");
    let sectors = b.device.get("max_sectors_kb");
    check(
        &b,
        &[
            ("max_sectors_kb", "512", Done, "512"),
            ("max_sectors_kb", "0512", Unchanged, "512"),
            ("max_sectors_kb", "3", Refused, "512"),
            ("max_sectors_kb", "x", Refused, "512"),
            ("max_sectors_kb", &sectors, if sectors == "512" { Unchanged } else { Done }, &sectors),
            ("add_random", "1", Done, "1"),
            ("add_random", "7", Clamped, "1"),
            ("add_random", "0", Done, "0"),
            ("iostats", "0", Done, "0"),
            ("iostats", "1", Done, "1"),
            ("iostats_passthrough", "1", Done, "1"),
            ("stable_writes", "1", Done, "1"),
            ("stable_writes", "0", Done, "0"),
            ("nomerges", "3", Clamped, "1"),
            ("nomerges", "2", Done, "2"),
            ("nomerges", "-1", Refused, "2"),
            ("rq_affinity", "2", Done, "2"),
            ("rq_affinity", "3", Refused, "2"),
            ("io_poll_delay", "5", Refused, "-1"),
            ("logical_block_size", "4096", Refused, "512"),
            ("max_hw_sectors_kb", "4", Refused, &most),
        ],
    );
    // A request larger than the driver takes is limited on current kernels and refused on older ones.
    let a = carry_out(&b.queue, "max_sectors_kb=99999");
    match a.report.changes[0].outcome {
        Clamped => {
            assert_eq!(b.device.get("max_sectors_kb"), most);
            assert!(a.report.changes[0].message.as_deref().unwrap().contains("most the driver takes"));
        }
        outcome => assert_eq!((outcome, a.cause), (Refused, Some(Cause::Value))),
    }
}

#[test]
fn tunables_are_rounded_to_ticks_and_lost_with_their_scheduler() {
    let Some(b) = bench() else { return };
    let a = carry_out(&b.queue, "iosched/read_expire=77");
    let now = b.device.get("iosched/read_expire");
    // 80 at 250 ticks a second, 77 at 1000.
    let outcome = if now == "77" { Done } else { Clamped };
    assert_eq!((a.report.changes[0].outcome, a.report.changes[0].effective.as_ref()), (outcome, Some(&now)));
    assert!(
        outcome == Done || a.report.changes[0].message.as_deref().unwrap().contains("ticks"),
        "{:?}",
        a.report
    );
    check(
        &b,
        &[
            ("iosched/front_merges", "5", Clamped, "1"),
            ("iosched/front_merges", "0", Done, "0"),
            ("iosched/front_merges", "yes", Refused, "0"),
            ("iosched/fifo_batch", "3", Done, "3"),
            ("iosched/writes_starved", "1", Done, "1"),
            ("iosched/prio_aging_expire", "1000", Done, "1000"),
            ("iosched/write_expire", "99999999999", Refused, "5000"),
        ],
    );
    let a = carry_out(&b.queue, "scheduler=none");
    let gone = a.report.side_effects.iter().filter(|s| s.name.starts_with("iosched/") && s.after.is_none());
    assert_eq!(gone.count(), a.before.attributes.keys().filter(|k| k.starts_with("iosched/")).count());
    let a = carry_out(&b.queue, "iosched/read_expire=100");
    assert_eq!(a.cause, Some(Cause::Value));
    let a = carry_out(&b.queue, "iosched/fifo_batch=2 scheduler=mq-deadline iosched/read_expire=100");
    assert_eq!((a.cause, b.device.get("iosched/fifo_batch").as_str()), (None, "2"));
}

#[test]
fn writeback_throttling_takes_its_default_by_minus_one_only() {
    let Some(b) = bench() else { return };
    if b.state().effective("wbt_lat_usec").is_none() {
        println!("this kernel's loop devices have no wbt_lat_usec; not tested");
        return;
    }
    check(
        &b,
        &[
            ("wbt_lat_usec", "5000", Done, "5000"),
            ("wbt_lat_usec", "0", Done, "0"),
            ("wbt_lat_usec", "-1", Clamped, "2000"),
            ("wbt_lat_usec", "-2", Refused, "2000"),
            ("wbt_lat_usec", "2ms", Refused, "2000"),
        ],
    );
}

#[test]
fn a_switch_to_bfq_and_its_undo_never_write_wbt() {
    let Some(b) = bench() else { return };
    if !b.offers("bfq") || b.state().effective("wbt_lat_usec").as_deref() != Some("2000") {
        println!("this kernel has no bfq, or no writeback throttling by default; not tested");
        return;
    }
    let before = b.state();
    b.set("scheduler=bfq");
    assert_eq!(b.device.get("wbt_lat_usec"), "0");
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(before.differences(&b.state()), []);
    // The mark of a value written by hand would keep bfq from switching it off once more.
    b.device.put("scheduler", "bfq");
    assert_eq!(b.device.get("wbt_lat_usec"), "0", "it was marked as set by hand");
}

#[test]
fn write_through_is_done_loudly_and_taken_back() {
    let Some(b) = bench() else { return };
    if b.device.get("write_cache") != "write back" {
        println!("this kernel's loop devices have no cache; not tested");
        return;
    }
    let before = b.state();
    let changes = [blktune::tuning::change::Change {
        name: "write_cache".to_owned(),
        requested: "write through".to_owned(),
    }];
    let a = blktune::tuning::apply::apply(&b.queue, b.device.name(), &changes, &mut |_, _| Ok(()));
    assert_eq!((a.report.changes[0].outcome, b.device.get("write_cache").as_str()), (Done, "write through"));
    assert!(a.report.changes[0].message.as_deref().unwrap().starts_with("data safety"), "{:?}", a.report);
    let changes = [blktune::tuning::change::Change {
        name: "write_cache".to_owned(),
        requested: "write back".to_owned(),
    }];
    let a = blktune::tuning::apply::apply(&b.queue, b.device.name(), &changes, &mut |_, _| Ok(()));
    assert_eq!((a.cause, a.report.changes[0].message.clone()), (None, None));
    b.device.put("read_ahead_kb", &before.effective("read_ahead_kb").unwrap());
    assert_eq!(before.differences(&b.state()), []);
}

const EIGHT: &str = "read_ahead_kb=512 iosched/read_expire=100 nomerges=2 nr_requests=64 scheduler=mq-deadline \
                     iostats=0 max_sectors_kb=256 rotational=1";

#[test]
fn eight_at_once_end_as_asked_and_undo_brings_every_readable_attribute_back() {
    let Some(b) = bench() else { return };
    for start in [
        &[("scheduler", "none"), ("read_ahead_kb", "64")][..],
        &[("scheduler", "mq-deadline"), ("iosched/fifo_batch", "5"), ("nr_requests", "77")],
    ] {
        for (name, value) in start {
            b.device.put(name, value);
        }
        let before = b.state();
        let a = b.set(EIGHT);
        assert_eq!(a.cause, None, "{:?}", a.why);
        for c in &a.report.changes {
            assert_eq!(b.state().effective(&c.name).as_deref(), Some(c.requested.as_str()), "{}", c.name);
            assert!(matches!(c.outcome, Done | Unchanged), "{c:?}");
        }
        let u = b.undo().unwrap();
        assert_eq!((u.cause, u.why), (None, None));
        assert_eq!(before.differences(&b.state()), [], "from {start:?}");
    }
}

#[test]
fn wbt_goes_back_with_the_set_that_wrote_it() {
    let Some(b) = bench() else { return };
    let Some(was) = b.state().effective("wbt_lat_usec") else { return };
    let before = b.state();
    let a = b.set("wbt_lat_usec=4321 scheduler=none rotational=1");
    assert_eq!((a.cause, b.device.get("wbt_lat_usec").as_str()), (None, "4321"));
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!((b.device.get("wbt_lat_usec"), before.differences(&b.state())), (was, Vec::new()));
}

#[test]
fn eight_of_which_the_last_but_one_is_refused_leave_no_trace() {
    let Some(b) = bench() else { return };
    b.device.put("iosched/fifo_batch", "5");
    let before = b.state();
    // The kernel takes it and does nothing; read-ahead would come after it.
    let a = b.set(
        &EIGHT
            .replace("nomerges=2", "rq_affinity=3")
            .replace("scheduler=mq-deadline", "scheduler=none")
            .replace("iosched/read_expire=100", "add_random=1"),
    );
    assert_eq!(a.cause, Some(Cause::Value));
    assert!(of(&a, "rq_affinity").message.as_deref().unwrap().contains("nothing changed"), "{:?}", a.report);
    assert!(a.report.rolled_back && a.report.not_restored.is_empty(), "{:?}", a.report);
    assert_eq!(before.differences(&b.state()), []);
    assert!(b.undo().is_none());
}

#[test]
fn a_value_is_one_line_and_a_name_is_a_regular_file() {
    let Some(b) = bench() else { return };
    let before = b.state();
    for value in ["", "1\n2", "1\0", "\u{1b}[2J", &"1".repeat(5000)] {
        assert_eq!(b.queue.write("nomerges", value).unwrap_err().errno(), Some(libc::EINVAL), "{value:?}");
    }
    for name in
        ["iosched", "no_such_thing", "Nomerges", "../stat", "iosched/../nomerges", "iosched/iosched/x", ""]
    {
        assert_eq!(b.queue.write(name, "1").unwrap_err().errno(), Some(libc::ENOENT), "{name:?}");
    }
    assert_eq!(before.differences(&b.state()), []);
}
