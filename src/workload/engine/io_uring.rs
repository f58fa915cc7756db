//! io_uring: keeps `iodepth` I/Os in flight from one thread.
//!
//! The clock is read once for each batch of completions reaped together, not for each I/O. All of a batch get the
//! instant at which it was reaped as their end, and what is issued in their place gets it as its start. So a latency is
//! what a program sees that handles completions in batches: it includes the time a completion lay in the ring while
//! the batch before was handled (a few microseconds at most) and the submission call itself. With one I/O in flight a
//! batch is one I/O and nothing is blurred.
#![allow(unsafe_code)] // the kernel writes into memory while no borrow of it exists; see `Uring`

use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};

use super::{DriveError, IoEngine, Source, now};
use crate::units::Nanos;
use crate::workload::buffer::Arena;
use crate::workload::ledger::{IoFailure, Ledger};
use crate::workload::pattern::Pattern;

/// A wait ends after this long even if nothing completed, to see the time and a stop. It is a timer in the ring that is
/// set anew when it fires: a time limit on every single wait costs some percent of the I/Os.
static WAKE: types::Timespec = types::Timespec::new().nsec(20_000_000);
/// What the timer is called; slots are called by their index.
const TIMER: u64 = u64::MAX;

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
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    offset: u64,
    start: u64,
    /// Bytes that came before a short read was continued.
    done: u32,
}

