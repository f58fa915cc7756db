//! Text in cells: cut by display width, never outside of the buffer, in the role's style.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style as look;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::config::color::Color;
use crate::config::theme::{Role, Style, Theme};

/// A piece of a line.
pub(super) type Piece<'a> = (Role, std::borrow::Cow<'a, str>);

/// Draws text into a buffer. What does not fit is cut, what lies outside is left out.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
    /// No characters beyond ASCII.
    pub(super) ascii: bool,
}

impl<'a> Pen<'a> {
    pub(super) const fn new(buffer: &'a mut Buffer, theme: &'a Theme, ascii: bool) -> Self {
        Self { buffer, theme, ascii }
    }

    /// Writes at a place, in at most `width` columns; returns the column behind it.
    pub(super) fn put(&mut self, x: u16, y: u16, width: u16, text: &str, role: Role) -> u16 {
        let area = self.buffer.area;
        if y < area.y || y >= area.bottom() || x < area.x || x >= area.right() {
            return x;
        }
        let style = ratatui_style(self.theme.style(role));
        let end = if self.ascii && !text.is_ascii() {
            let plain: String = text.chars().map(plain).collect();
            self.buffer.set_stringn(x, y, plain, usize::from(width), style).0
        } else {
            self.buffer.set_stringn(x, y, text, usize::from(width), style).0
        };
        end.max(x)
    }

    /// Writes pieces one after the other into the first row of an area.
    pub(super) fn line(&mut self, area: Rect, pieces: &[Piece<'_>]) -> u16 {
        let mut x = area.x;
        for (role, text) in pieces {
            if x >= area.right() || area.height == 0 {
                break;
            }
            x = self.put(x, area.y, area.right() - x, text, *role);
        }
        x
    }

    /// Writes pieces so that they end at the right edge; nothing if they do not fit behind column `from`.
    pub(super) fn line_right(&mut self, area: Rect, from: u16, pieces: &[Piece<'_>]) {
        let width: usize = pieces.iter().map(|(_, t)| t.width()).sum();
        let Ok(width) = u16::try_from(width) else { return };
        let x = area.right().saturating_sub(width);
        if x >= from && width <= area.width {
            self.line(Rect { x, width, ..area }, pieces);
        }
    }

    /// Gives an area a role's style on top of what it has.
    pub(super) fn tint(&mut self, area: Rect, role: Role) {
        let area = area.intersection(self.buffer.area);
        self.buffer.set_style(area, ratatui_style(self.theme.style(role)));
    }

    /// Empties an area, so that a dialog covers what is below.
    pub(super) fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// A line across, with a title in it.
    pub(super) fn rule(&mut self, area: Rect, title: &[Piece<'_>]) -> u16 {
        let dash = if self.ascii { "-" } else { "─" };
        self.put(area.x, area.y, area.width, &dash.repeat(usize::from(area.width)), Role::Border);
        if title.is_empty() {
            return area.x;
        }
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let x = self.put(inner.x, inner.y, inner.width, " ", Role::Text);
        let end = self.line(Rect { x, width: inner.right().saturating_sub(x), ..inner }, title);
        self.put(end, inner.y, inner.right().saturating_sub(end), " ", Role::Text)
    }
}

/// The nearest ASCII of the few characters the program itself uses; anything else becomes a question mark.
const fn plain(c: char) -> char {
    match c {
        '\0'..='\u{7f}' => c,
        '…' | '±' => '~',
        '→' => '>',
        '−' | '–' => '-',
        '·' => '.',
        _ => '?',
    }
}

fn ratatui_style(s: Style) -> look::Style {
    let mut out =
        look::Style { fg: s.fg.map(ratatui_color), bg: s.bg.map(ratatui_color), ..look::Style::new() };
    let switches = [
        (s.bold, look::Modifier::BOLD),
        (s.dim, look::Modifier::DIM),
        (s.underline, look::Modifier::UNDERLINED),
        (s.reverse, look::Modifier::REVERSED),
        (s.strike, look::Modifier::CROSSED_OUT),
    ];
    for (on, modifier) in switches {
        if on {
            out = out.add_modifier(modifier);
        }
    }
    out
}

const fn ratatui_color(c: Color) -> look::Color {
    match c {
        Color::Default => look::Color::Reset,
        Color::Rgb(r, g, b) => look::Color::Rgb(r, g, b),
        Color::Indexed(n) => look::Color::Indexed(n),
        Color::Ansi(n) => match n {
            0 => look::Color::Black,
            1 => look::Color::Red,
            2 => look::Color::Green,
            3 => look::Color::Yellow,
            4 => look::Color::Blue,
            5 => look::Color::Magenta,
            6 => look::Color::Cyan,
            7 => look::Color::Gray,
            8 => look::Color::DarkGray,
            9 => look::Color::LightRed,
            10 => look::Color::LightGreen,
            11 => look::Color::LightYellow,
            12 => look::Color::LightBlue,
            13 => look::Color::LightMagenta,
            14 => look::Color::LightCyan,
            _ => look::Color::White,
        },
    }
}

/// A piece of a line.
pub(super) fn piece<'a>(role: Role, text: impl Into<std::borrow::Cow<'a, str>>) -> Piece<'a> {
    (role, text.into())
}

/// The text in exactly `width` columns, at the left; what does not fit ends in an ellipsis.
pub(super) fn left(text: &str, width: usize) -> String {
    let mut s = cut(text, width);
    let have = s.width();
    s.extend(std::iter::repeat_n(' ', width.saturating_sub(have)));
    s
}

/// The same at the right. A number that does not fit becomes dots, since a cut number is a wrong one.
pub(super) fn right(text: &str, width: usize) -> String {
    let have = text.width();
    if have > width {
        return "·".repeat(width);
    }
    let mut s = " ".repeat(width - have);
    s.push_str(text);
    s
}

/// The text in at most `width` columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w > room {
            break;
        }
        used += w;
        out.push(c);
    }
    out.push('…');
    out
}

