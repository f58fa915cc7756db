//! The loops of the ring: a closed one that replaces what was answered at once, and one whose I/Os have times of their own.

use std::collections::VecDeque;
use std::io;

use super::{BATCH, FLUSH, Flight, LONGEST_WAIT, Queues, TIMER, Uring};
use crate::units::Nanos;
use crate::workload::arrivals::Arrivals;
use crate::workload::engine::one_at_a_time::{begin, sleep_until};
use crate::workload::engine::{DriveError, Feed, FlushFailure, IoEngine, Pace, now};
use crate::workload::ledger::Ledger;
use crate::workload::pattern::Pattern;

impl Flight {
    /// Makes safe what was written, with nothing else in flight: then it covers every write that was answered before, and
    /// its time is its own.
    #[cold]
    fn flush(
        &mut self,
        queues: &mut Queues<'_>,
        ledger: &mut Ledger,
        start: Nanos,
    ) -> Result<Nanos, DriveError> {
        debug_assert_eq!(self.count, 0);
        let call = self.source.flush.call;
        self.push_flush(call, queues);
        let mut at = start;
        while self.count > 0 {
            queues.submit_and_wait_for(LONGEST_WAIT)?;
            at = now();
            ledger.tick(at, 0);
            while let Some((user_data, result)) = queues.reap() {
                match (user_data, result) {
                    // The timer of a closed loop goes off while nothing else happens.
                    (TIMER, result) if result == -libc::ETIME => queues.set_timer(),
                    (FLUSH, result) => {
                        self.count -= 1;
                        if result < 0 {
                            let error = io::Error::from_raw_os_error(-result);
                            return Err(FlushFailure { call: call.word(), error }.into());
                        }
                    }
                    _ => {}
                }
            }
            if self.count > 0 && !ledger.may_issue() && at.since(start) >= ledger.patience() {
                return Err(stuck(self.count, ledger));
            }
        }
        ledger.flushed(at.since(start).0);
        Ok(at)
    }

    /// A closed loop: what is answered is replaced at once.
    fn closed(
        &mut self,
        queues: &mut Queues<'_>,
        pattern: &mut Pattern,
        ledger: &mut Ledger,
        begun: Nanos,
    ) -> Result<Nanos, DriveError> {
        let mut at = begun;
        let mut last_answer = at;
        if !self.polled {
            queues.set_timer();
        }
        self.free.extend((0..self.slots.len()).rev());
        let mut flush_due = self.fill(queues, pattern, ledger, at);
        loop {
            if self.count == 0 {
                if !flush_due {
                    return Ok(at);
                }
                at = self.flush(queues, ledger, at)?;
                last_answer = at;
                flush_due = self.fill(queues, pattern, ledger, at);
                continue;
            }
            queues.submit_and_wait()?;
            at = now();
            ledger.tick(at, self.count);
            let mut any = false;
            // How many were issued since the last were handed over; the wait hands over what is left.
            let mut batch = 0;
            while let Some((index, result)) = queues.reap() {
                if index == TIMER {
                    // Set again only if it fired: a kernel that refuses it would refuse it without end.
                    if result == -libc::ETIME {
                        queues.set_timer();
                    }
                    continue;
                }
                any = true;
                // The kernel gives back the number it was given.
                #[allow(clippy::cast_possible_truncation)]
                let index = index as usize;
                if !self.completed(index, result, queues, ledger, at) {
                    continue;
                }
                if flush_due || !ledger.may_issue() {
                    self.free.push(index);
                    continue;
                }
                let direction = self.issue(index, queues, pattern, ledger, at);
                flush_due = self.flushes.due(direction);
                batch += 1;
                if batch == BATCH {
                    queues.submit()?;
                    batch = 0;
                }
            }
            if any || (ledger.may_issue() && !flush_due) {
                last_answer = at;
            } else if !ledger.may_issue() && at.since(last_answer) >= ledger.patience() {
                return Err(stuck(self.count, ledger));
            }
        }
    }

    /// Issues an I/O for each free slot, up to a flush, and tells whether one is due.
    #[cold]
    fn fill(
        &mut self,
        queues: &mut Queues<'_>,
        pattern: &mut Pattern,
        ledger: &mut Ledger,
        at: Nanos,
    ) -> bool {
        while ledger.may_issue()
            && let Some(index) = self.free.pop()
        {
            let direction = self.issue(index, queues, pattern, ledger, at);
            if self.flushes.due(direction) {
                return true;
            }
        }
        false
    }

