//! What cells are compared by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Nanos, events, latency, mib_per_s, three_digits};

/// A figure of a trial, by the word of `--metric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Bytes per second of the measured window, all jobs.
    Throughput,
    /// I/Os per second of the measured window, all jobs.
    Iops,
    /// Mean latency, ns, weighted by I/Os: from the scheduled start in an open loop, else service time.
    Mean,
    /// 99th percentile of that latency, ns, of the merged histogram.
    P99,
    /// 99.9th percentile, ns.
    #[serde(rename = "p99_9")]
    P999,
    /// Largest latency, ns.
    Max,
    /// CPU time of the workers, user and system, seconds per GiB moved.
    CpuPerGib,
}

impl Metric {
    /// All, in the order they are shown.
    pub const ALL: [Metric; 7] = [
        Metric::Throughput,
        Metric::Iops,
        Metric::Mean,
        Metric::P99,
        Metric::P999,
        Metric::Max,
        Metric::CpuPerGib,
    ];

    /// The word on the command line and in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Metric::Throughput => "throughput",
            Metric::Iops => "iops",
            Metric::Mean => "mean",
            Metric::P99 => "p99",
            Metric::P999 => "p99_9",
            Metric::Max => "max",
            Metric::CpuPerGib => "cpu_per_gib",
        }
    }

    /// A reading in words, without its unit where that is one of its own: MiB/s, s/GiB.
    #[must_use]
    pub fn figure(self, v: f64) -> String {
        match self {
            Metric::Throughput => mib_per_s(v),
            Metric::Iops => events(v),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturates
            Metric::Mean | Metric::P99 | Metric::P999 | Metric::Max => latency(Nanos(v.round() as u64)),
            // A fast device takes hundredths of a second a GiB, and those are what is compared.
            Metric::CpuPerGib if v < 0.0995 => format!("{v:.4}"),
            Metric::CpuPerGib => three_digits(v),
        }
    }

    /// A reading in words, with its unit.
    #[must_use]
    pub fn reading(self, v: f64) -> String {
        match self {
            Metric::Throughput => format!("{} MiB/s", self.figure(v)),
            Metric::CpuPerGib => format!("{} s/GiB", self.figure(v)),
            _ => self.figure(v),
        }
    }

    /// A reading of the metric of that word, with its unit; of one that is not known as it is.
    #[must_use]
    pub fn reading_of(word: &str, v: f64) -> String {
        Self::parse(word).map_or_else(|| three_digits(v), |m| m.reading(v))
    }

    /// The metric of that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.word() == word)
    }

    /// Whether more is better. Of latencies and of CPU time less is.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Metric::Throughput | Metric::Iops)
    }
}

/// A trial's figures; one that could not be had, or that too few I/Os support, is missing. All are positive.
pub type Readings = BTreeMap<Metric, f64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_has_its_unit_and_digits_that_tell_it_from_its_neighbours() {
        let shown = |m: Metric, v: f64| m.reading(v);
        assert_eq!(shown(Metric::CpuPerGib, 0.0098), "0.0098 s/GiB");
        assert_eq!(shown(Metric::CpuPerGib, 0.42), "0.42 s/GiB");
        assert_eq!(shown(Metric::Throughput, 94.0 * 1_048_576.0), "94.0 MiB/s");
        assert_eq!(shown(Metric::P99, 703_999.0), "704 us");
    }
}
