//! The fields of a job as a form: their values, what stepping visits, what may be typed, and the sentence that sums
//! them up.

use std::fmt::Write as _;
use std::time::Duration;

use crate::units::{Bytes, three_digits};
use crate::workload::durability::DropCaches;
use crate::workload::job::{EngineKind, Job, Rw};
use crate::workload::keys::JobError;

/// A field of the job, named as in fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // named as in fio, and explained by `about`
pub enum Field {
    Target,
    Rw,
    Bs,
    Iodepth,
    Numjobs,
    Engine,
    Direct,
    Runtime,
    Ramp,
    Size,
    Start,
}

/// All fields, in the order of the form.
pub const FIELDS: &[Field] = &[
    Field::Target,
    Field::Rw,
    Field::Bs,
    Field::Iodepth,
    Field::Numjobs,
    Field::Engine,
    Field::Direct,
    Field::Runtime,
    Field::Ramp,
    Field::Size,
    Field::Start,
];

impl Field {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Field::Target => "target",
            Field::Rw => "rw",
            Field::Bs => "bs",
            Field::Iodepth => "iodepth",
            Field::Numjobs => "numjobs",
            Field::Engine => "engine",
            Field::Direct => "direct",
            Field::Runtime => "runtime",
            Field::Ramp => "ramp",
            Field::Size => "size",
            Field::Start => "Start",
        }
    }

    /// One line about it.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Field::Target => "what is read: the device chosen on screen 1, or a file made for the run",
            Field::Rw => "the pattern: one after the other, or at random places",
            Field::Bs => "size of every I/O",
            Field::Iodepth => "I/Os kept in flight by each worker",
            Field::Numjobs => "workers, each a thread with a descriptor of its own",
            Field::Engine => "how I/O is issued: io_uring keeps iodepth in flight, psync one at a time",
            Field::Direct => "past the page cache (O_DIRECT), or through it",
            Field::Runtime => "how long is measured",
            Field::Ramp => "time before measuring starts, left out of every figure",
            Field::Size => "how much of the target is used, from its start",
            Field::Start => "starts the run; nothing is written to a device",
        }
    }

    /// Whether its value can be typed.
    #[must_use]
    pub const fn typed(self) -> bool {
        matches!(
            self,
            Field::Bs | Field::Iodepth | Field::Numjobs | Field::Runtime | Field::Ramp | Field::Size
        )
    }
}

/// The value of a field, as the form shows it; `target` in words, since it is not the job's.
#[must_use]
pub fn value(job: &Job, field: Field, target: &str) -> String {
    match field {
        Field::Target => target.to_owned(),
        Field::Rw => job.rw.word().to_owned(),
        Field::Bs => round_bytes(job.bs),
        Field::Iodepth => job.iodepth.to_string(),
        Field::Numjobs => job.numjobs.to_string(),
        Field::Engine => job.engine.word().to_owned(),
        Field::Direct => if job.direct { "yes" } else { "no" }.to_owned(),
        Field::Runtime => seconds(job.runtime),
        Field::Ramp => seconds(job.ramp),
        Field::Size => job.size.map_or_else(|| "all".to_owned(), round_bytes),
        Field::Start => "[ start ]".to_owned(),
    }
}

/// `10 s`, `1.50 s`, `5 min`.
#[must_use]
pub fn seconds(d: Duration) -> String {
    let s = d.as_secs();
    if d.subsec_nanos() != 0 {
        format!("{} s", three_digits(d.as_secs_f64()))
    } else if s >= 120 && s.is_multiple_of(60) {
        format!("{} min", s / 60)
    } else {
        format!("{s} s")
    }
}

/// `4 KiB` where the amount is round, `1.50 MiB` where not.
#[must_use]
pub fn round_bytes(b: Bytes) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if b.0 >= 1 << shift && b.0.is_multiple_of(1 << shift) {
            return format!("{} {unit}", b.0 >> shift);
        }
    }
    b.to_string()
}

