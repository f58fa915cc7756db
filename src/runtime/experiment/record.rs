//! The record of an experiment that is conducted here: where it lies, what it begins with, and how it ends.

use std::path::{Path, PathBuf};

use super::{Ended, Prepared};
use crate::clock::SystemClock;
use crate::config::view::state_dir;
use crate::experiment::analysis::Analysis;
use crate::experiment::calibration::Said;
use crate::experiment::event::Ending;
use crate::record::confirmation::{self, Confirmation};
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

impl RecordAt {
    /// The directory of the program's state.
    pub(super) fn state(&self) -> Option<PathBuf> {
        match self {
            Self::New(state) => state.clone(),
            Self::Named(_) | Self::Resumed(_) => {
                state_dir(|name| std::env::var_os(name), rustix::process::geteuid().is_root())
            }
        }
    }
}

/// The record and what it begins with, or why there is none.
pub(super) fn start(
    root: &SysRoot,
    prepared: &Prepared,
    notes: &[String],
    calibration: Option<&Said>,
) -> Result<(Writer, Manifest), String> {
    let words = |e: RecordError| e.to_string();
    let dir = match &prepared.record {
        RecordAt::Resumed(dir) => {
            let manifest = Record::open(dir).map_err(words)?.manifest;
            return Ok((Writer::resume(dir, &manifest).map_err(words)?, manifest));
        }
        RecordAt::Named(dir) => dir.clone(),
        RecordAt::New(state) => {
            let state = state.as_ref().ok_or("there is no place for it (HOME is not set)")?;
            let when = jiff::Zoned::now().strftime("%Y%m%d-%H%M").to_string();
            place::new_place(state, &when, &prepared.device.name).map_err(words)?
        }
    };
    let manifest = Manifest { calibration: calibration.cloned(), ..manifest(root, prepared, &dir, notes)? };
    Ok((Writer::create(&dir, &manifest).map_err(words)?, manifest))
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

/// What other records say of how it ended: those of the program's state, and those beside its own.
pub(super) fn confirmation(
    prepared: &Prepared,
    own: &Path,
    manifest: &Manifest,
    summary: &Summary,
) -> Option<Confirmation> {
    let kept = prepared.record.state().map(|state| place::records(&state));
    let beside = std::fs::canonicalize(own).ok().and_then(|p| p.parent().map(Path::to_path_buf));
    let among: Vec<PathBuf> = kept.into_iter().chain(beside).collect();
    confirmation::of(own, manifest, summary, &among)
}
