//! What a run or an experiment shows, entry by entry: the screen scrolls by entries, whatever its width.

use crate::config::theme::Role;

/// Something that is shown below what was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An empty line.
    Blank,
    /// A sentence, wrapped; its first line begins with the mark.
    Text {
        /// What it is.
        role: Role,
        /// `!` or nothing.
        mark: &'static str,
        /// The sentence.
        text: String,
    },
    /// The heads of a table, at the width of its labels.
    Heads {
        /// Columns of the labels.
        label: usize,
        /// The heads.
        cells: Vec<(&'static str, usize)>,
    },
    /// A row of it.
    Row {
        /// Columns of the labels.
        width: usize,
        /// What the figures are of.
        label: String,
        /// Reads, writes, or both.
        role: Role,
        /// The figures and their columns.
        cells: Vec<(String, usize)>,
    },
    /// A line that is ready, cut where it does not fit.
    Line(Vec<(Role, String)>),
    /// Charts, in at least so many rows.
    Charts(usize),
}

/// A sentence without a mark.
pub fn text(role: Role, text: impl Into<String>) -> Entry {
    Entry::Text { role, mark: "", text: text.into() }
}

/// Rows of the charts in a report that is scrolled.
pub const CHART_ROWS: usize = 9;

impl Entry {
    /// Rows that it takes at most at this width: words are wrapped by who draws it.
    #[must_use]
    pub fn most_rows(&self, width: u16) -> usize {
        match self {
            Entry::Text { text, .. } => {
                let rows = text.chars().count().div_ceil(usize::from(width).saturating_sub(4).max(1)).max(1);
                // Broken at blanks, lines are not full.
                rows + rows / 2
            }
            Entry::Charts(rows) => *rows,
            Entry::Blank | Entry::Heads { .. } | Entry::Line(_) | Entry::Row { .. } => 1,
        }
    }
}

/// The furthest that a report is scrolled on a screen of this size: to its end, or little beyond.
#[must_use]
pub fn furthest(entries: &[Entry], width: u16, height: u16) -> usize {
    let mut rows = 0;
    let fitting = entries.iter().rev().take_while(|e| {
        rows += e.most_rows(width);
        rows <= usize::from(height)
    });
    entries.len() - fitting.count().min(entries.len())
}
