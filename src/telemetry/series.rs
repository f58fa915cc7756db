//! The past of a device's figures: an hour of it in memory that does not grow, whatever the interval.
//!
//! Three tiers, keyed by the time of the samples and not by their number, so that a missed sample or a sleep keeps its
//! width: the newest two minutes sample by sample, ten minutes in buckets of 4 s, an hour in buckets of 20 s. A bucket
//! knows least, greatest and mean of each figure, so no extreme is lost. Each sample goes into all three.
//!
//! A device costs at most 115 kB: 1200 samples of 56 bytes, 331 buckets of 136 bytes. At one sample a second it is 55 kB.

use std::collections::VecDeque;

use super::rates::Rates;
use crate::units::Nanos;

/// How far back samples are kept one by one.
pub const RECENT: Nanos = Nanos(120 * Nanos::SECOND.0);
/// How far back anything is kept.
pub const PAST: Nanos = Nanos(3600 * Nanos::SECOND.0);
/// Most samples that are kept one by one: those of two minutes at ten a second.
pub const MOST_RECENT: usize = 1200;
/// Width of a bucket, and how many are kept: finer first.
pub const TIERS: [(Nanos, usize); 2] =
    [(Nanos(4 * Nanos::SECOND.0), 150), (Nanos(20 * Nanos::SECOND.0), 181)];

/// A figure whose past is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Completed reads per second.
    ReadIops,
    /// Completed writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytes,
    /// Bytes written per second.
    WriteBytes,
    /// Mean time of a read, ms.
    ReadAwait,
    /// Mean time of a write, ms.
    WriteAwait,
    /// Mean time of a read or write, ms.
    Await,
    /// Busy, percent, uncut.
    Busy,
    /// Mean number of requests queued or in flight.
    AquSz,
    /// Requests at the driver.
    InFlight,
}

const FIGURES: usize = Figure::InFlight as usize + 1;

/// All figures at once; not-a-number is unknown. Three digits are shown, so half the width of a double will do.
type Figures = [f32; FIGURES];

const UNKNOWN: Figures = [f32::NAN; FIGURES];

fn figures(r: &Rates) -> Figures {
    let all: [(Figure, Option<f64>); FIGURES] = [
        (Figure::ReadIops, r.read_iops),
        (Figure::WriteIops, r.write_iops),
        (Figure::ReadBytes, r.read_bytes_per_s),
        (Figure::WriteBytes, r.write_bytes_per_s),
        (Figure::ReadAwait, r.read_await_ms),
        (Figure::WriteAwait, r.write_await_ms),
        (Figure::Await, r.await_ms()),
        (Figure::Busy, r.busy_raw_pct.or(r.busy_pct)),
        (Figure::AquSz, r.aqu_sz),
        (Figure::InFlight, r.in_flight.map(f64::from)),
    ];
    let mut out = UNKNOWN;
    for (figure, value) in all {
        out[figure as usize] = value.filter(|v| v.is_finite()).map_or(f32::NAN, narrow);
    }
    out
}

