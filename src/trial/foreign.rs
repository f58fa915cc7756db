//! Other people's I/O on a device, looked for before a workload starts beside it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::sys::diskstats::counters_of;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::{events, mib_per_s};

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
    let sectors = |c: &crate::sys::diskstats::Counters| c.read.sectors.bytes().0 + c.write.sectors.bytes().0;
    let bytes = sectors(&after).saturating_sub(sectors(&before));
    #[allow(clippy::cast_precision_loss)] // rates
    let (iops, bytes_per_s) = (total as f64 / seconds, bytes as f64 / seconds);
    (iops > MURMUR).then(|| Foreign { name: name.clone(), iops, bytes_per_s })
}
