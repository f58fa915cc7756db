//! The last two lines: what was said last, and the keys, both from the table of actions and the model.

use ratatui::layout::Rect;

use crate::app::actions::{self, Action, ActionId, Place};
use crate::app::filter::Filter;
use crate::app::fleet::Entry;
use crate::app::message::Level;
use crate::app::model::{Model, STATUS_STAYS, Screen};
use crate::app::purpose::Purpose;
use crate::app::screens::experiment::status;
use crate::app::screens::settings;
use crate::config::theme::Role;
use crate::units::Nanos;

use super::text::{Pen, Piece, cut, piece};

/// How long a status stays while something is held.
const BESIDE_HELD: Nanos = Nanos(3_000_000_000);

/// What is being typed or waited for, else what was said last.
pub(super) fn status(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let waiting = model.fleet.entries().iter().find_map(|e| waiting(e, model));
    let held = held(model).map(|text| (Role::Warning, text));
    let (filter, typing) = filter(model).unzip();
    let filtered = |urgent: bool| filter.clone().filter(|_| !urgent || typing == Some(true));
    // What was said gives way sooner to what counts down.
    let stays = if held.is_some() { BESIDE_HELD } else { STATUS_STAYS };
    let said = model.status.as_ref().filter(|s| model.now.since(s.at) < stays);
    let said = said.map(|s| (level_role(s.level), s.text.clone()));
    let accent = |text: String| (Role::Accent, text);
    // What is being typed, then what is waited for, what was said, what is held, and the filter in force.
    let first = filtered(true).or(waiting).map(accent);
    let last = filtered(false).or_else(|| experiment(model)).map(accent);
    let Some((role, text)) = first.or(said).or(held).or(last) else { return };
    let width = area.width.saturating_sub(1);
    pen.put(area.x + 1, area.y, width, &cut(&text, usize::from(width)), role);
}

/// The filter of the list and whether it is being typed.
fn filter(model: &Model) -> Option<(String, bool)> {
    let (filter, typing) = (&model.devices.filter, model.devices.typing);
    if model.screen != Screen::Devices || (filter.is_empty() && !typing) {
        return None;
    }
    let hidden = match model.devices.hidden {
        0 => String::new(),
        n => format!("   {n} hidden"),
    };
    let (cursor, esc) = if typing { ("_", "") } else { ("", ", Esc clears") };
    let esc = if hidden.is_empty() { esc.replace(", ", "   ") } else { esc.to_owned() };
    let trouble = Filter::parse(filter).trouble.map(|why| format!("   {why}")).unwrap_or_default();
    Some((format!("filter: {filter}{cursor}{hidden}{esc}{trouble}"), typing))
}

/// That an experiment goes on, on the screens that do not show it.
fn experiment(model: &Model) -> Option<String> {
    let course = model.course.as_ref().filter(|c| c.going() && model.screen != Screen::Experiment)?;
    let left = status::left(course);
    let left = if left.is_empty() { String::new() } else { format!(": {left}") };
    Some(format!("A/B on {} goes on (4){left}", course.design().device))
}

/// The time until changes are put back: those of the device that is meant, else those that go first.
fn held(model: &Model) -> Option<String> {
    let meant = settings::subject(model).filter(|e| e.held.is_some());
    let first = || model.fleet.entries().iter().filter(|e| e.held.is_some()).min_by_key(|e| e.held);
    let entry = meant.or_else(first)?;
    let name = entry.device.name();
    let seconds = entry.held_for(model.now)?;
    Some(match (seconds, meant) {
        (0, _) => format!("{name}: the changes are being put back"),
        (_, Some(_)) => format!("{name}: put back in {seconds} s; y keeps the changes"),
        (_, None) => format!("{name}: put back in {seconds} s; choose it and press y to keep the changes"),
    })
}

fn waiting(entry: &Entry, model: &Model) -> Option<String> {
    let work = entry.work.as_ref()?;
    let name = entry.device.name();
    let seconds = model.now.since(work.since).0 / 1_000_000_000;
    let in_flight = entry.rates.as_ref().and_then(|r| r.in_flight).filter(|n| *n > 0);
    let what = in_flight.map_or_else(|| "the queue to drain".to_owned(), |n| format!("{n} I/O"));
    Some(match (seconds, work.given_up, work.purpose) {
        (_, true, _) => format!("{name}: given up; put back when the kernel lets go of it, {seconds} s"),
        (0, _, Purpose::Apply) => format!("{name}: writing the changes"),
        (0, _, Purpose::Undo) => format!("{name}: putting back"),
        (0, _, Purpose::Redo) => format!("{name}: doing again what was undone"),
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
        ActionId::GoExperiment => Some(Screen::Experiment),
        ActionId::GoMessages => Some(Screen::Messages),
        _ => None,
    }
}

/// The keys of the place: the screens first, then what can be done here, as far as they fit.
pub(super) fn keys(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let place = actions::place(model);
    let named: Vec<_> =
        actions::at(place).filter(|a| !a.short.is_empty() && (able(model, a) || !seldom(a.id))).collect();
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

/// Whether an action is left out of the footer while it can not be done, rather than shown as such.
const fn seldom(id: ActionId) -> bool {
    matches!(id, ActionId::Confirm | ActionId::Hold | ActionId::KeepCell)
}

fn able(model: &Model, action: &Action) -> bool {
    actions::available(action.id, model).is_ok()
}

fn width(pieces: &[Piece<'_>]) -> usize {
    pieces.iter().map(|(_, text)| text.chars().count()).sum()
}

fn shown_all(model: &Model, actions: &[&Action]) -> Vec<Piece<'static>> {
    actions.iter().flat_map(|a| shown(model, a)).collect()
}

fn shown(model: &Model, action: &Action) -> Vec<Piece<'static>> {
    let able = able(model, action);
    let (key, word) = if able { (Role::Key, Role::Text) } else { (Role::Disabled, Role::Disabled) };
    let first = action.keys.first().map(ToString::to_string).unwrap_or_default();
    vec![piece(key, first), piece(word, format!(" {}  ", action.short))]
}

/// The screens, the one shown in its own style; the others by their digit alone where room is short.
fn tabs(model: &Model, screens: &[&Action], names: bool) -> Vec<Piece<'static>> {
    let mut out = Vec::new();
    for action in screens {
        let here = screen_of(action.id) == Some(model.screen);
        let able = able(model, action);
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
