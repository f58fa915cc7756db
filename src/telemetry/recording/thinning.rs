//! Fewer samples of a record than there are: raw counters give the same rates over longer intervals.

use crate::units::Nanos;

/// Lets through samples that are an interval apart, or all.
#[derive(Clone, Copy, Debug)]
pub struct Thinning {
    interval: Option<Nanos>,
    last: Option<Nanos>,
    due: Nanos,
}

impl Thinning {
    /// None lets all through.
    #[must_use]
    pub const fn new(interval: Option<Nanos>) -> Self {
        Self { interval, last: None, due: Nanos(0) }
    }

    /// Whether the sample of this time is one of them. Those of a beat are taken, so that the interval does not grow by
    /// what samples come late; a little early counts as on time. Time that goes back begins anew.
    pub fn takes(&mut self, at: Nanos) -> bool {
        let Some(interval) = self.interval else { return true };
        let back = self.last.is_some_and(|last| at < last);
        let first = self.last.is_none();
        self.last = Some(at);
        if first || back {
            self.due = Nanos(at.0.saturating_add(interval.0));
            return true;
        }
        let early = at.0.saturating_add(interval.0 / 20);
        if early < self.due.0 {
            return false;
        }
        let beats = (early - self.due.0) / interval.0.max(1) + 1;
        self.due = Nanos(self.due.0.saturating_add(interval.0.saturating_mul(beats)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(interval: Option<u64>, times: &[u64]) -> Vec<u64> {
        let mut t = Thinning::new(interval.map(|ms| Nanos(ms * 1_000_000)));
        times.iter().copied().filter(|ms| t.takes(Nanos(ms * 1_000_000))).collect()
    }

    #[test]
    fn a_beat_is_kept_over_samples_that_come_a_little_late_or_early() {
        let times: Vec<u64> =
            (0..40).zip([0, 3, 1, 7].into_iter().cycle()).map(|(i, late)| i * 1000 + late).collect();
        assert_eq!(taken(None, &times), times);
        assert_eq!(taken(Some(10_000), &times), [0, 10_001, 20_000, 30_001]);
        assert_eq!(taken(Some(10_000), &[5, 10_000, 10_004, 20_000]), [5, 10_000, 20_000]);
        assert_eq!(taken(Some(1000), &times), times);
    }

    #[test]
    fn a_gap_and_a_second_boot_begin_anew() {
        assert_eq!(taken(Some(10_000), &[0, 1000, 95_000, 96_000, 100_000, 101_000]), [0, 95_000, 100_000]);
        assert_eq!(taken(Some(10_000), &[50_000, 51_000, 2000, 3000, 12_000]), [50_000, 2000, 12_000]);
    }
}
