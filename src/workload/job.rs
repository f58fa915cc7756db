//! A job: what is asked of the engine, in fio's terms.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::affinity::Cpus;
use super::arrivals::RateProcess;
use super::durability::{DropCaches, Sync};
use super::keys::JobError;
use super::priority::Priority;
use crate::units::{Bytes, Nanos, events};

/// The access pattern, fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Random reads.
    RandRead,
    /// Sequential writes.
    Write,
    /// Random writes.
    RandWrite,
    /// Sequential, reads and writes mixed.
    Rw,
    /// Random, reads and writes mixed.
    RandRw,
}

impl Rw {
    /// fio's word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::RandRead => "randread",
            Rw::Write => "write",
            Rw::RandWrite => "randwrite",
            Rw::Rw => "rw",
            Rw::RandRw => "randrw",
        }
    }

    /// Whether any I/O of it changes the target.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }

    /// Whether offsets are random.
    #[must_use]
    pub const fn random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw)
    }
}

/// Which engine issues the I/O, fio's `ioengine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// The kernel's submission and completion rings; keeps `iodepth` I/Os in flight.
    IoUring,
    /// `pread` and `pwrite`: one I/O at a time.
    Psync,
    /// None: offsets are drawn, books are kept, no I/O is issued. What it costs is what the program itself costs.
    Null,
}

impl EngineKind {
    /// The word of `--set engine=`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            EngineKind::IoUring => "io_uring",
            EngineKind::Psync => "psync",
            EngineKind::Null => "null",
        }
    }
}

/// A job. Every field has fio's name and meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(clippy::struct_excessive_bools)] // fio's switches, each independent of the others
pub struct Job {
    /// What results call it: the preset's name.
    pub name: String,
    /// Pattern.
    pub rw: Rw,
    /// Block size of every I/O.
    pub bs: Bytes,
    /// I/Os kept in flight by each worker.
    pub iodepth: u32,
    /// Workers, each a thread with a descriptor of its own.
    pub numjobs: u32,
    /// Share of reads in a mixed pattern, percent.
    pub rwmixread: u8,
    /// Random offsets are drawn anew each time, so some blocks repeat before others were met. Without it every block is
    /// met once before any is met again.
    pub norandommap: bool,
    /// What random offsets are multiples of; None for `bs`.
    pub align: Option<Bytes>,
    /// Engine.
    pub engine: EngineKind,
    /// The engine was asked for by name, so another one may not take its place where the kernel lacks it.
    #[serde(skip)]
    pub engine_required: bool,
    /// O_DIRECT, past the page cache.
    pub direct: bool,
    /// The worker asks the device for answers (`IORING_SETUP_IOPOLL`), instead of being interrupted by it.
    pub hipri: bool,
    /// Whether each write waits until it is safe.
    pub sync: Sync,
    /// `fsync` after so many writes of a worker; 0 for never.
    pub fsync: u32,
    /// `fdatasync` after so many writes of a worker; 0 for never.
    pub fdatasync: u32,
    /// `fsync` after the last write, inside the measured time.
    pub end_fsync: bool,
    /// How much of the target is used from `offset` on; None is all of it. Also the size of a scratch file.
    pub size: Option<Bytes>,
    /// Where the used part of the target begins.
    pub offset: Bytes,
    /// Measured time.
    #[serde(serialize_with = "seconds")]
    pub runtime: Duration,
    /// Ends after this many measured I/Os in all, if that comes before `runtime`.
    pub number_ios: Option<u64>,
    /// Time before measuring starts, left out of every figure.
    #[serde(serialize_with = "seconds")]
    pub ramp: Duration,
    /// Most bytes per second of a worker; see `rate_process`.
    pub rate: Option<Bytes>,
    /// Most I/Os per second of a worker; see `rate_process`.
    pub rate_iops: Option<u64>,
    /// With a rate: when I/Os are due. They are due whether or not the ones before were answered, and latency is counted
    /// from there.
    pub rate_process: RateProcess,
    /// Pause between the answer to an I/O and the one that takes its place.
    #[serde(serialize_with = "seconds")]
    pub thinktime: Duration,
    /// Pause before the job's first I/O.
    #[serde(serialize_with = "seconds")]
    pub startdelay: Duration,
    /// I/O priority of the workers; None leaves that of the program.
    pub prio: Option<Priority>,
    /// CPUs that the workers may run on; None for all.
    pub cpus_allowed: Option<Cpus>,
    /// Latencies whose excess is counted.
    #[serde(serialize_with = "millis")]
    pub limits_ms: Vec<Nanos>,
    /// Seed of the random offsets; the same seed gives the same offsets.
    pub seed: u64,
    /// What is dropped from the page cache before the start.
    pub drop_caches: DropCaches,
    /// Of several jobs: measured alone first, for the same time, and then beside the others.
    pub foreground: bool,
}

fn millis<S: Serializer>(limits: &[Nanos], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(limits.iter().map(|l| l.millis()))
}

fn seconds<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_f64(d.as_secs_f64())
}

