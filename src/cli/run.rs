//! `blktune run`: one job on one target, measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;

use super::outcome::{CommandResult, Failure};
use super::output;
use super::progress_line::ProgressLine;
use super::run_text::describe;
use super::workload_failure::{run_failure, stopped, target_failure};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::trial::result::TrialResult;
use crate::trial::{self, foreign};
use crate::workload::assemble::assemble;
use crate::workload::guard::Arming;
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::named::Named;
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

fn measure(
    args: &RunArgs,
    root: &SysRoot,
    instead: Option<&str>,
    jobs: &[Job],
    stop: &Arc<AtomicBool>,
    line: &mut ProgressLine,
) -> Result<(TrialResult, Option<KernelName>), Failure> {
    trial::check(root, jobs).map_err(run_failure)?;
    let path = args.target.as_deref().or(instead.map(Path::new)).unwrap_or(Path::new("."));
    // Nobody named it: it is the sandbox's, made for this run.
    let own = args.target.is_none() && instead.is_some();
    let mut scratch = || scratch::make(root, path, jobs, stop, &mut |p| line.show(&p));
    let sandbox = path.to_str().filter(|_| own && !path.is_absolute()).map(str::to_owned);
    let armed = || {
        if let Some(device) = args.write_device.clone() {
            return Some(Target::armed(root, path, &Arming { device, destroy: args.destroy.clone() }));
        }
        sandbox.as_ref().map(|device| sandbox_target(root, path, device))
    };
    if args.write_device.is_some() && !jobs.iter().any(|j| j.rw.writes()) {
        return Err(Failure::Usage(
            "--write-device arms a job that writes, and this one only reads".to_owned(),
        ));
    }
    let target = Named { path, armed: &armed, own }.open(root, jobs, &mut scratch).map_err(target_failure)?;
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
        output::say(format_args!("blktune: {}", guard.sentence()));
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

/// The sandbox's device, to be written to: it was made for this command over a file of its own, so nobody has to arm it. The
/// guard is the same.
///
/// # Errors
/// What the guard finds.
pub(super) fn sandbox_target(root: &SysRoot, path: &Path, device: &str) -> Result<Target, TargetError> {
    Target::armed(root, path, &Arming { device: device.to_owned(), destroy: Vec::new() })
}
