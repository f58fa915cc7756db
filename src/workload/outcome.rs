//! What a run leaves behind, made from what was counted.

use super::collector::{Collected, Counted};
use super::durability::promise;
use super::fairness::{Fairness, judge};
use super::figures::Figures;
use super::io::Direction;
use super::job::{Job, Rw};
use super::keys::JobError;
use super::ledger::{IoFailure, MOST_ERRORS};
use super::result::{DirectionResult, FlushResult, JobResult, LatencySummary, OverLimit};
use super::series::Series;
use super::target::TargetError;
use crate::sys::syscall::ThreadCpu;
use crate::units::{Bytes, Nanos, events};

/// An open loop that achieves less than this share of what was asked is overloaded.
pub const KEPT_UP: f64 = 0.95;

/// What a run measured.
#[derive(Clone, Debug)]
pub struct RunOutcome {
    /// Figures by job.
    pub jobs: Vec<JobResult>,
    /// All jobs merged.
    pub total: JobResult,
    /// Who got how much; None if nothing competed.
    pub fairness: Option<Fairness>,
    /// From the opening of the window until the last I/O was reaped.
    pub window: Nanos,
    /// Engine and setup, in words.
    pub engine: String,
    /// What each job's way of reading and writing promises, in a sentence each; said once where it is the same.
    pub promises: Vec<String>,
    /// CPU time of all workers' threads in the window.
    pub cpu: ThreadCpu,
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
    /// The job would write, and nothing allows that on this target.
    #[error("{0}: rw={1} writes, and {2} may only be read")]
    Writes(String, &'static str, String),
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
    #[error("{failure} ({errors} of {attempts} I/Os failed)")]
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
    /// Something that was asked for needs a right that is missing.
    #[error("{0}")]
    NotPermitted(String),
    /// Ended for the sake of others before anything was measured.
    #[error("stopped before anything was measured: {0}")]
    Unsafe(String),
    /// Stopped before measuring began.
    #[error("stopped before anything was measured")]
    Stopped,
}

/// The outcome of all jobs.
///
/// # Errors
/// Too much failed, an engine could not go on, or it was stopped before anything was measured.
pub(super) fn outcome(
    jobs: &[Job],
    collected: Collected,
    engine: String,
    mut warnings: Vec<String>,
) -> Result<RunOutcome, RunError> {
    let Collected { jobs: counted, opens, ends_of, .. } = collected;
    if let Some(e) = ends_of.iter().find_map(|w| w.engine_error.clone()) {
        return Err(RunError::Engine(e));
    }
    let mut total = Figures::default();
    for c in &counted {
        total.merge(&c.figures);
    }
    let failure = ends_of.iter().find_map(|w| w.failure);
    let ios = total.ios();
    if let Some(failure) = failure {
        let gave_up = ends_of.iter().any(|w| w.gave_up);
        if failure.errno == Some(libc::EOPNOTSUPP) && jobs.iter().any(|j| j.hipri) {
            return Err(RunError::Engine(format!(
                "{failure}: files of this file system can not be polled; name the device, or leave hipri out"
            )));
        }
        if gave_up || ios == 0 || total.errors() > MOST_ERRORS {
            let errors = total.errors().max(1);
            return Err(RunError::Failed { failure, errors, attempts: ios + errors });
        }
        warnings.push(format!("{} I/Os failed, the first one {failure}", total.errors()));
    }
    let interrupted = ends_of.iter().any(|w| w.stopped);
    if ios == 0 && interrupted {
        return Err(RunError::Stopped);
    }
    let closed = ends_of.iter().map(|w| w.closed).max().unwrap_or(opens);
    let window = closed.since(opens);
    let results: Vec<JobResult> =
        jobs.iter().zip(&counted).map(|(j, c)| job_result(j, c, opens, closed)).collect();
    warnings.extend(jobs.iter().zip(&results).filter_map(|(j, r)| overloaded(j, r)));
    let mut promises: Vec<String> = jobs.iter().map(promise).collect();
    promises.dedup();
    let portions: Vec<(String, Vec<u64>)> =
        jobs.iter().zip(&counted).map(|(j, c)| (j.name.clone(), c.worker_bytes.clone())).collect();
    Ok(RunOutcome {
        total: merged(jobs, &results, &total, window),
        jobs: results,
        fairness: judge(&portions),
        window,
        engine,
        promises,
        cpu: ends_of.iter().fold(ThreadCpu::default(), |sum, w| sum.plus(w.cpu)),
        failure,
        interrupted,
        warnings,
    })
}

fn job_result(job: &Job, counted: &Counted, opens: Nanos, closed: Nanos) -> JobResult {
    // A job that begins later is not charged for the time before.
    let window = closed.since(opens.max(counted.starts));
    let asked = job.arrivals_per_s().map(|a| a * f64::from(job.numjobs));
    let side = |direction| {
        direction_result(&counted.figures, direction, window, &job.limits_ms, asked_of(job, asked, direction))
    };
    JobResult {
        name: job.name.clone(),
        read: side(Direction::Read),
        write: side(Direction::Write),
        judged_ns: judged(&counted.figures),
        flush: flush_result(&counted.figures),
        not_started: counted.figures.not_started,
        loop_kind: Some(if asked.is_some() { "open" } else { "closed" }),
        series: counted.series.clone(),
    }
}

/// All jobs as one: counts added, latencies merged.
fn merged(jobs: &[Job], results: &[JobResult], total: &Figures, window: Nanos) -> JobResult {
    let limits = jobs.first().map_or(&[][..], |j| &j.limits_ms);
    let limits = if jobs.iter().all(|j| j.limits_ms == limits) { limits } else { &[] };
    let kind = results.first().and_then(|r| r.loop_kind);
    let kind = kind.filter(|k| results.iter().all(|r| r.loop_kind == Some(k)));
    // Only where every job is asked at a rate is there one that the total was asked at.
    let asked = |of: fn(&JobResult) -> Option<f64>| {
        (kind == Some("open")).then(|| results.iter().filter_map(of).sum::<f64>()).filter(|a| *a > 0.0)
    };
    JobResult {
        name: "total".to_owned(),
        read: direction_result(total, Direction::Read, window, limits, asked(|r| r.read.asked_iops)),
        write: direction_result(total, Direction::Write, window, limits, asked(|r| r.write.asked_iops)),
        judged_ns: judged(total),
        flush: flush_result(total),
        not_started: total.not_started,
        loop_kind: kind,
        series: if let [one] = results {
            one.series.clone()
        } else {
            Series::merged(results.iter().map(|r| &r.series))
        },
    }
}

fn direction_result(
    figures: &Figures,
    direction: Direction,
    window: Nanos,
    limits: &[Nanos],
    asked_iops: Option<f64>,
) -> DirectionResult {
    let side = figures.side(direction);
    let waits = figures.waits(direction);
    let seconds = window.seconds();
    #[allow(clippy::cast_precision_loss)] // rates
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let judged = figures.judged(direction);
    DirectionResult {
        ios: side.clat.count(),
        bytes: Bytes(side.bytes),
        iops: rate(side.clat.count()),
        bytes_per_s: rate(side.bytes),
        clat_ns: side.clat.summary(),
        slat_ns: waits.and_then(|w| w.slat.summary()),
        lat_ns: waits.and_then(|w| w.lat.summary()),
        asked_iops,
        over_limit: limits.iter().map(|l| OverLimit { limit_ns: *l, share: judged.share_over(*l) }).collect(),
        errors: side.errors,
    }
}

/// The share of what was asked that goes into one direction; None if nothing does.
fn asked_of(job: &Job, asked: Option<f64>, direction: Direction) -> Option<f64> {
    let reads = match job.rw {
        Rw::Read | Rw::RandRead => 1.0,
        Rw::Write | Rw::RandWrite => 0.0,
        Rw::Rw | Rw::RandRw => f64::from(job.rwmixread) / 100.0,
    };
    let share = if direction == Direction::Read { reads } else { 1.0 - reads };
    asked.filter(|_| share > 0.0).map(|a| a * share)
}

/// Percentiles of several are those of the merged distribution, never a mean of theirs.
fn judged(figures: &Figures) -> Option<LatencySummary> {
    let mut both = figures.judged(Direction::Read).clone();
    both.merge(figures.judged(Direction::Write));
    both.summary()
}

fn flush_result(figures: &Figures) -> Option<FlushResult> {
    let calls = figures.flush.count();
    (calls > 0).then(|| FlushResult { calls, time_ns: figures.flush.summary() })
}

fn overloaded(job: &Job, r: &JobResult) -> Option<String> {
    let asked = job.arrivals_per_s()? * f64::from(job.numjobs);
    let achieved = r.read.iops + r.write.iops;
    (job.number_ios.is_none() && achieved < asked * KEPT_UP).then(|| {
        format!(
            "{}: overloaded: {} I/Os/s were due and {} were done, {} not even started; their waiting is not in the latencies, which would be longer still; ask for fewer",
            job.name,
            events(asked),
            events(achieved),
            r.not_started
        )
    })
}
