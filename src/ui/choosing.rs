//! The dialogs that choose the columns of the list and its order.

use ratatui::layout::Rect;

use crate::app::columns::{Column, ColumnId};
use crate::app::dialogs::columns::ColumnsDialog;
use crate::app::dialogs::order::OrderDialog;
use crate::app::model::Model;
use crate::config::theme::Role;

use super::dialogs::{Line, NARROW, framed_within};
use super::text::{Pen, left, piece, wrap};

/// Lines of a list that are shown at least, and of the screen at most a part, so that the list behind stays in sight.
const LEAST: u16 = 10;
/// Lines for the explanation of a column; the longest has as many.
const ABOUT: usize = 2;

pub(super) fn columns(dialog: &ColumnsDialog, pen: &mut Pen<'_>, area: Rect) {
    let line = |(i, (id, shown)): (usize, &(ColumnId, bool))| {
        let mark = if *shown { "[x]" } else { "[ ]" };
        entry(id.column(), i == dialog.at, &format!("{mark} "), "")
    };
    let lines: Vec<Line> = dialog.list.iter().enumerate().map(line).collect();
    let about = dialog.list.get(dialog.at).map(|(id, _)| id.column().about);
    let title = if dialog.default { "Columns: the default ones" } else { "Columns" };
    list(pen, area, title, &lines, dialog.at, about);
}

pub(super) fn order(dialog: &OrderDialog, model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let now = model.fleet.order();
    let line = |(i, id): (usize, &ColumnId)| {
        let words = match (*id == now.column, now.reversed) {
            (false, _) => "",
            (true, false) if now.follow => "now, followed",
            (true, true) if now.follow => "now, reversed, followed",
            (true, false) => "now",
            (true, true) => "now, reversed",
        };
        entry(id.column(), i == dialog.at, "", words)
    };
    let lines: Vec<Line> = dialog.list.iter().enumerate().map(line).collect();
    let marked = dialog.list.get(dialog.at).map(|id| id.column());
    let way = match (marked.is_some_and(Column::numeric), dialog.reversed) {
        (true, false) => "greatest first",
        (true, true) => "least first",
        (false, false) => "A to Z",
        (false, true) => "Z to A",
    };
    list(pen, area, &format!("Sort by, {way}"), &lines, dialog.at, marked.map(|c| c.about));
}

/// A column in a list: a mark, its heading, and words beside it.
fn entry(column: &Column, chosen: bool, mark: &str, words: &str) -> Line {
    let (role, arrow) = if chosen { (Role::Selected, "> ") } else { (Role::Text, "  ") };
    let words = if words.is_empty() { column.measure.unit() } else { words };
    vec![
        piece(role, format!("{arrow}{mark}{}", left(column.head, 10))),
        piece(Role::Muted, format!("  {words}")),
    ]
}

/// A list scrolled to its marked line, and what that line means below it.
fn list(pen: &mut Pen<'_>, area: Rect, title: &str, lines: &[Line], at: usize, about: Option<&str>) {
    let width = usize::from(NARROW.min(area.width)).saturating_sub(4);
    let mut foot: Vec<Line> = vec![Vec::new()];
    foot.extend(wrap(about.unwrap_or_default(), width).into_iter().map(|l| vec![piece(Role::Muted, l)]));
    foot.resize(1 + ABOUT, Vec::new());
    let around = u16::try_from(foot.len() + 2).unwrap_or(u16::MAX);
    let highest = (LEAST + around).max(area.height / 2).min(area.height.saturating_sub(1));
    let shown = lines.len().min(usize::from(highest.saturating_sub(around)));
    framed_within(pen, area, (NARROW, highest), title, lines, &foot, at.saturating_sub(shown / 2));
}
