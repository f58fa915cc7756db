//! Two samples to rates, by iostat's definitions and with the kernel's traps avoided.

use crate::units::Nanos;

/// One device over one interval. None is unknown or undefined (no completions, so no await), never 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// Completed reads per second.
    pub read_iops: Option<f64>,
    /// Completed writes per second.
    pub write_iops: Option<f64>,
    /// Completed discards per second.
    pub discard_iops: Option<f64>,
    /// Completed flushes per second.
    pub flush_iops: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Bytes discarded per second; never part of throughput.
    pub discard_bytes_per_s: Option<f64>,
    /// Mean time of a completed read, ms, queueing included.
    pub read_await_ms: Option<f64>,
    /// Mean time of a completed write, ms.
    pub write_await_ms: Option<f64>,
    /// Mean size of a completed read, bytes.
    pub read_size_bytes: Option<f64>,
    /// Mean size of a completed write, bytes.
    pub write_size_bytes: Option<f64>,
    /// Share of read I/Os that were merged before being queued, percent.
    pub read_merged_pct: Option<f64>,
    /// Share of write I/Os that were merged, percent.
    pub write_merged_pct: Option<f64>,
    /// Mean number of requests queued or in flight.
    pub aqu_sz: Option<f64>,
    /// Requests at the driver at the end of the interval.
    pub in_flight: Option<u32>,
    /// Share of time with something in flight, percent, cut to 100. Sampled by the kernel, so approximate; it says
    /// nothing about headroom on parallel devices.
    pub busy_pct: Option<f64>,
    /// The same, uncut.
    pub busy_raw_pct: Option<f64>,
    /// The interval these are over.
    pub interval: Nanos,
    /// What should be known about the figures: `new device`, `counters reset`...
    pub notes: Vec<&'static str>,
}

impl Rates {
    /// Mean time of a completed read or write, ms: iostat's await.
    #[must_use]
    pub fn await_ms(&self) -> Option<f64> {
        let parts = [(self.read_iops, self.read_await_ms), (self.write_iops, self.write_await_ms)];
        let (mut ios, mut time) = (0.0, 0.0);
        for (rate, wait) in parts {
            if let (Some(rate), Some(wait)) = (rate, wait) {
                ios += rate;
                time += rate * wait;
            }
        }
        (ios > 0.0).then(|| time / ios)
    }

    /// Bytes read and written per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<f64> {
        Some(self.read_bytes_per_s? + self.write_bytes_per_s?)
    }
}
