//! Student's t: one sample, two samples with one variance (pooled), two samples with two (Welch 1947).

use super::distribution::{t_quantile, t_two_sided};
use super::interval::Interval;
use super::summary::{count, mean, variance};

/// Values closer together than this are one value: no spread, so nothing is divided by it.
pub const IDENTICAL: f64 = 1e-12;

/// An estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What was estimated; a mean or a difference, in log units where logs went in.
    pub value: f64,
    /// Standard error, in the same unit.
    pub error: f64,
    /// Degrees of freedom.
    pub df: f64,
}

impl Estimate {
    /// `value / error`; infinite without error, 0 if both are 0.
    #[must_use]
    pub fn t(&self) -> f64 {
        if self.error > 0.0 {
            self.value / self.error
        } else if self.value.abs() <= IDENTICAL {
            0.0
        } else {
            f64::INFINITY.copysign(self.value)
        }
    }

    /// Two-sided p value against 0.
    #[must_use]
    pub fn p(&self) -> Option<f64> {
        t_two_sided(self.t(), self.df)
    }

    /// The interval of confidence `1 - alpha`; the point if there is no error.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> Option<Interval> {
        if self.error > 0.0 {
            t_quantile(1.0 - alpha / 2.0, self.df).map(|t| Interval::around(self.value, t * self.error))
        } else {
            Some(Interval::point(self.value))
        }
    }

    /// Value and error times `factor`: the estimate of that multiple.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Estimate {
        Estimate { value: self.value * factor, error: self.error * factor.abs(), df: self.df }
    }
}

/// Whether all values are one (within [`IDENTICAL`]).
#[must_use]
pub fn identical(x: &[f64]) -> bool {
    let (lo, hi) = x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    hi - lo <= IDENTICAL
}

/// The mean of one sample; `None` below two values.
#[must_use]
pub fn one_sample(x: &[f64]) -> Option<Estimate> {
    let (value, s2) = (mean(x)?, spread(x)?);
    Some(Estimate { value, error: (s2 / count(x.len())).sqrt(), df: count(x.len() - 1) })
}

/// Mean of `x` less mean of `y`, both with the same variance; `None` if either is empty or together they are below three.
#[must_use]
pub fn pooled(x: &[f64], y: &[f64]) -> Option<Estimate> {
    let (mx, my) = (mean(x)?, mean(y)?);
    let df = count((x.len() + y.len()).checked_sub(2).filter(|n| *n > 0)?);
    let squares = |v: &[f64]| spread(v).map_or(0.0, |s2| s2 * count(v.len() - 1));
    let s2 = (squares(x) + squares(y)) / df;
    Some(Estimate { value: mx - my, error: (s2 * (1.0 / count(x.len()) + 1.0 / count(y.len()))).sqrt(), df })
}

/// Mean of `x` less mean of `y`, each with its own variance, with Welch's degrees of freedom; `None` below two in either.
#[must_use]
pub fn welch(x: &[f64], y: &[f64]) -> Option<Estimate> {
    let (nx, ny) = (count(x.len()), count(y.len()));
    let (vx, vy) = (spread(x)? / nx, spread(y)? / ny);
    let both = vx + vy;
    let df = if both > 0.0 {
        both.powi(2) / (vx.powi(2) / (nx - 1.0) + vy.powi(2) / (ny - 1.0))
    } else {
        nx + ny - 2.0
    };
    Some(Estimate { value: mean(x)? - mean(y)?, error: both.sqrt(), df })
}

/// The variance, exactly 0 of identical values: rounding is no spread.
fn spread(x: &[f64]) -> Option<f64> {
    variance(x).map(|v| if identical(x) { 0.0 } else { v })
}
