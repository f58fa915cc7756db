//! The engines: how I/O is issued and reaped.

pub mod io_uring;
pub mod null;
pub mod one_at_a_time;
pub mod psync;

use rustix::fd::OwnedFd;
use serde::Serialize;

use super::arrivals::Arrivals;
use super::io::Direction;
use super::ledger::Ledger;
use super::pattern::Pattern;
use crate::clock::{Clock, SystemClock};
use crate::units::Nanos;

/// One worker's engine, with its buffers and its own descriptor.
pub trait IoEngine {
    /// Issues and reaps I/O until the ledger says that it is over, then reaps what is left in flight. Answers when the
    /// last I/O was reaped.
    ///
    /// # Errors
    /// Where the engine itself can not go on. I/Os that fail are told to the ledger and are no error here.
    fn drive(&mut self, feed: &mut Feed, ledger: &mut Ledger) -> Result<Nanos, DriveError>;

    /// What could be registered with the kernel, in words; None for engines that have no such thing.
    fn registered(&self) -> Option<&'static str> {
        None
    }
}

/// What a worker is to issue, and when.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The I/Os.
    pub pattern: Pattern,
    /// When each is due.
    pub pace: Pace,
}

/// When I/Os are issued.
#[derive(Clone, Debug)]
pub enum Pace {
    /// As soon as there is room: a closed loop.
    Closed,
    /// So long after the answer whose room it takes.
    Think(Nanos),
    /// At times of their own: an open loop.
    Open(Arrivals),
}

/// How writes are made safe between I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// The call.
    pub call: FlushCall,
    /// After so many writes; 0 for never.
    pub every: u32,
}

/// The two calls that make writes safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FlushCall {
    /// Data and all metadata.
    Fsync,
    /// Data, and what is needed to find it again.
    Fdatasync,
}

/// What a worker reads from or writes to, and how.
#[derive(Debug)]
pub struct Source {
    /// A descriptor of the worker's own: workers that share one share its read-ahead state too.
    pub fd: OwnedFd,
    /// Size of each I/O.
    pub bs: u32,
    /// Under direct I/O, what offsets have to be multiples of; 1 for buffered I/O.
    pub step: u32,
    /// After how many writes what is called.
    pub flush: Flush,
    /// `fsync` after the last I/O.
    pub end_fsync: bool,
    /// The number of the workers' I/O priority, 0 for none.
    pub ioprio: u16,
}

impl Source {
    /// Whether an I/O that was cut short after `done` bytes can be continued there. Direct I/O that ends off its step
    /// has met the end of the file.
    #[must_use]
    pub const fn can_continue(&self, done: u32) -> bool {
        done > 0 && done < self.bs && done.is_multiple_of(self.step)
    }
}

/// Why a flush failed; it is no I/O of the job, and after it nothing that was written can be relied on.
#[derive(Debug, thiserror::Error)]
#[error("{call} failed: {error}; what was written before may be lost")]
pub struct FlushFailure {
    /// The call, as a word.
    pub call: &'static str,
    /// The kernel's answer.
    pub error: std::io::Error,
}

impl FlushCall {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            FlushCall::Fsync => "fsync",
            FlushCall::Fdatasync => "fdatasync",
        }
    }
}

/// Counts writes up to the next flush.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushCount {
    every: u32,
    since: u32,
}

impl FlushCount {
    pub(super) const fn new(flush: Flush) -> Self {
        Self { every: flush.every, since: 0 }
    }

    /// An I/O was issued or answered; whether a flush is due after it.
    #[inline]
    pub(super) fn due(&mut self, direction: Direction) -> bool {
        if self.every == 0 || direction == Direction::Read {
            return false;
        }
        self.since += 1;
        if self.since < self.every {
            return false;
        }
        self.since = 0;
        true
    }
}

/// Why an engine could not go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The kernel refused to take or give I/O.
    #[error("io_uring: entering the ring: {0}")]
    Ring(std::io::Error),
    /// The device did not answer.
    #[error("{in_flight} I/Os were still in flight {seconds} s after the last answer of the device")]
    Stuck {
        /// How many.
        in_flight: u64,
        /// For how long they were waited for.
        seconds: u64,
    },
    /// A flush failed.
    #[error(transparent)]
    Flush(#[from] FlushFailure),
}

#[inline]
pub(super) fn now() -> Nanos {
    SystemClock.monotonic()
}

#[cfg(test)]
mod testing {
    //! A file whose content is known, for the tests of both engines.

    use std::fs::File;
    use std::io::Write;

    use super::{Feed, Flush, FlushCall, Pace, Pattern, Source};
    use crate::sys::scratch::content;
    use crate::workload::pattern::Region;
    use crate::workload::preset;

    pub(super) struct Content {
        file: File,
        pub(super) blocks: u64,
    }

    pub(super) fn source_of(fd: rustix::fd::OwnedFd, step: u32) -> Source {
        let flush = Flush { call: FlushCall::Fsync, every: 0 };
        Source { fd, bs: 4096, step, flush, end_fsync: false, ioprio: 0 }
    }

    /// A closed loop of a job's I/Os.
    pub(super) fn feed(region: Region, keys: &[&str]) -> Feed {
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        for k in keys {
            job.set(k).unwrap();
        }
        Feed { pattern: Pattern::new(region, &job, 0), pace: Pace::Closed }
    }

    pub(super) fn content_file(blocks: u64) -> Content {
        let mut file = tempfile::tempfile().unwrap();
        let mut data = vec![0; usize::try_from(blocks * 4096).unwrap()];
        content(0, &mut data);
        file.write_all(&data).unwrap();
        Content { file, blocks }
    }

    /// What the block at `offset` holds.
    pub(super) fn block_at(offset: u64) -> Vec<u8> {
        let mut block = vec![0; 4096];
        content(offset, &mut block);
        block
    }

    impl Content {
        pub(super) fn source(&self) -> Source {
            source_of(self.file.try_clone().unwrap().into(), 1)
        }

        /// What is in the file now.
        pub(super) fn read_back(&self) -> Vec<u8> {
            use std::os::unix::fs::FileExt;
            let mut all = vec![0; usize::try_from(self.file.metadata().unwrap().len()).unwrap()];
            self.file.read_exact_at(&mut all, 0).unwrap();
            all
        }

        pub(super) fn cut(&self, size: u64) {
            self.file.set_len(size).unwrap();
        }
    }

    #[test]
    fn a_short_io_is_continued_only_where_direct_io_allows_it() {
        let source = |step| source_of(tempfile::tempfile().unwrap().into(), step);
        assert!(source(1).can_continue(100) && source(512).can_continue(1024));
        assert!(
            !source(512).can_continue(100) && !source(1).can_continue(0) && !source(1).can_continue(4096)
        );
    }
}
