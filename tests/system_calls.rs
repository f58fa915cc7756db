//! What the measured loop asks of the kernel: an I/O's own call and no other, and with a ring a hand-over of a few I/Os at
//! a time. Looked at from outside, with strace.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use support::{LoopDevice, installed, loop_device};

const IOS: usize = 2000;

/// A call as strace tells it: its name, and its arguments as text.
struct Call {
    name: String,
    arguments: Vec<String>,
}

/// `12345 io_uring_enter(9, 2, 0, 0, NULL, 8) = 2`: who called, and what. None for a signal, an exit, and the end of a
/// call that was told in two parts.
fn call(line: &str) -> Option<(u32, Call)> {
    let (thread, rest) = line.trim_start().split_once(' ')?;
    let (name, arguments) = rest.trim_start().split_once('(')?;
    let word = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let arguments = arguments.split(", ").map(str::to_owned).collect();
    word.then(|| Some((thread.parse().ok()?, Call { name: name.to_owned(), arguments })))?
}

/// What the worker of such a run calls from its first I/O to its last: it is the thread that calls `own` most often. Nothing
/// but `own` is to be among it, and ten times a second the wake-up of the one who collects the figures.
fn measured(device: &LoopDevice, keys: &str, own: &str) -> Vec<Call> {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "0", "-o"]).arg(&trace).arg(env!("CARGO_BIN_EXE_blktune"));
    strace.args(["run", "randread-4k", &device.dev(), "--set", "ramp=0s", "--set", "runtime=600s"]);
    strace.args(["--set", &format!("number_ios={IOS}")]);
    for key in keys.split_ascii_whitespace() {
        strace.args(["--set", key]);
    }
    let begun = Instant::now();
    let output = strace.output().unwrap();
    let hand_overs = begun.elapsed().as_millis() / 100;
    assert!(output.status.success(), "{keys}: {}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&trace).unwrap();
    let mut threads: BTreeMap<u32, Vec<Call>> = BTreeMap::new();
    for (thread, call) in text.lines().filter_map(call) {
        threads.entry(thread).or_default().push(call);
    }
    let is_own = |c: &Call| c.name == own;
    let mut calls = threads.into_values().max_by_key(|t| t.iter().filter(|c| is_own(c)).count()).unwrap();
    let first = calls.iter().position(is_own).unwrap_or_else(|| panic!("{keys}: nobody calls {own}"));
    let last = calls.iter().rposition(is_own).unwrap();
    calls.truncate(last + 1);
    let (calls, others): (Vec<Call>, Vec<Call>) = calls.split_off(first).into_iter().partition(is_own);
    let others: Vec<String> = others.into_iter().map(|c| c.name).collect();
    assert!(others.iter().all(|n| n == "futex"), "{keys}: besides {own}: {others:?}");
    assert!(
        others.len() as u128 <= hand_overs,
        "{keys}: {} wake-ups for {hand_overs} hand-overs",
        others.len()
    );
    calls
}

#[test]
fn psync_makes_one_call_an_io() {
    let Some(device) = loop_device(16) else { return };
    if !installed("psync_makes_one_call_an_io", "strace", "strace") {
        return;
    }
    let calls = measured(&device, "engine=psync iodepth=1", "pread64");
    assert_eq!(calls.len(), IOS);
}

#[test]
fn a_ring_hands_over_two_at_a_time_and_calls_for_nothing_else() {
    let Some(device) = loop_device(16) else { return };
    if !installed("a_ring_hands_over_two_at_a_time_and_calls_for_nothing_else", "strace", "strace") {
        return;
    }
    // What is in the page cache is answered within the call, so that all 32 are there at the next look, however slow the
    // tracing makes it; else they would seldom be more than one.
    std::io::copy(&mut device.open(), &mut std::io::sink()).unwrap();
    for (keys, at_once) in [("direct=false", true), ("direct=true", false)] {
        let calls = measured(&device, &format!("engine=io_uring iodepth=32 {keys}"), "io_uring_enter");
        let handed_over: Vec<usize> = calls.iter().map(|c| c.arguments[1].parse().unwrap()).collect();
        let (first, later) = handed_over.split_first().unwrap();
        // The timer of the loop is an entry, too.
        assert!((32..=33).contains(first), "{keys}: the depth is filled with the first call: {first}");
        // A batch that is held back until all of it is made lets the device wait meanwhile.
        let most = later.iter().max().unwrap();
        assert!(*most <= 3, "{keys}: {most} in one call");
        let entries: usize = handed_over.iter().sum();
        assert!(
            (IOS..IOS + IOS / 10).contains(&entries),
            "{keys}: {entries} entries for {IOS} I/Os and a timer"
        );
        let twos = later.iter().filter(|n| **n == 2).count();
        assert!(!at_once || 2 * twos > IOS * 9 / 10, "{keys}: {twos} calls with two for {IOS} I/Os");
        // A call for each, or for two and a wait for all of them.
        assert!((IOS / 2..IOS * 6 / 5).contains(&calls.len()), "{keys}: {} calls", calls.len());
    }
}
