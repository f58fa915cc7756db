//! What a finished run measured, in the shape of `run --json`.

use serde::Serialize;

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
    /// Completion latency: from submission to completion. None without I/Os.
    pub clat_ns: Option<LatencySummary>,
    /// I/Os that failed.
    pub errors: u64,
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
}
