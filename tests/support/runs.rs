//! Runs on the screen: going and ended, of one job and of several, closed and open.

use std::collections::BTreeMap;

use blktune::app::message::{KernelFigures, Message};
use blktune::sys::cgroup::{GroupLimits, IoLimit};
use blktune::sys::link::{Attachment, PcieLink};
use blktune::sys::temperature::Temperature;
use blktune::trial::foreground;
use blktune::trial::host::{DeviceAfter, DeviceFacts, HostFacts};
use blktune::trial::result::{CpuUse, DeviceWindow, TrialResult};
use blktune::units::{Bytes, Nanos};
use blktune::workload::fairness::{Fairness, Portion};
use blktune::workload::job::{Job, Rw};
use blktune::workload::live::{JobProgress, LatencyStep, LivePercentiles, Phase, Progress, SideProgress};
use blktune::workload::preset;
use blktune::workload::result::{DirectionResult, FlushResult, JobResult, LatencySummary, OverLimit};

use super::model::{Screen, job, name};

/// A run on the quiet USB disk, just started.
pub fn run_started(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    // The USB disk is quiet, so nothing is asked.
    s.keys("/sdb<Enter>3jj<Enter>G<Enter>");
    s
}

/// What an engine at this many bytes a second says.
pub fn progress(phase: Phase, tenths: u64, rate: Option<f64>) -> Progress {
    let us = |v: u64| Some(Nanos(v * 1000));
    let counted = if phase == Phase::Measuring { tenths } else { 0 };
    let latency = LivePercentiles { p50: us(290), p95: us(410), p99: us(640), p99_9: us(1900) };
    let read = SideProgress {
        ios: counted * 10_500,
        bytes: Bytes(counted * 10_500 * 4096),
        iops: rate.map(|r| r / 4096.0),
        bytes_per_s: rate,
        latency,
        errors: 0,
    };
    Progress {
        phase,
        elapsed: Nanos(tenths * 100_000_000),
        planned: Some(Nanos(10_000_000_000)),
        ios: counted * 10_500,
        bytes: Bytes(counted * 10_500 * 4096),
        iops: rate.map(|r| r / 4096.0),
        bytes_per_s: rate,
        clat: latency,
        errors: 0,
        written: None,
        jobs: vec![JobProgress { name: "randread-4k-qd32".to_owned(), read, write: SideProgress::default() }],
        histogram: steps(&[
            (100, 210),
            (200, 1900),
            (500, 7900),
            (1000, 400),
            (2000, 90),
            (5000, 12),
            (10_000, 3),
        ]),
    }
}

/// A histogram of steps: upper end in us, I/Os.
pub fn steps(all: &[(u64, u64)]) -> Vec<LatencyStep> {
    all.iter().map(|(us, ios)| LatencyStep { up_to: Nanos(us * 1000), ios: *ios }).collect()
}

/// A run in its fifth second. The engine counts nothing in the ramp; the kernel does.
pub fn running(width: u16, height: u16) -> Screen {
    let mut s = run_started(width, height);
    let kernel = |rate: f64| KernelFigures {
        bytes_per_s: Some(rate),
        read_size: Some(4096.0),
        cpus: Some(0.27),
        ..KernelFigures::default()
    };
    for tenths in 0..10 {
        s.send(Message::RunProgress(progress(Phase::Ramp, tenths, None)));
        s.send(Message::RunKernel(kernel(2.5e8)));
    }
    for tenths in 0..=44u32 {
        let rate = 3.2e8 + 2.5e7 * f64::from(tenths / 3 % 5);
        s.send(Message::RunProgress(progress(Phase::Measuring, tenths.into(), Some(rate))));
        s.send(Message::RunKernel(kernel(rate * 1.02)));
    }
    s
}

/// The same after its end, with a warning.
pub fn finished(width: u16, height: u16) -> Screen {
    let mut s = running(width, height);
    let us = |v: u64| Some(Nanos(v * 1000));
    let read = DirectionResult {
        ios: 1_050_000,
        bytes: Bytes(1_050_000 * 4096),
        iops: 105_000.0,
        bytes_per_s: 105_000.0 * 4096.0,
        clat_ns: Some(LatencySummary {
            mean: Some(301_200.0),
            p50: us(290),
            p95: us(410),
            p99: us(640),
            p99_9: us(1900),
            max: us(8800),
            ..LatencySummary::default()
        }),
        ..DirectionResult::default()
    };
    let mut result = result(
        vec![job("randread-4k-qd32", Rw::RandRead, 4096, 32)],
        vec![of("all", read, DirectionResult::default())],
    );
    result.device = Some(DeviceWindow {
        name: name("sdb"),
        read_ios: 1_071_000,
        read_bytes: Bytes(1_071_000 * 4096),
        write_ios: 0,
        write_bytes: Bytes(0),
        read_size_bytes: Some(4096.0),
        write_size_bytes: None,
        merged: 0,
        engine_share: Some(0.98),
    });
    result.warnings =
        vec!["2% of the device's reads were not the engine's: something else was reading sdb".to_owned()];
    s.send(Message::RunFinished(Ok(Box::new(result))));
    s
}

