//! A job's latency alone and beside the others: what the others cost it.

use serde::Serialize;

use super::result::{CpuUse, DeviceWindow, OtherIo};
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::keys::JobError;
use crate::workload::result::{DirectionResult, JobResult, LatencySummary};

/// The foreground jobs by themselves, on the same target, right before all ran together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Alone {
    /// The measured window, seconds.
    pub window_s: f64,
    /// Their figures.
    pub jobs: Vec<JobResult>,
    /// The kernel's count.
    pub device: Option<DeviceWindow>,
    /// What others did meanwhile.
    pub others: Option<OtherIo>,
    /// CPU time.
    pub cpu: CpuUse,
}

/// One figure of a foreground job, alone and under load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inflation {
    /// The job.
    pub job: String,
    /// `read` or `write`.
    pub direction: &'static str,
    /// `p50`, `p99` or `mean`: of `lat_ns` in an open loop, else of `clat_ns`.
    pub metric: &'static str,
    /// Alone; None where there were too few I/Os for it.
    pub alone_ns: Option<f64>,
    /// Beside the others.
    pub loaded_ns: Option<f64>,
    /// Loaded over alone.
    pub ratio: Option<f64>,
    /// I/Os a second alone.
    pub iops_alone: f64,
    /// I/Os a second beside the others.
    pub iops_loaded: f64,
}

/// The jobs that run alone first; none if nothing is marked.
///
/// # Errors
/// A foreground needs something beside it.
pub fn of(jobs: &[Job]) -> Result<Vec<Job>, JobError> {
    let marked: Vec<Job> = jobs.iter().filter(|j| j.foreground).cloned().collect();
    if !marked.is_empty() && marked.len() == jobs.len() {
        let text = match jobs {
            [one] => format!("foreground=1: there is no other job beside {}; leave it out", one.name),
            _ => format!(
                "foreground=1 on every job leaves none to run beside; mark one, as --set {}.foreground=1",
                marked.first().map_or("", |j| &j.name)
            ),
        };
        return Err(JobError::Together(text));
    }
    Ok(marked)
}

/// What will happen and how long it takes, for whoever waits; None without a foreground.
#[must_use]
pub fn sentence(jobs: &[Job]) -> Option<String> {
    let names: Vec<&str> = jobs.iter().filter(|j| j.foreground).map(|j| j.name.as_str()).collect();
    let first = jobs.first().filter(|_| !names.is_empty())?;
    let each = (first.ramp + first.runtime).as_secs_f64();
    Some(format!(
        "First {} alone, then all together, {each} s each: twice as long as one run; foreground=0 leaves the first out.",
        names.join(", ")
    ))
}

/// Compares the foreground jobs by name.
#[must_use]
pub fn inflation(alone: &[JobResult], loaded: &[JobResult]) -> Vec<Inflation> {
    let mut out = Vec::new();
    for before in alone {
        let Some(after) = loaded.iter().find(|j| j.name == before.name) else { continue };
        for (direction, a, b) in [("read", &before.read, &after.read), ("write", &before.write, &after.write)]
        {
            let (Some(x), Some(y)) = (judged(a), judged(b)) else { continue };
            for (metric, of) in METRICS {
                let (alone_ns, loaded_ns) = (of(x), of(y));
                out.push(Inflation {
                    job: before.name.clone(),
                    direction,
                    metric,
                    alone_ns,
                    loaded_ns,
                    ratio: alone_ns.zip(loaded_ns).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
                    iops_alone: a.iops,
                    iops_loaded: b.iops,
                });
            }
        }
    }
    out
}

type Metric = (&'static str, fn(&LatencySummary) -> Option<f64>);
const METRICS: [Metric; 3] = [("p50", |l| l.p50.map(ns)), ("p99", |l| l.p99.map(ns)), ("mean", |l| l.mean)];

#[allow(clippy::cast_precision_loss)] // a latency
fn ns(n: Nanos) -> f64 {
    n.0 as f64
}

fn judged(d: &DirectionResult) -> Option<&LatencySummary> {
    d.lat_ns.as_ref().or(d.clat_ns.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_foreground_needs_something_beside_it() {
        let mut jobs = preset::find("readers-vs-writer").unwrap().jobs();
        assert_eq!(of(&jobs).unwrap().iter().map(|j| j.name.as_str()).collect::<Vec<_>>(), ["readers"]);
        assert!(sentence(&jobs).unwrap().contains("First readers alone, then all together, 11 s each"));
        jobs[1].foreground = true;
        assert!(of(&jobs).unwrap_err().to_string().contains("readers.foreground=1"));
        for job in &mut jobs {
            job.foreground = false;
        }
        assert_eq!((of(&jobs).unwrap(), sentence(&jobs)), (Vec::new(), None));
        jobs.truncate(1);
        jobs[0].foreground = true;
        assert!(of(&jobs).unwrap_err().to_string().contains("no other job"));
    }

    #[test]
    fn ratios_are_of_what_both_have() {
        let job = |p99: Option<u64>, mean: f64, iops: f64, open: bool| {
            let summary = LatencySummary {
                p50: Some(Nanos(100)),
                p99: p99.map(Nanos),
                mean: Some(mean),
                ..LatencySummary::default()
            };
            let mut read = DirectionResult { iops, clat_ns: Some(summary), ..DirectionResult::default() };
            if open {
                read.lat_ns = Some(LatencySummary { p50: Some(Nanos(500)), ..summary });
            }
            JobResult { name: "readers".to_owned(), read, ..JobResult::default() }
        };
        let other = JobResult { name: "writer".to_owned(), ..JobResult::default() };
        let got =
            inflation(&[job(Some(400), 200.0, 90.0, false)], &[other, job(Some(12_000), 300.0, 3.0, false)]);
        let rows: Vec<_> = got.iter().map(|i| (i.metric, i.ratio, i.iops_alone, i.iops_loaded)).collect();
        assert_eq!(
            rows,
            [("p50", Some(1.0), 90.0, 3.0), ("p99", Some(30.0), 90.0, 3.0), ("mean", Some(1.5), 90.0, 3.0)]
        );
        let few = inflation(&[job(Some(400), 200.0, 90.0, true)], &[job(None, 300.0, 3.0, true)]);
        assert_eq!((few[0].alone_ns, few[1].loaded_ns, few[1].ratio), (Some(500.0), None, None));
    }
}
