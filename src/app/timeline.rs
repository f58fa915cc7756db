//! A figure over the length of a run, in a fixed number of slots that keep the extremes.

use crate::telemetry::series::{Figure, Series};
use crate::units::Nanos;

/// Least and greatest value of a column of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Least.
    pub low: f64,
    /// Greatest.
    pub high: f64,
}

impl Span {
    fn with(self, other: Span) -> Span {
        Span { low: self.low.min(other.low), high: self.high.max(other.high) }
    }
}

/// Joins what falls together; unknown stays unknown only if both are.
fn join(a: Option<Span>, b: Option<Span>) -> Option<Span> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.with(b)),
        (a, b) => a.or(b),
    }
}

/// Slots of a timeline: an even number, wider than any chart needs to be exact.
const SLOTS: usize = 512;

/// A figure over time since the start of a run. Its size does not grow: when the run outlasts the planned length,
/// neighbouring slots are joined and each then stands for twice the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    slots: Vec<Option<Span>>,
    length: Nanos,
    last: Option<usize>,
}

impl Timeline {
    /// An empty timeline for a run of this planned length.
    #[must_use]
    pub fn new(planned: Nanos) -> Self {
        Self { slots: vec![None; SLOTS], length: Nanos(planned.0.max(SLOTS as u64)), last: None }
    }

    /// Notes a value that held from the last note until `at`, a time since the start. Unknown leaves a gap.
    pub fn push(&mut self, at: Nanos, value: Option<f64>) {
        while at.0 >= self.length.0 {
            if self.length.0 > u64::MAX / 2 {
                return;
            }
            self.double();
        }
        // Both factors fit u128, and the quotient is below SLOTS because `at` is below the length.
        let slot = u128::from(at.0) * SLOTS as u128 / u128::from(self.length.0);
        let slot = usize::try_from(slot).unwrap_or(SLOTS - 1).min(SLOTS - 1);
        let from = self.last.map_or(slot, |last| (last + 1).min(slot));
        self.last = Some(slot);
        if let Some(v) = value.filter(|v| v.is_finite()) {
            for s in &mut self.slots[from..=slot] {
                *s = join(*s, Some(Span { low: v, high: v }));
            }
        }
    }

    fn double(&mut self) {
        for i in 0..SLOTS {
            self.slots[i] = if i < SLOTS / 2 { join(self.slots[2 * i], self.slots[2 * i + 1]) } else { None };
        }
        self.length = Nanos(self.length.0.saturating_mul(2));
        self.last = self.last.map(|last| last / 2);
    }

    /// The whole length in `width` columns. With more columns than slots some repeat.
    #[must_use]
    pub fn columns(&self, width: usize) -> Vec<Option<Span>> {
        (0..width)
            .map(|c| {
                let from = c * SLOTS / width;
                let to = ((c + 1) * SLOTS / width).max(from + 1);
                self.slots[from..to].iter().copied().fold(None, join)
            })
            .collect()
    }

    /// The greatest value.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        self.slots.iter().flatten().map(|s| s.high).reduce(f64::max)
    }
}

/// The columns of a chart over real time. Their borders are multiples of their width, so that a column, once it is full,
/// does not change any more but in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Nanoseconds at the left edge; may be before the clock began.
    left: i128,
    column: i128,
    width: usize,
}

impl Window {
    /// A window of this span whose last column holds `until`.
    #[must_use]
    pub fn ending(until: Nanos, span: Nanos, width: usize) -> Self {
        let column = i128::from(span.0 / (width as u64).max(1)).max(1);
        let columns = (i128::from(until.0) + column - 1) / column;
        Self { left: (columns - width as i128) * column, column, width }
    }

    /// The time at its left edge, as far as the clock goes back.
    #[must_use]
    pub fn after(&self) -> Nanos {
        Nanos(u64::try_from(self.left.max(0)).unwrap_or(u64::MAX))
    }

    /// The column that a time falls into; its left border belongs to the one before.
    #[must_use]
    pub fn column_of(&self, at: Nanos) -> Option<usize> {
        let away = i128::from(at.0) - self.left;
        usize::try_from((away - 1).div_euclid(self.column)).ok().filter(|c| *c < self.width)
    }

