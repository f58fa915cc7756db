//! io_uring: keeps `iodepth` I/Os in flight from one thread.
//!
//! The clock is read once for each batch of completions reaped together, not for each I/O. All of a batch get the
//! instant at which it was reaped as their end, and what is issued in their place gets it as its start. So a latency is
//! what a program sees that handles completions in batches: it includes the time a completion lay in the ring while
//! the batch before was handled (a few microseconds at most) and the submission call itself. With one I/O in flight a
//! batch is one I/O and nothing is blurred.
#![allow(unsafe_code)] // the kernel writes into memory while no borrow of it exists; see `Uring`

mod drive;
mod entry;

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{CompletionQueue, IoUring, SubmissionQueue, Submitter, opcode, squeue, types};
use rustix::io_uring::{IoringEnterFlags, io_uring_enter, io_uring_sqe};

use super::{DriveError, FlushCall, FlushCount, Source};
use crate::units::Nanos;
use crate::workload::buffer::Arena;
use crate::workload::io::{Direction, Io};
use crate::workload::ledger::{IoFailure, Ledger};
use crate::workload::pattern::Pattern;
use entry::{Entry, Registered};

/// A wait ends after this long even if nothing completed, to see the time and a stop. It is a timer in the ring that is
/// set anew when it fires: a time limit on every single wait costs some percent of the I/Os.
static WAKE: types::Timespec = types::Timespec::new().nsec(20_000_000);
/// The longest wait where each has a limit of its own.
const LONGEST_WAIT: Nanos = Nanos(20_000_000);
/// A closed loop hands this many I/Os over together (fio: `iodepth_batch_submit`). The kernel holds back what comes in one
/// call until its end, so to hand over all that a wait brought leaves a device without work meanwhile, and engine and
/// device take turns at sleeping. Fewer together keep a fast device busier and cost more calls; fio hands over one by one.
/// `cargo bench --bench engine` shows what another number does to IOPS and CPU time beside fio's.
const BATCH: u32 = 2;
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

    fn build(self, entries: u32, polled: bool) -> io::Result<IoUring> {
        let mut b = IoUring::builder();
        if polled {
            b.setup_iopoll();
        }
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
        match setup.build(2, false) {
            Ok(_) => return Ok(setup),
            // An older kernel refuses flags it does not know.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
            Err(e) => return Err(e),
        }
    }
    Setup::Plain.build(2, false).map(|_| Setup::Plain)
}

/// The state of one buffer's I/O.
struct Slot {
    entry: Entry,
    io: Io,
    /// When it was handed to the kernel.
    start: u64,
    /// In an open loop, when it was due.
    due: u64,
    /// Bytes that were moved before a short I/O was continued.
    done: u32,
}

/// The engine.
///
/// The kernel writes into the arena between submission and completion of an I/O. Therefore no slice of a buffer is ever
/// made here while its I/O is in flight, and `Drop` leaks arena, ring and descriptor if anything still is: memory that is
/// never freed can be written to by a late device without harm.
pub struct Uring {
    ring: ManuallyDrop<IoUring>,
    flight: ManuallyDrop<Flight>,
}

/// What is in flight: its memory, and what is known of it.
struct Flight {
    arena: Arena,
    source: Source,
    slots: Vec<Slot>,
    /// Slots without an I/O, where they are not filled again at once; there is room for all.
    free: Vec<usize>,
    /// How many I/Os it is.
    count: u64,
    /// Writes so far: each block written is unlike every other.
    written: u64,
    flushes: FlushCount,
    registered: Registered,
    /// Answers are polled for: neither a timer nor a flush can be in the ring.
    polled: bool,
}

impl Uring {
    /// Sets up ring and buffers; called on the thread that will drive it. `polled` is for targets that can be polled and
    /// sources without flushes.
    ///
    /// # Errors
    /// Whatever setting up the ring answers; ENOMEM if the buffers can not be had.
    pub fn new(source: Source, depth: u32, setup: Setup, polled: bool) -> io::Result<Self> {
        let depth = depth.max(1);
        // Beside the I/Os a timer and a flush; twice, since what the kernel took is noted one wait late (see `Queues`).
        let ring = setup.build((depth + 2).saturating_mul(2), polled)?;
        let no_memory = || io::Error::from_raw_os_error(libc::ENOMEM);
        let size = usize::try_from(source.bs).map_err(|_| no_memory())?;
        let count = usize::try_from(depth).map_err(|_| no_memory())?;
        let arena = Arena::new(size, count).ok_or_else(no_memory)?;
        let vectors: Vec<libc::iovec> =
            (0..count).map(|i| libc::iovec { iov_base: arena.pointer(i).cast(), iov_len: size }).collect();
        // Without registration (old kernel, locked-memory limit) the same I/O only costs more.
        // SAFETY: the arena outlives the ring: it is dropped after it, or leaked with it.
        let buffers = unsafe { ring.submitter().register_buffers(&vectors) }.is_ok();
        let file = ring.submitter().register_files(&[source.fd.as_raw_fd()]).is_ok();
        let mut flight = Flight {
            arena,
            slots: Vec::with_capacity(count),
            free: Vec::with_capacity(count),
            count: 0,
            written: 0,
            flushes: FlushCount::new(source.flush),
            source,
            registered: Registered { file, buffers },
            polled,
        };
        flight.prepare(count);
        Ok(Self { ring: ManuallyDrop::new(ring), flight: ManuallyDrop::new(flight) })
    }
}

