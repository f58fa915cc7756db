//! `blktune watch` beside `iostat -x` of sysstat, on the same device, at the same time.
//!
//! Both take a sample, then a load of every kind is put on the device and comes to its end, then both take another one.
//! So both count exactly the same I/O, and what may differ is only how long each takes its interval to be: one factor,
//! the same for every rate, and nothing at all for means and shares. Each column then has to agree to the last digit
//! that iostat prints. Where the machine was so busy that the load did not fit in between, or somebody else (udev)
//! touched the device meanwhile, that is seen and the whole is done again, with more room.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{LoopDevice, installed, loop_device};

/// Seconds between the two samples, in each attempt.
const WINDOWS: [u64; 3] = [5, 15, 45];
/// Long enough for what follows a load (udev looks at a device that was written to) to show.
const QUIET: Duration = Duration::from_millis(400);
/// iostat prints two decimals.
const LAST_DIGIT: f64 = 0.005;

/// The two programs' figures of the device over one window.
struct SideBySide {
    ours: Value,
    theirs: Value,
}

#[test]
fn every_column_of_iostat_agrees() {
    if !installed("every_column_of_iostat_agrees", "iostat", "sysstat") {
        return;
    }
    let Some(device) = loop_device(32) else { return };
    device.known_queue();
    // So that neighbouring requests can merge.
    device.put("scheduler", "mq-deadline");
    let Some(SideBySide { ours, theirs }) = WINDOWS.iter().find_map(|s| measure(&device, *s)) else {
        panic!("{} was never left alone for {} s", device.kernel(), WINDOWS[2]);
    };
    let b = |key: &str| ours[key].as_f64();
    let i = |key: &str| theirs[key].as_f64().unwrap_or_else(|| panic!("no {key} in {theirs}"));

    // iostat tells its interval nowhere. It counts hundredths of a second, and on a busy machine either program may be
    // late at either end.
    let data = |r: f64, w: f64| r + w;
    let factor = data(i("rkB/s"), i("wkB/s"))
        / (data(b("read_bytes_per_s").unwrap(), b("write_bytes_per_s").unwrap()) / 1024.0);
    assert!((0.8..1.25).contains(&factor), "intervals differ by {factor}: {ours} {theirs}");

    let merges = |ios: &str, pct: &str| b(ios).zip(b(pct)).map(|(ios, pct)| ios * pct / (100.0 - pct));
    let kib = |key: &str| b(key).map(|v| v / 1024.0);
    for (column, value) in [
        ("r/s", b("read_iops")),
        ("w/s", b("write_iops")),
        ("rkB/s", kib("read_bytes_per_s")),
        ("wkB/s", kib("write_bytes_per_s")),
        ("rrqm/s", merges("read_iops", "read_merged_pct")),
        ("wrqm/s", merges("write_iops", "write_merged_pct")),
        ("d/s", b("discard_iops")),
        ("dkB/s", kib("discard_bytes_per_s")),
        ("drqm/s", merges("discard_iops", "discard_merged_pct")),
        ("f/s", b("flush_iops")),
        ("aqu-sz", b("aqu_sz")),
        ("util", b("busy_raw_pct")),
    ] {
        agrees(column, i(column), value.map(|v| v * factor), &ours, &theirs);
    }
    for (column, value) in [
        ("r_await", b("read_await_ms")),
        ("w_await", b("write_await_ms")),
        ("d_await", b("discard_await_ms")),
        ("f_await", b("flush_await_ms")),
        ("rareq-sz", kib("read_size_bytes")),
        ("wareq-sz", kib("write_size_bytes")),
        ("dareq-sz", kib("discard_size_bytes")),
        ("rrqm", b("read_merged_pct")),
        ("wrqm", b("write_merged_pct")),
        ("drqm", b("discard_merged_pct")),
    ] {
        agrees(column, i(column), value, &ours, &theirs);
    }
    // The comparison was of something: reads that merged, small and large writes, flushes.
    for key in ["read_iops", "write_iops", "flush_iops", "read_merged_pct", "read_await_ms", "busy_pct"] {
        assert!(b(key).is_some_and(|v| v > 0.0), "no {key}: {ours}");
    }
    if device.get("discard_max_bytes") != "0" {
        assert!(b("discard_iops").is_some_and(|v| v > 0.0), "no discards: {ours}");
    }
}

