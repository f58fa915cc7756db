//! Screen 3: presets, the fields of the job, and the sentence that says what will happen.

use std::fmt::Write as _;
use std::time::Duration;

use crate::sys::device::DeviceId;
use crate::units::{Bytes, three_digits};
use crate::workload::job::{EngineKind, Job, Rw};

use crate::app::dialogs::Dialog;
use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::dialogs::explain::Explanation;
use crate::app::effect::{Effect, RunTarget};
use crate::app::model::{Model, PresetRow};
use crate::app::run::Run;

use super::devices::{self, Chosen};

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct WorkloadScreen {
    /// The presets, as given at the start.
    pub presets: Vec<PresetRow>,
    /// The preset under the cursor.
    pub preset: usize,
    /// First preset shown.
    pub top: usize,
    /// The job as it stands; None without presets.
    pub job: Option<Job>,
    /// The keys go to the fields.
    pub in_fields: bool,
    /// The field under the cursor.
    pub field: usize,
    /// Read a scratch file rather than the chosen device.
    pub scratch: bool,
}

impl WorkloadScreen {
    /// The screen with its presets; the first is taken.
    #[must_use]
    pub fn new(presets: Vec<PresetRow>) -> Self {
        let job = presets.first().map(|p| p.job.clone());
        Self { presets, job, ..Self::default() }
    }
}

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

    const fn typed(self) -> bool {
        matches!(
            self,
            Field::Bs | Field::Iodepth | Field::Numjobs | Field::Runtime | Field::Ramp | Field::Size
        )
    }
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

/// The device or partition that a run would read, and its name; None for a scratch file.
#[must_use]
pub fn target(model: &Model) -> (RunTarget, String) {
    let scratch = (RunTarget::Scratch, "a scratch file".to_owned());
    if model.workload.scratch {
        return scratch;
    }
    let Some(entry) = devices::chosen_device(model).filter(|e| e.live()) else { return scratch };
    let (path, name) = match &model.devices.chosen {
        Some(Chosen::Partition(_, name)) => {
            let part = entry.device.partitions.iter().find(|p| p.name == *name);
            (part.map(|p| p.path.clone()), name.kernel())
        }
        _ => (entry.device.path.clone(), entry.device.name().kernel()),
    };
    match path {
        Some(path) => (RunTarget::Device { device: entry.device.id.clone(), path }, name),
        None => scratch,
    }
}

/// The value of a field, as the form shows it.
#[must_use]
pub fn value(model: &Model, job: &Job, field: Field) -> String {
    match field {
        Field::Target => target(model).1,
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

/// Moves the cursor in the list that has the keys. Going to another preset takes its job.
pub fn move_by(model: &mut Model, by: isize) {
    let w = &mut model.workload;
    if w.in_fields {
        w.field = w.field.saturating_add_signed(by).min(FIELDS.len() - 1);
    } else if let Some(last) = w.presets.len().checked_sub(1) {
        let to = w.preset.saturating_add_signed(by).min(last);
        if to != w.preset {
            w.preset = to;
            w.job = Some(w.presets[to].job.clone());
        }
    }
}

/// Steps the field under the cursor.
pub fn step(model: &mut Model, forward: bool) {
    let w = &mut model.workload;
    let (Some(job), Some(field)) = (&mut w.job, FIELDS.get(w.field)) else { return };
    match field {
        Field::Target => w.scratch = !w.scratch,
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
        Field::Start => {}
    }
}

/// Whether Enter does something on the field under the cursor.
///
/// # Errors
/// Why not.
pub fn can_use(model: &Model) -> Result<(), String> {
    if model.workload.job.is_none() {
        return Err("there are no presets".to_owned());
    }
    match FIELDS.get(model.workload.field) {
        Some(Field::Start) if model.run.as_ref().is_some_and(Run::going) => {
            Err("a run is going on already".to_owned())
        }
        Some(f) if f.typed() || *f == Field::Start => Ok(()),
        _ => Err("this field is not typed; Left and Right change it".to_owned()),
    }
}

/// Enter on a field: types a value, or starts.
pub fn use_field(model: &mut Model) -> Vec<Effect> {
    let Some(field) = FIELDS.get(model.workload.field).copied() else { return Vec::new() };
    let Some(job) = model.workload.job.clone() else { return Vec::new() };
    if field == Field::Start {
        if let Some(text) = others_io(model) {
            model.dialogs.push(Dialog::Busy { text, start: false });
            return Vec::new();
        }
        return start(model, false);
    }
    let hint = match field {
        Field::Bs => "512, 4k, 1m",
        Field::Size => "all, 256m, 4g",
        Field::Runtime | Field::Ramp => "seconds, or 500ms, 2m",
        _ => "a whole number",
    };
    let text = value(model, &job, field);
    model.dialogs.push(Dialog::Edit(EditDialog {
        purpose: Purpose::Field(field),
        title: field.name().to_owned(),
        hint: hint.to_owned(),
        text,
        refused: None,
    }));
    Vec::new()
}

/// Other people's I/O on the target that a run would disturb: whose device, and how much. None if it is quiet, or
/// if the run reads a scratch file.
#[must_use]
pub fn others_io(model: &Model) -> Option<String> {
    let (RunTarget::Device { device, .. }, _) = target(model) else { return None };
    let rates = model.fleet.get(&device)?.rates.as_ref()?;
    let busy = rates.busy_pct.unwrap_or(0.0);
    let iops = rates.read_iops.unwrap_or(0.0) + rates.write_iops.unwrap_or(0.0);
    // A quiet system disk still sees a commit of its journal now and then.
    if busy < 5.0 && iops < 50.0 {
        return None;
    }
    let mib = rates.bytes_per_s().map_or_else(|| "-".to_owned(), crate::units::mib_per_s);
    Some(format!(
        "{} is doing {} I/O per second for others, {mib} MiB/s, {busy:.0}% busy; the run would slow them down, and they the run",
        device.name,
        crate::units::events(iops.round())
    ))
}

/// Starts the run of the form.
pub fn start(model: &mut Model, busy_ok: bool) -> Vec<Effect> {
    let Some(job) = model.workload.job.clone() else { return Vec::new() };
    if model.run.as_ref().is_some_and(Run::going) {
        return Vec::new();
    }
    let (target, name) = target(model);
    let device = match &target {
        RunTarget::Device { device, .. } => Some(device.clone()),
        RunTarget::Scratch => None::<DeviceId>,
    };
    model.run = Some(Run::new(job.clone(), name, device));
    vec![Effect::StartRun { job: Box::new(job), target, busy_ok }]
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

/// What the preset under the cursor is for.
#[must_use]
pub fn about_preset(model: &Model) -> Option<Explanation> {
    let p = model.workload.presets.get(model.workload.preset)?;
    Some(Explanation {
        title: p.name.clone(),
        paragraphs: vec![
            p.question.clone(),
            format!("Not for: {}", p.not_for),
            sentence(&p.job, &target(model).1),
        ],
    })
}
