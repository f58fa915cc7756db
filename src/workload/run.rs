//! A run: workers are set up, started together, listened to, and waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::engine::io_uring;
use super::histogram::Histogram;
use super::job::{EngineKind, Job, JobError};
use super::ledger::{Figures, IoFailure, MOST_ERRORS, PATIENCE, PATIENCE_STOPPED, Plan, Report, WorkerEnd};
use super::live::{Phase, Progress};
use super::pattern::Pattern;
use super::result::{DirectionResult, JobResult};
use super::target::{Target, TargetError};
use super::worker::{self, EngineChoice, WorkerHandle};
use crate::clock::{Clock, SystemClock};
use crate::sys::syscall::ThreadCpu;
use crate::units::{Bytes, Nanos};

/// How often progress is told.
const TELL: Nanos = Nanos(100_000_000);
/// The collector looks at the time and at a stop at least this often.
const LOOK: Duration = Duration::from_millis(20);
/// A worker that has not reported for this long is taken to move nothing.
const SILENT: Nanos = Nanos(350_000_000);
/// Given to threads beyond the engine's own patience before they are left behind.
const GRACE: Nanos = Nanos(2_000_000_000);

/// Who is told how a run goes. All calls come from the thread that called [`run`].
pub trait Observer {
    /// The measured window opens. Without a ramp nothing has been issued yet, so that counters read here belong to no
    /// I/O of this run.
    fn window_opens(&mut self) {}
    /// The measured window is closed: nothing is in flight any more.
    fn window_closes(&mut self) {}
    /// About ten times a second.
    fn progress(&mut self, _progress: Progress) {}
}

/// What a run measured.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Figures by job.
    pub jobs: Vec<JobResult>,
    /// All jobs merged.
    pub total: JobResult,
    /// From the opening of the window until the last I/O was reaped.
    pub window: Nanos,
    /// Engine and setup, in words.
    pub engine: String,
    /// CPU time of all workers' threads in the window.
    pub cpu: ThreadCpu,
    /// Completion latencies of all I/Os.
    pub clat: Histogram,
    /// The first I/O that failed.
    pub failure: Option<IoFailure>,
    /// It was stopped before its time.
    pub interrupted: bool,
    /// What has to be known about how it was run.
    pub warnings: Vec<String>,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The job would write.
    #[error(
        "{0}: rw={1} writes, and this version only reads; use a reading job (seqread-1m, randread-4k, dd-1m) or --set rw=randread"
    )]
    Writes(String, &'static str),
    /// Values that do not go together.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The target can not be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The engine that was asked for by name is not there.
    #[error("engine=io_uring: {0}; this kernel or container does not allow it, use --set engine=psync")]
    NoEngine(std::io::Error),
    /// A worker could not be started.
    #[error("starting worker {0}: {1}")]
    Start(usize, String),
    /// Too much failed.
    #[error("{failure} ({errors} of {attempts} reads failed)")]
    Failed {
        /// The first failure.
        failure: IoFailure,
        /// How many failed.
        errors: u64,
        /// How many were tried.
        attempts: u64,
    },
    /// The engine could not go on, or the device does not answer.
    #[error("{0}")]
    Engine(String),
    /// Stopped before measuring began.
    #[error("stopped before anything was measured")]
    Stopped,
}

/// Runs a job. Blocks until nothing is in flight any more, or until a silent device has used up its patience.
///
/// # Errors
/// A job that writes, a target or engine that can not be used, too many failed I/Os, a device that does not answer.
pub fn run(
    job: &Job,
    target: &Target,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    if job.rw.writes() {
        return Err(RunError::Writes(job.name.clone(), job.rw.word()));
    }
    job.check()?;
    let region = target.region(job)?;
    let mut warnings = Vec::new();
    let choice = choose(job, &mut warnings)?;
    let mut sources = Vec::new();
    for _ in 0..job.numjobs {
        sources.push(target.source(job)?);
    }
    if job.direct {
        target.try_direct(&sources[0], region.offset)?;
    }
    if job.drop_caches {
        target.drop_cache()?;
    }
    let halt = Arc::new(AtomicBool::new(false));
    // Room for every worker's last report, so that none waits for the collector.
    let (reports, inbox) = bounded(4 * sources.len() + 4);
    let mut workers = Vec::new();
    for (i, source) in (0..job.numjobs).zip(sources) {
        let pattern = if job.rw.random() {
            Pattern::random(region, job.seed, i)
        } else {
            Pattern::sequential(region, i, job.numjobs)
        };
        let index = workers.len();
        let handle = worker::spawn(index, source, pattern, choice, halt.clone(), reports.clone())
            .map_err(|e| RunError::Start(index, e.to_string()))?;
        workers.push(handle);
    }
    drop(reports);
    let registered = wait_until_ready(&inbox, workers.len())?;
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::Stopped);
    }
    let collector = Collector::start(job, workers, inbox, halt, observer);
    collector.listen(stop)?.outcome(job, engine_words(choice, registered), warnings)
}

