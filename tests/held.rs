//! Held settings go back however a program ends: the real program, real signals, real loop devices.
//!
//! The journal is the host's, and `restore` deals with all of it, so these tests run one after the other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "support/mod.rs"]
mod support;

use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blktune::sys::device::DeviceId;
use blktune::sys::inventory;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::tuning::change::Change;
use blktune::tuning::held::hold;
use blktune::tuning::journal::{Entry, Owner, Stage};
use blktune::tuning::keep::apply_and_keep;
use blktune::tuning::plan;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::crash::{self, CRASH, host_journal};
use support::loopdev::within_seconds;
use support::pty::Session;
use support::{LoopDevice, loop_device};

/// Eight settings of one set, of every sort: limits, scheduler, one of its tunables, what they move.
const EIGHT: &str = "read_ahead_kb=512 iosched/read_expire=100 nomerges=2 nr_requests=64 scheduler=mq-deadline \
                     iostats=0 max_sectors_kb=256 rotational=1";

fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(d: &LoopDevice) -> DeviceId {
    inventory::identify(&SysRoot::host(), d.name()).unwrap()
}

fn state(d: &LoopDevice) -> QueueState {
    QueueState::read(&SysRoot::host(), d.name())
}

fn set(text: &str) -> Vec<Change> {
    text.split_whitespace().map(|w| plan::parse_change(w).unwrap()).collect()
}

fn entries_of(d: &LoopDevice) -> Vec<Entry> {
    let id = identity(d);
    host_journal().entries().unwrap().into_iter().filter(|e| e.device.same_device(&id)).collect()
}

fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blktune"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Exit code, the document on stdout (null if there is none), stderr.
fn run(args: &[&str]) -> (i32, Value, String) {
    told(&program(args).output().unwrap())
}

fn told(output: &Output) -> (i32, Value, String) {
    let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap_or(-1), document, String::from_utf8(output.stderr.clone()).unwrap())
}

fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// A device in a known state, and that state.
fn bench() -> Option<(LoopDevice, QueueState)> {
    let d = loop_device(4)?;
    d.known_queue();
    let before = state(&d);
    Some((d, before))
}

/// Starts `set --hold` and waits until it holds.
fn holder(d: &LoopDevice) -> Child {
    let child = program(&[
        "set",
        &d.kernel(),
        "scheduler=mq-deadline",
        "rotational=1",
        "read_ahead_kb=512",
        "--hold",
    ])
    .spawn()
    .unwrap();
    assert!(
        within_seconds(20, || entries_of(d).last().is_some_and(|e| e.stage == Stage::Held)),
        "never held"
    );
    assert_eq!((d.scheduler().as_str(), d.get("read_ahead_kb").as_str()), ("mq-deadline", "512"));
    child
}

/// The process that holds: the one that the supervisor, which was started, runs.
fn holding(child: &Child) -> u32 {
    let [program] = support::children(child.id())[..] else { panic!("not one program under the supervisor") };
    program
}

/// Kills supervisor and program so that neither learns of the other's death in time to do anything about it.
fn kill_both(child: Child) {
    let program = holding(&child);
    send(child.id(), Signal::STOP);
    send(program, Signal::KILL);
    send(child.id(), Signal::KILL);
    end_of(child);
}

