//! What one trial found: the engine's figures beside the kernel's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::foreground::{Alone, Inflation};
use super::host::HostFacts;
use crate::sys::name::KernelName;
use crate::sys::process_io::Mover;
use crate::units::Bytes;
use crate::workload::fairness::Fairness;
use crate::workload::job::Job;
use crate::workload::result::JobResult;

/// What the device's own counters did over the window of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceWindow {
    /// The device whose counters these are.
    pub name: KernelName,
    /// Completed reads.
    pub read_ios: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Completed writes.
    pub write_ios: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Mean read at the device; None without reads.
    pub read_size_bytes: Option<f64>,
    /// Mean write at the device.
    pub write_size_bytes: Option<f64>,
    /// I/Os folded into others.
    pub merged: u64,
    /// Engine bytes over device bytes; None if the device moved nothing.
    pub engine_share: Option<f64>,
}

/// I/O of others in the window, and who may have done it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherIo {
    /// The whole device.
    pub device: KernelName,
    /// All that it read, whoever asked for it.
    pub device_read_bytes: Bytes,
    /// All that it wrote.
    pub device_write_bytes: Bytes,
    /// Bytes it read beyond the engine's. None where the engine's own can not be told apart, because the page cache lies
    /// between.
    pub read_bytes: Option<Bytes>,
    /// Bytes it wrote beyond the engine's.
    pub write_bytes: Option<Bytes>,
    /// So much of what was written the target's file system may have written of its own: 0 where there is none between.
    pub file_system_bytes: Bytes,
    /// The other processes that moved most meanwhile, on all devices of the host together: the kernel does not count
    /// them by device.
    pub processes: Vec<Mover>,
    /// Whether every process could be looked at.
    pub processes_complete: bool,
}

/// CPU time the run's workers used in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuUse {
    /// In user space, seconds.
    pub user_s: f64,
    /// In the kernel, seconds.
    pub system_s: f64,
    /// User time per I/O, ns; None without I/Os.
    pub user_ns_per_io: Option<f64>,
    /// Kernel time per I/O, ns.
    pub system_ns_per_io: Option<f64>,
    /// User time per GiB moved, seconds; None if nothing was.
    pub user_s_per_gib: Option<f64>,
    /// Kernel time per GiB moved, seconds.
    pub system_s_per_gib: Option<f64>,
    /// Share of the time of all CPUs of the host that was busy, percent. Other programs are in it, and what kernel
    /// threads did for the workers (a loop device's, io_uring's, md's), which no figure above has.
    pub host_busy_pct: Option<f64>,
    /// Share that the hypervisor gave to other machines, percent.
    pub host_stolen_pct: Option<f64>,
}

/// One trial, in the shape of `run --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialResult {
    /// What was read: a device node or a file.
    pub target: String,
    /// The jobs as they were run.
    pub asked: Vec<Job>,
    /// The engine in use and its setup flags, in words.
    pub engine: String,
    /// The measured window, seconds.
    pub window_s: f64,
    /// Each job's figures.
    pub jobs: Vec<JobResult>,
    /// All jobs merged.
    pub total: JobResult,
    /// Who got how much of what the device gave; None if nothing competed.
    pub fairness: Option<Fairness>,
    /// What the way of reading and writing promises, and what it does not.
    pub promises: Vec<String>,
    /// The kernel's count; None if the target's device can not be found.
    pub device: Option<DeviceWindow>,
    /// What others did to it meanwhile; None if that can not be known.
    pub others: Option<OtherIo>,
    /// CPU time.
    pub cpu: CpuUse,
    /// Queue attributes before, by name.
    pub settings_before: BTreeMap<String, Option<String>>,
    /// Queue attributes after.
    pub settings_after: BTreeMap<String, Option<String>>,
    /// Foreground jobs by themselves; None without any, or if the run ended before the others began.
    pub alone: Option<Alone>,
    /// What the others cost the foreground jobs.
    pub inflation: Vec<Inflation>,
    /// Facts of the host.
    pub host: HostFacts,
    /// Stopped before its time.
    pub interrupted: bool,
    /// Why it stopped by itself; None if it did not.
    pub stopped_for: Option<String>,
    /// What should be known before the figures are believed, each a sentence made from a fact.
    pub warnings: Vec<String>,
}
