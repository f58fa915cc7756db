//! Values far from the rest: flagged, counted, shown, and never removed.

use super::summary::{median, quantile, sorted};

/// Flagged when the modified z is beyond this: ten robust standard deviations (hyperfine's rule).
pub const Z_LIMIT: f64 = 14.826;
/// Tukey's fence for a severe outlier, in interquartile ranges.
pub const FENCE: f64 = 3.0;

/// What of the values stands out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    /// `(x - median) / MAD` of each value; `None` if the median absolute deviation is 0, and then it flags nothing.
    pub modified_z: Option<Vec<f64>>,
    /// First and third quartile (type 7).
    pub quartiles: (f64, f64),
    /// Which values are flagged, by either rule.
    pub flagged: Vec<bool>,
}

/// Looks for values that stand out; `None` of nothing.
#[must_use]
pub fn outliers(x: &[f64]) -> Option<Outliers> {
    let middle = median(x)?;
    let mad = median(&x.iter().map(|v| (v - middle).abs()).collect::<Vec<_>>())?;
    let modified_z: Option<Vec<f64>> = (mad > 0.0).then(|| x.iter().map(|v| (v - middle) / mad).collect());
    let ascending = sorted(x);
    let (q1, q3) = (quantile(&ascending, 0.25)?, quantile(&ascending, 0.75)?);
    let reach = FENCE * (q3 - q1);
    let far = |v: f64| reach > 0.0 && (v < q1 - reach || v > q3 + reach);
    let flagged = x
        .iter()
        .enumerate()
        .map(|(i, v)| far(*v) || modified_z.as_ref().is_some_and(|z| z[i].abs() > Z_LIMIT))
        .collect();
    Some(Outliers { modified_z, quartiles: (q1, q3), flagged })
}
