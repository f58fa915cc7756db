//! Screen 4 before an experiment: factors with their levels, the workload, and what follows from them.

use ratatui::layout::Rect;

use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::experiment::{self, Kind, Row};
use crate::app::screens::scrolled;
use crate::config::theme::Role;
use crate::experiment::design::{Blocks, Isolation};
use crate::experiment::estimate;
use crate::sys::name::KernelName;

use super::text::{Pen, Piece, cut, left, piece, wrap};

/// Columns of a row's name: the longest is `read_ahead_kb`.
const NAME: usize = 15;
/// Least rows of what follows from the form.
const BELOW: u16 = 6;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let name = experiment::entry(model).map_or_else(|| "no device".to_owned(), |e| e.device.name().kernel());
    let reads = model.experiment.reads.as_ref().map(KernelName::kernel).filter(|r| *r != name);
    let reads = reads.map(|r| format!(", READING {r}")).unwrap_or_default();
    let heading = format!("COMPARE TWO CELLS ON {name}{reads}");
    pen.put(area.x + 1, area.y, area.width, &heading, Role::Heading);
    let rows = experiment::rows(model);
    let count = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let (form, below) = layout::split(area, count.saturating_add(1).min(area.height.saturating_sub(BELOW)));
    let height = usize::from(form.height.saturating_sub(1));
    let at = model.experiment.row.min(rows.len().saturating_sub(1));
    let top = scrolled(0, at, rows.len(), height);
    if height < rows.len() {
        let shown = format!("{} to {} of {} ", top + 1, top + height, rows.len());
        pen.line_right(Rect { height: 1, ..area }, area.x + 40, &[piece(Role::Muted, shown)]);
    }
    for (y, (i, row)) in (form.y + 1..form.bottom()).zip(rows.iter().enumerate().skip(top)) {
        draw_row(model, pen, Rect { y, height: 1, ..form }, *row, i == at);
    }
    draw_below(model, pen, below);
}

fn draw_row(model: &Model, pen: &mut Pen<'_>, area: Rect, row: Row, here: bool) {
    let mut pieces = vec![piece(Role::Accent, if here { ">" } else { " " })];
    if let Row::Setting(name) = row {
        setting(model, name, here, area.width, &mut pieces);
    } else {
        let (name, value) = value(model, row);
        pieces.push(piece(Role::Muted, left(name, NAME)));
        pieces.push(piece(if here { Role::Selected } else { Role::Text }, value));
    }
    pen.line(area, &pieces);
}

fn setting(model: &Model, name: &'static str, here: bool, width: u16, pieces: &mut Vec<Piece<'_>>) {
    let why = experiment::offered(model).into_iter().find(|(n, _)| *n == name).and_then(|(_, why)| why);
    if let Some(why) = why {
        pieces.push(piece(Role::Disabled, format!("{}{why}", left(name, NAME))));
        return;
    }
    pieces.push(piece(Role::Muted, left(name, NAME)));
    let on = model.experiment.on.get(name);
    let levels = experiment::levels(model, name);
    let queue = experiment::entry(model).and_then(|e| e.queue.as_ref());
    let now = queue.and_then(|q| q.effective(name));
    let cursor = model.experiment.level.min(levels.len().saturating_sub(1));
    let shown: Vec<(Role, String)> = levels
        .iter()
        .enumerate()
        .map(|(i, level)| {
            let is_on = on.is_some_and(|on| on.contains(level));
            let role = match (here && i == cursor, is_on) {
                (true, _) => Role::Selected,
                (_, true) => Role::Changed,
                _ => Role::Text,
            };
            let word = if now.as_ref() == Some(level) { " now" } else { "" };
            (role, format!("[{}] {level}{word}", if is_on { "x" } else { " " }))
        })
        .collect();
    // The level under the cursor is always in sight.
    let room = usize::from(width).saturating_sub(NAME + 4);
    let wide = |from: usize| {
        shown.iter().take(cursor + 1).skip(from).map(|(_, t)| t.chars().count() + 2).sum::<usize>()
    };
    let first = if here { (0..=cursor).find(|from| wide(*from) <= room).unwrap_or(cursor) } else { 0 };
    if first > 0 {
        pieces.push(piece(Role::Muted, "< "));
    }
    for (role, text) in shown.into_iter().skip(first) {
        pieces.push(piece(role, text));
        pieces.push(piece(Role::Text, "  "));
    }
}