/// Waits for the end, at most 20 s.
fn end_of(mut child: Child) -> Output {
    let ended = within_seconds(20, || child.try_wait().unwrap().is_some());
    if !ended {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(ended, "does not end");
    output
}

/// The copy of the test that dies right after a step.
fn die_at(order: &str) {
    let words: Vec<&str> = order.split(' ').collect();
    let [device, mode, at] = words[..] else { panic!("{order:?}") };
    crash::die_at(device, at.parse().unwrap(), |journal, queue, id| {
        let cause = if mode == "held" {
            hold(journal, &queue, id, &set(EIGHT), 1).leave().applied.cause
        } else {
            apply_and_keep(journal, &queue, id, &set(EIGHT), 1).applied.cause
        };
        assert_eq!(cause, None);
    });
}

/// Runs the copy. None if it was killed, else the number of steps.
fn crash_at(d: &LoopDevice, mode: &str, at: usize) -> Option<usize> {
    let test = "killed_after_any_step_of_a_set_of_eight_restore_brings_every_attribute_back";
    crash::crash(test, &format!("{} {mode} {at}", d.kernel()))
}

#[test]
fn killed_after_any_step_of_a_set_of_eight_restore_brings_every_attribute_back() {
    if let Ok(order) = std::env::var(CRASH) {
        return die_at(&order);
    }
    let _turn = one_at_a_time();
    for start in [
        &[("read_ahead_kb", "64")][..],
        &[
            ("scheduler", "mq-deadline"),
            ("iosched/fifo_batch", "5"),
            ("nr_requests", "77"),
            ("read_ahead_kb", "4"),
        ],
        &[("scheduler", "bfq"), ("iosched/slice_idle", "3"), ("nr_requests", "100")],
    ] {
        for mode in ["held", "kept"] {
            let Some((d, _)) = bench() else { return };
            if start[0].1 == "bfq" && !d.get("scheduler").contains("bfq") {
                continue;
            }
            for (name, value) in start {
                d.put(name, value);
            }
            let before = state(&d);
            let steps = crash_at(&d, mode, 0).expect("a copy that is not to die lives");
            // Two for the note before, two for the note after, and a write for each that differs.
            let differs = set(EIGHT)
                .iter()
                .filter(|c| before.effective(&c.name).as_ref() != Some(&c.requested))
                .count();
            assert!(steps >= 4 + differs && differs >= 7, "{steps} steps for {differs} changes");
            settle(&d, mode);
            assert_eq!(before.differences(&state(&d)), [], "{mode} from {start:?}, not killed");
            let mut changed = 0;
            for at in 1..=steps {
                assert_eq!(crash_at(&d, mode, at), None, "not killed after step {at} of {steps}");
                let left = before.differences(&state(&d));
                let writes = at.saturating_sub(2);
                assert_eq!(left.is_empty(), writes == 0, "{mode} step {at}: {left:?}");
                changed += usize::from(!left.is_empty());
                restore(&d);
                // Once `done` is in the file, a kept set is kept: that is what was asked for.
                if mode == "kept" && at > steps - 2 {
                    assert_eq!(before.differences(&state(&d)), left, "restore touched a kept set");
                    assert_eq!(run(&["undo", &d.kernel()]).0, 0);
                }
                assert_eq!(
                    before.differences(&state(&d)),
                    [],
                    "{mode} from {start:?}, killed after step {at}"
                );
            }
            assert_eq!(changed, steps - 2);
        }
    }
}

/// Takes back what a copy left that was not killed.
fn settle(d: &LoopDevice, mode: &str) {
    if mode == "held" {
        restore(d);
    } else {
        assert_eq!(run(&["undo", &d.kernel()]).0, 0);
    }
}

/// One `restore`. Another program on this host may be restoring at this moment, and have this device in hand: then, and
/// only then, it is asked again.
fn restore(d: &LoopDevice) {
    let done = within_seconds(20, || {
        let (code, j, err) = run(&["restore", "--json"]);
        assert_eq!(code, 0, "{err}");
        let alone = j["left_alone"].as_array().unwrap();
        !alone.iter().any(|l| l["device"] == d.kernel().as_str() && l["pid"].is_u64())
    });
    assert!(done, "another program has {} in hand for 20 s", d.kernel());
}

#[test]
fn every_signal_ends_a_hold_with_everything_back() {
    let _turn = one_at_a_time();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let Some((d, before)) = bench() else { return };
        let child = holder(&d);
        send(child.id(), signal);
        let (got, _, err) = told(&end_of(child));
        assert_eq!(got, code, "{err}");
        assert!(err.contains("put back:") && err.contains("scheduler mq-deadline -> none"), "{err}");
        assert_eq!(before.differences(&state(&d)), [], "{signal:?}");
        assert_eq!(entries_of(&d)[0].stage, Stage::PutBack);
    }
}