/// iostat has 0.00 for what is undefined without any I/O; here that is null.
#[track_caller]
fn agrees(column: &str, theirs: f64, ours: Option<f64>, all_ours: &Value, all_theirs: &Value) {
    let ours = ours.unwrap_or(0.0);
    // Their last digit, and that of the rates that the factor is made of, some thousands: a few in a million.
    let room = LAST_DIGIT + 1e-9 + ours * 1e-5;
    assert!(
        (theirs - ours).abs() <= room,
        "{column}: {theirs} and {ours}\niostat {all_theirs}\nblktune {all_ours}"
    );
}

/// One window with the load in it. None if the load did not fit or was not alone.
fn measure(device: &LoopDevice, seconds: u64) -> Option<SideBySide> {
    sleep(QUIET);
    let at_start = device.stat();
    let home = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_blktune"))
        .args(["watch", &device.kernel(), "--json", "--count", "2", "--interval", &format!("{seconds}s")])
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut iostat = Command::new("iostat")
        .args(["-x", "-d", "-k", "-y", "-o", "JSON", &device.kernel(), &seconds.to_string(), "1"])
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("\"read_iops\":null"), "{first}");
    wait_until_asleep(&iostat);
    let before_load = device.stat();
    load(device);
    sleep(QUIET);
    let after_load = device.stat();
    let fitted = begin.elapsed() + QUIET < Duration::from_secs(seconds);

    let second: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let mut text = String::new();
    iostat.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert!(iostat.wait().unwrap().success() && watch.wait().unwrap().success());
    let at_end = device.stat();
    // Without the gauge of requests in flight. Reading also moves the clock of a busy device, but this one is idle.
    if !fitted || at_start != before_load || after_load != at_end {
        eprintln!("again: fitted {fitted}, {at_start:?} {before_load:?} {after_load:?} {at_end:?}");
        return None;
    }
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let theirs = report["sysstat"]["hosts"][0]["statistics"][0]["disk"][0].clone();
    assert_eq!(theirs["disk_device"], device.kernel(), "{text}");
    Some(SideBySide { ours: second["devices"][0].clone(), theirs })
}

/// Waits until the program has read its first sample and sleeps: seen asleep a few times in a row.
fn wait_until_asleep(child: &Child) {
    let end = Instant::now() + Duration::from_secs(10);
    let mut asleep = 0;
    while asleep < 5 {
        assert!(Instant::now() < end, "iostat does not come to rest");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        // Until exec the state is that of this program's copy.
        let named = stat.contains("(iostat)");
        asleep = if named && state == Some('S') { asleep + 1 } else { 0 };
        sleep(Duration::from_millis(20));
    }
}

/// Reads and writes, small and large, with and without neighbours, flushes and discards. All is done when it returns.
fn load(device: &LoopDevice) {
    let dev = device.dev();
    let (input, output) = (format!("if={dev}"), format!("of={dev}"));
    let dd = |args: &[&str]| run(Command::new("dd").arg("status=none").args(args));
    dd(&[&input, "of=/dev/null", "bs=4k", "count=300", "iflag=direct"]);
    dd(&[&input, "of=/dev/null", "bs=1M", "count=8", "skip=8", "iflag=direct"]);
    dd(&["if=/dev/zero", &output, "bs=4k", "count=150", "seek=1000", "oflag=direct", "conv=notrunc,fsync"]);
    dd(&["if=/dev/zero", &output, "bs=256k", "count=16", "seek=40", "oflag=direct,dsync", "conv=notrunc"]);
    // Through the page cache: many pages a request.
    dd(&["if=/dev/zero", &output, "bs=4k", "count=512", "seek=6000", "conv=notrunc,fsync"]);
    if device.get("discard_max_bytes") != "0" {
        for offset in ["16MiB", "20MiB"] {
            run(Command::new("blkdiscard").args(["--offset", offset, "--length", "2MiB", &dev]));
        }
    }
    // Neighbours handed in together, which the block layer makes one request of.
    let (mut blktune, _home) = support::blktune();
    let set = ["bs=4k", "iodepth=32", "runtime=300ms", "ramp=0s"].map(|s| ["--set", s]).concat();
    blktune.args(["run", "seqread-1m", &dev, "--busy-ok"]).args(set).assert().success();
}

fn run(command: &mut Command) {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
}
