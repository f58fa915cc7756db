//! The keys of a job, as `--set` and job files write them.

use std::time::Duration;

use super::affinity::Cpus;
use super::arrivals::RateProcess;
use super::durability::{DropCaches, Sync};
use super::job::{EngineKind, Job, MAX_BS, MAX_IODEPTH, MAX_NUMJOBS, MAX_RATE_IOPS, Rw};
use super::priority::Priority;
use super::value::{between, parse_bool, parse_count, parse_limits, parse_size, parse_time};
use crate::units::Bytes;

/// Longest time a key takes: thirty days.
const MAX_TIME: Duration = Duration::from_hours(30 * 24);

/// The keys `--set` takes, named as in fio where it has them.
pub const KEYS: &[&str] = &[
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "engine",
    "direct",
    "hipri",
    "sync",
    "fsync",
    "fdatasync",
    "end_fsync",
    "size",
    "offset",
    "align",
    "runtime",
    "number_ios",
    "ramp",
    "rate",
    "rate_iops",
    "rate_process",
    "rwmixread",
    "norandommap",
    "thinktime",
    "startdelay",
    "prio",
    "cpus_allowed",
    "limits_ms",
    "seed",
    "drop_caches",
    "foreground",
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
            "hipri" => self.hipri = parse_bool(value)?,
            "size" => self.size = Some(between(parse_size(value)?, Bytes(1), Bytes(u64::MAX))?),
            "offset" => self.offset = parse_size(value)?,
            "runtime" => self.runtime = within(parse_time(value)?, Duration::from_millis(1))?,
            "number_ios" => self.number_ios = Some(between(parse_count(value)?, 1, u64::MAX)?),
            "ramp" => self.ramp = within(parse_time(value)?, Duration::ZERO)?,
            "seed" => self.seed = parse_count(value)?,
            "drop_caches" => self.drop_caches = DropCaches::parse(value)?,
            "foreground" => self.foreground = parse_bool(value)?,
            "sync" => self.sync = Sync::parse(value)?,
            "fsync" => self.fsync = parse_count(value)?,
            "fdatasync" => self.fdatasync = parse_count(value)?,
            "end_fsync" => self.end_fsync = parse_bool(value)?,
            "align" => self.align = Some(between(parse_size(value)?, Bytes(1), MAX_BS)?),
            "rate" => self.rate = Some(between(parse_size(value)?, Bytes(1), Bytes(1 << 50))?),
            "rate_iops" => self.rate_iops = Some(between(parse_count(value)?, 1, MAX_RATE_IOPS)?),
            "rate_process" => self.rate_process = RateProcess::parse(value)?,
            "rwmixread" => self.rwmixread = between(parse_count(value)?, 0, 100)?,
            "norandommap" => self.norandommap = parse_bool(value)?,
            "thinktime" => self.thinktime = within(parse_time(value)?, Duration::ZERO)?,
            "startdelay" => self.startdelay = within(parse_time(value)?, Duration::ZERO)?,
            "prio" => self.prio = Some(Priority::parse(value)?),
            "cpus_allowed" => self.cpus_allowed = Some(Cpus::parse(value)?),
            "limits_ms" => self.limits_ms = parse_limits(value)?,
            // `set` lets only the keys above through.
            _ => return Err("no such key".to_owned()),
        }
        Ok(())
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
        "null" => Ok(EngineKind::Null),
        "fio" => Err("not supported yet; use io_uring, psync or null".to_owned()),
        _ => Err("it is io_uring, psync or null".to_owned()),
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
    use crate::units::Nanos;
    use crate::workload::preset;
    use proptest::prelude::*;

    fn job() -> Job {
        preset::find("randread-4k").unwrap().jobs().remove(0)
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
            "hipri=1",
            "size=1GiB",
            "offset=4KiB",
            "runtime=1.5s",
            "number_ios=99",
            "ramp=250ms",
            "seed=5",
            "drop_caches=true",
            "foreground=1",
            "sync=dsync",
            "fsync=3",
            "fdatasync=4",
            "end_fsync=1",
            "align=512",
            "rate=1m",
            "rate_iops=250",
            "rate_process=poisson",
            "rwmixread=70",
            "norandommap=0",
            "thinktime=2ms",
            "startdelay=3s",
            "prio=be/7",
            "cpus_allowed=0-1",
            "limits_ms=10,0.5,1",
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
            hipri: true,
            size: Some(Bytes(1 << 30)),
            offset: Bytes(4096),
            runtime: Duration::from_millis(1500),
            number_ios: Some(99),
            ramp: Duration::from_millis(250),
            seed: 5,
            drop_caches: DropCaches::Target,
            foreground: true,
            sync: Sync::Dsync,
            fsync: 3,
            fdatasync: 4,
            end_fsync: true,
            align: Some(Bytes(512)),
            rate: Some(Bytes(1 << 20)),
            rate_iops: Some(250),
            rate_process: RateProcess::Poisson,
            rwmixread: 70,
            norandommap: false,
            thinktime: Duration::from_millis(2),
            startdelay: Duration::from_secs(3),
            prio: Some(Priority::parse("7").unwrap()),
            cpus_allowed: Some(Cpus::parse("0,1").unwrap()),
            limits_ms: vec![Nanos(500_000), Nanos(1_000_000), Nanos(10_000_000)],
        };
        assert_eq!(j, want);
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_what_to_change() {
        for (keys, part) in [
            (&["rw=read", "align=512"][..], "sequential"),
            (&["rate=1m", "rate_iops=5"], "one of them"),
            (&["rate_iops=5", "thinktime=1ms"], "one of them"),
            (&["rw=write", "fsync=1", "fdatasync=1"], "one of them"),
            (&["sync=dsync"], "nothing to make safe"),
            (&["end_fsync=1"], "nothing to make safe"),
            (&["hipri=1", "engine=psync"], "engine=io_uring"),
            (&["engine=io_uring", "hipri=1", "direct=0"], "direct=true"),
            (&["engine=io_uring", "hipri=1", "rw=randwrite", "sync=dsync"], "can not be polled"),
            (&["engine=io_uring", "hipri=1", "rw=randwrite", "end_fsync=1"], "can not be polled"),
        ] {
            let mut j = job();
            for k in keys {
                j.set(k).unwrap();
            }
            let e = j.check().unwrap_err().to_string();
            assert!(e.contains(part), "{keys:?}: {e}");
        }
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
            ("engine=fio", "not supported yet"),
            ("rwmixread=101", "from 0 to 100"),
            ("limits_ms=1,x", "milliseconds"),
            ("rate_iops=0", "from 1"),
            ("drop_caches=all", "system"),
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
