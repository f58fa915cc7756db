//! The table of fields: one row a key of `--set`.

use super::{round_bytes, seconds};
use crate::units::Nanos;
use crate::workload::arrivals::RateProcess;
use crate::workload::durability::{DropCaches, Sync};
use crate::workload::job::{EngineKind, Job, Rw};

/// The word for no value at all, and what brings it about.
type Unset = (&'static str, fn(&mut Job));

/// A field of the job. Its key is that of `--set`, which is fio's.
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What may be typed.
    pub hint: &'static str,
    /// It is among those that are always in the form.
    pub common: bool,
    /// The values that stepping visits, as `--set` takes them, in ascending order.
    pub(super) steps: &'static [&'static str],
    /// The word for no value at all, and what brings it about.
    pub(super) unset: Option<Unset>,
    /// Its value in words.
    pub(super) shown: fn(&Job) -> String,
    /// Its value as a place among those that stepping visits; no value comes before all others.
    pub(super) rank: fn(&Job) -> u64,
    /// Why it has no sense as the job stands. A field that holds what contradicts the rest is not greyed: it has to be taken
    /// back.
    pub(super) why_not: fn(&Job) -> Option<&'static str>,
}

const WRITES_NOTHING: &str = "the job writes nothing, so there is nothing to make safe";
const SEQUENTIAL: &str = "for random offsets, and this rw is sequential";
const NO_IO: &str = "engine=null issues no I/O";

const fn mixed(job: &Job) -> bool {
    matches!(job.rw, Rw::Rw | Rw::RandRw)
}

