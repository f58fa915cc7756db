//! Screen 3 before a run: presets, fields, and what would happen.

use ratatui::layout::Rect;

use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::fields::{FIELDS, Field, sentence, value};
use crate::app::screens::scrolled;
use crate::app::screens::workload::{others_io, target};
use crate::config::theme::Role;

use super::text::{Pen, cut, left, piece, wrap};

/// Columns of a preset's name: the longest is `readers-vs-writer`.
const NAME: usize = 17;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (presets, form, below) = layout::workload(area.width, area.height);
    draw_presets(model, pen, presets);
    draw_form(model, pen, form);
    draw_sentence(model, pen, below);
}

fn draw_presets(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let w = &model.workload;
    pen.put(area.x + 1, area.y, area.width, "PRESET: WHAT DO YOU WANT TO KNOW?", Role::Heading);
    if w.presets.is_empty() {
        pen.put(area.x + 1, area.y + 2, area.width, "there are no presets", Role::Muted);
        return;
    }
    // The rows below the list tell the chosen preset in full.
    let about = 5u16.min(area.height / 3);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + about), ..area };
    let height = usize::from(list.height);
    let top = scrolled(0, w.preset, w.presets.len(), height);
    let room = usize::from(area.width).saturating_sub(NAME + 3);
    for (y, (i, p)) in (list.y..list.bottom()).zip(w.presets.iter().enumerate().skip(top)) {
        let here = i == w.preset;
        let row = Rect { y, height: 1, width: area.width.saturating_sub(1), ..area };
        pen.line(
            row,
            &[
                piece(Role::Accent, if here { ">" } else { " " }),
                piece(Role::Text, left(&p.name, NAME)),
                piece(Role::Muted, format!(" {}", cut(&p.question, room))),
            ],
        );
        if here && !w.in_fields {
            pen.tint(row, Role::Selected);
        }
    }
    let shown = u16::try_from(w.presets.len().min(height)).unwrap_or(list.height);
    let from = (list.y + shown + 1).min(area.bottom());
    let width = usize::from(area.width).saturating_sub(3);
    if let Some(p) = w.presets.get(w.preset) {
        let mut lines: Vec<(Role, String)> =
            wrap(&p.question, width).into_iter().map(|l| (Role::Text, l)).collect();
        lines.extend(wrap(&format!("Not for {}", p.not_for), width).into_iter().map(|l| (Role::Muted, l)));
        for (y, (role, line)) in (from..area.bottom()).zip(&lines) {
            pen.put(area.x + 1, y, area.width.saturating_sub(2), line, *role);
        }
    }
}

fn draw_form(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let Some(job) = &model.workload.job else { return };
    let target = target(model).1;
    pen.put(area.x + 1, area.y, area.width, "JOB", Role::Heading);
    // One row apart before Start, if there is room.
    let apart = area.height > u16::try_from(FIELDS.len()).unwrap_or(u16::MAX) + 1;
    let mut y = area.y + 1;
    for (i, field) in FIELDS.iter().enumerate() {
        if *field == Field::Start && apart {
            y += 1;
        }
        if y >= area.bottom() {
            break;
        }
        let here = model.workload.in_fields && i == model.workload.field;
        let row = Rect { y, height: 1, ..area };
        let marker = piece(Role::Accent, if here { ">" } else { " " });
        let shown = value(job, *field, &target);
        if *field == Field::Start {
            pen.line(row, &[marker, piece(Role::Key, shown)]);
        } else {
            let preset = model.workload.presets.get(model.workload.preset);
            let changed = preset.is_some_and(|p| value(&p.job, *field, &target) != shown);
            let role = if changed { Role::Changed } else { Role::Text };
            pen.line(row, &[marker, piece(Role::Muted, left(field.name(), 9)), piece(role, shown)]);
        }
        if here {
            pen.tint(Rect { width: row.width.min(30), ..row }, Role::Selected);
        }
        y += 1;
    }
}

fn draw_sentence(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    pen.rule(Rect { height: area.height.min(1), ..area }, &[]);
    let Some(job) = &model.workload.job else { return };
    let w = &model.workload;
    let width = usize::from(area.width).saturating_sub(2);
    let text = sentence(job, &target(model).1);
    let lines = wrap(&format!("{text}."), width);
    for (y, line) in (area.y + 1..area.bottom().saturating_sub(1)).zip(&lines) {
        pen.put(area.x + 1, y, area.width, line, Role::Text);
    }
    let last = area.bottom().saturating_sub(1);
    let (role, hint) = match (others_io(model), FIELDS.get(w.field)) {
        (Some(busy), _) => (Role::Warning, busy),
        (None, Some(field)) if w.in_fields => (Role::Muted, format!("{}: {}", field.name(), field.about())),
        _ => (Role::Muted, "Enter goes to the fields of the job; Enter on [ start ] starts it".to_owned()),
    };
    pen.put(area.x + 1, last, area.width, &cut(&hint, width), role);
}
