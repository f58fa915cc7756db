//! io_uring: keeps `iodepth` I/Os in flight from one thread.
//!
//! The clock is read once for each batch of completions reaped together, not for each I/O. All of a batch get the
//! instant at which it was reaped as their end, and what is issued in their place gets it as its start. So a latency is
//! what a program sees that handles completions in batches: it includes the time a completion lay in the ring while
//! the batch before was handled (a few microseconds at most) and the submission call itself. With one I/O in flight a
//! batch is one I/O and nothing is blurred.
#![allow(unsafe_code)] // the kernel writes into memory while no borrow of it exists; see `Uring`

mod drive;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::{DriveError, FlushCall, FlushCount, Source};
use crate::units::Nanos;
use crate::workload::buffer::Arena;
use crate::workload::io::{Direction, Io};
use crate::workload::ledger::{IoFailure, Ledger};
use crate::workload::pattern::Pattern;

/// A wait ends after this long even if nothing completed, to see the time and a stop. It is a timer in the ring that is
/// set anew when it fires: a time limit on every single wait costs some percent of the I/Os.
static WAKE: types::Timespec = types::Timespec::new().nsec(20_000_000);
/// The longest wait where each has a limit of its own.
const LONGEST_WAIT: Nanos = Nanos(20_000_000);
/// What the timer is called; slots are called by their index.
const TIMER: u64 = u64::MAX;
/// What a flush is called.
const FLUSH: u64 = u64::MAX - 1;
/// The due time of what is due as soon as there is room.
const NOT_DUE: u64 = u64::MAX;

/// Which setup flags the kernel took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    /// One thread submits, completions are worked off when it asks for them (Linux 6.1).
    Deferred,
    /// Completions are worked off without interrupting the thread (Linux 5.19).
    Cooperative,
    /// No flags (Linux 5.1).
    Plain,
}

impl Setup {
    /// In words, for results.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Setup::Deferred => "single issuer, deferred and cooperative task work",
            Setup::Cooperative => "cooperative task work",
            Setup::Plain => "no setup flags (an older kernel)",
        }
    }

    fn build(self, entries: u32) -> io::Result<IoUring> {
        let mut b = IoUring::builder();
        match self {
            Setup::Deferred => {
                b.setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun();
            }
            Setup::Cooperative => {
                b.setup_coop_taskrun();
            }
            Setup::Plain => {}
        }
        b.build(entries)
    }
}

/// The best setup this kernel takes.
///
/// # Errors
/// Where there is no io_uring: ENOSYS (kernel), EPERM (`kernel.io_uring_disabled`, a container's filter), ENOMEM.
pub fn probe() -> io::Result<Setup> {
    for setup in [Setup::Deferred, Setup::Cooperative] {
        match setup.build(2) {
            Ok(_) => return Ok(setup),
            // An older kernel refuses flags it does not know.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
            Err(e) => return Err(e),
        }
    }
    Setup::Plain.build(2).map(|_| Setup::Plain)
}

/// The state of one buffer's I/O.
#[derive(Clone, Copy, Debug)]
struct Slot {
    io: Io,
    /// When it was handed to the kernel.
    start: u64,
    /// In an open loop, when it was due.
    due: u64,
    /// Bytes that were moved before a short I/O was continued.
    done: u32,
}

const EMPTY: Slot = Slot { io: Io { offset: 0, direction: Direction::Read }, start: 0, due: 0, done: 0 };

/// The engine.
///
/// The kernel writes into the arena between submission and completion of an I/O. Therefore no slice of a buffer is ever
/// made here while its I/O is in flight, and `Drop` leaks arena, ring and descriptor if anything still is: memory that is
/// never freed can be written to by a late device without harm.
pub struct Uring {
    ring: ManuallyDrop<IoUring>,
    arena: ManuallyDrop<Arena>,
    source: ManuallyDrop<Source>,
    slots: Vec<Slot>,
    /// Slots without an I/O, where they are not filled again at once; there is room for all.
    free: Vec<usize>,
    in_flight: u64,
    /// Writes so far: each block written is unlike every other.
    written: u64,
    flushes: FlushCount,
    fixed_file: bool,
    fixed_buffers: bool,
}

