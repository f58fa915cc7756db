//! `pread` in a loop: one I/O at a time, as most programs read.

use rustix::io::{Errno, pread};

use super::{DriveError, IoEngine, Source, now};
use crate::units::Nanos;
use crate::workload::buffer::Arena;
use crate::workload::ledger::{IoFailure, Ledger};
use crate::workload::pattern::Pattern;

/// The engine. Each I/O costs one clock read: an I/O's start is the instant at which the one before was done, so its
/// latency contains the few nanoseconds of bookkeeping between them.
#[derive(Debug)]
pub struct Psync {
    source: Source,
    arena: Arena,
}

impl Psync {
    /// Takes its buffer. None if there is no such amount of memory.
    #[must_use]
    pub fn new(source: Source) -> Option<Self> {
        let arena = Arena::new(usize::try_from(source.bs).ok()?, 1)?;
        Some(Self { source, arena })
    }

    /// Reads the block at `offset`. The error's errno is None at the end of the file.
    #[inline]
    fn read(&mut self, offset: u64) -> Result<(), Option<i32>> {
        let bs = self.arena.size();
        match pread(&self.source.fd, self.arena.slice_mut(0), offset) {
            Ok(n) if n == bs => Ok(()),
            Ok(0) => Err(None),
            Ok(n) => self.read_rest(offset, n),
            Err(Errno::INTR) => self.read_rest(offset, 0),
            Err(e) => Err(Some(e.raw_os_error())),
        }
    }

    /// Goes on after a read that was interrupted or cut short after `done` bytes.
    #[cold]
    fn read_rest(&mut self, offset: u64, mut done: usize) -> Result<(), Option<i32>> {
        let mut interrupted = done == 0;
        while done < self.arena.size() {
            if !interrupted && !u32::try_from(done).is_ok_and(|d| self.source.can_continue(d)) {
                return Err(None);
            }
            let rest = &mut self.arena.slice_mut(0)[done..];
            let (n, again) = match pread(&self.source.fd, rest, offset + done as u64) {
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

impl IoEngine for Psync {
    fn drive(&mut self, pattern: &mut Pattern, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        let bytes = u64::from(self.source.bs);
        let mut start = now();
        ledger.begin(start);
        while ledger.may_issue() {
            let offset = pattern.next_offset();
            ledger.issued();
            let result = self.read(offset);
            let end = now();
            ledger.tick(end, 1);
            match result {
                Ok(()) => ledger.done(end.since(start).0, bytes),
                Err(errno) => ledger.failed(IoFailure { offset, errno }),
            }
            start = end;
        }
        Ok(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::engine::testing::{Content, block_at, content_file};
    use crate::workload::ledger::{PATIENCE, alone};
    use crate::workload::pattern::Region;

    fn drive(file: &Content, seed: u64, quota: u64) -> (Psync, Pattern, crate::workload::ledger::WorkerEnd) {
        let region = Region { offset: 4096, blocks: file.blocks - 1, bs: 4096 };
        let mut engine = Psync::new(file.source()).unwrap();
        let mut pattern = Pattern::random(region, seed, 0);
        let (mut ledger, ..) = alone(Nanos(u64::MAX), quota, PATIENCE);
        let closed = engine.drive(&mut pattern, &mut ledger).unwrap();
        (engine, Pattern::random(region, seed, 0), ledger.close(closed, None))
    }

    #[test]
    fn what_is_read_is_what_is_at_the_offset() {
        let file = content_file(64);
        for seed in 0..20 {
            let quota = 1 + seed % 3;
            let (mut engine, mut pattern, end) = drive(&file, seed, quota);
            let last = (0..quota).map(|_| pattern.next_offset()).last().unwrap();
            assert_eq!(engine.arena.slice_mut(0), block_at(last));
            assert_eq!(
                (end.figures.clat.count(), end.figures.bytes, end.failure),
                (quota, quota * 4096, None)
            );
        }
    }

    #[test]
    fn a_block_that_ends_early_is_the_end_of_the_file() {
        let file = content_file(2);
        file.cut(4096 + 1904);
        let (_, _, end) = drive(&file, 1, 3);
        assert_eq!(end.failure, Some(IoFailure { offset: 4096, errno: None }));
        assert_eq!((end.figures.errors, end.figures.clat.count()), (3, 0));
    }
}
