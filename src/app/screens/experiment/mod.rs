//! Screen 4: what is to be compared, chosen among the settings of the device and the presets; the design that follows from
//! it, and why there is none.

mod form;

pub use form::{Row, can_change, move_by, rows, take_text};

use std::collections::BTreeMap;

use crate::app::actions::ActionId;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::dialogs::explain::Explanation;
use crate::app::fleet::Entry;
use crate::app::model::Model;
use crate::experiment::asked::{self, Asked, Designed};
use crate::experiment::cells;
use crate::experiment::design::Blocks;
use crate::experiment::metric::Metric;
use crate::experiment::weak::{self, Surroundings, Weak};
use crate::experiment::{estimate, limits};
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::tuning::catalogue::{self, Legal};

use super::devices;

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
    /// Also cells that should make no difference.
    pub control: bool,
}

impl Default for ExperimentScreen {
    fn default() -> Self {
        Self {
            device: None,
            row: 0,
            level: 0,
            on: BTreeMap::new(),
            typed: BTreeMap::new(),
            preset: 0,
            set: String::new(),
            metric: None,
            margin: limits::MARGIN * 100.0,
            trial: limits::TRIAL.as_secs(),
            blocks: Blocks::Adaptive,
            lead_ins: true,
            control: false,
        }
    }
}

/// The device that is asked about.
#[must_use]
pub fn entry(model: &Model) -> Option<&Entry> {
    model.fleet.get(model.experiment.device.as_ref()?)
}

