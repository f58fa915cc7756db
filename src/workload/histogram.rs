//! Latencies, counted in buckets that keep three significant digits from a nanosecond to a hundred seconds.
//!
//! Values below 2048 ns have a bucket each; above, every power of two is cut into 1024, so that a bucket is at most a
//! thousandth of its value wide. Recording is a shift, an addition and four sums: this runs once for every I/O, and what
//! it costs the measured program is part of what is measured. That is why it is not taken from a crate: a general
//! histogram checks, resizes and answers a `Result` for each value, and mean and deviation from its buckets are not
//! exact.

use super::live::{LatencyStep, LivePercentiles};
use super::result::LatencySummary;
use crate::units::Nanos;

/// log2 of the buckets in an octave.
const BITS: u32 = 10;
/// The largest latency told apart; longer ones are counted in its bucket (their sum and maximum stay exact).
const MOST: u64 = 100 * 1_000_000_000;
/// log2 of the buckets in a group. What is in a group is counted too: empty ones are passed over, so that merging, emptying
/// and looking up cost what was used and not what there is.
const GROUP_BITS: usize = 6;
const GROUP: usize = 1 << GROUP_BITS;
const GROUPS: usize = index_of(MOST) / GROUP + 1;
const BUCKETS: usize = GROUPS * GROUP;

