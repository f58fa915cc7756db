//! `blktune ab`: does a candidate beat the baseline here? Two cells, conducted on the real device.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

pub use super::ab_args::AbArgs;
use super::ab_progress::Teller;
use super::ab_report::Report;
use super::change_report::journal;
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use super::progress_line::ProgressLine;
use super::run::sandbox_target;
use super::workload_failure::{run_failure, stopped, target_failure};
use crate::config::view::state_dir;
use crate::experiment::analysis::Analysis;
use crate::experiment::asked::Designed;
use crate::experiment::calibration::Said;
use crate::experiment::design::{Design, Isolation};
use crate::experiment::event::{Ending, Event};
use crate::experiment::trial::PlannedTrial;
use crate::experiment::weak::Weak;
use crate::experiment::{estimate, plan, schedule};
use crate::record::fit;
use crate::record::reader::Record;
use crate::record::summary;
use crate::runtime::experiment::{
    self, Audience, BeginError, Beginning, Ended, Prepared, RecordAt, calibrated, jobs_of_all, no_place,
    weaknesses,
};
use crate::sys::device_lock::LockError;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::workload::live::Progress;

#[derive(Serialize)]
struct PlanDocument<'a> {
    schema: &'static str,
    design: &'a Design,
    greyed: &'a Option<String>,
    merged: &'a [String],
    /// Why it does not start as it is.
    refused: Option<String>,
    weak: &'a [Weak],
    calibration: Option<&'a Said>,
    plan: &'a [PlannedTrial],
}

/// Conducts the experiment and prints what follows. `stop` ends it early: what was measured until then is kept and
/// printed, and judged by the last look.
///
/// # Errors
/// A command line that makes no sense, cells that should make no difference, missing rights, a busy device, a workload
/// that failed, settings that could not be put back; without a verdict if one was required.
pub fn run(args: &AbArgs, root: &SysRoot, instead: Option<&str>, stop: &Arc<AtomicBool>) -> CommandResult {
    let prepared = match &args.resume {
        Some(dir) => go_on(dir, root, args.busy_ok)?,
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
        output::say(format_args!("blktune: {note}"));
    }
    let state = QueueState::read(root, &device.id.name);
    let designed = args.design(&device.id.name, &state)?;
    let plan = schedule::whole(&designed.design);
    let state_dir = || state_dir(|name| std::env::var_os(name), rustix::process::geteuid().is_root());
    let record = args.record.clone().map_or_else(|| RecordAt::New(state_dir()), RecordAt::Named);
    Ok(Prepared {
        device: device.id,
        row: device.row,
        state,
        designed,
        plan,
        done: Vec::new(),
        // Nobody named a device: it is the sandbox's.
        sandbox: args.device.is_none(),
        busy_ok: args.busy_ok,
        margin_ok: args.margin_ok,
        command: words(),
        record,
    })
}

/// The words of this command line.
fn words() -> Vec<String> {
    std::env::args().skip(1).map(|a| crate::sys::attr::clean(a.as_bytes())).collect()
}

/// The experiment of a record that ended before its time.
fn go_on(dir: &Path, root: &SysRoot, busy_ok: bool) -> Result<Prepared, Failure> {
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
    let mut prepared = Prepared {
        device: device.id,
        row: device.row,
        state,
        designed,
        plan,
        done: Vec::new(),
        sandbox: false,
        busy_ok,
        // It began already.
        margin_ok: true,
        command: words(),
        record: RecordAt::Resumed(dir.to_path_buf()),
    };
    let now = experiment::manifest(root, &prepared, dir, &[]).map_err(Failure::GoneOrBusy)?;
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
        output::say(format_args!("blktune: {said}"));
    }
    prepared.done = record.trials.into_iter().map(|(trial, _)| trial).collect();
    Ok(prepared)
}

fn show_plan(p: &Prepared, root: &SysRoot, as_json: bool) -> CommandResult {
    let Prepared { device, state, designed, plan, .. } = p;
    let weak = weaknesses(root, &designed.design, &device.name, state, None)
        .map_err(|e| Failure::Usage(e.to_string()))?;
    let no_place = no_place(root, p).map_err(|e| Failure::Usage(e.to_string()))?.map(|e| e.to_string());
    let refused = designed.refusal().or_else(|| no_place.clone());
    let calibration = calibrated(root, p);
    if as_json {
        return output::json(&PlanDocument {
            refused,
            schema: "blktune.ab-plan/1",
            design: &designed.design,
            greyed: &designed.greyed,
            merged: &designed.merged,
            weak: &weak,
            calibration: calibration.as_ref(),
            plan,
        });
    }
    let said = calibration.into_iter().flat_map(|c| [Some(c.text), c.refusal.map(needs_margin_ok)]);
    let no_place = no_place.map(|no| format!("refused: {no}"));
    let lines = no_place.into_iter().chain(said.flatten()).chain(plan::lines(designed, &weak, plan));
    let lines = lines.map(|l| format!("{l}\n"));
    output::text(&lines.collect::<String>())
}

