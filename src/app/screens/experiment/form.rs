//! The rows of the form and what keys do in them.

use crate::app::model::Model;
use crate::experiment::design::{Blocks, Isolation};
use crate::experiment::metric::Metric;
use crate::sys::attr::clean;
use crate::tuning::change::Change;
use crate::tuning::{plan, rounding};
use crate::workload::assemble::assemble;

use super::{entry, levels, offered};

/// A row of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A setting with its levels.
    Setting(&'static str),
    /// The preset.
    Preset,
    /// What is set of it.
    Set,
    /// What it uses.
    Target,
    /// What decides.
    Metric,
    /// The smallest difference that matters.
    Margin,
    /// Measured part of a trial.
    Trial,
    /// How many blocks.
    Blocks,
    /// Whether blocks are led in.
    LeadIns,
    /// What a trial starts from.
    Isolation,
    /// Whether cells that should make no difference are run.
    Control,
}

/// The rows below those of the settings.
const STEPS: [Row; 10] = [
    Row::Preset,
    Row::Set,
    Row::Target,
    Row::Metric,
    Row::Margin,
    Row::Trial,
    Row::Blocks,
    Row::LeadIns,
    Row::Isolation,
    Row::Control,
];
/// What stepping visits.
const ISOLATIONS: [Isolation; 3] = [Isolation::Isolated, Isolation::SideEffects, Isolation::Sequence];
/// Percentages that stepping visits.
const MARGINS: [f64; 8] = [0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];
/// Seconds that stepping visits.
const TRIALS: [u64; 6] = [3, 5, 8, 15, 30, 60];
/// Blocks that stepping visits.
const BLOCKS: [Blocks; 6] = [
    Blocks::Adaptive,
    Blocks::Fixed(6),
    Blocks::Fixed(10),
    Blocks::Fixed(14),
    Blocks::Fixed(20),
    Blocks::Fixed(40),
];

impl Row {
    /// What it is about, in a line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Row::Setting(_) => "switch on two levels; several settings vary together",
            Row::Preset => "what runs in every trial; the presets of screen 3",
            Row::Set => "what is changed of the workload; e types it",
            Row::Target => "what is read; a workload that writes needs a directory; e types it",
            Row::Metric => "what decides, fixed before the first trial; the others are shown beside it",
            Row::Margin => "the smallest difference that matters: below it both are called equivalent",
            Row::Trial => "how long each trial is measured, after 2 s that are not counted",
            Row::Blocks => "a block is four trials, two of each cell",
            Row::LeadIns => "before each block a trial of its first cell that is thrown away",
            Row::Isolation => {
                "what a write moves besides: brought back before each trial, or left as an echo leaves it"
            }
            Row::Control => "yes: run cells that should make no difference, as a test of the machine",
        }
    }
}

/// The rows, from the top.
#[must_use]
pub fn rows(model: &Model) -> Vec<Row> {
    offered(model).into_iter().map(|(name, _)| Row::Setting(name)).chain(STEPS).collect()
}

/// The row under the cursor.
#[must_use]
pub fn row(model: &Model) -> Option<Row> {
    let rows = rows(model);
    rows.get(model.experiment.row.min(rows.len().saturating_sub(1))).copied()
}

/// Moves the cursor by some rows.
pub fn move_by(model: &mut Model, by: isize) {
    let last = rows(model).len().saturating_sub(1);
    let e = &mut model.experiment;
    e.row = e.row.min(last).saturating_add_signed(by).min(last);
    e.level = 0;
}

/// Whether the row under the cursor can be changed.
///
/// # Errors
/// Why not.
pub fn can_change(model: &Model) -> Result<(), String> {
    let Some(Row::Setting(name)) = row(model) else { return Ok(()) };
    let why = offered(model).into_iter().find(|(n, _)| *n == name).and_then(|(_, why)| why);
    why.map_or(Ok(()), |why| Err(format!("{name}: {why}")))
}

/// To the next or previous level of a setting, or value of another row.
pub(super) fn step(model: &mut Model, forward: bool) {
    let presets = model.workload.presets.len();
    match row(model) {
        Some(Row::Setting(name)) => {
            let last = levels(model, name).len().saturating_sub(1);
            let by = if forward { 1 } else { -1 };
            model.experiment.level = model.experiment.level.min(last).saturating_add_signed(by).min(last);
        }
        Some(row) => model.experiment.step(row, forward, presets),
        None => {}
    }
}

