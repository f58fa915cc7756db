//! Time as a value: one trait, the system's clocks, and a manual clock for tests.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::units::Nanos;

/// Where time comes from. Everything that measures takes one, so that tests can hold it still.
pub trait Clock: Send + Sync {
    /// `CLOCK_MONOTONIC`: for intervals; stands still during suspend.
    fn monotonic(&self) -> Nanos;
    /// `CLOCK_BOOTTIME`: monotonic, and counts suspend; the difference between the two reveals a suspend.
    fn boot(&self) -> Nanos;
    /// Seconds and nanoseconds since 1970-01-01 UTC, for labels only: it may jump.
    fn wall(&self) -> Nanos;
}

/// The kernel's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline]
    fn monotonic(&self) -> Nanos {
        let t = clock_gettime(ClockId::Monotonic);
        // Read for every I/O, hence without checks: it counts from boot, so it is never negative, and lasts 584 years.
        Nanos(t.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec.cast_unsigned()))
    }
    fn boot(&self) -> Nanos {
        read(ClockId::Boottime)
    }
    fn wall(&self) -> Nanos {
        read(ClockId::Realtime)
    }
}

fn read(id: ClockId) -> Nanos {
    let t = clock_gettime(id);
    let s = u64::try_from(t.tv_sec).unwrap_or(0);
    let ns = u64::try_from(t.tv_nsec).unwrap_or(0);
    Nanos(s.saturating_mul(1_000_000_000).saturating_add(ns))
}

/// A clock that moves only when told to.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// Moves all three clocks forward.
    pub fn advance(&self, by: Nanos) {
        self.0.fetch_add(by.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Nanos {
        Nanos(self.0.load(Ordering::SeqCst))
    }
    fn boot(&self) -> Nanos {
        self.monotonic()
    }
    fn wall(&self) -> Nanos {
        self.monotonic()
    }
}
