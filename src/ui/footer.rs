//! The last two lines: what was said last, and the keys, both from the table of actions and the model.

use ratatui::layout::Rect;

use crate::app::actions::{self, ActionId};
use crate::app::fleet::Entry;
use crate::app::message::Level;
use crate::app::model::{Model, Screen};
use crate::config::theme::Role;

use super::text::{Pen, Piece, cut, piece};

/// What is being waited for, else what was said last.
pub(super) fn status(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let waiting = model.fleet.entries().iter().find_map(|e| waiting(e, model));
    let (role, text) = match (waiting, &model.status) {
        (Some(text), _) => (Role::Accent, text),
        (None, Some(s)) => (level_role(s.level), s.text.clone()),
        (None, None) => return,
    };
    pen.put(area.x + 1, area.y, area.width.saturating_sub(1), &cut(&text, usize::from(area.width) - 1), role);
}

fn waiting(entry: &Entry, model: &Model) -> Option<String> {
    let work = entry.work.as_ref()?;
    let name = entry.device.name();
    let seconds = model.now.since(work.since).0 / 1_000_000_000;
    Some(match (seconds, work.undo) {
        (0, false) => format!("{name}: writing the changes"),
        (0, true) => format!("{name}: putting back"),
        (s, _) => format!("{name}: waiting for the queue to drain, {s} s"),
    })
}

pub(super) const fn level_role(level: Level) -> Role {
    match level {
        Level::Info => Role::Muted,
        Level::Warning => Role::Warning,
        Level::Error => Role::Danger,
    }
}

const fn screen_of(id: ActionId) -> Option<Screen> {
    match id {
        ActionId::GoDevices => Some(Screen::Devices),
        ActionId::GoSettings => Some(Screen::Settings),
        ActionId::GoWorkload => Some(Screen::Workload),
        ActionId::GoMessages => Some(Screen::Messages),
        _ => None,
    }
}

/// The keys of the place: the screens first, then what can be done here, as far as they fit.
pub(super) fn keys(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let place = actions::place(model);
    let named: Vec<_> = actions::at(place).filter(|a| !a.short.is_empty()).collect();
    let (screens, rest): (Vec<_>, Vec<_>) = named.into_iter().partition(|a| screen_of(a.id).is_some());
    // Help and quit last, but they must fit: the others give way to them.
    let (last, here): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|a| matches!(a.id, ActionId::Help | ActionId::Quit));
    let show = |a: &&actions::Action| -> Vec<Piece<'static>> {
        let able = actions::available(a.id, model).is_ok();
        let here = screen_of(a.id) == Some(model.screen);
        let word = if here {
            Role::Accent
        } else if able {
            Role::Text
        } else {
            Role::Disabled
        };
        let key = if able { Role::Key } else { Role::Disabled };
        let first = a.keys.first().map(ToString::to_string).unwrap_or_default();
        vec![piece(key, first), piece(word, format!(" {}  ", a.short))]
    };
    let width = |p: &[Piece<'_>]| p.iter().map(|(_, t)| t.chars().count()).sum::<usize>();
    let ending: Vec<Piece<'_>> = last.iter().flat_map(show).collect();
    let mut room = usize::from(area.width).saturating_sub(1 + width(&ending));
    let mut line: Vec<Piece<'_>> = vec![piece(Role::Text, " ")];
    for (i, action) in screens.iter().chain(&here).enumerate() {
        let shown = show(action);
        let gap = usize::from(i == screens.len() && !screens.is_empty()) * 2;
        if width(&shown) + gap <= room {
            room -= width(&shown) + gap;
            line.push(piece(Role::Text, " ".repeat(gap)));
            line.extend(shown);
        }
    }
    line.extend(ending);
    pen.line(area, &line);
}
