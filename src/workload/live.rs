//! What a running job says of itself, about ten times a second.

use crate::units::{Bytes, Nanos};

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The target is opened, or a scratch file written.
    Preparing,
    /// I/O is issued and not yet counted.
    Ramp,
    /// I/O is counted.
    Measuring,
    /// Time is up; what is in flight is reaped.
    Draining,
}

/// Completion latency percentiles, as far as the number of I/Os supports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LivePercentiles {
    /// Median.
    pub p50: Option<Nanos>,
    /// 95th.
    pub p95: Option<Nanos>,
    /// 99th.
    pub p99: Option<Nanos>,
    /// 99.9th.
    pub p99_9: Option<Nanos>,
}

/// A run so far. Totals count the measured window only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Where it is.
    pub phase: Phase,
    /// Since the phase began.
    pub elapsed: Nanos,
    /// How long the phase will take; None if that is not known (a job that ends at `number_ios`).
    pub planned: Option<Nanos>,
    /// Measured I/Os.
    pub ios: u64,
    /// Measured data.
    pub bytes: Bytes,
    /// I/Os per second since the last progress; None in the first.
    pub iops: Option<f64>,
    /// Bytes per second since the last progress.
    pub bytes_per_s: Option<f64>,
    /// Percentiles since measuring began.
    pub clat: LivePercentiles,
    /// I/Os that failed.
    pub errors: u64,
}
