//! Two samples that were not blocked: the exact test of Mann and Whitney (1947) and the shift between them.
//!
//! Only for readings that come without blocks. It can not tell a cell from the time at which it ran.

use super::hodges_lehmann::{ExactInterval, exact};
use super::summary::{count, median, sorted};

/// The result for `y` against `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences y - x.
    pub estimate: f64,
    /// Pairs in which y is larger; a tie counts half.
    pub u: f64,
    /// Two-sided p value, exact without ties (with ties, the nearest whole U outwards from the middle is used).
    pub p: f64,
    /// The exact interval of the shift; `None` if there are too few values.
    pub interval: Option<ExactInterval>,
}

/// Most values of each sample: the exact count grows with their product.
pub const MOST: usize = 200;

/// Compares two samples at `alpha`. `None` if either is empty or longer than [`MOST`].
#[must_use]
pub fn shift(x: &[f64], y: &[f64], alpha: f64) -> Option<Shift> {
    if x.len() > MOST || y.len() > MOST {
        return None;
    }
    let differences: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
    let estimate = median(&differences)?;
    let above = differences.iter().filter(|d| **d > 0.0).count();
    let tied = differences.iter().filter(|d| **d == 0.0).count();
    let probability = probabilities(x.len(), y.len());
    // With ties half a pair can be left over; rounded to the middle, p is not made smaller than it is.
    let smaller = (2 * above + tied).min(2 * (differences.len() - above) - tied).div_ceil(2);
    let tail: f64 = probability[..=smaller].iter().sum();
    Some(Shift {
        estimate,
        u: count(above) + count(tied) / 2.0,
        p: (2.0 * tail).min(1.0),
        interval: exact(&sorted(&differences), &probability, alpha),
    })
}

/// `P(U = u)` for u = 0 ..= n m, all orders of the values being as likely: the Gaussian binomial, divided as it grows.
fn probabilities(n: usize, m: usize) -> Vec<f64> {
    // before[j][u] for i values of the first and j of the second: the last of all is from one or the other.
    let mut before: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=m {
            let (share_x, share_y) = (count(i) / count(i + j), count(j) / count(i + j));
            let mut p = vec![0.0; i * j + 1];
            // The largest is of the first sample: no value of the second is above it.
            for (u, v) in before[j].iter().enumerate() {
                p[u] += share_x * v;
            }
            // The largest is of the second sample: it is above all i of the first.
            for (u, v) in row[j - 1].iter().enumerate() {
                p[u + i] += share_y * v;
            }
            row.push(p);
        }
        before = row;
    }
    before.pop().unwrap_or_default()
}