/// A distribution of latencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
    in_group: [u64; GROUPS],
    count: u64,
    sum: u64,
    squares: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty one; all its memory is taken here.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: zeroed(), in_group: [0; GROUPS], count: 0, sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one latency, in nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        let index = index_of(ns.min(MOST));
        self.counts[index] += 1;
        self.in_group[index >> GROUP_BITS] += 1;
        self.count += 1;
        self.sum += ns;
        self.squares += u128::from(ns) * u128::from(ns);
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// How many were counted.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        for group in other.used() {
            self.in_group[group] += other.in_group[group];
            let at = group * GROUP..(group + 1) * GROUP;
            for (mine, theirs) in self.counts[at.clone()].iter_mut().zip(&other.counts[at]) {
                *mine += theirs;
            }
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        if self.count == 0 {
            return;
        }
        for group in 0..GROUPS {
            if std::mem::take(&mut self.in_group[group]) > 0 {
                self.counts[group * GROUP..(group + 1) * GROUP].fill(0);
            }
        }
        (self.count, self.sum, self.squares, self.min, self.max) = (0, 0, 0, u64::MAX, 0);
    }

    /// The groups that hold anything, in ascending order.
    fn used(&self) -> impl Iterator<Item = usize> + '_ {
        (0..GROUPS).filter(|g| self.in_group[*g] > 0)
    }

    /// The latency that at least `per_10_000` of ten thousand I/Os did not exceed, to a thousandth: the top of the bucket
    /// that holds the I/O of rank ceil(p n), never more than the maximum. None where the count does not support it: the
    /// upper end of the figure's 95% interval has to be among the I/Os that were seen (a binomial order statistic), which
    /// takes 6 I/Os for p50, 368 for p99 and 3,688 for p99.9. With fewer it would only be the maximum under another
    /// name.
    #[must_use]
    pub fn percentile(&self, per_10_000: u32) -> Option<Nanos> {
        let [p] = self.percentiles([per_10_000]);
        p
    }

    /// Several percentiles in one pass; `wanted` in ascending order.
    #[must_use]
    pub fn percentiles<const N: usize>(&self, wanted: [u32; N]) -> [Option<Nanos>; N] {
        debug_assert!(wanted.is_sorted());
        let mut out = [None; N];
        let n = u128::from(self.count);
        // Ranks from 1; 0 for those that are not supported.
        let ranks = wanted.map(|p| {
            let rank = (n * u128::from(p)).div_ceil(10_000).max(1);
            if supported(self.count, p) { u64::try_from(rank).unwrap_or(u64::MAX) } else { 0 }
        });
        let mut next = 0;
        let mut seen = 0u64;
        for group in self.used() {
            if seen + self.in_group[group] < ranks[next] {
                seen += self.in_group[group];
                continue;
            }
            let before = group * GROUP;
            let counts = &self.counts[before..before + GROUP];
            for (i, count) in counts.iter().enumerate() {
                seen += count;
                while next < N && seen >= ranks[next] {
                    if ranks[next] > 0 {
                        out[next] = Some(Nanos(top_of(before + i).clamp(self.min, self.max)));
                    }
                    next += 1;
                }
            }
            if next == N {
                break;
            }
        }
        out
    }

    /// Share of I/Os that took longer than `limit`, to the width of a bucket: those that share its bucket do not count.
    /// None if empty.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a share
    pub fn share_over(&self, limit: Nanos) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let first = index_of(limit.0.min(MOST)) + 1;
        let over: u64 = self
            .used()
            .filter(|g| (g + 1) * GROUP > first)
            .map(|g| self.counts[first.max(g * GROUP)..(g + 1) * GROUP].iter().sum::<u64>())
            .sum();
        Some(over as f64 / self.count as f64)
    }

    /// The distribution in steps of 1, 2 and 5 times powers of ten from a microsecond to a hundred seconds, from the first
    /// step that holds an I/O to the last. A bucket that an edge cuts through counts on the longer side, so a step is exact
    /// to a thousandth of its edges.
    #[must_use]
    pub fn steps(&self) -> Vec<LatencyStep> {
        let mut out: Vec<LatencyStep> = Vec::new();
        let mut edges = edges().peekable();
        for group in self.used() {
            for index in group * GROUP..(group + 1) * GROUP {
                let ios = self.counts[index];
                if ios == 0 {
                    continue;
                }
                let top = top_of(index);
                while let Some(up_to) = edges.next_if(|e| *e < top) {
                    // Steps before the first I/O are left out, those between two are there.
                    if out.last().is_some_and(|last| last.up_to.0 < up_to) {
                        out.push(LatencyStep { up_to: Nanos(up_to), ios: 0 });
                    }
                }
                let up_to = Nanos(edges.peek().copied().unwrap_or(u64::MAX));
                match out.last_mut() {
                    Some(last) if last.up_to == up_to => last.ios += ios,
                    _ => out.push(LatencyStep { up_to, ios }),
                }
            }
        }
        out
    }

    /// Sum of all latencies, ns, and the greatest.
    #[must_use]
    pub const fn sum_and_max(&self) -> (u64, u64) {
        (self.sum, self.max)
    }

    /// Mean and standard deviation (of these I/Os, not an estimate for others), from exact sums; None if empty.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // fifteen digits are more than a clock has
    pub fn mean_and_deviation(&self) -> Option<(f64, f64)> {
        if self.count == 0 {
            return None;
        }
        let n = u128::from(self.count);
        let sum = u128::from(self.sum);
        // n times the sum of squares minus the square of the sum is n squared variances, and never negative.
        let variance = match (n.checked_mul(self.squares), sum.checked_mul(sum)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (n as f64 * n as f64),
            _ => (self.squares as f64 / n as f64 - (sum as f64 / n as f64).powi(2)).max(0.0),
        };
        Some((sum as f64 / n as f64, variance.sqrt()))
    }

    /// All of it as results show it; None if empty.
    #[must_use]
    pub fn summary(&self) -> Option<LatencySummary> {
        let (mean, stddev) = self.mean_and_deviation()?;
        let [p50, p90, p95, p99, p99_9, p99_99] =
            self.percentiles([5_000, 9_000, 9_500, 9_900, 9_990, 9_999]);
        Some(LatencySummary {
            min: Some(Nanos(self.min)),
            mean: Some(mean),
            stddev: Some(stddev),
            max: Some(Nanos(self.max)),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
        })
    }

    /// The few percentiles that a running job shows.
    #[must_use]
    pub fn live(&self) -> LivePercentiles {
        let [p50, p95, p99, p99_9] = self.percentiles([5_000, 9_500, 9_900, 9_990]);
        LivePercentiles { p50, p95, p99, p99_9 }
    }
}

