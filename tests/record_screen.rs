//! The screen on a record: the real binary in a pseudo-terminal.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fmt::Write as _;

use support::pty::Session;
use tempfile::TempDir;

/// A record in which `sdq`, which no host has, reads 100, 200, 300... I/Os a second.
fn record(more: &str, samples: u64) -> (TempDir, String) {
    let mut text = String::new();
    let mut ios = 0;
    for i in 0..samples {
        ios += 100 * i;
        let rows = format!(
            "  65       0 sdq {ios} 0 {} {ios} 0 0 0 0 0 {ios} {ios}\\n  65       1 sdq1 {ios} 0 {} {ios} 0 0 0 0 0 {ios} {ios}\\n",
            8 * ios,
            8 * ios
        );
        let wall = format!(", \"wall\": \"2026-12-02T23:{}:{:02}+01:00\"", 41 + (7 + i) / 60, (7 + i) % 60);
        let more = match (i, more) {
            (_, "") => String::new(),
            (0, more) => format!("{wall}{more}"),
            _ => wall,
        };
        writeln!(text, "{{\"t_s\": {}.5, \"diskstats\": \"{rows}\"{more}}}", 500 + i).unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("night.jsonl");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

const LISTED: &str = r#", "host": {"name": "db7", "kernel": "6.1.0-test", "cpus": 16},
    "inventory": [{"name": "sdq", "devnum": "65:0", "kind": "hdd", "size_bytes": 13000000000000, "model": "EXAMPLE",
    "scheduler": {"active": "bfq", "available": ["none", "bfq"], "changeable": true}, "rotational": true,
    "read_ahead_kib": 4096, "nr_requests": 64, "partitions": [{"name": "sdq1", "devnum": "65:1", "number": 1,
    "size_bytes": 13000000000000}]}]"#;

/// Waits for two places of the record, each shown with its hundred reads a second more than the one before. Which they are is
/// the machine's affair: a place is shown for a second at most.
fn moves(s: &Session, place: impl Fn(&str) -> Option<u64>) {
    let reads = |t: &str| -> Option<u64> {
        let row = t.lines().find(|l| l.starts_with(">sdq"))?;
        row.split_whitespace().nth(6)?.parse().ok()
    };
    let mut seen = 0;
    for _ in 0..2 {
        let before = seen;
        s.wait_until("the next figure", |t| place(t).zip(reads(t)).is_some_and(|(_, r)| r > before));
        let text = s.text();
        seen = reads(&text).unwrap();
        assert_eq!(Some(seen), place(&text).map(|p| 100 * p), "{text}");
    }
}

#[test]
fn figures_move_and_all_that_is_shown_is_the_records() {
    let (_dir, path) = record(&LISTED.replace('\n', ""), 1000);
    let mut s = Session::start(&["--replay", &path], 160, 30);
    for text in ["db7", "6.1.0-test", "night.jsonl", "23:41", "sdq", "bfq", "11.8T", "4096"] {
        s.wait_for(text);
    }
    // The second interval has twice the reads of the first, and so on.
    moves(&s, |t| {
        let (minute, second) = t.lines().next()?.split("2026-12-02 23:").nth(1)?.get(..5)?.split_once(':')?;
        (60 * minute.parse::<u64>().ok()? + second.parse::<u64>().ok()?).checked_sub(60 * 41 + 7)
    });
    assert!(!s.text().contains("vda"), "a device of this host is shown:\n{}", s.text());
    s.keys("p");
    s.wait_for("paused");
    // What is known of the queue is on the settings screen, and nothing of it can be written.
    s.keys("2");
    s.wait_for("> scheduler");
    s.wait_for("4096");
    s.keys(" ");
    s.wait_for("a record can be looked at, not changed");
    assert_eq!(s.quit().exit_code(), 0);
}

#[test]
fn a_record_without_a_list_of_devices_still_shows_its_rows() {
    let (_dir, path) = record("", 1000);
    let mut s = Session::start(&["--replay", &path, "sdq"], 120, 30);
    s.wait_for("sdq");
    s.wait_for("sdq1");
    s.wait_for("+0:00");
    assert!(!s.text().contains("0B"), "an unknown size is shown as 0:\n{}", s.text());
    moves(&s, |t| {
        t.lines().next()?.split(".5 s").next()?.rsplit(' ').next()?.parse::<u64>().ok()?.checked_sub(500)
    });
    assert_eq!(s.quit().exit_code(), 0);
}

#[test]
fn what_is_wrong_is_told_before_the_terminal_is_taken() {
    let (_dir, path) = record("", 0);
    let mut s = Session::start(&["--replay", &path], 80, 24);
    s.wait_for("no sample in it");
    assert_eq!(s.wait_for_end().exit_code(), 2);
}