#[test]
fn whichever_of_the_two_is_killed_the_other_puts_back() {
    let _turn = one_at_a_time();
    for supervisor in [true, false] {
        let Some((d, before)) = bench() else { return };
        let child = holder(&d);
        send(if supervisor { child.id() } else { holding(&child) }, Signal::KILL);
        let (code, _, err) = told(&end_of(child));
        if !supervisor {
            assert_eq!(code, 137, "{err}");
            assert!(err.contains("the program was killed") && err.contains("put back:"), "{err}");
        }
        let end = Instant::now() + Duration::from_secs(4);
        while !before.differences(&state(&d)).is_empty() {
            assert!(
                Instant::now() < end,
                "supervisor killed: {supervisor}; {:?}",
                before.differences(&state(&d))
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_killed_hold_is_repaired_by_restore_once() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let child = holder(&d);
    let (code, j, _) = run(&["restore", "--json"]);
    let alone =
        j["left_alone"].as_array().unwrap().iter().find(|l| l["device"] == d.kernel().as_str()).unwrap();
    assert_eq!((code, alone["pid"].as_u64()), (0, Some(u64::from(holding(&child)))), "its owner lives");
    kill_both(child);
    let held = state(&d);
    assert_eq!(run(&["restore", "--dry-run"]).0, 0);
    assert_eq!(held.differences(&state(&d)), [], "a dry run writes nothing");
    let (code, j, err) = run(&["restore", "--json"]);
    assert_eq!((code, j["schema"].as_str()), (0, Some("blktune.restore/1")), "{err}");
    let restored = j["restored"].as_array().unwrap();
    let ours =
        restored.iter().find(|c| c["device"] == d.kernel().as_str() && c["name"] == "scheduler").unwrap();
    assert_eq!((ours["effective"].as_str(), ours["outcome"].as_str()), (Some("none"), Some("applied")));
    assert_eq!(before.differences(&state(&d)), []);
    d.put("read_ahead_kb", "2048");
    assert_eq!(run(&["restore"]).0, 0);
    assert_eq!(d.get("read_ahead_kb"), "2048", "an entry that is settled is not touched again");
}

#[test]
fn the_way_back_to_boot_of_a_device_that_went_is_forgotten() {
    let _turn = one_at_a_time();
    let snapshots = |name: &str| {
        let dir = std::fs::read_dir(SysRoot::host().run_dir()).unwrap();
        let prefix = format!("boot-{name}-");
        dir.flatten().filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with(&prefix))).count()
    };
    let (Some((gone, _)), Some((here, _))) = (bench(), bench()) else { return };
    for d in [&gone, &here] {
        assert_eq!(run(&["set", &d.kernel(), "read_ahead_kb=1024"]).0, 0);
    }
    let name = gone.kernel();
    assert!(snapshots(&name) >= 1);
    drop(gone);
    assert_eq!(run(&["undo", &here.kernel()]).0, 0);
    assert_eq!((snapshots(&name), snapshots(&here.kernel())), (0, 1));
}

#[test]
fn the_next_start_says_what_a_killed_program_left_held() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    kill_both(holder(&d));
    let mut s = Session::start(&[&d.kernel()], 120, 40);
    s.wait_for(&format!("{}: a program that was killed left settings held here", d.kernel()));
    s.wait_for("`blktune restore` puts them back");
    s.quit();
    assert_eq!(run(&["restore"]).0, 0);
    assert_eq!(before.differences(&state(&d)), []);
    let mut s = Session::start(&[&d.kernel()], 120, 40);
    s.wait_for("NAME");
    assert!(!s.text().contains(&format!("{}: a program", d.kernel())), "{}", s.text());
    s.quit();
}

