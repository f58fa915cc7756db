//! Every way the program can end, in a pseudo-terminal: the prompt comes back soon, the terminal is as before, and the
//! exit code says what happened.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use support::loopdev::within_seconds;
use support::pty::Session;
use support::throttle::Throttle;
use support::{children, is_stuck, state_of};

const END: &str = "\x1b[F";
const ENTER: &str = "\r";

/// What the program promises is two seconds; the rest is for machines under load.
const SOON: Duration = Duration::from_secs(4);

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// The program that the supervisor, which the session started, runs.
fn program(s: &Session) -> u32 {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        if let [program] = children(s.pid())[..] {
            return program;
        }
        assert!(Instant::now() < end, "no program under the supervisor");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The session ends soon, with this code, the terminal as it was before.
fn ends(s: &mut Session, what: &str, code: u32) {
    let start = Instant::now();
    let status = s.wait_for_end();
    assert!(start.elapsed() < SOON, "{what}: took {:?}", start.elapsed());
    assert_eq!(status.exit_code(), code, "{what}; the screen is:\n{}", s.text());
    s.wait_until("the main screen", |_| s.with_screen(|v| !v.alternate_screen() && !v.hide_cursor()));
    assert_eq!(s.modes(), s.modes_before(), "{what}: the terminal's modes are not as before");
}

#[test]
fn a_panic_in_any_thread_gives_the_terminal_back_and_says_which() {
    for thread in ["main", "input", "signals", "sampler", "watcher"] {
        let fault = format!("panic:{thread}");
        let mut s = Session::start_with(&[], &[("BLKTUNE_FAULT", &fault)], 100, 30);
        ends(&mut s, &fault, 1);
        s.wait_for(&format!("fault was asked for in thread {thread}"));
    }
}

#[test]
fn a_panic_in_a_thread_of_a_run_is_no_different() {
    for thread in ["conductor", "worker-0"] {
        let Some(device) = support::loop_device(16) else { return };
        let fault = format!("panic:{thread}");
        let mut s = Session::start_with(&[&device.kernel()], &[("BLKTUNE_FAULT", &fault)], 100, 30);
        s.wait_for("NAME");
        s.keys("3");
        s.wait_for("randread-4k");
        s.keys(ENTER);
        s.keys(END);
        s.keys(ENTER);
        ends(&mut s, &fault, 1);
        s.wait_for(&format!("fault was asked for in thread {thread}"));
    }
}

#[test]
fn a_panic_in_a_thread_that_changes_a_device_is_no_different() {
    let Some(device) = support::loop_device(4) else { return };
    let name = device.kernel();
    let fault = format!("panic:control-{name}");
    let mut s = Session::start_with(&[&name], &[("BLKTUNE_FAULT", &fault)], 100, 30);
    s.wait_for("NAME");
    s.stage_scheduler();
    s.keys(ENTER);
    ends(&mut s, &fault, 1);
}

#[test]
fn an_abort_leaves_the_terminal_to_the_supervisor() {
    let mut s = Session::start_with(&[], &[("BLKTUNE_FAULT", "abort:sampler")], 100, 30);
    ends(&mut s, "abort", 134);
}

#[test]
fn the_program_can_be_killed() {
    let mut s = Session::start(&[], 100, 30);
    s.wait_for("NAME");
    send(program(&s), Signal::KILL);
    ends(&mut s, "SIGKILL of the program", 137);
    s.wait_for("the program was killed");
}

#[test]
fn what_is_kept_stays_whatever_ends_the_program() {
    let Some(device) = support::loop_device(4) else { return };
    device.known_queue();
    let mut s = Session::start(&[&device.kernel()], 100, 30);
    s.wait_for("NAME");
    s.stage_scheduler();
    s.keys(ENTER);
    s.wait_for("applied");
    let kept = device.scheduler();
    assert_ne!(kept, "none");
    send(program(&s), Signal::KILL);
    ends(&mut s, "SIGKILL of the program", 137);
    let (mut restore, _home) = support::blktune();
    restore.arg("restore").assert().success();
    assert_eq!(device.scheduler(), kept);
}

#[test]
fn the_supervisor_can_be_killed() {
    let mut s = Session::start(&[], 100, 30);
    s.wait_for("NAME");
    let program = program(&s);
    send(s.pid(), Signal::KILL);
    s.wait_for_end();
    let end = Instant::now() + SOON;
    while state_of(program).is_some_and(|c| c != 'Z') {
        assert!(Instant::now() < end, "the program outlives its supervisor");
        std::thread::sleep(Duration::from_millis(5));
    }
    s.wait_until("the main screen", |_| s.with_screen(|v| !v.alternate_screen()));
    assert_eq!(s.modes(), s.modes_before());
}

#[test]
fn signals_end_it_with_their_code_whoever_gets_them() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for to_program in [false, true] {
            let mut s = Session::start(&[], 80, 24);
            s.wait_for("NAME");
            send(if to_program { program(&s) } else { s.pid() }, signal);
            ends(&mut s, &format!("{signal:?}, to the program: {to_program}"), code);
        }
    }
}