    /// I/Os at times of their own: those of an open loop, or of a loop that thinks between an answer and what takes its
    /// place.
    fn paced(
        &mut self,
        queues: &mut Queues<'_>,
        pattern: &mut Pattern,
        times: &mut Times<'_>,
        ledger: &mut Ledger,
        begun: Nanos,
    ) -> Result<Nanos, DriveError> {
        let mut at = begun;
        let mut last_answer = at;
        let mut flush_due = false;
        self.free.extend((0..self.slots.len()).rev());
        loop {
            while !flush_due
                && ledger.may_issue()
                && let Some(due) = times.next().filter(|due| *due <= at && *due < ledger.ends())
                && let Some(index) = self.free.pop()
            {
                times.take();
                if times.open() {
                    self.slots[index].due = due.0;
                }
                let direction = self.issue(index, queues, pattern, ledger, at);
                flush_due = self.flushes.due(direction);
            }
            if self.count == 0 && flush_due {
                at = self.flush(queues, ledger, at)?;
                flush_due = false;
                last_answer = at;
                continue;
            }
            let more = ledger.may_issue() && times.next().is_some_and(|due| due < ledger.ends());
            if self.count == 0 && !more {
                return Ok(at);
            }
            // Until the next is due, if there is a slot for it; else until an answer.
            let wait = match times.next() {
                Some(due) if more && !flush_due && !self.free.is_empty() => due.since(at),
                _ => LONGEST_WAIT,
            };
            if self.polled && self.count == 0 {
                // Nothing to poll for.
                sleep_until(Nanos(at.0.saturating_add(wait.0)), ledger);
            } else {
                queues.submit_and_wait_for(wait)?;
            }
            at = now();
            ledger.tick(at, self.count);
            let mut any = false;
            while let Some((index, result)) = queues.reap() {
                any = true;
                #[allow(clippy::cast_possible_truncation)] // as above
                let index = index as usize;
                if self.completed(index, result, queues, ledger, at) {
                    self.free.push(index);
                    times.answered(at);
                }
            }
            if any || ledger.may_issue() {
                last_answer = at;
            } else if at.since(last_answer) >= ledger.patience() {
                return Err(stuck(self.count, ledger));
            }
        }
    }
}

impl IoEngine for Uring {
    fn registered(&self) -> Option<&'static str> {
        Some(match (self.flight.registered.buffers, self.flight.registered.file) {
            (true, true) => "registered buffers and file",
            (true, false) => "registered buffers",
            (false, true) => "registered file",
            (false, false) => "nothing registered",
        })
    }

    fn drive(&mut self, feed: &mut Feed, ledger: &mut Ledger) -> Result<Nanos, DriveError> {
        let begun = begin(ledger);
        let (queues, flight) = (&mut Queues::of(&mut self.ring, self.flight.polled), &mut *self.flight);
        let pattern = &mut feed.pattern;
        let mut last = match &mut feed.pace {
            Pace::Closed => flight.closed(queues, pattern, ledger, begun)?,
            Pace::Think(pause) => {
                let ready = VecDeque::from(vec![begun; flight.slots.len()]);
                flight.paced(queues, pattern, &mut Times::Think(*pause, ready), ledger, begun)?
            }
            Pace::Open(arrivals) => {
                arrivals.begin(begun);
                let last = flight.paced(queues, pattern, &mut Times::Open(arrivals), ledger, begun)?;
                ledger.not_started(arrivals);
                last
            }
        };
        if flight.source.end_fsync {
            last = flight.flush(queues, ledger, last)?;
        }
        Ok(last)
    }
}

/// When I/Os are due that are not issued as soon as there is room.
enum Times<'a> {
    Open(&'a mut Arrivals),
    /// The instants at which those that think will be done with it, in order; there is room for all.
    Think(Nanos, VecDeque<Nanos>),
}

impl Times<'_> {
    fn next(&self) -> Option<Nanos> {
        match self {
            Times::Open(arrivals) => Some(arrivals.due()),
            Times::Think(_, ready) => ready.front().copied(),
        }
    }

    fn take(&mut self) {
        match self {
            Times::Open(arrivals) => arrivals.take(),
            Times::Think(_, ready) => drop(ready.pop_front()),
        }
    }

    fn answered(&mut self, at: Nanos) {
        if let Times::Think(pause, ready) = self {
            ready.push_back(Nanos(at.0.saturating_add(pause.0)));
        }
    }

    const fn open(&self) -> bool {
        matches!(self, Times::Open(_))
    }
}

#[cold]
fn stuck(in_flight: u64, ledger: &Ledger) -> DriveError {
    DriveError::Stuck { in_flight, seconds: ledger.patience().0 / Nanos::SECOND.0 }
}
