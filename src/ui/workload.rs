//! Screen 3 before a run: presets, the form of their jobs, and what would happen.

use ratatui::layout::Rect;

use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::fields::{FIELDS, Row, promises, sentence};
use crate::app::screens::scrolled;
use crate::app::screens::workload::{can_step, others_io, target};
use crate::config::theme::Role;

use super::text::{Pen, cut, left, piece, wrap};

/// Columns of a preset's name: the longest is `readers-vs-writer`.
const NAME: usize = 17;
/// Columns of a field's name: the longest is `rate_process`.
const FIELD: usize = 13;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (presets, form, below) = layout::workload(area.width, area.height);
    draw_presets(model, pen, presets);
    draw_form(model, pen, form);
    draw_sentence(model, pen, below);
}

fn draw_presets(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let w = &model.workload;
    if w.presets.is_empty() {
        pen.put(area.x + 1, area.y, area.width, "there are no presets", Role::Muted);
        return;
    }
    // The rows below the list tell the chosen preset in full, where there is room for both.
    let width = usize::from(area.width).saturating_sub(3);
    let mut told: Vec<(Role, String)> = Vec::new();
    if let Some(p) = w.presets.get(w.preset) {
        let texts = [
            (Role::Text, p.question.clone()),
            (Role::Muted, format!("Not for {}.", p.not_for)),
            (Role::Text, format!("It {}.", p.nature())),
        ];
        for (role, text) in texts {
            told.extend(wrap(&text, width).into_iter().map(|l| (role, l)));
        }
    }
    let count = u16::try_from(w.presets.len()).unwrap_or(u16::MAX);
    let about =
        u16::try_from(told.len()).unwrap_or(u16::MAX).saturating_add(1).min(area.height.saturating_sub(5));
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1 + about).min(count), ..area };
    let height = usize::from(list.height);
    let top = scrolled(0, w.preset, w.presets.len(), height);
    let room = usize::from(area.width).saturating_sub(NAME + 5);
    for (y, (i, p)) in (list.y..list.bottom()).zip(w.presets.iter().enumerate().skip(top)) {
        let here = i == w.preset;
        let row = Rect { y, height: 1, width: area.width.saturating_sub(1), ..area };
        pen.line(
            row,
            &[
                piece(Role::Accent, if here { ">" } else { " " }),
                piece(Role::Text, left(&p.name, NAME)),
                piece(Role::Write, if p.jobs.iter().any(|j| j.rw.writes()) { " w" } else { "  " }),
                piece(Role::Muted, format!(" {}", cut(&p.question, room))),
            ],
        );
        if here && !w.in_fields {
            pen.tint(row, Role::Selected);
        }
    }
    let shown = format!("PRESETS {} TO {} OF {}", top + 1, top + height, w.presets.len());
    let heading = if height < w.presets.len() { shown.as_str() } else { "PRESET: WHAT DO YOU WANT TO KNOW?" };
    pen.put(area.x + 1, area.y, area.width, heading, Role::Heading);
    let from = (list.bottom() + 1).min(area.bottom());
    for (y, (role, line)) in (from..area.bottom()).zip(&told) {
        pen.put(area.x + 1, y, area.width.saturating_sub(2), line, *role);
    }
}

fn draw_form(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let w = &model.workload;
    if w.jobs.is_empty() {
        return;
    }
    pen.put(area.x + 1, area.y, area.width, "JOB", Role::Heading);
    let rows = w.rows();
    let height = usize::from(area.height.saturating_sub(1));
    let at = rows.iter().position(|r| *r == w.row).unwrap_or(rows.len() - 1);
    // Without the cursor in it the form is seen from its beginning.
    let top = scrolled(0, if w.in_fields { at } else { 0 }, rows.len(), height);
    if height < rows.len() {
        let shown = format!("{} to {} of {}", top + 1, top + height, rows.len());
        pen.line_right(Rect { height: 1, ..area }, area.x + 5, &[piece(Role::Muted, format!("{shown} "))]);
    }
    for (y, row) in (area.y + 1..area.bottom()).zip(&rows[top..]) {
        draw_row(model, pen, Rect { y, height: 1, ..area }, *row);
    }
}

