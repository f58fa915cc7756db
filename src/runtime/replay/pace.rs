//! When the next sample of a record is due: recorded time against the clock, a pure calculation.

use crate::units::Nanos;

/// Slowest and fastest, recorded seconds in a second.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.1..=1000.0;

/// The longest wait between two samples, in recorded time: `watch` takes one at least every minute, so a longer gap is
/// where nothing was recorded (the program was stopped, two records were joined).
pub(super) const LONGEST_GAP: Nanos = Nanos(60_000_000_000);

/// Where in the record the playing stands. Places are recorded time since the first sample, gaps shortened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    playing: bool,
    speed: f64,
    place: Nanos,
    since: Nanos,
}

impl Pace {
    /// Plays as it was, from the first sample on.
    #[must_use]
    pub(super) const fn new(now: Nanos) -> Self {
        Self { playing: true, speed: 1.0, place: Nanos(0), since: now }
    }

    /// Whether samples come by themselves.
    #[must_use]
    pub(super) const fn playing(&self) -> bool {
        self.playing
    }

    /// Recorded seconds in a second.
    #[must_use]
    pub(super) const fn speed(&self) -> f64 {
        self.speed
    }

    /// When a place is reached; None while nothing moves.
    #[must_use]
    pub(super) fn due(&self, place: Nanos) -> Option<Nanos> {
        let wait = scaled(place.since(self.place), 1.0 / self.speed);
        self.playing.then_some(Nanos(self.since.0.saturating_add(wait.0)))
    }

    /// The place that is reached now.
    #[must_use]
    pub(super) fn place(&self, now: Nanos) -> Nanos {
        let moved = if self.playing { scaled(now.since(self.since), self.speed) } else { Nanos(0) };
        Nanos(self.place.0.saturating_add(moved.0))
    }

    /// Goes on or stands still.
    pub(super) fn set_playing(&mut self, playing: bool, now: Nanos) {
        self.jump(self.place(now), now);
        self.playing = playing;
    }

    /// Faster or slower, from here on. What is no number changes nothing.
    pub(super) fn set_speed(&mut self, speed: f64, now: Nanos) {
        self.jump(self.place(now), now);
        if !speed.is_nan() {
            self.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end());
        }
    }

    /// Stands at another place now.
    pub(super) fn jump(&mut self, place: Nanos, now: Nanos) {
        self.place = place;
        self.since = now;
    }
}

/// From one sample to the next. Time that goes back (another boot) says nothing of what lies between.
#[must_use]
pub(super) fn gap(before: Nanos, after: Nanos) -> Nanos {
    if after < before { Nanos::SECOND } else { after.since(before).min(LONGEST_GAP) }
}

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a wait for people
fn scaled(t: Nanos, by: f64) -> Nanos {
    Nanos((t.0 as f64 * by) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    #[test]
    fn a_sample_is_due_when_its_time_has_passed_at_this_speed() {
        let mut p = Pace::new(s(100));
        assert_eq!(p.due(s(10)), Some(s(110)));
        p.set_speed(10.0, s(105));
        // Five seconds are behind; the other five take half a second.
        assert_eq!((p.place(s(105)), p.due(s(10))), (s(5), Some(Nanos(105_500_000_000))));
        p.set_playing(false, s(106));
        assert_eq!((p.due(s(100)), p.place(s(999))), (None, s(15)));
        p.set_playing(true, s(200));
        assert_eq!(p.due(s(25)), Some(s(201)));
        p.jump(s(60), s(300));
        assert_eq!((p.place(s(300)), p.due(s(50))), (s(60), Some(s(300))));
    }

    #[test]
    fn speed_has_bounds_and_is_always_a_number() {
        for (asked, got) in [(0.0, 0.1), (-1.0, 0.1), (1e9, 1000.0), (f64::INFINITY, 1000.0), (f64::NAN, 1.0)]
        {
            let mut p = Pace::new(s(0));
            p.set_speed(asked, s(0));
            assert!((p.speed() - got).abs() < f64::EPSILON, "{asked}");
        }
    }

    #[test]
    fn a_hole_in_the_record_is_not_waited_for() {
        assert_eq!((gap(s(5), s(6)), gap(s(5), s(5000)), gap(s(5000), s(3))), (s(1), s(60), s(1)));
    }
}
