//! Experiments on loop devices whose truth is known, and the command line of `ab`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "support/mod.rs"]
mod support;

use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use blktune::clock::SystemClock;
use blktune::experiment::analysis::{Analysis, analyse};
use blktune::experiment::asked::{self, Asked};
use blktune::experiment::conductor::Conductor;
use blktune::experiment::design::{Blocks, Isolation};
use blktune::experiment::drive::conduct;
use blktune::experiment::event::Ending;
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::order::Light;
use blktune::experiment::verdict::Verdict;
use blktune::runtime::kernel_bench::KernelBench;
use blktune::sys::loopdev::{self, LoopOptions};
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::sys::{inventory, scratch};
use blktune::tuning::journal::Journal;
use blktune::workload::target::Target;
use serde_json::Value;
use support::experiment::{Ab, Said};
use support::throttle::Throttle;
use support::{LoopDevice, loop_device, privileged};

/// More than a trial reads, so that nothing is met again in memory.
const SIZE: u64 = 3 << 30;
/// Buffered reads of 4 KiB: read-ahead is all that makes them larger.
const BUFFERED: &str =
    "--job seqread-1m --set bs=4k --set direct=false --set drop_caches=true --blocks 6 --ramp 500ms --seed 7";

/// One experiment on a device of its own that answers 100 requests a second: so slowly that it does so on a busy machine, too.
/// None if it could not be run.
fn experiment(words: &str) -> Option<Said> {
    experiment_and_then(words, &|_, _| {})
}

/// The same, with something to be done while the device is there.
fn experiment_and_then(words: &str, then: &dyn Fn(&str, &Said)) -> Option<Said> {
    if !privileged("an experiment on a throttled device") {
        return None;
    }
    let file = scratch::nameless(&std::env::temp_dir()).unwrap();
    file.set_len(SIZE).unwrap();
    let device = loopdev::LoopDevice::over(file, LoopOptions::default()).unwrap();
    let queue = SysRoot::host().queue(device.name());
    for (name, value) in [("rotational", "0"), ("scheduler", "none"), ("read_ahead_kb", "128")] {
        std::fs::write(queue.join(name), value).unwrap();
    }
    let before = QueueState::read(&SysRoot::host(), device.name());
    let throttle = Throttle::read_iops_of(device.name(), 100)?;
    let said = Ab::start(&device.name().kernel(), Some(throttle.group()), words).end(280);
    assert_eq!(before.differences(&QueueState::read(&SysRoot::host(), device.name())), [], "{words}");
    assert_eq!((said.code, &said.document["restored"]), (Some(0), &true.into()), "{}", said.stderr);
    then(&device.name().kernel(), &said);
    Some(said)
}

/// Read-ahead makes 4 KiB reads up to 1280 KiB each, so that the same number of requests brings many times as much.
fn read_ahead_under_small_reads() {
    let Some(said) = experiment(&format!("--factor read_ahead_kb=4,4096 {BUFFERED}")) else { return };
    let (verdict, ratio) = said.verdict();
    assert!(verdict == "better" && ratio > 10.0, "{verdict} x{ratio}: {}", said.document["gates"]);
    let confirmation = said.document["confirmation"]["text"].as_str().unwrap();
    assert!(confirmation.starts_with("One experiment: "), "{confirmation}");
    assert!(said.document["notes"].as_array().unwrap().iter().any(|n| n == confirmation));
}

/// That no difference was found where there is none. On a busy machine it may be left open, but no winner is made up.
fn no_winner(said: &Said) {
    let (verdict, ratio) = said.verdict();
    assert!(
        ["equivalent", "inconclusive"].contains(&verdict.as_str()),
        "{verdict} x{ratio}: {}",
        said.document["gates"]
    );
}

/// What read-ahead was in each trial of the candidate.
fn candidates_read_ahead(said: &Said) -> Vec<String> {
    let text = std::fs::read_to_string(said.record.join("trials.jsonl")).unwrap();
    let trials = text.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    trials
        .filter(|t| t["cell"] == 1 && !t["detail"].is_null())
        .map(|t| t["detail"]["settings_before"]["read_ahead_kb"].as_str().unwrap().to_owned())
        .collect()
}

/// Direct reads know no read-ahead.
fn read_ahead_under_direct_reads() {
    let words = "--factor read_ahead_kb=4,4096 --control --job randread-4k --blocks 6 --ramp 500ms --seed 7";
    let Some(said) = experiment(words) else { return };
    no_winner(&said);
}

