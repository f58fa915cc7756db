//! The real binary in a pseudo-terminal: from the start to the terminal as it was before, with real keys on a real
//! loop device.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use support::frames::{FrameStream, outside_frames};
use support::pty::Session;
use support::{LoopDevice, loop_device};

const DOWN: &str = "\x1b[B";
const END: &str = "\x1b[F";
const ENTER: &str = "\r";
const ESC: &str = "\x1b";

fn name(device: &LoopDevice) -> String {
    device.kernel()
}

/// Presses a key until the screen satisfies `holds`.
fn press_until(s: &mut Session, key: &str, what: &str, holds: impl Fn(&str) -> bool) {
    for _ in 0..12 {
        if holds(&s.text()) {
            return;
        }
        s.press(key);
    }
    panic!("{what} never came; the screen is:\n{}", s.text());
}

/// The program is gone, with this exit code, and the terminal is as it was.
fn left_in_order(s: &mut Session, modes: [u64; 4], code: u32) {
    let status = s.wait_for_end();
    assert_eq!(status.exit_code(), code, "{status:?}; the screen is:\n{}", s.text());
    s.wait_until("the main screen with its cursor", |_| {
        s.with_screen(|v| !v.alternate_screen() && !v.hide_cursor())
    });
    assert_eq!(s.modes(), modes, "the terminal's modes are not as before");
}

/// At every read and write of a node the kernel looks for who watches its directory: whoever uses the device pays for that, a
/// trial of ours included.
#[test]
fn an_open_screen_watches_no_directory_of_device_nodes() {
    let s = Session::start(&[], 100, 30);
    s.wait_for("NAME");
    let [program] = support::children(s.pid())[..] else { panic!("not one program under the supervisor") };
    let watched = || -> Vec<(u64, u64)> {
        let entries = std::fs::read_dir(format!("/proc/{program}/fdinfo")).unwrap();
        let texts = entries.flatten().filter_map(|e| std::fs::read_to_string(e.path()).ok());
        let number = |line: &str, key: &str| {
            let word =
                line.split_whitespace().find_map(|w| u64::from_str_radix(w.strip_prefix(key)?, 16).ok());
            word.unwrap_or_else(|| panic!("no {key} in {line}"))
        };
        let of = |line: &str| (number(line, "sdev:"), number(line, "ino:"));
        texts
            .flat_map(|t| t.lines().filter(|l| l.starts_with("inotify ")).map(of).collect::<Vec<_>>())
            .collect()
    };
    // The queue of the chosen device is watched as soon as it is shown: so this sees watches where there are any.
    s.wait_until("a watch", |_| !watched().is_empty());
    let mut directories = vec![std::path::PathBuf::from("/dev")];
    while let Some(dir) = directories.pop() {
        let meta = std::fs::metadata(&dir).unwrap();
        let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        // As the kernel writes a device number of its own.
        let here = (u64::from(major) << 20 | u64::from(minor), meta.ino());
        let entries: Vec<_> = std::fs::read_dir(&dir).into_iter().flatten().flatten().collect();
        let kinds = || entries.iter().filter_map(|e| e.file_type().ok());
        if kinds().any(|k| k.is_block_device()) {
            assert!(!watched().contains(&here), "{} is watched", dir.display());
        }
        let below = entries.iter().filter(|e| e.file_type().is_ok_and(|k| k.is_dir()));
        directories.extend(below.map(std::fs::DirEntry::path).filter(|d| std::fs::metadata(d).is_ok()));
    }
}

