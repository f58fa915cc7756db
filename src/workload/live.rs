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

/// One direction of one job so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideProgress {
    /// Measured I/Os.
    pub ios: u64,
    /// Measured data.
    pub bytes: Bytes,
    /// I/Os per second of late; None before anything was reported.
    pub iops: Option<f64>,
    /// Bytes per second of late.
    pub bytes_per_s: Option<f64>,
    /// In a closed loop the time from submission to completion, in an open one from when each I/O was due.
    pub latency: LivePercentiles,
    /// I/Os that failed.
    pub errors: u64,
}

/// One job so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobProgress {
    /// Its name.
    pub name: String,
    /// Reads.
    pub read: SideProgress,
    /// Writes.
    pub write: SideProgress,
}

/// How many I/Os took so long: those above the step before, up to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyStep {
    /// The longest latency of the step: 1, 2 or 5 times a power of ten. `u64::MAX` for those beyond the last.
    pub up_to: Nanos,
    /// I/Os.
    pub ios: u64,
}

/// A run so far. Totals count the measured window only.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Where it is.
    pub phase: Phase,
    /// Since the phase began.
    pub elapsed: Nanos,
    /// How long the phase will take; None if that is not known (a job that ends at `number_ios`).
    pub planned: Option<Nanos>,
    /// How much of the scratch file is written, and its size; None once it is there, or without one.
    pub written: Option<(Bytes, Bytes)>,
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
    /// The jobs that run now, in their order; empty while the target is prepared.
    pub jobs: Vec<JobProgress>,
    /// Latencies of all jobs and both directions since measuring began, from the shortest step with an I/O to the longest;
    /// in a closed loop from submission to completion, in an open one from when each I/O was due.
    pub histogram: Vec<LatencyStep>,
}
