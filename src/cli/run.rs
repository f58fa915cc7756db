//! `blktune run`: one job on one target, measured.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::attr::clean;
use crate::sys::root::SysRoot;
use crate::trial::result::TrialResult;
use crate::trial::{foreign, run_trial};
use crate::units::{latency, mib_per_s};
use crate::workload::job::{Job, JobError};
use crate::workload::live::{Phase, Progress};
use crate::workload::preset::{self, PRESETS};
use crate::workload::run::RunError;
use crate::workload::scratch;
use crate::workload::target::{Target, TargetError, TargetKind};

/// Arguments of `run`.
#[derive(clap::Args, Clone, Debug)]
pub struct RunArgs {
    /// The job: a preset's name (see `blktune jobs`)
    pub job: String,
    /// A block device, a file, or a directory for a scratch file (default: the current directory)
    pub target: Option<PathBuf>,
    /// Change a field of the job, by fio's names: bs=4k, iodepth=32, runtime=10s
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Start beside other people's I/O
    #[arg(long)]
    pub busy_ok: bool,
    /// Arm a job that writes to this whole device
    #[arg(long, value_name = "NAME")]
    pub write_device: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    result: &'a TrialResult,
}

/// Runs the job and prints what was measured. `stop` ends it early; what was measured until then is still printed.
///
/// # Errors
/// A command line that makes no sense, a job that writes, a busy device, a target that can not be read, a workload that
/// failed; [`Failure::Signal`] of SIGINT after a stop (the caller knows which signal it really was).
pub fn run(args: &RunArgs, root: &SysRoot, instead: Option<&str>, stop: &Arc<AtomicBool>) -> CommandResult {
    if !root.is_live() {
        return Err(Failure::Usage(
            "run: a captured tree (--sysroot) can be looked at, not measured".to_owned(),
        ));
    }
    let job = job(args)?;
    if job.rw.writes() || args.write_device.is_some() {
        return Err(refuse_to_write(&job));
    }
    let mut line = ProgressLine::new();
    let result = measure(args, root, instead, &job, stop, &mut line);
    line.clear();
    let result = result?;
    if args.json {
        output::json(&Document { schema: "blktune.run/1", result: &result })?;
    } else {
        output::text(&describe(&result))?;
    }
    if result.interrupted { Err(stopped()) } else { Ok(()) }
}

fn stopped() -> Failure {
    Failure::Signal(2)
}