/// Prints what happens, on the line of progress and above it.
struct Printer {
    line: RefCell<ProgressLine>,
    teller: RefCell<Teller>,
    /// The device, and whether somebody wants to stop this process (Ctrl-Z, SIGTSTP).
    device: String,
    halt: Arc<AtomicBool>,
}

impl Printer {
    /// Says why it is not stopped: the settings of a trial would stay on the device meanwhile.
    fn answer(&self) {
        if self.halt.swap(false, Ordering::SeqCst) {
            self.line.borrow_mut().clear();
            output::say(format_args!(
                "blktune: no Ctrl-Z: an experiment holds the settings of {}; stop it first (Ctrl-c); what was \
                 measured is kept, and --resume goes on with it",
                self.device
            ));
        }
    }
}

impl Audience for Printer {
    fn wants_progress(&self) -> bool {
        self.line.borrow().is_on()
    }

    fn progress(&self, progress: &Progress) {
        self.answer();
        let lead = self.teller.borrow().lead();
        self.line.borrow_mut().show_behind(&lead, progress);
    }

    fn began(&self, beginning: &Beginning) {
        self.line.borrow_mut().clear();
        let weak = beginning.weak.iter().map(|w| format!("weak: {}", w.text));
        for said in beginning.notes.iter().cloned().chain(weak) {
            output::say(format_args!("blktune: {said}"));
        }
    }

    fn heard(&self, event: &Event) {
        self.answer();
        if let Some(sentence) = self.teller.borrow_mut().hear(event) {
            self.line.borrow_mut().say(&sentence);
        }
    }

    fn block_done(&self, _: &dyn Fn() -> Analysis) {}
}

fn conduct(args: &AbArgs, root: &SysRoot, prepared: &Prepared, stop: &Arc<AtomicBool>) -> CommandResult {
    let design = &prepared.designed.design;
    let jobs = jobs_of_all(design).map_err(|e| Failure::Usage(e.to_string()))?;
    let printer = Printer {
        line: RefCell::new(ProgressLine::new(jobs.first().map_or(1, Vec::len))),
        teller: RefCell::new(Teller::new(design, &prepared.plan)),
        device: prepared.device.name.to_string(),
        halt: Arc::default(),
    };
    // Not to be had, Ctrl-Z stops the process as any other.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&printer.halt));
    let made = (prepared.sandbox && design.target.is_none() && estimate::writes(design))
        .then(|| sandbox_target(root, &SysRoot::node(&prepared.row), &prepared.row.kernel()))
        .transpose()
        .map_err(target_failure)?;
    let ended = experiment::conduct(root, &journal(root)?, prepared, made, &printer, stop);
    printer.line.borrow_mut().clear();
    let ended = ended.map_err(not_begun)?;
    let report = Report { ended: &ended, design };
    if args.json {
        output::json(&report.document())?;
    } else {
        output::text(&report.text())?;
    }
    ending(args, ended)
}

/// The exit of an experiment.
fn ending(args: &AbArgs, ended: Ended) -> CommandResult {
    if !ended.not_restored.is_empty() {
        return Err(Failure::NotRestored(format!(
            "could not be put back: {}",
            ended.not_restored.join("; ")
        )));
    }
    match ended.ending {
        Ending::Stopped => return Err(stopped()),
        Ending::Refused => {
            return Err(Failure::Refused(format!("{}; everything is as it was", ended.reason)));
        }
        Ending::Gone => return Err(Failure::GoneOrBusy(ended.reason)),
        Ending::Broken => return Err(Failure::Workload(ended.reason)),
        Ending::Decided | Ending::Finished | Ending::Invalid => {}
    }
    if args.require_verdict && !ended.analysis.decided() {
        return Err(Failure::NoVerdict(ended.analysis.sentence().to_owned()));
    }
    Ok(())
}

/// A refused margin, with what starts it all the same.
#[allow(clippy::needless_pass_by_value)] // the shape map wants
fn needs_margin_ok(refusal: String) -> String {
    format!("{refusal}; --margin-ok starts it all the same")
}

/// The exit of one that did not begin.
fn not_begun(e: BeginError) -> Failure {
    let text = e.to_string();
    match e {
        BeginError::Greyed(_) | BeginError::Cells(_) | BeginError::NoRecord(_) => Failure::Usage(text),
        BeginError::Margin(why) => Failure::Usage(needs_margin_ok(why)),
        BeginError::NoRights(..) => Failure::NotPermitted(text),
        BeginError::Writes { .. } => Failure::Unsafe(text),
        BeginError::Busy(_) => Failure::Unsafe(format!(
            "{text}: wait, or start it all the same with --busy-ok, and it stops by itself when others wait too long"
        )),
        BeginError::Target(e) => target_failure(e),
        BeginError::Run(e) => run_failure(e),
        BeginError::Lock(LockError::Stopped(_)) => stopped(),
        BeginError::Lock(LockError::Io(_, io)) if io.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(text)
        }
        BeginError::Lock(LockError::Busy(_) | LockError::Io(..)) => Failure::GoneOrBusy(text),
    }
}
