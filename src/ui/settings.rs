//! Screen 2: the settings of a queue.

use ratatui::layout::Rect;

use crate::app::fleet::{ChangedBy, Entry};
use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::settings::{self, Line, changed_words, group_title};
use crate::config::theme::Role;
use crate::tuning::catalogue::SettingRow;

use super::text::{Pen, Piece, cut, left, piece, wrap};

/// The longest is read-ahead with its sectors, `16384 KiB (32768 sectors)`.
const VALUE: usize = 25;
/// An arrow and the longest scheduler.
const STAGED: usize = 13;
/// From here on who changed what has a column of its own.
const ROOMY: u16 = 100;

/// Columns of a name: the longest is `atomic_write_boundary_bytes`, which is cut where there is no room for it.
const fn name_width(width: u16) -> usize {
    match width {
        0..120 => 22,
        120..140 => 24,
        _ => 28,
    }
}

/// Where the column of legal values begins.
const fn legal_start(width: u16) -> usize {
    2 + name_width(width) + 1 + VALUE + 1 + STAGED + 1
}

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (head, list, about) = layout::settings(area.width, area.height);
    let Some(entry) = settings::entry(model) else { return };
    title(model, pen, head, entry);
    heads(pen, Rect { y: head.y + 1, height: 1, ..head });
    let lines = settings::lines(model);
    if lines.is_empty() {
        let text =
            if entry.queue.is_some() { "this device has no queue of its own" } else { "reading the queue" };
        pen.put(list.x + 2, list.y + 1, list.width, text, Role::Muted);
    }
    let top = model.settings.top.min(lines.len());
    for (y, line) in (list.y..list.bottom()).zip(&lines[top..]) {
        let row = Rect { y, height: 1, ..list };
        match line {
            Line::Heading(group) => {
                pen.put(row.x + 1, row.y, row.width, group_title(*group), Role::Heading);
            }
            Line::Setting(setting) => {
                let here = model.settings.setting.as_deref() == Some(&setting.name);
                one(pen, row, setting, entry, here);
            }
        }
    }
    more(pen, list, top, lines.len());
    explain(model, pen, about);
}

fn title(model: &Model, pen: &mut Pen<'_>, area: Rect, entry: &Entry) {
    let d = &entry.device;
    let mut pieces = vec![piece(Role::Title, format!(" {}", d.name().kernel()))];
    if let Some(p) = &model.settings.partition {
        pieces.push(piece(Role::Warning, format!("  {p} is a partition; these belong to its whole device")));
    } else {
        let facts = [d.dm_name.clone(), d.model.clone(), d.known_size().map(|s| s.to_string())];
        for fact in facts.into_iter().flatten().filter(|f| !f.is_empty()) {
            pieces.push(piece(Role::Muted, format!("  {fact}")));
        }
    }
    if !entry.live() {
        pieces.push(piece(Role::Danger, "  gone"));
    }
    let end = pen.line(area, &pieces);
    let staged = entry.staged.len();
    if staged > 0 {
        pen.line_right(area, end + 1, &[piece(Role::Staged, format!("{staged} staged, c reviews "))]);
    } else if let Some(why) = model.read_only() {
        let room = usize::from(area.right().saturating_sub(end + 3));
        let text = cut(&format!("read only: {why}"), room);
        pen.line_right(area, end + 1, &[piece(Role::Warning, format!("{text} "))]);
    }
}

fn heads(pen: &mut Pen<'_>, area: Rect) {
    let mut text = format!(
        "  {} {} {} LEGAL",
        left("SETTING", name_width(area.width)),
        left("VALUE", VALUE),
        left("STAGED", STAGED)
    );
    if area.width >= ROOMY {
        text = format!("{} SINCE START", left(&text, legal_end(area.width)));
    }
    pen.put(area.x, area.y, area.width, &text, Role::Heading);
}

