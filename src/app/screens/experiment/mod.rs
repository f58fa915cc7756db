//! Screen 4: what is to be compared, chosen among the settings of the device and the presets; the design that follows from
//! it, and why there is none.

mod about;
mod asking;
pub mod course;
mod form;
pub mod keep;
pub mod report;
pub mod start;
pub mod status;
pub mod tables;
pub mod told;

pub use asking::{Kind, asked, command, designed, weaknesses, words};
pub use form::{Row, can_change, move_by, row, rows, take_text};

use std::collections::BTreeMap;

use crate::app::actions::ActionId;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::effect::Effect;
use crate::app::fleet::Entry;
use crate::app::model::Model;
use crate::experiment::design::{Blocks, Isolation};
use crate::experiment::limits;
use crate::experiment::metric::Metric;
use crate::stats::splitmix64::SplitMix64;
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::tuning::catalogue::{self, Legal};

use super::devices::{self, Chosen};

/// Settings that are offered as factors, those that matter most first.
const OFFERED: [&str; 8] = [
    "scheduler",
    "rotational",
    "read_ahead_kb",
    "nr_requests",
    "max_sectors_kb",
    "nomerges",
    "rq_affinity",
    "wbt_lat_usec",
];
/// Levels of a number that are offered besides the present one.
const NEIGHBOURS: usize = 3;

/// The state of the screen.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentScreen {
    /// The device; None until one was chosen.
    pub device: Option<DeviceId>,
    /// What the workload reads: the device, or the partition that was chosen.
    pub reads: Option<KernelName>,
    /// The row under the cursor.
    pub row: usize,
    /// The level under the cursor, in the row of a setting.
    pub level: usize,
    /// The levels that are on, by setting.
    pub on: BTreeMap<String, Vec<String>>,
    /// Levels that were typed, by setting.
    pub typed: BTreeMap<String, Vec<String>>,
    /// The preset, by its place in the list.
    pub preset: usize,
    /// What is set of it, with spaces between.
    pub set: String,
    /// What it uses, if not the device: a path; empty if it is the device.
    pub target: String,
    /// What decides; None for what fits the workload.
    pub metric: Option<Metric>,
    /// Percent.
    pub margin: f64,
    /// Seconds measured.
    pub trial: u64,
    /// How many.
    pub blocks: Blocks,
    /// Each block has its lead-in.
    pub lead_ins: bool,
    /// What a trial starts from.
    pub isolation: Isolation,
    /// Also cells that should make no difference.
    pub control: bool,
    /// Of the order of blocks and of the workload's places; a new one for each experiment.
    pub seed: u64,
}

impl Default for ExperimentScreen {
    fn default() -> Self {
        Self {
            device: None,
            reads: None,
            row: 0,
            level: 0,
            on: BTreeMap::new(),
            typed: BTreeMap::new(),
            preset: 0,
            set: String::new(),
            target: String::new(),
            metric: None,
            margin: limits::MARGIN * 100.0,
            trial: limits::TRIAL.as_secs(),
            blocks: Blocks::Adaptive,
            lead_ins: true,
            isolation: Isolation::Isolated,
            control: false,
            seed: 1,
        }
    }
}

/// The device that is asked about.
#[must_use]
pub fn entry(model: &Model) -> Option<&Entry> {
    model.fleet.get(model.experiment.device.as_ref()?)
}

/// Takes the device that is chosen in the list. What was chosen for another device is forgotten; not while an experiment or
/// its result is shown, since the form is where it came from.
pub fn open(model: &mut Model) {
    if model.course.is_some() {
        return;
    }
    let Some(id) = devices::chosen_device(model).map(|e| e.device.id.clone()) else { return };
    let reads = match &model.devices.chosen {
        Some(Chosen::Partition(_, name)) => name.clone(),
        _ => id.name.clone(),
    };
    if !model.experiment.device.as_ref().is_some_and(|d| d.same_device(&id)) {
        let seed = seed(model);
        model.experiment = ExperimentScreen { device: Some(id), seed, ..ExperimentScreen::default() };
    }
    model.experiment.reads = Some(reads);
}

