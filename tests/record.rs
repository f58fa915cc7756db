//! Records: what `watch` prints while it records and what a replay prints, endings, damage, and the documented format.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use blktune::sys::inventory;
use blktune::sys::root::SysRoot;
use blktune::telemetry::recording::inventory::RecordedDevice;
use blktune::telemetry::recording::{Line, RecordedHost};
use blktune::units::Nanos;
use flate2::read::GzDecoder;
use serde_json::Value;
use support::blktune;
use support::fixtures::sysroot;
use tempfile::TempDir;

fn run(args: &[&str]) -> Output {
    let (mut c, _home) = blktune();
    c.args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let out = run(args);
    assert!(out.status.success(), "{args:?}: {}", stderr(&out));
    String::from_utf8(out.stdout).unwrap()
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// A directory and the path of a file in it that is not there yet.
fn place(name: &str) -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name).to_str().unwrap().to_owned();
    (dir, path)
}

/// A record of one device `sda` that reads 100 I/Os of 4 KiB between two samples, a second apart from `from` on.
fn record_text(from: u64, samples: u64) -> String {
    (0..samples)
        .map(|i| {
            let (ios, sectors, ms) = (1000 + 100 * i, 8000 + 800 * i, 500 + 50 * i);
            let row = format!("   8       0 sda {ios} 0 {sectors} {ms} 0 0 0 0 0 {ms} {ms} 0 0 0 0 0 0\\n");
            format!("{{\"t_s\": {}.25, \"diskstats\": \"{row}\", \"diskseq\": {{\"sda\": 9}}}}\n", from + i)
        })
        .collect::<Vec<_>>()
        .concat()
}

fn replayed(path: &str) -> Vec<Value> {
    let text = stdout(&["watch", "--replay", path, "--json"]);
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn a_replay_prints_what_watch_printed() {
    for (name, json, device) in [("r.jsonl", true, false), ("r.gz", true, true), ("r.gz", false, false)] {
        let (_dir, path) = place(name);
        let text = std::fs::read_to_string("/proc/diskstats").unwrap();
        let first = text.lines().next().and_then(|l| l.split_whitespace().nth(2)).unwrap_or_default();
        let mut shown = vec!["--count", "4"];
        shown.extend(json.then_some("--json"));
        shown.extend((device && !first.is_empty()).then_some(first));
        let live = stdout(&[&["watch", "--interval", "100ms", "--record", &path], &shown[..]].concat());
        let replay = stdout(&[&["watch", "--replay", &path], &shown[..]].concat());
        assert!(live.len() > 100 && live == replay, "{name}\nwatched:\n{live}\nreplayed:\n{replay}");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.starts_with(&[0x1f, 0x8b]), name == "r.gz", "{name}");
    }
}

#[test]
fn count_and_interval_choose_among_the_samples() {
    let (_dir, path) = place("r");
    std::fs::write(&path, record_text(100, 31)).unwrap();
    assert_eq!(stdout(&["watch", "--replay", &path, "--json", "--count", "3"]).lines().count(), 3);
    let thin = stdout(&["watch", "--replay", &path, "--json", "--interval", "10s"]);
    let thin: Vec<Value> = thin.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(thin.len(), 4);
    assert_eq!((&thin[1]["t_s"], &thin[1]["interval_s"]), (&Value::from(110.25), &Value::from(10.0)));
    assert_eq!(thin[1]["devices"][0]["read_iops"], 100.0);
}

#[test]
fn devices_are_rows_of_the_record_and_this_host_is_not_asked() {
    let tree = sysroot("linux-6.12-qemu");
    let (_dir, path) = place("r.gz");
    let dir = tree.path().to_str().unwrap();
    stdout(&["watch", "--sysroot", dir, "--interval", "100ms", "--count", "2", "--record", &path]);
    // People know a mapped device by a name that only the record's list of devices has.
    let devices = inventory::scan(&SysRoot::captured(tree.path())).unwrap();
    let mapped = devices.iter().find(|d| d.dm_name.is_some()).unwrap();
    let (node, dm) = (mapped.path.as_ref().unwrap().to_str().unwrap(), mapped.dm_name.as_deref().unwrap());
    let kernel = mapped.name().kernel();
    drop(tree);
    let cases = [
        ("nvme3n1", "nvme3n1"),
        ("/dev/nvme3n1p1", "nvme3n1p1"),
        ("dm-0", "dm-0"),
        (node, &kernel),
        (dm, &kernel),
    ];
    for (typed, name) in cases {
        let text = stdout(&["watch", "--replay", &path, "--json", typed]);
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let names: Vec<&Value> = line["devices"].as_array().unwrap().iter().map(|d| &d["name"]).collect();
        assert_eq!(names, [name], "{typed}");
    }
    let out = run(&["watch", "--replay", &path, "sdzz"]);
    assert_eq!(out.status.code(), Some(5));
    assert!(stderr(&out).contains("sdzz: no such device in the record"), "{}", stderr(&out));
}