/// Which engine is used: the one of the job, or psync where the kernel has no io_uring and it was not insisted on.
fn choose(job: &Job, warnings: &mut Vec<String>) -> Result<EngineChoice, RunError> {
    match job.engine {
        EngineKind::Psync => {
            if job.iodepth > 1 {
                warnings.push(format!(
                    "iodepth {} has no effect with psync: each worker has one I/O in flight; use engine=io_uring or more workers (numjobs)",
                    job.iodepth
                ));
            }
            Ok(EngineChoice::Psync)
        }
        EngineKind::IoUring => match io_uring::probe() {
            Ok(setup) => Ok(EngineChoice::Uring { setup, depth: job.iodepth }),
            Err(e) if job.engine_required => Err(RunError::NoEngine(e)),
            Err(e) => {
                warnings.push(format!(
                    "io_uring is not available here ({e}): psync was used instead, with one I/O in flight instead of {}",
                    job.iodepth
                ));
                Ok(EngineChoice::Psync)
            }
        },
    }
}

fn engine_words(choice: EngineChoice, registered: Option<&str>) -> String {
    match choice {
        EngineChoice::Psync => "psync".to_owned(),
        EngineChoice::Uring { setup, depth } => {
            format!(
                "io_uring, iodepth {depth}, {}, {}",
                setup.words(),
                registered.unwrap_or("nothing registered")
            )
        }
    }
}

/// Waits for every worker. Answers what the last one could register; all have the same kernel and limits.
fn wait_until_ready(inbox: &Receiver<Report>, workers: usize) -> Result<Option<&'static str>, RunError> {
    let mut registered = None;
    for i in 0..workers {
        match inbox.recv() {
            Ok(Report::Unable(why)) => return Err(RunError::Start(i, why)),
            Ok(Report::Ready(words)) => registered = words,
            Ok(_) => {}
            Err(_) => return Err(RunError::Start(i, "a worker ended before it was ready".to_owned())),
        }
    }
    Ok(registered)
}

/// What the last report of a worker said of its pace.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    at: Nanos,
    iops: f64,
    bytes_per_s: f64,
}

struct Collector<'a> {
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
    total: Figures,
    paces: Vec<Pace>,
    ends_of: Vec<WorkerEnd>,
}

impl<'a> Collector<'a> {
    /// Opens the window if there is no ramp, and gives the start.
    fn start(
        job: &Job,
        workers: Vec<WorkerHandle>,
        inbox: Receiver<Report>,
        halt: Arc<AtomicBool>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let opened = job.ramp.is_zero();
        if opened {
            observer.window_opens();
        }
        let began = SystemClock.monotonic();
        let opens = Nanos(began.0.saturating_add(Nanos::from(job.ramp).0));
        let ends = Nanos(opens.0.saturating_add(Nanos::from(job.runtime).0));
        let n = workers.len() as u64;
        for (i, w) in workers.iter().enumerate() {
            // The first ones take what does not divide.
            let quota = job.number_ios.map_or(u64::MAX, |all| all / n + u64::from((i as u64) < all % n));
            // The worker waits for exactly this; the channel holds one.
            let _ = w.go.try_send(Plan { opens, ends, quota, patience: PATIENCE });
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
            counted_end: job.number_ios.is_some(),
            opened,
            stopped: None,
            told: began,
            total: Figures::default(),
            paces,
            ends_of: Vec::new(),
        }
    }

