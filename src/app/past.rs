//! The times of the samples, over all devices: what can be looked back to, and when that was on the wall.

use std::collections::VecDeque;

use jiff::civil::DateTime;

use crate::telemetry::series::{MOST_RECENT, RECENT, TIERS};
use crate::units::Nanos;

use super::message::When;

/// A moment of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// On the axis of the past: `CLOCK_BOOTTIME`, or what stands for it where a record has none.
    pub at: Nanos,
    /// On the wall, where that is known.
    pub wall: Option<DateTime>,
}

impl Moment {
    /// The time of day, `10:42:07`; a dash if it is not known.
    #[must_use]
    pub fn time(&self) -> String {
        self.wall.map_or_else(|| "-".to_owned(), |w| w.strftime("%H:%M:%S").to_string())
    }

    /// With the date, `2026-12-02 10:42:07`.
    #[must_use]
    pub fn date_and_time(&self) -> String {
        self.wall.map_or_else(|| "-".to_owned(), |w| w.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }
}

/// The spans that a chart can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChartSpan {
    /// Every sample has its place.
    #[default]
    TwoMinutes,
    /// Buckets of seconds.
    TenMinutes,
    /// All that is kept.
    Hour,
}

impl ChartSpan {
    /// All of them.
    pub const ALL: [ChartSpan; 3] = [ChartSpan::TwoMinutes, ChartSpan::TenMinutes, ChartSpan::Hour];

    /// The next in the cycle.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            ChartSpan::TwoMinutes => ChartSpan::TenMinutes,
            ChartSpan::TenMinutes => ChartSpan::Hour,
            ChartSpan::Hour => ChartSpan::TwoMinutes,
        }
    }

    /// How long it is.
    #[must_use]
    pub const fn length(self) -> Nanos {
        match self {
            ChartSpan::TwoMinutes => Nanos(120 * Nanos::SECOND.0),
            ChartSpan::TenMinutes => Nanos(600 * Nanos::SECOND.0),
            ChartSpan::Hour => Nanos(3600 * Nanos::SECOND.0),
        }
    }

    /// As the axis says it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            ChartSpan::TwoMinutes => "2 min",
            ChartSpan::TenMinutes => "10 min",
            ChartSpan::Hour => "1 h",
        }
    }
}

/// The times of the samples, thinned out as the figures are: the newest one by one, of the older the last of each
/// bucket.
#[derive(Clone, Debug, Default)]
pub struct Past {
    recent: VecDeque<Moment>,
    tiers: [VecDeque<Moment>; TIERS.len()],
    /// What the axis is ahead of `CLOCK_MONOTONIC`: the time slept since boot.
    ahead: i128,
}

impl Past {
    /// Notes a sample, taken at `monotonic`. The moment it was taken at; None if it is not later than the newest.
    pub fn take(&mut self, monotonic: Nanos, when: When) -> Option<Moment> {
        if let Some(boot) = when.boot {
            self.ahead = i128::from(boot.0) - i128::from(monotonic.0);
        }
        let moment = Moment { at: self.on_axis(monotonic), wall: when.wall };
        if self.recent.back().is_some_and(|m| moment.at <= m.at) {
            return None;
        }
        let oldest = Nanos(moment.at.0.saturating_sub(RECENT.0));
        while self.recent.front().is_some_and(|m| m.at < oldest) || self.recent.len() >= MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(moment);
        for (tier, (width, most)) in self.tiers.iter_mut().zip(TIERS) {
            let index = |m: &Moment| m.at.0 / width.0;
            let oldest = index(&moment).saturating_sub(most as u64 - 1);
            while tier.front().is_some_and(|m| index(m) < oldest) {
                tier.pop_front();
            }
            match tier.back_mut() {
                Some(last) if index(last) == index(&moment) => *last = moment,
                _ => tier.push_back(moment),
            }
        }
        Some(moment)
    }

