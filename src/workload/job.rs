//! A job: what is asked of the engine, in fio's terms.

use std::time::Duration;

use serde::Serialize;

use crate::units::Bytes;

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

/// Which engine issues the I/O, fio's `ioengine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// The kernel's submission and completion rings; keeps `iodepth` I/Os in flight.
    IoUring,
    /// `pread`: one I/O at a time.
    Psync,
}

/// A job. Every field has fio's name and meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// Engine.
    pub engine: EngineKind,
    /// O_DIRECT, past the page cache.
    pub direct: bool,
    /// How much of the target is used from `offset` on; None is all of it. Also the size of a scratch file.
    pub size: Option<Bytes>,
    /// Where the used part of the target begins.
    pub offset: Bytes,
    /// Measured time.
    pub runtime: Duration,
    /// Ends after this many measured I/Os in all, if that comes before `runtime`.
    pub number_ios: Option<u64>,
    /// Time before measuring starts, left out of every figure.
    pub ramp: Duration,
    /// Seed of the random offsets; the same seed gives the same offsets.
    pub seed: u64,
    /// The target's pages are dropped from the page cache before the start.
    pub drop_caches: bool,
}
