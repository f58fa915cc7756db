//! How much of the beginning is warm-up: MSER-5 (White 1997; Hoad and others 2008).

use super::summary::{count, mean};

/// Samples of a batch.
pub const BATCH: usize = 5;

/// Where the warm-up ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncation {
    /// Batches to leave out.
    pub batches: usize,
    /// The objective for leaving out 0, 1, ... batches: squared standard error of what is left.
    pub objective: Vec<f64>,
    /// The least lies at the last that was tried, half of all: no steady state was seen.
    pub at_limit: bool,
}

impl Truncation {
    /// Samples to leave out.
    #[must_use]
    pub const fn samples(&self) -> usize {
        self.batches * BATCH
    }
}

/// Finds the truncation of a series; `None` below two batches. A last batch that is not full is left out.
#[must_use]
pub fn mser5(samples: &[f64]) -> Option<Truncation> {
    let z: Vec<f64> = samples.as_chunks::<BATCH>().0.iter().filter_map(|batch| mean(batch)).collect();
    if z.len() < 2 {
        return None;
    }
    let most = z.len() / 2;
    let objective: Vec<f64> = (0..=most)
        .filter_map(|d| {
            let rest = &z[d..];
            let m = mean(rest)?;
            Some(rest.iter().map(|v| (v - m).powi(2)).sum::<f64>() / count(rest.len()).powi(2))
        })
        .collect();
    let least = objective.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map(|(d, _)| d)?;
    Some(Truncation { batches: least, at_limit: least == most, objective })
}
