//! The diff of staged changes, of an undo or of a redo. Enter here is the only key that leads to a write.

use crate::sys::device::DeviceId;
use crate::tuning::catalogue;
use crate::tuning::change::{ApplyReport, Change};
use crate::units::Nanos;

use crate::app::effect::Effect;
use crate::app::fleet::{Entry, Fleet, Work};
use crate::app::message::UndoStep;
use crate::app::purpose::Purpose;

/// From here on somebody waits.
const A_WAIT: Nanos = Nanos::SECOND;

/// How long changes are held that are put back unless they are confirmed.
pub const REVERT_AFTER: Nanos = Nanos(60 * Nanos::SECOND.0);

/// Where the dialog stands.
#[derive(Clone, Debug)]
pub enum Phase {
    /// What an undo or redo would write is being looked up. Enter only closes it, so that none can write what was not shown.
    Looking,
    /// It shows what Enter would do.
    Ask,
    /// It was told to, and waits for the kernel.
    Working,
    /// It shows what became of it.
    Done(Result<ApplyReport, String>),
}

/// The dialog.
#[derive(Clone, Debug)]
pub struct ChangesDialog {
    /// The device.
    pub device: DeviceId,
    /// Changes, undo or redo.
    pub purpose: Purpose,
    /// What an undo or redo would write, once that is known.
    pub steps: Vec<UndoStep>,
    /// What has to read afterwards as it reads now, whatever the staged changes move: it is written last, if it moved.
    pub steady: Vec<String>,
    /// After this time the changes are put back unless they are confirmed; None if they are kept.
    pub revert_after: Option<Nanos>,
    /// Where it stands.
    pub phase: Phase,
    /// First line shown.
    pub top: usize,
}

/// One line of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// The setting.
    pub name: String,
    /// What it reads; None if unreadable.
    pub from: Option<String>,
    /// What it is to read.
    pub to: String,
}

impl ChangesDialog {
    /// The dialog as it opens: an undo or redo has to be looked up first.
    #[must_use]
    pub const fn new(device: DeviceId, purpose: Purpose) -> Self {
        let phase = match purpose {
            Purpose::Apply => Phase::Ask,
            Purpose::Undo | Purpose::Redo => Phase::Looking,
        };
        let steps = Vec::new();
        Self { device, purpose, steps, steady: Vec::new(), revert_after: None, phase, top: 0 }
    }

    /// The diff of what is staged, after which these settings read as they do now.
    #[must_use]
    pub fn beside(device: DeviceId, steady: Vec<String>) -> Self {
        Self { steady, ..Self::new(device, Purpose::Apply) }
    }

    /// Whether the changes can be written so that they are put back unless confirmed.
    ///
    /// # Errors
    /// The reason, in words for the person.
    pub fn may_hold(&self) -> Result<(), String> {
        match self.purpose {
            Purpose::Apply => Ok(()),
            Purpose::Undo | Purpose::Redo => {
                Err(format!("only changes can be put back by themselves, no {}", self.purpose.noun()))
            }
        }
    }

    /// Puts back unless confirmed, or keeps: the other of the two from now on.
    pub const fn toggle_hold(&mut self) {
        self.revert_after = if self.revert_after.is_some() { None } else { Some(REVERT_AFTER) };
    }

    /// The diff. For staged changes it follows what the queue reads now.
    #[must_use]
    pub fn lines(&self, fleet: &Fleet) -> Vec<DiffLine> {
        match self.purpose {
            Purpose::Apply => {
                let Some(entry) = fleet.get(&self.device) else { return Vec::new() };
                let staged = staged_lines(entry);
                let steady =
                    self.steady.iter().filter(|n| !staged.is_empty() && !entry.staged.contains_key(*n));
                let value = |name: &String| entry.queue.as_ref()?.effective(name);
                let steady = steady.filter_map(|name| {
                    let now = value(name)?;
                    Some(DiffLine { name: name.clone(), from: Some(now.clone()), to: now })
                });
                staged.iter().cloned().chain(steady).collect()
            }
            Purpose::Undo | Purpose::Redo => self
                .steps
                .iter()
                .map(|s| DiffLine { name: s.name.clone(), from: s.now.clone(), to: s.back_to.clone() })
                .collect(),
        }
    }

    /// What else is known to move, a sentence each.
    #[must_use]
    pub fn side_effects(&self, fleet: &Fleet) -> Vec<String> {
        let Some(state) = fleet.get(&self.device).and_then(|e| e.queue.as_ref()) else { return Vec::new() };
        let changes: Vec<Change> =
            self.lines(fleet).into_iter().map(|l| Change { name: l.name, requested: l.to }).collect();
        catalogue::known_side_effects(&changes, state)
    }

