//! No I/O at all: offsets are drawn and books are kept. What a run with it costs is what the program itself costs, and no
//! engine can be faster than its figures.

use super::one_at_a_time::{Transfer, drive};
use super::{DriveError, Feed, FlushFailure, IoEngine, Source};
use crate::units::Nanos;
use crate::workload::io::Io;
use crate::workload::ledger::Ledger;

/// The engine.
#[derive(Debug)]
pub struct Null {
    source: Source,
}

impl Null {
    /// The source is kept and not touched.
    #[must_use]
    pub const fn new(source: Source) -> Self {
        Self { source }
    }
}

impl Transfer for Null {
    #[inline]
    fn transfer(&mut self, io: Io) -> Result<(), Option<i32>> {
        // The offset must be drawn although nobody needs it.
        std::hint::black_box(io);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), FlushFailure> {
        Ok(())
    }

    fn source(&self) -> &Source {
        &self.source
    }
}

impl IoEngine for Null {
    fn drive(&mut self, feed: &mut Feed, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        drive(self, feed, ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::engine::testing::{content_file, feed};
    use crate::workload::ledger::{PATIENCE, alone};
    use crate::workload::pattern::Region;

    #[test]
    fn it_counts_and_touches_nothing() {
        let file = content_file(4);
        let before = file.read_back();
        let region = Region { offset: 0, blocks: 4, bs: 4096 };
        let (mut ledger, ..) = alone(Nanos(u64::MAX), 1000, PATIENCE);
        Null::new(file.source()).drive(&mut feed(region, &["rw=randrw"]), &mut ledger).unwrap();
        let end = ledger.close(Nanos(1), None);
        assert_eq!((end.figures.ios(), end.figures.errors()), (1000, 0));
        assert_eq!(file.read_back(), before);
    }
}