impl Flight {
    /// Makes the slots, with nothing in flight.
    fn prepare(&mut self, count: usize) {
        let io = Io { offset: 0, direction: Direction::Read };
        self.slots.clear();
        for index in 0..count {
            let entry = Entry::new(index, self.arena.pointer(index), &self.source, self.registered);
            self.slots.push(Slot { entry, io, start: 0, due: NOT_DUE, done: 0 });
        }
    }

    /// Fills a slot with the next I/O and tells its direction. When it was due is in the slot already.
    #[allow(clippy::inline_always)] // a call and its saved registers would be a tenth of what an I/O costs
    #[inline(always)]
    fn issue(
        &mut self,
        index: usize,
        queues: &mut Queues<'_>,
        pattern: &mut Pattern,
        ledger: &mut Ledger,
        at: Nanos,
    ) -> Direction {
        ledger.issued();
        let io = pattern.next_io();
        if io.direction == Direction::Write {
            self.written += 1;
            self.arena.stamp(index, io.offset, self.written);
        }
        let slot = &mut self.slots[index];
        (slot.io, slot.start, slot.done) = (io, at.0, 0);
        slot.entry.aim(io.direction, io.offset);
        // SAFETY: the buffer lives until its completion is reaped, or is leaked (see `Drop`); the descriptor likewise.
        if unsafe { queues.push(queued(&slot.entry)) } {
            self.count += 1;
        }
        io.direction
    }

    /// Queues a flush.
    #[cold]
    fn push_flush(&mut self, call: FlushCall, queues: &mut Queues<'_>) {
        let flags = match call {
            FlushCall::Fsync => types::FsyncFlags::empty(),
            FlushCall::Fdatasync => types::FsyncFlags::DATASYNC,
        };
        let fd = types::Fd(self.source.fd.as_raw_fd());
        let e = opcode::Fsync::new(fd).flags(flags).build().user_data(FLUSH);
        // SAFETY: it names no memory; the descriptor stays open while anything is in flight (see `Drop`).
        if unsafe { queues.push(&e) } {
            self.count += 1;
        }
    }

    /// One completion: counted, continued or failed. True if the slot is free again.
    #[allow(clippy::inline_always)] // as `issue`
    #[inline(always)]
    fn completed(
        &mut self,
        index: usize,
        result: i32,
        queues: &mut Queues<'_>,
        ledger: &mut Ledger,
        at: Nanos,
    ) -> bool {
        self.count -= 1;
        let slot = &self.slots[index];
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
        self.not_whole(index, result, queues, ledger)
    }

    #[cold]
    fn not_whole(&mut self, index: usize, result: i32, queues: &mut Queues<'_>, ledger: &mut Ledger) -> bool {
        let slot = &mut self.slots[index];
        let n = u32::try_from(result).unwrap_or(0);
        if n > 0 && self.source.can_continue(slot.done + n) {
            slot.done += n;
            // SAFETY: `done` is less than the buffer's size.
            let buffer = unsafe { self.arena.pointer(index).add(slot.done as usize) };
            let at = slot.io.offset + u64::from(slot.done);
            let rest = slot.entry.rest(buffer, at, self.source.bs - slot.done);
            // SAFETY: as for the whole I/O.
            if unsafe { queues.push(queued(&rest)) } {
                self.count += 1;
            }
            return false;
        }
        let errno = (result < 0).then_some(-result);
        ledger.failed(IoFailure { io: slot.io, errno });
        true
    }
}

// Both are the kernel's `struct io_uring_sqe` (include/uapi/linux/io_uring.h).
const _: () = assert!(
    size_of::<io_uring_sqe>() == size_of::<squeue::Entry>()
        && align_of::<io_uring_sqe>() == align_of::<squeue::Entry>()
);

/// A slot's entry as the queue takes it.
#[inline]
const fn queued(entry: &Entry) -> &squeue::Entry {
    // SAFETY: both types are the kernel's struct, laid out as in C; every value of the one is a value of the other.
    unsafe { &*(&raw const entry.sqe).cast::<squeue::Entry>() }
}

