//! `blktune ab`: does a candidate beat the baseline here? Two cells, conducted on the real device.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

pub use super::ab_args::AbArgs;
use super::ab_progress::Teller;
use super::ab_report::Ended;
use super::ab_target;
use super::change_report::journal;
use super::device_arg::{Resolved, resolve};
use super::outcome::{CommandResult, Failure};
use super::output;
use super::progress_line::ProgressLine;
use super::target_arg::stopped;
use crate::clock::{Clock, SystemClock};
use crate::config::view::state_dir;
use crate::experiment::analysis::{Analysis, analyse};
use crate::experiment::asked::Designed;
use crate::experiment::conductor::Conductor;
use crate::experiment::design::{Design, FactorKind, Isolation};
use crate::experiment::drive::{self, Conducted};
use crate::experiment::estimate::block_time;
use crate::experiment::event::{Ending, Event};
use crate::experiment::observation::{Question, from_trials};
use crate::experiment::trial::{PlannedTrial, Trial};
use crate::experiment::weak::Weak;
use crate::experiment::{plan, schedule};
use crate::record::fit;
use crate::record::manifest::{Asked, Manifest};
use crate::record::reader::Record;
use crate::record::summary::{self, Summary};
use crate::record::writer::Writer;
use crate::record::{RecordError, place};
use crate::runtime::kernel_bench::KernelBench;
use crate::sys::device_lock::LockError;
use crate::sys::inventory;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::sys::usage::Users;
use crate::trial::foreign;
use crate::tuning::control::SysfsQueue;
use crate::units::Nanos;

#[derive(Serialize)]
struct PlanDocument<'a> {
    schema: &'static str,
    design: &'a Design,
    greyed: &'a Option<String>,
    merged: &'a [String],
    weak: &'a [Weak],
    plan: &'a [PlannedTrial],
}

/// An experiment about to be started.
struct Prepared {
    device: Resolved,
    state: QueueState,
    designed: Designed,
    plan: Vec<PlannedTrial>,
    /// Trials that were run before, of an experiment that goes on.
    done: Vec<Trial>,
}

/// Conducts the experiment and prints what follows. `stop` ends it early: what was measured until then is kept and
/// printed, and judged by the last look.
///
/// # Errors
/// A command line that makes no sense, cells that should make no difference, missing rights, a busy device, a workload
/// that failed, settings that could not be put back; without a verdict if one was required.
pub fn run(args: &AbArgs, root: &SysRoot, instead: Option<&str>, stop: &Arc<AtomicBool>) -> CommandResult {
    let prepared = match &args.resume {
        Some(dir) => go_on(dir, root)?,
        None => prepare(args, root, instead)?,
    };
    if args.plan {
        return show_plan(&prepared, root, args.json);
    }
    if !root.is_live() {
        return Err(Failure::Usage(
            "ab: a captured tree (--sysroot) can be looked at, not measured; --plan prints what would happen"
                .to_owned(),
        ));
    }
    if let Some(refusal) = prepared.designed.refusal() {
        return Err(Failure::Usage(refusal));
    }
    conduct(args, root, &prepared, stop)
}

fn prepare(args: &AbArgs, root: &SysRoot, instead: Option<&str>) -> Result<Prepared, Failure> {
    let Some(typed) = args.device.as_deref().or(instead) else {
        return Err(Failure::Usage(
            "ab: which device? as in: blktune ab sda --factor scheduler=none,bfq --job randread-4k"
                .to_owned(),
        ));
    };
    let device = resolve(root, typed)?;
    if let Some(note) = &device.note {
        eprintln!("blktune: {note}");
    }
    let state = QueueState::read(root, &device.id.name);
    let designed = args.design(&device.id.name, &state)?;
    let plan = schedule::whole(&designed.design);
    Ok(Prepared { device, state, designed, plan, done: Vec::new() })
}

/// The experiment of a record that ended before its time.
fn go_on(dir: &Path, root: &SysRoot) -> Result<Prepared, Failure> {
    let record = Record::open(dir).map_err(|e| Failure::Usage(e.to_string()))?;
    if record.summary.as_ref().is_some_and(|s| s.ended != summary::Ended::Stopped) {
        return Err(Failure::Usage(format!(
            "{}: this experiment has ended; one that has is never extended, since that finds differences that are none: start a \
             new one",
            crate::sys::attr::clean(dir.as_os_str().as_encoded_bytes())
        )));
    }
    let design = record.manifest.design.clone();
    if design.isolation == Isolation::Sequence {
        return Err(Failure::Usage(format!(
            "{}: bare writes in sequence can not go on: the settings were put back when it ended, and its trials build upon one \
             another: start a new one",
            crate::sys::attr::clean(dir.as_os_str().as_encoded_bytes())
        )));
    }
    let device = resolve(root, &design.device)?;
    let state = QueueState::read(root, &device.id.name);
    let plan = schedule::whole(&design);
    let designed = Designed { design, greyed: None, merged: Vec::new() };
    let mut prepared = Prepared { device, state, designed, plan, done: Vec::new() };
    let now = manifest(root, &prepared, dir, &[]).map_err(Failure::GoneOrBusy)?;
    let (grave, light): (Vec<_>, Vec<_>) =
        fit::differences(&record.manifest, &now).into_iter().partition(|d| d.grave);
    if !grave.is_empty() {
        let all: Vec<String> = grave.iter().map(ToString::to_string).collect();
        return Err(Failure::Unsafe(format!(
            "not the same any more, so nothing is added: {}",
            all.join("; ")
        )));
    }
    for said in light.iter().map(ToString::to_string).chain(record.damage.iter().cloned()) {
        eprintln!("blktune: {said}");
    }
    prepared.done = record.trials.into_iter().map(|(trial, _)| trial).collect();
    Ok(prepared)
}

