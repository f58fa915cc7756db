//! What an experiment set out to do, of which device, on which host: written before its first trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SCHEMA;
use super::writer::signed;
use crate::clock::Clock;
use crate::experiment::calibration::Said;
use crate::experiment::design::Design;
use crate::experiment::trial::PlannedTrial;
use crate::sys::attr;
use crate::sys::device::Device;
use crate::sys::queue::{Attribute, QueueState};
use crate::sys::root::SysRoot;
use crate::trial::host::HostFacts;
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::preset;

/// All of it. Fields that a later version adds are passed over by this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `blktune.record/1`.
    pub schema: String,
    /// The program's name and version.
    pub program: String,
    /// The command line that asked for it, word by word, without the program's name; empty if it was asked for on the
    /// screen.
    #[serde(default)]
    pub command: Vec<String>,
    /// When it began, by the wall clock, as people and other programs read it: 2026-12-02T10:20:00+01:00.
    pub started: String,
    /// The same in nanoseconds since 1970.
    pub started_wall_ns: u64,
    /// The same by the boot clock, nanoseconds.
    pub started_boot_ns: u64,
    /// The host.
    pub host: HostRecord,
    /// The device whose settings are varied.
    pub device: DeviceRecord,
    /// Its queue as it was found: every attribute.
    pub settings: BTreeMap<String, SettingRecord>,
    /// What is run.
    pub workload: WorkloadRecord,
    /// What is asked.
    pub design: Design,
    /// The trials that are planned, as far as the design fixes them.
    pub plan: Vec<PlannedTrial>,
    /// The record lies on the device that is measured, in words; events then wait until a trial has ended.
    pub on_device: Option<String>,
    /// What was said before the start, each a sentence: weak workloads, cells that can not differ.
    #[serde(default)]
    pub notes: Vec<String>,
    /// What the last calibration said of it before the start.
    #[serde(default)]
    pub calibration: Option<Said>,
}

/// What of the host bears on what is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Kernel release.
    pub kernel: Option<String>,
    /// Its build.
    pub build: Option<String>,
    /// Machine architecture.
    pub machine: Option<String>,
    /// What the kernel was booted with (`/proc/cmdline`).
    pub boot_options: Option<String>,
    /// Which boot it is (`/proc/sys/kernel/random/boot_id`).
    pub boot_id: Option<String>,
    /// The processor's name.
    pub cpu: Option<String>,
    /// Processors that this program may use.
    pub cpus: Option<usize>,
    /// A virtual machine, where the CPU says so.
    pub virtualised: Option<bool>,
    /// The same facts as `run --json` has under `host`.
    #[serde(default)]
    pub facts: Value,
}

/// Who the device is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Kernel name.
    pub name: String,
    /// Device mapper's own name.
    pub dm_name: Option<String>,
    /// Number, as in 8:0.
    pub devnum: Option<String>,
    /// Sequence number within its boot.
    pub diskseq: Option<u64>,
    /// World-wide id.
    pub wwid: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// What it is, in the word of `list`.
    pub kind: String,
    /// The fact that this rests on.
    pub kind_evidence: String,
    /// Vendor and model.
    pub model: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The file behind a loop device.
    pub backing_file: Option<String>,
    /// What it is built on.
    pub built_on: Vec<String>,
}

/// One attribute below `queue/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRecord {
    /// As the kernel printed it; None if it could not be read.
    pub value: Option<String>,
    /// Whether it can be written.
    pub writable: bool,
}

/// What is run in every cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadRecord {
    /// The preset's name.
    pub preset: String,
    /// What `--set` changed of it.
    pub set: Vec<String>,
    /// The question that the preset answers.
    pub question: Option<String>,
    /// What it must not be used for.
    pub not_for: Option<String>,
    /// What it reads or writes, as the operator would type it.
    pub target: Option<String>,
    /// The jobs in full.
    pub jobs: Vec<Value>,
    /// The same in words, one each.
    pub words: Vec<String>,
}

/// What a manifest is made of that the kernel does not tell.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The command line without the program's name.
    pub command: &'a [String],
    /// The question.
    pub design: &'a Design,
    /// The jobs of the baseline, with the design's times.
    pub jobs: &'a [Job],
    /// The planned trials.
    pub plan: &'a [PlannedTrial],
    /// What was said before the start.
    pub notes: &'a [String],
    /// What the last calibration says of it.
    pub calibration: Option<&'a Said>,
    /// What [`super::place::on_device`] says of where the record lies.
    pub on_device: Option<&'a str>,
    /// The moment of the start, in words: with a time zone, so it comes from outside.
    pub started: &'a str,
}

