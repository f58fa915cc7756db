//! The record of an experiment that is conducted here: where it lies, what it begins with, and how it ends.

use std::path::{Path, PathBuf};

use super::{Ended, Prepared};
use crate::clock::SystemClock;
use crate::experiment::analysis::Analysis;
use crate::experiment::calibration::Said;
use crate::experiment::event::Ending;
use crate::record::manifest::{Asked, Manifest};
use crate::record::reader::Record;
use crate::record::summary::{self, Summary};
use crate::record::writer::Writer;
use crate::record::{RecordError, place};
use crate::sys::inventory;
use crate::sys::root::SysRoot;
use crate::sys::usage::Users;
use crate::units::Nanos;

use super::target::jobs_of_all;

/// Where the record is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordAt {
    /// In a new directory below that of the program's state; without one there is no record, which is said.
    New(Option<PathBuf>),
    /// In this directory, or the experiment does not begin.
    Named(PathBuf),
    /// In that of the experiment that goes on.
    Resumed(PathBuf),
}

/// The record, or why there is none.
pub(super) fn start(
    root: &SysRoot,
    prepared: &Prepared,
    notes: &[String],
    calibration: Option<&Said>,
) -> Result<Writer, String> {
    let words = |e: RecordError| e.to_string();
    let dir = match &prepared.record {
        RecordAt::Resumed(dir) => {
            let record = Record::open(dir).map_err(words)?;
            return Writer::resume(dir, &record.manifest).map_err(words);
        }
        RecordAt::Named(dir) => dir.clone(),
        RecordAt::New(state) => {
            let state = state.as_ref().ok_or("there is no place for it (HOME is not set)")?;
            let when = jiff::Zoned::now().strftime("%Y%m%d-%H%M").to_string();
            place::new_place(state, &when, &prepared.device.name).map_err(words)?
        }
    };
    let manifest = Manifest { calibration: calibration.cloned(), ..manifest(root, prepared, &dir, notes)? };
    Writer::create(&dir, &manifest).map_err(words)
}

/// What a record of this experiment begins with, as things are now.
///
/// # Errors
/// In words: the device is gone, or the workload can not be made.
pub fn manifest(
    root: &SysRoot,
    prepared: &Prepared,
    dir: &Path,
    notes: &[String],
) -> Result<Manifest, String> {
    let users = Users::read(root);
    let whole = inventory::read(root, &prepared.device.name, &users).ok_or("the device is gone")?;
    let jobs = jobs_of_all(&prepared.designed.design).map_err(|e| e.to_string())?;
    let on_device = place::on_device(root, dir, &whole);
    let started = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S %:z").to_string();
    let asked = Asked {
        command: &prepared.command,
        design: &prepared.designed.design,
        jobs: jobs.first().map_or(&[], Vec::as_slice),
        plan: &prepared.plan,
        notes,
        calibration: None,
        on_device: on_device.as_deref(),
        started: &started,
    };
    Ok(Manifest::gather(root, &SystemClock, &whole, &prepared.state, asked))
}

/// How it ended, for the record. `took` is the time from its start.
pub(super) fn summary(ended: &Ended, took: Nanos) -> Summary {
    let how = match ended.ending {
        Ending::Decided | Ending::Finished => summary::Ended::Finished,
        Ending::Stopped => summary::Ended::Stopped,
        Ending::Invalid => summary::Ended::Invalid,
        Ending::Refused | Ending::Gone | Ending::Broken => summary::Ended::Failed,
    };
    let analysis: Option<Analysis> = (!ended.analysis.trials.is_empty()).then(|| ended.analysis.clone());
    Summary {
        restored: Some(ended.not_restored.is_empty()),
        not_restored: ended.not_restored.clone(),
        analysis,
        ..Summary::new(how, ended.reason.clone(), took.seconds())
    }
}
