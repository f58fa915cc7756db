//! How many independent samples a correlated series is worth. Within one trial seconds resemble their neighbours, so they are
//! never taken for repeats.

use super::summary::{autocorrelation, count, deviation};

/// The worth of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveSize {
    /// Lags that were summed.
    pub lags: usize,
    /// Integrated autocorrelation time: samples to one independent.
    pub tau: f64,
    /// `n / tau`.
    pub size: f64,
    /// The same if the series were first-order autoregressive: `n (1 - r1) / (1 + r1)`.
    pub size_first_order: f64,
    /// Standard error of the mean as if all were independent.
    pub naive_error: f64,
    /// Standard error of the mean by `size`.
    pub error: f64,
}

/// Sums autocorrelations in pairs while a pair is positive (Geyer 1992). `None` below three samples or without spread.
#[must_use]
pub fn effective_size(x: &[f64]) -> Option<EffectiveSize> {
    let n = count(x.len());
    let s = deviation(x).filter(|_| x.len() > 2)?;
    let first = autocorrelation(x, 1)?;
    let (mut lags, mut tau) = (0, 1.0);
    while let (Some(a), Some(b)) = (autocorrelation(x, lags + 1), autocorrelation(x, lags + 2)) {
        if a + b <= 0.0 {
            break;
        }
        tau += 2.0 * (a + b);
        lags += 2;
    }
    let size = n / tau;
    Some(EffectiveSize {
        lags,
        tau,
        size,
        size_first_order: n * (1.0 - first) / (1.0 + first),
        naive_error: s / n.sqrt(),
        error: s / size.sqrt(),
    })
}
