//! A key as the screen understands it; the runtime translates the terminal's events into these.

use std::fmt;

/// A key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A printable character, with Shift already applied.
    Char(char),
    /// Ctrl and a letter, in lower case.
    Ctrl(char),
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Erases to the left.
    Backspace,
    /// Erases under the cursor; treated as [`Key::Backspace`].
    Delete,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first.
    Home,
    /// To the last.
    End,
}

impl fmt::Display for Key {
    /// As the footer and the help write it: in ASCII, so that it reads the same on every terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self {
            Key::Char(' ') => "Space",
            Key::Char(c) => return f.pad(c.encode_utf8(&mut [0; 4])),
            Key::Ctrl(c) => return f.pad(&format!("Ctrl-{c}")),
            Key::Enter => "Enter",
            Key::Esc => "Esc",
            Key::Tab => "Tab",
            Key::BackTab => "Shift-Tab",
            Key::Backspace => "Backspace",
            Key::Delete => "Del",
            Key::Up => "Up",
            Key::Down => "Down",
            Key::Left => "Left",
            Key::Right => "Right",
            Key::PageUp => "PgUp",
            Key::PageDown => "PgDn",
            Key::Home => "Home",
            Key::End => "End",
        };
        f.pad(word)
    }
}