/// Switches the level under the cursor on or off; in another row, to the next value.
///
/// # Errors
/// A third level.
pub(super) fn toggle(model: &mut Model) -> Result<(), String> {
    let Some(Row::Setting(name)) = row(model) else {
        step(model, true);
        return Ok(());
    };
    let all = levels(model, name);
    let Some(level) = all.get(model.experiment.level.min(all.len().saturating_sub(1))) else { return Ok(()) };
    model.experiment.switch(name, level)
}

/// Takes a typed level, which is switched on, what is set of the workload, or what it uses.
///
/// # Errors
/// Why it is neither.
pub fn take_text(model: &mut Model, what: &'static str, text: &str) -> Result<(), String> {
    let text = clean(text.trim().as_bytes());
    if what == "target" {
        if !text.is_empty() && !text.starts_with('/') {
            return Err("a path begins with /".to_owned());
        }
        model.experiment.target = text;
        return Ok(());
    }
    if what == "set" {
        let preset = model.workload.presets.get(model.experiment.preset).map(|p| p.name.clone());
        assemble(&preset.unwrap_or_default(), text.split_whitespace()).map_err(|e| e.to_string())?;
        model.experiment.set = text;
        return Ok(());
    }
    let Some(queue) = entry(model).and_then(|e| e.queue.as_ref()) else {
        return Err("the device is gone".to_owned());
    };
    let change = Change { name: what.to_owned(), requested: text.clone() };
    if text.contains(',') {
        return Err("one level at a time".to_owned());
    }
    if let Some((_, why)) = plan::refusals(std::slice::from_ref(&change), queue).into_iter().next() {
        return Err(why);
    }
    let read = rounding::expected(&change, queue);
    if !levels(model, what).contains(&read) {
        model.experiment.typed.entry(what.to_owned()).or_default().push(read.clone());
    }
    let on = model.experiment.on.get(what).is_some_and(|on| on.contains(&read));
    if on { Ok(()) } else { model.experiment.switch(what, &read) }
}

impl super::ExperimentScreen {
    fn switch(&mut self, name: &str, level: &str) -> Result<(), String> {
        let on = self.on.entry(name.to_owned()).or_default();
        if let Some(at) = on.iter().position(|l| l == level) {
            on.remove(at);
        } else if on.len() >= 2 {
            return Err(format!("{name}: two levels are compared; switch one off first"));
        } else {
            on.push(level.to_owned());
        }
        Ok(())
    }

    fn step(&mut self, row: Row, forward: bool, presets: usize) {
        match row {
            Row::Preset => {
                let last = presets.saturating_sub(1);
                let by = if forward { 1 } else { -1 };
                let to = self.preset.saturating_add_signed(by).min(last);
                if to != self.preset {
                    // What was set belongs to the jobs of the other preset.
                    self.set.clear();
                    self.preset = to;
                }
            }
            Row::Metric => {
                let all: Vec<Option<Metric>> =
                    [None].into_iter().chain(Metric::ALL.into_iter().map(Some)).collect();
                self.metric = next(&all, |m| *m == self.metric, forward);
            }
            Row::Margin => self.margin = next(&MARGINS, |m| (m - self.margin).abs() < 1e-9, forward),
            Row::Trial => self.trial = next(&TRIALS, |t| *t == self.trial, forward),
            Row::Blocks => self.blocks = next(&BLOCKS, |b| *b == self.blocks, forward),
            Row::LeadIns => self.lead_ins = !self.lead_ins,
            Row::Isolation => self.isolation = next(&ISOLATIONS, |i| *i == self.isolation, forward),
            Row::Control => self.control = !self.control,
            Row::Setting(_) | Row::Set | Row::Target => {}
        }
    }
}

/// The value behind or before the present one; the ends are ends.
fn next<T: Copy>(all: &[T], is: impl Fn(&T) -> bool, forward: bool) -> T {
    let at = all.iter().position(is).unwrap_or(0);
    let to = if forward { (at + 1).min(all.len() - 1) } else { at.saturating_sub(1) };
    all[to]
}