    /// How far it can be scrolled at most; the drawing code knows how long it really is.
    #[must_use]
    pub fn length(&self, fleet: &Fleet) -> usize {
        match &self.phase {
            // A change may have a message of a few lines.
            Phase::Done(Ok(report)) => 4 * report.changes.len() + report.side_effects.len(),
            Phase::Looking | Phase::Done(Err(_)) => 0,
            Phase::Ask | Phase::Working => self.lines(fleet).len() + 2 * self.side_effects(fleet).len(),
        }
    }

    /// Whether Enter would write, or why not.
    ///
    /// # Errors
    /// The reason, in words for the person.
    pub fn may_write(&self, fleet: &Fleet, rights: Option<&str>) -> Result<(), String> {
        let entry = fleet.get(&self.device).filter(|e| e.live());
        let Some(entry) = entry else { return Err(format!("{} is gone", self.device.name)) };
        match self.phase {
            Phase::Ask => {}
            Phase::Looking => return Err("what it would write is still being looked up".to_owned()),
            Phase::Working => return Err(format!("{} is being written", self.device.name)),
            Phase::Done(_) => return Err("this is done already".to_owned()),
        }
        if entry.work.is_some() {
            return Err(format!("{} is still being written", self.device.name));
        }
        if let Some(why) = rights {
            return Err(why.to_owned());
        }
        if self.lines(fleet).is_empty() {
            return Err("nothing is staged".to_owned());
        }
        Ok(())
    }

    /// Goes from asking to writing. Nothing happens if it may not.
    pub fn write(&mut self, fleet: &mut Fleet, rights: Option<&str>, now: Nanos) -> Vec<Effect> {
        if self.may_write(fleet, rights).is_err() {
            return Vec::new();
        }
        let lines = self.lines(fleet);
        if let Some(entry) = fleet.get_mut(&self.device) {
            entry.work = Some(Work {
                since: now,
                purpose: self.purpose,
                revert_after: self.revert_after,
                given_up: false,
            });
        }
        self.phase = Phase::Working;
        let device = self.device.clone();
        vec![match self.purpose {
            Purpose::Undo => Effect::Undo { device },
            Purpose::Redo => Effect::Redo { device },
            Purpose::Apply => {
                let changes = lines.into_iter().map(|l| Change { name: l.name, requested: l.to }).collect();
                Effect::Apply { device, changes, revert_after: self.revert_after }
            }
        }]
    }
}

impl ChangesDialog {
    /// Whether waiting can be given up. Not at once: most writes are done before a person sees that they wait, and a key
    /// pressed too early must not undo them.
    ///
    /// # Errors
    /// The reason, in words for the person.
    pub fn may_give_up(&self, fleet: &Fleet, now: Nanos) -> Result<(), String> {
        let work = fleet.get(&self.device).and_then(|e| e.work.as_ref());
        match work {
            Some(work) if now.since(work.since) < A_WAIT => {
                Err(format!("{} is being written", self.device.name))
            }
            Some(_) => Ok(()),
            None => Err("nothing is waited for".to_owned()),
        }
    }

    /// Gives up waiting. Nothing happens if that can not be.
    #[must_use]
    pub fn give_up(self, fleet: &mut Fleet, now: Nanos) -> Vec<Effect> {
        if self.may_give_up(fleet, now).is_err() {
            return Vec::new();
        }
        if let Some(work) = fleet.get_mut(&self.device).and_then(|e| e.work.as_mut()) {
            work.given_up = true;
        }
        vec![Effect::GiveUp { device: self.device }]
    }
}

/// The staged changes of a device as a diff, in the order of the settings screen. Tunables of a scheduler that is yet to
/// come follow those that are there.
#[must_use]
pub fn staged_lines(entry: &Entry) -> Vec<DiffLine> {
    let Some(state) = &entry.queue else { return Vec::new() };
    let there = catalogue::rows(state, None).into_iter().filter_map(|row| {
        let to = entry.staged.get(&row.name)?.clone();
        Some(DiffLine { name: row.name, from: row.value, to })
    });
    let to_come = entry.staged.iter().filter(|(name, _)| !state.attributes.contains_key(*name));
    let to_come = to_come.map(|(name, to)| DiffLine { name: name.clone(), from: None, to: to.clone() });
    let mut lines: Vec<DiffLine> = there.chain(to_come).collect();
    lines.sort_by_key(|l| match l.name.as_str() {
        "scheduler" => 0,
        name if name.starts_with("iosched/") => 1,
        _ => 2,
    });
    lines
}