/// The flag itself changes nothing here; what it moves behind one's back is put right before each trial.
fn rotational_by_itself() {
    let Some(said) = experiment(&format!("--factor rotational=0,1 {BUFFERED}")) else { return };
    no_winner(&said);
    let read_ahead = candidates_read_ahead(&said);
    assert!(read_ahead.len() >= 12 && read_ahead.iter().all(|r| r == "128"), "{read_ahead:?}");
}

/// A bare echo raises read-ahead as well, where the kernel has it so.
fn rotational_with_what_it_moves() {
    let Some(said) = experiment(&format!("--factor rotational=0,1 --side-effects {BUFFERED}")) else {
        return;
    };
    let moved = candidates_read_ahead(&said).iter().any(|r| r != "128");
    let (verdict, ratio) = said.verdict();
    assert_eq!(verdict == "better", moved, "{verdict} x{ratio}");
    assert!(!moved || ratio > 2.0, "x{ratio}");
}

/// What a calibration found is kept, and said of the next experiment with its workload on its device.
fn calibrated_and_told() {
    let workload = "--job randread-4k --ramp 500ms";
    experiment_and_then(&format!("--calibrate {workload} --seed 7"), &|device, said| {
        no_winner(said);
        let kept = "kept for 7 days: experiments with this workload";
        let notes = said.document["notes"].as_array().unwrap();
        assert!(notes.iter().any(|n| n.as_str().unwrap().starts_with(kept)), "{notes:?}");
        let plan = |more: &str| -> Value {
            let out = Command::new(env!("CARGO_BIN_EXE_blktune"))
                .args(["ab", device, "--factor", "scheduler=none,mq-deadline", "--plan", "--json"])
                // As the experiment itself was started.
                .args(["--trial", "3s", "--settle", "0s"])
                .args(more.split_whitespace())
                .env("XDG_STATE_HOME", said.state())
                .output()
                .unwrap();
            serde_json::from_slice(&out.stdout).unwrap()
        };
        let next = plan(workload)["calibration"].clone();
        assert_eq!(
            (&next["stale"], &next["verdict"]),
            (&Value::Null, &said.document["comparisons"][0]["verdict"])
        );
        assert!(next["text"].as_str().unwrap().contains("calibrated today"), "{next}");
        assert!(next["detectable"].as_f64().unwrap() > 0.0, "{next}");
        assert_eq!(plan("--job randread-4k-qd32")["calibration"], Value::Null, "another workload");
        // Not a machine's setting any more as it was.
        let queue = SysRoot::host().queue(&blktune::sys::name::KernelName::new(device).unwrap());
        std::fs::write(queue.join("read_ahead_kb"), "64").unwrap();
        let stale = plan(workload)["calibration"]["stale"].clone();
        assert_eq!(stale, "read_ahead_kb was 128 then, and is 64");
    });
}

#[test]
fn experiments_of_known_truth_come_out_right() {
    // Beside one another, since each takes two minutes, nearly all of it waiting.
    let all: [fn(); 5] = [
        calibrated_and_told,
        read_ahead_under_small_reads,
        read_ahead_under_direct_reads,
        rotational_by_itself,
        rotational_with_what_it_moves,
    ];
    std::thread::scope(|s| {
        for one in all {
            std::thread::Builder::new().name("ab".to_owned()).spawn_scoped(s, one).unwrap();
        }
    });
}

fn ab(args: &[&str]) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_blktune"))
        .arg("ab")
        .args(args)
        .env("XDG_STATE_HOME", home.path())
        .output()
        .unwrap();
    assert!(std::fs::read_dir(home.path()).unwrap().next().is_none(), "{args:?} left something behind");
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_plan_touches_nothing_and_says_every_trial() {
    let Some(d) = loop_device(4) else { return };
    d.known_queue();
    let before = (QueueState::read(&SysRoot::host(), d.name()), d.stat());
    let words = ["--factor", "scheduler=none,mq-deadline", "--job", "randread-4k", "--blocks", "6", "--plan"];
    let name = d.kernel();
    let mut args = vec![name.as_str()];
    args.extend(words);
    let (code, out, err) = ab(&args);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.matches("lead-in (discarded)").count(), 6, "{out}");
    assert!(out.contains("It takes 6.6 min") && out.contains("look, the last"), "{out}");
    args.push("--json");
    let j: Value = serde_json::from_str(&ab(&args).1).unwrap();
    assert_eq!(j["plan"].as_array().unwrap().len(), 6 * 5 + 6);
    assert_eq!(j["design"]["cells"][1]["name"], "mq-deadline");
    assert_eq!(before, (QueueState::read(&SysRoot::host(), d.name()), d.stat()));
}

