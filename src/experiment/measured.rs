//! From a trial's result to what gates and analysis need of it.

use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::trial;
use crate::trial::result::TrialResult;
use crate::units::Bytes;
use crate::workload::job::Job;
use crate::workload::series::Series;

use super::bench::{Measured, Moved};
use super::metric::{Metric, Readings};
use super::passage::{Below, Passage};

/// Length of a slice, seconds.
const SLICE: f64 = 0.1;
/// A last slice that was cut shorter than this share of one says nothing of the rate.
const ENOUGH: f64 = 0.5;

/// What was looked at around a trial, besides the trial itself.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// Settings right before and right after.
    pub settings: (QueueState, QueueState),
    /// The device right after.
    pub id: Option<DeviceId>,
    /// Its size right after.
    pub size: Option<Bytes>,
    /// Time asleep meanwhile, seconds.
    pub asleep_s: f64,
    /// This program was stopped and went on meanwhile.
    pub halted: bool,
    /// What lies between the workload and the device.
    pub below: Below,
}

/// A trial's result as an experiment sees it.
#[must_use]
pub fn measured_of(result: &TrialResult, around: Around) -> Measured {
    let moved = |read, written| Moved { read, written };
    let total = &result.total;
    let Around { settings, id, size, asleep_s, halted, below } = around;
    Measured {
        window_s: result.window_s,
        ios: total.ios(),
        readings: readings(result),
        engine: moved(total.read.bytes, total.write.bytes),
        // The whole device: who uses another partition of it is in the same queue.
        device: result.others.as_ref().map(|o| moved(o.device_read_bytes, o.device_write_bytes)),
        passage: Passage::of(result, below),
        errors: total.errors(),
        slices: slices(&total.series, result.window_s),
        engine_cpu: engine_cpu(result),
        stolen: result.cpu.host_stolen_pct.map(|p| p / 100.0),
        heat: trial::heat(&result.host),
        asleep_s,
        halted,
        settings,
        id,
        size,
        warnings: result.warnings.clone(),
        detail: serde_json::to_value(result).unwrap_or_default(),
    }
}

/// The figures; one that could not be had, or that is not above zero, is missing.
fn readings(result: &TrialResult) -> Readings {
    let total = &result.total;
    #[allow(clippy::cast_precision_loss)] // figures
    let f = |n: u64| n as f64;
    let rate = |n: u64| (result.window_s > 0.0).then(|| f(n) / result.window_s);
    let latency = total.judged_ns.as_ref();
    let cpu = result.cpu.user_s_per_gib.zip(result.cpu.system_s_per_gib).map(|(user, system)| user + system);
    [
        (Metric::Throughput, rate(total.bytes().0)),
        (Metric::Iops, rate(total.ios())),
        (Metric::Mean, latency.and_then(|l| l.mean)),
        (Metric::P99, latency.and_then(|l| l.p99).map(|n| f(n.0))),
        (Metric::P999, latency.and_then(|l| l.p99_9).map(|n| f(n.0))),
        (Metric::Max, latency.and_then(|l| l.max).map(|n| f(n.0))),
        (Metric::CpuPerGib, cpu),
    ]
    .into_iter()
    .filter_map(|(metric, value)| Some((metric, value.filter(|v| v.is_finite() && *v > 0.0)?)))
    .collect()
}

/// Bytes per second of each tenth of a second of the window. A longer trial was kept in longer steps; each stands for as
/// many tenths. Where nothing was answered the rate is zero.
fn slices(series: &Series, window_s: f64) -> Vec<f64> {
    let step = series.step.seconds();
    if step <= 0.0 || window_s <= 0.0 {
        return Vec::new();
    }
    // Below the number of tenths of a trial.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let times = (step / SLICE).round().max(1.0) as usize;
    let mut out = Vec::new();
    let mut at = 0.0;
    for i in 0.. {
        let length = (window_s - at).min(step);
        if length < step * ENOUGH {
            break;
        }
        #[allow(clippy::cast_precision_loss)] // a rate
        let bytes = series.steps.get(i).map_or(0.0, |s| (s.read_bytes + s.write_bytes) as f64);
        out.extend(std::iter::repeat_n(bytes / length, times));
        at += step;
    }
    out
}