/// The edges of the steps: 1, 2 and 5 times powers of ten, ns.
fn edges() -> impl Iterator<Item = u64> {
    (3..=11).flat_map(|power| [1, 2, 5].map(|n| n * 10u64.pow(power))).filter(|e| *e <= MOST)
}

/// Whether `n` I/Os support a percentile: the chance that not one of them lies beyond it is at most 2.5%, which is the
/// same as asking that the binomial distribution's 97.5% point of ranks is below `n`.
fn supported(n: u64, per_10_000: u32) -> bool {
    #[allow(clippy::cast_precision_loss)] // the limit is in the hundreds or thousands
    let none_beyond = n as f64 * (f64::from(per_10_000) / 10_000.0).ln();
    n > 0 && none_beyond <= 0.025f64.ln()
}

/// The buckets, made on the heap: a quarter of a MiB is too much for a thread's stack to pass through.
fn zeroed() -> Box<[u64; BUCKETS]> {
    let Ok(counts) = vec![0; BUCKETS].into_boxed_slice().try_into() else {
        unreachable!("the slice has the length of the array");
    };
    counts
}

#[allow(clippy::cast_possible_truncation)] // at most MOST goes in, so a small number comes out
const fn index_of(ns: u64) -> usize {
    // The bit that makes the octave; everything below two octaves' worth keeps its single nanoseconds.
    let shift = (ns | (1 << BITS)).ilog2() - BITS;
    ((shift << BITS) as usize) + (ns >> shift) as usize
}

