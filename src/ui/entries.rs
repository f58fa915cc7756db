//! What a run or an experiment shows, entry by entry.

use ratatui::layout::Rect;

use crate::app::entries::Entry;
use crate::config::theme::Role;

use super::text::{Pen, Piece, left, piece, right, wrap};

/// Fewest rows in which charts say anything.
pub(super) const LEAST_CHARTS: u16 = 5;

pub(super) type Line = Vec<Piece<'static>>;

/// The lines of an entry; charts have none.
pub(super) fn lines(entry: &Entry, width: u16) -> Vec<Line> {
    match entry {
        Entry::Blank => vec![Vec::new()],
        Entry::Text { role, mark, text } => {
            let indent = if mark.is_empty() { 1 } else { 3 };
            let wrapped = wrap(text, usize::from(width).saturating_sub(indent + 1));
            let line = |(i, line): (usize, String)| {
                let before =
                    if i == 0 && !mark.is_empty() { format!(" {mark} ") } else { " ".repeat(indent) };
                vec![piece(*role, format!("{before}{line}"))]
            };
            wrapped.into_iter().enumerate().map(line).collect()
        }
        Entry::Heads { label, cells } => {
            let mut text = " ".repeat(label + 1);
            for (head, width) in cells {
                text.push(' ');
                text.push_str(&right(head, *width));
            }
            vec![vec![piece(Role::Heading, text)]]
        }
        Entry::Row { width, label, role, cells } => {
            let mut text = String::new();
            for (cell, width) in cells {
                text.push(' ');
                text.push_str(&right(cell, *width));
            }
            vec![vec![piece(*role, format!(" {}", left(label, *width))), piece(Role::Text, text)]]
        }
        Entry::Line(pieces) => vec![pieces.iter().map(|(role, text)| piece(*role, text.clone())).collect()],
        Entry::Charts(_) => Vec::new(),
    }
}

/// The entries from the first that is shown on, no further than to the end; `charts` draws charts, which take what is left
/// below the last of the entries where they are that. `title` has room at its right for what part is shown.
pub(super) fn scrolled(
    entries: &[Entry],
    top: usize,
    pen: &mut Pen<'_>,
    area: Rect,
    title: Rect,
    charts: &mut dyn FnMut(&mut Pen<'_>, Rect),
) {
    let rows = |e: &Entry| match e {
        Entry::Charts(rows) => *rows,
        e => lines(e, area.width).len(),
    };
    let heights = |entries: &[Entry]| -> usize { entries.iter().map(rows).sum() };
    let height = usize::from(area.height);
    let furthest = (0..entries.len()).find(|&i| heights(&entries[i..]) <= height).unwrap_or(0);
    let top = top.min(furthest);
    let all = heights(entries);
    let mut y = area.y;
    for (i, entry) in entries.iter().enumerate().skip(top) {
        if let Entry::Charts(rows) = entry {
            let left = area.bottom().saturating_sub(y);
            let last = i + 1 == entries.len();
            let most = if last { left } else { u16::try_from(*rows).unwrap_or(u16::MAX).min(left) };
            if most >= LEAST_CHARTS {
                charts(pen, Rect { y, height: most, ..area });
            }
            y += most;
            continue;
        }
        for line in lines(entry, area.width) {
            if y < area.bottom() {
                pen.line(Rect { y, height: 1, ..area }, &line);
                y += 1;
            }
        }
    }
    if all > height {
        let above = heights(&entries[..top]);
        let shown = format!("  {} to {} of {all} lines ", above + 1, (above + height).min(all));
        pen.line_right(Rect { height: 1, ..title }, title.x + 30, &[piece(Role::Muted, shown)]);
    }
}
