//! A job: what is asked of the engine, in fio's terms.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::value::{between, parse_bool, parse_count, parse_size, parse_time};
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
    /// `pread`: one I/O at a time.
    Psync,
}

impl EngineKind {
    /// The word of `--set engine=`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            EngineKind::IoUring => "io_uring",
            EngineKind::Psync => "psync",
        }
    }
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
    /// The engine was asked for by name, so another one may not take its place where the kernel lacks it.
    #[serde(skip)]
    pub engine_required: bool,
    /// O_DIRECT, past the page cache.
    pub direct: bool,
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
    /// Seed of the random offsets; the same seed gives the same offsets.
    pub seed: u64,
    /// The target's pages are dropped from the page cache before the start.
    pub drop_caches: bool,
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
/// Longest runtime and ramp: thirty days.
const MAX_TIME: Duration = Duration::from_hours(30 * 24);

/// Keys of the contract that this version can not carry out. Asking for one is refused: leaving it out silently would
/// measure something else than was asked.
const NOT_SUPPORTED: &[&str] = &[
    "sync",
    "fsync",
    "fdatasync",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
    "thinktime",
    "startdelay",
    "prio",
    "cpus_allowed",
    "end_fsync",
    "norandommap",
    "limits_ms",
    "align",
];

/// The keys `--set` takes.
pub const KEYS: &[&str] = &[
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "engine",
    "direct",
    "size",
    "offset",
    "runtime",
    "number_ios",
    "ramp",
    "seed",
    "drop_caches",
];

/// Why a job can not be what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// Not of the form `KEY=VALUE`.
    #[error("--set {0:?}: write it as KEY=VALUE, for example bs=4k")]
    Form(String),
    /// No such key.
    #[error("--set {0}: no such key; the keys are {keys}", keys = KEYS.join(", "))]
    UnknownKey(String),
    /// A key of a later version.
    #[error("--set {0}: not supported yet; leave it out (the keys are {keys})", keys = KEYS.join(", "))]
    NotSupported(String),
    /// A value that the key does not take.
    #[error("--set {key}={value}: {why}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it takes.
        why: String,
    },
    /// Values that do not go together.
    #[error("{0}")]
    Together(String),
}

impl Job {
    /// Changes one field by `KEY=VALUE`, the form of `--set`.
    ///
    /// # Errors
    /// An unknown key, one that is not supported yet, or a value the key does not take.
    pub fn set(&mut self, assignment: &str) -> Result<(), JobError> {
        let shown = crate::sys::attr::clean(assignment.as_bytes());
        let (key, value) = shown.split_once('=').ok_or_else(|| JobError::Form(shown.clone()))?;
        let (key, value) = (key.trim(), value.trim());
        if NOT_SUPPORTED.contains(&key) {
            return Err(JobError::NotSupported(key.to_owned()));
        }
        if !KEYS.contains(&key) {
            return Err(JobError::UnknownKey(key.to_owned()));
        }
        self.set_value(key, value).map_err(|why| JobError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
            why,
        })
    }

    fn set_value(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "rw" => self.rw = parse_rw(value)?,
            "bs" => self.bs = between(parse_size(value)?, Bytes(1), MAX_BS)?,
            "iodepth" => self.iodepth = between(parse_count(value)?, 1, MAX_IODEPTH)?,
            "numjobs" => self.numjobs = between(parse_count(value)?, 1, MAX_NUMJOBS)?,
            "engine" => (self.engine, self.engine_required) = (parse_engine(value)?, true),
            "direct" => self.direct = parse_bool(value)?,
            "size" => self.size = Some(between(parse_size(value)?, Bytes(1), Bytes(u64::MAX))?),
            "offset" => self.offset = parse_size(value)?,
            "runtime" => self.runtime = within(parse_time(value)?, Duration::from_millis(1))?,
            "number_ios" => self.number_ios = Some(between(parse_count(value)?, 1, u64::MAX)?),
            "ramp" => self.ramp = within(parse_time(value)?, Duration::ZERO)?,
            "seed" => self.seed = parse_count(value)?,
            "drop_caches" => self.drop_caches = parse_bool(value)?,
            // `set` lets only the keys above through.
            _ => return Err("no such key".to_owned()),
        }
        Ok(())
    }

    /// Whether the fields go together.
    ///
    /// # Errors
    /// More buffer memory than [`MAX_BUFFERS`], or fewer I/Os in all than workers.
    pub fn check(&self) -> Result<(), JobError> {
        let buffers = u128::from(self.bs.0) * u128::from(self.depth_in_use()) * u128::from(self.numjobs);
        if buffers > u128::from(MAX_BUFFERS.0) {
            return Err(JobError::Together(format!(
                "bs {} x iodepth {} x numjobs {} needs more than {MAX_BUFFERS} of buffers; ask for less of one of them",
                self.bs,
                self.depth_in_use(),
                self.numjobs
            )));
        }
        match self.number_ios {
            Some(n) if n < u64::from(self.numjobs) => Err(JobError::Together(format!(
                "number_ios {n} is less than numjobs {}: not every worker would have an I/O to do",
                self.numjobs
            ))),
            _ => Ok(()),
        }
    }

    /// I/Os each worker really keeps in flight: `iodepth`, but one with psync, whatever was asked.
    #[must_use]
    pub const fn depth_in_use(&self) -> u32 {
        match self.engine {
            EngineKind::IoUring => self.iodepth,
            EngineKind::Psync => 1,
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
        )
    }
}

