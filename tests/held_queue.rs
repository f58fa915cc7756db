//! A queue that is changed again and again under one entry goes back to where it began: killed after any step, ended in
//! order, refused in the middle, touched by others. Real loop devices, the host's journal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "support/mod.rs"]
mod support;

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blktune::sys::inventory;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::tuning::apply::Cause;
use blktune::tuning::change::Change;
use blktune::tuning::control::{QueueControl, SysfsQueue};
use blktune::tuning::held_queue::HeldQueue;
use blktune::tuning::journal::Stage;
use blktune::tuning::plan;
use blktune::tuning::restore;
use serde_json::Value;
use support::crash::{self, CRASH, host_journal};
use support::loopdev::within_seconds;
use support::{LoopDevice, loop_device};

/// `restore` deals with the whole journal of the host.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn state(d: &LoopDevice) -> QueueState {
    QueueState::read(&SysRoot::host(), d.name())
}

fn set(text: &str) -> Vec<Change> {
    text.split_whitespace().map(|w| plan::parse_change(w).unwrap()).collect()
}

fn held(d: &LoopDevice) -> HeldQueue<SysfsQueue> {
    let id = inventory::identify(&SysRoot::host(), d.name()).unwrap();
    HeldQueue::begin(&host_journal(), SysfsQueue::new(SysRoot::host(), id.clone()), &id, 1)
}

fn stages(d: &LoopDevice) -> Vec<Stage> {
    let id = inventory::identify(&SysRoot::host(), d.name()).unwrap();
    let entries = host_journal().entries().unwrap();
    entries.into_iter().filter(|e| e.device.same_device(&id)).map(|e| e.stage).collect()
}

/// A device in a state of its own: a scheduler with tunables that are not its defaults.
fn bench() -> Option<(LoopDevice, QueueState)> {
    let d = loop_device(4)?;
    d.known_queue();
    for (name, value) in [
        ("scheduler", "mq-deadline"),
        ("iosched/fifo_batch", "5"),
        ("nr_requests", "77"),
        ("read_ahead_kb", "4"),
    ] {
        d.put(name, value);
    }
    let before = state(&d);
    Some((d, before))
}

/// Cells as an experiment visits them: scheduler lost and back without its tunables, a bare echo that moves read-ahead,
/// the beginning in between, a set whose last value is not taken.
fn walk<Q: QueueControl>(held: &mut HeldQueue<Q>) {
    let done = |held: &mut HeldQueue<Q>, text: &str| {
        let applied = held.change(&set(text));
        assert_eq!(applied.why, None, "{text}");
        assert_eq!(held.take_warning(), None);
    };
    done(held, "scheduler=none read_ahead_kb=512");
    assert_eq!(held.write_bare(&set("scheduler=mq-deadline rotational=1")).cause, None);
    done(held, "scheduler=mq-deadline iosched/fifo_batch=5 nr_requests=77 rotational=0 read_ahead_kb=4");
    let refused = held.change(&set("max_sectors_kb=256 read_ahead_kb=99999999999"));
    assert_eq!((refused.cause, refused.report.rolled_back), (Some(Cause::Value), true));
    done(held, "scheduler=mq-deadline iosched/fifo_batch=9 nr_requests=64 read_ahead_kb=1024");
}

/// The copy of the test that dies right after a step.
fn die_at(order: &str) {
    let (device, at) = order.split_once(' ').unwrap();
    crash::die_at(device, at.parse().unwrap(), |journal, queue, id| {
        let mut held = HeldQueue::begin(journal, queue, id, 1);
        walk(&mut held);
        assert!(held.put_back().is_some_and(|p| p.not_restored.is_empty()));
    });
}

/// Runs the copy. None if it was killed, else the number of steps.
fn crash_at(d: &LoopDevice, at: usize) -> Option<usize> {
    let test = "killed_after_any_step_of_a_walk_restore_brings_every_attribute_back";
    crash::crash(test, &format!("{} {at}", d.kernel()))
}