/// The largest value that lands in a bucket.
const fn top_of(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 << BITS {
        return index;
    }
    let shift = (index >> BITS) - 1;
    (((index - (shift << BITS)) + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut h = Histogram::new();
        for v in values {
            h.record(*v);
        }
        h
    }

    /// Latencies of every size, as many short as long.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec(
            (0u32..40, any::<u64>()).prop_map(|(bits, v)| v & ((1 << bits) - 1)),
            1..3000,
        )
    }

    proptest! {
        #[test]
        fn percentiles_agree_with_a_sorted_list(values in latencies()) {
            let h = of(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let n = sorted.len();
            for p in [1u32, 5_000, 9_000, 9_500, 9_900, 9_990, 9_999] {
                let supported = (f64::from(p) / 10_000.0).powi(i32::try_from(n).unwrap()) <= 0.025;
                let got = h.percentile(p);
                prop_assert_eq!(got.is_some(), supported, "p {} of {}", p, n);
                if let Some(got) = got {
                    let rank = (n * p as usize).div_ceil(10_000).max(1);
                    let exact = sorted[rank - 1];
                    let shown = exact.min(MOST);
                    prop_assert!(got.0 >= shown && got.0 <= (shown + shown / 1000).max(shown), "p {}: {} for {}", p, got.0, exact);
                }
            }
            let s = h.summary().unwrap();
            prop_assert_eq!((s.min, s.max), (Some(Nanos(sorted[0])), Some(Nanos(sorted[n - 1]))));
        }

        #[test]
        #[allow(clippy::cast_precision_loss)] // the oracle is in floating point
        fn mean_and_deviation_are_those_of_the_values(values in proptest::collection::vec(0u64..1 << 36, 1..500)) {
            let n = values.len() as f64;
            let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
            let deviation = (values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
            let (m, d) = of(&values).mean_and_deviation().unwrap();
            prop_assert!((m - mean).abs() <= mean * 1e-12 && (d - deviation).abs() <= deviation * 1e-9 + 1e-3, "{} {} {} {}", m, mean, d, deviation);
        }

        #[test]
        fn merging_is_recording_everything(a in latencies(), b in latencies()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let all: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&all));
            merged.clear();
            prop_assert_eq!(merged, Histogram::new());
        }

        #[test]
        fn steps_hold_every_io_once_and_have_no_holes(values in latencies()) {
            let steps = of(&values).steps();
            prop_assert!(steps.len() <= 26);
            prop_assert_eq!(steps.iter().map(|s| s.ios).sum::<u64>(), values.len() as u64);
            prop_assert!(steps[0].ios > 0 && steps[steps.len() - 1].ios > 0);
            let all: Vec<u64> = edges().chain([u64::MAX]).collect();
            let first = all.iter().position(|e| *e == steps[0].up_to.0).unwrap();
            for (step, edge) in steps.iter().zip(&all[first..]) {
                prop_assert_eq!(step.up_to.0, *edge);
                // A bucket at an edge may be off by its width.
                let least = first_above(&all, *edge);
                let surely = values.iter().filter(|v| **v > least + least / 1000 && **v <= edge - edge / 1000).count();
                prop_assert!(step.ios >= surely as u64, "{:?}", step);
            }
        }

        #[test]
        fn a_bucket_holds_a_thousandth(v in 0u64..=MOST) {
            let i = index_of(v);
            prop_assert!(i < BUCKETS && top_of(i) >= v && top_of(i) - v <= v / 1000);
            prop_assert!(i == 0 || top_of(i - 1) < v);
        }
    }

    /// The edge before this one; 0 before the first.
    fn first_above(all: &[u64], edge: u64) -> u64 {
        all.iter().rev().find(|e| **e < edge).copied().unwrap_or(0)
    }

    #[test]
    fn steps_are_named_by_their_upper_end() {
        let steps: Vec<(u64, u64)> =
            of(&[700, 90_000, 100_000, 450_000]).steps().iter().map(|s| (s.up_to.0, s.ios)).collect();
        let want = [
            (1_000, 1),
            (2_000, 0),
            (5_000, 0),
            (10_000, 0),
            (20_000, 0),
            (50_000, 0),
            (100_000, 1),
            (200_000, 1),
            (500_000, 1),
        ];
        assert_eq!(steps, want);
        assert_eq!(Histogram::new().steps(), Vec::new());
    }

    #[test]
    fn longer_than_a_hundred_seconds_is_counted_and_its_maximum_is_exact() {
        let h = of(&[5, 5, 5, 5, 5, MOST * 3]);
        assert_eq!(h.summary().unwrap().max, Some(Nanos(MOST * 3)));
        assert_eq!(h.percentile(5_000), Some(Nanos(5)));
    }

    #[test]
    fn a_share_over_a_limit_counts_what_took_longer() {
        let h = of(&[100, 200, 2_000_000, 3_000_000]);
        let over = |ns| h.share_over(Nanos(ns)).unwrap();
        let shares: Vec<String> = [50, 100, 1_000_000, 2_500_000, 4_000_000, MOST * 2]
            .map(|ns| format!("{:.2}", over(ns)))
            .to_vec();
        assert_eq!(shares, ["1.00", "0.75", "0.50", "0.25", "0.00", "0.00"]);
        assert_eq!(Histogram::new().share_over(Nanos(1)), None);
    }

    #[test]
    fn a_percentile_needs_the_ios_that_its_interval_needs() {
        // Least counts by the binomial rule, from tables: 6 for the median, 368 for p99, 3688 for p99.9.
        for (p, least) in [(5_000, 6), (9_900, 368), (9_990, 3_688)] {
            assert!(!supported(least - 1, p) && supported(least, p), "{p}");
        }
    }

    #[test]
    fn nothing_recorded_says_nothing() {
        assert_eq!(Histogram::new().summary(), None);
        assert_eq!(Histogram::new().live(), LivePercentiles::default());
    }

    #[test]
    fn one_io_has_no_median() {
        let s = of(&[7]).summary().unwrap();
        assert_eq!((s.min, s.mean, s.stddev, s.p50), (Some(Nanos(7)), Some(7.0), Some(0.0), None));
    }
}
