//! The whole plan of an experiment, to be read before it starts. Enter here is the only key that starts one.

use crate::app::effect::ExperimentOrder;

/// The dialog.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDialog {
    /// What Enter orders: what was shown, whatever the form says by then.
    pub order: Box<ExperimentOrder>,
    /// What will happen, paragraph by paragraph.
    pub paragraphs: Vec<String>,
    /// How long it takes, in words.
    pub takes: String,
    /// First line shown.
    pub top: usize,
}

impl PlanDialog {
    /// How far it can be scrolled at most; the drawing code knows how long it really is.
    #[must_use]
    pub fn length(&self) -> usize {
        // At the least width a line has some fifty characters; a paragraph ends with an empty line.
        self.paragraphs.iter().map(|p| p.chars().count() / 50 + 2).sum()
    }
}
