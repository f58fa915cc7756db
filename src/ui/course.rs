//! Screen 4 while an experiment goes on, and after it.

use ratatui::layout::Rect;

use crate::app::layout;
use crate::app::model::Model;
use crate::app::screens::experiment::course::Course;
use crate::app::screens::experiment::report::entries;
use crate::config::theme::Role;

use super::entries::scrolled;
use super::text::{Pen, piece};

pub(super) fn draw(course: &Course, model: &Model, pen: &mut Pen<'_>) {
    let (head, rest) = layout::experiment(model.width, model.height, course.going());
    let device = &course.design().device;
    pen.line(
        head,
        &[piece(Role::Title, format!(" {device}")), piece(Role::Text, format!("  {}", course.cells()))],
    );
    let entries = entries(course, model.width, model.ascii);
    scrolled(&entries, course.top, pen, rest, Rect { height: 1, ..head }, &mut |_, _| {});
}