impl Manifest {
    /// Gathers it. `device` and `settings` are as they were found, before anything is changed.
    #[must_use]
    pub fn gather(
        root: &SysRoot,
        clock: &dyn Clock,
        device: &Device,
        settings: &QueueState,
        asked: Asked<'_>,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            program: concat!("blktune ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: asked.command.to_vec(),
            started: asked.started.to_owned(),
            started_wall_ns: clock.wall().0,
            started_boot_ns: clock.boot().0,
            host: HostRecord::read(root, device),
            device: DeviceRecord::of(device),
            settings: settings.attributes.iter().map(|(n, a)| (n.clone(), SettingRecord::of(a))).collect(),
            workload: WorkloadRecord::of(asked.design, asked.jobs),
            design: asked.design.clone(),
            plan: asked.plan.to_vec(),
            on_device: asked.on_device.map(str::to_owned),
            notes: asked.notes.to_vec(),
            calibration: asked.calibration.cloned(),
        }
    }

    /// The queue as it was found.
    #[must_use]
    pub fn queue(&self) -> QueueState {
        let attribute = |s: &SettingRecord| Attribute { value: s.value.clone(), writable: s.writable };
        QueueState { attributes: self.settings.iter().map(|(n, s)| (n.clone(), attribute(s))).collect() }
    }

    /// When it began by the boot clock, in ns. After a reboot it is told by the wall clock, and may lie before zero.
    pub(super) fn started_on_this_boot(&self, clock: &dyn Clock) -> i128 {
        let (began, now) = (signed(Nanos(self.started_boot_ns)), signed(clock.boot()));
        let by_wall = now - (signed(clock.wall()) - signed(Nanos(self.started_wall_ns)));
        // Of this boot both say the same, but for the wall clock being set.
        let same_boot = self.host.boot_id.is_some() && self.host.boot_id == boot_id(&SysRoot::host());
        if same_boot { began } else { by_wall }
    }
}

impl HostRecord {
    fn read(root: &SysRoot, device: &Device) -> Self {
        let facts = HostFacts::read(root, Some(device.name()), None);
        let line = |file| std::fs::read(root.proc(file)).ok().map(|b| attr::clean(b.trim_ascii()));
        Self {
            kernel: facts.kernel.clone(),
            build: facts.build.clone(),
            machine: facts.machine.clone(),
            boot_options: line("cmdline"),
            boot_id: boot_id(root),
            cpu: std::fs::read(root.proc("cpuinfo")).ok().and_then(|b| processor(&attr_lines(&b))),
            cpus: facts.cpus,
            virtualised: facts.virtualised,
            facts: serde_json::to_value(&facts).unwrap_or_default(),
        }
    }
}

/// Which boot it is; None where the kernel does not say.
#[must_use]
pub fn boot_id(root: &SysRoot) -> Option<String> {
    attr::read_opt(&root.proc("sys/kernel/random/boot_id"))
}

fn attr_lines(bytes: &[u8]) -> Vec<String> {
    bytes.split(|b| *b == b'\n').map(attr::clean).collect()
}

/// The first processor's name in the lines of `/proc/cpuinfo`. What names it differs between architectures.
fn processor(lines: &[String]) -> Option<String> {
    let value = |key: &str| {
        lines.iter().find_map(|l| {
            let (k, v) = l.split_once(':')?;
            (k.trim() == key && !v.trim().is_empty()).then(|| v.trim().to_owned())
        })
    };
    ["model name", "Model", "cpu model", "Processor", "cpu", "uarch"].into_iter().find_map(value)
}

impl DeviceRecord {
    fn of(device: &Device) -> Self {
        let text = |s: &Option<String>| s.as_ref().map(|s| attr::clean(s.as_bytes()));
        Self {
            name: device.name().kernel(),
            dm_name: text(&device.dm_name),
            devnum: device.id.devnum.map(|d| d.to_string()),
            diskseq: device.id.diskseq,
            wwid: text(&device.id.wwid),
            serial: text(&device.id.serial),
            kind: device.kind.word().to_owned(),
            kind_evidence: device.kind_evidence.clone(),
            model: text(&device.model),
            size_bytes: device.size.0,
            backing_file: text(&device.backing_file),
            built_on: device.built_on.iter().map(crate::sys::name::KernelName::kernel).collect(),
        }
    }
}

impl SettingRecord {
    fn of(a: &Attribute) -> Self {
        Self { value: a.value.as_ref().map(|v| attr::clean(v.as_bytes())), writable: a.writable }
    }
}

impl WorkloadRecord {
    fn of(design: &Design, jobs: &[Job]) -> Self {
        let preset = preset::find(&design.workload.preset);
        Self {
            preset: design.workload.preset.clone(),
            set: design.workload.set.clone(),
            question: preset.map(|p| p.question.to_owned()),
            not_for: preset.map(|p| p.not_for.to_owned()),
            target: design.target.as_ref().map(|t| attr::clean(t.to_string_lossy().as_bytes())),
            jobs: jobs.iter().map(|j| serde_json::to_value(j).unwrap_or_default()).collect(),
            words: jobs.iter().map(ToString::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_named_by_what_its_architecture_calls_it() {
        let lines = |t: &str| attr_lines(t.as_bytes());
        assert_eq!(
            processor(&lines("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon X\n")).as_deref(),
            Some("Xeon X")
        );
        assert_eq!(
            processor(&lines("processor\t: 0\nModel\t\t: Raspberry Pi 4\n")).as_deref(),
            Some("Raspberry Pi 4")
        );
        assert_eq!(processor(&lines("processor\t: 0\n")), None);
    }
}
