//! The bias-corrected and accelerated bootstrap of a mean (Efron 1987): all resamples if they are few, else seeded ones.

use super::distribution::{normal_below, normal_quantile};
use super::interval::Interval;
use super::splitmix64::SplitMix64;
use super::summary::{count, mean, quantile, sorted};

/// Up to this many values all n^n resamples are taken.
pub const EXHAUSTIVE: usize = 6;
/// Resamples drawn above that.
pub const RESAMPLES: usize = 9_999;
/// A resample this close to the mean is tied with it.
const TIE: f64 = 1e-12;

/// A bootstrap interval with what it was made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bca {
    /// Resamples taken.
    pub resamples: usize,
    /// Bias correction.
    pub z0: f64,
    /// Acceleration, from the jackknife.
    pub acceleration: f64,
    /// The two quantiles of the resampled means that are the ends.
    pub quantiles: Interval,
    /// The interval of the mean.
    pub interval: Interval,
    /// The interval without correction (the plain percentile method).
    pub percentile: Interval,
}

/// The interval of the mean of `d` at confidence `1 - alpha`; `seed` matters above [`EXHAUSTIVE`] values. `None` below two
/// values or without spread.
#[must_use]
pub fn bca(d: &[f64], alpha: f64, seed: u64) -> Option<Bca> {
    if d.len() < 2 || super::t_test::identical(d) {
        return None;
    }
    from_means(d, alpha, &if d.len() <= EXHAUSTIVE { all_means(d) } else { drawn_means(d, RESAMPLES, seed) })
}

/// The means of `resamples` resamples drawn by [`SplitMix64`], in the order drawn.
#[must_use]
pub fn drawn_means(d: &[f64], resamples: usize, seed: u64) -> Vec<f64> {
    let Ok(n) = u32::try_from(d.len()) else { return Vec::new() };
    let mut random = SplitMix64::new(seed);
    (0..resamples).map(|_| (0..n).map(|_| d[random.index(n)]).sum::<f64>() / f64::from(n)).collect()
}

fn all_means(d: &[f64]) -> Vec<f64> {
    let n = d.len();
    let mut digits = vec![0; n];
    let mut means = Vec::new();
    loop {
        means.push(digits.iter().map(|i| d[*i]).sum::<f64>() / count(n));
        let Some(at) = digits.iter().position(|i| i + 1 < n) else { return means };
        digits[..at].fill(0);
        digits[at] += 1;
    }
}

fn from_means(d: &[f64], alpha: f64, means: &[f64]) -> Option<Bca> {
    let m = mean(d)?;
    let less = means.iter().filter(|v| **v < m - TIE).count();
    let tied = means.iter().filter(|v| (**v - m).abs() <= TIE).count();
    let z0 = normal_quantile((count(less) + count(tied) / 2.0) / count(means.len()))?;
    let acceleration = jackknife(d)?;
    let ascending = sorted(means);
    let at = |p: f64| -> Option<f64> {
        let z = z0 + normal_quantile(p)?;
        Some(normal_below(z0 + z / (1.0 - acceleration * z)))
    };
    let quantiles = Interval { lo: at(alpha / 2.0)?, hi: at(1.0 - alpha / 2.0)? };
    let ends =
        |q: Interval| Some(Interval { lo: quantile(&ascending, q.lo)?, hi: quantile(&ascending, q.hi)? });
    Some(Bca {
        resamples: means.len(),
        z0,
        acceleration,
        quantiles,
        interval: ends(quantiles)?,
        percentile: ends(Interval { lo: alpha / 2.0, hi: 1.0 - alpha / 2.0 })?,
    })
}

/// The acceleration from leaving out one value at a time.
fn jackknife(d: &[f64]) -> Option<f64> {
    let total: f64 = d.iter().sum();
    let without: Vec<f64> = d.iter().map(|v| (total - v) / count(d.len() - 1)).collect();
    let m = mean(&without)?;
    let (cubes, squares) = without.iter().fold((0.0, 0.0), |(c, s), v| {
        let u = m - v;
        (c + u.powi(3), s + u.powi(2))
    });
    (squares > 0.0).then(|| cubes / (6.0 * squares.powf(1.5)))
}
