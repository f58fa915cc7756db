//! Workloads in a pseudo-terminal: jobs that write, on a scratch file that is gone afterwards.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::Path;

use support::pty::Session;
use tempfile::TempDir;

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const HOME: &str = "\x1b[H";
const END: &str = "\x1b[F";

/// A directory on a real file system, not in memory.
fn place() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().count() == 0
}

/// Presses j until the cursor is on this row.
fn go_to(s: &mut Session, row: &str) {
    let at = format!(">{row}");
    for _ in 0..40 {
        if s.text().contains(&at) {
            return;
        }
        s.press("j");
    }
    panic!("no {row}; the screen is:\n{}", s.text());
}

/// Opens the form of a preset.
fn form(s: &mut Session, preset: &str) {
    s.wait_for("NAME");
    s.keys("3");
    s.wait_for("PRESET");
    go_to(s, preset);
    s.keys(ENTER);
    s.wait_for(">[ start ]");
}

/// Types a value into a field.
fn set(s: &mut Session, field: &str, value: &str, shown: &str) {
    s.keys(HOME);
    s.wait_for(">target");
    go_to(s, &format!("{field} "));
    s.keys(ENTER);
    s.wait_for("cancel");
    s.keys(&"\x7f".repeat(12));
    s.keys(value);
    s.keys(ENTER);
    s.wait_until(&format!("{field} taken"), |t| {
        t.lines().any(|l| l.contains(&format!(">{field} ")) && l.contains(shown))
    });
}

fn start(s: &mut Session) {
    s.keys(END);
    s.wait_for(">[ start ]");
    s.keys(ENTER);
}

#[test]
fn a_mix_runs_on_a_scratch_file_and_leaves_nothing_behind() {
    let dir = place();
    let mut s = Session::start_in(dir.path(), &[], 100, 36);
    form(&mut s, "randrw-4k-70");
    set(&mut s, "size", "32m", "32 MiB");
    set(&mut s, "runtime", "2", "2 s");
    set(&mut s, "ramp", "0", "0 s");
    s.wait_for("The file, 32 MiB");
    start(&mut s);
    s.wait_for("measuring");
    s.wait_until("both directions live", |t| {
        let moving = |word: &str| {
            let row = t.lines().find(|l| l.starts_with(word)).unwrap_or_default();
            row.split_whitespace().nth(1).is_some_and(|v| v.starts_with(|c: char| ('1'..='9').contains(&c)))
        };
        moving(" read ") && moving(" write ")
    });
    assert!(is_empty(dir.path()), "the scratch file has a name");
    s.wait_for(" s measured");
    let text = s.text();
    assert!(text.contains("too short"), "two seconds are few, and that is said:\n{text}");
    let ios = |word: &str| -> f64 {
        let row = text.lines().find(|l| l.starts_with(word)).unwrap_or_default();
        let value = row.split_whitespace().nth(1).unwrap_or_default();
        value.trim_end_matches('k').parse::<f64>().unwrap() * if value.ends_with('k') { 1000.0 } else { 1.0 }
    };
    let share = ios(" read ") / (ios(" read ") + ios(" write "));
    assert!((0.6..0.8).contains(&share), "70 to 30 were asked for, {share} were reads:\n{text}");
    s.keys(ESC);
    s.wait_for("PRESET");
    assert_eq!(s.quit().exit_code(), 0);
    assert!(is_empty(dir.path()));
}

#[test]
fn several_jobs_run_at_once_and_are_told_apart() {
    let dir = place();
    let mut s = Session::start_in(dir.path(), &[], 120, 50);
    form(&mut s, "readers-vs-writer");
    set(&mut s, "size", "32m", "32 MiB");
    s.keys(HOME);
    s.wait_for(">target");
    s.keys("jl");
    s.wait_for("readers / [writer]");
    set(&mut s, "size", "32m", "32 MiB");
    set(&mut s, "runtime", "1", "1 s");
    set(&mut s, "ramp", "0", "0 s");
    start(&mut s);
    s.wait_for("readers read");
    s.wait_for("writer write");
    s.wait_for(" s measured");
    s.wait_until("who got how much", |t| t.contains("readers got") && t.contains("fair would be 80.0%"));
    assert_eq!(s.quit().exit_code(), 0);
    assert!(is_empty(dir.path()));
}

#[test]
fn writing_the_scratch_file_can_be_stopped() {
    let dir = place();
    let mut s = Session::start_in(dir.path(), &[], 100, 30);
    form(&mut s, "seqwrite-1m");
    start(&mut s);
    s.wait_for("writing the scratch file");
    s.keys(ESC);
    s.wait_for("Stop the run?");
    s.keys("\x1b[C");
    s.keys(ENTER);
    s.wait_for("stopped while the scratch file was written");
    assert!(is_empty(dir.path()));
    assert_eq!(s.quit().exit_code(), 0);
}
