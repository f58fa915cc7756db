//! The exact signed-rank test (Wilcoxon 1945), by counting all sign patterns.

use super::summary::count;

/// More values than this are not counted exactly here: an experiment has at most 100 blocks.
pub const MOST: usize = 400;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Values used: zeros are dropped.
    pub used: usize,
    /// Sum of the ranks of the positive values; ties share the middle rank.
    pub w_plus: f64,
    /// Two-sided p value.
    pub p: f64,
}

/// Tests whether `d` is spread evenly around 0. `None` above [`MOST`] values or if one is not finite.
#[must_use]
pub fn signed_rank(d: &[f64]) -> Option<SignedRank> {
    if d.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut values: Vec<f64> = d.iter().copied().filter(|v| *v != 0.0).collect();
    if values.len() > MOST {
        return None;
    }
    values.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let ranks = doubled_ranks(&values);
    let plus: usize = values.iter().zip(&ranks).filter(|(v, _)| **v > 0.0).map(|(_, r)| r).sum();
    let ways = patterns(&ranks);
    let all: usize = ranks.iter().sum();
    let tail: f64 = ways[..=plus.min(all - plus)].iter().sum();
    Some(SignedRank { used: values.len(), w_plus: count(plus) / 2.0, p: (2.0 * tail).min(1.0) })
}

/// The smallest two-sided p value that `n` values can give: below 6 the test can not reach 5 %.
#[must_use]
pub fn smallest_p(n: usize) -> f64 {
    2.0 * 0.5f64.powi(i32::try_from(n).unwrap_or(i32::MAX))
}

/// `P(W+ = w)` for w = 0, 1, ... without ties.
pub(super) fn probabilities(n: usize) -> Vec<f64> {
    patterns(&(1..=n).collect::<Vec<_>>())
}

/// Twice the mid-rank of each of the values, which are in order of size; doubled so that they are whole.
fn doubled_ranks(by_size: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(by_size.len());
    while ranks.len() < by_size.len() {
        let first = ranks.len();
        let same = by_size[first..].iter().take_while(|v| v.abs() <= by_size[first].abs()).count();
        ranks.extend(std::iter::repeat_n(2 * first + same + 1, same));
    }
    ranks
}

/// The probability of each sum of ranks when every sign is a toss of a coin.
fn patterns(ranks: &[usize]) -> Vec<f64> {
    let mut ways = vec![0.0; ranks.iter().sum::<usize>() + 1];
    ways[0] = 1.0;
    let mut reached = 0;
    for r in ranks {
        for w in (0..=reached).rev() {
            ways[w] /= 2.0;
            ways[w + r] += ways[w];
        }
        reached += r;
    }
    ways
}
