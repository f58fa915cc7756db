//! Whether a series has settled: the rule of the SNIA SSS PTS (2.0.2, definition 2.1.24), and fio's figures for comparison.

use super::summary::{count, mean, slope};

/// Rounds of a window.
pub const WINDOW: usize = 5;
/// Largest range of a steady window, as a share of its mean; equality is steady.
pub const RANGE_LIMIT: f64 = 0.20;
/// Largest rise or fall of the fitted line over a steady window, as a share of its mean; equality is steady.
pub const SLOPE_LIMIT: f64 = 0.10;

/// A window measured against the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Mean of the rounds.
    pub mean: f64,
    /// Slope of the least-squares line, per round.
    pub slope: f64,
    /// (largest - smallest) / mean.
    pub range: f64,
    /// |slope| x (rounds - 1) / mean.
    pub excursion: f64,
}

impl Window {
    /// Measures a window; `None` below two rounds or unless the mean is positive.
    #[must_use]
    pub fn of(y: &[f64]) -> Option<Window> {
        let (mean, slope) = (mean(y).filter(|m| *m > 0.0)?, slope(y)?);
        let (lo, hi) = y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        Some(Window {
            mean,
            slope,
            range: (hi - lo) / mean,
            excursion: slope.abs() * count(y.len() - 1) / mean,
        })
    }

    /// Whether the spread is small enough.
    #[must_use]
    pub fn range_ok(&self) -> bool {
        self.range <= RANGE_LIMIT
    }

    /// Whether the trend is small enough.
    #[must_use]
    pub fn slope_ok(&self) -> bool {
        self.excursion <= SLOPE_LIMIT
    }

    /// Both.
    #[must_use]
    pub fn steady(&self) -> bool {
        self.range_ok() && self.slope_ok()
    }
}

/// The number of rounds after which the last [`WINDOW`] of them were steady for the first time, and that window; `None` if
/// never.
#[must_use]
pub fn first_steady(rounds: &[f64]) -> Option<(usize, Window)> {
    rounds
        .windows(WINDOW)
        .enumerate()
        .find_map(|(i, w)| Window::of(w).filter(Window::steady).map(|window| (i + WINDOW, window)))
}

/// fio's steady-state figures of a window in percent of the mean: the largest deviation, and |slope| per interval (so not
/// comparable with [`Window::excursion`]). Source: fio's HOWTO, `steadystate`.
#[must_use]
pub fn fio_figures(y: &[f64]) -> Option<(f64, f64)> {
    let window = Window::of(y)?;
    let worst = y.iter().map(|v| (v - window.mean).abs()).fold(0.0, f64::max);
    Some((100.0 * worst / window.mean, 100.0 * window.slope.abs() / window.mean))
}
