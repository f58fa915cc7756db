//! The states of the screen that are worth a picture, each reached by messages and keys alone.

// Each test binary uses its own part of it, and fails where it can not set up what it needs.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use std::collections::BTreeMap;

use blktune::app::message::{KernelFigures, Message};
use blktune::trial::result::{CpuUse, DeviceWindow, TrialResult};
use blktune::tuning::change::{ApplyReport, ChangeReport, Outcome, SideEffect};
use blktune::units::{Bytes, Nanos};
use blktune::workload::job::Rw;
use blktune::workload::live::{JobProgress, LatencyStep, LivePercentiles, Phase, Progress, SideProgress};
use blktune::workload::result::{DirectionResult, JobResult, LatencySummary};

use super::model::{Screen, job, name, queue};

/// The settings of the disk, read and open.
pub fn settings(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sda<Enter>");
    s.keys("<Enter>");
    s.send(Message::Queue { device: name("sda"), state: queue("mq-deadline", 4096) });
    s
}

/// The same with a scheduler and a read-ahead staged.
pub fn staged(width: u16, height: u16) -> Screen {
    let mut s = settings(width, height);
    s.keys("g  ");
    while s.model.settings.setting.as_deref() != Some("read_ahead_kb") {
        s.keys("j");
    }
    s.keys("h");
    s
}

/// One change with its outcome.
pub fn report(
    setting: &str,
    requested: &str,
    before: &str,
    effective: &str,
    outcome: Outcome,
) -> ChangeReport {
    ChangeReport {
        device: name("sda"),
        name: setting.to_owned(),
        requested: requested.to_owned(),
        before: Some(before.to_owned()),
        effective: Some(effective.to_owned()),
        outcome,
        message: None,
    }
}

/// The report of changes, with one clamped and a side effect.
pub fn outcome(width: u16, height: u16) -> Screen {
    let mut s = staged(width, height);
    s.keys("c<Enter>");
    let mut clamped = report("nr_requests", "5000", "256", "2048", Outcome::Clamped);
    clamped.message = Some("the kernel allows at most 2048 requests under a scheduler".to_owned());
    let side = SideEffect {
        device: name("sda"),
        name: "wbt_lat_usec".to_owned(),
        before: Some("75000".to_owned()),
        after: Some("0".to_owned()),
    };
    let result = ApplyReport {
        changes: vec![report("scheduler", "bfq", "mq-deadline", "bfq", Outcome::Applied), clamped],
        side_effects: vec![side],
        ..ApplyReport::default()
    };
    let device = s.id("sda");
    s.send(Message::Applied { device, result: Ok(result) });
    s
}

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
        jobs: vec![JobProgress { read, write: SideProgress::default() }],
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
    let all = JobResult { name: "all".to_owned(), read, ..JobResult::default() };
    let result = TrialResult {
        target: "/dev/sdb".to_owned(),
        asked: vec![job("randread-4k-qd32", Rw::RandRead, 4096, 32)],
        engine: "io_uring".to_owned(),
        window_s: 10.0,
        jobs: vec![all.clone()],
        total: all,
        fairness: None,
        promises: Vec::new(),
        device: Some(DeviceWindow {
            name: name("sdb"),
            read_ios: 1_071_000,
            read_bytes: Bytes(1_071_000 * 4096),
            write_ios: 0,
            write_bytes: Bytes(0),
            read_size_bytes: Some(4096.0),
            write_size_bytes: None,
            merged: 0,
            engine_share: Some(0.98),
        }),
        cpu: CpuUse {
            user_s: 0.6,
            system_s: 2.1,
            user_ns_per_io: Some(571.0),
            system_ns_per_io: Some(2000.0),
        },
        settings_before: BTreeMap::new(),
        settings_after: BTreeMap::new(),
        host: BTreeMap::new(),
        interrupted: false,
        warnings: vec![
            "2% of the device's reads were not the engine's: something else was reading sdb".to_owned(),
        ],
    };
    s.send(Message::RunFinished(Ok(Box::new(result))));
    s
}
