//! Several comparisons at once: the step-down of Holm (1979), which keeps the chance of any false winner at alpha.

use super::summary::count;

/// The adjusted p values, in the order given: reject where it is at most alpha. Every comparison counts, also one that is
/// decided already.
#[must_use]
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, i) in order.into_iter().enumerate() {
        largest = largest.max((p[i] * count(p.len() - rank)).min(1.0));
        adjusted[i] = largest;
    }
    adjusted
}
