//! Screen 1: the list as a tree. Its columns are those of the table in `app::columns`.
//!
//! ```text
//!  NAME             SIZE SCHED       R    RA  NRQ   r/s   w/s  MiB/s  await  busy>
//! >nvme0n1         1.73T none        0   128 1023  8421    12   33.0   0.11   34%
//!    nvme0n1p1     1.00G /boot                        0     0      0      -    0%
//! ```

use ratatui::layout::Rect;

use crate::app::columns::window::{self, Placed, Window};
use crate::app::columns::{self, Cell, ColumnId, Subject};
use crate::app::fleet::Entry;
use crate::app::layout;
use crate::app::model::Model;
use crate::app::order::Order;
use crate::app::screens::devices::{Row, rows};
use crate::config::theme::Role;

use super::device_panel;
use super::text::{Pen, Piece, cut, left, piece, right};

/// Least cells in which the users of a partition say something.
const USERS: usize = 6;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (head, list, panel) = layout::devices(area.width, area.height);
    let order = model.fleet.order();
    let columns = model.devices.columns(area.width);
    let window = window::window(columns, model.devices.scrolled, usize::from(area.width), order.followed());
    let rows = rows(&model.fleet, &model.devices);
    heads(pen, head, &window, order);
    if rows.is_empty() {
        empty(model, pen, list);
        return;
    }
    let top = model.devices.top.min(rows.len() - 1);
    for (y, row) in (list.y..list.bottom()).zip(&rows[top..]) {
        let area = Rect { y, height: 1, ..list };
        let chosen = model.devices.chosen.as_ref().is_some_and(|c| row.is(c));
        one(pen, area, row, chosen, &window, model);
    }
    device_panel::draw(model, pen, panel);
}

/// The headings, with a mark on the one that rows follow, and at the edges where there is more.
fn heads(pen: &mut Pen<'_>, area: Rect, window: &Window, order: Order) {
    let head = |id: ColumnId| {
        let mark = if order.reversed { "v" } else { "^" };
        let mark = if order.followed() == Some(id) { mark } else { "" };
        format!("{}{mark}", id.column().head)
    };
    let mut text = format!(" {}", left(&head(ColumnId::Name), ColumnId::Name.column().width));
    for p in &window.placed {
        text.push(' ');
        text.push_str(&aligned(*p, &head(p.column.id)));
    }
    pen.put(area.x, area.y, area.width, &text, Role::Heading);
    let edge = u16::try_from(window::fixed()).unwrap_or(u16::MAX);
    let marks = [
        (window.more_left, area.x.saturating_add(edge), "<"),
        (window.more_right, area.right().saturating_sub(1), ">"),
    ];
    for (_, x, mark) in marks.iter().filter(|(more, ..)| *more) {
        pen.put(*x, area.y, 1, mark, Role::Accent);
    }
}

fn aligned(p: Placed, text: &str) -> String {
    if p.column.numeric() { right(text, p.width) } else { left(text, p.width) }
}

fn empty(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let text = if !model.fleet.known() {
        "looking for devices".to_owned()
    } else if model.fleet.entries().is_empty() {
        "no block devices here".to_owned()
    } else {
        format!("{} hidden, Esc clears", model.fleet.entries().len())
    };
    pen.put(area.x + 2, area.y + area.height.min(2) / 2, area.width.saturating_sub(2), &text, Role::Muted);
}

fn one(pen: &mut Pen<'_>, area: Rect, row: &Row<'_>, chosen: bool, window: &Window, model: &Model) {
    let marker = piece(Role::Accent, if chosen { ">" } else { " " });
    match row {
        Row::Unused { count, noun } => {
            let word = if model.devices.folds.unused { "[Enter] folds" } else { "[Enter]" };
            pen.line(area, &[marker, piece(Role::Muted, format!("{count} unused {noun}"))]);
            pen.line_right(Rect { width: area.width.min(80), ..area }, area.x, &[piece(Role::Muted, word)]);
        }
        Row::Device { entry, depth } => {
            let mut pieces = vec![marker, name(entry, *depth)];
            pieces.extend(window.placed.iter().map(|p| cell(*p, Subject::Device(entry), Role::Text)));
            pen.line(area, &pieces);
            if !entry.live() {
                pen.tint(Rect { x: area.x + 1, width: area.width - 1, ..area }, Role::Gone);
            }
        }
        Row::Partition { entry, partition, depth } => {
            let name = indented(*depth, &partition.name.kernel());
            let mut pieces = vec![marker, piece(Role::Muted, left(&name, ColumnId::Name.column().width))];
            pieces.extend(partition_cells(&window.placed, Subject::Partition(entry, partition)));
            pen.line(area, &pieces);
        }
    }
    if chosen {
        pen.tint(area, Role::Selected);
    }
}

fn indented(depth: usize, name: &str) -> String {
    format!("{}{name}", " ".repeat(2 * depth.min(4)))
}

/// A device's name and what is up with it.
fn name(entry: &Entry, depth: usize) -> Piece<'static> {
    let width = ColumnId::Name.column().width;
    let staged = if entry.staged.is_empty() { "" } else { " *" };
    let held = if entry.held.is_some() { " held" } else { "" };
    let gone = if entry.live() { "" } else { " gone" };
    let room = width - staged.len() - held.len() - gone.len();
    let name = format!("{}{staged}{held}{gone}", cut(&indented(depth, &entry.device.name().kernel()), room));
    let role = match (held, staged) {
        ("", "") => Role::Text,
        ("", _) => Role::Staged,
        _ => Role::Warning,
    };
    piece(role, left(&name, width))
}

/// A cell with the blank before it. Widths are fixed, so that a quiet device sends nothing.
fn cell(p: Placed, of: Subject<'_>, role: Role) -> Piece<'static> {
    let muted = matches!(p.column.id, ColumnId::Size | ColumnId::Model);
    let text = p.column.shown(p.column.value(of));
    piece(if muted { Role::Muted } else { role }, format!(" {}", aligned(p, &text)))
}

/// A partition has no queue: where its device shows that, it shows who uses it. Once, in the first place that is wide
/// enough; else in the column of the users.
fn partition_cells(placed: &[Placed], of: Subject<'_>) -> Vec<Piece<'static>> {
    let users = match ColumnId::UsedBy.column().value(of) {
        Cell::Text(users) => users,
        _ => "".into(),
    };
    let mut out = Vec::new();
    let mut said = false;
    let mut i = 0;
    while let Some(p) = placed.get(i) {
        let run = placed[i..].iter().take_while(|p| p.column.of_queue()).count();
        if run > 0 {
            let width = placed[i..i + run].iter().map(|p| 1 + p.width).sum::<usize>() - 1;
            let here = !said && width >= USERS;
            said |= here;
            out.push(piece(Role::Muted, format!(" {}", left(if here { &users } else { "" }, width))));
            i += run;
            continue;
        }
        if p.column.of_users() && said {
            out.push(piece(Role::Muted, " ".repeat(1 + p.width)));
        } else {
            out.push(cell(*p, of, Role::Muted));
        }
        i += 1;
    }
    out
}

/// What a device is built on.
pub(super) fn on(entry: &Entry) -> String {
    columns::on(&entry.device)
}
