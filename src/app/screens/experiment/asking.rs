//! What is asked by the form: the design that follows from it or why there is none, its weaknesses, and the command that
//! asks the same.

use std::path::PathBuf;
use std::time::Duration;

use crate::app::model::Model;
use crate::experiment::asked::{self, Asked, Designed};
use crate::experiment::cells;
use crate::experiment::design::{Blocks, Isolation};
use crate::experiment::limits;
use crate::experiment::shell::quoted;
use crate::experiment::weak::{self, Surroundings, Weak};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::workload::job::Job;

use super::{entry, offered};

/// The levels of a setting that are on, the baseline first: the present one if it is among them.
fn in_order(on: &[String], queue: &QueueState, name: &str) -> Vec<String> {
    let now = queue.effective(name);
    let mut levels = on.to_vec();
    levels.sort_by_key(|l| Some(l) != now.as_ref());
    levels
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The levels that are on.
    Levels,
    /// The settings that were found with themselves, to learn how quiet the machine is.
    Calibration,
}

/// What is asked by the form; None without a device whose queue is known, or without presets.
#[must_use]
pub fn asked(model: &Model, kind: Kind) -> Option<Asked> {
    let e = &model.experiment;
    let entry = entry(model)?;
    let queue = entry.queue.as_ref()?;
    let preset = model.workload.presets.get(e.preset)?;
    let calibrate = kind == Kind::Calibration;
    let varied = offered(model).into_iter().filter_map(|(name, why)| {
        let on = e.on.get(name).filter(|on| on.len() > 1 && why.is_none() && !calibrate)?;
        Some(format!("{name}={}", in_order(on, queue, name).join(",")))
    });
    let factors: Vec<String> = varied.collect();
    Some(Asked {
        together: factors.len() > 1,
        factors,
        target: (!e.target.is_empty()).then(|| PathBuf::from(&e.target)),
        set: e.set.split_whitespace().map(str::to_owned).collect(),
        metric: e.metric,
        margin: Some(e.margin / 100.0),
        trial: Some(Duration::from_secs(e.trial)),
        blocks: e.blocks,
        lead_ins: e.lead_ins,
        isolation: if calibrate { Isolation::Isolated } else { e.isolation },
        control: e.control && !calibrate,
        calibrate,
        ..Asked::new(&entry.device.name().kernel(), &preset.name, e.seed)
    })
}

/// The design of what is asked.
///
/// # Errors
/// What is missing or wrong.
pub fn designed(model: &Model, kind: Kind) -> Result<Designed, String> {
    let Some(entry) = entry(model) else { return Err("choose a device on screen 1".to_owned()) };
    let name = entry.device.name();
    if !entry.live() {
        return Err(format!("{name} is gone"));
    }
    let Some(queue) = &entry.queue else { return Err(format!("{name} is being read")) };
    let Some(asked) = asked(model, kind) else { return Err("there are no presets".to_owned()) };
    if asked.factors.is_empty() && kind == Kind::Levels {
        return Err("nothing varies yet: switch on two levels of a setting with Space".to_owned());
    }
    let designed = asked::design(&asked, queue).map_err(|e| e.to_string())?;
    match jobs(&designed).into_iter().find(|j| j.rw.writes()) {
        Some(job) if asked.target.is_none() => Err(format!(
            "{} writes (rw={}), and {name} itself is only read here: type as its target a directory on a file system of {name}, \
             where a scratch file is made and removed",
            job.name,
            job.rw.word()
        )),
        _ => Ok(designed),
    }
}

/// The jobs of the baseline; the candidate's may differ from them in what varies.
fn jobs(designed: &Designed) -> Vec<Job> {
    let d = &designed.design;
    let baseline = d.cells.first().map(|baseline| cells::jobs(&d.factors, baseline, &d.workload));
    baseline.and_then(Result::ok).unwrap_or_default()
}

/// What is weak about the workload of a design.
#[must_use]
pub fn weaknesses(model: &Model, designed: &Designed) -> Vec<Weak> {
    let of = entry(model);
    let on = Surroundings {
        span: of.map(|e| e.device.size).filter(|_| designed.design.target.is_none()),
        depth: of.and_then(|e| e.queue.as_ref()?.number("nr_requests")),
        ..Surroundings::default()
    };
    weak::named(&jobs(designed), designed.design.trial, &on)
}

/// The words of the command line that asks the same of this row of the list, without the program's name.
#[must_use]
pub fn words(asked: &Asked, row: &KernelName) -> Vec<String> {
    let mut words = vec!["ab".to_owned(), row.kernel()];
    let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    for factor in &asked.factors {
        say("--factor", factor.clone());
    }
    say("--job", asked.job.clone());
    for set in &asked.set {
        say("--set", set.clone());
    }
    if let Some(target) = &asked.target {
        say("--target", target.display().to_string());
    }
    if let Some(metric) = asked.metric {
        say("--metric", metric.word().to_owned());
    }
    if let Some(margin) = asked.margin.filter(|m| (m - limits::MARGIN).abs() > 1e-9) {
        say("--margin", limits::percentage(margin).unwrap_or_else(|| format!("{}%", margin * 100.0)));
    }
    if let Some(trial) = asked.trial.filter(|t| *t != limits::TRIAL) {
        say("--trial", format!("{}s", trial.as_secs()));
    }
    if let (Blocks::Fixed(n), false) = (asked.blocks, asked.calibrate) {
        say("--blocks", n.to_string());
    }
    say("--seed", asked.seed.to_string());
    let switches = [
        ("--together", asked.together),
        ("--no-lead-in", !asked.lead_ins),
        ("--side-effects", asked.isolation == Isolation::SideEffects),
        ("--side-effects=sequence", asked.isolation == Isolation::Sequence),
        ("--control", asked.control),
        ("--calibrate", asked.calibrate),
    ];
    words.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
    words
}

/// The words as a command for a shell.
#[must_use]
pub fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|w| quoted(w)).collect();
    format!("blktune {}", quoted.join(" "))
}
