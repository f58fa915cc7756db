//! A worker's books: what may still be issued, what was completed, when figures are handed to the collector.
//!
//! Everything here that runs for an I/O is a few additions. What happens rarely (a phase ends, a tenth of a second is
//! over, an I/O failed) is in functions of its own, marked cold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, TrySendError};

use super::arrivals::Arrivals;
use super::figures::Figures;
use super::io::{Direction, Io};
use crate::sys::syscall::{ThreadCpu, thread_cpu};
use crate::units::Nanos;

/// How often a worker hands its figures over.
pub const HAND_OVER: Nanos = Nanos(100_000_000);
/// A worker gives up after more failures than this.
pub const MOST_ERRORS: u64 = 100;
/// And after this many, if nothing else happened.
pub const MOST_ERRORS_AT_START: u64 = 10;
/// How long I/O in flight is waited for once nothing is issued any more, counted from the last completion.
pub const PATIENCE: Nanos = Nanos(30_000_000_000);
/// The same after the run was stopped by hand.
pub const PATIENCE_STOPPED: Nanos = Nanos(5_000_000_000);

/// An I/O that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoFailure {
    /// The I/O.
    pub io: Io,
    /// The kernel's answer; None where the target ended before the block did.
    pub errno: Option<i32>,
}

impl std::fmt::Display for IoFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let doing = match self.io.direction {
            Direction::Read => "reading",
            Direction::Write => "writing",
        };
        write!(f, "{doing} at offset {}: ", self.io.offset)?;
        match self.errno {
            Some(e) => write!(f, "{}", std::io::Error::from_raw_os_error(e)),
            None => f.write_str("end of file; the target became shorter"),
        }
    }
}

/// What a worker tells the collector.
#[derive(Debug)]
pub enum Report {
    /// Buffers and engine are there; it waits for the start. Says what the engine could register, if it can.
    Ready(Option<&'static str>),
    /// It could not be set up.
    Unable(String),
    /// Figures since its last report.
    Figures {
        /// Which worker.
        worker: usize,
        /// Since when, `CLOCK_MONOTONIC`.
        from: Nanos,
        /// Until when.
        to: Nanos,
        /// The figures; the buffer goes back to the worker.
        figures: Box<Figures>,
    },
    /// Nothing is in flight any more and nothing will follow.
    Done {
        /// Which worker.
        worker: usize,
        /// How it ended.
        end: Box<WorkerEnd>,
    },
}

/// How a worker ended.
#[derive(Debug, Default)]
pub struct WorkerEnd {
    /// Figures not yet handed over.
    pub figures: Figures,
    /// Since when they were counted.
    pub handed: Nanos,
    /// When its measured window opened; None if it never did.
    pub opened: Option<Nanos>,
    /// When its last I/O was reaped.
    pub closed: Nanos,
    /// CPU time of its thread in the window.
    pub cpu: ThreadCpu,
    /// The first failure.
    pub failure: Option<IoFailure>,
    /// It ended because too much failed.
    pub gave_up: bool,
    /// It was stopped before its time.
    pub stopped: bool,
    /// The engine itself failed, in words.
    pub engine_error: Option<String>,
}

/// The times and limits of a run, the same for all workers but for the quota.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// When measuring starts, `CLOCK_MONOTONIC`.
    pub opens: Nanos,
    /// When this worker issues its first I/O, if that is later than at once.
    pub starts: Nanos,
    /// When nothing is issued any more.
    pub ends: Nanos,
    /// I/Os this worker may count; `u64::MAX` for no limit.
    pub quota: u64,
    /// How long I/O in flight is waited for after `ends`, counted from the last completion; at most
    /// [`PATIENCE_STOPPED`] once the run was stopped.
    pub patience: Nanos,
}

/// A worker's books.
#[derive(Debug)]
pub struct Ledger {
    /// I/Os that may still be issued; 0 when it is over.
    left: u64,
    /// Completions not to be counted: all during the ramp.
    skip: u64,
    /// The next instant at which something is due.
    due: u64,
    halt: Arc<AtomicBool>,
    figures: Box<Figures>,
    plan: Plan,
    handed: Nanos,
    /// When figures are to be handed over next: at tenths of a second since the window opened, however late the last
    /// time was, so that each is of one step of the series.
    next: Nanos,
    opened: Option<(Nanos, ThreadCpu)>,
    counted: u64,
    errors: u64,
    failure: Option<IoFailure>,
    gave_up: bool,
    stopped: bool,
    worker: usize,
    spare: Option<Box<Figures>>,
    spares: Receiver<Box<Figures>>,
    reports: Sender<Report>,
}

