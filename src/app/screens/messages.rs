//! Screen 7: everything that was said, newest last.

use std::collections::VecDeque;

use crate::app::message::Level;

/// How many are kept.
pub const KEPT: usize = 500;

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The wall clock at the time.
    pub wall: String,
    /// How much it matters.
    pub level: Level,
    /// What was said.
    pub text: String,
}

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct MessagesScreen {
    /// What was said, oldest first.
    pub said: VecDeque<Said>,
    /// How many of the newest are below the window: 0 follows what is said.
    pub back: usize,
}

impl MessagesScreen {
    /// Scrolls back (positive) or towards the newest.
    pub fn scroll(&mut self, by: isize, height: usize) {
        let most = self.said.len().saturating_sub(height);
        self.back = self.back.saturating_add_signed(by).min(most);
    }

    /// What a window of `height` lines shows.
    pub fn window(&self, height: usize) -> impl Iterator<Item = &Said> {
        let back = self.back.min(self.said.len().saturating_sub(height));
        let end = self.said.len() - back;
        self.said.range(end.saturating_sub(height)..end)
    }
}
