//! `pread` and `pwrite` in a loop: one I/O at a time, as most programs read and write.

use rustix::fs::{fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite};

use super::one_at_a_time::{Transfer, drive};
use super::{DriveError, Feed, FlushCall, FlushFailure, IoEngine, Source};
use crate::units::Nanos;
use crate::workload::buffer::Arena;
use crate::workload::io::{Direction, Io};
use crate::workload::ledger::Ledger;

/// The engine.
#[derive(Debug)]
pub struct Psync {
    source: Source,
    arena: Arena,
    /// Writes so far: each block written is unlike every other.
    written: u64,
}

impl Psync {
    /// Takes its buffer. None if there is no such amount of memory.
    #[must_use]
    pub fn new(source: Source) -> Option<Self> {
        let arena = Arena::new(usize::try_from(source.bs).ok()?, 1)?;
        Some(Self { source, arena, written: 0 })
    }

    /// One system call for what is left of the block after `done` bytes.
    #[allow(clippy::inline_always)] // as below
    #[inline(always)]
    fn call(&mut self, io: Io, done: usize) -> rustix::io::Result<usize> {
        let rest = &mut self.arena.slice_mut(0)[done..];
        let at = io.offset + done as u64;
        match io.direction {
            Direction::Read => pread(&self.source.fd, rest, at),
            Direction::Write => pwrite(&self.source.fd, rest, at),
        }
    }

    /// Goes on after an I/O that was interrupted or cut short after `done` bytes.
    #[cold]
    fn rest(&mut self, io: Io, mut done: usize) -> Result<(), Option<i32>> {
        let mut interrupted = done == 0;
        while done < self.arena.size() {
            if !interrupted && !u32::try_from(done).is_ok_and(|d| self.source.can_continue(d)) {
                return Err(None);
            }
            let (n, again) = match self.call(io, done) {
                Ok(0) => return Err(None),
                Ok(n) => (n, false),
                Err(Errno::INTR) => (0, true),
                Err(e) => return Err(Some(e.raw_os_error())),
            };
            done += n;
            interrupted = again;
        }
        Ok(())
    }
}

impl Transfer for Psync {
    #[allow(clippy::inline_always)] // a call and its saved registers would be a tenth of what an I/O costs
    #[inline(always)]
    fn transfer(&mut self, io: Io) -> Result<(), Option<i32>> {
        if io.direction == Direction::Write {
            self.written += 1;
            self.arena.stamp(0, io.offset, self.written);
        }
        match self.call(io, 0) {
            Ok(n) if n == self.arena.size() => Ok(()),
            Ok(0) => Err(None),
            Ok(n) => self.rest(io, n),
            Err(Errno::INTR) => self.rest(io, 0),
            Err(e) => Err(Some(e.raw_os_error())),
        }
    }

    fn flush(&mut self) -> Result<(), FlushFailure> {
        let call = self.source.flush.call;
        match call {
            FlushCall::Fsync => fsync(&self.source.fd),
            FlushCall::Fdatasync => fdatasync(&self.source.fd),
        }
        .map_err(|e| FlushFailure { call: call.word(), error: e.into() })
    }

    fn source(&self) -> &Source {
        &self.source
    }
}

