//! Screen 1: the list as a tree.
//!
//! ```text
//!  NAME             SIZE SCHED       R    RA NRQ    r/s    w/s  MiB/s  await busy
//! >nvme0n1         1.73T none        0   128 1023  8421     12   33.0   0.11  34%
//!    nvme0n1p1     1.00G /boot                        0      0      0      -   0%
//! ```

use std::fmt::Write as _;

use ratatui::layout::Rect;

use crate::app::fleet::Entry;
use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::devices::{Row, rows, used_by_words};
use crate::config::theme::Role;
use crate::telemetry::rates::Rates;
use crate::units::{Bytes, events, mib_per_s, three_digits};

use super::device_panel;
use super::text::{Pen, Piece, cut, left, piece, right};

/// Columns for a width: what gives way first is what changes least.
struct Columns {
    full: bool,
    used_by: usize,
    model: usize,
}

const NAME: usize = 15;
const SCHED: usize = 11;
/// Scheduler, rotational, read-ahead and requests together: what a partition uses for its users.
const SPAN: usize = SCHED + 13;

impl Columns {
    fn of(width: u16) -> Self {
        let width = usize::from(width);
        let spare = width.saturating_sub(80);
        let wide = width >= usize::from(layout::WIDE);
        let used_by = if wide { (spare * 3 / 5).min(48) } else { 0 };
        let model = if wide { spare - used_by - 2 } else { 0 };
        Self { full: width >= 80, used_by, model }
    }
}

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (head, list, panel) = layout::devices(area.width, area.height);
    let columns = Columns::of(area.width);
    let rows = rows(&model.fleet, &model.devices);
    heads(pen, head, &columns);
    if rows.is_empty() {
        empty(model, pen, list);
        return;
    }
    let top = model.devices.top.min(rows.len() - 1);
    for (y, row) in (list.y..list.bottom()).zip(&rows[top..]) {
        let area = Rect { y, height: 1, ..list };
        let chosen = model.devices.chosen.as_ref().is_some_and(|c| row.is(c));
        one(pen, area, row, chosen, &columns, model);
    }
    device_panel::draw(model, pen, panel);
}