/// Takes the device that is chosen in the list. What was chosen for another device is forgotten.
pub fn open(model: &mut Model) {
    let Some(id) = devices::chosen_device(model).map(|e| e.device.id.clone()) else { return };
    if !model.experiment.device.as_ref().is_some_and(|d| d.same_device(&id)) {
        model.experiment = ExperimentScreen { device: Some(id), ..ExperimentScreen::default() };
    }
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

/// The levels of a setting that are on, the baseline first: the present one if it is among them.
fn in_order(on: &[String], queue: &QueueState, name: &str) -> Vec<String> {
    let now = queue.effective(name);
    let mut levels = on.to_vec();
    levels.sort_by_key(|l| Some(l) != now.as_ref());
    levels
}

/// What is asked by the form; None without a device whose queue is known, or without presets.
#[must_use]
pub fn asked(model: &Model) -> Option<Asked> {
    let e = &model.experiment;
    let entry = entry(model)?;
    let queue = entry.queue.as_ref()?;
    let preset = model.workload.presets.get(e.preset)?;
    let varied = offered(model).into_iter().filter_map(|(name, why)| {
        let on = e.on.get(name).filter(|on| on.len() > 1 && why.is_none())?;
        Some(format!("{name}={}", in_order(on, queue, name).join(",")))
    });
    let factors: Vec<String> = varied.collect();
    Some(Asked {
        together: factors.len() > 1,
        factors,
        set: e.set.split_whitespace().map(str::to_owned).collect(),
        metric: e.metric,
        margin: Some(e.margin / 100.0),
        trial: Some(std::time::Duration::from_secs(e.trial)),
        blocks: e.blocks,
        lead_ins: e.lead_ins,
        control: e.control,
        ..Asked::new(&entry.device.name().kernel(), &preset.name, 1)
    })
}

/// The design of what is asked.
///
/// # Errors
/// What is missing or wrong.
pub fn designed(model: &Model) -> Result<Designed, String> {
    let Some(entry) = entry(model) else { return Err("choose a device on screen 1".to_owned()) };
    let name = entry.device.name();
    if !entry.live() {
        return Err(format!("{name} is gone"));
    }
    let Some(queue) = &entry.queue else { return Err(format!("{name} is being read")) };
    let Some(asked) = asked(model) else { return Err("there are no presets".to_owned()) };
    if asked.factors.is_empty() {
        return Err("nothing varies yet: switch on two levels of a setting with Space".to_owned());
    }
    asked::design(&asked, queue).map_err(|e| e.to_string())
}

/// What is weak about the workload of a design.
#[must_use]
pub fn weaknesses(model: &Model, designed: &Designed) -> Vec<Weak> {
    let d = &designed.design;
    let Some(baseline) = d.cells.first() else { return Vec::new() };
    let Ok(jobs) = cells::jobs(&d.factors, baseline, &d.workload) else { return Vec::new() };
    let of = entry(model);
    let on = Surroundings {
        span: of.map(|e| e.device.size),
        depth: of.and_then(|e| e.queue.as_ref()?.number("nr_requests")),
        ..Surroundings::default()
    };
    weak::named(&jobs, d.trial, &on)
}

/// The same as a command for a shell.
#[must_use]
pub fn command(asked: &Asked) -> String {
    let mut words = vec!["blktune ab".to_owned(), asked.device.clone()];
    words.extend(asked.factors.iter().map(|f| format!("--factor {}", quoted(f))));
    words.push(format!("--job {}", asked.job));
    words.extend(asked.set.iter().map(|s| format!("--set {}", quoted(s))));
    if asked.together {
        words.push("--together".to_owned());
    }
    if let Some(metric) = asked.metric {
        words.push(format!("--metric {}", metric.word()));
    }
    if let Some(margin) = asked.margin.filter(|m| (m - limits::MARGIN).abs() > 1e-9) {
        words.push(format!("--margin {}%", margin * 100.0));
    }
    if let Some(trial) = asked.trial.filter(|t| *t != limits::TRIAL) {
        words.push(format!("--trial {}s", trial.as_secs()));
    }
    if let Blocks::Fixed(n) = asked.blocks {
        words.push(format!("--blocks {n}"));
    }
    words.extend((!asked.lead_ins).then(|| "--no-lead-in".to_owned()));
    words.extend(asked.control.then(|| "--control".to_owned()));
    words.join(" ")
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,%+:".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The whole plan, to be read before it starts.
fn plan(model: &Model) -> Option<Explanation> {
    let designed = designed(model).ok()?;
    let asked = asked(model)?;
    let mut paragraphs = estimate::what_will_happen(&designed.design);
    paragraphs.extend(designed.merged.iter().cloned());
    paragraphs.extend(designed.refusal());
    paragraphs.extend(weaknesses(model, &designed).into_iter().map(|w| format!("Weak: {}.", w.text)));
    paragraphs.push(command(&asked));
    Some(Explanation { title: format!("Experiment on {}", designed.design.device), paragraphs })
}

/// Does what a key of this screen means.
pub fn act(model: &mut Model, id: ActionId) {
    match id {
        ActionId::ToggleLevel => {
            if let Err(why) = form::toggle(model) {
                model.hint(why);
            }
        }
        ActionId::LevelNext | ActionId::LevelPrevious => form::step(model, id == ActionId::LevelNext),
        ActionId::TypeLevel => model.dialogs.extend(typed(model).map(Dialog::Edit)),
        ActionId::ReviewPlan => model.dialogs.extend(plan(model).map(Dialog::Explain)),
        _ => {}
    }
}

/// The dialog that types a level, or what is set of the workload.
fn typed(model: &Model) -> Option<EditDialog> {
    let (what, hint, text) = match form::row(model)? {
        Row::Setting(name) => {
            let rows = catalogue::rows(entry(model)?.queue.as_ref()?, None);
            let legal = rows.into_iter().find(|r| r.name == name)?.legal_text;
            (name, format!("legal: {legal}"), String::new())
        }
        Row::Set => (
            "set",
            "KEY=VALUE with spaces between, as in bs=4k direct=0".to_owned(),
            model.experiment.set.clone(),
        ),
        _ => return None,
    };
    Some(EditDialog { purpose: Purpose::Level(what), title: what.to_owned(), hint, text, refused: None })
}