impl Ledger {
    /// Opens the books. `spares` brings emptied buffers back.
    #[must_use]
    pub fn new(
        worker: usize,
        plan: Plan,
        halt: Arc<AtomicBool>,
        reports: Sender<Report>,
        spares: Receiver<Box<Figures>>,
        figures: Box<Figures>,
    ) -> Self {
        Self {
            left: u64::MAX,
            skip: u64::MAX,
            due: 0,
            halt,
            figures,
            plan,
            handed: plan.opens,
            next: plan.opens,
            opened: None,
            counted: 0,
            errors: 0,
            failure: None,
            gave_up: false,
            stopped: false,
            worker,
            spare: None,
            spares,
            reports,
        }
    }

    /// Called once, before the first I/O, with the time.
    pub fn begin(&mut self, now: Nanos) {
        self.tick(now, 0);
    }

    /// Whether another I/O may be issued.
    #[inline]
    #[must_use]
    pub const fn may_issue(&self) -> bool {
        self.left > 0
    }

    /// An I/O was issued.
    #[inline]
    pub const fn issued(&mut self) {
        self.left -= 1;
    }

    /// Time went on: called after every wait, with what is in flight, before the completions of that wait are told.
    #[inline]
    pub fn tick(&mut self, now: Nanos, in_flight: u64) {
        if now.0 >= self.due || self.halt.load(Ordering::Relaxed) {
            self.event(now, in_flight);
        }
    }

    /// An I/O completed whole, `ns` after it was issued.
    #[inline]
    pub fn done(&mut self, direction: Direction, ns: u64, bytes: u64) {
        if self.skip == 0 {
            let side = self.figures.side_mut(direction);
            side.clat.record(ns);
            side.bytes += bytes;
        } else {
            self.skip -= 1;
        }
    }

    /// An I/O of an open loop completed whole: it was due, was issued `waited` ns later, and answered `ns` after that.
    #[inline]
    pub fn done_open(&mut self, direction: Direction, waited: u64, ns: u64, bytes: u64) {
        if self.skip == 0
            && let Some(waits) = self.figures.waits_mut(direction)
        {
            waits.slat.record(waited);
            waits.lat.record(waited + ns);
        }
        self.done(direction, ns, bytes);
    }

    /// An `fsync` or `fdatasync` took this long. It is no I/O of the job and takes nothing from its quota.
    #[inline]
    pub fn flushed(&mut self, ns: u64) {
        if self.opened.is_some() {
            self.figures.flush.record(ns);
        }
    }

    /// What was due in the window and never started; of an open loop, at its end.
    pub fn not_started(&mut self, arrivals: &Arrivals) {
        // A quota or a stop ends it early, and what came later was not asked for.
        if !self.stopped && !self.gave_up && self.plan.quota == u64::MAX && self.opened.is_some() {
            self.figures.not_started += arrivals.clone().outstanding(self.plan.ends);
        }
    }

    /// When the first I/O may be issued.
    #[must_use]
    pub const fn starts(&self) -> Nanos {
        self.plan.starts
    }

    /// When nothing more is issued.
    #[must_use]
    pub const fn ends(&self) -> Nanos {
        self.plan.ends
    }

