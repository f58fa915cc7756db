//! An experiment to record: made up, so that every figure of it is known.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use blktune::clock::SystemClock;
use blktune::experiment::design::{Blocks, Cell, Design, Factor, FactorKind, Isolation, Workload};
use blktune::experiment::metric::{Metric, Readings};
use blktune::experiment::trial::{Finding, Gate, PlannedTrial, Role, Trial};
use blktune::record::manifest::{Asked, Manifest};
use blktune::sys::device::{Device, Kind};
use blktune::sys::name::KernelName;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::sys::root::SysRoot;
use blktune::units::Bytes;
use blktune::workload::preset;

/// A design of two cells and six blocks.
pub fn design() -> Design {
    let levels = || vec!["none".to_owned(), "mq-deadline".to_owned()];
    let cell = |name: String| Cell { levels: vec![name.clone()], name };
    Design {
        device: "sdx".to_owned(),
        target: None,
        factors: vec![Factor { name: "scheduler".to_owned(), kind: FactorKind::Setting, levels: levels() }],
        cells: levels().into_iter().map(cell).collect(),
        workload: Workload { preset: "randread-4k".to_owned(), set: vec!["bs=8k".to_owned()] },
        metric: Metric::Iops,
        margin: 0.03,
        trial: Duration::from_secs(8),
        ramp: Duration::from_secs(2),
        settle: Duration::from_secs(1),
        blocks: Blocks::Fixed(6),
        lead_ins: true,
        isolation: Isolation::Isolated,
        control: false,
        calibration: false,
        seed: 7261,
    }
}

/// What is planned: a baseline trial, six blocks with their lead-ins, a baseline trial.
pub fn plan() -> Vec<PlannedTrial> {
    let mut out: Vec<PlannedTrial> = Vec::new();
    let mut add = |role, cell, block, position| {
        let number = u32::try_from(out.len()).unwrap() + 1;
        out.push(PlannedTrial { number, role, cell, block, position, attempt: 1 });
    };
    add(Role::BaselineBefore, None, None, None);
    for block in 1..=6 {
        let order = if block % 2 == 1 { [0, 1, 1, 0] } else { [1, 0, 0, 1] };
        add(Role::LeadIn, Some(order[0]), Some(block), None);
        for (position, cell) in (1..).zip(order) {
            add(Role::Trial, Some(cell), Some(block), Some(position));
        }
    }
    add(Role::BaselineAfter, None, None, None);
    out
}

/// The trial of a plan: the second cell reads 5% more, with little noise.
pub fn trial(plan: &PlannedTrial) -> Trial {
    let n = f64::from(plan.number);
    let base = if plan.cell == Some(1) { 10_500.0 } else { 10_000.0 };
    let iops = base * (1.0 + 0.002 * (n * 1.7).sin());
    let readings: Readings = BTreeMap::from([
        (Metric::Throughput, iops * 8192.0),
        (Metric::Iops, iops),
        (Metric::Mean, 1e9 / iops),
        (Metric::P99, 3.1e9 / iops),
    ]);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some tens of thousands
    let done = (iops * 8.0) as u64;
    Trial {
        plan: plan.clone(),
        started_s: (n - 1.0) * 11.25,
        window_s: 8.000_123,
        ios: done,
        bytes: done * 8192,
        readings,
        findings: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The same, voided by a gate.
pub fn void(plan: &PlannedTrial, why: &str) -> Trial {
    let finding = Finding { gate: Gate::G1, voids: true, text: why.to_owned() };
    Trial { findings: vec![finding], ..trial(plan) }
}

/// A device of that model.
pub fn device(model: &str) -> Device {
    let name = KernelName::new("sdx").unwrap();
    Device { kind: Kind::Ssd, size: Bytes(480 << 30), model: Some(model.to_owned()), ..Device::sketch(name) }
}

/// A queue as it was found.
pub fn queue() -> QueueState {
    let rows = [
        ("scheduler", Some("none [mq-deadline] bfq"), true),
        ("read_ahead_kb", Some("128"), true),
        ("nr_requests", Some("64"), true),
        ("rotational", Some("0"), true),
        ("max_hw_sectors_kb", Some("512"), false),
        ("wbt_lat_usec", None, true),
    ];
    let attribute = |value: Option<&str>, writable| Attribute { value: value.map(str::to_owned), writable };
    QueueState { attributes: rows.into_iter().map(|(n, v, w)| (n.to_owned(), attribute(v, w))).collect() }
}

/// A manifest of all this, as the program gathers it on a host that says little.
pub fn manifest(model: &str) -> Manifest {
    let tree = tempfile::tempdir().unwrap();
    let put = |file: &str, text: &str| {
        let path = tree.path().join("proc").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("cmdline", "root=/dev/sda1 ro quiet\n");
    put("cpuinfo", "processor\t: 0\nmodel name\t: Test CPU 3000\n");
    put("sys/kernel/random/boot_id", "0b7f3d9e-0000-4000-8000-00000000000a\n");
    let design = design();
    let mut jobs = preset::find("randread-4k").unwrap().jobs();
    for job in &mut jobs {
        job.set("bs=8k").unwrap();
    }
    let command: Vec<String> = [
        "ab",
        "sdx",
        "--factor",
        "scheduler=none,mq-deadline",
        "--job",
        "randread-4k",
        "--set",
        "bs=8k",
        "--blocks",
        "6",
        "--seed",
        "7261",
    ]
    .map(str::to_owned)
    .to_vec();
    let asked = Asked {
        command: &command,
        design: &design,
        jobs: &jobs,
        plan: &plan(),
        notes: &["One program, one pattern: other workloads may answer otherwise.".to_owned()],
        calibration: None,
        on_device: None,
        started: "2026-12-02T10:20:00+01:00",
    };
    Manifest::gather(&SysRoot::captured(tree.path()), &SystemClock, &device(model), &queue(), asked)
}

/// All files of a directory, by name.
pub fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    std::fs::read_dir(dir)
        .unwrap()
        .flatten()
        .map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()))
        .collect()
}
