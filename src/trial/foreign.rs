//! Other people's I/O on a device, looked for before a workload starts beside it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::sys::diskstats::{Counters, DirectionCounters, counters_of};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::{Nanos, events, mib_per_s};

/// How long is looked.
const LOOK: Duration = Duration::from_millis(500);
/// A stop is seen within this time.
const GLANCE: Duration = Duration::from_millis(50);
/// Fewer I/Os a second than this are the murmur of any system (a log line, a timer).
const MURMUR: f64 = 5.0;

/// What others do on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// The device.
    pub name: KernelName,
    /// Reads and writes per second.
    pub iops: f64,
    /// Data per second.
    pub bytes_per_s: f64,
    /// How long it took.
    pub wait: Await,
}

/// Mean time of completed I/Os in the device's queue and at the device. None where none completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Await {
    /// Of reads.
    pub read: Option<Nanos>,
    /// Of writes.
    pub write: Option<Nanos>,
    /// Of both.
    pub all: Option<Nanos>,
}

impl Await {
    /// Between two looks at the counters, whose milliseconds wrap at 2^32.
    #[must_use]
    pub fn between(a: &Counters, b: &Counters) -> Self {
        let side = |a: &DirectionCounters, b: &DirectionCounters| {
            (b.ios.saturating_sub(a.ios), u64::from(b.ms.wrapping_sub(a.ms)))
        };
        let mean = |(ios, ms): (u64, u64)| (ms * 1_000_000).checked_div(ios).map(Nanos);
        let (read, write) = (side(&a.read, &b.read), side(&a.write, &b.write));
        Self { read: mean(read), write: mean(write), all: mean((read.0 + write.0, read.1 + write.1)) }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is busy with other I/O: {} I/Os/s, {} MiB/s",
            self.name,
            events(self.iops),
            mib_per_s(self.bytes_per_s)
        )
    }
}

/// Looks at a device's counters for half a second. None if it is all but idle, or counts nothing.
#[must_use]
pub fn look(root: &SysRoot, name: &KernelName, stop: &AtomicBool) -> Option<Foreign> {
    let start = SystemClock.monotonic();
    let before = counters_of(root, name)?;
    while SystemClock.monotonic().since(start).duration() < LOOK && !stop.load(Ordering::Relaxed) {
        thread::sleep(GLANCE);
    }
    let after = counters_of(root, name)?;
    let seconds = SystemClock.monotonic().since(start).seconds();
    let total = (after.read.ios + after.write.ios).saturating_sub(before.read.ios + before.write.ios);
    let sectors = |c: &Counters| c.read.sectors.bytes().0 + c.write.sectors.bytes().0;
    let bytes = sectors(&after).saturating_sub(sectors(&before));
    #[allow(clippy::cast_precision_loss)] // rates
    let (iops, bytes_per_s) = (total as f64 / seconds, bytes as f64 / seconds);
    let wait = Await::between(&before, &after);
    (iops > MURMUR).then(|| Foreign { name: name.clone(), iops, bytes_per_s, wait })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_told_by_direction_and_through_a_wrap() {
        let side = |ios, ms| DirectionCounters { ios, ms, ..DirectionCounters::default() };
        let counters = |read, write| Counters { read, write, ..Counters::default() };
        let a = counters(side(10, u32::MAX - 9), side(5, 5));
        let b = counters(side(20, 20), side(5, 5));
        let wait = Await::between(&a, &b);
        assert_eq!((wait.read, wait.write, wait.all), (Some(Nanos(3_000_000)), None, Some(Nanos(3_000_000))));
        let c = counters(side(20, 20), side(25, 25));
        assert_eq!(Await::between(&a, &c).all, Some(Nanos(50_000_000 / 30)));
    }
}