fn when(greyed: bool, why: &'static str) -> Option<&'static str> {
    greyed.then_some(why)
}

fn yes(on: bool) -> String {
    if on { "true" } else { "false" }.to_owned()
}

fn or_word<T: ToString>(value: Option<T>, word: &str) -> String {
    value.map_or_else(|| word.to_owned(), |v| v.to_string())
}

/// One above the value, so that none comes first.
fn above_none(value: Option<u64>) -> u64 {
    value.map_or(0, |v| v.saturating_add(1))
}

fn ns(d: std::time::Duration) -> u64 {
    Nanos::from(d).0
}

/// `0.5,1,10`, exact.
fn limits(job: &Job) -> String {
    // Without the unit, which the key names.
    let ms = |n: &Nanos| match n.0 % 1_000_000 {
        0 => (n.0 / 1_000_000).to_string(),
        _ => seconds(n.duration()).trim_end_matches(" ms").to_owned(),
    };
    if job.limits_ms.is_empty() {
        return "none".to_owned();
    }
    job.limits_ms.iter().map(ms).collect::<Vec<_>>().join(",")
}

const SIZES: &[&str] = &["64m", "256m", "1g", "4g", "16g"];
const FLAG: &[&str] = &["false", "true"];

/// What most fields are.
const PLAIN: Field = Field {
    key: "",
    about: "",
    hint: "a whole number",
    common: false,
    steps: &[],
    unset: None,
    shown: |_| String::new(),
    rank: |_| 0,
    why_not: |_| None,
};

/// All fields: those that are always in the form first.
pub static FIELDS: &[Field] = &[
    Field {
        key: "rw",
        about: "the pattern: read, write or both, one after the other or at random places",
        hint: "read, randread, write, randwrite, rw, randrw",
        common: true,
        steps: &["read", "randread", "write", "randwrite", "rw", "randrw"],
        shown: |j| j.rw.word().to_owned(),
        rank: |j| j.rw as u64,
        ..PLAIN
    },
    Field {
        key: "rwmixread",
        about: "percent of the I/Os that are reads, where both are mixed",
        hint: "0 to 100",
        common: true,
        steps: &["0", "10", "30", "50", "70", "90", "100"],
        shown: |j| j.rwmixread.to_string(),
        rank: |j| j.rwmixread.into(),
        why_not: |j| when(!mixed(j), "no mix: only rw and randrw have a share of reads"),
        ..PLAIN
    },
    Field {
        key: "bs",
        about: "size of every I/O",
        hint: "512, 4k, 1m",
        common: true,
        steps: &[
            "512", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m",
        ],
        shown: |j| round_bytes(j.bs),
        rank: |j| j.bs.0,
        ..PLAIN
    },
    Field {
        key: "iodepth",
        about: "I/Os kept in flight by each worker",
        common: true,
        steps: &["1", "2", "4", "8", "16", "32", "64", "128", "256"],
        shown: |j| j.iodepth.to_string(),
        rank: |j| j.iodepth.into(),
        why_not: |j| {
            when(
                j.engine != EngineKind::IoUring,
                "this engine has one I/O in flight a worker; only io_uring has more",
            )
        },
        ..PLAIN
    },
    Field {
        key: "numjobs",
        about: "workers, each a thread with a descriptor of its own",
        common: true,
        steps: &["1", "2", "4", "8", "16", "32"],
        shown: |j| j.numjobs.to_string(),
        rank: |j| j.numjobs.into(),
        ..PLAIN
    },
    Field {
        key: "direct",
        about: "past the page cache (O_DIRECT), or through it",
        hint: "true or false",
        common: true,
        steps: FLAG,
        shown: |j| yes(j.direct),
        rank: |j| j.direct.into(),
        why_not: |j| when(j.engine == EngineKind::Null, NO_IO),
        ..PLAIN
    },
    Field {
        key: "sync",
        about: "whether each write waits until its data (dsync), or all of it (sync), is safe",
        hint: "none, dsync or sync",
        common: true,
        steps: &["none", "dsync", "sync"],
        shown: |j| j.sync.word().to_owned(),
        rank: |j| j.sync as u64,
        why_not: |j| when(!j.rw.writes() && j.sync == Sync::None, WRITES_NOTHING),
        ..PLAIN
    },
    Field {
        key: "size",
        about: "how much of the target is used; the size of a scratch file",
        hint: "all, 256m, 4g",
        common: true,
        steps: SIZES,
        unset: Some(("all", |j| j.size = None)),
        shown: |j| or_word(j.size.map(round_bytes), "all"),
        rank: |j| above_none(j.size.map(|s| s.0)),
        ..PLAIN
    },
    Field {
        key: "runtime",
        about: "how long is measured; the same for all jobs",
        hint: "seconds, or 500ms, 2m",
        common: true,
        steps: &["2", "5", "10", "20", "30", "60", "120", "300"],
        shown: |j| seconds(j.runtime),
        rank: |j| ns(j.runtime),
        ..PLAIN
    },
    Field {
        key: "ramp",
        about: "time before measuring starts, left out of every figure; the same for all jobs",
        hint: "seconds, or 500ms",
        common: true,
        steps: &["0", "1", "2", "5", "10"],
        shown: |j| seconds(j.ramp),
        rank: |j| ns(j.ramp),
        ..PLAIN
    },
    Field {
        key: "engine",
        about: "io_uring keeps iodepth in flight, psync one at a time, null issues nothing",
        hint: "io_uring, psync or null",
        steps: &["io_uring", "psync", "null"],
        shown: |j| j.engine.word().to_owned(),
        rank: |j| j.engine as u64,
        ..PLAIN
    },
    Field {
        key: "hipri",
        about: "ask the device for answers without pause, instead of being interrupted by it",
        hint: "true or false",
        steps: FLAG,
        shown: |j| yes(j.hipri),
        rank: |j| j.hipri.into(),
        why_not: |j| {
            let possible = j.engine == EngineKind::IoUring && j.direct;
            when(!possible && !j.hipri, "only engine=io_uring with direct=true can poll")
        },
        ..PLAIN
    },
    Field {
        key: "rate_iops",
        about: "I/Os due per second and worker, answered or not: an open loop",
        hint: "a whole number, or none",
        steps: &["100", "500", "1000", "5000", "10000", "50000"],
        unset: Some(("none", |j| j.rate_iops = None)),
        shown: |j| or_word(j.rate_iops, "none"),
        rank: |j| above_none(j.rate_iops),
        why_not: |j| {
            let think = when(!j.thinktime.is_zero(), "thinktime paces it; a rate would say the contrary");
            when(j.rate.is_some(), "rate says it already").or(think).filter(|_| j.rate_iops.is_none())
        },
        ..PLAIN
    },
    Field {
        key: "rate",
        about: "bytes due per second and worker, answered or not: an open loop",
        hint: "a size as 10m, or none",
        steps: &["1m", "10m", "50m", "100m", "500m", "1g"],
        unset: Some(("none", |j| j.rate = None)),
        shown: |j| or_word(j.rate.map(round_bytes), "none"),
        rank: |j| above_none(j.rate.map(|r| r.0)),
        why_not: |j| {
            let think = when(!j.thinktime.is_zero(), "thinktime paces it; a rate would say the contrary");
            when(j.rate_iops.is_some(), "rate_iops says it already").or(think).filter(|_| j.rate.is_none())
        },
        ..PLAIN
    },
    Field {
        key: "rate_process",
        about: "when I/Os of a rate are due: evenly, or as from many clients (poisson)",
        hint: "fixed or poisson",
        steps: &["fixed", "poisson"],
        shown: |j| j.rate_process.word().to_owned(),
        rank: |j| (j.rate_process == RateProcess::Poisson).into(),
        why_not: |j| when(j.arrivals_per_s().is_none(), "there is no rate whose arrivals could be spread"),
        ..PLAIN
    },
    Field {
        key: "thinktime",
        about: "pause between an answer and the I/O that takes its place",
        hint: "0, 500ms, 0.1ms",
        steps: &["0", "0.1ms", "1ms", "10ms", "100ms", "1"],
        shown: |j| seconds(j.thinktime),
        rank: |j| ns(j.thinktime),
        why_not: |j| {
            when(
                j.arrivals_per_s().is_some() && j.thinktime.is_zero(),
                "a rate says when I/Os are due, whatever the answers",
            )
        },
        ..PLAIN
    },
    Field {
        key: "startdelay",
        about: "pause before the job's first I/O",
        hint: "seconds, or 500ms",
        steps: &["0", "1", "2", "5"],
        shown: |j| seconds(j.startdelay),
        rank: |j| ns(j.startdelay),
        ..PLAIN
    },
    Field {
        key: "number_ios",
        about: "ends after this many measured I/Os in all, if that comes before runtime",
        hint: "a whole number, or none",
        steps: &["1000", "10000", "100000", "1000000"],
        unset: Some(("none", |j| j.number_ios = None)),
        shown: |j| or_word(j.number_ios, "none"),
        rank: |j| above_none(j.number_ios),
        ..PLAIN
    },
    Field {
        key: "offset",
        about: "where the used part of the target begins",
        hint: "0, 4k, 1g",
        steps: &["0", "1m", "64m", "1g", "16g"],
        shown: |j| round_bytes(j.offset),
        rank: |j| j.offset.0,
        ..PLAIN
    },
    Field {
        key: "align",
        about: "what random offsets are multiples of; bs unless said",
        hint: "bs, 512, 4k",
        steps: &["512", "4k", "64k", "1m"],
        unset: Some(("bs", |j| j.align = None)),
        shown: |j| or_word(j.align.map(round_bytes), "bs"),
        rank: |j| above_none(j.align.map(|a| a.0)),
        why_not: |j| when(!j.rw.random() && j.align.is_none(), SEQUENTIAL),
        ..PLAIN
    },
    Field {
        key: "norandommap",
        about: "random offsets may repeat (true), or every block is met once before any again (false)",
        hint: "true or false",
        steps: FLAG,
        shown: |j| yes(j.norandommap),
        rank: |j| j.norandommap.into(),
        why_not: |j| when(!j.rw.random(), SEQUENTIAL),
        ..PLAIN
    },
    Field {
        key: "fsync",
        about: "fsync after so many writes of a worker; 0 for never",
        steps: &["0", "1", "8", "32", "128"],
        shown: |j| j.fsync.to_string(),
        rank: |j| j.fsync.into(),
        why_not: |j| {
            let other = when(j.fdatasync > 0, "fdatasync is there already, and one excludes the other");
            when(!j.rw.writes(), WRITES_NOTHING).or(other).filter(|_| j.fsync == 0)
        },
        ..PLAIN
    },
    Field {
        key: "fdatasync",
        about: "fdatasync after so many writes of a worker; 0 for never",
        steps: &["0", "1", "8", "32", "128"],
        shown: |j| j.fdatasync.to_string(),
        rank: |j| j.fdatasync.into(),
        why_not: |j| {
            let other = when(j.fsync > 0, "fsync is there already, and one excludes the other");
            when(!j.rw.writes(), WRITES_NOTHING).or(other).filter(|_| j.fdatasync == 0)
        },
        ..PLAIN
    },
    Field {
        key: "end_fsync",
        about: "one fsync after the last write, inside the measured time",
        hint: "true or false",
        steps: FLAG,
        shown: |j| yes(j.end_fsync),
        rank: |j| j.end_fsync.into(),
        why_not: |j| when(!j.rw.writes() && !j.end_fsync, WRITES_NOTHING),
        ..PLAIN
    },
    Field {
        key: "drop_caches",
        about: "the target's pages, or (typed) the whole system's, are dropped before the start",
        hint: "none, target, or system: every program on this host reads from its devices again",
        // The whole system's are dropped for nobody who only leafs through values.
        steps: &["none", "target"],
        shown: |j| j.drop_caches.word().to_owned(),
        rank: |j| match j.drop_caches {
            DropCaches::None => 0,
            DropCaches::Target => 1,
            DropCaches::System => 2,
        },
        ..PLAIN
    },
    Field {
        key: "prio",
        about: "I/O priority of the workers; only some schedulers look at it",
        hint: "none, 0 to 7, be/7, rt/0, idle",
        steps: &["rt/0", "be/0", "be/4", "be/7", "idle"],
        unset: Some(("none", |j| j.prio = None)),
        shown: |j| or_word(j.prio, "none"),
        rank: |j| above_none(j.prio.map(|p| p.value().into())),
        why_not: |j| when(j.engine == EngineKind::Null && j.prio.is_none(), NO_IO),
        ..PLAIN
    },
    Field {
        key: "foreground",
        about: "measured alone first, for the same time, then beside the other jobs",
        hint: "true or false",
        steps: FLAG,
        shown: |j| yes(j.foreground),
        rank: |j| j.foreground.into(),
        ..PLAIN
    },
    Field {
        key: "cpus_allowed",
        about: "CPUs that the workers may run on",
        hint: "all, 0, 0-3,8",
        steps: &["0", "0-1", "0-3", "0-7"],
        unset: Some(("all", |j| j.cpus_allowed = None)),
        shown: |j| or_word(j.cpus_allowed.as_ref(), "all"),
        rank: |j| above_none(j.cpus_allowed.as_ref().map(|c| c.numbers().len() as u64)),
        ..PLAIN
    },
    Field {
        key: "limits_ms",
        about: "latencies, ms, whose excess is counted",
        hint: "none, or a list as 1,10,100",
        steps: &["1", "1,10", "1,10,100"],
        unset: Some(("none", |j| j.limits_ms.clear())),
        shown: limits,
        rank: |j| j.limits_ms.len() as u64,
        ..PLAIN
    },
    Field {
        key: "seed",
        about: "the same seed asks for the same blocks",
        steps: &["1", "2", "3", "4", "5"],
        shown: |j| j.seed.to_string(),
        rank: |j| j.seed,
        ..PLAIN
    },
];
