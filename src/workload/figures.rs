//! What a worker counts, and hands over ten times a second.

use super::histogram::Histogram;
use super::io::Direction;

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Completion latencies: from the submission to the answer. Their count is the number of I/Os.
    pub clat: Histogram,
    /// Data moved.
    pub bytes: u64,
    /// I/Os that failed.
    pub errors: u64,
}

/// What only an open loop has, of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// From the instant an I/O was due until it was handed to the kernel.
    pub slat: Histogram,
    /// From the instant it was due until it was answered.
    pub lat: Histogram,
}

/// What was counted since the last hand-over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    sides: [Side; 2],
    /// Of an open loop; None in a closed one.
    waits: Option<Box<[Waits; 2]>>,
    /// Times of `fsync` and `fdatasync`.
    pub flush: Histogram,
    /// I/Os of an open loop that were due and were not even started when time was up.
    pub not_started: u64,
}

impl Figures {
    /// Empty ones, with all memory taken that they will need.
    #[must_use]
    pub fn new(open_loop: bool) -> Self {
        Self { waits: open_loop.then(Box::default), ..Self::default() }
    }

    /// One direction.
    #[must_use]
    pub const fn side(&self, direction: Direction) -> &Side {
        &self.sides[direction as usize]
    }

    /// One direction, to be counted in.
    #[inline]
    pub const fn side_mut(&mut self, direction: Direction) -> &mut Side {
        &mut self.sides[direction as usize]
    }

    /// What an open loop has of one direction.
    #[must_use]
    pub fn waits(&self, direction: Direction) -> Option<&Waits> {
        self.waits.as_ref().map(|w| &w[direction as usize])
    }

    /// The latencies that a direction is judged by: in an open loop from when each I/O was due, else from its submission.
    #[must_use]
    pub fn judged(&self, direction: Direction) -> &Histogram {
        self.waits(direction).map_or(&self.side(direction).clat, |w| &w.lat)
    }

    /// The same, to be counted in.
    #[inline]
    pub fn waits_mut(&mut self, direction: Direction) -> Option<&mut Waits> {
        self.waits.as_mut().map(|w| &mut w[direction as usize])
    }

    /// I/Os of both directions.
    #[must_use]
    pub const fn ios(&self) -> u64 {
        self.sides[0].clat.count() + self.sides[1].clat.count()
    }

    /// Data of both directions.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.sides[0].bytes + self.sides[1].bytes
    }

    /// Failed I/Os of both directions.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.sides[0].errors + self.sides[1].errors
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Figures) {
        for (mine, theirs) in self.sides.iter_mut().zip(&other.sides) {
            mine.clat.merge(&theirs.clat);
            mine.bytes += theirs.bytes;
            mine.errors += theirs.errors;
        }
        if let Some(theirs) = &other.waits {
            let mine = self.waits.get_or_insert_default();
            for (mine, theirs) in mine.iter_mut().zip(theirs.iter()) {
                mine.slat.merge(&theirs.slat);
                mine.lat.merge(&theirs.lat);
            }
        }
        self.flush.merge(&other.flush);
        self.not_started += other.not_started;
    }

    /// Empties them, keeping their memory.
    pub fn clear(&mut self) {
        for side in &mut self.sides {
            side.clat.clear();
            (side.bytes, side.errors) = (0, 0);
        }
        for waits in self.waits.iter_mut().flat_map(|w| w.iter_mut()) {
            waits.slat.clear();
            waits.lat.clear();
        }
        self.flush.clear();
        self.not_started = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_everything_and_clearing_leaves_nothing() {
        let mut a = Figures::new(true);
        for (direction, n) in [(Direction::Read, 3), (Direction::Write, 5)] {
            for _ in 0..n {
                let side = a.side_mut(direction);
                side.clat.record(10);
                side.bytes += 512;
                let waits = a.waits_mut(direction).unwrap();
                waits.slat.record(1);
                waits.lat.record(11);
            }
        }
        a.side_mut(Direction::Write).errors = 2;
        a.flush.record(7);
        a.not_started = 4;
        let mut sum = Figures::default();
        sum.merge(&a);
        sum.merge(&a);
        assert_eq!((sum.ios(), sum.bytes(), sum.errors(), sum.not_started), (16, 16 * 512, 4, 8));
        assert_eq!((sum.side(Direction::Read).clat.count(), sum.flush.count()), (6, 2));
        assert_eq!(sum.waits(Direction::Write).unwrap().lat.count(), 10);
        a.clear();
        assert_eq!(a, Figures::new(true));
    }
}