    fn on_axis(&self, monotonic: Nanos) -> Nanos {
        let at = (i128::from(monotonic.0) + self.ahead).max(0);
        Nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// What time it is on the axis and on the wall, from `CLOCK_MONOTONIC`. Never before the newest sample, since the state
    /// may have been told of that and not yet of the time.
    #[must_use]
    pub fn now(&self, monotonic: Nanos) -> Moment {
        let at = self.on_axis(monotonic);
        let Some(newest) = self.newest() else { return Moment { at, wall: None } };
        let at = at.max(newest.at);
        let later = i64::try_from(at.since(newest.at).0).unwrap_or(i64::MAX);
        let wall = newest.wall.and_then(|w| w.checked_add(jiff::SignedDuration::from_nanos(later)).ok());
        Moment { at, wall }
    }

    /// The newest sample's.
    #[must_use]
    pub fn newest(&self) -> Option<Moment> {
        self.recent.back().copied()
    }

    /// All that can be looked back to, newest first.
    fn back(&self) -> impl Iterator<Item = Moment> + '_ {
        let seam = |m: Option<&Moment>| m.map_or(Nanos(u64::MAX), |m| m.at);
        let fine = seam(self.recent.front());
        let coarse = fine.min(seam(self.tiers[0].front()));
        let older = |tier: usize, than: Nanos| self.tiers[tier].iter().rev().filter(move |m| m.at < than);
        self.recent.iter().rev().chain(older(0, fine)).chain(older(1, coarse)).copied()
    }

    /// The oldest.
    #[must_use]
    pub fn oldest(&self) -> Option<Moment> {
        self.back().last()
    }

    /// The last before a time.
    #[must_use]
    pub fn before(&self, at: Nanos) -> Option<Moment> {
        self.back().find(|m| m.at < at)
    }

    /// The first after a time.
    #[must_use]
    pub fn after(&self, at: Nanos) -> Option<Moment> {
        self.back().take_while(|m| m.at > at).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn second(n: u64) -> Nanos {
        Nanos(n * Nanos::SECOND.0)
    }

    #[test]
    fn what_time_it_was_is_told_from_the_samples() {
        let mut past = Past::default();
        let wall = Some(date(2026, 12, 2).at(10, 42, 7, 0));
        assert_eq!(past.now(second(3)), Moment { at: second(3), wall: None });
        // The host slept for 100 s since boot.
        let taken = past.take(second(5), When { boot: Some(second(105)), wall }).unwrap();
        assert_eq!(
            (taken.at, taken.time(), taken.date_and_time().as_str()),
            (second(105), "10:42:07".to_owned(), "2026-12-02 10:42:07")
        );
        assert_eq!(past.now(second(8)).time(), "10:42:10");
        assert_eq!(past.now(second(8)).at, second(108));
        assert_eq!(past.now(second(1)), taken);
        // A sample that is no later is not a moment.
        assert_eq!(past.take(second(5), When::default()), None);
        assert_eq!(past.take(second(6), When::default()).map(|m| m.at), Some(second(106)));
    }

    proptest! {
        #[test]
        fn steps_lead_through_all_of_the_past_and_back(gaps in prop::collection::vec(100u64..90_000, 2..900)) {
            let mut past = Past::default();
            let mut at = 0;
            for ms in &gaps {
                at += ms * 1_000_000;
                prop_assert!(past.take(Nanos(at), When::default()).is_some());
            }
            let newest = past.newest().unwrap();
            prop_assert_eq!(newest.at.0, at);
            let (mut back, mut here) = (Vec::new(), newest);
            while let Some(m) = past.before(here.at) {
                prop_assert!(m.at < here.at && at - m.at.0 <= 3_620 * Nanos::SECOND.0);
                back.push(here);
                here = m;
            }
            prop_assert_eq!(Some(here), past.oldest());
            while let Some(m) = past.after(here.at) {
                prop_assert_eq!(Some(m), back.pop());
                here = m;
            }
            prop_assert_eq!(here, newest);
        }
    }
}