impl IoEngine for Psync {
    fn drive(&mut self, feed: &mut Feed, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        drive(self, feed, ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::arrivals::{Arrivals, RateProcess};
    use crate::workload::engine::testing::{Content, block_at, content_file, feed};
    use crate::workload::engine::{Flush, Pace};
    use crate::workload::ledger::{IoFailure, PATIENCE, WorkerEnd, alone};
    use crate::workload::pattern::Region;

    fn region(file: &Content) -> Region {
        Region { offset: 4096, blocks: file.blocks - 1, bs: 4096 }
    }

    fn run(source: Source, feed: &mut Feed, quota: u64) -> (Psync, WorkerEnd) {
        let mut engine = Psync::new(source).unwrap();
        let (mut ledger, ..) = alone(Nanos(u64::MAX), quota, PATIENCE);
        let closed = engine.drive(feed, &mut ledger).unwrap();
        (engine, ledger.close(closed, None))
    }

    #[test]
    fn what_is_read_is_what_is_at_the_offset() {
        let file = content_file(64);
        for seed in 0..20u64 {
            let quota = 1 + seed % 3;
            let mut ios = feed(region(&file), &[&format!("seed={seed}")]);
            let mut same = ios.clone();
            let (mut engine, end) = run(file.source(), &mut ios, quota);
            let last = (0..quota).map(|_| same.pattern.next_io().offset).last().unwrap();
            assert_eq!(engine.arena.slice_mut(0), block_at(last));
            assert_eq!((end.figures.ios(), end.figures.bytes(), end.failure), (quota, quota * 4096, None));
        }
    }

    #[test]
    fn what_is_written_lands_at_its_offset_and_nowhere_else() {
        let file = content_file(64);
        let before = file.read_back();
        let mut ios = feed(region(&file), &["rw=randrw", "seed=9"]);
        let mut same = ios.clone();
        let (_, end) = run(file.source(), &mut ios, 40);
        let written: std::collections::BTreeSet<u64> = (0..40)
            .map(|_| same.pattern.next_io())
            .filter(|io| io.direction == Direction::Write)
            .map(|io| io.offset)
            .collect();
        let after = file.read_back();
        assert_eq!(after.len(), before.len(), "a write went beyond the end");
        for (i, (a, b)) in before.chunks(4096).zip(after.chunks(4096)).enumerate() {
            let offset = i as u64 * 4096;
            assert_eq!(a != b, written.contains(&offset), "block at {offset}");
        }
        let (r, w) = (end.figures.side(Direction::Read), end.figures.side(Direction::Write));
        assert!(r.clat.count() > 5 && w.clat.count() > 5 && r.bytes + w.bytes == 40 * 4096);
    }

    #[test]
    fn every_so_many_writes_are_flushed_and_reads_do_not_count() {
        let file = content_file(64);
        let source = Source { flush: Flush { call: FlushCall::Fdatasync, every: 3 }, ..file.source() };
        let (_, end) = run(source, &mut feed(region(&file), &["rw=randrw"]), 50);
        assert_eq!(end.figures.flush.count(), end.figures.side(Direction::Write).clat.count() / 3);
        let source = Source { end_fsync: true, ..file.source() };
        let (_, end) = run(source, &mut feed(region(&file), &["rw=write"]), 5);
        assert_eq!((end.figures.flush.count(), end.figures.ios()), (1, 5));
    }

    #[test]
    fn a_block_that_ends_early_is_the_end_of_the_file() {
        let file = content_file(2);
        file.cut(4096 + 1904);
        let (_, end) = run(file.source(), &mut feed(region(&file), &[]), 3);
        let io = Io { offset: 4096, direction: Direction::Read };
        assert_eq!(end.failure, Some(IoFailure { io, errno: None }));
        assert_eq!((end.figures.errors(), end.figures.ios()), (3, 0));
    }

    #[test]
    fn an_open_loop_issues_when_due_and_counts_from_there() {
        let file = content_file(64);
        let mut ios = feed(region(&file), &[]);
        ios.pace = Pace::Open(Arrivals::new(RateProcess::Fixed, 1000.0, 1, 0, 1));
        let began = super::super::now();
        let (_, end) = run(file.source(), &mut ios, 100);
        let took = super::super::now().since(began);
        // The last of a hundred is due after 99 ms; how much later it is issued is the machine's affair.
        assert!(took.0 >= 99_000_000, "{took:?}");
        let waits = end.figures.waits(Direction::Read).unwrap();
        assert_eq!((waits.slat.count(), waits.lat.count(), end.figures.ios()), (100, 100, 100));
        let mean = |h: &crate::workload::histogram::Histogram| h.mean_and_deviation().unwrap().0;
        let clat = mean(&end.figures.side(Direction::Read).clat);
        assert!((mean(&waits.lat) - mean(&waits.slat) - clat).abs() < 1.0);
    }

    #[test]
    fn thinking_takes_its_time_between_two() {
        let file = content_file(64);
        let mut ios = feed(region(&file), &[]);
        ios.pace = Pace::Think(Nanos(5_000_000));
        let began = super::super::now();
        let (_, end) = run(file.source(), &mut ios, 10);
        assert!(super::super::now().since(began).0 >= 9 * 5_000_000);
        assert_eq!(end.figures.ios(), 10);
    }
}
