//! Listens to the workers of a run until the last is done: adds up their figures, tells how far they are, stops them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::figures::{Figures, Side};
use super::histogram::Histogram;
use super::io::Direction;
use super::job::Job;
use super::ledger::{PATIENCE, PATIENCE_STOPPED, Plan, Report, WorkerEnd};
use super::live::{JobProgress, Phase, Progress, SideProgress};
use super::outcome::RunError;
use super::run::Observer;
use super::series::Series;
use super::worker::WorkerHandle;
use crate::clock::{Clock, SystemClock};
use crate::units::{Bytes, Nanos};

/// How often progress is told.
const TELL: Nanos = Nanos(100_000_000);
/// The collector looks at the time and at a stop at least this often.
const LOOK: Duration = Duration::from_millis(50);
/// A worker that has not reported for this long is taken to move nothing.
const SILENT: Nanos = Nanos(350_000_000);
/// Given to threads beyond the engine's own patience before they are left behind.
const GRACE: Nanos = Nanos(2_000_000_000);

/// What was counted of one job.
#[derive(Debug)]
pub(super) struct Counted {
    /// The job's name.
    pub(super) name: String,
    /// Of all its workers.
    pub(super) figures: Figures,
    /// The same over time.
    pub(super) series: Series,
    /// Bytes each worker moved.
    pub(super) worker_bytes: Vec<u64>,
    /// When its first I/O was to be issued.
    pub(super) starts: Nanos,
}

/// Everything that was counted.
#[derive(Debug)]
pub(super) struct Collected {
    /// By job.
    pub(super) jobs: Vec<Counted>,
    /// When the window opened.
    pub(super) opens: Nanos,
    /// How each worker ended.
    pub(super) ends_of: Vec<WorkerEnd>,
}

/// What the last report of a worker said of its pace, by direction.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    at: Nanos,
    iops: [f64; 2],
    bytes_per_s: [f64; 2],
}

pub(super) struct Collector<'a> {
    workers: Vec<Option<WorkerHandle>>,
    inbox: Receiver<Report>,
    halt: Arc<AtomicBool>,
    observer: &'a mut dyn Observer,
    opens: Nanos,
    ends: Nanos,
    began: Nanos,
    counted_end: bool,
    opened: bool,
    stopped: Option<Nanos>,
    told: Nanos,
    jobs: Vec<Counted>,
    /// The job of each worker, and its place in it.
    places: Vec<(usize, usize)>,
    paces: Vec<Pace>,
    /// Completion latencies of all jobs.
    latencies: Histogram,
    /// The latencies that all jobs are judged by.
    judged: Histogram,
    ends_of: Vec<WorkerEnd>,
}

impl<'a> Collector<'a> {
    /// Opens the window if there is no ramp, and gives the start.
    pub(super) fn start(
        jobs: &[Job],
        workers: Vec<WorkerHandle>,
        inbox: Receiver<Report>,
        halt: Arc<AtomicBool>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let (ramp, runtime) = jobs.first().map_or_else(Default::default, |j| (j.ramp, j.runtime));
        let opened = ramp.is_zero();
        if opened {
            observer.window_opens();
        }
        let began = SystemClock.monotonic();
        let opens = Nanos(began.0.saturating_add(Nanos::from(ramp).0));
        let ends = Nanos(opens.0.saturating_add(Nanos::from(runtime).0));
        let mut counted = Vec::new();
        let mut worker_of = Vec::new();
        for (index, job) in jobs.iter().enumerate() {
            let starts = Nanos(began.0.saturating_add(Nanos::from(job.startdelay).0));
            for place in 0..job.numjobs {
                worker_of.push((index, counted_of(place)));
                let n = u64::from(job.numjobs);
                // The first ones take what does not divide.
                let quota =
                    job.number_ios.map_or(u64::MAX, |all| all / n + u64::from(u64::from(place) < all % n));
                if let Some(w) = workers.get(worker_of.len() - 1) {
                    // The worker waits for exactly this; the channel holds one.
                    let _ = w.go.try_send(Plan { opens, starts, ends, quota, patience: PATIENCE });
                }
            }
            counted.push(Counted {
                name: job.name.clone(),
                figures: Figures::new(job.arrivals_per_s().is_some()),
                series: Series::default(),
                worker_bytes: vec![0; counted_of(job.numjobs)],
                starts,
            });
        }
        let paces = vec![Pace::default(); workers.len()];
        Self {
            workers: workers.into_iter().map(Some).collect(),
            inbox,
            halt,
            observer,
            opens,
            ends,
            began,
            counted_end: jobs.iter().all(|j| j.number_ios.is_some()),
            opened,
            stopped: None,
            told: began,
            jobs: counted,
            places: worker_of,
            paces,
            latencies: Histogram::new(),
            judged: Histogram::new(),
            ends_of: Vec::new(),
        }
    }