/// Most I/Os a worker may keep in flight: enough for any device, and well inside the ring's own limit of 32768.
pub const MAX_IODEPTH: u32 = 4096;
/// Most workers of a job.
pub const MAX_NUMJOBS: u32 = 1024;
/// Largest block: a single request of the kernel can not be larger than `INT_MAX` rounded down to a page.
pub const MAX_BS: Bytes = Bytes(1 << 30);
/// Most memory all buffers of a job may take.
pub const MAX_BUFFERS: Bytes = Bytes(4 << 30);
/// Most I/Os a second that can be asked of a worker: beyond it the time between two is less than reading a clock takes.
pub const MAX_RATE_IOPS: u64 = 10_000_000;

impl Job {
    /// Whether the fields go together.
    ///
    /// # Errors
    /// What contradicts what, and what to change.
    pub fn check(&self) -> Result<(), JobError> {
        let wrong = |text: String| Err(JobError::Together(text));
        let buffers = u128::from(self.bs.0) * u128::from(self.depth_in_use()) * u128::from(self.numjobs);
        if buffers > u128::from(MAX_BUFFERS.0) {
            return wrong(format!(
                "bs {} x iodepth {} x numjobs {} needs more than {MAX_BUFFERS} of buffers; ask for less of one of them",
                self.bs,
                self.depth_in_use(),
                self.numjobs
            ));
        }
        if let Some(n) = self.number_ios.filter(|n| *n < u64::from(self.numjobs)) {
            return wrong(format!(
                "number_ios {n} is less than numjobs {}: not every worker would have an I/O to do",
                self.numjobs
            ));
        }
        if self.align.is_some() && !self.rw.random() {
            return wrong(format!("align is for random offsets, and rw={} is sequential", self.rw.word()));
        }
        if self.rate.is_some() && self.rate_iops.is_some() {
            return wrong("rate and rate_iops limit the same thing; give one of them".to_owned());
        }
        if self.arrivals_per_s().is_some() && !self.thinktime.is_zero() {
            return wrong(
                "a rate says when I/Os are due, thinktime makes that depend on the answers; give one of them"
                    .to_owned(),
            );
        }
        if self.fsync > 0 && self.fdatasync > 0 {
            return wrong("fsync and fdatasync exclude one another; give one of them".to_owned());
        }
        let flushes = self.fsync > 0 || self.fdatasync > 0 || self.end_fsync || self.sync != Sync::None;
        if self.hipri && self.engine != EngineKind::IoUring {
            return wrong(format!(
                "hipri polls through io_uring, and engine={} has no such thing; use engine=io_uring, or hipri=false",
                self.engine.word()
            ));
        }
        if self.hipri && !self.direct {
            return wrong("hipri polls for direct I/O only; use direct=true, or hipri=false".to_owned());
        }
        if self.hipri && flushes {
            return wrong(
                "hipri: what waits for a flush can not be polled; leave sync, fsync, fdatasync and end_fsync out, or hipri"
                    .to_owned(),
            );
        }
        if flushes && !self.rw.writes() {
            return wrong(format!(
                "rw={} writes nothing, so there is nothing to make safe; leave sync, fsync, fdatasync and end_fsync out",
                self.rw.word()
            ));
        }
        Ok(())
    }

    /// I/Os each worker really keeps in flight: `iodepth`, but one with psync, whatever was asked.
    #[must_use]
    pub const fn depth_in_use(&self) -> u32 {
        match self.engine {
            EngineKind::IoUring => self.iodepth,
            EngineKind::Psync | EngineKind::Null => 1,
        }
    }

    /// I/Os due per second and worker: an open loop. None for a closed loop, where each I/O waits for an answer.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // a rate
    pub fn arrivals_per_s(&self) -> Option<f64> {
        match (self.rate_iops, self.rate) {
            (Some(iops), _) => Some(iops as f64),
            (None, Some(rate)) => Some(rate.0 as f64 / self.bs.0 as f64),
            (None, None) => None,
        }
    }

    /// Whether reads are among its I/Os.
    #[must_use]
    pub const fn reads(&self) -> bool {
        match self.rw {
            Rw::Read | Rw::RandRead => true,
            Rw::Write | Rw::RandWrite => false,
            Rw::Rw | Rw::RandRw => self.rwmixread > 0,
        }
    }
}

impl fmt::Display for Job {
    /// One line: `randread bs 4.00 KiB, iodepth 32, 1 worker, io_uring, direct`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = if self.numjobs == 1 { "worker" } else { "workers" };
        let cache = if self.direct { "direct" } else { "buffered" };
        write!(
            f,
            "{} bs {}, iodepth {}, {} {workers}, {}, {cache}",
            self.rw.word(),
            self.bs,
            self.iodepth,
            self.numjobs,
            self.engine.word()
        )?;
        if self.hipri {
            f.write_str(", polled")?;
        }
        if let (Rw::Rw | Rw::RandRw, share) = (self.rw, self.rwmixread) {
            write!(f, ", {share}% reads")?;
        }
        if self.sync != Sync::None {
            write!(f, ", sync={}", self.sync.word())?;
        }
        for (name, every) in [("fsync", self.fsync), ("fdatasync", self.fdatasync)] {
            if every > 0 {
                write!(f, ", {name} every {every}")?;
            }
        }
        if let Some(rate) = self.arrivals_per_s() {
            write!(f, ", {} I/Os/s asked of each worker ({})", events(rate), self.rate_process.word())?;
        }
        if !self.thinktime.is_zero() {
            write!(f, ", thinktime {:?}", self.thinktime)?;
        }
        if let Some(prio) = self.prio {
            write!(f, ", prio {prio}")?;
        }
        Ok(())
    }
}