fn heads(pen: &mut Pen<'_>, area: Rect, columns: &Columns) {
    let mut text = format!(" {} {} {}", left("NAME", NAME), right("SIZE", 5), left("SCHED", SCHED));
    if columns.full {
        text.push_str(" R    RA  NRQ");
    }
    text.push_str("    r/s    w/s  MiB/s");
    if columns.full {
        text.push_str("  await");
    }
    text.push_str(" busy");
    if columns.used_by > 0 {
        let _ = write!(text, " {} MODEL", left("USED BY", columns.used_by));
    }
    pen.put(area.x, area.y, area.width, &text, Role::Heading);
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

fn one(pen: &mut Pen<'_>, area: Rect, row: &Row<'_>, chosen: bool, columns: &Columns, model: &Model) {
    let marker = piece(Role::Accent, if chosen { ">" } else { " " });
    match row {
        Row::Unused { count, noun } => {
            let word = if model.devices.unfolded { "[Enter] folds" } else { "[Enter]" };
            pen.line(area, &[marker, piece(Role::Muted, format!("{count} unused {noun}"))]);
            pen.line_right(Rect { width: area.width.min(80), ..area }, area.x, &[piece(Role::Muted, word)]);
        }
        Row::Device { entry, depth } => {
            let pieces = device(entry, *depth, columns, marker);
            pen.line(area, &pieces);
            if !entry.live() {
                pen.tint(Rect { x: area.x + 1, width: area.width - 1, ..area }, Role::Gone);
            }
        }
        Row::Partition { entry, partition, depth } => {
            let users = used_by_words(&partition.used_by);
            let name = indented(*depth, &partition.name.kernel());
            let mut pieces = vec![
                marker,
                piece(Role::Muted, left(&name, NAME)),
                piece(Role::Muted, format!(" {}", size(partition.size))),
            ];
            let span = if columns.full { SPAN } else { SCHED };
            pieces.push(piece(Role::Muted, format!(" {}", left(&users, span))));
            pieces.extend(figures(entry.shown_partition_rates(&partition.name), columns, Role::Muted));
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

fn size(b: Bytes) -> String {
    right(&b.short(), 5)
}

fn device<'a>(entry: &Entry, depth: usize, columns: &Columns, marker: Piece<'a>) -> Vec<Piece<'a>> {
    let d = &entry.device;
    let dash = || "-".to_owned();
    let staged = if entry.staged.is_empty() { "" } else { " *" };
    let held = if entry.held.is_some() { " held" } else { "" };
    let room = NAME - staged.len() - held.len();
    let name = format!("{}{staged}{held}", cut(&indented(depth, &d.name().kernel()), room));
    let role = match (held, staged) {
        ("", "") => Role::Text,
        ("", _) => Role::Staged,
        _ => Role::Warning,
    };
    let sched = d.queue.scheduler.as_ref().map_or_else(dash, |s| s.active.clone());
    let mut out = vec![
        marker,
        piece(role, left(&name, NAME)),
        piece(Role::Muted, format!(" {}", size(d.size))),
        piece(Role::Text, format!(" {}", left(&sched, SCHED))),
    ];
    if columns.full {
        let rotational = d.queue.rotational.map_or("-", |r| if r { "1" } else { "0" });
        let read_ahead = d.queue.read_ahead.map_or_else(dash, |k| k.0.to_string());
        let requests = d.queue.nr_requests.map_or_else(dash, |n| n.to_string());
        let text = format!(" {rotational} {} {}", right(&read_ahead, 5), right(&requests, 4));
        out.push(piece(Role::Text, text));
    }
    if entry.live() {
        out.extend(figures(entry.shown_rates(), columns, Role::Text));
    } else {
        out.push(piece(Role::Gone, "  gone"));
        return out;
    }
    if columns.used_by > 0 {
        let users = users(entry);
        out.push(piece(Role::Text, format!(" {}", left(&users, columns.used_by))));
        let model = d.model.as_deref().unwrap_or_default();
        out.push(piece(Role::Muted, format!(" {}", cut(model, columns.model))));
    }
    out
}

/// Who uses a device: its own users, and what it is built on where that is more than the tree shows.
fn users(entry: &Entry) -> String {
    let d = &entry.device;
    let mut text = d.dm_name.clone().unwrap_or_default();
    let used = used_by_words(&d.used_by);
    for part in [used, if d.built_on.len() > 1 { on(entry) } else { String::new() }] {
        if !part.is_empty() {
            if !text.is_empty() {
                text.push_str("  ");
            }
            text.push_str(&part);
        }
    }
    text
}

pub(super) fn on(entry: &Entry) -> String {
    let names: Vec<String> = entry.device.built_on.iter().map(ToString::to_string).collect();
    format!("on {}", names.join(" "))
}

/// The columns of rates. Fixed widths, so that a quiet device sends nothing.
fn figures(rates: Option<&Rates>, columns: &Columns, role: Role) -> Vec<Piece<'static>> {
    let r = rates.cloned().unwrap_or_default();
    let or_dash = |v: Option<f64>, f: fn(f64) -> String| v.map_or_else(|| "-".to_owned(), f);
    let mut text = format!(
        " {} {} {}",
        right(&or_dash(r.read_iops, events), 6),
        right(&or_dash(r.write_iops, events), 6),
        right(&or_dash(r.bytes_per_s(), mib_per_s), 6)
    );
    if columns.full {
        let _ = write!(text, " {}", right(&or_dash(r.await_ms(), three_digits), 6));
    }
    let _ = write!(text, " {}", right(&or_dash(r.busy_pct, |v| format!("{v:.0}%")), 4));
    vec![piece(role, text)]
}
