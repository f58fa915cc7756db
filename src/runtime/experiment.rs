//! Conducts an experiment on a real device, for the command line and for the screen alike: from what was asked to what
//! follows, with its record, and with all settings back however it ends.

mod calibrated;
mod error;
mod record;
mod target;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

pub use self::calibrated::calibrated;
pub use self::error::BeginError;
pub use self::record::{RecordAt, manifest};
pub use self::target::{jobs_of_all, no_place, weaknesses};

use super::kernel_bench::KernelBench;
use crate::clock::{Clock, SystemClock};
use crate::experiment::analysis::{self, Analysis};
use crate::experiment::asked::Designed;
use crate::experiment::calibration::Said;
use crate::experiment::conductor::Conductor;
use crate::experiment::design::FactorKind;
use crate::experiment::drive;
use crate::experiment::estimate::block_time;
use crate::experiment::event::{Ending, Event};
use crate::experiment::observation::{Question, from_trials};
use crate::experiment::so_far::SoFar;
use crate::experiment::trial::{PlannedTrial, Trial};
use crate::experiment::weak::Weak;
use crate::record::RecordError;
use crate::record::confirmation::Confirmation;
use crate::record::writer::Writer;
use crate::sys::device::DeviceId;
use crate::sys::device_lock::DeviceLock;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::trial::foreign;
use crate::tuning::control::SysfsQueue;
use crate::tuning::journal::Journal;
use crate::workload::live::Progress;
use crate::workload::target::Target;

/// An experiment that is to be conducted.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The whole device, whose settings are varied.
    pub device: DeviceId,
    /// What its trials use, unless the design names another target: the device itself, or a partition of it.
    pub row: KernelName,
    /// Its queue when the design was made.
    pub state: QueueState,
    /// The design, and what there is to say of it.
    pub designed: Designed,
    /// All trials that there will be, as far as the design fixes them.
    pub plan: Vec<PlannedTrial>,
    /// Trials that were run before, of an experiment that goes on.
    pub done: Vec<Trial>,
    /// The device was made for this experiment (`--sandbox`), so its trials may write to it.
    pub sandbox: bool,
    /// Start beside other people's I/O.
    pub busy_ok: bool,
    /// Start with a margin below what the machine can show.
    pub margin_ok: bool,
    /// The words of the command line, without the program's name, for the record.
    pub command: Vec<String>,
    /// Where the record is kept.
    pub record: RecordAt,
}

/// What can be known before the first trial.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The queue as it was found, which is what it goes back to.
    pub found: QueueState,
    /// Where the record is; None if none is kept.
    pub record: Option<PathBuf>,
    /// What is weak about the workload.
    pub weak: Vec<Weak>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
}

/// Whoever follows an experiment. All of it is told on the thread that conducts it, so none of it may take long.
pub trait Audience {
    /// Whether progress is to be told.
    fn wants_progress(&self) -> bool;
    /// How far the trial is that goes on, about ten times a second; before [`Audience::began`] how far the scratch file is.
    fn progress(&self, progress: &Progress);
    /// It begins.
    fn began(&self, beginning: &Beginning);
    /// Something happened.
    fn heard(&self, event: &Event);
    /// A block is complete. `so_far` makes what follows from the trials until now; nothing is measured meanwhile.
    fn block_done(&self, so_far: &dyn Fn() -> Analysis);
}

/// An experiment that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub ending: Ending,
    /// Why, in a sentence's words.
    pub reason: String,
    /// What follows.
    pub analysis: Analysis,
    /// All trials, in the order of time.
    pub trials: Vec<Trial>,
    /// Settings that could not be put back, in sentences.
    pub not_restored: Vec<String>,
    /// What is weak about the workload.
    pub weak: Vec<Weak>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
    /// What the last calibration said of it; None without one.
    pub calibration: Option<Said>,
    /// What other records say of it; None without a verdict or a record.
    pub confirmation: Option<Confirmation>,
    /// Where the record is; None if none was kept.
    pub record: Option<PathBuf>,
}

