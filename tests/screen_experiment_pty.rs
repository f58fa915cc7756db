//! An experiment started on the screen with real keys, on real devices: however it ends, the settings go back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's functions fail the test by panicking

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use blktune::record::reader::Record;
use blktune::record::summary::Ended;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use rustix::process::{Pid, Signal, kill_process};
use support::loopdev::within_seconds;
use support::pty::Session;
use support::throttle::Throttle;
use support::{LoopDevice, children, loop_device};

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
/// Above the supervisor's patience, for machines under load.
const SOON: Duration = Duration::from_secs(4);

/// A device that answers so slowly that several can be measured beside one another.
struct Bench {
    device: LoopDevice,
    throttle: Throttle,
    before: QueueState,
}

impl Bench {
    fn new() -> Option<Self> {
        let device = loop_device(64)?;
        device.known_queue();
        let throttle = Throttle::read_iops(&device, 400)?;
        let before = QueueState::read(&SysRoot::host(), device.name());
        Some(Self { device, throttle, before })
    }

    fn differs(&self) -> Vec<(String, Option<String>, Option<String>)> {
        self.before.differences(&QueueState::read(&SysRoot::host(), self.device.name()))
    }

    fn is_back(&self) {
        assert!(within_seconds(4, || self.differs().is_empty()), "not as it was: {:?}", self.differs());
    }

    /// Starts an experiment on two schedulers and waits until the one that was not found is in force.
    fn in_the_middle(&self) -> Session {
        let name = self.device.kernel();
        let mut s = Session::start_below(self.throttle.group(), &[&name], 120, 40);
        s.wait_for("NAME");
        s.keys("4");
        s.wait_for("[ ] none");
        s.keys(" l ");
        s.wait_for("none against mq-deadline");
        s.keys(&"j".repeat(13));
        s.wait_for(">trial");
        s.keys("hh");
        s.wait_for("3 s");
        s.keys(ENTER);
        s.wait_for("Enter starts it");
        s.keys(ENTER);
        let switched = within_seconds(60, || self.device.scheduler() == "mq-deadline");
        assert!(switched, "never switched; the screen is:\n{}", s.text());
        s
    }
}

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// The program ends soon, with this code and the terminal as it was.
fn ends(s: &mut Session, code: u32) {
    let start = Instant::now();
    let status = s.wait_for_end();
    assert!(start.elapsed() < SOON, "took {:?}", start.elapsed());
    assert_eq!(status.exit_code(), code, "the screen is:\n{}", s.text());
    assert_eq!(s.modes(), s.modes_before());
}

/// The record that the program kept in the directory of its state.
fn record(home: &Path) -> Record {
    let records = home.join("blktune/experiments");
    let mut all = std::fs::read_dir(&records).unwrap_or_else(|e| panic!("{}: {e}", records.display()));
    Record::open(&all.next().expect("a record").unwrap().path()).unwrap()
}

fn stopped(home: &Path) {
    let record = record(home);
    let summary = record.summary.expect("a record that was closed");
    assert_eq!((summary.ended, summary.restored), (Ended::Stopped, Some(true)));
    assert!(record.trials.len() >= 3, "{} trials", record.trials.len());
    assert_eq!(record.manifest.command.first().map(String::as_str), Some("ab"));
}

fn by_a_key() {
    let Some(b) = Bench::new() else { return };
    let mut s = b.in_the_middle();
    // A stopped process would leave a trial's settings on the device for as long as nobody lets it go on.
    s.keys("\x1a");
    s.wait_for("no Ctrl-Z: an experiment holds the settings of");
    s.keys(ESC);
    s.wait_until("the question", |t| t.contains("stay") && t.contains("stop it"));
    s.keys("l");
    s.keys(ENTER);
    s.wait_until("the end", |t| t.contains("stopped"));
    b.is_back();
    stopped(s.home());
    s.keys("q");
    ends(&mut s, 0);
}

fn by_leaving() {
    let Some(b) = Bench::new() else { return };
    let mut s = b.in_the_middle();
    s.keys("q");
    s.wait_for("stop it and leave");
    s.keys("l");
    s.keys(ENTER);
    ends(&mut s, 0);
    assert_eq!(b.differs(), [], "the program ends after its settings are back");
    s.wait_for("was stopped; its settings are as they were; record: ");
    stopped(s.home());
}

fn by_a_signal() {
    let Some(b) = Bench::new() else { return };
    let mut s = b.in_the_middle();
    send(s.pid(), Signal::TERM);
    ends(&mut s, 143);
    assert_eq!(b.differs(), []);
    stopped(s.home());
}

fn by_a_closed_terminal() {
    let Some(b) = Bench::new() else { return };
    let s = b.in_the_middle();
    let (status, home) = s.hang_up();
    assert_eq!(status.exit_code(), 129, "{status:?}");
    assert_eq!(b.differs(), []);
    stopped(home.path());
}

fn by_a_kill() {
    let Some(b) = Bench::new() else { return };
    let mut s = b.in_the_middle();
    let [program] = children(s.pid())[..] else { panic!("not one program under the supervisor") };
    send(program, Signal::KILL);
    ends(&mut s, 137);
    b.is_back();
    // Now, or by whoever waits for the queue.
    s.wait_until("who puts back", |t| t.contains("put back"));
    assert!(record(s.home()).cut_off());
}

#[test]
fn however_an_experiment_of_the_screen_ends_everything_goes_back() {
    // Beside one another: until a scheduler is switched each waits for three trials of the settings that were found.

    let all: [(&str, fn()); 5] = [
        ("by-a-key", by_a_key),
        ("by-leaving", by_leaving),
        ("by-a-signal", by_a_signal),
        ("by-a-closed-terminal", by_a_closed_terminal),
        ("by-a-kill", by_a_kill),
    ];
    std::thread::scope(|s| {
        for (name, one) in all {
            std::thread::Builder::new().name(name.to_owned()).spawn_scoped(s, one).unwrap();
        }
    });
}