/// The preset with what `--set` changes.
fn job(args: &RunArgs) -> Result<Job, Failure> {
    let Some(preset) = preset::find(&args.job) else {
        let names: Vec<&str> = PRESETS.iter().map(|p| p.name).collect();
        return Err(Failure::Usage(format!(
            "no job called {:?}; the presets are {} (job files are not supported yet)",
            clean(args.job.as_bytes()),
            names.join(", ")
        )));
    };
    let mut job = preset.job();
    for assignment in &args.set {
        job.set(assignment).map_err(usage)?;
    }
    job.check().map_err(usage)?;
    Ok(job)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn usage(e: JobError) -> Failure {
    Failure::Usage(e.to_string())
}

fn refuse_to_write(job: &Job) -> Failure {
    let what = if job.rw.writes() {
        format!("{} with rw={} writes", job.name, job.rw.word())
    } else {
        "--write-device arms a job that writes".to_owned()
    };
    Failure::Unsafe(format!(
        "{what}, and this version only reads: nothing was opened or changed; use a job that reads (seqread-1m, randread-4k, dd-1m) without --write-device"
    ))
}

fn measure(
    args: &RunArgs,
    root: &SysRoot,
    instead: Option<&str>,
    job: &Job,
    stop: &Arc<AtomicBool>,
    line: &mut ProgressLine,
) -> Result<TrialResult, Failure> {
    let named = args.target.as_deref().or(instead.map(Path::new)).unwrap_or(Path::new("."));
    let target = match Target::open(root, named).map_err(target_failure)? {
        // The sandbox's file has no name, only a descriptor.
        Some(mut target) if args.target.is_none() && target.kind == TargetKind::File => {
            "the sandbox's scratch file".clone_into(&mut target.shown);
            target
        }
        Some(target) => target,
        None => scratch::make(root, named, job, stop, &mut |p| line.show(&p)).map_err(target_failure)?,
    };
    // What is wrong with the job on this target is said before anybody waits.
    target.region(job).map_err(target_failure)?;
    if target.kind == TargetKind::Device
        && !args.busy_ok
        && let Some(backing) = &target.backing
        && let Some(busy) = foreign::look(root, &backing.whole, stop)
    {
        return Err(Failure::Unsafe(format!(
            "{busy}; a workload would slow it down and be slowed down by it: wait, or start it all the same with --busy-ok"
        )));
    }
    run_trial(root, job, &target, stop, &mut |p| line.show(&p)).map_err(run_failure)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn target_failure(e: TargetError) -> Failure {
    let text = e.to_string();
    match e {
        TargetError::NotPermitted(_) => Failure::NotPermitted(text),
        TargetError::Io(_, _, ref e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(text)
        }
        TargetError::Open(_, ref e) if e.kind() == std::io::ErrorKind::NotFound => Failure::Usage(text),
        TargetError::Open(..) | TargetError::Io(..) => Failure::GoneOrBusy(text),
        TargetError::NoScratch(_) => Failure::Unsafe(text),
        TargetError::Stopped => stopped(),
        TargetError::WrongType(..)
        | TargetError::Hidden(..)
        | TargetError::NoDirect(_)
        | TargetError::Misaligned { .. }
        | TargetError::Empty { .. } => Failure::Usage(text),
    }
}

fn run_failure(e: RunError) -> Failure {
    match e {
        RunError::Writes(..) => Failure::Unsafe(e.to_string()),
        RunError::Job(e) => usage(e),
        RunError::Target(e) => target_failure(e),
        RunError::Stopped => stopped(),
        RunError::NoEngine(_) | RunError::Start(..) | RunError::Failed { .. } | RunError::Engine(_) => {
            Failure::Workload(e.to_string())
        }
    }
}

/// The result as text.
fn describe(r: &TrialResult) -> String {
    let mut out = String::new();
    let read = &r.total.read;
    // Writing to a String can not fail.
    let mut line = |label: &str, text: String| _ = writeln!(out, "{label:<9} {text}");
    let asked = r.asked.first();
    line("job", asked.map_or(String::new(), |j| format!("{}: {j}", j.name)));
    line("target", r.target.clone());
    line("engine", r.engine.clone());
    line(
        "read",
        format!(
            "{} MiB/s  {:.0} IOPS  ({} in {} I/Os, {:.2} s)",
            mib_per_s(read.bytes_per_s),
            read.iops,
            read.bytes,
            read.ios,
            r.window_s
        ),
    );
    if let Some(c) = read.clat_ns {
        let mean = c.mean.map(whole_ns);
        let cells = [
            ("min", c.min),
            ("mean", mean),
            ("p50", c.p50),
            ("p90", c.p90),
            ("p95", c.p95),
            ("p99", c.p99),
            ("p99.9", c.p99_9),
            ("p99.99", c.p99_99),
            ("max", c.max),
        ];
        let shown: Vec<String> =
            cells.iter().filter_map(|(n, v)| v.map(|v| format!("{n} {}", latency(v)))).collect();
        line("latency", shown.join("  "));
    }
    if read.errors > 0 {
        line("errors", read.errors.to_string());
    }
    match &r.device {
        Some(d) => line(
            "device",
            format!(
                "{}: {} in {} reads{}, {} written, {} merged{}",
                d.name,
                d.read_bytes,
                d.read_ios,
                d.read_size_bytes.map_or(String::new(), |s| format!(" of {:.1} KiB", s / 1024.0)),
                d.write_bytes,
                d.merged,
                d.engine_share
                    .filter(|s| *s < 1.02)
                    .map_or(String::new(), |s| format!(", the engine's share {:.1}%", s * 100.0)),
            ),
        ),
        None => line("device", "not known".to_owned()),
    }
    let per_io = match (r.cpu.user_ns_per_io, r.cpu.system_ns_per_io) {
        (Some(u), Some(s)) => format!(" ({u:.0} ns + {s:.0} ns an I/O)"),
        _ => String::new(),
    };
    line("cpu", format!("{:.2} s user, {:.2} s system{per_io}", r.cpu.user_s, r.cpu.system_s));
    for w in &r.warnings {
        line("warning", w.clone());
    }
    out
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean of times, to be shown
fn whole_ns(ns: f64) -> crate::units::Nanos {
    crate::units::Nanos(ns as u64)
}

/// One line on stderr that is drawn over itself, on a terminal only.
struct ProgressLine {
    on: bool,
    shown: usize,
}

impl ProgressLine {
    fn new() -> Self {
        Self { on: std::io::stderr().is_terminal(), shown: 0 }
    }

    fn show(&mut self, p: &Progress) {
        if self.on {
            self.draw(&words(p));
        }
    }

    /// Blanks the line.
    fn clear(&mut self) {
        if self.shown > 0 {
            self.draw("");
            self.put("\r");
            self.shown = 0;
        }
    }

    fn draw(&mut self, text: &str) {
        let n = text.chars().count();
        self.put(&format!("\r{text}{:pad$}", "", pad = self.shown.saturating_sub(n)));
        self.shown = n;
    }

    /// A terminal that went away is no reason to stop measuring.
    fn put(&mut self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.write_all(text.as_bytes()).and_then(|()| err.flush()).is_err() {
            self.on = false;
        }
    }
}

fn words(p: &Progress) -> String {
    let phase = match p.phase {
        Phase::Preparing => "writing the scratch file",
        Phase::Ramp => "ramp",
        Phase::Measuring => "measuring",
        Phase::Draining => "waiting for I/O in flight",
    };
    let mut text = format!("{phase} {:.1}", p.elapsed.seconds());
    // Writing to a String can not fail.
    if let Some(planned) = p.planned {
        _ = write!(text, " of {:.1} s", planned.seconds());
    } else {
        text.push_str(" s");
    }
    if let (Some(iops), Some(rate)) = (p.iops, p.bytes_per_s) {
        _ = write!(text, "  {iops:.0} IOPS  {} MiB/s", mib_per_s(rate));
    }
    if let Some(p99) = p.clat.p99 {
        _ = write!(text, "  p99 {}", latency(p99));
    }
    if p.errors > 0 {
        _ = write!(text, "  {} errors", p.errors);
    }
    text
}
