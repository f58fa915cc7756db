//! A run: workers are set up, started together, listened to, and waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::arrivals::Arrivals;
use super::collector::Collector;
use super::durability::DropCaches;
use super::engine::{Feed, Pace, io_uring};
use super::job::{EngineKind, Job};
use super::keys::JobError;
use super::ledger::Report;
use super::live::Progress;
use super::outcome::{RunError, RunOutcome, outcome};
use super::pattern::Pattern;
use super::target::Target;
use super::worker::{self, Assignment, EngineChoice, WorkerHandle};
use crate::units::Nanos;

/// Who is told how a run goes. All calls come from the thread that called [`run`].
pub trait Observer {
    /// The measured window opens. Without a ramp nothing has been issued yet, so that counters read here belong to no
    /// I/O of this run.
    fn window_opens(&mut self) {}
    /// The measured window is closed: nothing is in flight any more.
    fn window_closes(&mut self) {}
    /// About ten times a second, whoever listens.
    fn tick(&mut self) {}
    /// Whether anybody looks at the progress; making it has its cost.
    fn listens(&self) -> bool {
        true
    }
    /// About ten times a second, to those who listen.
    fn progress(&mut self, _progress: Progress) {}
    /// Asked often: whether the run is to end now, as if it were stopped by hand.
    fn wants_stop(&self) -> bool {
        false
    }
}

/// Runs jobs at the same time on one target. Blocks until nothing is in flight any more, or until a silent device has used
/// up its patience. All have the ramp and the runtime of the first.
///
/// # Errors
/// Fields that contradict one another, a job that writes where only reading is allowed, a target or engine that can not
/// be used, too many failed I/Os, a device that does not answer.
pub fn run(
    jobs: &[Job],
    target: &Target,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<RunOutcome, RunError> {
    check(jobs, target)?;
    let mut warnings = Vec::new();
    let mut assignments = Vec::new();
    let mut choices = Vec::new();
    for job in jobs {
        let region = target.region(job)?;
        let choice = choose(job, &mut warnings)?;
        choices.push(choice);
        for i in 0..job.numjobs {
            let source = target.source(job)?;
            if job.direct && i == 0 {
                target.try_direct(&source, region.offset)?;
            }
            let feed = Feed { pattern: Pattern::new(region, job, i), pace: pace(job, i) };
            assignments.push(Assignment {
                source,
                feed,
                choice,
                prio: job.prio,
                cpus: job.cpus_allowed.clone(),
            });
        }
    }
    if jobs.iter().any(|j| j.drop_caches != DropCaches::None) {
        target.drop_cache()?;
    }
    let halt = Arc::new(AtomicBool::new(false));
    // Room for every worker's last report, so that none waits for the collector.
    let (reports, inbox) = bounded(4 * assignments.len() + 4);
    let mut workers = Vec::new();
    let ready = set_up(assignments, &halt, reports, &inbox, &mut workers).and_then(|registered| {
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Stopped);
        }
        #[cfg(debug_assertions)]
        crate::sys::fault::hold();
        // Nothing is written before this; the workers wait for the start, which is given right behind it.
        target.check_again()?;
        Ok(registered)
    });
    let registered = match ready {
        Ok(registered) => registered,
        Err(e) => {
            send_home(workers);
            return Err(e);
        }
    };
    let collected = Collector::start(jobs, workers, inbox, halt, observer).listen(stop)?;
    let outcome = outcome(jobs, collected, engine_words(jobs, &choices, registered), warnings)?;
    // What a buffered write could not do is told by a sync alone. Stopped means at once, so then nobody knows.
    let buffered = jobs.iter().any(|j| j.rw.writes() && !j.direct && j.engine != EngineKind::Null);
    if buffered && !outcome.interrupted {
        target.sync()?;
    }
    Ok(outcome)
}