    /// An I/O failed.
    #[cold]
    pub fn failed(&mut self, failure: IoFailure) {
        self.failure.get_or_insert(failure);
        self.errors += 1;
        if self.skip == 0 {
            self.figures.side_mut(failure.io.direction).errors += 1;
        } else {
            self.skip -= 1;
        }
        let nothing_else = self.counted == 0 && self.figures.ios() == 0 && self.opened.is_some();
        // A full medium does not become empty by waiting.
        let full = matches!(failure.errno, Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG));
        if full || self.errors > MOST_ERRORS || (self.errors >= MOST_ERRORS_AT_START && nothing_else) {
            self.give_up();
        }
    }

    /// The engine can not go on, or too much failed: nothing more is issued, here or by the other workers.
    #[cold]
    pub fn give_up(&mut self) {
        self.gave_up = true;
        self.left = 0;
        self.halt.store(true, Ordering::Relaxed);
    }

    /// How long a silent device is waited for once nothing is issued any more.
    #[must_use]
    pub fn patience(&self) -> Nanos {
        if self.halt.load(Ordering::Relaxed) {
            self.plan.patience.min(PATIENCE_STOPPED)
        } else {
            self.plan.patience
        }
    }

    #[cold]
    fn event(&mut self, now: Nanos, in_flight: u64) {
        if self.left > 0 && self.halt.load(Ordering::Relaxed) {
            self.left = 0;
            self.stopped = true;
        }
        if self.opened.is_none() && now >= self.plan.opens {
            self.opened = Some((now, thread_cpu()));
            self.handed = now;
            self.next = self.tenth_after(now);
            // What was issued before counts when it comes back inside: the kernel's counters do the same. The quota
            // has to cover it.
            self.skip = in_flight.saturating_sub(self.plan.quota);
            if self.left > 0 {
                self.left = self.plan.quota.saturating_sub(in_flight);
            }
        }
        if now >= self.plan.ends {
            self.left = 0;
        }
        if self.opened.is_some() && now >= self.next {
            self.hand_over(now);
        }
        self.due = match self.opened {
            None => self.plan.opens.0,
            Some(_) if self.left > 0 => self.plan.ends.0.min(self.next.0),
            Some(_) => self.next.0,
        };
    }

    /// The first end of a step after `now`.
    const fn tenth_after(&self, now: Nanos) -> Nanos {
        let past = now.0.saturating_sub(self.plan.opens.0) % HAND_OVER.0;
        Nanos(now.0 + HAND_OVER.0 - past)
    }

    /// Swaps an empty buffer in and sends the full one; if there is none, or the collector is behind, it goes on adding.
    fn hand_over(&mut self, now: Nanos) {
        let from = std::mem::replace(&mut self.handed, now);
        self.next = self.tenth_after(now);
        let Some(mut full) = self.spare.take().or_else(|| self.spares.try_recv().ok()) else {
            return;
        };
        std::mem::swap(&mut full, &mut self.figures);
        self.counted += full.ios();
        let report = Report::Figures { worker: self.worker, from, to: now, figures: full };
        if let Err(TrySendError::Full(r) | TrySendError::Disconnected(r)) = self.reports.try_send(report)
            && let Report::Figures { mut figures, .. } = r
        {
            self.counted -= figures.ios();
            std::mem::swap(&mut figures, &mut self.figures);
            self.spare = Some(figures);
        }
    }

    /// Closes the books, with the time the last I/O was reaped.
    #[must_use]
    pub fn close(self, closed: Nanos, engine_error: Option<String>) -> WorkerEnd {
        let cpu = self.opened.map_or(ThreadCpu::default(), |(_, at_start)| thread_cpu().since(at_start));
        WorkerEnd {
            figures: *self.figures,
            handed: self.handed,
            opened: self.opened.map(|(at, _)| at),
            closed,
            cpu,
            failure: self.failure,
            gave_up: self.gave_up,
            stopped: self.stopped,
            engine_error,
        }
    }
}