    /// A figure in these columns, out of a past that is told up to `until`. What is shorter than a column is in the one
    /// where it ends, what is longer in all that it touches, so that nothing is shown wider than it was, or lost.
    #[must_use]
    pub fn columns(&self, series: Option<&Series>, figure: Figure, until: Nanos) -> Vec<Option<Span>> {
        let mut out = vec![None; self.width];
        let Some(series) = series else { return out };
        series.pieces(figure, self.after(), until, |p| {
            let long = i128::from(p.to.0) - i128::from(p.from.0) >= self.column;
            let Some(last) = self.column_of(p.to) else { return };
            // Begins after `from`, so at the earliest in the column of the next nanosecond.
            let first = self.column_of(Nanos(p.from.0.saturating_add(1))).unwrap_or(0);
            let first = if long { first.min(last) } else { last };
            for column in &mut out[first..=last] {
                *column = join(*column, Some(Span { low: p.least, high: p.greatest }));
            }
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::rates::Rates;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_extreme_is_lost_at_any_width(
            points in proptest::collection::vec((0u64..5_000, -1e9f64..1e9), 1..200),
            planned in 1u64..2_000,
            width in 1usize..700,
        ) {
            let mut t = Timeline::new(Nanos(planned));
            for (at, v) in &points {
                t.push(Nanos(*at), Some(*v));
            }
            let columns = t.columns(width);
            prop_assert_eq!(columns.len(), width);
            let low = columns.iter().flatten().map(|s| s.low).min_by(f64::total_cmp);
            let high = columns.iter().flatten().map(|s| s.high).max_by(f64::total_cmp);
            prop_assert_eq!(low, points.iter().map(|p| p.1).min_by(f64::total_cmp));
            prop_assert_eq!(high, points.iter().map(|p| p.1).max_by(f64::total_cmp));
        }
    }

    #[test]
    fn what_was_not_measured_is_a_gap() {
        let mut t = Timeline::new(Nanos(1_000));
        t.push(Nanos(0), Some(1.0));
        t.push(Nanos(300), None);
        t.push(Nanos(600), Some(2.0));
        let c = t.columns(10);
        assert_eq!(c[0], Some(Span { low: 1.0, high: 1.0 }));
        assert_eq!(c[2], None);
        // A rate is over the time since the last one.
        assert_eq!(c[5], Some(Span { low: 2.0, high: 2.0 }));
        assert_eq!(c[7], None);
    }

    fn series(samples: &[(u64, u64, f64)]) -> Series {
        let mut series = Series::default();
        for (at, over, v) in samples {
            let [at, interval] = [*at, *over].map(|ms| Nanos(ms * 1_000_000));
            series.push(at, &Rates { aqu_sz: Some(*v), interval, ..Rates::default() });
        }
        series
    }

    proptest! {
        #[test]
        fn a_window_loses_no_extreme_and_has_no_holes_of_its_own(
            width in 1usize..400,
            span in prop::sample::select(vec![120u64, 600, 3600]),
            every in 100u64..60_000,
            spike in 0u64..300,
        ) {
            let count = (300 * 1000 / every).clamp(1, 300);
            let start = 10_000_000;
            let samples: Vec<_> = (1..=count)
                .map(|i| (start + i * every, every, if i == spike { 9.0 } else { 2.0 }))
                .collect();
            let until = Nanos((start + count * every) * 1_000_000);
            let window = Window::ending(until, Nanos(span * 1_000_000_000), width);
            let columns = window.columns(Some(&series(&samples)), Figure::AquSz, until);
            prop_assert_eq!(columns.len(), width);
            prop_assert_eq!(window.column_of(until), Some(width - 1));
            let inside: Vec<_> = samples.iter().filter(|s| s.0 * 1_000_000 > window.after().0).collect();
            let high = columns.iter().flatten().map(|s| s.high).reduce(f64::max);
            prop_assert_eq!(high, inside.iter().map(|s| s.2).reduce(f64::max));
            let first = columns.iter().position(Option::is_some).unwrap();
            prop_assert!(columns[first..].iter().all(Option::is_some), "{:?}", columns);
        }

        #[test]
        fn a_gap_is_as_wide_as_it_was(gap in 1u64..100) {
            let series = series(&[(1_000, 1_000, 1.0), ((gap + 2) * 1_000, 1_000, 1.0)]);
            let until = Nanos((gap + 2) * Nanos::SECOND.0);
            let columns = Window::ending(until, Nanos(120 * Nanos::SECOND.0), 120);
            let columns = columns.columns(Some(&series), Figure::AquSz, until);
            let at = |c: usize| columns[c].is_some();
            let from = 119 - usize::try_from(gap).unwrap();
            prop_assert!(at(119) && at(from - 1) && (from..119).all(|c| !at(c)), "{columns:?}");
        }
    }

    #[test]
    fn a_column_that_is_full_moves_but_does_not_change() {
        let samples: Vec<_> = (1..=400u32).map(|i| (u64::from(i) * 1_000, 1_000, f64::from(i % 7))).collect();
        let at = |n: usize| {
            let until = Nanos(n as u64 * Nanos::SECOND.0);
            Window::ending(until, Nanos(120 * Nanos::SECOND.0), 50).columns(
                Some(&series(&samples[..n])),
                Figure::AquSz,
                until,
            )
        };
        let (mut before, mut moved) = (at(300), 0);
        for n in 301..400 {
            let now = at(n);
            if now[..49] != before[..49] {
                moved += 1;
                assert_eq!(now[..48], before[1..49], "{n}");
            }
            before = now;
        }
        // A column is 2.4 s.
        assert!((41..=42).contains(&moved), "{moved}");
    }
}
