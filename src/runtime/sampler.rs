//! Takes samples of `/proc/diskstats`: the edge where the kernel and the clock are read for telemetry.

use std::collections::HashMap;

use crossbeam_channel::Sender;

use super::event::Event;
use crate::app::message::{HostLine, Level, Message, When};
use crate::clock::{Clock, SystemClock};
use crate::sys::attr;
use crate::sys::diskstats;
use crate::sys::host::Host;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::sample::Sample;
use crate::telemetry::tracker::RateTracker;
use crate::units::Nanos;

/// Reads one sample: the counters of every row, stamped between the two ends of the read, and the sequence numbers
/// of whole devices, which tell a device from its namesake.
///
/// # Errors
/// `/proc/diskstats` can not be read.
pub fn take(root: &SysRoot, clock: &dyn Clock) -> std::io::Result<Sample> {
    let before = clock.monotonic();
    let text = diskstats::read_text(root)?;
    let after = clock.monotonic();
    let middle = Nanos(before.0 + after.since(before).0 / 2);
    let mut sample = Sample::parse(middle, Some(clock.boot()), &text, HashMap::new());
    sample.diskseq = sequence_numbers(root, sample.rows.iter().map(|(key, _)| &key.name));
    Ok(sample)
}

fn sequence_numbers<'a>(
    root: &SysRoot,
    names: impl Iterator<Item = &'a KernelName>,
) -> HashMap<KernelName, u64> {
    names.filter_map(|n| Some((n.clone(), attr::read_u64(&root.block(n).join("diskseq"))?))).collect()
}

/// Samples every interval and sends what it found, until the loop stops listening. A sample that fails is said once,
/// not every second. `line` is the host line as it was first shown; it is sent again when something in it moved.
pub fn run(root: &SysRoot, events: &Sender<Event>, mut host: Host, mut line: HostLine) {
    let clock = SystemClock;
    let mut tracker = RateTracker::default();
    let mut failed = false;
    let mut next = clock.monotonic();
    loop {
        let figures = match take(root, &clock) {
            Ok(sample) => tracker.next(&sample).map(|frame| {
                let rows = frame.devices.into_iter().map(|d| (d.key, d.rates)).collect();
                let when = When { boot: sample.boot, wall: Some(jiff::Zoned::now().datetime()) };
                Message::Rates { at: frame.monotonic, when, rows }
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