#[test]
fn the_main_job_from_start_to_quit() {
    let Some(device) = loop_device(16) else { return };
    device.known_queue();
    device.put("scheduler", "none");
    let name = name(&device);
    let mut s = Session::start(&[&name, "--interval", "200ms"], 100, 30);
    let modes = s.modes_before();
    s.wait_for("NAME");
    s.wait_until("the device chosen", |t| t.lines().any(|l| l.starts_with('>') && l.contains(&name)));

    // See: a figure, not a dash, once there are two samples.
    s.wait_until("live figures", |t| t.lines().any(|l| l.starts_with('>') && l.contains("0%")));

    // Stage: nothing is written yet.
    s.keys("2");
    s.wait_for("> scheduler");
    press_until(&mut s, " ", "bfq staged", |t| {
        t.lines().any(|l| l.starts_with("> scheduler") && l.split_whitespace().nth(4) == Some("bfq"))
    });
    assert_eq!(device.scheduler(), "none", "staging wrote to the kernel");

    // Apply: only Enter in the diff writes.
    s.keys("c");
    s.wait_for("staged changes");
    assert_eq!(device.scheduler(), "none", "looking at the diff wrote to the kernel");
    s.keys(ENTER);
    s.wait_for("what became of the changes");
    s.wait_for("applied");
    assert_eq!(device.scheduler(), "bfq");
    s.keys(ESC);
    s.wait_until("the dialog closed", |t| !t.contains("what became of"));
    s.wait_until("the new value in its row", |t| {
        t.lines().any(|l| l.starts_with(">*scheduler") && l.split_whitespace().nth(1) == Some("bfq"))
    });
    s.wait_for("was none at the start; changed here");

    // Undo.
    s.keys("u");
    s.wait_for("undo the last change");
    assert_eq!(device.scheduler(), "bfq", "looking at the undo wrote to the kernel");
    s.keys(ENTER);
    s.wait_for("what became of the undo");
    assert_eq!(device.scheduler(), "none");
    s.keys(ESC);
    s.wait_until("the dialog closed", |t| !t.contains("what became of"));

    // Run: numbers move.
    s.keys("3");
    s.wait_for("randread-4k");
    s.keys(DOWN);
    s.keys(ENTER);
    s.keys(END);
    s.keys(ENTER);
    s.wait_for("measuring");
    let ios = |t: &str| -> Option<u64> {
        let line = t.lines().find(|l| l.contains("measured") && l.contains("I/Os"))?;
        line.split("measured").nth(1)?.split_whitespace().next()?.replace(',', "").parse().ok()
    };
    s.wait_until("I/Os counted", |t| ios(t).is_some_and(|n| n > 0));
    let first = ios(&s.text()).unwrap();
    s.wait_until("more I/Os counted", |t| ios(t).is_some_and(|n| n > first));

    // Quit: asks once while the run goes on.
    s.keys("q");
    s.wait_for("Stop the run?");
    s.keys("\x1b[C");
    s.keys(ENTER);
    left_in_order(&mut s, modes, 0);
    assert!(!s.text().contains("left changed"), "the change was undone:\n{}", s.text());
}

#[test]
fn what_stays_changed_is_said_on_the_shell() {
    let Some(device) = loop_device(4) else { return };
    device.known_queue();
    let name = name(&device);
    let mut s = Session::start(&[&name], 100, 30);
    let modes = s.modes_before();
    s.wait_for("NAME");
    s.stage_scheduler();
    s.keys(ENTER);
    s.wait_for("applied");
    let now = device.scheduler();
    s.keys(ESC);
    s.wait_until("the dialog closed", |t| !t.contains("what became of"));
    s.keys("q");
    left_in_order(&mut s, modes, 0);
    s.wait_for("left changed");
    let text = s.text().replace('\n', "");
    assert!(text.contains(&format!("left changed: {name} scheduler none -> {now}")), "{text}");
    assert!(text.contains(&format!("(blktune undo {name})")), "{text}");
    assert_eq!(device.scheduler(), now, "kept changes stay");
}

#[test]
fn a_foreign_change_is_seen_within_a_second_and_told_apart() {
    let Some(device) = loop_device(4) else { return };
    device.known_queue();
    let name = name(&device);
    let mut s = Session::start(&[&name], 120, 40);
    s.wait_for("NAME");
    s.keys("2");
    s.wait_for("nr_requests");
    device.put("read_ahead_kb", "512");
    let start = std::time::Instant::now();
    s.wait_for("512 KiB (1024 sectors)");
    // Twice the promise, for slow machines; without a poll or inotify it would never come.
    assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(!s.line_with("512 KiB").contains("changed here"), "{}", s.line_with("512 KiB"));
    s.quit();
}

