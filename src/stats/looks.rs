//! Adaptive experiments: blocks are added until a look decides. Looks are few and fixed at the start, each at a smaller alpha,
//! so that all of them together keep 5 %.

use super::decision::{Judgement, judge_all};

/// Alpha of an experiment of a fixed number of blocks.
pub const FIXED: f64 = 0.05;
/// Alpha of each look with one comparison; simulated: 4.9 % over all four looks.
pub const PER_LOOK: f64 = 0.017;
/// Alpha of each look with several comparisons, before Holm; simulated with five comparisons.
pub const PER_LOOK_SEVERAL: f64 = 0.015;

/// The numbers of valid blocks at which an experiment of so many cells is judged. With 3 to 6 cells only complete sets of
/// sequences are balanced; above 6 each candidate has blocks of its own with the baseline.
#[must_use]
pub const fn looks(cells: usize) -> &'static [usize] {
    match cells {
        3 | 6 => &[6, 12, 18, 24],
        4 => &[8, 12, 16, 20],
        5 => &[10, 20],
        _ => &[6, 10, 14, 20],
    }
}

/// A comparison judged over the looks that there were.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    /// The judgement at the look that decided, else at the last.
    pub judgement: Judgement,
    /// Blocks at that look; `None` if there were too few for the first.
    pub look: Option<usize>,
    /// It was the last look that there can be.
    pub last: bool,
}

/// Judges all comparisons at each look for which there are blocks. A decision stands; a decided comparison still counts among
/// the others. Blocks after the last complete look are not judged. `adjust` has a say at each look: it is handed the index of
/// the comparison, the number of blocks and the judgement, and returns the one that counts.
pub fn judge_with(
    family: &[&[f64]],
    margin: f64,
    alpha: f64,
    looks: &[usize],
    adjust: impl Fn(usize, usize, Judgement) -> Judgement,
) -> Vec<Looked> {
    let blocks = family.iter().map(|d| d.len()).min().unwrap_or_default();
    let mut all: Vec<Looked> = judge_all(family, margin, alpha)
        .into_iter()
        .map(|judgement| Looked { judgement, look: None, last: false })
        .collect();
    for look in looks.iter().filter(|look| **look <= blocks) {
        let so_far: Vec<&[f64]> = family.iter().map(|d| &d[..*look]).collect();
        let last = looks.last() == Some(look);
        for (i, (held, judgement)) in all.iter_mut().zip(judge_all(&so_far, margin, alpha)).enumerate() {
            if held.look.is_none() || !held.judgement.decision.settled() {
                let judgement = adjust(i, *look, judgement);
                *held = Looked { judgement, look: Some(*look), last };
            }
        }
    }
    all
}
