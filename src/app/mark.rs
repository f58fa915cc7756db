//! What happened to a device and when: the marks on the axis of its charts.

use std::collections::VecDeque;

use crate::sys::queue::QueueState;
use crate::telemetry::note::Note;
use crate::telemetry::rates::Rates;

use super::fleet::Entry;
use super::past::Moment;

/// Most marks that are kept of a device.
pub const MOST: usize = 64;

/// Who changed a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This program, because it was asked to.
    Us,
    /// This program, and it is put back unless it is confirmed.
    Held,
    /// This program, putting back what was held.
    PutBack,
    /// The kernel, as a side effect of a change made here.
    SideEffect,
    /// Something else.
    Other,
}

impl By {
    /// As it is written behind the change.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            By::Us => "by this program",
            By::Held => "by this program, held",
            By::PutBack => "put back by this program",
            By::SideEffect => "side effect",
            By::Other => "by something else",
        }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A setting reads differently.
    Setting {
        /// Its name below `queue/`.
        name: String,
        /// What it read.
        old: String,
        /// What it reads.
        new: String,
        /// Who did it.
        by: By,
    },
    /// A sample said so: `new device`, `counters reset`.
    Note(String),
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When it was seen.
    pub seen: Moment,
    /// What.
    pub what: What,
}

impl Mark {
    fn what(&self) -> String {
        match &self.what {
            What::Setting { name, old, new, .. } => format!("{name} {old} -> {new}"),
            What::Note(text) => text.clone(),
        }
    }

    const fn by(&self) -> Option<By> {
        match self.what {
            What::Setting { by, .. } => Some(by),
            What::Note(_) => None,
        }
    }
}

/// Marks in words; time and doer are said once for those that share them:
/// `10:42:07 scheduler none -> bfq (by this program), nr_requests 64 -> 256`.
#[must_use]
pub fn words(marks: &[&Mark]) -> String {
    let same = |a: &&Mark, b: &&Mark| a.seen.time() == b.seen.time() && a.by() == b.by();
    let group = |group: &[&Mark]| {
        let (first, rest) = group.split_first()?;
        let by = first.by().map(|by| format!(" ({})", by.words())).unwrap_or_default();
        let mut text = format!("{} {}{by}", first.seen.time(), first.what());
        for mark in rest {
            text.push_str(", ");
            text.push_str(&mark.what());
        }
        Some(text)
    };
    marks.chunk_by(same).filter_map(group).collect::<Vec<_>>().join("; ")
}

/// The marks of a device, oldest first; beyond [`MOST`] the oldest goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(VecDeque<Mark>);

impl Marks {
    /// Notes one.
    pub fn push(&mut self, mark: Mark) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(mark);
    }

    /// All, oldest first.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Mark> {
        self.0.iter()
    }
}

/// Whether the axis of the charts marks what a sample notes: what breaks the past in two, not what lasts.
const fn marked(note: &Note) -> bool {
    matches!(note, Note::NewDevice | Note::CountersReset | Note::Suspended(_))
}

impl Entry {
    /// Marks what a reading of the queue shows to have changed since the one before. To be told before it is taken in.
    pub fn mark_changes(&mut self, state: &QueueState, seen: Moment) {
        if self.work.is_some() || self.experimented {
            self.before_work = self.before_work.take().or_else(|| self.queue.clone());
            return;
        }
        let Some(before) = self.before_work.take().or_else(|| self.queue.clone()) else { return };
        let switched = before.effective("scheduler") != state.effective("scheduler");
        let mut names: Vec<&String> = state.attributes.keys().collect();
        // A switch of scheduler moves others, so it is told first.
        names.sort_by_key(|n| *n != "scheduler");
        for name in names {
            // Another scheduler's tunable of the same name is another setting.
            if switched && name.starts_with("iosched/") {
                continue;
            }
            let (Some(old), Some(new)) = (before.effective(name), state.effective(name)) else { continue };
            if old != new {
                let by = self.by(name, &new);
                let what = What::Setting { name: name.clone(), old, new, by };
                self.marks.push(Mark { seen, what });
            }
        }
        self.left.values_mut().for_each(|l| l.over = false);
    }

    /// Who made a setting read so.
    fn by(&self, name: &str, new: &str) -> By {
        match self.left.get(name) {
            Some(left) if left.value.as_deref() == Some(new) => match (left.held, left.asked) {
                (true, _) => By::Held,
                (false, true) => By::Us,
                (false, false) => By::SideEffect,
            },
            Some(left) if (left.held || left.over) && left.before.as_deref() == Some(new) => By::PutBack,
            _ => By::Other,
        }
    }

    /// Marks what a sample notes, once.
    pub(super) fn mark_notes(&mut self, rates: Option<&Rates>, seen: Moment) {
        let notes = rates.map(|r| r.notes.as_slice()).unwrap_or_default();
        if notes.is_empty() && self.noted.is_empty() {
            return;
        }
        for note in notes.iter().filter(|n| marked(n) && !self.noted.contains(n)) {
            self.marks.push(Mark { seen, what: What::Note(note.to_string()) });
        }
        self.noted = notes.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let mut marks = Marks::default();
        for i in 0..200 {
            marks.push(Mark { seen: Moment::default(), what: What::Note(i.to_string()) });
        }
        let words: Vec<String> = marks.iter().map(|m| words(&[m])).collect();
        assert_eq!((words.len(), words[0].as_str(), words[63].as_str()), (64, "- 136", "- 199"));
    }

    #[test]
    fn what_happened_together_is_told_together() {
        let seen =
            Moment { wall: Some(jiff::civil::date(2026, 12, 2).at(10, 42, 7, 0)), ..Moment::default() };
        let mark = |name: &str, by| {
            let [name, old, new] = [name, "1", "2"].map(str::to_owned);
            Mark { seen, what: What::Setting { name, old, new, by } }
        };
        let all =
            [mark("scheduler", By::Us), mark("nr_requests", By::Us), mark("wbt_lat_usec", By::SideEffect)];
        let all: Vec<&Mark> = all.iter().collect();
        assert_eq!(words(&all[..1]), "10:42:07 scheduler 1 -> 2 (by this program)");
        assert_eq!(
            words(&all),
            "10:42:07 scheduler 1 -> 2 (by this program), nr_requests 1 -> 2; 10:42:07 wbt_lat_usec 1 -> 2 (side effect)"
        );
        assert_eq!(words(&[]), "");
    }
}