#[test]
fn what_can_not_be_compared_is_refused_before_anything_starts() {
    let Some(d) = loop_device(4) else { return };
    d.known_queue();
    let name = d.kernel();
    for (words, code, part) in [
        ("--factor scheduler=none,mq-deadline", 2, "--job"),
        ("--factor read_ahead_kb=4,512 --job randread-4k", 2, "--control"),
        ("--factor scheduler=none,mq-deadline,bfq --job randread-4k", 2, "two"),
        ("--factor scheduler=none,none --job randread-4k", 2, "none"),
        ("--factor scheduler=none,mq-deadline --factor nomerges=0,2 --job randread-4k", 2, "--together"),
        ("--factor scheduler=none,mq-deadline --job randread-4k --race iops", 2, "--race"),
        ("--factor scheduler=none,mq-deadline --job randread-4k --trial 1s", 2, "--trial"),
        ("--factor scheduler=none,mq-deadline --job randwrite-4k", 6, "--target DIR"),
    ] {
        let mut args = vec![name.as_str()];
        args.extend(words.split(' '));
        let (got, _, err) = ab(&args);
        assert_eq!(got, code, "{words}: {err}");
        assert!(err.contains(part), "{words}: {err}");
    }
    assert_eq!(ab(&["no-such-device", "--factor", "bs=4k,8k", "--job", "randread-4k"]).0, 5);
}

/// Whether this kernel raises read-ahead at every write of a limit. Leaves read-ahead at 128.
fn ratchets(d: &LoopDevice) -> bool {
    d.put("read_ahead_kb", "4");
    d.put("rotational", "0");
    let raised = d.get("read_ahead_kb") != "4";
    d.put("read_ahead_kb", "128");
    raised
}

/// A whole experiment on rotational, with trials as short as no person may ask for: what is looked at are the settings.
fn flag_by(isolation: Isolation, d: &LoopDevice) -> (Ending, Analysis) {
    let root = SysRoot::host();
    let stop = AtomicBool::new(false);
    let id = inventory::identify(&root, d.name()).unwrap();
    let asked = Asked {
        factors: vec!["rotational=0,1".to_owned()],
        isolation,
        blocks: Blocks::Fixed(6),
        ramp: Some(Duration::ZERO),
        settle: Some(Duration::ZERO),
        ..Asked::new(&d.kernel(), "randread-4k", 7)
    };
    let mut design = asked::design(&asked, &QueueState::read(&root, d.name())).unwrap().design;
    design.trial = Duration::from_millis(50);
    let target = Target::open(&root, &d.node()).unwrap().unwrap();
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::new(home.path(), "this boot");
    let mut bench = KernelBench::open(&root, &journal, &id, None, target, None);
    let mut conductor = Conductor::new(design, bench.found());
    let done = conduct(&mut conductor, &mut bench, &SystemClock, &stop, &mut |_| {});
    assert_eq!(done.not_restored, Vec::<String>::new());
    let _ = bench.close(true);
    let question = Question::of(conductor.design(), None);
    let a = analyse(&question, &from_trials(&question, conductor.trials()), &conductor.circumstances());
    (done.ending, a)
}

/// What the kernel really does to read-ahead when rotational is set by echo, again and again.
#[test]
fn echoes_in_sequence_are_never_a_clean_verdict_where_the_kernel_has_a_ratchet() {
    let Some(d) = loop_device(64) else { return };
    d.known_queue();
    if !ratchets(&d) {
        // Linux before 6.11 and such: an echo moves nothing else, and there is nothing to carry over.
        eprintln!("not run: a write of rotational leaves read-ahead alone on this kernel");
        return;
    }
    let before = QueueState::read(&SysRoot::host(), d.name());
    let is_back = || assert_eq!(before.differences(&QueueState::read(&SysRoot::host(), d.name())), []);
    let (ending, a) = flag_by(Isolation::Sequence, &d);
    is_back();
    assert_eq!((ending, a.order.light), (Ending::Invalid, Light::Red), "{}", a.order.text);
    assert!(a.comparisons.iter().all(|c| c.verdict == Verdict::Invalid));
    assert!(a.sentence().contains("read_ahead_kb was 128 in the first trial of "), "{}", a.sentence());
    // From the restored baseline each time, a cell stays what it is.
    let (ending, a) = flag_by(Isolation::SideEffects, &d);
    is_back();
    assert!([Ending::Decided, Ending::Finished].contains(&ending), "{}", a.sentence());
    assert!(!a.order.text.contains("carried over from trial to trial"), "{}", a.order.text);
}
