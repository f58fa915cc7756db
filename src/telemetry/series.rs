//! The recent past of a figure, bounded.

use std::collections::VecDeque;

/// The last `capacity` values of a figure, oldest first; None where it was unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    values: VecDeque<Option<f64>>,
    capacity: usize,
}

impl Series {
    /// An empty series that keeps at most `capacity` values.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { values: VecDeque::with_capacity(capacity), capacity: capacity.max(1) }
    }

    /// Appends a value, dropping the oldest when full.
    pub fn push(&mut self, value: Option<f64>) {
        if self.values.len() == self.capacity {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// All values, oldest first.
    #[must_use]
    pub fn values(&self) -> &VecDeque<Option<f64>> {
        &self.values
    }

    /// The newest `n` values, oldest first.
    pub fn last(&self, n: usize) -> impl Iterator<Item = Option<f64>> + '_ {
        self.values.iter().skip(self.values.len().saturating_sub(n)).copied()
    }

    /// The newest value, if it is known.
    #[must_use]
    pub fn latest(&self) -> Option<f64> {
        self.values.back().copied().flatten()
    }

    /// The greatest known value.
    #[must_use]
    pub fn peak(&self) -> Option<f64> {
        self.values.iter().flatten().copied().reduce(f64::max)
    }
}