/// The text in lines of at most `width` columns, broken at blanks where there are any.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in units_kept(text) {
        let mut word = word.as_str();
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(std::mem::take(&mut line));
        }
        while line.is_empty() && word.width() > width {
            let at = fitting(word, width);
            let (head, rest) = word.split_at(at);
            lines.push(head.to_owned());
            word = rest;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The words of a text, a number and its unit as one.
fn units_kept(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut number = false;
    for word in text.split_whitespace() {
        if let Some(last) = out.last_mut().filter(|_| number && word.len() <= 4) {
            last.push(' ');
            last.push_str(word);
            number = false;
        } else {
            number = word.chars().any(|c| c.is_ascii_digit())
                && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-' | '−' | '.' | '…' | '±'));
            out.push(word.to_owned());
        }
    }
    out
}

/// Where to cut a word so that at least one character and at most `width` columns come before.
fn fitting(word: &str, width: usize) -> usize {
    let mut used = 0;
    for (i, c) in word.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && i > 0 {
            return i;
        }
    }
    word.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_never_cut() {
        assert_eq!(right("12345", 4), "····");
        assert_eq!(right("12", 4), "  12");
        assert_eq!(left("nvme0n1p1", 6), "nvme0…");
    }

    proptest! {
        #[test]
        fn cells_are_exactly_as_wide_as_asked(s in "\\PC{0,40}", width in 0usize..30) {
            // A wide character may leave one column over, which is padded.
            prop_assert_eq!(left(&s, width).width(), width);
            prop_assert_eq!(right(&s, width).width(), width);
        }

        #[test]
        fn wrapping_loses_no_word(s in "[a-z ]{0,80}", width in 1usize..30) {
            let lines = wrap(&s, width);
            prop_assert!(lines.iter().all(|l| l.width() <= width));
            let flat = |s: &str| s.split_whitespace().collect::<String>();
            prop_assert_eq!(flat(&lines.concat()), flat(&s));
        }
    }
}
