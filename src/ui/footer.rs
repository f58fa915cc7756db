//! The last two lines: what was said last, and the keys, both from the table of actions and the model.

use ratatui::layout::Rect;

use crate::app::actions::{self, Action, ActionId, Place};
use crate::app::fleet::Entry;
use crate::app::message::Level;
use crate::app::model::{Model, Screen};
use crate::config::theme::Role;

use super::text::{Pen, Piece, cut, piece};

/// What is being typed or waited for, else what was said last.
pub(super) fn status(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let waiting = model.fleet.entries().iter().find_map(|e| waiting(e, model));
    let (filter, typing) = filter(model).unzip();
    let filtered = |urgent: bool| filter.clone().filter(|_| !urgent || typing == Some(true));
    let said = model.status.as_ref().map(|s| (level_role(s.level), s.text.clone()));
    let accent = |text: String| (Role::Accent, text);
    // What is being typed, then what is waited for, then what was said, then the filter in force.
    let first = filtered(true).or(waiting).map(accent);
    let Some((role, text)) = first.or(said).or_else(|| filtered(false).map(accent)) else { return };
    let width = area.width.saturating_sub(1);
    pen.put(area.x + 1, area.y, width, &cut(&text, usize::from(width)), role);
}

/// The filter of the list and whether it is being typed.
fn filter(model: &Model) -> Option<(String, bool)> {
    let (filter, typing) = (&model.devices.filter, model.devices.typing);
    if model.screen != Screen::Devices || (filter.is_empty() && !typing) {
        return None;
    }
    let end = if typing { "_" } else { "   Esc clears" };
    Some((format!("filter: {filter}{end}"), typing))
}

fn waiting(entry: &Entry, model: &Model) -> Option<String> {
    let work = entry.work.as_ref()?;
    let name = entry.device.name();
    let seconds = model.now.since(work.since).0 / 1_000_000_000;
    let in_flight = entry.rates.as_ref().and_then(|r| r.in_flight).filter(|n| *n > 0);
    let what = in_flight.map_or_else(|| "the queue to drain".to_owned(), |n| format!("{n} I/O"));
    Some(match (seconds, work.given_up, work.undo) {
        (_, true, _) => format!("{name}: given up; put back when the kernel lets go of it, {seconds} s"),
        (0, _, false) => format!("{name}: writing the changes"),
        (0, _, true) => format!("{name}: putting back"),
        _ => format!("{name}: waiting for {what}, {seconds} s"),
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
    // Help and quit come last, and the others give way to them.
    let ends = |id| matches!(id, ActionId::Help | ActionId::Quit);
    let (last, here): (Vec<_>, Vec<_>) = rest.into_iter().partition(|a| ends(a.id));
    let last = shown_all(model, &last);
    let actions: Vec<_> = here.iter().map(|a| shown(model, a)).collect();
    let room = usize::from(area.width).saturating_sub(1 + width(&last));
    let mut line = vec![piece(Role::Text, " ")];
    let mut tabs = tabs(model, &screens, true);
    let wanted: usize = actions.iter().map(|a| width(a)).sum();
    if place != Place::Devices && width(&tabs) + wanted > room {
        // What can be done here matters more than the names of other places; the list shows those.
        tabs = self::tabs(model, &screens, false);
    }
    let mut room = room.saturating_sub(width(&tabs));
    line.extend(tabs);
    for action in actions {
        if width(&action) <= room {
            room -= width(&action);
            line.extend(action);
        }
    }
    line.extend(last);
    pen.line(area, &line);
}

fn width(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().map(|(_, text)| text.chars().count()).sum()
}

fn shown_all(model: &Model, actions: &[&Action]) -> Vec<Piece<'static>> {
    actions.iter().flat_map(|a| shown(model, a)).collect()
}

fn shown(model: &Model, action: &Action) -> Vec<Piece<'static>> {
    let able = actions::available(action.id, model).is_ok();
    let (key, word) = if able { (Role::Key, Role::Text) } else { (Role::Disabled, Role::Disabled) };
    let first = action.keys.first().map(ToString::to_string).unwrap_or_default();
    vec![piece(key, first), piece(word, format!(" {}  ", action.short))]
}

/// The screens, the one shown in its own style; the others by their digit alone where room is short.
fn tabs(model: &Model, screens: &[&Action], names: bool) -> Vec<Piece<'static>> {
    let mut out = Vec::new();
    for action in screens {
        let here = screen_of(action.id) == Some(model.screen);
        let able = actions::available(action.id, model).is_ok();
        let digit = action.keys.first().map(ToString::to_string).unwrap_or_default();
        out.push(piece(if able { Role::Key } else { Role::Disabled }, digit));
        if names || here {
            let role = match (here, able) {
                (true, _) => Role::Accent,
                (false, true) => Role::Text,
                (false, false) => Role::Disabled,
            };
            out.push(piece(role, format!(" {}", action.short)));
        }
        out.push(piece(Role::Text, " "));
    }
    if !out.is_empty() {
        out.push(piece(Role::Text, "  "));
    }
    out
}
