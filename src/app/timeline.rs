//! A figure over the length of a run, in a fixed number of slots that keep the extremes.

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

/// A series in `width` columns, newest at the right: one sample a column, the newest `width` of them. Columns before
/// the first sample are gaps, as are unknown samples.
#[must_use]
pub fn newest(values: impl Iterator<Item = Option<f64>>, width: usize) -> Vec<Option<Span>> {
    let known: Vec<_> = values.map(|v| v.map(|v| Span { low: v, high: v })).collect();
    let from = known.len().saturating_sub(width);
    let mut columns = vec![None; width - (known.len() - from)];
    columns.extend_from_slice(&known[from..]);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(
            newest([Some(1.0), None].into_iter(), 3),
            [None, Some(Span { low: 1.0, high: 1.0 }), None]
        );
    }
}
