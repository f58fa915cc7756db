//! The typical value: the median of all pairwise means, with an exact interval (Hodges and Lehmann 1963).

use super::interval::Interval;
use super::summary::{median, sorted};
use super::wilcoxon::{MOST, probabilities};

/// An estimate that outliers move little.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HodgesLehmann {
    /// The median of the Walsh averages.
    pub estimate: f64,
    /// The exact interval; `None` if so few values can not give one of that confidence (below 6 for 95 %).
    pub interval: Option<ExactInterval>,
}

/// An interval whose confidence is known exactly, since it can only take certain values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactInterval {
    /// How many pairwise values lie outside it on each side.
    pub outside: usize,
    /// The interval.
    pub range: Interval,
    /// Its confidence, at least what was asked for.
    pub confidence: f64,
}

/// Of one sample (the log ratios of blocks), by inverting the signed-rank test at `alpha`. `None` of nothing, or of more than
/// [`MOST`] values.
#[must_use]
pub fn paired(d: &[f64], alpha: f64) -> Option<HodgesLehmann> {
    if d.len() > MOST {
        return None;
    }
    let walsh: Vec<f64> =
        d.iter().enumerate().flat_map(|(i, a)| d[i..].iter().map(move |b| f64::midpoint(*a, *b))).collect();
    Some(HodgesLehmann {
        estimate: median(&walsh)?,
        interval: exact(&sorted(&walsh), &probabilities(d.len()), alpha),
    })
}

/// The interval between the `k`-th value from below and from above, k the largest with `P(statistic <= k) <= alpha / 2`.
pub(super) fn exact(ascending: &[f64], probability: &[f64], alpha: f64) -> Option<ExactInterval> {
    let mut below = 0.0;
    let mut found = None;
    for (k, p) in probability.iter().enumerate() {
        below += p;
        if below > alpha / 2.0 {
            break;
        }
        found = Some((k, below));
    }
    let (k, tail) = found?;
    let last = ascending.len().checked_sub(1 + k).filter(|last| k <= *last)?;
    let range = Interval { lo: ascending[k], hi: ascending[last] };
    Some(ExactInterval { outside: k, range, confidence: 1.0 - 2.0 * tail })
}
