//! The loop of engines that have one I/O in flight: issue, wait, count.

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use rustix::time::Timespec;

use super::{DriveError, Feed, FlushCount, FlushFailure, Pace, Source, now};
use crate::units::Nanos;
use crate::workload::arrivals::Arrivals;
use crate::workload::io::Io;
use crate::workload::ledger::{IoFailure, Ledger};
use crate::workload::pattern::Pattern;

/// A pause is cut into pieces of this length, to see the time and a stop.
const NAP: Nanos = Nanos(20_000_000);

/// What such an engine does for one I/O.
pub trait Transfer {
    /// Moves one block.
    ///
    /// # Errors
    /// The errno; None where the target ended before the block did.
    fn transfer(&mut self, io: Io) -> Result<(), Option<i32>>;

    /// Makes what was written safe, as the source says.
    ///
    /// # Errors
    /// The kernel's refusal: what was written may be lost.
    fn flush(&mut self) -> Result<(), FlushFailure>;

    /// What it moves data to and from.
    fn source(&self) -> &Source;
}

/// Issues one I/O after the other until the ledger says that it is over. Answers when the last was done.
///
/// In a closed loop each I/O costs one clock read: an I/O's start is the instant at which the one before was done, so its
/// latency contains the few nanoseconds of bookkeeping between them.
///
/// # Errors
/// A flush that failed.
pub fn drive<T: Transfer>(engine: &mut T, feed: &mut Feed, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
    let mut last = match &mut feed.pace {
        Pace::Closed => closed(engine, &mut feed.pattern, ledger)?,
        Pace::Think(pause) => thinking(engine, &mut feed.pattern, *pause, ledger)?,
        Pace::Open(arrivals) => open(engine, &mut feed.pattern, arrivals, ledger)?,
    };
    if engine.source().end_fsync {
        last = flush(engine, ledger, last)?;
    }
    Ok(last)
}

fn closed<T: Transfer>(
    engine: &mut T,
    pattern: &mut Pattern,
    ledger: &mut Ledger,
) -> Result<Nanos, DriveError> {
    let bytes = u64::from(engine.source().bs);
    let mut flushes = FlushCount::new(engine.source().flush);
    let mut start = begin(ledger);
    while ledger.may_issue() {
        let io = pattern.next_io();
        ledger.issued();
        let result = engine.transfer(io);
        let end = now();
        ledger.tick(end, 1);
        match result {
            Ok(()) => ledger.done(io.direction, end.since(start).0, bytes),
            Err(errno) => ledger.failed(IoFailure { io, errno }),
        }
        start = end;
        if flushes.due(io.direction) {
            start = flush(engine, ledger, start)?;
        }
    }
    Ok(start)
}

fn thinking<T: Transfer>(
    engine: &mut T,
    pattern: &mut Pattern,
    pause: Nanos,
    ledger: &mut Ledger,
) -> Result<Nanos, DriveError> {
    let bytes = u64::from(engine.source().bs);
    let mut flushes = FlushCount::new(engine.source().flush);
    let mut last = begin(ledger);
    while ledger.may_issue() {
        let io = pattern.next_io();
        ledger.issued();
        let start = now();
        let result = engine.transfer(io);
        last = now();
        ledger.tick(last, 1);
        match result {
            Ok(()) => ledger.done(io.direction, last.since(start).0, bytes),
            Err(errno) => ledger.failed(IoFailure { io, errno }),
        }
        if flushes.due(io.direction) {
            last = flush(engine, ledger, last)?;
        }
        sleep_until(Nanos(last.0.saturating_add(pause.0)), ledger);
    }
    Ok(last)
}

fn open<T: Transfer>(
    engine: &mut T,
    pattern: &mut Pattern,
    arrivals: &mut Arrivals,
    ledger: &mut Ledger,
) -> Result<Nanos, DriveError> {
    let bytes = u64::from(engine.source().bs);
    let mut flushes = FlushCount::new(engine.source().flush);
    let mut last = begin(ledger);
    arrivals.begin(last);
    while ledger.may_issue() && arrivals.due() < ledger.ends() {
        let due = arrivals.due();
        if due > last && !sleep_until(due, ledger) {
            break;
        }
        arrivals.take();
        let io = pattern.next_io();
        ledger.issued();
        let start = now();
        let result = engine.transfer(io);
        last = now();
        ledger.tick(last, 1);
        match result {
            Ok(()) => {
                let waited = start.since(due).0;
                ledger.done_open(io.direction, waited, last.since(start).0, bytes);
            }
            Err(errno) => ledger.failed(IoFailure { io, errno }),
        }
        if flushes.due(io.direction) {
            last = flush(engine, ledger, last)?;
        }
    }
    ledger.not_started(arrivals);
    Ok(last)
}

/// Waits for the job's turn, and opens the books.
pub(super) fn begin(ledger: &mut Ledger) -> Nanos {
    let start = now();
    ledger.begin(start);
    let starts = ledger.starts();
    if start < starts {
        sleep_until(starts, ledger);
        return now();
    }
    start
}

/// Sleeps until an instant. False if nothing may be issued any more.
pub(super) fn sleep_until(until: Nanos, ledger: &mut Ledger) -> bool {
    let mut at = now();
    while at < until && ledger.may_issue() {
        let wake = Nanos(at.0 + NAP.0).min(until);
        // Both are below 584 years.
        let time = Timespec {
            tv_sec: (wake.0 / 1_000_000_000).cast_signed(),
            tv_nsec: (wake.0 % 1_000_000_000).cast_signed(),
        };
        // A signal wakes it early, which the loop sees.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &time);
        at = now();
        ledger.tick(at, 0);
    }
    ledger.may_issue()
}

#[cold]
fn flush<T: Transfer>(engine: &mut T, ledger: &mut Ledger, start: Nanos) -> Result<Nanos, DriveError> {
    engine.flush()?;
    let end = now();
    ledger.flushed(end.since(start).0);
    ledger.tick(end, 0);
    Ok(end)
}
