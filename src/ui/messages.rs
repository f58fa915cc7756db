//! Screen 7.

use ratatui::layout::Rect;

use crate::app::layout::split;
use crate::app::model::Model;
use crate::config::theme::Role;

use super::footer::level_role;
use super::text::{Pen, cut, left, piece};

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let (head, list) = split(area, 1);
    let m = &model.messages;
    let below = m.back.min(m.said.len());
    let more = if below > 0 { format!("  {below} newer below") } else { String::new() };
    pen.line(
        head,
        &[
            piece(Role::Heading, " TIME      WHAT     "),
            piece(Role::Muted, format!("{} messages{more}", m.said.len())),
        ],
    );
    if m.said.is_empty() {
        pen.put(list.x + 1, list.y + 1, list.width, "nothing was said yet", Role::Muted);
        return;
    }
    for (y, said) in (list.y..list.bottom()).zip(m.window(usize::from(list.height))) {
        let row = Rect { y, height: 1, ..list };
        let word = match said.level {
            crate::app::message::Level::Info => "",
            level => level.word(),
        };
        let text = cut(&said.text, usize::from(list.width).saturating_sub(20));
        pen.line(
            row,
            &[
                piece(Role::Muted, format!(" {}  ", left(&said.wall, 8))),
                piece(level_role(said.level), left(word, 9)),
                piece(Role::Text, text),
            ],
        );
    }
}
