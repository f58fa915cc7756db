//! Means, spread, quantiles and lines of a sample.

/// A number of things as a factor in a formula.
#[must_use]
#[allow(clippy::cast_precision_loss)] // counts of readings, far below 2^53
pub fn count(n: usize) -> f64 {
    n as f64
}

/// The arithmetic mean; `None` of nothing.
#[must_use]
pub fn mean(x: &[f64]) -> Option<f64> {
    (!x.is_empty()).then(|| x.iter().sum::<f64>() / count(x.len()))
}

/// The mean of the natural logarithms; `None` of nothing or if a value is not positive and finite, since the logarithm
/// of a reading of 0 says nothing.
#[must_use]
pub fn mean_log(x: &[f64]) -> Option<f64> {
    if x.iter().any(|v| !v.is_finite() || *v <= 0.0) {
        return None;
    }
    mean(&x.iter().map(|v| v.ln()).collect::<Vec<_>>())
}

/// The sample variance (divisor n - 1); `None` below two values.
#[must_use]
pub fn variance(x: &[f64]) -> Option<f64> {
    let m = mean(x).filter(|_| x.len() > 1)?;
    Some(x.iter().map(|v| (v - m).powi(2)).sum::<f64>() / count(x.len() - 1))
}

/// The sample standard deviation (divisor n - 1); `None` below two values.
#[must_use]
pub fn deviation(x: &[f64]) -> Option<f64> {
    variance(x).map(f64::sqrt)
}

/// The values in ascending order.
#[must_use]
pub fn sorted(x: &[f64]) -> Vec<f64> {
    let mut s = x.to_vec();
    s.sort_by(f64::total_cmp);
    s
}

/// The quantile `q` (0 to 1) of ascending values by linear interpolation (type 7 of Hyndman and Fan 1996, what R and
/// `NumPy` do unless told otherwise); `None` of nothing.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // an index within the slice
pub fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * count(last);
    let low = (at.floor() as usize).min(last);
    let high = (low + 1).min(last);
    Some(ascending[low] + (at - count(low)) * (ascending[high] - ascending[low]))
}

/// The median; `None` of nothing.
#[must_use]
pub fn median(x: &[f64]) -> Option<f64> {
    quantile(&sorted(x), 0.5)
}

/// The slope of the least-squares line of `y` on 0, 1, 2, ...; `None` below two values.
#[must_use]
pub fn slope(y: &[f64]) -> Option<f64> {
    let m = mean(y).filter(|_| y.len() > 1)?;
    let middle = count(y.len() - 1) / 2.0;
    let (mut xy, mut xx) = (0.0, 0.0);
    for (i, v) in y.iter().enumerate() {
        let x = count(i) - middle;
        xy += x * (v - m);
        xx += x * x;
    }
    Some(xy / xx)
}

/// The correlation of neighbours at distance `lag`, with the whole sample's mean and sum of squares; `None` without
/// spread or below `lag + 2` values.
#[must_use]
pub fn autocorrelation(x: &[f64], lag: usize) -> Option<f64> {
    let m = mean(x).filter(|_| x.len() > lag + 1)?;
    let all: f64 = x.iter().map(|v| (v - m).powi(2)).sum();
    let pairs: f64 = x.iter().zip(&x[lag..]).map(|(a, b)| (a - m) * (b - m)).sum();
    (all > 0.0).then(|| pairs / all)
}