/// The two rings shared with the kernel. Its side of them is looked at, and ours shown to it, once for each wait and not
/// for each I/O.
struct Queues<'a> {
    fd: BorrowedFd<'a>,
    submitter: Submitter<'a>,
    submissions: SubmissionQueue<'a>,
    completions: CompletionQueue<'a>,
    /// How many completions a wait is for: one; none where they are polled for. There the kernel looks once at the device
    /// each time it is entered, which costs a fraction of a microsecond. Told to wait it would look until something came,
    /// on a device that hangs for ever, deaf to the time and to a stop.
    wanted: u32,
}

impl<'a> Queues<'a> {
    fn of(ring: &'a mut IoUring, polled: bool) -> Self {
        // SAFETY: the ring is borrowed for as long, so it is not closed meanwhile.
        let fd = unsafe { BorrowedFd::borrow_raw(ring.as_raw_fd()) };
        let (submitter, submissions, completions) = ring.split();
        Self { fd, submitter, submissions, completions, wanted: u32::from(!polled) }
    }

    /// Queues an entry. What the kernel took is noted when the next entries are shown to it, so up to then those before them
    /// count as well. The queue has two places for every slot, the timer and a flush, and none of these is in it twice
    /// between two waits, so it is never full.
    ///
    /// # Safety
    /// What the entry names, memory and descriptor, must live until its completion is reaped.
    #[inline]
    unsafe fn push(&mut self, e: &squeue::Entry) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.submissions.push(e) }.is_ok()
    }

    #[cold]
    fn set_timer(&mut self) {
        let e = opcode::Timeout::new(&raw const WAKE).build().user_data(TIMER);
        // SAFETY: the kernel reads the time when the entry is submitted, and it is static anyway.
        let _ = unsafe { self.push(&e) };
    }

    /// Submits what is queued and waits for a completion, the timer's included.
    #[inline]
    fn submit_and_wait(&mut self) -> Result<(), DriveError> {
        // What was reaped is told first: the kernel takes completions that were not for new ones, and would not wait.
        self.completions.sync();
        let answer = self.enter(self.wanted, IoringEnterFlags::GETEVENTS);
        self.completions.sync();
        answer
    }

    /// Submits what is queued, without a look at the completions.
    #[inline]
    fn submit(&mut self) -> Result<(), DriveError> {
        self.enter(0, IoringEnterFlags::empty())
    }

    /// Hands over what is queued. The call by itself: the crate's own looks at the rings once more and goes through libc,
    /// which counts where few I/Os come with a call.
    #[inline]
    fn enter(&mut self, wanted: u32, flags: IoringEnterFlags) -> Result<(), DriveError> {
        self.submissions.sync();
        // No more than the ring's size, which is 32 bits wide.
        #[allow(clippy::cast_possible_truncation)]
        let queued = self.submissions.len() as u32;
        // SAFETY: what the entries name lives until they are reaped, as `push` was promised; nothing else is passed.
        match unsafe { io_uring_enter(self.fd, queued, wanted, flags) } {
            Ok(_) => Ok(()),
            Err(e) => passing(e.into()),
        }
    }

    /// Submits what is queued and waits for a completion, at most so long; if they are polled for, not at all.
    fn submit_and_wait_for(&mut self, time: Nanos) -> Result<(), DriveError> {
        if self.wanted == 0 {
            return self.submit_and_wait();
        }
        let time = types::Timespec::from(time.min(LONGEST_WAIT).duration());
        let args = types::SubmitArgs::new().timespec(&time);
        self.completions.sync();
        self.submissions.sync();
        let answer = self.submitter.submit_with_args(1, &args);
        self.completions.sync();
        answer.map(drop).or_else(passing)
    }

    /// The next completion, as name and result.
    #[inline]
    fn reap(&mut self) -> Option<(u64, i32)> {
        self.completions.next().map(|c| (c.user_data(), c.result()))
    }
}

/// What the kernel answered instead of waiting: a signal, a full completion queue, or time is up, which say to look at what
/// is there and to come again; or that the ring can not go on.
#[cold]
fn passing(error: io::Error) -> Result<(), DriveError> {
    match error.raw_os_error() {
        Some(libc::EINTR | libc::EBUSY | libc::EAGAIN | libc::ETIME) => Ok(()),
        _ => Err(DriveError::Ring(error)),
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.flight.count > 0 {
            // The device still owes answers and will write into the arena: ring, arena and descriptor stay for good.
            return;
        }
        // SAFETY: each is dropped once, here, and not used afterwards; the ring first, so that the kernel has let go of
        // the registered buffers before they are freed.
        unsafe {
            ManuallyDrop::drop(&mut self.ring);
            ManuallyDrop::drop(&mut self.flight);
        }
    }
}

#[cfg(test)]
mod tests;
