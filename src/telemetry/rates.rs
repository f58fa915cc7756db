//! Two samples to rates, by iostat's definitions and with the kernel's traps avoided.

use super::delta::{Delta, DirectionDelta, FlushDelta};
use super::note::Note;
use crate::sys::diskstats::Counters;
use crate::units::{Nanos, Sectors};

/// Below this an interval says nothing: the kernel's own counters move in milliseconds.
pub const SHORTEST_INTERVAL: Nanos = Nanos(10_000_000);

/// From this interval on, 25 days, a 32-bit count of milliseconds may have gone round, and nothing tells.
const LONGEST_OF_TIMES: Nanos = Nanos((1 << 31) * 1_000_000);

/// One device over one interval. None is unknown or undefined (no completions, so no await), never 0.
///
/// These are requests of the block layer, not I/Os of an application: merged, split and read ahead. Passthrough (`SG_IO`,
/// NVMe commands) is in them only with `queue/iostats_passthrough`. Devices without requests of their own (device mapper,
/// md) count bios, so they never merge, and their waits are not those of their members.
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
    /// Mean time of a completed read, ms, queueing included. A request counts wholly where it is completed, whenever it
    /// was started; without completions the mean is undefined. Small sums are cut to whole milliseconds.
    pub read_await_ms: Option<f64>,
    /// Mean time of a completed write, ms.
    pub write_await_ms: Option<f64>,
    /// Mean time of a completed discard, ms.
    pub discard_await_ms: Option<f64>,
    /// Mean time of a completed flush, ms.
    pub flush_await_ms: Option<f64>,
    /// Mean size of a completed read, bytes.
    pub read_size_bytes: Option<f64>,
    /// Mean size of a completed write, bytes.
    pub write_size_bytes: Option<f64>,
    /// Mean size of a completed discard, bytes.
    pub discard_size_bytes: Option<f64>,
    /// Share of read I/Os that were merged before being queued, percent.
    pub read_merged_pct: Option<f64>,
    /// Share of write I/Os that were merged, percent.
    pub write_merged_pct: Option<f64>,
    /// Share of discards that were merged, percent.
    pub discard_merged_pct: Option<f64>,
    /// Mean number of requests queued or in flight. The kernel adds a request's time when it is completed (flushes and
    /// discards too), so that a request of ten seconds shows nothing for nine of them, then a peak.
    pub aqu_sz: Option<f64>,
    /// Requests at the driver at the end of the interval.
    pub in_flight: Option<u32>,
    /// Share of time with something in flight, percent, cut to 100. Sampled by the kernel once a tick, and each time that
    /// it is read while something is in flight, so approximate (too high or too low, by kernel). It says nothing about
    /// headroom on parallel devices: 100 % is not saturation.
    pub busy_pct: Option<f64>,
    /// The same, uncut.
    pub busy_raw_pct: Option<f64>,
    /// The interval these are over.
    pub interval: Nanos,
    /// What should be known about the figures.
    pub notes: Vec<Note>,
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

impl Rates {
    /// Rates of what was done in an interval. All unknown if it is zero.
    #[must_use]
    pub fn of(delta: &Delta, interval: Nanos) -> Self {
        if interval.0 == 0 {
            return Self { in_flight: delta.in_flight, ..Self::default() };
        }
        let seconds = interval.seconds();
        let per_s = |n: u64| Some(count(n) / seconds);
        let times = interval < LONGEST_OF_TIMES;
        let share = |ms: Option<u64>| Some(count(ms.filter(|_| times)?) / interval.millis());
        let (read, write) = (&delta.read, &delta.write);
        let discard = delta.discard.as_ref();
        let flush = delta.flush.as_ref();
        let wait = |d: &DirectionDelta| mean(d.ms.filter(|_| times), d.ios);
        let busy = share(delta.busy_ms).map(|v| v * 100.0);
        Self {
            read_iops: per_s(read.ios),
            write_iops: per_s(write.ios),
            discard_iops: discard.and_then(|d| per_s(d.ios)),
            flush_iops: flush.and_then(|f| per_s(f.ios)),
            read_bytes_per_s: per_s(bytes(read)),
            write_bytes_per_s: per_s(bytes(write)),
            discard_bytes_per_s: discard.and_then(|d| per_s(bytes(d))),
            read_await_ms: wait(read),
            write_await_ms: wait(write),
            discard_await_ms: discard.and_then(wait),
            flush_await_ms: flush.and_then(|f: &FlushDelta| mean(f.ms.filter(|_| times), f.ios)),
            read_size_bytes: mean(Some(bytes(read)), read.ios),
            write_size_bytes: mean(Some(bytes(write)), write.ios),
            discard_size_bytes: discard.and_then(|d| mean(Some(bytes(d)), d.ios)),
            read_merged_pct: merged_pct(read),
            write_merged_pct: merged_pct(write),
            discard_merged_pct: discard.and_then(merged_pct),
            aqu_sz: share(delta.weighted_ms),
            in_flight: delta.in_flight,
            busy_pct: busy.map(|v| v.min(100.0)),
            busy_raw_pct: busy,
            interval,
            notes: if busy.is_some_and(|v| v > 100.0) { vec![Note::BusySampled] } else { Vec::new() },
        }
    }

