//! A run over time, in steps of a tenth of a second, or longer ones where it would be too many.

use serde::{Serialize, Serializer};

use super::figures::Figures;
use super::io::Direction;
use super::ledger::HAND_OVER;
use crate::units::Nanos;

/// Most steps that are kept: a minute in tenths of a second. A longer run has fewer and longer ones.
const MOST: usize = 600;

/// What was answered in one step, by the time that its worker told it of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Completed reads.
    pub read_ios: u64,
    /// Completed writes.
    pub write_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Sum of completion latencies, ns: divided by the I/Os it is their mean.
    pub clat_sum_ns: u64,
    /// The longest completion latency, ns.
    pub clat_max_ns: u64,
}

impl Step {
    fn of(figures: &Figures) -> Self {
        let (r, w) = (figures.side(Direction::Read), figures.side(Direction::Write));
        let ((rs, rm), (ws, wm)) = (r.clat.sum_and_max(), w.clat.sum_and_max());
        Self {
            read_ios: r.clat.count(),
            write_ios: w.clat.count(),
            read_bytes: r.bytes,
            write_bytes: w.bytes,
            clat_sum_ns: rs + ws,
            clat_max_ns: rm.max(wm),
        }
    }

    fn add(&mut self, other: Step) {
        self.read_ios += other.read_ios;
        self.write_ios += other.write_ios;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.clat_sum_ns += other.clat_sum_ns;
        self.clat_max_ns = self.clat_max_ns.max(other.clat_max_ns);
    }
}

/// The steps of a run, from the opening of its window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Length of a step, seconds.
    #[serde(rename = "step_s", serialize_with = "seconds")]
    pub step: Nanos,
    /// The steps; the last one may be cut short by the end.
    pub steps: Vec<Step>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the shape serde wants
fn seconds<S: Serializer>(n: &Nanos, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64(n.seconds())
}

impl Default for Series {
    fn default() -> Self {
        Self { step: HAND_OVER, steps: Vec::new() }
    }
}

impl Series {
    /// Adds what was counted between two times since the window opened.
    pub fn add(&mut self, from: Nanos, to: Nanos, figures: &Figures) {
        if figures.ios() == 0 {
            return;
        }
        // A worker tells of a step with the first I/O after its end, so the middle of what it tells of is in the step. What it
        // tells of after a long silence was answered at its end.
        let at = Nanos(to.0.saturating_sub(to.since(from).0.min(HAND_OVER.0) / 2));
        while at.0 / self.step.0 >= MOST as u64 {
            self.double();
        }
        // Below MOST.
        let index = usize::try_from(at.0 / self.step.0).unwrap_or(MOST - 1);
        if self.steps.len() <= index {
            self.steps.resize(index + 1, Step::default());
        }
        self.steps[index].add(Step::of(figures));
    }

    /// Several as one.
    pub fn merged<'a>(all: impl Iterator<Item = &'a Series>) -> Self {
        let mut all: Vec<Series> = all.cloned().collect();
        let step = all.iter().map(|s| s.step).max().unwrap_or(HAND_OVER);
        let mut sum = Self { step, steps: Vec::new() };
        for series in &mut all {
            // All began with the same step and only ever doubled it.
            while series.step < step {
                series.double();
            }
            sum.steps.resize(sum.steps.len().max(series.steps.len()), Step::default());
            for (mine, theirs) in sum.steps.iter_mut().zip(&series.steps) {
                mine.add(*theirs);
            }
        }
        sum
    }

    fn double(&mut self) {
        let joined = self.steps.chunks(2).map(|pair| {
            let mut sum = Step::default();
            for step in pair {
                sum.add(*step);
            }
            sum
        });
        self.steps = joined.collect();
        self.step = Nanos(self.step.0.saturating_mul(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_however_long_it_takes(times in proptest::collection::vec(0u64..400_000_000_000, 1..200)) {
            let mut s = Series::default();
            let mut one = Figures::default();
            one.side_mut(Direction::Write).clat.record(5);
            one.side_mut(Direction::Write).bytes = 512;
            for t in &times {
                s.add(Nanos(*t), Nanos(*t), &one);
            }
            prop_assert!(s.steps.len() <= MOST);
            prop_assert_eq!(s.steps.iter().map(|s| s.write_ios).sum::<u64>(), times.len() as u64);
            prop_assert_eq!(s.steps.iter().map(|s| s.write_bytes).sum::<u64>(), 512 * times.len() as u64);
            let last = *times.iter().max().unwrap();
            prop_assert_eq!(s.steps.len() as u64, last / s.step.0 + 1);
        }
    }
}