fn parse_rw(text: &str) -> Result<Rw, String> {
    Ok(match text {
        "read" => Rw::Read,
        "randread" => Rw::RandRead,
        "write" => Rw::Write,
        "randwrite" => Rw::RandWrite,
        "rw" | "readwrite" => Rw::Rw,
        "randrw" => Rw::RandRw,
        _ => return Err("it is one of read, randread, write, randwrite, rw, randrw".to_owned()),
    })
}

fn parse_engine(text: &str) -> Result<EngineKind, String> {
    match text {
        "io_uring" => Ok(EngineKind::IoUring),
        "psync" => Ok(EngineKind::Psync),
        "null" | "fio" => Err("not supported yet; use io_uring or psync".to_owned()),
        _ => Err("it is io_uring or psync".to_owned()),
    }
}

fn within(value: Duration, least: Duration) -> Result<Duration, String> {
    if value < least {
        Err(format!("it is at least {} ms", least.as_millis()))
    } else if value > MAX_TIME {
        Err("it is at most 30 days".to_owned())
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;
    use proptest::prelude::*;

    fn job() -> Job {
        preset::find("randread-4k").unwrap().job()
    }

    #[test]
    fn every_key_lands_in_its_field() {
        let mut j = job();
        for a in [
            "rw=read",
            "bs=128k",
            "iodepth=7",
            "numjobs=3",
            "engine=io_uring",
            "direct=0",
            "size=1GiB",
            "offset=4KiB",
            "runtime=1.5s",
            "number_ios=99",
            "ramp=250ms",
            "seed=5",
            "drop_caches=true",
        ] {
            j.set(a).unwrap();
        }
        let want = Job {
            name: j.name.clone(),
            rw: Rw::Read,
            bs: Bytes(131_072),
            iodepth: 7,
            numjobs: 3,
            engine: EngineKind::IoUring,
            engine_required: true,
            direct: false,
            size: Some(Bytes(1 << 30)),
            offset: Bytes(4096),
            runtime: Duration::from_millis(1500),
            number_ios: Some(99),
            ramp: Duration::from_millis(250),
            seed: 5,
            drop_caches: true,
        };
        assert_eq!(j, want);
    }

    #[test]
    fn what_is_not_supported_is_refused_by_name_and_changes_nothing() {
        let before = job();
        for key in NOT_SUPPORTED {
            let mut j = before.clone();
            let e = j.set(&format!("{key}=1")).unwrap_err().to_string();
            assert!(e.contains(key) && e.contains("not supported yet"), "{e}");
            assert_eq!(j, before);
        }
        let e = job().set("engine=fio").unwrap_err().to_string();
        assert!(e.contains("engine=fio") && e.contains("not supported yet"), "{e}");
    }

    #[test]
    fn a_wrong_value_names_the_key_and_what_it_takes() {
        for (a, part) in [
            ("bs=0", "from 1 B"),
            ("bs=4q", "powers of 1024"),
            ("iodepth=0", "from 1 to 4096"),
            ("direct=yes", "true or false"),
            ("runtime=0s", "at least 1 ms"),
            ("runtime=1h", "ms, s or m"),
            ("number_ios=-1", "whole number"),
            ("bs", "KEY=VALUE"),
            ("blocksize=4k", "no such key"),
            ("size=99999999999999999999", "too large"),
            ("rw=trim", "randread"),
            ("runtime=44000m", "30 days"),
            ("runtime=1.2.3s", "as 500ms"),
            ("seed=99999999999999999999", "too large"),
        ] {
            let e = job().set(a).unwrap_err().to_string();
            assert!(e.contains(part) && e.contains(a.split('=').next().unwrap()), "{a}: {e}");
        }
    }

    #[test]
    fn too_much_memory_is_refused_before_it_is_taken() {
        let mut j = job();
        for a in ["engine=io_uring", "bs=1g", "iodepth=4096"] {
            j.set(a).unwrap();
        }
        assert!(j.check().unwrap_err().to_string().contains("buffers"));
        j.set("engine=psync").unwrap();
        assert_eq!(j.check(), Ok(()));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(s in ".*") {
            let _ = job().set(&s);
        }
    }
}