impl Uring {
    /// Sets up ring and buffers; called on the thread that will drive it.
    ///
    /// # Errors
    /// Whatever setting up the ring answers; ENOMEM if the buffers can not be had.
    pub fn new(source: Source, depth: u32, setup: Setup) -> io::Result<Self> {
        let depth = depth.max(1);
        // Beside the I/Os a timer and a flush.
        let ring = setup.build(depth + 2)?;
        let no_memory = || io::Error::from_raw_os_error(libc::ENOMEM);
        let size = usize::try_from(source.bs).map_err(|_| no_memory())?;
        let count = usize::try_from(depth).map_err(|_| no_memory())?;
        let arena = Arena::new(size, count).ok_or_else(no_memory)?;
        let vectors: Vec<libc::iovec> =
            (0..count).map(|i| libc::iovec { iov_base: arena.pointer(i).cast(), iov_len: size }).collect();
        // Without registration (old kernel, locked-memory limit) the same I/O only costs more.
        // SAFETY: the arena outlives the ring: both are fields, dropped in that order or leaked together.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let fixed_file = ring.submitter().register_files(&[source.fd.as_raw_fd()]).is_ok();
        Ok(Self {
            ring: ManuallyDrop::new(ring),
            arena: ManuallyDrop::new(arena),
            slots: vec![EMPTY; count],
            free: Vec::with_capacity(count),
            in_flight: 0,
            written: 0,
            flushes: FlushCount::new(source.flush),
            source: ManuallyDrop::new(source),
            fixed_file,
            fixed_buffers,
        })
    }

    #[inline]
    fn entry(&self, index: usize) -> squeue::Entry {
        let slot = self.slots[index];
        // SAFETY: `done` is less than the buffer's size while an I/O is to be continued, and 0 otherwise.
        let buffer = unsafe { self.arena.pointer(index).add(slot.done as usize) };
        let (len, at) = (self.source.bs - slot.done, slot.io.offset + u64::from(slot.done));
        let fd = types::Fd(self.source.fd.as_raw_fd());
        let file = types::Fixed(0);
        let prio = self.source.ioprio;
        // More buffers than an index can tell are never registered.
        #[allow(clippy::cast_possible_truncation)]
        let nr = index as u16;
        let e = match (slot.io.direction, self.fixed_buffers, self.fixed_file) {
            (Direction::Read, true, true) => {
                opcode::ReadFixed::new(file, buffer, len, nr).offset(at).ioprio(prio).build()
            }
            (Direction::Read, true, false) => {
                opcode::ReadFixed::new(fd, buffer, len, nr).offset(at).ioprio(prio).build()
            }
            (Direction::Read, false, true) => {
                opcode::Read::new(file, buffer, len).offset(at).ioprio(prio).build()
            }
            (Direction::Read, false, false) => {
                opcode::Read::new(fd, buffer, len).offset(at).ioprio(prio).build()
            }
            (Direction::Write, true, true) => {
                opcode::WriteFixed::new(file, buffer, len, nr).offset(at).ioprio(prio).build()
            }
            (Direction::Write, true, false) => {
                opcode::WriteFixed::new(fd, buffer, len, nr).offset(at).ioprio(prio).build()
            }
            (Direction::Write, false, true) => {
                opcode::Write::new(file, buffer, len).offset(at).ioprio(prio).build()
            }
            (Direction::Write, false, false) => {
                opcode::Write::new(fd, buffer, len).offset(at).ioprio(prio).build()
            }
        };
        e.user_data(index as u64)
    }

    /// Queues the slot's I/O. The queue has a place for every slot, and a slot has one I/O at most, so it is never full.
    #[inline]
    fn push(&mut self, index: usize) {
        let e = self.entry(index);
        // SAFETY: the buffer lives until its completion is reaped, or is leaked (see `Drop`); the descriptor likewise.
        if unsafe { self.ring.submission().push(&e) }.is_ok() {
            self.in_flight += 1;
        }
    }

