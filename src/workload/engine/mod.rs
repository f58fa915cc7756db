//! The engines: how I/O is issued and reaped.

pub mod io_uring;
pub mod psync;

use rustix::fd::OwnedFd;

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
    fn drive(&mut self, pattern: &mut Pattern, ledger: &mut Ledger) -> Result<Nanos, DriveError>;

    /// What could be registered with the kernel, in words; None for engines that have no such thing.
    fn registered(&self) -> Option<&'static str> {
        None
    }
}

/// What a worker reads from and how.
#[derive(Debug)]
pub struct Source {
    /// A descriptor of the worker's own: workers that share one share its read-ahead state too.
    pub fd: OwnedFd,
    /// Size of each I/O.
    pub bs: u32,
    /// Under direct I/O, what offsets have to be multiples of; 1 for buffered I/O.
    pub step: u32,
}

impl Source {
    /// Whether a read that was cut short after `done` bytes can be continued there. Direct I/O that ends off its step
    /// has met the end of the file.
    #[must_use]
    pub const fn can_continue(&self, done: u32) -> bool {
        done > 0 && done < self.bs && done.is_multiple_of(self.step)
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

    use super::Source;
    use crate::sys::scratch::content;

    pub(super) struct Content {
        file: File,
        pub(super) blocks: u64,
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
            Source { fd: self.file.try_clone().unwrap().into(), bs: 4096, step: 1 }
        }

        pub(super) fn cut(&self, size: u64) {
            self.file.set_len(size).unwrap();
        }
    }

    #[test]
    fn a_short_read_is_continued_only_where_direct_io_allows_it() {
        let source = |step| Source { fd: tempfile::tempfile().unwrap().into(), bs: 4096, step };
        assert!(source(1).can_continue(100) && source(512).can_continue(1024));
        assert!(
            !source(512).can_continue(100) && !source(1).can_continue(0) && !source(1).can_continue(4096)
        );
    }
}