    /// All unknown, with the reasons.
    #[must_use]
    pub fn unknown(interval: Nanos, notes: Vec<Note>) -> Self {
        Self { interval, notes, ..Self::default() }
    }
}

/// Rates from two rows of the same device instance, `interval` apart. None if any count fell: see [`Delta::between`].
#[must_use]
pub fn between(before: &Counters, after: &Counters, interval: Nanos) -> Option<Rates> {
    Delta::between(before, after).map(|delta| Rates::of(&delta, interval))
}

fn bytes(d: &DirectionDelta) -> u64 {
    Sectors(d.sectors).bytes().0
}

/// Undefined, not 0, where nothing was completed.
fn mean(sum: Option<u64>, ios: u64) -> Option<f64> {
    (ios > 0).then_some(count(sum?) / count(ios))
}

fn merged_pct(d: &DirectionDelta) -> Option<f64> {
    mean(Some(d.merges), d.ios.saturating_add(d.merges)).map(|share| 100.0 * share)
}

#[allow(clippy::cast_precision_loss)] // rates are shown with three digits
fn count(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::diskstats::parse_line;
    use proptest::prelude::*;

    fn row(text: &str) -> Counters {
        parse_line(text).unwrap().counters
    }

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn a_nearly_idle_disk_keeps_its_raw_busy_and_leaves_the_undefined_blank() {
        let before = row("8 0 sda 100 0 800 90 50 0 400 40 0 1000 130 0 0 0 0 0 0");
        let after = row("8 0 sda 102 0 802 93 50 0 400 40 0 2007 133 0 0 0 0 0 0");
        let r = between(&before, &after, Nanos::SECOND).unwrap();
        assert!(close(r.read_iops, 2.0) && close(r.read_size_bytes, 512.0) && close(r.read_await_ms, 1.5));
        assert!(close(r.busy_pct, 100.0) && close(r.busy_raw_pct, 100.7));
        assert_eq!((r.write_size_bytes, r.write_await_ms, r.write_merged_pct), (None, None, None));
        assert!(close(r.write_iops, 0.0));
    }

    #[test]
    fn counters_that_fell_are_another_device() {
        let before = row("253 3 dm-3 4210 0 336800 5120 9000 0 720000 8800 0 9100 13920 0 0 0 0 0 0");
        let after = row("253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7 0 0 0 0 0 0");
        assert_eq!(between(&before, &after, Nanos::SECOND), None);
    }

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        let before = row("8 0 sda 10 0 80 4294967290 0 0 0 0 0 4294967290 4294967290 0 0 0 0 0 0");
        let after = row("8 0 sda 12 0 96 4 0 0 0 0 0 10 1000 0 0 0 0 0 0");
        let r = between(&before, &after, Nanos::SECOND).unwrap();
        assert!(close(r.read_await_ms, 5.0) && close(r.busy_raw_pct, 1.6) && close(r.aqu_sz, 1.006));
    }

    #[test]
    fn a_millisecond_counter_that_stepped_back_is_unknown() {
        let before = row("8 0 sda 10 0 80 100 0 0 0 0 0 50 50 0 0 0 0 0 0");
        let after = row("8 0 sda 12 0 96 99 0 0 0 0 0 50 49 0 0 0 0 0 0");
        let r = between(&before, &after, Nanos::SECOND).unwrap();
        assert_eq!((r.read_await_ms, r.aqu_sz), (None, None));
    }

    #[test]
    fn await_weighs_both_directions() {
        let r = Rates {
            read_iops: Some(3.0),
            read_await_ms: Some(1.0),
            write_iops: Some(1.0),
            write_await_ms: Some(5.0),
            ..Rates::default()
        };
        assert!(close(r.await_ms(), 2.0));
        assert_eq!(Rates::default().await_ms(), None);
    }

    proptest! {
        #[test]
        fn no_figure_is_negative_or_not_a_number(a in proptest::collection::vec(any::<u32>(), 17), b in proptest::collection::vec(any::<u32>(), 17), ns in 10_000_000u64..) {
            let line = |v: &[u32]| format!("8 0 sda {}", v.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
            if let Some(r) = between(&row(&line(&a)), &row(&line(&b)), Nanos(ns)) {
                let all = [r.read_iops, r.write_iops, r.discard_iops, r.flush_iops, r.read_bytes_per_s, r.write_bytes_per_s,
                    r.discard_bytes_per_s, r.read_await_ms, r.write_await_ms, r.discard_await_ms, r.flush_await_ms,
                    r.read_size_bytes, r.write_size_bytes, r.discard_size_bytes,
                    r.read_merged_pct, r.write_merged_pct, r.discard_merged_pct, r.aqu_sz, r.busy_pct, r.busy_raw_pct, r.await_ms(), r.bytes_per_s()];
                prop_assert!(all.into_iter().flatten().all(|v| v.is_finite() && v >= 0.0), "{r:?}");
                prop_assert!(r.busy_pct.is_none_or(|v| v <= 100.0));
            }
        }
    }
}
