//! The fields of a job as a form: their values, what stepping visits, what may be typed, and the sentence that sums
//! them up.

use std::fmt::Write as _;
use std::time::Duration;

use crate::units::{Bytes, three_digits};
use crate::workload::job::{EngineKind, Job, Rw};

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
        Field::Rw => rw_word(job.rw).to_owned(),
        Field::Bs => round_bytes(job.bs),
        Field::Iodepth => job.iodepth.to_string(),
        Field::Numjobs => job.numjobs.to_string(),
        Field::Engine => engine_word(job.engine).to_owned(),
        Field::Direct => if job.direct { "yes" } else { "no" }.to_owned(),
        Field::Runtime => seconds(job.runtime),
        Field::Ramp => seconds(job.ramp),
        Field::Size => job.size.map_or_else(|| "all".to_owned(), round_bytes),
        Field::Start => "[ start ]".to_owned(),
    }
}

const fn rw_word(rw: Rw) -> &'static str {
    match rw {
        Rw::Read => "read",
        Rw::RandRead => "randread",
        Rw::Write => "write",
        Rw::RandWrite => "randwrite",
        Rw::Rw => "rw",
        Rw::RandRw => "randrw",
    }
}

const fn engine_word(engine: EngineKind) -> &'static str {
    match engine {
        EngineKind::IoUring => "io_uring",
        EngineKind::Psync => "psync",
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
    let workers = u64::from(job.numjobs.max(1));
    let depth = match job.engine {
        EngineKind::IoUring => u64::from(job.iodepth.max(1)),
        EngineKind::Psync => 1,
    };
    let in_flight = depth.saturating_mul(workers);
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
    if job.drop_caches {
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
            job.engine = match job.engine {
                EngineKind::IoUring => EngineKind::Psync,
                EngineKind::Psync => EngineKind::IoUring,
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

/// Takes a typed text into a field of the job.
///
/// # Errors
/// Why the text is no value of that field.
pub fn take_text(job: &mut Job, field: Field, text: &str) -> Result<(), String> {
    let text = text.trim().to_lowercase();
    let count = |most: u32| match text.parse::<u32>() {
        Ok(n) if (1..=most).contains(&n) => Ok(n),
        Ok(n) => Err(format!("{n} is not between 1 and {most}")),
        Err(_) => Err(format!("{text:?} is not a whole number")),
    };
    match field {
        Field::Bs => {
            let bs = parse_bytes(&text)?;
            if !(512..=(64 << 20)).contains(&bs) || !bs.is_multiple_of(512) {
                return Err("a block is a multiple of 512 bytes, up to 64 MiB".to_owned());
            }
            job.bs = Bytes(bs);
        }
        Field::Iodepth => job.iodepth = count(4096)?,
        Field::Numjobs => job.numjobs = count(256)?,
        Field::Runtime => {
            let t = parse_time(&text)?;
            if t.is_zero() {
                return Err("a run takes some time".to_owned());
            }
            job.runtime = t;
        }
        Field::Ramp => job.ramp = parse_time(&text)?,
        Field::Size => {
            job.size = if text == "all" {
                None
            } else {
                let size = parse_bytes(&text)?;
                if size < job.bs.0 {
                    return Err(format!("less than one block of {}", round_bytes(job.bs)));
                }
                Some(Bytes(size))
            }
        }
        Field::Target | Field::Rw | Field::Engine | Field::Direct | Field::Start => {
            return Err("this field is not typed".to_owned());
        }
    }
    Ok(())
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is no amount; write 4k, 1m or 2 GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err(bad()),
    };
    let n: u64 = number.parse().map_err(|_| bad())?;
    n.checked_mul(1 << shift).ok_or_else(bad)
}

/// Longest run that can be asked for: a day.
const LONGEST: Duration = Duration::from_hours(24);

fn parse_time(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is no time; write 10, 500ms or 2m");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let n: u64 = number.parse().map_err(|_| bad())?;
    let t = match unit.trim() {
        "" | "s" => Duration::from_secs(n),
        "ms" => Duration::from_millis(n),
        "m" | "min" => Duration::from_secs(n.checked_mul(60).ok_or_else(bad)?),
        _ => return Err(bad()),
    };
    if t > LONGEST { Err("longer than a day".to_owned()) } else { Ok(t) }
}