/// One `restore`: what it said of this device was left alone.
fn restore(d: &LoopDevice) -> Vec<Value> {
    let mut ours = Vec::new();
    let done = within_seconds(20, || {
        let output =
            Command::new(env!("CARGO_BIN_EXE_blktune")).args(["restore", "--json"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let j: Value = serde_json::from_slice(&output.stdout).unwrap();
        let alone = j["left_alone"].as_array().unwrap();
        ours = alone.iter().filter(|l| l["device"] == d.kernel().as_str()).cloned().collect();
        // Another program on this host may have it in hand at this moment.
        !ours.iter().any(|l| l["pid"].is_u64())
    });
    assert!(done, "another program has {} in hand for 20 s", d.kernel());
    ours
}

#[test]
fn killed_after_any_step_of_a_walk_restore_brings_every_attribute_back() {
    if let Ok(order) = std::env::var(CRASH) {
        return die_at(&order);
    }
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let steps = crash_at(&d, 0).expect("a copy that is not to die lives");
    assert_eq!(before.differences(&state(&d)), [], "not killed");
    // Five changes, the fourth taken back, and the way back: two notes each before and after, and the writes between.
    assert!(steps > 24 + 12, "{steps} steps");
    let mut changed = 0;
    for at in 1..=steps {
        assert_eq!(crash_at(&d, at), None, "not killed after step {at} of {steps}");
        changed += usize::from(!before.differences(&state(&d)).is_empty());
        // Nobody of ours touches this one.
        d.put("nomerges", "2");
        restore(&d);
        assert_eq!(d.get("nomerges"), "2", "step {at}: somebody else's change was taken back");
        d.put("nomerges", "0");
        assert_eq!(before.differences(&state(&d)), [], "killed after step {at}");
    }
    assert!(changed > steps / 2, "{changed} of {steps}");
}

#[test]
fn it_ends_where_it_began_under_one_entry() {
    let _turn = one_at_a_time();
    for drops in [false, true] {
        let Some((d, before)) = bench() else { return };
        let mut held = held(&d);
        assert_eq!(held.put_back().map(|p| p.end), None, "nothing was written");
        walk(&mut held);
        assert_eq!(stages(&d), [Stage::Held]);
        assert_eq!(d.get("iosched/fifo_batch"), "9");
        if drops {
            drop(held);
        } else {
            let done = held.put_back().unwrap();
            assert_eq!((done.end, done.not_restored.len(), done.foreign.len()), (restore::End::Done, 0, 0));
        }
        assert_eq!(before.differences(&state(&d)), [], "dropped: {drops}");
        assert_eq!(stages(&d), [Stage::PutBack]);
    }
}

#[test]
fn what_others_changed_meanwhile_is_told_or_not_touched_at_all() {
    let _turn = one_at_a_time();
    let Some((d, _)) = bench() else { return };
    let mut held = held(&d);
    assert_eq!(held.change(&set("read_ahead_kb=512")).cause, None);
    assert_eq!(held.change(&set("rotational=1 read_ahead_kb=256")).cause, None);
    // One setting that was written and one that was not.
    d.put("read_ahead_kb", "2048");
    d.put("nomerges", "2");
    let done = held.put_back().unwrap();
    let told: Vec<(&str, &str)> =
        done.foreign.iter().map(|f| (f.name.as_str(), f.effective.as_deref().unwrap())).collect();
    assert_eq!(told, [("read_ahead_kb", "2048")]);
    assert_eq!((d.get("rotational").as_str(), d.get("read_ahead_kb").as_str()), ("0", "2048"));
    assert_eq!(d.get("nomerges"), "2");
}

#[test]
fn a_first_change_that_is_refused_holds_nothing() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let mut held = held(&d);
    let refused = held.write_bare(&set("max_sectors_kb=256 max_sectors_kb=1"));
    assert_eq!(refused.cause, Some(Cause::Value), "{:?}", refused.why);
    assert_eq!(before.differences(&state(&d)), []);
    assert!(held.put_back().is_none());
    assert_eq!(held.change(&set("read_ahead_kb=64")).cause, None);
    assert_eq!(d.get("read_ahead_kb"), "64");
    drop(held);
    assert_eq!(before.differences(&state(&d)), []);
}

#[test]
fn nothing_is_written_once_somebody_else_has_put_it_back() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let mut held = held(&d);
    assert_eq!(held.change(&set("read_ahead_kb=512")).cause, None);
    let journal = host_journal();
    let entries = journal.entries().unwrap();
    let queue = SysfsQueue::new(SysRoot::host(), held.device().clone());
    restore::put_back(&journal, &queue, entries.last().unwrap(), None);
    let refused = held.change(&set("read_ahead_kb=1024"));
    assert_eq!((refused.cause, d.get("read_ahead_kb").as_str()), (Some(Cause::Gone), "4"));
    drop(held);
    assert_eq!(before.differences(&state(&d)), []);
}

#[test]
fn a_device_that_was_claimed_is_changed_by_nobody_else_and_goes_on_to_be_changed() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let other = || {
        let mut set = Command::new(env!("CARGO_BIN_EXE_blktune"));
        let output = set.args(["set", &d.kernel(), "nomerges=2"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut held = held(&d);
    held.claim().unwrap();
    held.claim().unwrap();
    assert_eq!((stages(&d), d.get("nomerges")), (vec![Stage::Held], "0".to_owned()));
    let (code, said) = other();
    let who =
        format!("{} is held by process {}; try again when it has ended", d.kernel(), std::process::id());
    assert!(code == Some(5) && said.contains(&who), "{code:?}: {said}");
    assert_eq!(before.differences(&state(&d)), []);
    // Refused first, then carried out: one entry all along, and the way back to boot is known.
    assert!(held.change(&set("read_ahead_kb=99999999999")).report.rolled_back);
    assert_eq!(held.change(&set("scheduler=none")).why, None);
    assert_eq!((held.take_warning(), stages(&d)), (None, vec![Stage::Held]));
    let done = held.put_back().unwrap();
    assert_eq!((done.not_restored, before.differences(&state(&d))), (Vec::new(), Vec::new()));
    assert_eq!(stages(&d), [Stage::PutBack]);
    assert_eq!(other().0, Some(0));
}