#[test]
fn what_somebody_else_changed_in_a_killed_hold_is_left_alone_and_said() {
    let _turn = one_at_a_time();
    let Some((d, _)) = bench() else { return };
    kill_both(holder(&d));
    d.put("read_ahead_kb", "4096");
    let (code, j, _) = run(&["restore", "--json"]);
    assert_eq!((code, d.scheduler().as_str(), d.get("read_ahead_kb").as_str()), (0, "none", "4096"));
    let said =
        j["left_alone"].as_array().unwrap().iter().find(|l| l["device"] == d.kernel().as_str()).unwrap();
    assert_eq!(said["name"], "read_ahead_kb");
    assert!(said["message"].as_str().unwrap().contains("is 4096 now"), "{said}");
}

#[test]
fn a_device_that_a_living_program_holds_is_not_changed_by_another() {
    let _turn = one_at_a_time();
    let (Some((a, before)), Some((b, _))) = (bench(), bench()) else { return };
    let child = holder(&a);
    for extra in [&["read_ahead_kb=1024"][..], &["nomerges=2", "--revert-after", "5s"]] {
        let name = a.kernel();
        let mut args = vec!["set", name.as_str()];
        args.extend(extra);
        let (code, _, err) = run(&args);
        assert_eq!(code, 5, "{err}");
        assert!(err.contains(&format!("process {}", holding(&child))), "{err}");
    }
    assert_eq!((a.get("read_ahead_kb").as_str(), a.get("nomerges").as_str()), ("512", "0"));
    assert_eq!(run(&["set", &b.kernel(), "read_ahead_kb=1024"]).0, 0, "another device is free");
    assert_eq!(run(&["undo", &b.kernel()]).0, 0);
    send(child.id(), Signal::TERM);
    end_of(child);
    assert_eq!(before.differences(&state(&a)), []);
}

#[test]
fn two_programs_at_once_end_in_one_of_their_states_and_all_of_it_goes_back() {
    let _turn = one_at_a_time();
    let (Some((a, a_before)), Some((b, b_before))) = (bench(), bench()) else { return };
    std::thread::scope(|s| {
        for k in 0..2 {
            let (a, b) = (a.kernel(), b.kernel());
            s.spawn(move || {
                for i in 0..6 {
                    let scheduler = if k == 0 { "scheduler=mq-deadline" } else { "scheduler=none" };
                    let ra = format!("read_ahead_kb={}", 256 + 128 * (2 * i + k));
                    let own = if k == 0 { &a } else { &b };
                    for device in [&a, own] {
                        let (code, _, err) = run(&["set", device, scheduler, &ra]);
                        assert!(code == 0 || code == 5, "{code} {err}");
                    }
                }
            });
        }
    });
    for d in [&a, &b] {
        assert!(entries_of(d).iter().all(|e| !e.unsettled()), "something was left open");
        let (code, _, err) = run(&["undo", "--all", &d.kernel()]);
        assert_eq!(code, 0, "{err}");
    }
    assert_eq!(a_before.differences(&state(&a)), []);
    assert_eq!(b_before.differences(&state(&b)), []);
}

/// A set that reverts after this time, and its keeper. So long that it does not while this looks, on a slow machine either.
fn dead_mans_switch(d: &LoopDevice, after: &str) -> Owner {
    let (code, _, err) =
        run(&["set", &d.kernel(), "scheduler=mq-deadline", "read_ahead_kb=512", "--revert-after", after]);
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("reverts at ") && err.contains("set --confirm"), "{err}");
    assert_eq!((d.scheduler().as_str(), d.get("read_ahead_kb").as_str()), ("mq-deadline", "512"));
    let keeper = entries_of(d).last().unwrap().owner;
    assert!(keeper.alive());
    keeper
}

#[test]
fn what_is_not_confirmed_reverts() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let keeper = dead_mans_switch(&d, "6s");
    assert!(within_seconds(20, || before.differences(&state(&d)).is_empty()), "never reverted");
    assert!(within_seconds(20, || !keeper.alive()), "the keeper does not end");
    let (code, _, err) = run(&["set", "--confirm", &d.kernel()]);
    assert_eq!(code, 5, "too late: {err}");
}

