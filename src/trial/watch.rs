//! A run beside other people's I/O ends by itself when they wait too long.
//!
//! The kernel counts waiting by device, not by process, so what others wait beside a run can be told exactly only in a
//! direction that the run itself does not use (its writes beside their reads). Otherwise it is taken from the mean of the
//! device, where a run at a high depth is most of what is counted: in one queue with it others wait as long; under a
//! scheduler that favours them they may wait less. What it can not see: time before the device's queue (a control group's
//! throttle, a file system's locks), one that waits very long beside many that do not, and others who gave up. The
//! host's I/O pressure is no help: the run's own workers are most of it.

use super::foreign::{Await, Foreign};
use crate::clock::{Clock, SystemClock};
use crate::sys::diskstats::{Counters, counters_of};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::{Nanos, latency};
use crate::workload::job::Job;

/// Others may wait this many times as long as before.
pub const TIMES: u64 = 10;
/// And always this long.
pub const ALWAYS: Nanos = Nanos(50_000_000);
/// For so many looks in a row, a second apart.
pub const IN_A_ROW: u32 = 3;
const APART: Nanos = Nanos::SECOND;

/// Looks at one device while a run goes on.
pub(super) struct Watch<'a> {
    root: &'a SysRoot,
    whole: &'a KernelName,
    judges: Vec<Judge>,
    last: Option<(Nanos, Counters)>,
    verdict: Option<String>,
}

impl<'a> Watch<'a> {
    /// None if nothing is known of how long others waited before.
    pub(super) fn new(root: &'a SysRoot, before: &'a Foreign, jobs: &[Job]) -> Option<Self> {
        let judges = Judge::all(&before.wait, jobs);
        (!judges.is_empty()).then_some(Self { root, whole: &before.name, judges, last: None, verdict: None })
    }

    /// To be called often; looks once a second.
    pub(super) fn look(&mut self) {
        let now = SystemClock.monotonic();
        if self.last.is_some_and(|(then, _)| now.since(then) < APART) {
            return;
        }
        let Some(counters) = counters_of(self.root, self.whole) else { return };
        if let Some((then, before)) = self.last {
            for judge in &mut self.judges {
                let Some(waited) = judge.waited(&before, &counters, now.since(then)) else { continue };
                if judge.takes(waited) {
                    self.verdict = Some(format!(
                        "{} on {} took {} on average for {IN_A_ROW} s and {} before the start: others wait too long beside this run (the limit is {})",
                        judge.what(),
                        self.whole,
                        latency(waited),
                        latency(judge.before),
                        latency(judge.limit),
                    ));
                }
            }
        }
        self.last = Some((now, counters));
    }

    /// Why the run has to end.
    pub(super) fn verdict(&self) -> Option<&str> {
        self.verdict.as_deref()
    }
}

/// Whose waiting is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// Reads, all of them others'.
    Read,
    /// Writes, all of them others'.
    Write,
    /// Both, the run's own among them.
    Both,
}

struct Judge {
    side: Side,
    before: Nanos,
    limit: Nanos,
    over: u32,
}

impl Judge {
    /// One for each direction that is others' alone, and one for the mean if they use a direction that the run uses, too.
    fn all(before: &Await, jobs: &[Job]) -> Vec<Self> {
        let (reads, writes) = (jobs.iter().any(Job::reads), jobs.iter().any(|j| j.rw.writes()));
        let shared = (reads && before.read.is_some()) || (writes && before.write.is_some());
        [
            (Side::Read, before.read.filter(|_| !reads)),
            (Side::Write, before.write.filter(|_| !writes)),
            (Side::Both, before.all.filter(|_| shared)),
        ]
        .into_iter()
        .filter_map(|(side, before)| {
            let before = before?;
            Some(Self { side, before, limit: Nanos(before.0.saturating_mul(TIMES)).max(ALWAYS), over: 0 })
        })
        .collect()
    }

    /// Mean time of what was completed between two looks. With something in flight and nothing completed, as long as
    /// they are apart; None if nothing was asked for.
    fn waited(&self, a: &Counters, b: &Counters, apart: Nanos) -> Option<Nanos> {
        let now = Await::between(a, b);
        let waited = match self.side {
            Side::Read => now.read,
            Side::Write => now.write,
            Side::Both => now.all,
        };
        // What is in flight may be the run's own.
        waited.or_else(|| (self.side == Side::Both && b.in_flight > 0).then_some(apart))
    }

    /// Takes one second's mean; true if the run has to end.
    fn takes(&mut self, waited: Nanos) -> bool {
        self.over = if waited > self.limit { self.over + 1 } else { 0 };
        self.over >= IN_A_ROW
    }

    const fn what(&self) -> &'static str {
        match self.side {
            Side::Read => "others' reads",
            Side::Write => "others' writes",
            Side::Both => "I/O",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    const MS: u64 = 1_000_000;

    fn judges(wait: &Await, preset: &str) -> Vec<Judge> {
        Judge::all(wait, &preset::find(preset).unwrap().jobs())
    }

    #[test]
    fn a_direction_that_the_run_leaves_alone_is_looked_at_by_itself() {
        let wait = Await { read: Some(Nanos(MS)), write: Some(Nanos(20 * MS)), all: Some(Nanos(6 * MS)) };
        let of = |wait: &Await, preset| {
            judges(wait, preset).iter().map(|j| (j.side, j.limit.0 / MS)).collect::<Vec<_>>()
        };
        assert_eq!(of(&wait, "randread-4k"), [(Side::Write, 200), (Side::Both, 60)]);
        assert_eq!(of(&wait, "randwrite-4k"), [(Side::Read, 50), (Side::Both, 60)]);
        assert_eq!(of(&wait, "randrw-4k-70"), [(Side::Both, 60)]);
        let only_reads = Await { write: None, all: wait.read, ..wait };
        assert_eq!(of(&only_reads, "randread-4k"), [(Side::Both, 50)]);
        assert_eq!(of(&only_reads, "randwrite-4k"), [(Side::Read, 50)]);
        assert_eq!(of(&Await::default(), "randread-4k"), []);
    }

    #[test]
    fn three_seconds_in_a_row_end_it() {
        let wait = Await { read: Some(Nanos(10 * MS)), write: None, all: Some(Nanos(10 * MS)) };
        let mut judge = judges(&wait, "randread-4k").remove(0);
        let ends: Vec<bool> =
            [101, 101, 99, 101, 101, 500].into_iter().map(|ms| judge.takes(Nanos(ms * MS))).collect();
        assert_eq!(ends, [false, false, false, false, false, true]);
    }

    #[test]
    fn what_never_completes_has_waited_all_the_time() {
        let wait = Await { read: Some(Nanos(MS)), write: None, all: Some(Nanos(MS)) };
        let reading = judges(&wait, "randread-4k").remove(0);
        let stuck = Counters { in_flight: 3, ..Counters::default() };
        let second = Nanos::SECOND;
        assert_eq!(reading.waited(&Counters::default(), &stuck, second), Some(second));
        assert_eq!(reading.waited(&stuck, &Counters::default(), second), None);
        let writing = judges(&wait, "randwrite-4k").remove(0);
        assert_eq!(writing.waited(&Counters::default(), &stuck, second), None, "its own writes may be those");
    }
}
