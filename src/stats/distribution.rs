//! Student's t and the normal distribution, by the crate statrs (agrees with `SciPy` to 1e-12; checked by the vectors).

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

/// The value that Student's t with `df` degrees of freedom stays below with probability `p`; `None` unless 0 < p < 1 and
/// `df` > 0.
#[must_use]
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    student(df).map(|t| t.inverse_cdf(p)).filter(|v| v.is_finite())
}

/// The probability that Student's t with `df` degrees of freedom is above `t`.
#[must_use]
pub fn t_above(t: f64, df: f64) -> Option<f64> {
    if t.is_nan() {
        return None;
    }
    student(df).map(|d| if t.is_infinite() { if t > 0.0 { 0.0 } else { 1.0 } } else { d.sf(t) })
}

/// The two-sided p value of `t`: how often a t at least as far from 0 comes by chance.
#[must_use]
pub fn t_two_sided(t: f64, df: f64) -> Option<f64> {
    t_above(t.abs(), df).map(|p| (2.0 * p).min(1.0))
}

/// The standard normal distribution function.
#[must_use]
pub fn normal_below(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The standard normal quantile; infinite at 0 and 1, `None` outside.
#[must_use]
pub fn normal_quantile(p: f64) -> Option<f64> {
    (0.0..=1.0).contains(&p).then(|| Normal::standard().inverse_cdf(p))
}

fn student(df: f64) -> Option<StudentsT> {
    (df > 0.0 && df.is_finite()).then(|| StudentsT::new(0.0, 1.0, df).ok()).flatten()
}