    /// Until every worker is done.
    fn listen(mut self, stop: &AtomicBool) -> Result<Self, RunError> {
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
            if self.stopped.is_none() && stop.load(Ordering::Relaxed) {
                self.stopped = Some(now);
                self.halt.store(true, Ordering::Relaxed);
            }
            if now.since(self.told) >= TELL {
                self.tell(now);
            }
            self.check_patience(now)?;
        }
        self.observer.window_closes();
        Ok(self)
    }

    fn take(&mut self, report: Report) {
        match report {
            Report::Figures { worker, from, to, mut figures } => {
                let seconds = to.since(from).seconds().max(1e-6);
                #[allow(clippy::cast_precision_loss)] // a rate
                let pace = Pace {
                    at: to,
                    iops: figures.clat.count() as f64 / seconds,
                    bytes_per_s: figures.bytes as f64 / seconds,
                };
                self.paces[worker] = pace;
                self.total.merge(&figures);
                figures.clear();
                if let Some(w) = &self.workers[worker] {
                    // Its only spare is the one in hand, so there is room; if the worker is gone, nobody needs it.
                    let _ = w.spares.try_send(figures);
                }
            }
            Report::Done { worker, end } => {
                self.total.merge(&end.figures);
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

    fn tell(&mut self, now: Nanos) {
        self.told = now;
        let ramp = Nanos(self.opens.0 - self.began.0);
        let (phase, since, planned) = if now < self.opens {
            (Phase::Ramp, self.began, Some(ramp))
        } else if now < self.ends && self.stopped.is_none() {
            let planned = Nanos(self.ends.0 - self.opens.0);
            (Phase::Measuring, self.opens, (!self.counted_end).then_some(planned))
        } else {
            (Phase::Draining, self.stopped.unwrap_or(self.ends), None)
        };
        let recent: Vec<&Pace> = self.paces.iter().filter(|p| p.at.0 > 0).collect();
        let current = |f: fn(&Pace) -> f64| {
            (!recent.is_empty())
                .then(|| recent.iter().filter(|p| now.since(p.at) < SILENT).map(|p| f(p)).sum::<f64>())
        };
        self.observer.progress(Progress {
            phase,
            elapsed: now.since(since),
            planned,
            ios: self.total.clat.count(),
            bytes: Bytes(self.total.bytes),
            iops: current(|p| p.iops),
            bytes_per_s: current(|p| p.bytes_per_s),
            clat: self.total.clat.live(),
            errors: self.total.errors,
        });
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

    fn outcome(self, job: &Job, engine: String, mut warnings: Vec<String>) -> Result<RunOutcome, RunError> {
        let Self { total, ends_of, opens, .. } = self;
        if let Some(e) = ends_of.iter().find_map(|w| w.engine_error.clone()) {
            return Err(RunError::Engine(e));
        }
        let failure = ends_of.iter().find_map(|w| w.failure);
        let gave_up = ends_of.iter().any(|w| w.gave_up);
        let ios = total.clat.count();
        if let Some(failure) = failure {
            if gave_up || ios == 0 || total.errors > MOST_ERRORS {
                let errors = total.errors.max(1);
                return Err(RunError::Failed { failure, errors, attempts: ios + errors });
            }
            warnings.push(format!("{} reads failed, the first one {failure}", total.errors));
        }
        let interrupted = ends_of.iter().any(|w| w.stopped);
        if ios == 0 && interrupted {
            return Err(RunError::Stopped);
        }
        let closed = ends_of.iter().map(|w| w.closed).max().unwrap_or(opens);
        let window = closed.since(opens);
        let seconds = window.seconds();
        #[allow(clippy::cast_precision_loss)] // rates
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let read = DirectionResult {
            ios,
            bytes: Bytes(total.bytes),
            iops: rate(ios),
            bytes_per_s: rate(total.bytes),
            clat_ns: total.clat.summary(),
            errors: total.errors,
        };
        let result = |name: &str| JobResult {
            name: name.to_owned(),
            read: read.clone(),
            write: DirectionResult::default(),
        };
        Ok(RunOutcome {
            jobs: vec![result(&job.name)],
            total: result("total"),
            window,
            engine,
            cpu: ends_of.iter().fold(ThreadCpu::default(), |sum, w| sum.plus(w.cpu)),
            clat: total.clat,
            failure,
            interrupted,
            warnings,
        })
    }
}