/// A ledger for tests of the engines: open from the start, until `ends`, for `quota` I/Os.
#[cfg(test)]
pub(super) fn alone(
    ends: Nanos,
    quota: u64,
    patience: Nanos,
) -> (Ledger, Receiver<Report>, Sender<Box<Figures>>, Arc<AtomicBool>) {
    let (reports_tx, reports) = crossbeam_channel::bounded(4);
    let (spares, spares_rx) = crossbeam_channel::bounded(1);
    let halt = Arc::new(AtomicBool::new(false));
    let plan = Plan { opens: Nanos(0), starts: Nanos(0), ends, quota, patience };
    (
        Ledger::new(0, plan, halt.clone(), reports_tx, spares_rx, Box::new(Figures::new(true))),
        reports,
        spares,
        halt,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::bounded;

    const fn read_at(offset: u64) -> Io {
        Io { offset, direction: Direction::Read }
    }

    fn ledger(ramp: bool, quota: u64) -> (Ledger, Receiver<Report>, Sender<Box<Figures>>, Arc<AtomicBool>) {
        let (reports_tx, reports) = bounded(4);
        let (spares, spares_rx) = bounded(1);
        spares.send(Box::default()).unwrap();
        let halt = Arc::new(AtomicBool::new(false));
        let plan = Plan {
            opens: Nanos(if ramp { 1000 } else { 0 }),
            starts: Nanos(0),
            ends: Nanos::SECOND,
            quota,
            patience: PATIENCE,
        };
        let mut l = Ledger::new(0, plan, halt.clone(), reports_tx, spares_rx, Box::default());
        l.begin(Nanos(10));
        (l, reports, spares, halt)
    }

    #[test]
    fn a_quota_is_counted_exactly_with_a_ramp_before_it() {
        for (quota, depth) in [(10u64, 4u64), (3, 8), (8, 8)] {
            let (mut l, ..) = ledger(true, quota);
            let mut in_flight = 0;
            let mut now = 10;
            while l.may_issue() || in_flight > 0 {
                while l.may_issue() && in_flight < depth {
                    l.issued();
                    in_flight += 1;
                }
                now += 300;
                l.tick(Nanos(now), in_flight);
                l.done(Direction::Read, 300, 1);
                in_flight -= 1;
            }
            let end = l.close(Nanos(now), None);
            assert_eq!(
                (end.figures.ios(), end.figures.bytes()),
                (quota, quota),
                "quota {quota} depth {depth}"
            );
            assert!(!end.stopped);
        }
    }

    #[test]
    fn the_ramp_counts_nothing_and_the_end_stops_issuing() {
        let (mut l, ..) = ledger(true, u64::MAX);
        l.tick(Nanos(500), 1);
        l.done(Direction::Read, 100, 4096);
        l.tick(Nanos(1000), 1);
        l.done(Direction::Read, 200, 4096);
        assert!(l.may_issue());
        l.tick(Nanos::SECOND, 1);
        assert!(!l.may_issue());
        l.done(Direction::Read, 300, 4096);
        let end = l.close(Nanos::SECOND, None);
        assert_eq!((end.figures.ios(), end.figures.bytes(), end.opened), (2, 8192, Some(Nanos(1000))));
    }

    #[test]
    fn figures_change_hands_without_loss_even_if_nobody_takes_them() {
        let (mut l, reports, spares, _halt) = ledger(false, u64::MAX);
        let mut got = 0;
        for tenth in 1..=8u64 {
            l.done(Direction::Read, 50, 1);
            l.tick(Nanos(10 + tenth * HAND_OVER.0), 0);
            // The collector sleeps through the first half.
            if tenth > 4 {
                while let Ok(Report::Figures { mut figures, .. }) = reports.try_recv() {
                    got += figures.ios();
                    figures.clear();
                    spares.send(figures).unwrap();
                }
            }
        }
        assert!(got > 0, "nothing was handed over");
        assert_eq!(got + l.close(Nanos::SECOND, None).figures.ios(), 8);
    }

    #[test]
    fn each_step_of_the_series_has_what_was_answered_in_it() {
        // An I/O every 7 ms, which no tenth of a second is a multiple of.
        let (mut l, reports, spares, _halt) = ledger(false, u64::MAX);
        let mut series = super::super::series::Series::default();
        let mut now = Nanos(0);
        while now < Nanos(3 * Nanos::SECOND.0) {
            now = Nanos(now.0 + 7_000_000);
            l.done(Direction::Read, 50, 1);
            l.tick(now, 0);
            while let Ok(Report::Figures { mut figures, from, to, .. }) = reports.try_recv() {
                series.add(from, to, &figures);
                figures.clear();
                spares.send(figures).unwrap();
            }
        }
        let ios: Vec<u64> = series.steps.iter().map(|s| s.read_ios).collect();
        assert!(ios.len() >= 29 && ios.iter().all(|n| (14..=15).contains(n)), "{ios:?}");
    }

    #[test]
    fn failures_at_the_start_end_it_early_and_stop_the_others() {
        let (mut l, _r, _s, halt) = ledger(false, u64::MAX);
        for i in 0..MOST_ERRORS_AT_START {
            assert!(l.may_issue(), "gave up after {i}");
            l.failed(IoFailure { io: read_at(i * 4096), errno: Some(libc::EIO) });
        }
        assert!(!l.may_issue() && halt.load(Ordering::Relaxed));
        let end = l.close(Nanos(20), None);
        assert_eq!(end.failure, Some(IoFailure { io: read_at(0), errno: Some(libc::EIO) }));
        assert!(end.gave_up && end.failure.unwrap().to_string().contains("offset 0: Input/output error"));
    }

    #[test]
    fn a_full_medium_ends_it_at_once() {
        let (mut l, ..) = ledger(false, u64::MAX);
        l.done(Direction::Write, 1, 1);
        l.failed(IoFailure { io: read_at(4096), errno: Some(libc::ENOSPC) });
        assert!(!l.may_issue() && l.close(Nanos(20), None).gave_up);
    }

    #[test]
    fn a_hundred_failures_among_successes_are_borne() {
        let (mut l, ..) = ledger(false, u64::MAX);
        for i in 0..MOST_ERRORS {
            l.done(Direction::Read, 1, 1);
            l.failed(IoFailure { io: read_at(i), errno: None });
        }
        assert!(l.may_issue());
        l.failed(IoFailure { io: read_at(0), errno: None });
        assert!(!l.may_issue());
    }

    #[test]
    fn a_stop_is_seen_at_the_next_tick() {
        let (mut l, _r, _s, halt) = ledger(false, u64::MAX);
        halt.store(true, Ordering::Relaxed);
        l.tick(Nanos(11), 3);
        assert!(!l.may_issue() && l.close(Nanos(12), None).stopped);
    }
}