/// Whether the jobs can be run at all, together and on this target.
fn check(jobs: &[Job], target: &Target) -> Result<(), RunError> {
    let Some(first) = jobs.first() else {
        return Err(JobError::Together("there is no job to run".to_owned()).into());
    };
    for job in jobs {
        job.check()?;
        if job.rw.writes() && !target.may_write() {
            return Err(RunError::Writes(job.name.clone(), job.rw.word(), target.shown.clone()));
        }
        if (job.ramp, job.runtime) != (first.ramp, first.runtime) {
            let text =
                format!("{} and {} run together, so ramp and runtime must be the same", first.name, job.name);
            return Err(JobError::Together(text).into());
        }
    }
    Ok(())
}

fn pace(job: &Job, index: u32) -> Pace {
    match job.arrivals_per_s() {
        Some(per_s) => Pace::Open(Arrivals::new(job.rate_process, per_s, job.seed, index, job.numjobs)),
        None if job.thinktime.is_zero() => Pace::Closed,
        None => Pace::Think(Nanos::from(job.thinktime)),
    }
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
        EngineKind::Null => Ok(EngineChoice::Null),
        EngineKind::IoUring => match io_uring::probe() {
            Ok(setup) => Ok(EngineChoice::Uring { setup, depth: job.iodepth, polled: job.hipri }),
            Err(e) if job.engine_required || job.hipri => Err(RunError::NoEngine(e)),
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

/// What each job was run with; said once if it is the same for all.
fn engine_words(jobs: &[Job], choices: &[EngineChoice], registered: Option<&str>) -> String {
    let words: Vec<String> = choices
        .iter()
        .map(|choice| match choice {
            EngineChoice::Psync => "psync".to_owned(),
            EngineChoice::Null => "null: no I/O was issued".to_owned(),
            EngineChoice::Uring { setup, depth, polled } => {
                let registered = registered.unwrap_or("nothing registered");
                let polled = if *polled { "polled (IOPOLL), " } else { "" };
                format!("io_uring, iodepth {depth}, {polled}{}, {registered}", setup.words())
            }
        })
        .collect();
    match words.as_slice() {
        [first, rest @ ..] if rest.iter().all(|w| w == first) => first.clone(),
        _ => jobs.iter().zip(&words).map(|(j, w)| format!("{}: {w}", j.name)).collect::<Vec<_>>().join("; "),
    }
}

/// Starts the workers and waits until all are ready. Answers what io_uring could register.
fn set_up(
    assignments: Vec<Assignment>,
    halt: &Arc<AtomicBool>,
    reports: Sender<Report>,
    inbox: &Receiver<Report>,
    workers: &mut Vec<WorkerHandle>,
) -> Result<Option<&'static str>, RunError> {
    for (index, assignment) in assignments.into_iter().enumerate() {
        let handle = worker::spawn(index, assignment, halt.clone(), reports.clone())
            .map_err(|e| RunError::Start(index, e.to_string()))?;
        workers.push(handle);
    }
    drop(reports);
    wait_until_ready(inbox, workers.len())
}

/// Sends workers home that were never given the start, and waits until they have let go of the target: whoever is told
/// that nothing runs may want to remove it.
fn send_home(workers: Vec<WorkerHandle>) {
    let threads: Vec<_> = workers.into_iter().map(|w| w.thread).collect();
    for thread in threads {
        // One that panicked has said so.
        let _ = thread.join();
    }
}

/// Waits for every worker. Answers what io_uring could register; all have the same kernel and limits.
fn wait_until_ready(inbox: &Receiver<Report>, workers: usize) -> Result<Option<&'static str>, RunError> {
    let mut registered = None;
    for i in 0..workers {
        match inbox.recv() {
            Ok(Report::Unable(why)) => return Err(RunError::Start(i, why)),
            Ok(Report::Ready(words)) => registered = words.or(registered),
            Ok(_) => {}
            Err(_) => return Err(RunError::Start(i, "a worker ended before it was ready".to_owned())),
        }
    }
    Ok(registered)
}