#[test]
fn every_device_of_the_captured_trees_survives_a_record() {
    for tree in ["linux-6.1-qemu", "linux-6.12-qemu"] {
        let tree = sysroot(tree);
        let devices = inventory::scan(&SysRoot::captured(tree.path())).unwrap();
        assert!(devices.len() > 20);
        let line = Line {
            monotonic: Nanos(1),
            inventory: Some(devices.iter().map(RecordedDevice::from).collect()),
            ..Line::default()
        };
        let json = line.to_json().unwrap();
        let read = Line::parse(json.as_bytes()).unwrap();
        assert_eq!(read, line);
        for (recorded, mut device) in read.inventory.unwrap().iter().zip(devices) {
            // Records are handed around.
            for private in device.id.wwid.take().iter().chain(device.id.serial.take().iter()) {
                assert!(!json.contains(&format!("\"{private}\"")), "{private}");
            }
            assert_eq!(recorded.device().unwrap(), device);
        }
    }
}

#[test]
fn a_record_is_made_only_where_nothing_is() {
    let (dir, path) = place("there");
    std::fs::write(&path, "mine").unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("link")).unwrap();
    let beside = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for (path, says) in
        [(path.clone(), "exists"), (beside("link"), "exists"), (beside("no/r"), "No such file")]
    {
        let out = run(&["watch", "--count", "1", "--record", &path]);
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0), "{path}");
        assert!(stderr(&out).contains(says), "{}", stderr(&out));
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert!(!Path::new(&beside("elsewhere")).exists());
}

#[test]
fn what_is_no_record_is_told_by_the_exit_code() {
    let (dir, empty) = place("empty");
    std::fs::write(&empty, "").unwrap();
    let rubbish = dir.path().join("rubbish").to_str().unwrap().to_owned();
    std::fs::write(&rubbish, "no json\n{}\n").unwrap();
    let none = dir.path().join("none").to_str().unwrap().to_owned();
    for path in [&empty, &rubbish, &none, &dir.path().to_str().unwrap().to_owned()] {
        let out = run(&["watch", "--replay", path]);
        assert_eq!((out.status.code(), out.stdout.len()), (Some(2), 0), "{path}: {}", stderr(&out));
    }
    for args in [&["--replay", &empty, "--record", "x"][..], &["--replay", &empty, "--sandbox"]] {
        assert_eq!(run(&[&["watch"], args].concat()).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_cut_record_is_read_up_to_there_and_that_is_said_once() {
    let (_dir, path) = place("r");
    let text = record_text(0, 10);
    let middle = text.find("{\"t_s\": 5.25").unwrap();
    let damaged = format!("{}rubbish\n{}", &text[..middle], &text[middle..text.len() - 9]);
    std::fs::write(&path, damaged).unwrap();
    let out = run(&["watch", "--replay", &path, "--json"]);
    assert_eq!(
        (out.status.code(), String::from_utf8(out.stdout.clone()).unwrap().lines().count()),
        (Some(0), 9)
    );
    let said = stderr(&out);
    assert_eq!(said.lines().filter(|l| l.contains("cut off")).count(), 1, "{said}");
    assert_eq!(said.lines().filter(|l| l.contains("line 6 is no sample")).count(), 1, "{said}");
}

#[test]
fn a_signal_ends_a_record_in_order() {
    for (signal, number) in [
        (rustix::process::Signal::TERM, 15),
        (rustix::process::Signal::INT, 2),
        (rustix::process::Signal::HUP, 1),
    ] {
        let (_dir, path) = place("r.gz");
        let mut child = Command::new(env!("CARGO_BIN_EXE_blktune"))
            .args(["watch", "--interval", "100ms", "--json", "--record", &path])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        for _ in 0..3 {
            out.read_line(&mut printed).unwrap();
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).unwrap();
        out.read_to_string(&mut printed).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + number));
        // Complete: the member's end is there, and every sample that was printed.
        let mut text = String::new();
        GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().count(), printed.lines().count());
        assert_eq!(stdout(&["watch", "--replay", &path, "--json"]), printed);
    }
}

