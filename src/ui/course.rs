//! Screen 4 while an experiment goes on, and after it.

use ratatui::layout::Rect;

use crate::app::layout::{self, split};
use crate::app::model::Model;
use crate::app::screens::experiment::course::{Course, Far};
use crate::app::screens::experiment::report::{Paper, entries};
use crate::app::screens::experiment::status;
use crate::config::theme::Role;
use crate::experiment::sentence;

use super::entries::scrolled;
use super::text::{Pen, cut, piece};
use super::trials;

pub(super) fn draw(course: &Course, model: &Model, pen: &mut Pen<'_>) {
    let (head, rest) = layout::experiment(model.width, model.height, course.going());
    let (title, below) = split(head, 2);
    let device = &course.design().device;
    let room = usize::from(title.width).saturating_sub(2);
    let end = pen.line(title, &[piece(Role::Title, format!(" {device}"))]);
    let question = format!("  {}", status::question(course));
    pen.put(end, title.y, title.right() - end.min(title.right()), &question, Role::Text);
    pen.put(
        title.x + 1,
        title.y + 1,
        title.width,
        &cut(&shown(pen, status::terms(course)), room),
        Role::Muted,
    );
    if course.going() {
        progress(course, pen, below, room);
    }
    let paper = Paper { width: model.width, height: model.height, ascii: model.ascii };
    // What part is shown stands beside the terms, which are known by then.
    let at = Rect { y: title.y + 1, height: 1, ..title };
    scrolled(&entries(course, paper), course.top, pen, rest, at, &mut |pen, area| {
        trials::draw(course, pen, area);
    });
}

/// A sentence in the characters that the terminal has.
fn shown(pen: &Pen<'_>, text: String) -> String {
    if pen.ascii { sentence::ascii(&text) } else { text }
}

/// The bar, what is done now, and the time that is left.
fn progress(course: &Course, pen: &mut Pen<'_>, area: Rect, room: usize) {
    bar(&course.far(), pen, area);
    let now = status::now(course, area.width);
    for (y, (role, text)) in
        (area.y + 1..area.bottom()).zip([(Role::Text, now), (Role::Muted, status::left(course))])
    {
        pen.put(area.x + 1, y, area.width, &cut(&shown(pen, text), room), role);
    }
}

/// The whole experiment up to its last look, with a mark at each look, where it may end.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares of a width
fn bar(far: &Far, pen: &mut Pen<'_>, area: Rect) {
    let width = area.width.saturating_sub(2);
    let column = |share: f64| (f64::from(width) * share.clamp(0.0, 1.0)) as u16;
    let (full, back, look) = if pen.ascii { ("#", ".", "|") } else { ("█", "░", "│") };
    let done = column(far.share);
    let x = area.x + 1;
    pen.put(x, area.y, done, &full.repeat(usize::from(done)), Role::Accent);
    pen.put(x + done, area.y, width - done, &back.repeat(usize::from(width - done)), Role::Border);
    for share in &far.looks {
        let at = column(*share).min(width.saturating_sub(1));
        // What is over is over.
        if at >= done {
            pen.put(x + at, area.y, 1, look, Role::Text);
        }
    }
}
