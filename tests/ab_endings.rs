//! However an experiment ends, its settings go back, what was measured is kept, and the record says what happened: the real
//! program on real loop devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "support/mod.rs"]
mod support;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use blktune::record::reader::Record;
use blktune::record::summary::Ended;
use blktune::sys::loopdev::{self, LoopOptions};
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::sys::scratch;
use blktune::units::Bytes;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::experiment::{Ab, Said};
use support::loopdev::within_seconds;
use support::{LoopDevice, loop_device, privileged};

/// Two schedulers; the seed has the first block begin with the second of them.
const SCHEDULERS: &str = "--factor scheduler=none,mq-deadline --job randread-4k --ramp 0s --seed 42";

fn state(name: &KernelName) -> QueueState {
    QueueState::read(&SysRoot::host(), name)
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn bench() -> Option<(LoopDevice, QueueState)> {
    let d = loop_device(64)?;
    d.known_queue();
    let before = state(d.name());
    Some((d, before))
}

/// Waits until the candidate's scheduler is in force: a trial of it is under way, or its lead-in.
fn until_it_switches(ab: &mut Ab, d: &LoopDevice) {
    let switched = within_seconds(40, || ab.ended() || d.scheduler() == "mq-deadline");
    assert!(switched && !ab.ended(), "never switched");
}

fn lines_of(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

/// Waits until so many trials are in the record.
fn until_trials(ab: &mut Ab, n: usize) {
    let file = ab.record.join("trials.jsonl");
    let lines = || lines_of(&file);
    assert!(within_seconds(60, || ab.ended() || lines() >= n) && lines() >= n, "{n} trials never were");
}

fn is_back(d: &LoopDevice, before: &QueueState) {
    assert_eq!(before.differences(&state(d.name())), [], "not as it was");
}

fn restore(d: &LoopDevice) {
    let done = within_seconds(20, || {
        let output =
            Command::new(env!("CARGO_BIN_EXE_blktune")).args(["restore", "--json"]).output().unwrap();
        let j: Value = serde_json::from_slice(&output.stdout).unwrap();
        let alone = j["left_alone"].as_array().unwrap();
        !alone.iter().any(|l| l["device"] == d.kernel().as_str() && l["pid"].is_u64())
    });
    assert!(done, "another program has {} in hand for 20 s", d.kernel());
}

/// Both killed at once, in the middle of a trial.
fn killed() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    until_it_switches(&mut ab, &d);
    let [program] = support::children(ab.pid())[..] else { panic!("not one program under the supervisor") };
    send(ab.pid(), Signal::STOP);
    send(program, Signal::KILL);
    send(ab.pid(), Signal::KILL);
    let said = ab.end(20);
    assert_eq!((said.code, d.scheduler().as_str()), (None, "mq-deadline"));
    restore(&d);
    is_back(&d, &before);
    let record = Record::open(&said.record).unwrap();
    assert!(record.cut_off() && record.trials.len() >= 3, "{} trials", record.trials.len());
    assert_eq!(record.manifest.queue().differences(&before), []);
}

/// The connection goes: partial results are kept, and it ends in time.
fn hung_up() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    until_it_switches(&mut ab, &d);
    let began = Instant::now();
    send(ab.pid(), Signal::HUP);
    let said = ab.end(20);
    assert!(began.elapsed() < Duration::from_millis(2500), "{:?}", began.elapsed());
    assert_eq!(said.code, Some(129), "{}", said.stderr);
    is_back(&d, &before);
    assert_eq!((&said.document["interrupted"], &said.document["restored"]), (&true.into(), &true.into()));
    let record = Record::open(&said.record).unwrap();
    let summary = record.summary.unwrap();
    assert_eq!((summary.ended, summary.restored), (Ended::Stopped, Some(true)));
    assert!(summary.why.contains("stopped after 0 valid blocks"), "{}", summary.why);
    assert_eq!(record.trials.len(), said.document["trials"].as_array().unwrap().len());
}

/// The program alone is killed: its supervisor puts back.
fn program_killed() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    until_it_switches(&mut ab, &d);
    let [program] = support::children(ab.pid())[..] else { panic!("not one program under the supervisor") };
    send(program, Signal::KILL);
    let said = ab.end(20);
    assert_eq!(said.code, Some(137), "{}", said.stderr);
    assert!(within_seconds(4, || before.differences(&state(d.name())).is_empty()));
}

/// A fault of the program itself, in the middle of a trial of the candidate.
fn panicked() {
    let Some((d, before)) = bench() else { return };
    let fault = [("BLKTUNE_FAULT", "panic:trial-mq-deadline")];
    let ab = Ab::start_with(&d.kernel(), None, SCHEDULERS, &fault);
    let said = ab.end(60);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    assert!(said.stderr.contains("a fault was asked for"), "{}", said.stderr);
    is_back(&d, &before);
    let record = Record::open(&said.record).unwrap();
    assert!(record.cut_off() && record.trials.len() >= 3, "{} trials", record.trials.len());
}

