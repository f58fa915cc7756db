//! Takes samples of `/proc/diskstats`: the edge where the kernel and the clock are read for telemetry.

use std::borrow::Cow;

use crossbeam_channel::Sender;

use super::device_facts::DeviceFacts;
use super::event::Event;
use crate::app::message::{HostLine, Level, Message, When};
use crate::clock::{Clock, SystemClock};
use crate::sys::diskstats;
use crate::sys::host::Host;
use crate::sys::root::SysRoot;
use crate::telemetry::sample::Sample;
use crate::telemetry::total::{self, Leaves};
use crate::telemetry::tracker::RateTracker;
use crate::units::Nanos;

/// Between the two clocks at most this much time may pass, or the pair is read again: it would look like a sleep.
const CLOCKS_APART: Nanos = Nanos(1_000_000);
/// How often it is tried on a host that is too busy for that.
const CLOCK_READS: usize = 4;

/// Reads one sample after the other. Keeps its memory, and the names of the sample before.
#[derive(Debug)]
pub struct Sampler {
    root: SysRoot,
    bytes: Vec<u8>,
    now: Sample,
    before: Sample,
    facts: DeviceFacts,
}

impl Sampler {
    /// A sampler that has read nothing yet.
    #[must_use]
    pub fn new(root: &SysRoot) -> Self {
        Self {
            root: root.clone(),
            bytes: Vec::new(),
            now: Sample::default(),
            before: Sample::default(),
            facts: DeviceFacts::default(),
        }
    }

    /// Reads one sample: the counters of every row, stamped between the two ends of the read, and of whole devices the
    /// sequence number, which tells a device from its namesake, and whether `queue/iostats` is off. Rows are not all of
    /// one instant; the kernel sums each from its CPUs while it is read.
    ///
    /// # Errors
    /// `/proc/diskstats` can not be read.
    pub fn take(&mut self, clock: &dyn Clock) -> std::io::Result<&Sample> {
        let begin = clock.monotonic();
        diskstats::read_into(&self.root, &mut self.bytes)?;
        let middle = Nanos(begin.0 + clock.monotonic().since(begin).0 / 2);
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.monotonic = middle;
        self.now.boot = Some(Nanos(middle.0.saturating_add(asleep(clock).0)));
        self.now.read_rows(&diskstats::text_of(&self.bytes), &self.before.rows);
        self.facts.refresh(&self.root, &self.now.rows, &self.before.rows);
        self.now.diskseq = self.facts.diskseq();
        self.now.iostats_off = self.facts.iostats_off();
        Ok(&self.now)
    }

    /// The last sample.
    #[must_use]
    pub fn sample(&self) -> &Sample {
        &self.now
    }

    /// The text that the last sample was read from.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        diskstats::text_of(&self.bytes)
    }

    /// Which devices count in a total.
    #[must_use]
    pub fn leaves(&self) -> &Leaves {
        self.facts.leaves()
    }
}

/// How much further the clock that counts suspend is than the one that does not.
fn asleep(clock: &dyn Clock) -> Nanos {
    let pair = || {
        let begin = clock.monotonic();
        let boot = clock.boot();
        let apart = clock.monotonic().since(begin);
        (apart, boot.since(Nanos(begin.0 + apart.0 / 2)))
    };
    let mut best = pair();
    for _ in 1..CLOCK_READS {
        if best.0 <= CLOCKS_APART {
            break;
        }
        best = best.min(pair());
    }
    best.1
}

/// Samples every interval and sends what it found, until the loop stops listening. A sample that fails is said once,
/// not every second. `line` is the host line as it was first shown; it is sent again when something in it moved.
pub fn run(root: &SysRoot, events: &Sender<Event>, mut host: Host, mut line: HostLine) {
    let clock = SystemClock;
    let mut sampler = Sampler::new(root);
    let mut tracker = RateTracker::default();
    let mut failed = false;
    let mut next = clock.monotonic();
    loop {
        let taken = sampler.take(&clock).map(|sample| (sample.boot, tracker.next(sample)));
        let figures = match taken {
            Ok((boot, frame)) => frame.map(|frame| {
                let total = Some(Box::new(total::total(&frame, sampler.leaves()).rates));
                let rows = frame.devices.into_iter().map(|d| (d.key, d.rates)).collect();
                let when = When { boot, wall: Some(jiff::Zoned::now().datetime()) };
                Message::Rates { at: frame.monotonic, when, rows, total }
            }),
            Err(_) if failed => None,
            Err(e) => {
                failed = true;
                let file = root.proc("diskstats");
                Some(Message::Notice(Level::Error, format!("{}: {e}; no live figures", file.display())))
            }
        };
        host.refresh(root);
        let pressure = host.io_pressure_pct.map(f64::from);
        let moved = pressure != line.io_pressure_pct;
        line.io_pressure_pct = pressure;
        let host_line = moved.then(|| Message::Host(line.clone()));
        for message in figures.into_iter().chain(host_line) {
            if events.send(Event::Message(message)).is_err() {
                return;
            }
        }
        next = Nanos(next.0.saturating_add(Nanos::from(line.interval).0));
        std::thread::sleep(next.since(clock.monotonic()).duration());
    }
}