#[allow(clippy::cast_possible_truncation)] // clamped to what it holds; the precision is enough for three digits
fn narrow(v: f64) -> f32 {
    v.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

fn known(v: f32) -> Option<f64> {
    (!v.is_nan()).then(|| f64::from(v))
}

/// Rates as they can be told from the figures kept; what is not kept is unknown.
fn rates(figures: &Figures, over: Nanos) -> Rates {
    let of = |f: Figure| known(figures[f as usize]);
    let size = |bytes: Figure, ios: Figure| Some(of(bytes)? / of(ios).filter(|n| *n > 0.0)?);
    // Saturates; it came from such a number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = |v: f64| v.round() as u32;
    Rates {
        read_iops: of(Figure::ReadIops),
        write_iops: of(Figure::WriteIops),
        read_bytes_per_s: of(Figure::ReadBytes),
        write_bytes_per_s: of(Figure::WriteBytes),
        read_await_ms: of(Figure::ReadAwait),
        write_await_ms: of(Figure::WriteAwait),
        read_size_bytes: size(Figure::ReadBytes, Figure::ReadIops),
        write_size_bytes: size(Figure::WriteBytes, Figure::WriteIops),
        aqu_sz: of(Figure::AquSz),
        in_flight: of(Figure::InFlight).map(whole),
        busy_pct: of(Figure::Busy).map(|v| v.min(100.0)),
        busy_raw_pct: of(Figure::Busy),
        interval: over,
        ..Rates::default()
    }
}

/// What a mean weighs each figure by: rates by their time, waiting times by the I/Os that waited.
fn weights(of: &Figures, over: Nanos) -> [f64; FIGURES] {
    let seconds = over.seconds();
    let ios = |f: Figure| known(of[f as usize]).unwrap_or(0.0) * seconds;
    let (reads, writes) = (ios(Figure::ReadIops), ios(Figure::WriteIops));
    let mut out = [seconds; FIGURES];
    out[Figure::ReadAwait as usize] = reads;
    out[Figure::WriteAwait as usize] = writes;
    out[Figure::Await as usize] = reads + writes;
    out[Figure::InFlight as usize] = 1.0;
    // A value that is known counts, even if nothing says how much.
    out.map(|w| w.max(1e-9))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    at: Nanos,
    over: Nanos,
    figures: Figures,
}

impl Sample {
    fn from(&self) -> Nanos {
        Nanos(self.at.0.saturating_sub(self.over.0))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    from: Nanos,
    to: Nanos,
    least: Figures,
    greatest: Figures,
    mean: Figures,
}

#[derive(Clone, Debug, PartialEq)]
struct Tier {
    width: Nanos,
    most: usize,
    /// Oldest first; the last is still being filled.
    buckets: VecDeque<Bucket>,
    /// Of the last: sum of values by weight, and of weights.
    sums: [(f64, f64); FIGURES],
}

impl Tier {
    fn push(&mut self, sample: &Sample) {
        let index = |at: Nanos| at.0 / self.width.0;
        let now = index(sample.at);
        if self.buckets.back().is_none_or(|b| index(b.to) != now) {
            let oldest = now.saturating_sub(self.most as u64 - 1);
            while self.buckets.front().is_some_and(|b| index(b.to) < oldest) {
                self.buckets.pop_front();
            }
            self.sums = [(0.0, 0.0); FIGURES];
            let fresh = Bucket {
                from: sample.from(),
                to: sample.at,
                least: UNKNOWN,
                greatest: UNKNOWN,
                mean: UNKNOWN,
            };
            push_tight(&mut self.buckets, fresh);
        }
        let Some(bucket) = self.buckets.back_mut() else { return };
        bucket.from = bucket.from.min(sample.from());
        bucket.to = sample.at;
        let weights = weights(&sample.figures, sample.over);
        for (i, v) in sample.figures.into_iter().enumerate().filter(|(_, v)| !v.is_nan()) {
            // The least and greatest of a number and not-a-number is the number.
            bucket.least[i] = bucket.least[i].min(v);
            bucket.greatest[i] = bucket.greatest[i].max(v);
            let (sum, weight) = &mut self.sums[i];
            *sum += f64::from(v) * weights[i];
            *weight += weights[i];
            bucket.mean[i] = narrow(*sum / *weight).clamp(bucket.least[i], bucket.greatest[i]);
        }
    }

    fn at(&self, moment: Nanos) -> Option<&Bucket> {
        let index = moment.0 / self.width.0;
        let i = self.buckets.partition_point(|b| b.to.0 / self.width.0 < index);
        self.buckets.get(i).filter(|b| b.to.0 / self.width.0 == index)
    }
}

/// Appends, and makes room in small steps: doubling would leave up to half of it empty.
fn push_tight<T>(queue: &mut VecDeque<T>, item: T) {
    if queue.len() == queue.capacity() {
        queue.reserve_exact((queue.len() / 8).max(16));
    }
    queue.push_back(item);
}

/// A stretch of time with the extremes of a figure in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// It begins after this.
    pub from: Nanos,
    /// And ends with this.
    pub to: Nanos,
    /// Least.
    pub least: f64,
    /// Greatest.
    pub greatest: f64,
}

/// The past of one device.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    recent: VecDeque<Sample>,
    tiers: [Tier; TIERS.len()],
}

impl Default for Series {
    fn default() -> Self {
        let sums = [(0.0, 0.0); FIGURES];
        let tier = |(width, most)| Tier { width, most, buckets: VecDeque::new(), sums };
        Self { recent: VecDeque::new(), tiers: TIERS.map(tier) }
    }
}

impl Series {
    /// Notes the rates of a sample taken at `at`. They hold for their interval before it and for no more. A sample that is
    /// not later than the last is left out.
    pub fn push(&mut self, at: Nanos, rates: &Rates) {
        if self.recent.back().is_some_and(|s| at <= s.at) {
            return;
        }
        let sample = Sample { at, over: Nanos(rates.interval.0.min(at.0)), figures: figures(rates) };
        let oldest = Nanos(at.0.saturating_sub(RECENT.0));
        while self.recent.front().is_some_and(|s| s.at < oldest) || self.recent.len() >= MOST_RECENT {
            self.recent.pop_front();
        }
        push_tight(&mut self.recent, sample);
        for tier in &mut self.tiers {
            tier.push(&sample);
        }
    }