#[test]
fn a_terminal_that_nobody_reads_does_not_keep_it() {
    let mut s = Session::start(&["--interval", "100ms"], 200, 50);
    s.wait_for("NAME");
    s.stop_reading();
    // Enough frames to fill what the terminal holds.
    for i in 0..60 {
        s.resize(200 + i % 2, 50 + i % 2);
        std::thread::sleep(Duration::from_millis(30));
    }
    let start = Instant::now();
    send(s.pid(), Signal::TERM);
    assert_eq!(s.wait_for_end().exit_code(), 143);
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    assert_eq!(s.modes(), s.modes_before());
}

#[test]
fn it_stops_and_goes_on() {
    for by_key in [true, false] {
        let mut s = Session::start(&[], 100, 30);
        s.wait_for("NAME");
        let program = program(&s);
        if by_key {
            s.keys("\x1a");
        } else {
            send(s.pid(), Signal::TSTP);
        }
        let end = Instant::now() + SOON;
        while state_of(program) != Some('T') || state_of(s.pid()) != Some('T') {
            assert!(Instant::now() < end, "not stopped; by key: {by_key}");
            std::thread::sleep(Duration::from_millis(5));
        }
        s.wait_until("the main screen", |_| s.with_screen(|v| !v.alternate_screen()));
        assert_eq!(s.modes(), s.modes_before(), "stopped by key: {by_key}");
        send(s.pid(), Signal::CONT);
        s.wait_until("the screen again", |t| {
            s.with_screen(vt100::Screen::alternate_screen) && t.contains("NAME")
        });
        s.keys("?");
        s.wait_for("Keys");
        s.keys("\x1b");
        s.wait_until("the dialog closed", |t| !t.contains("Keys"));
        assert_eq!(s.quit().exit_code(), 0);
    }
}

#[test]
fn a_worker_stuck_on_a_device_that_hangs_does_not_keep_the_prompt() {
    let Some(device) = support::loop_device(16) else { return };
    let Some(throttle) = Throttle::reads(&device, 64) else { return };
    let name = device.kernel();
    let mut s = Session::start_below(throttle.group(), &[&name], 100, 30);
    s.wait_for("NAME");
    s.keys("3");
    s.wait_for("randread-4k");
    s.keys("\x1b[B");
    s.keys(ENTER);
    s.keys(END);
    s.keys(ENTER);
    let program = program(&s);
    assert!(within_seconds(20, || is_stuck(program, "worker-0")), "no worker is stuck:\n{}", s.text());
    s.keys("q");
    s.wait_for("Stop the run?");
    s.keys("\x1b[C");
    s.keys(ENTER);
    ends(&mut s, "a worker stuck in the kernel", 0);
    s.wait_for(&format!("process {program} can not end"));
    // Let go, it ends, and the device can be removed.
    throttle.lift();
    let end = Instant::now() + Duration::from_secs(20);
    while state_of(program).is_some_and(|c| c != 'Z') {
        assert!(Instant::now() < end, "the program is stuck although the device answers");
        std::thread::sleep(Duration::from_millis(5));
    }
}