/// Conducts it to its end, or until `stop` is set: then what was measured is kept, and judged by the last look. Settings are
/// back before anything is reckoned. `made` is what the trials may write to, made for them and under guard.
///
/// # Errors
/// It could not begin.
pub fn conduct(
    root: &SysRoot,
    journal: &Journal,
    prepared: &Prepared,
    made: Option<Target>,
    audience: &dyn Audience,
    stop: &AtomicBool,
) -> Result<Ended, BeginError> {
    let (design, id) = (&prepared.designed.design, &prepared.device);
    if let Some(refusal) = prepared.designed.refusal() {
        return Err(BeginError::Greyed(refusal));
    }
    if design.factors.iter().any(|f| f.kind == FactorKind::Setting)
        && let Some(why) = SysfsQueue::new(root.clone(), id.clone()).rights()
    {
        return Err(BeginError::NoRights(id.name.clone(), why));
    }
    let calibration = calibrated(root, prepared);
    if let Some(why) = calibration.as_ref().and_then(|c| c.refusal.clone()).filter(|_| !prepared.margin_ok) {
        return Err(BeginError::Margin(why));
    }
    let began = SystemClock.boot();
    // Before anything is waited for: who comes second is told at once. A device that is written to has its guard's lock.
    let guarded = made.as_ref().is_some_and(|t| t.guard().is_some());
    let lock = if guarded { None } else { Some(DeviceLock::take(&id.name, stop)?) };
    let target = target::open(root, prepared, made, stop, &|p| audience.progress(p))?;
    let weak = target::weaknesses(root, design, &id.name, &prepared.state, Some(&target))?;
    let others = foreign::look(root, &id.name, stop);
    if let (Some(busy), false) = (&others, prepared.busy_ok) {
        return Err(BeginError::Busy(busy.clone()));
    }
    let mut bench = KernelBench::open(root, journal, id, lock, target, others);
    if audience.wants_progress() {
        bench = bench.telling(Box::new(|p| audience.progress(p)));
    }
    let mut notes: Vec<String> = calibration.iter().map(|c| c.text.clone()).collect();
    notes.extend(prepared.designed.merged.iter().cloned());
    notes.extend(
        (prepared.designed.greyed.iter())
            .map(|why| format!("a control: these cells should make no difference: {why}")),
    );
    let mut record = match record::start(root, prepared, &notes, calibration.as_ref()) {
        Ok(record) => Some(record),
        Err(trouble) if !matches!(prepared.record, RecordAt::New(_)) => {
            return Err(BeginError::NoRecord(trouble));
        }
        Err(trouble) => {
            notes.push(format!("no record is kept: {trouble}"));
            None
        }
    };
    let dir = record.as_ref().map(|(r, _)| r.dir().to_path_buf());
    audience.began(&Beginning {
        found: bench.found().settings,
        record: dir.clone(),
        weak: weak.clone(),
        notes: notes.clone(),
    });
    let mut so_far = SoFar::new(design, prepared.done.clone());
    let mut hear = |event: &Event| {
        audience.heard(event);
        if let Err(e) = keep(record.as_mut().map(|(writer, _)| writer), event) {
            let said = format!("the record is not complete: {e}");
            // A full disk is full at every event.
            if !notes.contains(&said) {
                notes.push(said);
            }
        }
        if so_far.take(event) {
            audience.block_done(&|| so_far.analysis());
        }
    };
    let found = bench.found();
    let mut conductor = Conductor::resume(design.clone(), found.clone(), prepared.done.clone());
    let done = drive::conduct(&mut conductor, &mut bench, &SystemClock, stop, &mut hear);
    let (mut not_restored, said) = bench.close(stop.load(Ordering::Relaxed));
    not_restored.extend(done.not_restored);
    notes.extend(said);
    let question = Question::of(design, Some(block_time(design).as_secs_f64()));
    let observations = from_trials(&question, conductor.trials());
    let mut ended = Ended {
        ending: done.ending,
        reason: done.reason,
        analysis: analysis::analyse(&question, &observations, &conductor.circumstances()),
        trials: conductor.trials().to_vec(),
        not_restored,
        weak,
        notes,
        calibration,
        confirmation: None,
        record: dir,
    };
    ended.notes.extend(calibrated::keep(root, prepared, &found.settings, &ended));
    if let Some((record, manifest)) = record {
        let summary = record::summary(&ended, SystemClock.boot().since(began));
        ended.confirmation = record::confirmation(prepared, record.dir(), &manifest, &summary);
        ended.notes.extend(ended.confirmation.iter().map(|c| c.text.clone()));
        if let Err(e) = record.finish(&summary) {
            ended.notes.push(format!("the record is not complete: {e}"));
        }
    }
    Ok(ended)
}

/// Keeps what happened, where a record is kept.
fn keep(record: Option<&mut Writer>, event: &Event) -> Result<(), RecordError> {
    match (event, record) {
        (_, None) => Ok(()),
        (Event::TrialDone { trial, detail }, Some(record)) => record.trial(trial, detail),
        (event, Some(record)) => record.event(event),
    }
}