    /// Fills a slot with the next I/O, which was due at `due`.
    #[inline]
    fn issue(&mut self, index: usize, pattern: &mut Pattern, ledger: &mut Ledger, at: Nanos, due: Nanos) {
        ledger.issued();
        let io = pattern.next_io();
        self.slots[index] = Slot { io, start: at.0, due: due.0, done: 0 };
        if io.direction == Direction::Write {
            self.written += 1;
            self.arena.stamp(index, io.offset, self.written);
        }
        self.push(index);
    }

    /// Queues a flush.
    #[cold]
    fn push_flush(&mut self, call: FlushCall) {
        let flags = match call {
            FlushCall::Fsync => types::FsyncFlags::empty(),
            FlushCall::Fdatasync => types::FsyncFlags::DATASYNC,
        };
        let fd = types::Fd(self.source.fd.as_raw_fd());
        let e = opcode::Fsync::new(fd).flags(flags).build().user_data(FLUSH);
        // SAFETY: it names no memory; the descriptor stays open while anything is in flight (see `Drop`).
        if unsafe { self.ring.submission().push(&e) }.is_ok() {
            self.in_flight += 1;
        }
    }

    #[cold]
    fn set_timer(&mut self) {
        let e = opcode::Timeout::new(&raw const WAKE).build().user_data(TIMER);
        // The queue has a place for it beside one for every slot.
        // SAFETY: the kernel reads the time when the entry is submitted, and it is static anyway.
        let _ = unsafe { self.ring.submission().push(&e) };
    }

    /// Submits what is queued and waits for a completion, the timer's included.
    fn submit_and_wait(&self) -> Result<(), DriveError> {
        entered(self.ring.submitter().submit_and_wait(1))
    }

    /// Submits what is queued and waits for a completion, at most so long.
    fn submit_and_wait_for(&self, time: Nanos) -> Result<(), DriveError> {
        let time = types::Timespec::from(time.min(LONGEST_WAIT).duration());
        let args = types::SubmitArgs::new().timespec(&time);
        entered(self.ring.submitter().submit_with_args(1, &args))
    }

    /// The next completion, as slot and result.
    #[inline]
    fn reap(&mut self) -> Option<(u64, i32)> {
        self.ring.completion().next().map(|c| (c.user_data(), c.result()))
    }

    /// One completion: counted, continued or failed. True if the slot is free again.
    #[inline]
    fn completed(&mut self, index: usize, result: i32, ledger: &mut Ledger, at: Nanos) -> bool {
        self.in_flight -= 1;
        let slot = self.slots[index];
        if let Ok(n) = u32::try_from(result)
            && slot.done + n == self.source.bs
        {
            let ns = at.0.saturating_sub(slot.start);
            if slot.due == NOT_DUE {
                ledger.done(slot.io.direction, ns, u64::from(self.source.bs));
            } else {
                let waited = slot.start.saturating_sub(slot.due);
                ledger.done_open(slot.io.direction, waited, ns, u64::from(self.source.bs));
            }
            return true;
        }
        self.not_whole(index, result, ledger)
    }

    #[cold]
    fn not_whole(&mut self, index: usize, result: i32, ledger: &mut Ledger) -> bool {
        let slot = &mut self.slots[index];
        let n = u32::try_from(result).unwrap_or(0);
        if n > 0 && self.source.can_continue(slot.done + n) {
            slot.done += n;
            self.push(index);
            return false;
        }
        let errno = (result < 0).then_some(-result);
        ledger.failed(IoFailure { io: slot.io, errno });
        true
    }
}

fn entered(answer: io::Result<usize>) -> Result<(), DriveError> {
    match answer {
        Ok(_) => Ok(()),
        // A signal, a full completion queue, or time is up: look at what is there and come again.
        Err(e)
            if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN | libc::ETIME)) =>
        {
            Ok(())
        }
        Err(e) => Err(DriveError::Ring(e)),
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            // The device still owes answers and will write into the arena: ring, arena and descriptor stay for good.
            return;
        }
        // SAFETY: each is dropped once, here, and not used afterwards; the ring first, so that the kernel has let go of
        // the registered buffers before they are freed.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.arena);
            ManuallyDrop::drop(&mut self.source);
        }
    }
}

#[cfg(test)]
mod tests;
