//! What happened to a device and when: the marks on the axis of its charts.

use std::collections::VecDeque;

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
    /// `10:42:07 scheduler none -> bfq (by this program)`.
    #[must_use]
    pub fn words(&self) -> String {
        let time = self.seen.time();
        match &self.what {
            What::Setting { name, old, new, by } => format!("{time} {name} {old} -> {new} ({})", by.words()),
            What::Note(text) => format!("{time} {text}"),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_gives_way() {
        let mut marks = Marks::default();
        for i in 0..200 {
            marks.push(Mark { seen: Moment::default(), what: What::Note(i.to_string()) });
        }
        let words: Vec<String> = marks.iter().map(Mark::words).collect();
        assert_eq!((words.len(), words[0].as_str(), words[63].as_str()), (64, "- 136", "- 199"));
    }
}
