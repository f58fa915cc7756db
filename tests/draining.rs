//! A queue that does not drain: a write to it blocks in the kernel, and nothing else may.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blktune::sys::loopdev::{LoopDevice as Loop, LoopOptions};
use support::pty::Session;
use support::throttle::Throttle;
use support::{LoopDevice, loop_device};

const ENTER: &str = "\r";
const ESC: &str = "\x1b";

/// A device over another one whose reads crawl, with a read in flight: its queue can not be frozen until that is done.
struct Crawling {
    outer: Loop,
    throttle: Throttle,
    reader: Child,
    _inner: LoopDevice,
}

impl Crawling {
    fn make() -> Option<Self> {
        let inner = loop_device(4)?;
        let throttle = Throttle::reads(&inner, 64)?;
        let outer = Loop::over(
            File::open(inner.node()).unwrap(),
            LoopOptions { read_only: true, ..LoopOptions::default() },
        )
        .unwrap();
        let join =
            "echo $$ > \"$0/cgroup.procs\" && exec dd if=\"$1\" of=/dev/null bs=4k count=1 iflag=direct";
        let reader = Command::new("sh")
            .args(["-c", join])
            .arg(throttle.group())
            .arg(outer.node())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let crawling = Self { outer, throttle, reader, _inner: inner };
        let end = Instant::now() + Duration::from_secs(10);
        while crawling.in_flight() == 0 {
            assert!(Instant::now() < end, "no read is in flight");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(crawling)
    }

    fn name(&self) -> String {
        self.outer.name().kernel()
    }

    fn in_flight(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{}/inflight", self.name())).unwrap();
        text.split_whitespace().map(|n| n.parse::<u64>().unwrap()).sum()
    }

    fn scheduler(&self) -> String {
        let text = std::fs::read_to_string(format!("/sys/block/{}/queue/scheduler", self.name())).unwrap();
        text.split(['[', ']']).nth(1).unwrap().to_owned()
    }
}

impl Drop for Crawling {
    fn drop(&mut self) {
        self.throttle.lift();
        let _ = self.reader.wait();
    }
}

/// Writes the next scheduler of the chosen device.
fn change_scheduler(s: &mut Session) {
    s.stage_scheduler();
    s.keys(ENTER);
}

#[test]
fn a_write_that_waits_freezes_neither_the_screen_nor_another_device_and_can_be_given_up() {
    let Some(crawling) = Crawling::make() else { return };
    let Some(other) = loop_device(4) else { return };
    other.known_queue();
    let before = crawling.scheduler();
    let mut s = Session::start(&[&crawling.name()], 100, 40);
    s.wait_until("the device chosen", |t| {
        t.lines().any(|l| l.starts_with('>') && l.contains(&crawling.name()))
    });
    change_scheduler(&mut s);
    s.wait_for(&format!("{}: waiting for 1 I/O", crawling.name()));

    // The window is left, the writing goes on, and the screen is as quick as ever.
    s.keys(ENTER);
    s.wait_until("the window closed", |t| !t.contains("staged changes"));
    s.keys("1");
    s.wait_for("NAME");
    s.keys(&format!("/{}", other.kernel()));
    s.wait_for(&format!("filter: {}", other.kernel()));
    s.keys(ENTER);
    // A device that it lies on is found by its name too.
    s.keys("g");
    s.wait_until("the other device chosen", |t| {
        t.lines().any(|l| l.starts_with('>') && l.contains(&other.kernel()))
    });

    // Another device is changed meanwhile.
    change_scheduler(&mut s);
    s.wait_for("applied");
    assert_ne!(other.scheduler(), "none");
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    assert_eq!(crawling.in_flight(), 1, "the read was done before anything could wait for it");

    // Let go, the change arrives.
    crawling.throttle.lift();
    s.wait_for("what became of the changes");
    assert_ne!(crawling.scheduler(), before);
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    s.quit();
}

#[test]
fn waiting_can_be_given_up_and_then_everything_is_put_back() {
    let Some(crawling) = Crawling::make() else { return };
    let before = crawling.scheduler();
    let mut s = Session::start(&[&crawling.name()], 100, 40);
    s.wait_until("the device chosen", |t| {
        t.lines().any(|l| l.starts_with('>') && l.contains(&crawling.name()))
    });
    change_scheduler(&mut s);
    s.wait_for("stops waiting");
    s.keys(ESC);
    s.wait_for("given up; put back when the kernel lets go of it");
    crawling.throttle.lift();
    s.wait_for("rolled back");
    assert_eq!(crawling.scheduler(), before);
    s.keys(ESC);
    s.wait_until("the report closed", |t| !t.contains("what became of"));
    assert_eq!(s.quit().exit_code(), 0);
}

#[test]
fn a_write_that_waits_does_not_keep_the_prompt() {
    let Some(crawling) = Crawling::make() else { return };
    let mut s = Session::start(&[&crawling.name()], 100, 40);
    s.wait_until("the device chosen", |t| {
        t.lines().any(|l| l.starts_with('>') && l.contains(&crawling.name()))
    });
    change_scheduler(&mut s);
    s.wait_for("stops waiting");
    s.keys(ENTER);
    s.wait_until("the window closed", |t| !t.contains("staged changes"));
    let start = Instant::now();
    s.quit();
    assert!(start.elapsed() < Duration::from_secs(4), "took {:?}", start.elapsed());
    s.wait_for("can not end");
    assert_eq!(s.modes(), s.modes_before());
}