/// CPU time of the workers over what they could have used: a CPU each, but no more than there are.
fn engine_cpu(result: &TrialResult) -> Option<f64> {
    let workers = |job: &Job| {
        let kept = job.cpus_allowed.as_ref().map_or(usize::MAX, |c| c.numbers().len());
        kept.min(usize::try_from(job.numjobs).unwrap_or(usize::MAX))
    };
    let wanted = result.asked.iter().map(workers).fold(0, usize::saturating_add);
    let cpus = wanted.min(result.host.cpus?);
    #[allow(clippy::cast_precision_loss)] // a share
    let could = result.window_s * cpus as f64;
    (could > 0.0).then(|| ((result.cpu.user_s + result.cpu.system_s) / could).clamp(0.0, 1.0))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::trial::host::{DeviceFacts, HostFacts};
    use crate::trial::result::{CpuUse, DeviceWindow, OtherIo};
    use crate::units::Nanos;
    use crate::workload::preset;
    use crate::workload::result::{DirectionResult, JobResult, LatencySummary};
    use crate::workload::series::Step;
    use std::collections::BTreeMap;

    pub(crate) fn job(preset: &str, keys: &[&str]) -> Job {
        let mut job = preset::find(preset).unwrap().jobs().remove(0);
        for k in keys {
            job.set(k).unwrap();
        }
        job
    }

    pub(crate) fn result(asked: Vec<Job>) -> TrialResult {
        let read = DirectionResult { ios: 4000, bytes: Bytes(4000 * 4096), ..DirectionResult::default() };
        let write =
            DirectionResult { ios: 1000, bytes: Bytes(1 << 20), errors: 2, ..DirectionResult::default() };
        let judged_ns = Some(LatencySummary {
            mean: Some(250_000.0),
            max: Some(Nanos(9_000_000)),
            p99: Some(Nanos(700_000)),
            ..LatencySummary::default()
        });
        TrialResult {
            target: "/dev/sdb".to_owned(),
            asked,
            engine: "psync".to_owned(),
            window_s: 2.0,
            total: JobResult { read, write, judged_ns, ..JobResult::default() },
            jobs: Vec::new(),
            fairness: None,
            promises: Vec::new(),
            device: None,
            others: None,
            cpu: CpuUse { user_s: 0.5, system_s: 1.5, ..CpuUse::default() },
            settings_before: BTreeMap::new(),
            settings_after: BTreeMap::new(),
            alone: None,
            inflation: Vec::new(),
            host: HostFacts { cpus: Some(2), ..HostFacts::default() },
            interrupted: false,
            stopped_for: None,
            warnings: vec!["cached".to_owned()],
        }
    }

    /// What a device moved in all, and what of it a file system may have written of its own.
    pub(crate) fn others(moved: Moved, file_system_bytes: Bytes) -> OtherIo {
        OtherIo {
            device: crate::sys::name::KernelName::new("sdb").unwrap(),
            device_read_bytes: moved.read,
            device_write_bytes: moved.written,
            read_bytes: None,
            write_bytes: None,
            file_system_bytes,
            processes: Vec::new(),
            processes_complete: true,
        }
    }

    #[test]
    fn every_figure_comes_from_both_directions_and_what_is_not_supported_is_missing() {
        let mut r = result(vec![job("randrw-4k-70", &[])]);
        let m = measured_of(&r, Around::default());
        let bytes = f64::from(4000 * 4096 + (1 << 20));
        assert_eq!(
            m.readings.into_iter().collect::<Vec<_>>(),
            [
                (Metric::Throughput, bytes / 2.0),
                (Metric::Iops, 2500.0),
                (Metric::Mean, 250_000.0),
                (Metric::P99, 700_000.0),
                (Metric::Max, 9_000_000.0),
            ]
        );
        assert_eq!((m.ios, m.errors, m.window_s, m.device), (5000, 2, 2.0, None));
        assert_eq!(m.engine, Moved { read: Bytes(4000 * 4096), written: Bytes(1 << 20) });
        assert_eq!((m.warnings.len(), m.heat), (1, None));
        assert_eq!(m.detail["total"]["read"]["ios"], 4000);
        r.cpu.user_s_per_gib = Some(0.25);
        r.cpu.system_s_per_gib = Some(0.5);
        r.total.judged_ns = None;
        (r.total.read, r.total.write) = (DirectionResult::default(), DirectionResult::default());
        let m = measured_of(&r, Around::default());
        assert_eq!(m.readings.into_iter().collect::<Vec<_>>(), [(Metric::CpuPerGib, 0.75)]);
    }

    #[test]
    fn what_was_looked_at_around_it_is_handed_on() {
        let mut r = result(vec![job("randread-4k", &[])]);
        r.cpu.host_stolen_pct = Some(3.0);
        // Of the partition that is used, and of the whole device.
        r.device = Some(DeviceWindow {
            name: crate::sys::name::KernelName::new("sdb1").unwrap(),
            read_ios: 1,
            read_bytes: Bytes(70),
            write_ios: 0,
            write_bytes: Bytes(0),
            read_size_bytes: None,
            write_size_bytes: None,
            merged: 0,
            engine_share: None,
        });
        r.others = Some(others(Moved { read: Bytes(77), written: Bytes(5) }, Bytes(0)));
        let around = Around { asleep_s: 0.25, size: Some(Bytes(9)), ..Around::default() };
        let m = measured_of(&r, around);
        assert_eq!((m.asleep_s, m.size, m.stolen), (0.25, Some(Bytes(9)), Some(0.03)));
        assert_eq!(m.device, Some(Moved { read: Bytes(77), written: Bytes(5) }));
    }

    #[test]
    fn heat_is_what_the_trial_says_of_it() {
        let mut r = result(vec![job("randread-4k", &[])]);
        let mut hot = DeviceFacts {
            name: crate::sys::name::KernelName::new("nvme0n1").unwrap(),
            attachment: crate::sys::link::Attachment::default(),
            file_cached: None,
            temperature: None,
            after: crate::trial::host::DeviceAfter::default(),
        };
        hot.after.temperature =
            Some(crate::sys::temperature::Temperature { now_c: 84.0, max_c: Some(82.0), critical_c: None });
        r.host.devices = vec![hot];
        assert!(measured_of(&r, Around::default()).heat.unwrap().contains("nvme0n1 is at 84"));
    }

    #[test]
    fn slices_are_tenths_of_a_second_whatever_the_steps_were() {
        let steps = |all: &[u64]| {
            all.iter().map(|b| Step { read_bytes: *b, write_bytes: 1, ..Step::default() }).collect()
        };
        let series = Series { step: Nanos(100_000_000), steps: steps(&[9, 19, 29]) };
        let rates = |series: &Series, s: f64| slices(series, s).iter().map(|r| r.round()).collect::<Vec<_>>();
        assert_eq!(rates(&series, 0.3), [100.0, 200.0, 300.0]);
        assert_eq!(rates(&series, 0.26), [100.0, 200.0, 500.0], "the last of sixty milliseconds");
        assert_eq!(slices(&series, 0.24).len(), 2, "too short to say anything");
        assert_eq!(slices(&series, 0.5)[3..], [0.0, 0.0], "a stall at the end");
        let longer = Series { step: Nanos(200_000_000), steps: steps(&[19, 39]) };
        assert_eq!(rates(&longer, 0.4), [100.0, 100.0, 200.0, 200.0]);
        assert_eq!(slices(&Series::default(), 0.0), [0.0; 0]);
    }

    #[test]
    fn workers_can_use_a_cpu_each_and_no_more_than_there_are() {
        let share = |keys: &[&str]| {
            measured_of(&result(vec![job("randread-4k", keys)]), Around::default()).engine_cpu
        };
        assert_eq!(share(&["numjobs=1"]), Some(1.0));
        assert_eq!(share(&["numjobs=2"]), Some(0.5));
        assert_eq!(share(&["numjobs=9"]), Some(0.5), "two CPUs");
        assert_eq!(share(&["numjobs=9", "cpus_allowed=0"]), Some(1.0));
    }
}
