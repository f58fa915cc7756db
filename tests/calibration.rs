//! What a calibration that was kept does to the experiments after it, through the command.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use blktune::clock::{Clock as _, SystemClock};
use blktune::experiment::asked::{Asked, design};
use blktune::experiment::calibration::{Calibration, Shape, identity};
use blktune::experiment::verdict::Verdict;
use blktune::record::{calibrations, manifest};
use blktune::sys::inventory;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::sys::usage::Users;
use serde_json::Value;
use support::loopdev::within_seconds;
use support::{LoopDevice, loop_device};

const DAY_S: u64 = 24 * 60 * 60;
const WORDS: &str =
    "--factor scheduler=none,mq-deadline --job randread-4k --trial 3s --ramp 0s --settle 0s --seed 7";

/// A device, and a state directory with a calibration of it that was taken three days ago.
fn calibrated(verdict: Verdict) -> Option<(LoopDevice, tempfile::TempDir)> {
    let device = loop_device(8)?;
    device.known_queue();
    let root = SysRoot::host();
    let state = QueueState::read(&root, device.name());
    let asked = Asked {
        calibrate: true,
        trial: Some(std::time::Duration::from_secs(3)),
        ramp: Some(std::time::Duration::ZERO),
        ..Asked::new(&device.kernel(), "randread-4k", 1)
    };
    let design = design(&asked, &state).unwrap().design;
    let row = inventory::read(&root, device.name(), &Users::default()).unwrap();
    let kept = Calibration {
        device: device.kernel(),
        identity: identity(&row.id, row.size, manifest::boot_id(&root).as_deref()),
        kernel: rustix::system::uname().release().to_str().unwrap().to_owned(),
        at_s: SystemClock.wall().0 / 1_000_000_000 - 3 * DAY_S - 60,
        shape: Shape::of(&design, 0).unwrap(),
        settings: [("scheduler".to_owned(), state.effective("scheduler").unwrap())].into(),
        spread: 0.02,
        blocks: 6,
        verdict,
        sentence: "B is faster: +4.0 % (95 % CI +3.0…+5.0 %, 6 blocks).".to_owned(),
    };
    let home = tempfile::tempdir().unwrap();
    calibrations::keep(&home.path().join("blktune"), &kept).unwrap();
    Some((device, home))
}

fn ab(device: &LoopDevice, home: &Path, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blktune"));
    command.args(["ab", &device.kernel()]).args(WORDS.split(' ')).args(more.split_whitespace());
    command.env("XDG_STATE_HOME", home).env("HOME", home);
    command
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_margin_below_what_the_machine_can_show_does_not_start() {
    let Some((device, home)) = calibrated(Verdict::Equivalent) else { return };
    let before = device.stat();
    let (code, out, err) = said(&ab(&device, home.path(), "--margin 0.5%").output().unwrap());
    assert_eq!((code, &*out), (Some(2), ""), "{err}");
    assert!(err.contains("0.78 % is the least; --margin-ok starts it all the same"), "{err}");
    assert_eq!(device.stat(), before, "before anything was read");
    let (code, out, _) = said(&ab(&device, home.path(), "--margin 0.5% --plan").output().unwrap());
    assert_eq!(code, Some(0));
    let first: Vec<&str> = out.lines().take(2).collect();
    assert!(first[0].starts_with("calibrated 3 days ago: with 20 blocks, differences under 1.57 %"), "{out}");
    assert!(first[1].contains("--margin-ok"), "{out}");
    let (_, out, _) = said(&ab(&device, home.path(), "--plan --blocks 6").output().unwrap());
    assert!(
        out.starts_with("calibrated 3 days ago: with 6 blocks, ") && !out.contains("--margin-ok"),
        "{out}"
    );
}

#[test]
fn it_is_in_result_record_and_report() {
    let Some((device, home)) = calibrated(Verdict::Better) else { return };
    let record: PathBuf = home.path().join("record");
    let more = format!("--margin 0.5% --margin-ok --json --record {}", record.display());
    let mut command = ab(&device, home.path(), &more);
    let child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    assert!(within_seconds(60, || record.join("manifest.json").exists()));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (_, out, err) = said(&child.wait_with_output().unwrap());
    let document: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let warning = document["calibration"]["text"].as_str().unwrap();
    assert!(
        warning.starts_with("Warning – calibrated 3 days ago, and the same cell twice did not come out"),
        "{warning}"
    );
    assert_eq!(document["notes"][0], warning);
    assert!(err.contains(warning), "it is said before the start, too: {err}");
    let (_, report, _) =
        said(&Command::new(env!("CARGO_BIN_EXE_blktune")).arg("report").arg(&record).output().unwrap());
    let head: Vec<&str> = report.lines().filter(|l| !l.is_empty()).take(3).collect();
    assert!(head.iter().any(|l| l.starts_with("**Warning – calibrated 3 days ago")), "{head:?}");
}