#[test]
fn what_is_confirmed_is_kept_and_can_be_undone() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let keeper = dead_mans_switch(&d, "10m");
    assert_eq!(run(&["restore"]).0, 0);
    assert_eq!(d.scheduler(), "mq-deadline", "its keeper lives");
    let (code, j, err) = run(&["set", "--confirm", &d.kernel(), "--json"]);
    assert_eq!((code, j["confirmed"][0].as_str()), (0, Some(d.kernel().as_str())), "{err}");
    assert!(within_seconds(20, || !keeper.alive()), "the keeper does not end");
    assert_eq!((d.scheduler().as_str(), d.get("read_ahead_kb").as_str()), ("mq-deadline", "512"));
    assert_eq!(run(&["undo", &d.kernel()]).0, 0);
    assert_eq!(before.differences(&state(&d)), []);
}

#[test]
fn a_keeper_that_is_told_to_end_puts_back_and_one_that_is_killed_leaves_it_to_restore() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let keeper = dead_mans_switch(&d, "10m");
    send(keeper.pid, Signal::HUP);
    send(keeper.pid, Signal::TERM);
    assert!(within_seconds(20, || !keeper.alive()), "the keeper does not end");
    assert_eq!(before.differences(&state(&d)), []);
    let keeper = dead_mans_switch(&d, "10m");
    send(keeper.pid, Signal::KILL);
    assert!(within_seconds(20, || !keeper.alive()));
    assert_eq!(d.scheduler(), "mq-deadline");
    assert_eq!(run(&["restore"]).0, 0);
    assert_eq!(before.differences(&state(&d)), []);
}

#[test]
fn the_switch_outlives_the_terminal_it_was_set_from() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let name = d.kernel();
    let mut session = Session::start(&["set", &name, "read_ahead_kb=512", "--revert-after", "6s"], 80, 24);
    session.wait_for("reverts at");
    let keeper = entries_of(&d).last().unwrap().owner;
    assert!(session.wait_for_end().success());
    session.hang_up();
    assert!(keeper.alive() && d.get("read_ahead_kb") == "512", "the connection took the keeper along");
    assert!(within_seconds(20, || before.differences(&state(&d)).is_empty()), "never reverted");
}

#[test]
fn back_to_boot_start_and_forward_again() {
    let _turn = one_at_a_time();
    let Some((d, before)) = bench() else { return };
    let name = d.kernel();
    for change in ["scheduler=mq-deadline", "read_ahead_kb=1024", "rotational=1", "nomerges=2"] {
        assert_eq!(run(&["set", &name, change]).0, 0, "{change}");
    }
    let last = state(&d);
    assert_eq!(run(&["undo", &name]).0, 0);
    assert_eq!(run(&["undo", &name]).0, 0);
    for _ in 0..2 {
        assert_eq!(run(&["undo", "--redo", &name]).0, 0);
    }
    assert_eq!(last.differences(&state(&d)), [], "forward again");
    assert!(run(&["undo", "--redo", &name]).2.contains("nothing to redo"));
    assert_eq!(run(&["undo", "--to-boot", &name]).0, 0);
    assert_eq!(before.differences(&state(&d)), [], "back to boot");
    assert_eq!(run(&["undo", &name]).0, 0);
    assert_eq!(last.differences(&state(&d)), [], "which can be undone like any other");
    assert_eq!(run(&["undo", "--all", &name]).0, 0);
    assert_eq!(before.differences(&state(&d)), [], "back to the start");
}

#[test]
fn what_makes_no_sense_together_is_usage() {
    for args in [
        &["set", "loop0", "nomerges=2", "--hold", "--revert-after", "5s"][..],
        &["set", "loop0", "nomerges=2", "--revert-after", "0s"],
        &["set", "loop0", "nomerges=2", "--revert-after", "2h"],
        &["set", "loop0", "nomerges=2", "--confirm"],
        &["set", "--confirm", "--hold"],
        &["undo", "--all", "--redo"],
    ] {
        assert_eq!(run(args).0, 2, "{args:?}");
    }
}