/// The result of a run of these jobs; the first job's figures are the total.
pub fn result(asked: Vec<Job>, jobs: Vec<JobResult>) -> TrialResult {
    TrialResult {
        target: "/dev/sdb".to_owned(),
        asked,
        engine: "io_uring".to_owned(),
        window_s: 10.0,
        total: jobs[0].clone(),
        jobs,
        fairness: None,
        promises: Vec::new(),
        device: None,
        cpu: CpuUse {
            user_s: 0.6,
            system_s: 2.1,
            user_ns_per_io: Some(571.0),
            system_ns_per_io: Some(2000.0),
            ..CpuUse::default()
        },
        settings_before: BTreeMap::new(),
        settings_after: BTreeMap::new(),
        alone: None,
        inflation: Vec::new(),
        stopped_for: None,
        others: None,
        host: HostFacts::default(),
        interrupted: false,
        warnings: Vec::new(),
    }
}

/// A job's result.
pub fn of(name: &str, read: DirectionResult, write: DirectionResult) -> JobResult {
    JobResult { name: name.to_owned(), read, write, ..JobResult::default() }
}

/// A direction with this many I/Os in ten seconds; percentiles in us.
pub fn direction(ios: u64, bs: u64, p50: u64, p99: u64) -> DirectionResult {
    let us = |v: u64| Some(Nanos(v * 1000));
    #[allow(clippy::cast_precision_loss)] // made up
    let (count, rate) = (ios as f64 / 10.0, (ios * bs) as f64 / 10.0);
    DirectionResult {
        ios,
        bytes: Bytes(ios * bs),
        iops: count,
        bytes_per_s: rate,
        clat_ns: Some(LatencySummary {
            mean: Some(1200.0 * 1000.0),
            p50: us(p50),
            p95: us(p50 * 2),
            p99: us(p99),
            max: us(p99 * 9),
            ..LatencySummary::default()
        }),
        ..DirectionResult::default()
    }
}

/// Goes to a preset by its name and to its form.
pub fn form(width: u16, height: u16, preset: &str) -> Screen {
    let mut s = Screen::live(width, height);
    // The USB disk is quiet, so nothing is asked.
    s.keys("/sdb<Enter>3g");
    let at = preset::PRESETS.iter().position(|p| p.name == preset).unwrap();
    s.keys(&"j".repeat(at));
    s.keys("<Enter>");
    s
}

/// Goes to a field of the form.
pub fn go_to(s: &mut Screen, key: &str) {
    s.keys("<Home>");
    for _ in 0..40 {
        if s.lines().iter().any(|l| l.contains(&format!(">{key} "))) {
            return;
        }
        s.keys("j");
    }
    panic!("no field {key} in\n{}", s.text());
}

/// Types a value into a field of the form.
pub fn set(s: &mut Screen, key: &str, value: &str) {
    go_to(s, key);
    s.keys("<Enter>");
    s.keys(&"<Backspace>".repeat(20));
    s.keys(value);
    s.keys("<Enter>");
}

fn side(ios: u64, bs: u64, tenths: u64, p50: u64) -> SideProgress {
    let us = |v: u64| Some(Nanos(v * 1000));
    #[allow(clippy::cast_precision_loss)] // made up
    let rate = (ios * 10) as f64 / tenths as f64;
    #[allow(clippy::cast_precision_loss)] // made up
    let bytes = rate * bs as f64;
    SideProgress {
        ios,
        bytes: Bytes(ios * bs),
        iops: Some(rate),
        bytes_per_s: Some(bytes),
        latency: LivePercentiles { p50: us(p50), p95: us(p50 * 2), p99: us(p50 * 8), p99_9: us(p50 * 20) },
        errors: 0,
    }
}