/// The file behind the device is cut short: its I/O fails from then on.
fn truncated() {
    if !privileged("truncated") {
        return;
    }
    let file = scratch::nameless(&std::env::temp_dir()).unwrap();
    scratch::fill(&file, Bytes(64 << 20), &mut |_| ControlFlow::Continue(())).unwrap();
    let cut: File = file.try_clone().unwrap();
    let device = loopdev::LoopDevice::over(file, LoopOptions::default()).unwrap();
    let queue = SysRoot::host().queue(device.name());
    std::fs::write(queue.join("scheduler"), "none").unwrap();
    let before = state(device.name());
    let mut ab = Ab::start(&device.name().kernel(), None, SCHEDULERS);
    until_trials(&mut ab, 4);
    cut.set_len(0).unwrap();
    let said = ab.end(60);
    assert_eq!(before.differences(&state(device.name())), [], "not as it was");
    drop(device);
    assert_eq!(said.verdict().0, "invalid", "{}", said.document["reason"]);
    let gates = said.document["gates"].as_array().unwrap();
    assert!(gates.iter().any(|g| g["gate"] == "G3" && g["voids"] == true), "{gates:?}");
    assert!(!said.events("block_void").is_empty());
    let record = Record::open(&said.record).unwrap();
    assert_eq!(record.summary.unwrap().ended, Ended::Invalid);
    assert!(record.trials.iter().filter(|(t, _)| !t.void()).count() >= 4, "what was measured before is kept");
}

/// Another program sets the scheduler again and again, as tuned or a udev rule would.
fn contested() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    let end = Instant::now() + Duration::from_secs(90);
    while !ab.ended() && Instant::now() < end {
        if d.scheduler() == "mq-deadline" {
            std::thread::sleep(Duration::from_millis(300));
            d.put("scheduler", "none");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = ab.end(5);
    assert_eq!((said.code, said.verdict().0.as_str()), (Some(0), "invalid"), "{}", said.stderr);
    let reason = said.document["reason"].as_str().unwrap();
    assert!(reason.contains("scheduler") && reason.contains("mq-deadline"), "{reason}");
    let voids = said.events("block_void");
    assert!(!voids.is_empty() && voids[0]["reason"].as_str().unwrap().contains("scheduler"), "{voids:?}");
    is_back(&d, &before);
    assert_eq!(Record::open(&said.record).unwrap().summary.unwrap().ended, Ended::Invalid);
}

/// Where the workload alone differs, too, nobody else changes the device while it goes on.
fn only_the_workload() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, "--factor bs=4k,8k --job randread-4k --ramp 0s --seed 42");
    until_trials(&mut ab, 1);
    let [program] = support::children(ab.pid())[..] else { panic!("not one program under the supervisor") };
    let set = || {
        let mut set = Command::new(env!("CARGO_BIN_EXE_blktune"));
        set.args(["set", &d.kernel(), "nomerges=2"]).output().unwrap()
    };
    let refused = set();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(5), "{said}");
    assert!(said.contains(&format!("{} is held by process {program}", d.kernel())), "{said}");
    is_back(&d, &before);
    send(ab.pid(), Signal::INT);
    let said = ab.end(20);
    assert_eq!((said.code, &said.document["restored"]), (Some(130), &true.into()), "{}", said.stderr);
    assert_eq!(set().status.code(), Some(0), "held after the end");
}

/// Ctrl-Z is answered and stops nothing; SIGSTOP can not be answered, and the trial that it hit does not count.
fn halted() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    until_it_switches(&mut ab, &d);
    let [program] = support::children(ab.pid())[..] else { panic!("not one program under the supervisor") };
    let trials = || lines_of(&ab.record.join("trials.jsonl"));
    let n = trials();
    send(ab.pid(), Signal::TSTP);
    assert!(within_seconds(40, || trials() > n), "it does not go on");
    // Within the next trial.
    std::thread::sleep(Duration::from_secs(1));
    send(program, Signal::STOP);
    assert!(within_seconds(10, || [program, ab.pid()].iter().all(|p| support::state_of(*p) == Some('T'))));
    let hit = trials() + 1;
    send(ab.pid(), Signal::CONT);
    until_trials(&mut ab, hit);
    send(ab.pid(), Signal::INT);
    let said = ab.end(20);
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let refused = format!("no Ctrl-Z: an experiment holds the settings of {}", d.kernel());
    assert!(said.stderr.contains(&refused), "{}", said.stderr);
    is_back(&d, &before);
    let record = Record::open(&said.record).unwrap();
    let stopped: Vec<usize> = (record.trials.iter().enumerate())
        .filter(|(_, (t, _))| {
            t.findings.iter().any(|f| f.voids && f.text.contains("this program was stopped"))
        })
        .map(|(i, _)| i + 1)
        .collect();
    assert_eq!(stopped, [hit], "{:?}", record.trials.iter().map(|(t, _)| &t.findings).collect::<Vec<_>>());
}

/// Stopped by hand, and gone on with: what was measured counts, the interrupted block is repeated.
fn resumed() {
    let Some((d, before)) = bench() else { return };
    let mut ab = Ab::start(&d.kernel(), None, SCHEDULERS);
    until_trials(&mut ab, 4);
    send(ab.pid(), Signal::INT);
    let said: Said = ab.end(20);
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let dir = said.record.to_str().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_blktune"))
        .args(["ab", "--resume", dir, "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || lines_of(&said.record.join("trials.jsonl"));
    assert!(within_seconds(40, || child.try_wait().unwrap().is_some() || lines() >= 5), "it does not go on");
    send(child.id(), Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let j: Value = serde_json::from_slice(&output.stdout).unwrap();
    let numbers: Vec<u64> =
        j["trials"].as_array().unwrap().iter().map(|t| t["number"].as_u64().unwrap()).collect();
    assert!(numbers.len() >= 5 && numbers.windows(2).all(|w| w[0] < w[1]), "{numbers:?}");
    is_back(&d, &before);
}

#[test]
fn however_it_ends_everything_goes_back_and_the_record_says_what_happened() {
    // Beside one another, since each takes as long as its trials.
    let endings: [fn(); 9] =
        [killed, hung_up, program_killed, panicked, truncated, contested, only_the_workload, halted, resumed];
    std::thread::scope(|s| {
        for ending in endings {
            std::thread::Builder::new().name("ab_endings".to_owned()).spawn_scoped(s, ending).unwrap();
        }
    });
}
