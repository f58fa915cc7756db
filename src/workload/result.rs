//! What a finished run measured, in the shape of `run --json`.

use serde::Serialize;

use super::series::Series;
use crate::units::{Bytes, Nanos};

/// A latency distribution in nanoseconds. Percentiles are None where there were too few I/Os to support them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Least.
    pub min: Option<Nanos>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation.
    pub stddev: Option<f64>,
    /// Greatest.
    pub max: Option<Nanos>,
    /// Median.
    pub p50: Option<Nanos>,
    /// 90th percentile.
    pub p90: Option<Nanos>,
    /// 95th.
    pub p95: Option<Nanos>,
    /// 99th.
    pub p99: Option<Nanos>,
    /// 99.9th.
    pub p99_9: Option<Nanos>,
    /// 99.99th.
    pub p99_99: Option<Nanos>,
}

/// One direction of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DirectionResult {
    /// Completed I/Os.
    pub ios: u64,
    /// Data moved.
    pub bytes: Bytes,
    /// I/Os per second of the window.
    pub iops: f64,
    /// Bytes per second of the window.
    pub bytes_per_s: f64,
    /// Completion latency: from submission to completion. In a closed loop this is the service time at the depth that was
    /// used, and says nothing of what clients would wait that do not slow down with the device. None without I/Os.
    pub clat_ns: Option<LatencySummary>,
    /// In an open loop, from the instant an I/O was due until it was handed to the kernel.
    pub slat_ns: Option<LatencySummary>,
    /// In an open loop, from the instant an I/O was due until it was answered.
    pub lat_ns: Option<LatencySummary>,
    /// In an open loop, the I/Os per second that were due.
    pub asked_iops: Option<f64>,
    /// Share of I/Os above each of the job's limits: of `lat_ns` in an open loop, else of `clat_ns`.
    pub over_limit: Vec<OverLimit>,
    /// I/Os that failed.
    pub errors: u64,
}

/// How often a limit was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverLimit {
    /// The limit.
    pub limit_ns: Nanos,
    /// Share of I/Os that took longer, 0 to 1; None without I/Os.
    pub share: Option<f64>,
}

/// The job's `fsync` and `fdatasync` calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlushResult {
    /// How many.
    pub calls: u64,
    /// How long each took.
    pub time_ns: Option<LatencySummary>,
}

/// One job of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobResult {
    /// The job's name.
    pub name: String,
    /// Reads.
    pub read: DirectionResult,
    /// Writes.
    pub write: DirectionResult,
    /// The latencies that the job is judged by, reads and writes in one distribution: in an open loop from when each I/O
    /// was due, else from its submission. None without I/Os.
    pub judged_ns: Option<LatencySummary>,
    /// What was flushed between and after writes; None if nothing was.
    pub flush: Option<FlushResult>,
    /// I/Os of an open loop that were due in the window and not even started.
    pub not_started: u64,
    /// `open` or `closed`; None for jobs of both kinds merged.
    pub loop_kind: Option<&'static str>,
    /// The run over time.
    pub series: Series,
}

impl JobResult {
    /// I/Os of both directions.
    #[must_use]
    pub const fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    /// Data of both directions.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.read.bytes.0 + self.write.bytes.0)
    }

    /// I/Os of both directions that failed.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.read.errors + self.write.errors
    }
}