#[test]
fn devices_that_come_and_go_are_seen() {
    let mut s = Session::start(&[], 100, 50);
    s.wait_for("NAME");
    // One that a look finds between the loss of its file and its end is an unused device that went, and those are not
    // listed: then another has its turn.
    for _ in 0..10 {
        let Some(device) = loop_device(8) else { return };
        let name = name(&device);
        s.wait_until("the new device", |t| t.contains(&name));
        drop(device);
        let struck_out = std::cell::Cell::new(false);
        s.wait_until("the device struck out, or not listed", |t| {
            let row = t.lines().find(|l| l.contains(&name));
            struck_out.set(row.is_some_and(|l| l.contains("gone")));
            struck_out.get() || row.is_none()
        });
        if struck_out.get() {
            s.quit();
            return;
        }
    }
    panic!("no device that went was struck out");
}

#[test]
fn signals_end_the_screen_in_order() {
    for (signal, code) in [(rustix::process::Signal::INT, 130), (rustix::process::Signal::TERM, 143)] {
        let mut s = Session::start(&[], 80, 24);
        let modes = s.modes_before();
        s.wait_for("NAME");
        let pid = rustix::process::Pid::from_raw(i32::try_from(s.pid()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        left_in_order(&mut s, modes, code);
    }
}

#[test]
fn however_a_line_cuts_frames_they_are_shown_whole() {
    let sent = b"head\x1b[?2026hone\x1b[?2026l\x1b[?25l\x1b[?2026htwo\x1b[?2026ltail";
    for first in 0..sent.len() {
        for second in first..sent.len() {
            let mut stream = FrameStream::default();
            let mut shown = Vec::new();
            for piece in [&sent[..first], &sent[first..second], &sent[second..]] {
                shown.extend(stream.take(piece));
                let text = String::from_utf8_lossy(&shown);
                let count = |mark: &str| text.matches(mark).count();
                assert_eq!(count("\x1b[?2026h"), count("\x1b[?2026l"), "half a frame: {text:?}");
            }
            assert_eq!(shown, sent, "cut at {first} and {second}");
        }
    }
    assert_eq!(outside_frames(sent), b"head\x1b[?25ltail");
}

#[test]
fn all_that_is_drawn_comes_in_whole_frames() {
    let mut s = Session::start(&["--interval", "200ms"], 120, 40);
    s.wait_for("NAME");
    // What only that screen has: live figures change by themselves.
    for (key, shown) in [("3", "PRESET"), ("1", "NAME"), ("2", "> scheduler")] {
        s.keys(key);
        s.wait_for(shown);
    }
    s.all_taken();
    assert_eq!(s.outside_frames(), "\x1b[?1049h\x1b[?25l", "a terminal may show half of what is drawn");
    assert_eq!(s.quit().exit_code(), 0);
}

#[test]
fn a_terminal_that_closes_ends_the_program() {
    let s = Session::start(&[], 80, 24);
    s.wait_for("NAME");
    let (status, _) = s.hang_up();
    // As of SIGHUP: nothing else went wrong on the way.
    assert_eq!(status.exit_code(), 129, "{status:?}");
}

#[test]
fn every_size_is_survived_and_enlarging_draws_in_full() {
    let mut s = Session::start(&[], 120, 40);
    s.wait_for("NAME");
    for (columns, rows) in [(20, 5), (1, 1), (80, 3), (60, 16), (500, 200), (10, 4)] {
        s.resize(columns, rows);
        s.keys("?");
    }
    s.resize(100, 30);
    // An Esc that arrives together with another key is Alt and that key, so it is pressed until it was understood.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !(s.text().contains("NAME") && s.text().contains("1 devices")) {
        assert!(std::time::Instant::now() < end, "the list never came back:\n{}", s.text());
        s.keys(ESC);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_eq!(s.quit().exit_code(), 0);
}

#[test]
fn a_sandbox_is_made_chosen_and_removed() {
    if !support::privileged("a sandbox device") {
        return;
    }
    let mut s = Session::start(&["--sandbox=8M"], 100, 30);
    s.wait_for("sandbox loop");
    let name = s
        .line_with("sandbox loop")
        .split("sandbox ")
        .nth(1)
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();
    s.wait_until("it is chosen", |t| t.lines().any(|l| l.starts_with('>') && l.contains(&name)));
    assert!(std::path::Path::new("/sys/block").join(&name).exists());
    s.wait_for("NAME");
    s.stage_scheduler();
    s.keys(ENTER);
    s.wait_for("applied");
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    assert_eq!(s.quit().exit_code(), 0);
    assert!(!s.text().contains("left changed"), "it goes with the sandbox:\n{}", s.text());
    assert!(!std::path::Path::new("/sys/block").join(&name).exists(), "{name} was left behind");
}

#[test]
fn a_captured_tree_can_be_looked_at_and_nothing_changed() {
    let fixture = support::fixtures::sysroot("linux-6.12-qemu");
    let dir = fixture.path().to_str().unwrap();
    let mut s = Session::start(&["sda", "--sysroot", dir], 120, 40);
    s.wait_for("6.12.117+deb12-amd64");
    s.wait_for("captured tree");
    s.keys("2");
    s.wait_for("iosched/read_lat_nsec");
    s.keys(" ");
    s.wait_until("the reason", |t| t.contains("captured tree can be looked at, not changed"));
    assert!(!s.text().contains("1 staged"), "{}", s.text());
    assert_eq!(s.quit().exit_code(), 0);
}

/// Writes the next scheduler, to be put back unless confirmed.
fn hold_scheduler(s: &mut Session) {
    s.wait_for("NAME");
    s.stage_scheduler();
    s.keys("r");
    s.wait_for("[x]");
    s.keys(ENTER);
    s.wait_for("applied");
}

#[test]
fn a_change_that_nobody_confirms_is_put_back_also_after_the_connection_is_lost() {
    let Some(device) = loop_device(4) else { return };
    device.known_queue();
    let before = device.scheduler();
    let mut s = Session::start(&[&name(&device)], 100, 30);
    hold_scheduler(&mut s);
    assert_ne!(device.scheduler(), before);
    s.keys(ESC);
    s.wait_for("put back in");
    s.hang_up();
    assert_ne!(device.scheduler(), before, "a lost connection is what the time is for");
    // The keeper is told that time is up, which saves the test a minute.
    let keeper = support::keepers(device.name());
    assert_eq!(keeper.len(), 1);
    let pid = rustix::process::Pid::from_raw(i32::try_from(keeper[0]).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(support::loopdev::within_seconds(10, || device.scheduler() == before), "it was not put back");
}

#[test]
fn a_confirmed_change_is_kept_undone_and_done_again() {
    let Some(device) = loop_device(4) else { return };
    device.known_queue();
    let before = device.scheduler();
    let mut s = Session::start(&[&name(&device)], 100, 30);
    hold_scheduler(&mut s);
    let after = device.scheduler();
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    s.wait_for("put back in");
    s.keys("y");
    s.wait_for("the changes are kept");

    s.keys("u");
    s.wait_for("undo the last change");
    s.wait_for("Enter puts this back");
    s.keys(ENTER);
    s.wait_for("what became of the undo");
    assert_eq!(device.scheduler(), before);
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));

    s.keys("\x12");
    s.wait_for("Enter does this again");
    s.keys(ENTER);
    s.wait_for("what became of the redo");
    assert_eq!(device.scheduler(), after);
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));

    // Back to start.
    s.keys("b");
    s.wait_for("back to start");
    s.keys("\x1b[C");
    s.keys(ENTER);
    s.wait_for("staged changes");
    s.keys(ENTER);
    s.wait_for("what became of the changes");
    assert_eq!(device.scheduler(), before);
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    assert_eq!(s.quit().exit_code(), 0);
}