/// Where the column of legal values ends: all is theirs, unless another column follows.
fn legal_end(width: u16) -> usize {
    match width {
        0..ROOMY => usize::from(width),
        ROOMY..120 => legal_start(width) + 14,
        // All four schedulers.
        _ => legal_start(width) + 26,
    }
}

fn one(pen: &mut Pen<'_>, area: Rect, row: &SettingRow, entry: &Entry, here: bool) {
    let changed = entry.changed(&row.name);
    let mark = match &changed {
        None => " ",
        Some((ChangedBy::Us, _)) => "*",
        Some((ChangedBy::Held, _)) => "h",
        Some((ChangedBy::SideEffect, _)) => "~",
        Some((ChangedBy::Experiment, _)) => "e",
        Some((ChangedBy::Other, _)) => "!",
    };
    let value = row.value.as_deref().map_or_else(|| "-".to_owned(), |v| settings::with_unit(row, v));
    let arrow = if pen.ascii { "->" } else { "→" };
    let staged = entry.staged.get(&row.name).map(|v| format!("{arrow} {v}")).unwrap_or_default();
    let plain = if row.writable { Role::Text } else { Role::Muted };
    let legal = legal_end(area.width).saturating_sub(legal_start(area.width));
    let mut pieces: Vec<Piece<'_>> = vec![
        piece(Role::Accent, if here { ">" } else { " " }),
        piece(Role::Changed, mark),
        piece(plain, left(&row.name, name_width(area.width))),
        piece(if changed.is_some() { Role::Changed } else { plain }, format!(" {}", left(&value, VALUE))),
        piece(Role::Staged, format!(" {}", left(&staged, STAGED))),
        piece(Role::Muted, format!(" {}", left(&row.legal_text, legal))),
    ];
    if area.width >= ROOMY
        && let Some((by, was)) = &changed
    {
        let whose = match by {
            ChangedBy::Us => "here",
            ChangedBy::Held => "held",
            ChangedBy::SideEffect => "side effect",
            ChangedBy::Experiment => "experiment",
            ChangedBy::Other => "outside",
        };
        let room = usize::from(area.width).saturating_sub(legal_end(area.width) + 1);
        pieces.push(piece(Role::Changed, format!(" {}", cut(&format!("was {was}, {whose}"), room))));
    }
    pen.line(area, &pieces);
    if here {
        pen.tint(area, Role::Selected);
    }
}

/// Says in the last column that there is more above or below.
fn more(pen: &mut Pen<'_>, list: Rect, top: usize, count: usize) {
    let x = list.right().saturating_sub(1);
    if top > 0 {
        pen.put(x, list.y, 1, "^", Role::Muted);
    }
    if top + usize::from(list.height) < count && list.height > 0 {
        pen.put(x, list.bottom() - 1, 1, "v", Role::Muted);
    }
}

fn explain(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    pen.rule(Rect { height: area.height.min(1), ..area }, &[]);
    let Some(row) = settings::current(model) else { return };
    let width = usize::from(area.width).saturating_sub(2);
    let lines = wrap(&format!("{}: {}", row.name, row.explanation), width);
    let last = area.bottom().saturating_sub(1);
    for (y, line) in (area.y + 1..last).zip(&lines) {
        pen.put(area.x + 1, y, area.width, line, Role::Text);
    }
    let changed = settings::entry(model).and_then(|e| e.changed(&row.name));
    let second = match (changed, &row.why_not) {
        (Some((by, was)), _) => {
            let was = settings::with_unit(&row, &was);
            piece(Role::Changed, cut(&format!(" was {was} at the start; {}", changed_words(by)), width))
        }
        (None, Some(why)) => piece(Role::Muted, cut(&format!(" {why}"), width)),
        (None, None) => piece(Role::Muted, cut(&format!(" legal: {}", row.legal_text), width)),
    };
    pen.line(Rect { y: last, height: 1, ..area }, &[second]);
}