fn value(model: &Model, row: Row) -> (&'static str, String) {
    let e = &model.experiment;
    let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
    match row {
        Row::Setting(name) => (name, String::new()),
        Row::Preset => {
            let preset = model.workload.presets.get(e.preset);
            ("workload", preset.map_or_else(|| "none".to_owned(), |p| format!("{} ({})", p.name, p.nature())))
        }
        Row::Set if e.set.is_empty() => ("set", "nothing".to_owned()),
        Row::Set => ("set", e.set.clone()),
        Row::Target if !e.target.is_empty() => ("target", e.target.clone()),
        Row::Target => ("target", "the device itself, which is only read".to_owned()),
        Row::Metric => match (e.metric, experiment::designed(model, Kind::Levels)) {
            (Some(m), _) => ("metric", m.word().to_owned()),
            (None, Ok(d)) => ("metric", format!("{}, as fits the workload", d.design.metric.word())),
            (None, Err(_)) => ("metric", "as fits the workload".to_owned()),
        },
        Row::Margin => ("margin", format!("{}%", e.margin)),
        Row::Trial => ("trial", format!("{} s", e.trial)),
        Row::Blocks => match e.blocks {
            Blocks::Adaptive => ("blocks", "until a look decides".to_owned()),
            Blocks::Fixed(n) => ("blocks", format!("{n}, judged at the end")),
        },
        Row::LeadIns => ("lead-ins", yes(e.lead_ins)),
        Row::Isolation => (
            "side effects",
            match e.isolation {
                Isolation::Isolated => "none: every setting is brought to its value",
                Isolation::SideEffects => "as of an echo, upon what was found",
                Isolation::Sequence => "as of echoes, upon what the trial before left",
            }
            .to_owned(),
        ),
        Row::Control => ("control", yes(e.control)),
    }
}

fn draw_below(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    pen.rule(Rect { height: area.height.min(1), ..area }, &[]);
    let width = usize::from(area.width).saturating_sub(2);
    let mut lines: Vec<(Role, String)> = Vec::new();
    let mut say = |role: Role, text: &str| lines.extend(wrap(text, width).into_iter().map(|l| (role, l)));
    match experiment::designed(model, Kind::Levels) {
        Err(why) => say(Role::Muted, &format!("{why}.")),
        Ok(designed) => {
            let cells: Vec<&str> = designed.design.cells.iter().map(|c| c.name.as_str()).collect();
            let time = estimate::estimate(&designed.design).words();
            say(Role::Text, &format!("2 cells: {}; {time}. Enter: plan and start", cells.join(" against ")));
            for text in designed.refusal().iter().chain(&designed.merged) {
                say(Role::Warning, text);
            }
            for weak in experiment::weaknesses(model, &designed) {
                say(Role::Muted, &format!("weak: {}", weak.text));
            }
        }
    }
    let last = area.bottom().saturating_sub(1);
    let room = usize::from(last.saturating_sub(area.y + 1));
    if lines.len() > room
        && let Some((_, line)) = lines[..room].last_mut()
    {
        let tail = " (Enter: all of it)";
        *line = format!("{}{tail}", cut(line, width.saturating_sub(tail.chars().count())));
    }
    for (y, (role, line)) in (area.y + 1..last).zip(&lines) {
        pen.put(area.x + 1, y, area.width, &cut(line, width), *role);
    }
    if let Some(row) = experiment::row(model).filter(|_| last > area.y) {
        let about = format!("{}: {}", value(model, row).0, row.about());
        pen.put(area.x + 1, last, area.width, &cut(&about, width), Role::Muted);
    }
}