/// The engine.
///
/// The kernel writes into the arena between submission and completion of an I/O. Therefore no slice of it is ever made
/// here while anything is in flight, and `Drop` leaks arena, ring and descriptor if anything still is: memory that is never freed can be
/// written to by a late device without harm.
pub struct Uring {
    ring: ManuallyDrop<IoUring>,
    arena: ManuallyDrop<Arena>,
    source: ManuallyDrop<Source>,
    slots: Vec<Slot>,
    in_flight: u64,
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
        // One more than the I/Os, for the timer.
        let ring = setup.build(depth + 1)?;
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
            source: ManuallyDrop::new(source),
            slots: vec![Slot::default(); count],
            in_flight: 0,
            fixed_file,
            fixed_buffers,
        })
    }

    #[inline]
    fn entry(&self, index: usize) -> squeue::Entry {
        let slot = self.slots[index];
        // SAFETY: `done` is less than the buffer's size while an I/O is to be continued, and 0 otherwise.
        let buffer = unsafe { self.arena.pointer(index).add(slot.done as usize) };
        let (len, at) = (self.source.bs - slot.done, slot.offset + u64::from(slot.done));
        let fd = types::Fd(self.source.fd.as_raw_fd());
        let file = types::Fixed(0);
        // More buffers than an index can tell are never registered.
        #[allow(clippy::cast_possible_truncation)]
        let nr = index as u16;
        let e = match (self.fixed_buffers, self.fixed_file) {
            (true, true) => opcode::ReadFixed::new(file, buffer, len, nr).offset(at).build(),
            (true, false) => opcode::ReadFixed::new(fd, buffer, len, nr).offset(at).build(),
            (false, true) => opcode::Read::new(file, buffer, len).offset(at).build(),
            (false, false) => opcode::Read::new(fd, buffer, len).offset(at).build(),
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

    #[inline]
    fn issue(&mut self, index: usize, pattern: &mut Pattern, ledger: &mut Ledger, at: Nanos) {
        ledger.issued();
        self.slots[index] = Slot { offset: pattern.next_offset(), start: at.0, done: 0 };
        self.push(index);
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
        match self.ring.submitter().submit_and_wait(1) {
            Ok(_) => Ok(()),
            // A signal, or a full completion queue: look at what is there and come again.
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => Ok(()),
            Err(e) => Err(DriveError::Ring(e)),
        }
    }

    /// One completion: counted, continued or failed. True if the slot is free again.
    #[inline]
    fn completed(&mut self, index: usize, result: i32, ledger: &mut Ledger, at: Nanos) -> bool {
        self.in_flight -= 1;
        let slot = self.slots[index];
        if let Ok(n) = u32::try_from(result)
            && slot.done + n == self.source.bs
        {
            ledger.done(at.0.saturating_sub(slot.start), u64::from(self.source.bs));
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
        ledger.failed(IoFailure { offset: slot.offset, errno });
        true
    }
}

impl IoEngine for Uring {
    fn registered(&self) -> Option<&'static str> {
        Some(match (self.fixed_buffers, self.fixed_file) {
            (true, true) => "registered buffers and file",
            (true, false) => "registered buffers",
            (false, true) => "registered file",
            (false, false) => "nothing registered",
        })
    }

    fn drive(&mut self, pattern: &mut Pattern, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        let mut at = now();
        let mut last_answer = at;
        ledger.begin(at);
        self.set_timer();
        for index in 0..self.slots.len() {
            if ledger.may_issue() {
                self.issue(index, pattern, ledger, at);
            }
        }
        while self.in_flight > 0 {
            self.submit_and_wait()?;
            at = now();
            ledger.tick(at, self.in_flight);
            let mut any = false;
            loop {
                let Some((index, result)) =
                    self.ring.completion().next().map(|c| (c.user_data(), c.result()))
                else {
                    break;
                };
                if index == TIMER {
                    // Set again only if it fired: a kernel that refuses it would refuse it without end.
                    if result == -libc::ETIME {
                        self.set_timer();
                    }
                    continue;
                }
                any = true;
                // The kernel gives back the number it was given.
                #[allow(clippy::cast_possible_truncation)]
                let index = index as usize;
                if self.completed(index, result, ledger, at) && ledger.may_issue() {
                    self.issue(index, pattern, ledger, at);
                }
            }
            if any || ledger.may_issue() {
                last_answer = at;
            } else if at.since(last_answer) >= ledger.patience() {
                let seconds = ledger.patience().0 / Nanos::SECOND.0;
                return Err(DriveError::Stuck { in_flight: self.in_flight, seconds });
            }
        }
        Ok(at)
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
mod tests {
    use super::*;
    use crate::workload::engine::testing::{Content, block_at, content_file};
    use crate::workload::ledger::{PATIENCE, WorkerEnd, alone};
    use crate::workload::pattern::Region;
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    /// Every setup this kernel takes; empty, and said so, where there is no io_uring.
    fn setups() -> Vec<Setup> {
        match probe() {
            Ok(_) => [Setup::Deferred, Setup::Cooperative, Setup::Plain]
                .into_iter()
                .filter(|s| s.build(2).is_ok())
                .collect(),
            Err(e) => {
                eprintln!("not run: io_uring is not available ({e})");
                Vec::new()
            }
        }
    }

    fn drive(
        file: &Content,
        depth: u32,
        quota: u64,
        change: impl Fn(&mut Uring),
        setup: Setup,
    ) -> (Uring, WorkerEnd) {
        let region = Region { offset: 0, blocks: file.blocks, bs: 4096 };
        let mut engine = Uring::new(file.source(), depth, setup).unwrap();
        change(&mut engine);
        let mut pattern = Pattern::random(region, 3, 0);
        let (mut ledger, ..) = alone(Nanos(u64::MAX), quota, PATIENCE);
        let closed = engine.drive(&mut pattern, &mut ledger).unwrap();
        (engine, ledger.close(closed, None))
    }

    #[test]
    fn what_is_read_is_what_is_at_the_offset_however_it_is_set_up() {
        let file = content_file(256);
        for setup in setups() {
            for (buffers, registered) in [(true, true), (true, false), (false, true), (false, false)] {
                for (depth, quota) in [(1, 1), (8, 8), (32, 100)] {
                    let change = |e: &mut Uring| {
                        e.fixed_buffers &= buffers;
                        e.fixed_file &= registered;
                    };
                    let (mut engine, end) = drive(&file, depth, quota, change, setup);
                    assert_eq!((end.figures.clat.count(), end.figures.bytes), (quota, quota * 4096));
                    assert_eq!((engine.in_flight, end.failure), (0, None));
                    for i in 0..usize::try_from(depth).unwrap() {
                        let offset = engine.slots[i].offset;
                        assert_eq!(
                            engine.arena.slice_mut(i),
                            block_at(offset),
                            "{setup:?} depth {depth} slot {i}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn both_engines_ask_for_the_same_blocks() {
        let file = content_file(256);
        for setup in setups() {
            let (engine, _) = drive(&file, 16, 16, |_| {}, setup);
            let mut pattern = Pattern::random(Region { offset: 0, blocks: file.blocks, bs: 4096 }, 3, 0);
            let want: Vec<u64> = (0..16).map(|_| pattern.next_offset()).collect();
            assert_eq!(engine.slots.iter().map(|s| s.offset).collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn a_block_that_ends_early_is_the_end_of_the_file() {
        let file = content_file(1);
        file.cut(1904);
        for setup in setups() {
            let (_, end) = drive(&file, 2, 3, |_| {}, setup);
            assert_eq!(end.failure, Some(IoFailure { offset: 0, errno: None }));
            assert_eq!((end.figures.errors, end.figures.clat.count()), (3, 0));
        }
    }

    /// An empty pipe answers no read: a device that hangs.
    fn hanging(setup: Setup) -> (Uring, std::io::PipeWriter) {
        let (reader, writer) = std::io::pipe().unwrap();
        (Uring::new(Source { fd: reader.into(), bs: 4096, step: 1 }, 4, setup).unwrap(), writer)
    }

    #[test]
    fn a_device_that_hangs_is_given_up_and_its_memory_kept() {
        use std::io::Write;
        for setup in setups() {
            let (mut engine, mut writer) = hanging(setup);
            let soon = Nanos(now().0 + 50_000_000);
            let (mut ledger, ..) = alone(soon, u64::MAX, Nanos(100_000_000));
            let mut pattern = Pattern::sequential(Region { offset: 0, blocks: 1, bs: 4096 }, 0, 1);
            let began = Instant::now();
            let e = engine.drive(&mut pattern, &mut ledger).unwrap_err();
            assert!(matches!(e, DriveError::Stuck { in_flight: 4, .. }), "{e}");
            assert!(began.elapsed() < Duration::from_secs(20));
            drop(engine);
            // A late answer lands in memory that nobody else was given.
            writer.write_all(&[1; 16_384]).unwrap();
        }
    }

    #[test]
    fn a_stop_is_seen_while_the_device_hangs() {
        for setup in setups() {
            let (mut engine, _writer) = hanging(setup);
            let (mut ledger, reports, spares, halt) = alone(Nanos(u64::MAX), u64::MAX, Nanos(50_000_000));
            let mut pattern = Pattern::sequential(Region { offset: 0, blocks: 1, bs: 4096 }, 0, 1);
            spares.send(Box::default()).unwrap();
            // The first report proves that the thread wakes up although nothing completes.
            let stopper = std::thread::spawn(move || {
                let report = reports.recv_timeout(Duration::from_secs(20));
                halt.store(true, Ordering::Relaxed);
                report.is_ok()
            });
            assert!(matches!(engine.drive(&mut pattern, &mut ledger), Err(DriveError::Stuck { .. })));
            assert!(stopper.join().unwrap(), "nothing was reported while the device hung");
        }
    }
}