fn draw_row(model: &Model, pen: &mut Pen<'_>, area: Rect, row: Row) {
    let w = &model.workload;
    let Some(job) = w.chosen() else { return };
    let here = w.in_fields && row == w.row;
    let marker = piece(Role::Accent, if here { ">" } else { " " });
    let (name, role, shown) = match row {
        Row::Start if w.contradiction().is_some() => ("", Role::Disabled, "[ start ]".to_owned()),
        Row::Start => ("", Role::Key, "[ start ]".to_owned()),
        Row::Target => {
            let place = target(model).1;
            ("target", Role::Text, if place.scratch { "scratch file".to_owned() } else { place.name })
        }
        Row::Job => {
            let names: Vec<String> = w
                .jobs
                .iter()
                .enumerate()
                .map(|(i, j)| if i == w.job { format!("[{}]", j.name) } else { j.name.clone() })
                .collect();
            ("job", Role::Text, names.join(" / "))
        }
        Row::More if w.unfolded => ("more", Role::Key, "shown below".to_owned()),
        Row::More => {
            let changed = FIELDS
                .iter()
                .filter(|f| !f.common && w.as_preset().is_some_and(|p| f.value(p) != f.value(job)))
                .count();
            let all = FIELDS.iter().filter(|f| !f.common).count();
            let role = if changed > 0 { Role::Changed } else { Role::Key };
            let changed = if changed > 0 { format!(", {changed} changed") } else { String::new() };
            ("more", role, format!("{all} fields{changed}"))
        }
        Row::Field(key) => {
            let Some(field) = row.field() else { return };
            let value = field.value_in_use(job);
            let changed = w.as_preset().is_some_and(|p| field.value_in_use(p) != value);
            let role = match w.greyed(field) {
                Some(_) => Role::Disabled,
                None if changed => Role::Changed,
                None => Role::Text,
            };
            (key, role, value)
        }
    };
    if row == Row::Start {
        pen.line(area, &[marker, piece(role, shown)]);
    } else {
        let name_role = if role == Role::Disabled { Role::Disabled } else { Role::Muted };
        let room = usize::from(area.width).saturating_sub(FIELD + 1);
        pen.line(area, &[marker, piece(name_role, left(name, FIELD)), piece(role, cut(&shown, room))]);
    }
    if here {
        pen.tint(Rect { width: area.width.min(34), ..area }, Role::Selected);
    }
}

fn draw_sentence(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    pen.rule(Rect { height: area.height.min(1), ..area }, &[]);
    let w = &model.workload;
    if w.jobs.is_empty() {
        return;
    }
    let width = usize::from(area.width).saturating_sub(2);
    let mut lines: Vec<(Role, String)> = Vec::new();
    let mut say = |role: Role, text: &str| lines.extend(wrap(text, width).into_iter().map(|l| (role, l)));
    if let Some(why) = w.contradiction() {
        say(Role::Danger, &format!("This can not be run: {why}."));
    }
    say(Role::Text, &format!("{}.", sentence(&w.jobs, &target(model).1)));
    for promise in promises(&w.jobs) {
        say(Role::Muted, &promise);
    }
    let room = usize::from(area.height.saturating_sub(2));
    if lines.len() > room
        && let Some((_, last)) = lines[..room].last_mut()
    {
        let tail = " … i: all of it";
        *last = format!("{}{tail}", cut(last, width.saturating_sub(tail.chars().count())));
    }
    for (y, (role, line)) in (area.y + 1..area.bottom().saturating_sub(1)).zip(&lines) {
        pen.put(area.x + 1, y, area.width, line, *role);
    }
    let last = area.bottom().saturating_sub(1);
    let (role, hint) = hint(model);
    pen.put(area.x + 1, last, area.width, &cut(&hint, width), role);
}

/// The line below: what the row under the cursor is about, or why it can not be changed; other people's I/O before all.
fn hint(model: &Model) -> (Role, String) {
    let w = &model.workload;
    if let Some(busy) = others_io(model) {
        return (Role::Warning, busy);
    }
    let muted = |text: &str| (Role::Muted, text.to_owned());
    if !w.in_fields {
        return muted("Enter goes to the fields of the job; Enter on [ start ] starts it");
    }
    match (w.row, can_step(model)) {
        (Row::Field(key), Err(why)) => (Role::Warning, format!("{key}: {why}")),
        (Row::Target, Err(why)) => (Role::Warning, format!("target: {why}")),
        (Row::Target, Ok(())) => muted("target: the device chosen on screen 1, or a file made for the run"),
        (Row::Job, _) => muted("job: whose fields are shown; they run at the same time"),
        (Row::More, _) => muted("more: engine, rates, flushes, priorities and what else there is"),
        (Row::Start, _) => muted("Start: starts the run; a device is only ever read from here"),
        (Row::Field(key), Ok(())) => {
            (Role::Muted, format!("{key}: {}", w.row.field().map_or("", |f| f.about)))
        }
    }
}
