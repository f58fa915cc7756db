//! An interval of numbers, mostly of log ratios.

/// From `lo` to `hi`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Both ends at one value: what an interval without spread is.
    #[must_use]
    pub const fn point(at: f64) -> Interval {
        Interval { lo: at, hi: at }
    }

    /// `half` to both sides of `middle`.
    #[must_use]
    pub fn around(middle: f64, half: f64) -> Interval {
        Interval { lo: middle - half, hi: middle + half }
    }

    /// Whether all of it lies strictly between `-limit` and `limit`.
    #[must_use]
    pub fn inside(self, limit: f64) -> bool {
        self.lo > -limit && self.hi < limit
    }

    /// Whether all of it lies beyond `limit` on one side.
    #[must_use]
    pub fn beyond(self, limit: f64) -> bool {
        self.lo > limit || self.hi < -limit
    }

    /// Whether 0 is not in it.
    #[must_use]
    pub fn excludes_zero(self) -> bool {
        self.beyond(0.0)
    }

    /// The interval of `exp(x)`: from log ratios to ratios.
    #[must_use]
    pub fn exp(self) -> Interval {
        Interval { lo: self.lo.exp(), hi: self.hi.exp() }
    }

    /// Both ends times `factor`, in order again if it is negative.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Interval {
        let (a, b) = (self.lo * factor, self.hi * factor);
        Interval { lo: a.min(b), hi: a.max(b) }
    }

    /// Both ends moved by `by`.
    #[must_use]
    pub fn moved(self, by: f64) -> Interval {
        Interval { lo: self.lo + by, hi: self.hi + by }
    }

    /// Both ends moved outwards by `by`.
    #[must_use]
    pub fn widened(self, by: f64) -> Interval {
        Interval { lo: self.lo - by, hi: self.hi + by }
    }
}
