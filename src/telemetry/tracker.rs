//! Samples in, rates out: remembers the last sample, and which instance of a name it belonged to.

use std::collections::HashMap;

use super::rates::{Rates, SHORTEST_INTERVAL, between};
use super::sample::{RowKey, Sample};
use crate::sys::diskstats::Counters;
use crate::units::Nanos;

/// One row of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRates {
    /// Whose.
    pub key: RowKey,
    /// Counts the devices that had this name and number since the tracker began, from 1.
    pub instance: u32,
    /// No earlier sample of this instance exists, so all rates are unknown.
    pub new: bool,
    /// The figures.
    pub rates: Rates,
}

/// All rows of one sample against the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The sample's time.
    pub monotonic: Nanos,
    /// Since the sample before; None for the first.
    pub interval: Option<Nanos>,
    /// Rows in the order of the file.
    pub devices: Vec<DeviceRates>,
}

#[derive(Debug)]
struct Known {
    counters: Counters,
    diskseq: Option<u64>,
    instance: u32,
    at: Nanos,
}

/// Turns a succession of samples into frames of rates. Knows no clock: time comes from the samples.
#[derive(Debug, Default)]
pub struct RateTracker {
    last: Option<Nanos>,
    known: HashMap<RowKey, Known>,
}

impl RateTracker {
    /// The next frame. None if the sample is too close to the one before to say anything (see
    /// [`SHORTEST_INTERVAL`]), or not later: the caller keeps the former frame.
    pub fn next(&mut self, sample: &Sample) -> Option<Frame> {
        let interval = self.last.map(|t| sample.monotonic.since(t));
        if interval.is_some_and(|i| i < SHORTEST_INTERVAL) {
            return None;
        }
        let devices = sample.rows.iter().map(|(key, counters)| self.row(key, counters, sample)).collect();
        // A row that is gone must not be the base of a namesake's rates later.
        self.known.retain(|_, k| k.at == sample.monotonic);
        self.last = Some(sample.monotonic);
        Some(Frame { monotonic: sample.monotonic, interval, devices })
    }

    fn row(&mut self, key: &RowKey, counters: &Counters, sample: &Sample) -> DeviceRates {
        let diskseq = sample.diskseq.get(&key.name).copied();
        let (instance, rates) = match self.known.get(key) {
            None => (1, None),
            Some(k) if k.diskseq.is_some() && diskseq.is_some() && k.diskseq != diskseq => {
                (k.instance + 1, None)
            }
            Some(k) => match between(&k.counters, counters, sample.monotonic.since(k.at)) {
                Some(rates) => (k.instance, Some(rates)),
                None => (k.instance + 1, None),
            },
        };
        self.known
            .insert(key.clone(), Known { counters: *counters, diskseq, instance, at: sample.monotonic });
        let new = rates.is_none();
        let rates = rates.unwrap_or_else(|| Rates {
            in_flight: Some(counters.in_flight),
            notes: if instance > 1 { vec!["new device"] } else { Vec::new() },
            ..Rates::default()
        });
        DeviceRates { key: key.clone(), instance, new, rates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, text: &str, diskseq: Option<u64>) -> Sample {
        let seqs =
            diskseq.map(|d| (crate::sys::name::KernelName::new("dm-3").unwrap(), d)).into_iter().collect();
        Sample::parse(Nanos(at * 1_000_000), None, text, seqs)
    }

    #[test]
    fn the_first_sample_is_unknown_not_zero() {
        let mut t = RateTracker::default();
        let f = t.next(&sample(0, "253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7", None)).unwrap();
        assert_eq!((f.interval, f.devices[0].new, f.devices[0].rates.read_iops), (None, true, None));
    }

    #[test]
    fn a_device_made_again_under_its_name_starts_anew() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 4210 0 336800 5120 9000 0 720000 8800 0 9100 13920 0 0 0 0 0 0", None))
            .unwrap();
        let f = t.next(&sample(1000, "253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7 0 0 0 0 0 0", None)).unwrap();
        assert_eq!((f.devices[0].new, f.devices[0].instance, f.devices[0].rates.read_iops), (true, 2, None));
        assert_eq!(f.devices[0].rates.notes, ["new device"]);
        let f =
            t.next(&sample(2000, "253 3 dm-3 112 0 25696 44 1 0 2048 3 0 56 47 0 0 0 0 0 0", None)).unwrap();
        let r = &f.devices[0].rates;
        assert_eq!((r.read_iops, r.read_bytes_per_s), (Some(100.0), Some(12.5 * 1_048_576.0)));
    }

    #[test]
    fn a_new_diskseq_is_a_new_device_even_if_its_counters_went_on() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 10 0 80 0 0 0 0 0 0 0 0", Some(15))).unwrap();
        let f = t.next(&sample(1000, "253 3 dm-3 20 0 160 0 0 0 0 0 0 0 0", Some(16))).unwrap();
        assert!(f.devices[0].new && f.devices[0].instance == 2);
    }

    #[test]
    fn a_zero_interval_computes_nothing_and_keeps_its_base() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 10 0 80 0 0 0 0 0 0 0 0", None)).unwrap();
        assert_eq!(t.next(&sample(0, "253 3 dm-3 11 0 88 0 0 0 0 0 0 0 0", None)), None);
        let f = t.next(&sample(1000, "253 3 dm-3 20 0 160 0 0 0 0 0 0 0 0", None)).unwrap();
        assert_eq!(f.devices[0].rates.read_iops, Some(10.0));
    }

    #[test]
    fn hidden_paths_of_number_zero_do_not_collide() {
        let mut t = RateTracker::default();
        let rows = |a: u32, b: u32| {
            format!("0 0 nvme0c0n1 {a} 0 0 0 0 0 0 0 0 0 0\n0 0 nvme0c1n1 {b} 0 0 0 0 0 0 0 0 0 0")
        };
        t.next(&sample(0, &rows(1000, 1000), None)).unwrap();
        let f = t.next(&sample(1000, &rows(4000, 2000), None)).unwrap();
        let iops: Vec<_> = f.devices.iter().map(|d| d.rates.read_iops).collect();
        assert_eq!(iops, [Some(3000.0), Some(1000.0)]);
    }
}