/// Closes the result: back to the form, with everything as it was but for the seed, so that the same again is another
/// experiment.
pub fn close(model: &mut Model) {
    model.course = None;
    model.experiment.seed = seed(model);
}

/// A seed that nobody chose: from the clock, short enough to be typed again.
fn seed(model: &Model) -> u64 {
    SplitMix64::new(model.now.0).next_u64() % 1_000_000
}

/// The settings that are offered, each with the reason if it can not be varied.
#[must_use]
pub fn offered(model: &Model) -> Vec<(&'static str, Option<String>)> {
    let Some(queue) = entry(model).and_then(|e| e.queue.as_ref()) else { return Vec::new() };
    let rows = catalogue::rows(queue, model.read_only());
    let mut all = Vec::new();
    for name in OFFERED {
        match rows.iter().find(|r| r.name == name) {
            Some(row) => all.push((name, row.why_not.clone())),
            None if name == "scheduler" => all.push((name, Some("this device has no scheduler".to_owned()))),
            None => {}
        }
    }
    all
}

/// The levels of a setting to choose from: the present one, its neighbours or all there are, and those that were typed.
#[must_use]
pub fn levels(model: &Model, name: &str) -> Vec<String> {
    let Some(queue) = entry(model).and_then(|e| e.queue.as_ref()) else { return Vec::new() };
    let rows = catalogue::rows(queue, None);
    let Some(row) = rows.iter().find(|r| r.name == name) else { return Vec::new() };
    let now = row.value.clone();
    let mut all: Vec<String> = match &row.legal {
        Legal::Choice(words) => words.clone(),
        Legal::Number { suggested, .. } => {
            let at = now.as_deref().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            let above = suggested.iter().filter(|s| **s > at).take(NEIGHBOURS);
            let below = suggested.iter().rev().filter(|s| **s < at).take(1);
            below.chain(above).map(u64::to_string).collect()
        }
        Legal::Text | Legal::Fixed => Vec::new(),
    };
    all.extend(now);
    all.extend(model.experiment.typed.get(name).into_iter().flatten().cloned());
    if all.iter().all(|l| l.parse::<u64>().is_ok()) {
        all.sort_by_key(|l| l.parse::<u64>().unwrap_or_default());
    }
    let mut once = Vec::new();
    for level in all {
        if !once.contains(&level) {
            once.push(level);
        }
    }
    once
}

/// Does what a key of this screen means.
pub fn act(model: &mut Model, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::ToggleLevel => {
            if let Err(why) = form::toggle(model) {
                model.hint(why);
            }
        }
        ActionId::LevelNext | ActionId::LevelPrevious => form::step(model, id == ActionId::LevelNext),
        ActionId::TypeLevel => model.dialogs.extend(typed(model).map(Dialog::Edit)),
        ActionId::AboutExperiment => {
            model.dialogs.push(Dialog::Explain(about::about(model.course.is_some(), model.ascii)));
        }
        ActionId::ReviewPlan => start::review(model, Kind::Levels),
        ActionId::Calibrate => start::review(model, Kind::Calibration),
        ActionId::StartExperiment => return start::start(model),
        ActionId::KeepCell => keep::keep(model),
        ActionId::CloseExperiment => close(model),
        _ => {}
    }
    Vec::new()
}

/// The dialog that types a level, what is set of the workload, or what it uses.
fn typed(model: &Model) -> Option<EditDialog> {
    let e = &model.experiment;
    let (what, hint, text) = match form::row(model)? {
        Row::Setting(name) => {
            let rows = catalogue::rows(entry(model)?.queue.as_ref()?, None);
            let legal = rows.into_iter().find(|r| r.name == name)?.legal_text;
            (name, format!("legal: {legal}"), String::new())
        }
        Row::Set => ("set", "KEY=VALUE with spaces between, as in bs=4k direct=0".to_owned(), e.set.clone()),
        Row::Target => (
            "target",
            "a directory, where a scratch file is made and removed; a file or a partition that is only read; nothing for the device".to_owned(),
            e.target.clone(),
        ),
        _ => return None,
    };
    Some(EditDialog { purpose: Purpose::Level(what), title: what.to_owned(), hint, text, refused: None })
}