fn show_plan(p: &Prepared, root: &SysRoot, as_json: bool) -> CommandResult {
    let Prepared { device, state, designed, plan, .. } = p;
    let weak = ab_target::weaknesses(root, &designed.design, &device.id.name, state, None)?;
    if as_json {
        return output::json(&PlanDocument {
            schema: "blktune.ab-plan/1",
            design: &designed.design,
            greyed: &designed.greyed,
            merged: &designed.merged,
            weak: &weak,
            plan,
        });
    }
    let lines: Vec<String> =
        plan::lines(designed, &weak, plan).into_iter().map(|l| format!("{l}\n")).collect();
    output::text(&lines.concat())
}

fn conduct(args: &AbArgs, root: &SysRoot, prepared: &Prepared, stop: &Arc<AtomicBool>) -> CommandResult {
    let Prepared { device, state, designed, plan, .. } = prepared;
    let (design, id) = (&designed.design, &device.id);
    if design.factors.iter().any(|f| f.kind == FactorKind::Setting)
        && let Some(why) = SysfsQueue::new(root.clone(), id.clone()).rights()
    {
        return Err(Failure::NotPermitted(format!("{}: {why}", id.name)));
    }
    let began = SystemClock.boot();
    let line = RefCell::new(ProgressLine::new(ab_target::jobs_of_all(design)?.first().map_or(1, Vec::len)));
    let target = ab_target::open(root, design, &device.row, stop, &mut line.borrow_mut())?;
    let weak = ab_target::weaknesses(root, design, &id.name, state, Some(&target))?;
    let others = foreign::look(root, &id.name, stop);
    if let (Some(busy), false) = (&others, args.busy_ok) {
        return Err(Failure::Unsafe(format!(
            "{busy}; an experiment would slow it down, and could not tell its I/O from its own: wait, or start it all the \
             same with --busy-ok, and it stops by itself when others wait too long"
        )));
    }
    let mut notes: Vec<String> = designed.merged.clone();
    notes.extend(
        designed.greyed.iter().map(|why| format!("a control: these cells should make no difference: {why}")),
    );
    line.borrow_mut().clear();
    for said in notes.iter().cloned().chain(weak.iter().map(|w| format!("weak: {}", w.text))) {
        eprintln!("blktune: {said}");
    }
    let teller = RefCell::new(Teller::new(design, plan));
    let mut record = match start_record(args, root, prepared, &notes) {
        Ok(record) => Some(record),
        // Named on the command line, it was to be there.
        Err(trouble) if args.record.is_some() => return Err(Failure::Usage(trouble)),
        Err(trouble) => {
            notes.push(format!("no record is kept: {trouble}"));
            None
        }
    };
    let mut bench = KernelBench::open(root, &journal(root)?, id, target, others, stop).map_err(locked)?;
    if line.borrow().is_on() {
        bench = bench.telling(Box::new(|p| {
            let lead = teller.borrow().lead();
            line.borrow_mut().show_behind(&lead, p);
        }));
    }
    let mut hear = |event: &Event| {
        if let Some(sentence) = teller.borrow_mut().hear(event) {
            line.borrow_mut().say(&sentence);
        }
        let kept = match (event, &mut record) {
            (_, None) => Ok(()),
            (Event::TrialDone { trial, detail }, Some(record)) => record.trial(trial, detail),
            (event, Some(record)) => record.event(event),
        };
        if let Err(e) = kept {
            notes.push(format!("the record is not complete: {e}"));
        }
    };
    let mut conductor = Conductor::resume(design.clone(), bench.found(), prepared.done.clone());
    let done = drive::conduct(&mut conductor, &mut bench, &SystemClock, stop, &mut hear);
    let (mut not_restored, said) = bench.close(stop.load(Ordering::Relaxed));
    not_restored.extend(done.not_restored.iter().cloned());
    notes.extend(said);
    line.borrow_mut().clear();
    let question = Question::of(design, Some(block_time(design).as_secs_f64()));
    let observations = from_trials(&question, conductor.trials());
    let analysis = analyse(&question, &observations, &conductor.circumstances());
    let dir = record.as_ref().map(|r| r.dir().to_path_buf());
    if let Some(record) = record.take()
        && let Err(e) = record.finish(&summary_of(&done, &analysis, &not_restored, began))
    {
        notes.push(format!("the record is not complete: {e}"));
    }
    let ended = Ended {
        analysis: &analysis,
        trials: conductor.trials(),
        cell_names: design.cells.iter().map(|c| c.name.as_str()).collect(),
        device: &design.device,
        seed: design.seed,
        ending: done.ending,
        reason: &done.reason,
        restored: not_restored.is_empty(),
        not_restored: &not_restored,
        weak: &weak,
        notes: &notes,
        record: dir.as_deref(),
    };
    if args.json {
        output::json(&ended.document())?;
    } else {
        output::text(&ended.text())?;
    }
    ending(args, &done, &analysis, &not_restored)
}