/// What will happen, and for how long.
#[must_use]
pub fn sentence(job: &Job, target: &str) -> String {
    let in_flight = u64::from(job.depth_in_use()) * u64::from(job.numjobs);
    let verb = match job.rw {
        Rw::Read | Rw::RandRead => "reads",
        Rw::Write | Rw::RandWrite => "writes",
        Rw::Rw | Rw::RandRw => "reads and writes",
    };
    let place = match job.rw {
        Rw::RandRead | Rw::RandWrite | Rw::RandRw => "at random places of",
        Rw::Read | Rw::Write | Rw::Rw => "one after the other from",
    };
    let cache = if job.direct { "past the page cache" } else { "through the page cache" };
    let mut s = format!("{verb} {} {place} {target}", round_bytes(job.bs));
    if let Some(size) = job.size.filter(|_| target != "a scratch file") {
        let _ = write!(s, " (its first {})", round_bytes(size));
    } else if let Some(size) = job.size {
        let _ = write!(s, " of {}", round_bytes(size));
    }
    let _ = write!(s, ", {in_flight} in flight, {cache}");
    if job.drop_caches != DropCaches::None {
        s.push_str(" after its pages were dropped");
    }
    let _ = write!(s, ", for {}", seconds(job.runtime));
    if !job.ramp.is_zero() {
        let _ = write!(s, " after {} of ramp", seconds(job.ramp));
    }
    match (job.rw, target) {
        (Rw::Read | Rw::RandRead, "a scratch file") => s.push_str("; only the scratch file is written"),
        (Rw::Read | Rw::RandRead, _) => s.push_str("; nothing is written"),
        _ => {}
    }
    s
}

const BLOCKS: &[u64] = &[
    512,
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
    2 << 20,
    4 << 20,
];
const DEPTHS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];
const JOBS: &[u64] = &[1, 2, 4, 8, 16, 32];
const RUNTIMES: &[u64] = &[2, 5, 10, 20, 30, 60, 120, 300];
const RAMPS: &[u64] = &[0, 1, 2, 5, 10];
const SIZES: &[u64] = &[64 << 20, 256 << 20, 1 << 30, 4 << 30, 16 << 30];

/// The neighbour of a value in a list; a value between two goes to the nearer in that direction.
fn neighbour(list: &[u64], now: u64, forward: bool) -> u64 {
    if forward {
        list.iter().copied().find(|v| *v > now).unwrap_or(now)
    } else {
        list.iter().rev().copied().find(|v| *v < now).unwrap_or(now)
    }
}

fn small(v: u64) -> u32 {
    u32::try_from(v).unwrap_or(u32::MAX)
}

/// The next or previous value of a field. The target is not the job's.
pub fn step(job: &mut Job, field: Field, forward: bool) {
    match field {
        Field::Rw => job.rw = if job.rw == Rw::Read { Rw::RandRead } else { Rw::Read },
        Field::Bs => job.bs = Bytes(neighbour(BLOCKS, job.bs.0, forward)),
        Field::Iodepth => job.iodepth = small(neighbour(DEPTHS, job.iodepth.into(), forward)),
        Field::Numjobs => job.numjobs = small(neighbour(JOBS, job.numjobs.into(), forward)),
        Field::Engine => {
            // Chosen by hand, so another one may not take its place.
            job.engine_required = true;
            job.engine = match job.engine {
                EngineKind::IoUring => EngineKind::Psync,
                EngineKind::Psync | EngineKind::Null => EngineKind::IoUring,
            }
        }
        Field::Direct => job.direct = !job.direct,
        Field::Runtime => {
            job.runtime = Duration::from_secs(neighbour(RUNTIMES, job.runtime.as_secs(), forward));
        }
        Field::Ramp => job.ramp = Duration::from_secs(neighbour(RAMPS, job.ramp.as_secs(), forward)),
        Field::Size => {
            job.size = match (job.size, forward) {
                (None, true) => Some(Bytes(SIZES[0])),
                (None, false) => None,
                (Some(s), false) if s.0 <= SIZES[0] => None,
                (Some(s), _) => Some(Bytes(neighbour(SIZES, s.0, forward))),
            }
        }
        Field::Target | Field::Start => {}
    }
}

/// Takes a typed text into a field of the job, as `--set` would.
///
/// # Errors
/// Why the text is no value of that field, or does not go with the other fields.
pub fn take_text(job: &mut Job, field: Field, text: &str) -> Result<(), String> {
    // The form writes `4 KiB` and `10 s`, which are read without the blank.
    let text = text.replace(' ', "");
    let mut changed = job.clone();
    if field == Field::Size && text == "all" {
        changed.size = None;
    } else {
        changed.set(&format!("{}={text}", field.name())).map_err(|e| match e {
            JobError::Value { value, why, .. } => format!("{value:?}: {why}"),
            other => other.to_string(),
        })?;
    }
    changed.check().map_err(|e| e.to_string())?;
    *job = changed;
    Ok(())
}
