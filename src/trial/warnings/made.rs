//! A trial without a flaw, for tests that give it one.

use super::Facts;
use crate::sys::name::KernelName;
use crate::sys::queue::{Attribute, QueueState};
use crate::sys::syscall::ThreadCpu;
use crate::trial::host::{DeviceAfter, DeviceFacts, HostFacts};
use crate::trial::result::{CpuUse, DeviceWindow, OtherIo};
use crate::units::{Bytes, Nanos};
use crate::workload::job::Job;
use crate::workload::outcome::RunOutcome;
use crate::workload::preset;
use crate::workload::result::{DirectionResult, JobResult};

/// All that a warning can be made of.
pub(super) struct Made {
    pub(super) job: Job,
    pub(super) outcome: RunOutcome,
    pub(super) device: Option<DeviceWindow>,
    pub(super) others: Option<OtherIo>,
    pub(super) cpu: CpuUse,
    pub(super) host: HostFacts,
    pub(super) has_device: bool,
    pub(super) iostats: bool,
    pub(super) before: QueueState,
    pub(super) after: QueueState,
    pub(super) target: Bytes,
    pub(super) stopped_for: Option<&'static str>,
}

impl Made {
    fn new() -> Self {
        let sda = KernelName::new("sda").unwrap();
        let bytes = 1 << 30;
        #[allow(clippy::cast_precision_loss)] // a rate
        let rate = |n: u64| n as f64 / 10.0;
        let read = DirectionResult {
            ios: bytes / 4096,
            bytes: Bytes(bytes),
            iops: rate(bytes / 4096),
            bytes_per_s: rate(bytes),
            ..DirectionResult::default()
        };
        let mut queue = QueueState::default();
        for (name, value) in [("scheduler", "[none] mq-deadline bfq"), ("nr_requests", "256")] {
            let value = Some(value.to_owned());
            queue.attributes.insert(name.to_owned(), Attribute { value, writable: true });
        }
        Self {
            job: preset::find("randread-4k").unwrap().jobs().remove(0),
            outcome: RunOutcome {
                jobs: Vec::new(),
                total: JobResult { read, ..JobResult::default() },
                window: Nanos(10_000_000_000),
                engine: String::new(),
                cpu: ThreadCpu::default(),
                fairness: None,
                promises: Vec::new(),
                failure: None,
                interrupted: false,
                warnings: Vec::new(),
            },
            device: Some(DeviceWindow {
                name: sda.clone(),
                read_ios: 1,
                read_bytes: Bytes(bytes),
                write_ios: 0,
                write_bytes: Bytes(0),
                read_size_bytes: None,
                write_size_bytes: None,
                merged: 0,
                engine_share: None,
            }),
            others: Some(OtherIo {
                device: sda.clone(),
                device_read_bytes: Bytes(bytes),
                device_write_bytes: Bytes(0),
                read_bytes: Some(Bytes(0)),
                write_bytes: Some(Bytes(0)),
                file_system_bytes: Bytes(0),
                processes: Vec::new(),
                processes_complete: true,
            }),
            cpu: CpuUse { host_busy_pct: Some(20.0), host_stolen_pct: Some(0.0), ..CpuUse::default() },
            host: HostFacts {
                cpus: Some(8),
                devices: vec![DeviceFacts {
                    name: sda,
                    attachment: crate::sys::link::Attachment::default(),
                    file_cached: None,
                    temperature: None,
                    after: DeviceAfter::default(),
                }],
                ..HostFacts::default()
            },
            has_device: true,
            iostats: true,
            before: queue.clone(),
            after: queue,
            target: Bytes(1 << 40),
            stopped_for: None,
        }
    }

    fn warnings(&self) -> Vec<String> {
        Facts {
            jobs: std::slice::from_ref(&self.job),
            outcome: &self.outcome,
            device: self.device.as_ref(),
            others: self.others.as_ref(),
            cpu: &self.cpu,
            host: &self.host,
            has_device: self.has_device,
            iostats: self.iostats,
            before: &self.before,
            after: &self.after,
            target: self.target,
            stopped_for: self.stopped_for,
        }
        .warnings()
    }
}

/// What is said of the trial after `flaw`.
pub(super) fn said(flaw: impl FnOnce(&mut Made)) -> Vec<String> {
    let mut made = Made::new();
    flaw(&mut made);
    made.warnings()
}

/// There is one sentence, and this is in it.
pub(super) fn one(part: &str, got: &[String]) {
    assert!(got.len() == 1 && got[0].contains(part), "{part}: {got:?}");
}
