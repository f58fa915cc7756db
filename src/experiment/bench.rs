//! What an experiment is conducted on: a queue that can be set, and a workload that can be run on it. The kernel's in the
//! program, made up in tests and in the simulation.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::tuning::change::Change;
use crate::units::Bytes;
use crate::workload::job::Job;

use super::metric::Readings;
use super::passage::Passage;

/// What a device's own counters moved in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Read.
    pub read: Bytes,
    /// Written.
    pub written: Bytes,
}

/// One measured execution, as far as gates and analysis need it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Measured time, seconds.
    pub window_s: f64,
    /// I/Os completed in it.
    pub ios: u64,
    /// The figures.
    pub readings: Readings,
    /// What the engine moved.
    pub engine: Moved,
    /// What the device says it moved; None if it does not say.
    pub device: Option<Moved>,
    /// How the two relate.
    pub passage: Passage,
    /// I/Os that failed or were short.
    pub errors: u64,
    /// Rate of each 100 ms of the measured time, in the order of time: bytes per second.
    pub slices: Vec<f64>,
    /// Share of the CPU time that the engine's workers could have used, 0 to 1; None if unknown.
    pub engine_cpu: Option<f64>,
    /// Share of the time that the hypervisor gave to others, 0 to 1.
    pub stolen: Option<f64>,
    /// What is said of heat or throttling, if anything.
    pub heat: Option<String>,
    /// Time asleep meanwhile, seconds: the boot clock's advance less the monotonic clock's.
    pub asleep_s: f64,
    /// This program was stopped meanwhile, by SIGSTOP or SIGTSTP, and told to go on.
    pub halted: bool,
    /// Settings right before and right after, read by the trial itself.
    pub settings: (QueueState, QueueState),
    /// The device right after.
    pub id: Option<DeviceId>,
    /// Its size right after.
    pub size: Option<Bytes>,
    /// Sentences that the trial makes of its facts.
    pub warnings: Vec<String>,
    /// The trial in full, for the record: the shape of `run --json`.
    pub detail: serde_json::Value,
}

/// The device and its queue before anything was written: what every trial is to find, and what is gone back to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The queue.
    pub settings: QueueState,
    /// Which device it is; None on a bench that has none.
    pub id: Option<DeviceId>,
    /// Its size; None if it does not say.
    pub size: Option<Bytes>,
}

/// Why a bench can not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BenchError {
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// The kernel does not take a setting; everything was put back.
    #[error("{0}")]
    Refused(String),
    /// The device is gone, or another one.
    #[error("{0}")]
    Gone(String),
    /// This trial failed; another may not.
    #[error("{0}")]
    Failed(String),
    /// Nothing further can be done.
    #[error("{0}")]
    Broken(String),
}

/// A queue and a workload. Whatever it changes it holds: [`Bench::put_back`] or its end puts it back.
pub trait Bench {
    /// The queue as it reads now; empty if the device is gone.
    fn settings(&mut self) -> QueueState;

    /// Waits until nothing is in flight and little is dirty.
    ///
    /// # Errors
    /// Stopped, gone, or it does not come to rest.
    fn drain(&mut self, stop: &AtomicBool) -> Result<(), BenchError>;

    /// Writes what differs, in the order that is safe, and reads everything back.
    ///
    /// # Errors
    /// A refusal, or the device is gone.
    fn apply(&mut self, changes: &[Change]) -> Result<QueueState, BenchError>;

    /// Writes just these, one after the other as an echo does, and reads everything back.
    ///
    /// # Errors
    /// As [`Bench::apply`].
    fn write_bare(&mut self, changes: &[Change]) -> Result<QueueState, BenchError>;

    /// Waits this long.
    ///
    /// # Errors
    /// Stopped.
    fn settle(&mut self, time: Duration, stop: &AtomicBool) -> Result<(), BenchError>;

    /// Runs the jobs once.
    ///
    /// # Errors
    /// Stopped, gone, or the workload failed.
    fn measure(&mut self, jobs: &[Job], stop: &AtomicBool) -> Result<Measured, BenchError>;

    /// Puts back everything that was changed. Sentences on what could not be.
    fn put_back(&mut self) -> Vec<String>;
}
