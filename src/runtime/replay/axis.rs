//! Where the samples of a record stand on the axis of the past: it only goes forward, whatever was recorded.

use jiff::civil::DateTime;

use super::pace::LONGEST_GAP;
use crate::app::message::When;
use crate::telemetry::recording::Line;
use crate::units::Nanos;

/// The axis up to the newest sample.
#[derive(Debug, Default)]
pub(super) struct Axis {
    at: Nanos,
    last: Option<(Nanos, Option<Nanos>, Option<DateTime>)>,
}

impl Axis {
    /// The moment of the next line.
    pub(super) fn take(&mut self, line: &Line) -> When {
        let wall = line.wall.as_deref().and_then(|w| w.get(..19)?.parse().ok());
        let step = match self.last {
            None => line.boot.unwrap_or(line.monotonic),
            Some((monotonic, boot, before)) => {
                let later = |now: Nanos, then: Nanos| Some(now.since(then)).filter(|t| t.0 > 0);
                let slept = line.boot.zip(boot).and_then(|(now, then)| later(now, then));
                // Another boot: only the wall tells, if it does.
                let on_the_wall = || wall.zip(before).and_then(|(now, then)| between(then, now));
                let measured = || later(line.monotonic, monotonic);
                slept.or_else(measured).or_else(on_the_wall).unwrap_or(LONGEST_GAP)
            }
        };
        self.at = Nanos(self.at.0.saturating_add(step.0));
        self.last = Some((line.monotonic, line.boot, wall));
        When { boot: Some(self.at), wall }
    }
}

fn between(then: DateTime, now: DateTime) -> Option<Nanos> {
    u64::try_from(now.duration_since(then).as_nanos()).ok().filter(|n| *n > 0).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_has_its_width_and_another_boot_goes_on_behind_the_one_before() {
        let s = |n: u64| Nanos(n * Nanos::SECOND.0);
        let mut axis = Axis::default();
        let mut at = |monotonic: u64, boot: Option<u64>, wall: Option<&str>| {
            let wall = wall.map(|w| format!("2026-12-02T{w}+01:00"));
            let line = Line { monotonic: s(monotonic), boot: boot.map(s), wall, ..Line::default() };
            axis.take(&line)
        };
        assert_eq!(at(100, Some(150), Some("10:00:00")).boot, Some(s(150)));
        assert_eq!(at(101, Some(1151), Some("10:16:41")).boot, Some(s(1151)));
        // One line without the clock that counts sleep.
        assert_eq!(at(105, None, None).boot, Some(s(1155)));
        assert_eq!(at(106, Some(1156), Some("10:17:00")).boot, Some(s(1156)));
        // Booted again: by the wall, else the longest wait.
        let again = at(10, Some(10), Some("10:20:00"));
        assert_eq!(
            (again.boot, again.wall),
            (Some(s(1336)), Some(jiff::civil::date(2026, 12, 2).at(10, 20, 0, 0)))
        );
        assert_eq!(at(5, None, None).boot, Some(s(1396)));
    }
}