#[test]
fn a_record_that_can_not_grow_ends_with_a_message_and_stays_readable() {
    let (_dir, path) = place("r");
    // A file size limit whose signal is ignored fails a write as a full disk does.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" watch --interval 100ms --record \"$1\"";
    let out = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_blktune"), &path]).output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", stderr(&out));
    assert!(
        stderr(&out).contains("File too large") && stderr(&out).contains("recording ends"),
        "{}",
        stderr(&out)
    );
    assert!(!replayed(&path).is_empty());
}

#[test]
fn two_records_joined_are_one() {
    let (_dir, path) = place("r");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(record_text(100, 3).as_bytes()).unwrap();
    let first = gz.finish().unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(record_text(103, 3).as_bytes()).unwrap();
    std::fs::write(&path, [first, gz.finish().unwrap()].concat()).unwrap();
    let frames = replayed(&path);
    assert_eq!(frames.len(), 6);
    assert_eq!(frames[3]["devices"][0]["read_iops"], Value::Null, "counters began anew");
    // Two boots: time goes back, which is no interval.
    std::fs::write(&path, format!("{}{}", record_text(5000, 3), record_text(10, 3))).unwrap();
    let frames = replayed(&path);
    let intervals: Vec<&Value> = frames.iter().map(|f| &f["interval_s"]).collect();
    let second = Value::from(1.0);
    assert_eq!(intervals, [&Value::Null, &second, &second, &Value::Null, &second, &second]);
    for (i, frame) in frames.iter().enumerate() {
        let rate = &frame["devices"][0]["read_iops"];
        assert_eq!(*rate, if i % 3 == 0 { Value::Null } else { Value::from(100.0) }, "sample {i}");
    }
}

#[test]
fn a_record_on_a_watched_device_says_so() {
    let here = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let dir = tempfile::tempdir_in(here).unwrap();
    let path = dir.path().join("r");
    let out = run(&["watch", "--count", "1", "--record", path.to_str().unwrap()]);
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let number = std::os::unix::fs::MetadataExt::dev(&std::fs::metadata(&path).unwrap());
    let number = (rustix::fs::major(number).to_string(), rustix::fs::minor(number).to_string());
    let row = text
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>())
        .find(|f| f[0] == number.0 && f[1] == number.1);
    match row {
        Some(fields) => {
            assert!(stderr(&out).contains(&format!("lies on {}", fields[2])), "{}", stderr(&out));
            assert_eq!(stderr(&out).lines().count(), 1, "{}", stderr(&out));
        }
        // Memory, network, or a file system that hides its device.
        None => assert!(!stderr(&out).contains("lies on"), "{}", stderr(&out)),
    }
}

#[test]
fn the_documented_record_is_one() {
    let doc = include_str!("../docs/json.md");
    let example = doc.split("```json\n").find(|b| b.contains("\"diskstats\"")).unwrap();
    let example: Value = serde_json::from_str(example.split("```").next().unwrap()).unwrap();
    let line = Line::parse(example.to_string().as_bytes()).unwrap();
    assert_eq!(line.sample().rows.len(), 2);
    assert!(line.boot.is_some() && line.wall.is_some() && line.diskseq.len() == 1);
    assert_ne!(line.host, Some(RecordedHost::default()));
    assert_eq!(line.inventory.as_ref().unwrap().len(), 1);
    // Nothing in the example is ignored, and nothing that is written is missing from it.
    let written: Value = serde_json::from_str(&line.to_json().unwrap()).unwrap();
    let keys = |v: &Value| -> Vec<String> { v.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&written), keys(&example));
    assert_eq!(keys(&written["inventory"][0]), keys(&example["inventory"][0]));
    for key in keys(&written) {
        assert!(doc.contains(&format!("| `{key}` |")), "docs/json.md does not explain {key}");
    }
}

#[test]
fn the_documented_figures_are_those_of_watch() {
    let doc = include_str!("../docs/json.md");
    let (_dir, path) = place("r");
    std::fs::write(&path, record_text(0, 2)).unwrap();
    let frames = replayed(&path);
    for key in
        frames[1]["devices"][0].as_object().unwrap().keys().chain(frames[1].as_object().unwrap().keys())
    {
        assert!(doc.contains(&format!("`{key}`")), "docs/json.md does not explain {key}");
    }
}