/// The exit of an experiment.
fn ending(args: &AbArgs, done: &Conducted, analysis: &Analysis, not_restored: &[String]) -> CommandResult {
    if !not_restored.is_empty() {
        return Err(Failure::NotRestored(format!("could not be put back: {}", not_restored.join("; "))));
    }
    match done.ending {
        Ending::Stopped => return Err(stopped()),
        Ending::Refused => return Err(Failure::Refused(format!("{}; everything is as it was", done.reason))),
        Ending::Gone => return Err(Failure::GoneOrBusy(done.reason.clone())),
        Ending::Broken => return Err(Failure::Workload(done.reason.clone())),
        Ending::Decided | Ending::Finished | Ending::Invalid => {}
    }
    if args.require_verdict && !analysis.decided() {
        return Err(Failure::NoVerdict(analysis.sentence().to_owned()));
    }
    Ok(())
}

fn summary_of(done: &Conducted, analysis: &Analysis, not_restored: &[String], began: Nanos) -> Summary {
    let ended = match done.ending {
        Ending::Decided | Ending::Finished => summary::Ended::Finished,
        Ending::Stopped => summary::Ended::Stopped,
        Ending::Invalid => summary::Ended::Invalid,
        Ending::Refused | Ending::Gone | Ending::Broken => summary::Ended::Failed,
    };
    let took = SystemClock.boot().since(began).seconds();
    let analysis: Option<Analysis> = (!analysis.trials.is_empty()).then(|| analysis.clone());
    Summary {
        restored: Some(not_restored.is_empty()),
        not_restored: not_restored.to_vec(),
        analysis,
        ..Summary::new(ended, done.reason.clone(), took)
    }
}

/// The record, or why there is none.
fn start_record(
    args: &AbArgs,
    root: &SysRoot,
    prepared: &Prepared,
    notes: &[String],
) -> Result<Writer, String> {
    let words = |e: RecordError| e.to_string();
    if let Some(dir) = &args.resume {
        let record = Record::open(dir).map_err(words)?;
        return Writer::resume(dir, &record.manifest).map_err(words);
    }
    let dir: PathBuf = if let Some(dir) = &args.record {
        dir.clone()
    } else {
        let as_root = rustix::process::geteuid().is_root();
        let state = state_dir(|name| std::env::var_os(name), as_root)
            .ok_or("there is no place for it (HOME is not set)")?;
        let when = jiff::Zoned::now().strftime("%Y%m%d-%H%M").to_string();
        place::new_place(&state, &when, &prepared.device.id.name).map_err(words)?
    };
    Writer::create(&dir, &manifest(root, prepared, &dir, notes)?).map_err(words)
}

fn manifest(root: &SysRoot, prepared: &Prepared, dir: &Path, notes: &[String]) -> Result<Manifest, String> {
    let Prepared { device, state, designed, plan, .. } = prepared;
    let users = Users::read(root);
    let whole = inventory::read(root, &device.id.name, &users).ok_or("the device is gone")?;
    let jobs = ab_target::jobs_of_all(&designed.design).map_err(|e| e.to_string())?;
    let command: Vec<String> =
        std::env::args().skip(1).map(|a| crate::sys::attr::clean(a.as_bytes())).collect();
    let on_device = place::on_device(root, dir, &whole);
    let started = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S %:z").to_string();
    let asked = Asked {
        command: &command,
        design: &designed.design,
        jobs: jobs.first().map_or(&[], Vec::as_slice),
        plan,
        notes,
        on_device: on_device.as_deref(),
        started: &started,
    };
    Ok(Manifest::gather(root, &SystemClock, &whole, state, asked))
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn locked(e: LockError) -> Failure {
    match e {
        LockError::Stopped(_) => stopped(),
        LockError::Io(_, ref io) if io.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(e.to_string())
        }
        LockError::Busy(_) | LockError::Io(..) => Failure::GoneOrBusy(e.to_string()),
    }
}