    /// The rates of the sample taken at `moment`, or the mean of its bucket where samples are not kept one by one any
    /// more. None if nothing is known of the device at that time.
    #[must_use]
    pub fn at(&self, moment: Nanos) -> Option<Rates> {
        if let Ok(i) = self.recent.binary_search_by_key(&moment, |s| s.at) {
            let sample = &self.recent[i];
            return Some(rates(&sample.figures, sample.over));
        }
        if self.recent.front().is_none_or(|s| moment >= s.at) {
            return None;
        }
        let bucket = self.tiers.iter().find_map(|t| t.at(moment))?;
        Some(rates(&bucket.mean, bucket.to.since(bucket.from)))
    }

    /// Tells the extremes of a figure between two times, a piece of time after the other, in no order. Time without a
    /// piece is a gap. The finest tier that reaches over as much is used, and coarser ones where it does not reach back.
    pub fn pieces(&self, figure: Figure, after: Nanos, until: Nanos, mut tell: impl FnMut(Piece)) {
        let span = until.since(after);
        let mut tell = |from: Nanos, to: Nanos, least: &Figures, greatest: &Figures| {
            let i = figure as usize;
            if let (Some(least), Some(greatest)) = (known(least[i]), known(greatest[i])) {
                tell(Piece { from: from.max(after), to, least, greatest });
            }
        };
        // What is finer was told from here on.
        let mut seam = until;
        if span <= RECENT {
            for s in self.recent.iter().filter(|s| s.at > after && s.at <= until) {
                tell(s.from(), s.at, &s.figures, &s.figures);
            }
            seam = self.recent.front().map_or(seam, |s| seam.min(s.from()));
        }
        for (i, (tier, (width, most))) in self.tiers.iter().zip(TIERS).enumerate() {
            if span.0 > width.0 * most as u64 && i + 1 < TIERS.len() {
                continue;
            }
            for b in tier.buckets.iter().filter(|b| b.to > after && (b.from < seam || b.to <= seam)) {
                tell(b.from, b.to.min(seam), &b.least, &b.greatest);
            }
            seam = tier.buckets.front().map_or(seam, |b| seam.min(b.from));
        }
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let buckets: usize = self.tiers.iter().map(|t| t.buckets.capacity()).sum();
        size_of::<Self>() + self.recent.capacity() * size_of::<Sample>() + buckets * size_of::<Bucket>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn reads(iops: f64, over_ms: u64) -> Rates {
        Rates { read_iops: Some(iops), interval: Nanos(over_ms * MS), ..Rates::default() }
    }

    fn pieces(s: &Series, figure: Figure, after: u64, until: u64) -> Vec<Piece> {
        let mut out = Vec::new();
        s.pieces(figure, Nanos(after), Nanos(until), |p| out.push(p));
        out
    }

    /// Samples at these distances, in ms; the value of each, or unknown.
    fn filled(samples: &[(u64, Option<f64>)]) -> (Series, Vec<(u64, Option<f64>)>) {
        let mut series = Series::default();
        let mut at = 7_200_000 * MS;
        let mut all = Vec::new();
        for (ms, v) in samples {
            at += ms * MS;
            let rates = Rates { read_iops: *v, interval: Nanos(ms * MS), ..Rates::default() };
            series.push(Nanos(at), &rates);
            all.push((at, *v));
        }
        (series, all)
    }

    fn samples() -> impl Strategy<Value = Vec<(u64, Option<f64>)>> {
        let value = prop_oneof![1 => Just(None), 6 => (0u32..1_000_000).prop_map(|v| Some(f64::from(v)))];
        let one = prop_oneof![8 => 100u64..1500, 2 => 1500u64..60_000, 1 => 60_000u64..600_000];
        prop::collection::vec((one, value), 1..400)
    }

    proptest! {
        #[test]
        fn no_extreme_of_a_span_is_lost_and_none_is_made_up(samples in samples(), span in 1u64..3600) {
            let (series, all) = filled(&samples);
            let newest = all.last().unwrap().0;
            let after = newest - span * 1000 * MS;
            let told = pieces(&series, Figure::ReadIops, after, newest);
            let low = told.iter().map(|p| p.least).reduce(f64::min);
            let high = told.iter().map(|p| p.greatest).reduce(f64::max);
            let inside = |v: &&(u64, Option<f64>)| v.0 > after;
            let values: Vec<f64> = all.iter().filter(inside).filter_map(|v| v.1).collect();
            // A bucket may begin before the span, so what is told may hold more, but never less.
            let least = values.iter().copied().reduce(f64::min);
            let most = values.iter().copied().reduce(f64::max);
            prop_assert!(least.is_none() || low <= least, "{low:?} {least:?}");
            prop_assert!(most.is_none() || high >= most, "{high:?} {most:?}");
            let real = |v: f64| all.iter().any(|a| a.1 == Some(v));
            prop_assert!(told.iter().all(|p| real(p.least) && real(p.greatest)));
        }

        #[test]
        fn what_no_sample_covers_no_piece_covers(samples in samples(), span in 1u64..3600) {
            let mut series = Series::default();
            let mut at = 7_200_000 * MS;
            let mut covered = Vec::new();
            for (ms, v) in &samples {
                at += ms * MS;
                // Half of the time is not covered: the host slept, or a sample was missed.
                let over = ms / 2;
                let known = Rates { read_iops: *v, interval: Nanos(over * MS), ..Rates::default() };
                series.push(Nanos(at), &known);
                covered.push((at - over * MS, at, v.is_some()));
            }
            let told = pieces(&series, Figure::ReadIops, at - span * 1000 * MS, at);
            for gap in covered.windows(2) {
                let ((_, from, _), (to, ..)) = (gap[0], gap[1]);
                let width = to - from;
                // Inside of a bucket a gap is not told apart.
                if width > 20_000 * MS {
                    let (from, to) = (from + MS, to - MS);
                    prop_assert!(!told.iter().any(|p| p.from.0 < to && p.to.0 > from), "{gap:?}");
                }
            }
        }

        #[test]
        fn memory_is_bounded_whatever_the_interval(ms in 100u64..60_000, count in 1usize..4000) {
            let mut series = Series::default();
            for i in 1..=count as u64 {
                series.push(Nanos(i * ms * MS), &reads(1.0, ms));
            }
            prop_assert!(series.bytes() <= 115_000, "{} bytes", series.bytes());
            prop_assert!(ms < 1000 || series.bytes() <= 55_000, "{} bytes", series.bytes());
        }

        #[test]
        fn a_mean_lies_between_its_extremes(samples in samples()) {
            let (series, all) = filled(&samples);
            for (at, _) in &all {
                let bucket = series.tiers[1].at(Nanos(*at));
                let mean = bucket.and_then(|b| known(b.mean[0]));
                prop_assert!(bucket.is_none() || mean.is_none() || (f64::from(bucket.unwrap().least[0]) <= mean.unwrap()
                    && mean.unwrap() <= f64::from(bucket.unwrap().greatest[0])));
            }
        }
    }

    #[test]
    fn a_moment_is_its_sample_then_the_mean_of_its_bucket_then_unknown() {
        let mut series = Series::default();
        let rates = |i: u64| Rates {
            read_iops: Some(if i.is_multiple_of(2) { 10.0 } else { 30.0 }),
            read_bytes_per_s: Some(40_960.0),
            read_await_ms: Some(if i.is_multiple_of(2) { 1.0 } else { 3.0 }),
            write_iops: Some(0.0),
            in_flight: Some(4),
            busy_pct: Some(100.0),
            busy_raw_pct: Some(100.7),
            interval: Nanos::SECOND,
            ..Rates::default()
        };
        let second = |n: u64| Nanos(n * 1000 * MS);
        for i in 1..=600 {
            series.push(second(i), &rates(i));
        }
        let now = series.at(second(600)).unwrap();
        assert_eq!((now.read_iops, now.read_await_ms, now.await_ms()), (Some(10.0), Some(1.0), Some(1.0)));
        assert_eq!((now.read_size_bytes, now.in_flight, now.busy_pct), (Some(4096.0), Some(4), Some(100.0)));
        assert!(now.busy_raw_pct.is_some_and(|v| (v - 100.7).abs() < 0.001));
        assert_eq!((now.write_bytes_per_s, now.flush_iops, now.write_size_bytes), (None, None, None));
        // Two of each kind: I/Os as many a second as the mean, waiting as long as the mean I/O.
        let then = series.at(second(300)).unwrap();
        assert_eq!((then.read_iops, then.read_await_ms), (Some(20.0), Some(2.5)));
        assert_eq!(series.at(Nanos(second(590).0 + 1)), None);
        assert_eq!(series.at(second(4000)), None);
        // An hour later it is forgotten.
        series.push(second(4300), &rates(0));
        assert_eq!(series.at(second(600)), None);
    }

    #[test]
    fn a_sleep_is_a_gap_of_its_width() {
        let mut series = Series::default();
        let second = |n: u64| n * 1000 * MS;
        for i in (1..=10).chain(41..=50) {
            series.push(Nanos(second(i)), &reads(1.0, 1000));
        }
        let told = pieces(&series, Figure::ReadIops, 0, second(60));
        assert_eq!(told.len(), 20);
        assert!(!told.iter().any(|p| p.to.0 > second(10) && p.from.0 < second(40)), "{told:?}");
        // In the buckets as well.
        let told = pieces(&series, Figure::ReadIops, 0, second(600));
        assert!(
            told.len() < 20 && !told.iter().any(|p| p.to.0 > second(10) && p.from.0 < second(40)),
            "{told:?}"
        );
    }
}
