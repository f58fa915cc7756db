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

    /// Reads the block at `offset`, going on after a short read. The error's errno is None at the end of the file.
    #[inline]
    fn read(&mut self, offset: u64) -> Result<u32, Option<i32>> {
        let mut done = 0u32;
        loop {
            let rest = self.arena.slice_mut(0).get_mut(done as usize..).unwrap_or_default();
            match pread(&self.source.fd, rest, offset + u64::from(done)) {
                Ok(n) => {
                    done += u32::try_from(n).unwrap_or(0);
                    if done == self.source.bs {
                        return Ok(done);
                    }
                    if n == 0 || !self.source.can_continue(done) {
                        return Err(None);
                    }
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(Some(e.raw_os_error())),
            }
        }
    }
}

impl IoEngine for Psync {
    fn drive(&mut self, pattern: &mut Pattern, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        let mut start = now();
        ledger.begin(start);
        while ledger.may_issue() {
            let offset = pattern.next_offset();
            ledger.issued();
            let result = self.read(offset);
            let end = now();
            ledger.tick(end, 1);
            match result {
                Ok(bytes) => ledger.done(end.since(start).0, u64::from(bytes)),
                Err(errno) => ledger.failed(IoFailure { offset, errno }),
            }
            start = end;
        }
        Ok(start)
    }
}
