//! `blktune run`: one job on one target, measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::outcome::{CommandResult, Failure};
use super::output;
use super::progress_line::ProgressLine;
use super::run_text::describe;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::trial::result::TrialResult;
use crate::trial::{self, foreign};
use crate::workload::assemble::assemble;
use crate::workload::guard::{Arming, Refusal};
use crate::workload::job::Job;
use crate::workload::keys::JobError;
use crate::workload::live::Progress;
use crate::workload::outcome::RunError;
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
    /// Arm a job that writes to this whole device: the kernel name of TARGET. All that is on it may be lost
    #[arg(long, value_name = "NAME")]
    pub write_device: Option<String>,
    /// Go past what was found on the device, by the word that the refusal printed
    #[arg(long, value_name = "SIGNATURE", value_delimiter = ',', requires = "write_device")]
    pub destroy: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    result: &'a TrialResult,
    /// The device that was written to, by name; null for scratch files and for jobs that only read.
    wrote_device: Option<&'a KernelName>,
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
    let jobs = assemble(&args.job, &args.set).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut line = ProgressLine::new(jobs.len());
    let result = measure(args, root, instead, &jobs, stop, &mut line);
    line.clear();
    let (result, written) = result?;
    if args.json {
        let wrote_device = written.as_ref().filter(|_| result.total.write.ios > 0);
        output::json(&Document { schema: "blktune.run/1", result: &result, wrote_device })?;
    } else {
        output::text(&describe(&result))?;
    }
    match &result.stopped_for {
        Some(why) => Err(Failure::Unsafe(why.clone())),
        None if result.interrupted => Err(stopped()),
        None => Ok(()),
    }
}

fn stopped() -> Failure {
    Failure::Signal(2)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn usage(e: JobError) -> Failure {
    Failure::Usage(e.to_string())
}

/// The target of jobs that only read.
fn to_read(
    args: &RunArgs,
    root: &SysRoot,
    named: &Path,
    scratch: &mut dyn FnMut() -> Result<Target, TargetError>,
) -> Result<Target, Failure> {
    if args.write_device.is_some() {
        return Err(Failure::Usage(
            "--write-device arms a job that writes, and this one only reads".to_owned(),
        ));
    }
    match Target::open(root, named).map_err(target_failure)? {
        Some(target) => Ok(target),
        None => scratch().map_err(target_failure),
    }
}

/// The target of a job that writes: a device that is armed, or a file made for the run.
fn to_write(
    args: &RunArgs,
    root: &SysRoot,
    named: &Path,
    job: &Job,
    own: bool,
    scratch: &mut dyn FnMut() -> Result<Target, TargetError>,
) -> Result<Target, Failure> {
    let job = format!("{} (rw={})", job.name, job.rw.word());
    // The sandbox's device was made for this run, over a file of its own, so it needs no arming; the guard is the same.
    let sandbox = named.to_str().filter(|_| own && !named.is_absolute()).map(str::to_owned);
    let arming = |device| Arming { device, destroy: args.destroy.clone() };
    if let Some(arming) = args.write_device.clone().or(sandbox).map(arming) {
        return Target::armed(root, named, &arming).map_err(target_failure);
    }
    let refused = |r: Refusal| Err(target_failure(r.into()));
    match Target::open(root, named) {
        Ok(None) => scratch().map_err(target_failure),
        Ok(Some(target)) if own => Ok(target.made_for_the_run()),
        Ok(Some(target)) => match (target.kind, target.backing) {
            (TargetKind::Device, Some(b)) if b.row == b.whole => {
                refused(Refusal::NotArmed { job, node: target.shown, name: b.whole })
            }
            (TargetKind::Device, Some(b)) => refused(Refusal::Partition(b.row, b.whole)),
            _ => refused(Refusal::ExistingFile(job, target.shown)),
        },
        Err(TargetError::Open(shown, e)) if e.kind() == std::io::ErrorKind::NotFound => {
            refused(Refusal::NoFile(job, shown))
        }
        Err(TargetError::Hidden(path, head)) => refused(Refusal::Hidden(path, head)),
        Err(e) => Err(target_failure(e)),
    }
}

fn measure(
    args: &RunArgs,
    root: &SysRoot,
    instead: Option<&str>,
    jobs: &[Job],
    stop: &Arc<AtomicBool>,
    line: &mut ProgressLine,
) -> Result<(TrialResult, Option<KernelName>), Failure> {
    trial::check(root, jobs).map_err(run_failure)?;
    let named = args.target.as_deref().or(instead.map(Path::new)).unwrap_or(Path::new("."));
    // Nobody named it: it is the sandbox's, made for this run.
    let own = args.target.is_none() && instead.is_some();
    let mut scratch = || scratch::make(root, named, jobs, stop, &mut |p| line.show(&p));
    let mut target = match jobs.iter().find(|j| j.rw.writes()) {
        Some(job) => to_write(args, root, named, job, own, &mut scratch)?,
        None => to_read(args, root, named, &mut scratch)?,
    };
    // The sandbox's file has no name, only a descriptor.
    if own && target.kind != TargetKind::Device {
        "the sandbox's scratch file".clone_into(&mut target.shown);
    }
    // What is wrong with the job on this target is said before anybody waits.
    for job in jobs {
        target.region(job).map_err(target_failure)?;
    }
    let whole = target.backing.as_ref().map(|b| &b.whole).filter(|_| target.kind == TargetKind::Device);
    let busy = whole.and_then(|whole| foreign::look(root, whole, stop));
    if let (Some(busy), false) = (&busy, args.busy_ok) {
        return Err(Failure::Unsafe(format!(
            "{busy}; a workload would slow it down and be slowed down by it: wait, or start it all the same with --busy-ok, and it stops by itself when others wait too long"
        )));
    }
    if let Some(guard) = target.guard() {
        line.clear();
        eprintln!("blktune: {}", guard.sentence());
    }
    if let Some(sentence) = trial::foreground::sentence(jobs) {
        line.say(&sentence);
    }
    let on = line.is_on();
    let mut tell = |p| line.show(&p);
    let tell: Option<&mut dyn FnMut(Progress)> = if on { Some(&mut tell) } else { None };
    let result =
        trial::run_trial_beside(root, jobs, &target, busy.as_ref(), stop, tell).map_err(run_failure)?;
    Ok((result, target.guard().map(|g| g.name().clone())))
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
        TargetError::Refused(Refusal::Open(_, ref e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(text)
        }
        TargetError::NoScratch(_) | TargetError::Refused(_) => Failure::Unsafe(text),
        TargetError::Full(..) | TargetError::Unwritten(..) => Failure::Workload(text),
        TargetError::Stopped => stopped(),
        TargetError::WrongType(..)
        | TargetError::Hidden(..)
        | TargetError::NoDirect(_)
        | TargetError::NotPolled(_)
        | TargetError::Misaligned { .. }
        | TargetError::Memory(..)
        | TargetError::Empty { .. } => Failure::Usage(text),
    }
}

fn run_failure(e: RunError) -> Failure {
    match e {
        RunError::Writes(..) | RunError::Unsafe(_) => Failure::Unsafe(e.to_string()),
        RunError::NotPermitted(text) => Failure::NotPermitted(text),
        RunError::Job(e) => usage(e),
        RunError::Target(e) => target_failure(e),
        RunError::Stopped => stopped(),
        RunError::NoEngine(_) | RunError::Start(..) | RunError::Failed { .. } | RunError::Engine(_) => {
            Failure::Workload(e.to_string())
        }
    }
}
