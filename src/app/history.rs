//! The recent past of a device's figures.

use crate::telemetry::rates::Rates;
use crate::telemetry::series::Series;

/// Samples of the past that are kept of a device: five minutes at one a second.
const PAST: usize = 300;

/// The recent past of a device's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Bytes read per second.
    pub read: Series,
    /// Bytes written per second.
    pub write: Series,
    /// Mean time of a read or write, ms.
    pub wait: Series,
}

impl History {
    pub(super) fn new() -> Self {
        Self { read: Series::new(PAST), write: Series::new(PAST), wait: Series::new(PAST) }
    }

    pub(super) fn push(&mut self, rates: &Rates) {
        self.read.push(rates.read_bytes_per_s);
        self.write.push(rates.write_bytes_per_s);
        self.wait.push(rates.await_ms());
    }
}