    /// Until every worker is done.
    pub(super) fn listen(mut self, stop: &AtomicBool) -> Result<Collected, RunError> {
        while self.ends_of.len() < self.workers.len() {
            let wait = if self.opened {
                LOOK
            } else {
                LOOK.min(self.opens.since(SystemClock.monotonic()).duration())
            };
            let report = match self.inbox.recv_timeout(wait) {
                Ok(r) => Some(r),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(RunError::Engine(
                        "a worker ended without a word; this is a fault of the program".to_owned(),
                    ));
                }
            };
            let now = SystemClock.monotonic();
            if !self.opened && now >= self.opens {
                self.opened = true;
                self.observer.window_opens();
            }
            if let Some(r) = report {
                self.take(r);
            }
            if self.stopped.is_none() && (stop.load(Ordering::Relaxed) || self.observer.wants_stop()) {
                self.stopped = Some(now);
                self.halt.store(true, Ordering::Relaxed);
            }
            if now.since(self.told) >= TELL {
                self.tell(now);
            }
            self.check_patience(now)?;
        }
        self.observer.window_closes();
        // All that was counted: what is shown of a finished run is the whole of it.
        self.tell(SystemClock.monotonic());
        Ok(Collected { jobs: self.jobs, opens: self.opens, ends_of: self.ends_of })
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Figures { worker, from, to, mut figures } => {
                let seconds = to.since(from).seconds().max(1e-6);
                #[allow(clippy::cast_precision_loss)] // a rate
                let rate =
                    |of: fn(&Side) -> u64| Direction::BOTH.map(|d| of(figures.side(d)) as f64 / seconds);
                let pace = Pace { at: to, iops: rate(|s| s.clat.count()), bytes_per_s: rate(|s| s.bytes) };
                self.paces[worker] = pace;
                self.count(worker, from, to, &figures);
                figures.clear();
                if let Some(w) = &self.workers[worker] {
                    // Its only spare is the one in hand, so there is room; if the worker is gone, nobody needs it.
                    let _ = w.spares.try_send(figures);
                }
            }
            Report::Done { worker, end } => {
                self.count(worker, end.handed, end.closed, &end.figures);
                self.ends_of.push(*end);
                if let Some(w) = self.workers[worker].take() {
                    // It said its last word; a panic after that has been printed by the hook already.
                    let _ = w.thread.join();
                }
                // A disconnected inbox must mean trouble only: the slot stays, so that counting goes on.
                self.workers[worker] = None;
            }
            Report::Ready(_) | Report::Unable(_) => {}
        }
    }

    fn count(&mut self, worker: usize, from: Nanos, to: Nanos, figures: &Figures) {
        let (job, place) = self.places[worker];
        let job = &mut self.jobs[job];
        job.figures.merge(figures);
        job.series.add(from.since(self.opens), to.since(self.opens), figures);
        job.worker_bytes[place] += figures.bytes();
        // Only for those who look on.
        if !self.observer.listens() {
            return;
        }
        for direction in Direction::BOTH {
            self.latencies.merge(&figures.side(direction).clat);
            self.judged.merge(figures.judged(direction));
        }
    }

    fn tell(&mut self, now: Nanos) {
        self.told = now;
        self.observer.tick();
        if !self.observer.listens() {
            return;
        }
        let ramp = Nanos(self.opens.0 - self.began.0);
        let (phase, since, planned) = if now < self.opens {
            (Phase::Ramp, self.began, Some(ramp))
        } else if now < self.ends && self.stopped.is_none() {
            let planned = Nanos(self.ends.0 - self.opens.0);
            (Phase::Measuring, self.opens, (!self.counted_end).then_some(planned))
        } else {
            (Phase::Draining, self.stopped.unwrap_or(self.ends), None)
        };
        let sum = |of: fn(&Figures) -> u64| self.jobs.iter().map(|j| of(&j.figures)).sum::<u64>();
        let jobs: Vec<JobProgress> = (0..self.jobs.len()).map(|job| self.job_progress(job, now)).collect();
        let sides = || jobs.iter().flat_map(|j| [&j.read, &j.write]);
        let all = |of: fn(&SideProgress) -> Option<f64>| sides().filter_map(of).reduce(|a, b| a + b);
        let progress = Progress {
            phase,
            elapsed: now.since(since),
            planned,
            written: None,
            ios: sum(Figures::ios),
            bytes: Bytes(sum(Figures::bytes)),
            iops: all(|s| s.iops),
            bytes_per_s: all(|s| s.bytes_per_s),
            clat: self.latencies.live(),
            errors: sum(Figures::errors),
            jobs,
            histogram: self.judged.steps(),
        };
        self.observer.progress(progress);
    }

    fn job_progress(&self, job: usize, now: Nanos) -> JobProgress {
        let paces =
            || self.places.iter().zip(&self.paces).filter(|(place, _)| place.0 == job).map(|(_, p)| p);
        let reported = paces().any(|p| p.at.0 > 0);
        let side = |direction: Direction| {
            let figures = &self.jobs[job].figures;
            let counted = figures.side(direction);
            let recent = |of: fn(&Pace) -> [f64; 2]| {
                let moving = paces().filter(|p| now.since(p.at) < SILENT);
                reported.then(|| moving.map(|p| of(p)[direction as usize]).sum::<f64>())
            };
            SideProgress {
                ios: counted.clat.count(),
                bytes: Bytes(counted.bytes),
                iops: recent(|p| p.iops),
                bytes_per_s: recent(|p| p.bytes_per_s),
                latency: figures.judged(direction).live(),
                errors: counted.errors,
            }
        };
        let name = self.jobs[job].name.clone();
        JobProgress { name, read: side(Direction::Read), write: side(Direction::Write) }
    }

    /// A thread in `pread` on a device that hangs can not be woken. It is left behind.
    fn check_patience(&mut self, now: Nanos) -> Result<(), RunError> {
        let (since, patience) = match self.stopped {
            Some(at) => (at, PATIENCE_STOPPED),
            None => (self.ends, PATIENCE),
        };
        if now.since(since) <= Nanos(patience.0 + GRACE.0) {
            return Ok(());
        }
        self.halt.store(true, Ordering::Relaxed);
        let stuck = self.workers.len() - self.ends_of.len();
        Err(RunError::Engine(format!(
            "{stuck} of {} workers still wait for the device {:.0} s after the end; they are left behind",
            self.workers.len(),
            now.since(since).seconds()
        )))
    }
}

/// A number of workers as an index: it is far below what either type holds.
fn counted_of(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
