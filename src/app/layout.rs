//! Where things are, from the size alone. Used by `update` for paging and by the drawing code.

use ratatui::layout::Rect;

/// Least columns that the screens can be drawn in.
pub const LEAST_WIDTH: u16 = 60;
/// Least rows.
pub const LEAST_HEIGHT: u16 = 16;
/// From here on the list has more columns.
pub const WIDE: u16 = 120;

/// Whether the terminal is too small for anything but a line that says so.
#[must_use]
pub const fn too_small(width: u16, height: u16) -> bool {
    width < LEAST_WIDTH || height < LEAST_HEIGHT
}

/// The parts that every screen has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// First line: the host.
    pub head: Rect,
    /// The screen.
    pub body: Rect,
    /// What was said last.
    pub status: Rect,
    /// The keys.
    pub foot: Rect,
}

/// Cuts the terminal into its parts.
#[must_use]
pub fn parts(width: u16, height: u16) -> Parts {
    let line = |y: u16| Rect::new(0, y.min(height), width, u16::from(y < height));
    Parts {
        head: line(0),
        body: Rect::new(0, 1.min(height), width, height.saturating_sub(3)),
        status: line(height.saturating_sub(2)),
        foot: line(height.saturating_sub(1)),
    }
}

/// Splits a rectangle after so many rows.
#[must_use]
pub fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let upper = Rect { height: rows, ..area };
    let lower = Rect { y: area.y + rows, height: area.height - rows, ..area };
    (upper, lower)
}

/// Rows of the panel that charts the chosen device.
const fn panel_rows(height: u16) -> u16 {
    match height {
        0..=17 => 0,
        18..=29 => 8,
        30..=47 => 12,
        _ => 16,
    }
}

/// Screen 1: heads, list, panel.
#[must_use]
pub fn devices(width: u16, height: u16) -> (Rect, Rect, Rect) {
    let body = parts(width, height).body;
    let (head, rest) = split(body, 1);
    let (list, panel) = split(rest, rest.height.saturating_sub(panel_rows(height)));
    (head, list, panel)
}

/// Screen 2: title, list, explanation.
#[must_use]
pub fn settings(width: u16, height: u16) -> (Rect, Rect, Rect) {
    let body = parts(width, height).body;
    let (head, rest) = split(body, 2);
    let (list, about) = split(rest, rest.height.saturating_sub(4));
    (head, list, about)
}

/// Screen 3: presets at the left, form at the right, sentence below.
#[must_use]
pub fn workload(width: u16, height: u16) -> (Rect, Rect, Rect) {
    let body = parts(width, height).body;
    let rows = match height {
        0..=19 => 4,
        20..=29 => 6,
        _ => 10,
    };
    let (upper, sentence) = split(body, body.height.saturating_sub(rows));
    let left = (width * 11 / 20).min(76);
    let presets = Rect { width: left, ..upper };
    let form = Rect { x: upper.x + left, width: upper.width - left, ..upper };
    (presets, form, sentence)
}

/// Screen 4 while an experiment goes on or has ended: what it is and how far, and what follows.
#[must_use]
pub fn experiment(width: u16, height: u16, going: bool) -> (Rect, Rect) {
    split(parts(width, height).body, if going { 5 } else { 2 })
}

/// Rows that the list of screen 7 has.
#[must_use]
pub fn messages(width: u16, height: u16) -> Rect {
    split(parts(width, height).body, 1).1
}

/// A dialog of this size, cut to the terminal and in its middle.
#[must_use]
pub fn dialog(width: u16, height: u16, wanted_width: u16, wanted_height: u16) -> Rect {
    let w = wanted_width.min(width);
    let h = wanted_height.min(height);
    Rect::new((width - w) / 2, (height - h) / 2, w, h)
}
