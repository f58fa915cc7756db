//! A longer text about one thing: a setting, a preset, a result.

/// The dialog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What it is about.
    pub title: String,
    /// Paragraphs, broken to the width when drawn.
    pub paragraphs: Vec<String>,
    /// First line shown.
    pub top: usize,
}

impl Explanation {
    /// The text from its beginning.
    #[must_use]
    pub fn new(title: impl Into<String>, paragraphs: Vec<String>) -> Self {
        Self { title: title.into(), paragraphs, top: 0 }
    }

    /// Scrolls it; the drawing code knows how long it really is.
    pub fn scroll(&mut self, by: isize) {
        // At the least width a line has some fifty characters; a paragraph ends with an empty line.
        let most = self.paragraphs.iter().map(|p| p.chars().count() / 50 + 2).sum();
        self.top = self.top.saturating_add_signed(by).min(most);
    }
}
