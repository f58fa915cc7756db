//! A longer text about one thing: a setting, a preset, a result.

/// The dialog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What it is about.
    pub title: String,
    /// Paragraphs, broken to the width when drawn.
    pub paragraphs: Vec<String>,
}