/// Four readers against a writer, in their fifth second; the writer had two errors.
pub fn running_several(width: u16, height: u16) -> Screen {
    let mut s = form(width, height, "readers-vs-writer");
    s.keys("<End><Enter>");
    let mut p = progress(Phase::Preparing, 8, None);
    (p.jobs, p.histogram) = (Vec::new(), Vec::new());
    p.written = Some((Bytes(512 << 20), Bytes(1 << 30)));
    s.send(Message::RunProgress(p));
    for tenths in 1..=45u64 {
        let (read, mut write) =
            (side(tenths * 40, 4096, tenths, 900), side(tenths * 30, 1 << 20, tenths, 12_000));
        write.errors = 2;
        let bytes = read.bytes_per_s.zip(write.bytes_per_s).map(|(a, b)| a + b);
        let p = Progress {
            bytes: Bytes(read.bytes.0 + write.bytes.0),
            ios: read.ios + write.ios,
            iops: Some(700.0),
            errors: 2,
            jobs: vec![
                JobProgress { name: "readers".to_owned(), read, write: SideProgress::default() },
                JobProgress { name: "writer".to_owned(), read: SideProgress::default(), write },
            ],
            histogram: steps(&[
                (500, 60),
                (1000, 1400),
                (2000, 300),
                (5000, 40),
                (10_000, 500),
                (20_000, 800),
                (50_000, 50),
            ]),
            ..progress(Phase::Measuring, tenths, bytes)
        };
        s.send(Message::RunProgress(p));
        s.send(Message::RunKernel(KernelFigures {
            bytes_per_s: bytes,
            read_size: Some(4096.0),
            write_size: Some(524_288.0),
            cpus: Some(0.4),
        }));
    }
    s
}

/// The same, ended: the readers starved.
pub fn finished_several(width: u16, height: u16) -> Screen {
    let mut s = running_several(width, height);
    let asked = preset::find("readers-vs-writer").unwrap().jobs();
    let none = DirectionResult::default;
    let (mut readers, mut writer) = (
        of("readers", direction(4000, 4096, 900, 7200), none()),
        of("writer", none(), direction(3000, 1 << 20, 12_000, 96_000)),
    );
    readers.read.over_limit = vec![OverLimit { limit_ns: Nanos(10_000_000), share: Some(0.0125) }];
    writer.flush = Some(FlushResult { calls: 31, time_ns: writer.write.clat_ns });
    let mut r = result(asked, vec![readers.clone(), writer.clone()]);
    r.total = of("total", readers.read, writer.write);
    r.total.flush = writer.flush;
    let portion = |name: &str, share: f64, fair_share: f64, starved: bool| Portion {
        name: name.to_owned(),
        share,
        fair_share,
        starved,
    };
    r.fairness = Some(Fairness {
        jobs: vec![portion("readers", 0.005, 0.8, true), portion("writer", 0.995, 0.2, false)],
        worker_index: 0.91,
        starved_workers: vec!["readers/3".to_owned()],
    });
    r.inflation = foreground::inflation(&[of("readers", direction(400_000, 4096, 90, 300), none())], &r.jobs);
    r.promises = vec!["A write is done when the device has taken it (O_DIRECT).".to_owned()];
    r.host = surroundings();
    s.send(Message::RunFinished(Ok(Box::new(r))));
    s
}

/// A device behind a link, warm, in a group with limits.
fn surroundings() -> HostFacts {
    let warm = |now_c| Temperature { now_c, max_c: Some(70.0), critical_c: None };
    let link = PcieLink { speed_gt_s: 8.0, width: 2, max_speed_gt_s: 8.0, max_width: 4 };
    HostFacts {
        cpus: Some(8),
        cgroup: GroupLimits {
            cpus: Some(2.0),
            io: vec![IoLimit {
                device: name("nvme0n1"),
                read_bytes_per_s: Some(100 << 20),
                write_bytes_per_s: None,
                read_iops: None,
                write_iops: Some(500),
            }],
        },
        devices: vec![DeviceFacts {
            name: name("nvme0n1"),
            attachment: Attachment { pcie: Some(link), ..Attachment::default() },
            file_cached: None,
            temperature: Some(warm(38.0)),
            after: DeviceAfter { temperature: Some(warm(61.0)), ..DeviceAfter::default() },
        }],
        ..HostFacts::default()
    }
}

/// An open loop that asked for more than the device can do.
pub fn finished_overloaded(width: u16, height: u16) -> Screen {
    let mut s = form(width, height, "randread-4k");
    s.keys("<Home>");
    go_to(&mut s, "more");
    s.keys("<Enter>");
    set(&mut s, "rate_iops", "5000");
    s.keys("<End><Enter>");
    let mut read = direction(21_000, 4096, 240, 900);
    read.lat_ns = direction(21_000, 4096, 950_000, 1_900_000).clat_ns;
    read.asked_iops = Some(5000.0);
    let mut one = of("randread-4k", read, DirectionResult::default());
    one.not_started = 28_950;
    let mut r = result(s.model.workload.jobs.clone(), vec![one]);
    r.warnings = vec!["randread-4k: overloaded: 5000 I/Os/s were due and 2100 were done".to_owned()];
    s.send(Message::RunFinished(Ok(Box::new(r))));
    s
}
