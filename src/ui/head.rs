//! The first line: the host, the rights, the pressure, what runs.

use ratatui::layout::Rect;

use crate::app::model::{Model, Rights, Screen};
use crate::app::{layout, look};
use crate::config::theme::Role;
use crate::units::{Nanos, latency};
use unicode_width::UnicodeWidthStr;

use super::text::{Pen, Piece, cut, piece};

/// Columns for the name of a record.
const RECORD: usize = 24;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    let h = &model.host;
    let mut left: Vec<Piece<'_>> = vec![piece(Role::Title, "blktune")];
    let past = past(model);
    let few = past.is_some() && area.width < layout::WIDE;
    if let Some(text) = past {
        left.push(piece(Role::Warning, format!("  {text}")));
    }
    // What is not live says so first; beside it there is room for little.
    let facts = [
        h.hostname.clone(),
        if h.kernel.is_empty() { String::new() } else { format!("Linux {}", h.kernel) },
        if h.cpus == 0 { String::new() } else { format!("{} cpu", h.cpus) },
        h.user.clone(),
    ];
    let facts = if few { &facts[..1] } else { &facts[..] };
    for fact in facts.iter().filter(|f| !f.is_empty()) {
        left.push(piece(Role::Muted, format!("  {fact}")));
    }
    // A record was named before, and nobody expects to write to it.
    let record = model.replay.is_some();
    if let Some(place) = h.place.as_ref().filter(|_| !record) {
        left.push(piece(Role::Accent, format!("  {place}")));
    }
    let mut right: Vec<Piece<'_>> = Vec::new();
    if let Some(run) = model.run.as_ref().filter(|r| r.going() && model.screen != Screen::Workload) {
        let rest = run.time_left().map(|t| format!(" {:.0} s left", t.seconds())).unwrap_or_default();
        right.push(piece(Role::Accent, format!("run {}{rest}  ", run.name)));
    }
    if let Some(pct) = h.io_pressure_pct {
        right.push(piece(Role::Muted, format!("io pressure {pct:.1}%  ")));
    }
    if !h.interval.is_zero() {
        right.push(piece(Role::Muted, format!("{}  ", interval(h.interval))));
    }
    right.push(piece(Role::Muted, model.wall.clone()));
    let mut x = pen.line(area, &left);
    if let Rights::ReadOnly(why) = &model.rights
        && !record
    {
        // The reason takes the room of what matters less.
        let room = area.right().saturating_sub(x + 2);
        let text = cut(&format!("read only: {why}"), usize::from(room));
        x = pen.put(x + 2, area.y, room, &text, Role::Warning);
    }
    // What does not fit is left out from the front; the clock goes last.
    let fitting = (0..=right.len()).find(|&n| {
        let width: usize = right[n..].iter().map(|(_, text)| text.width()).sum();
        width + 2 <= usize::from(area.right().saturating_sub(x))
    });
    pen.line_right(area, x, &right[fitting.unwrap_or(right.len())..]);
}

/// What is shown where that is not what is: the place in a record, the moment looked back to.
fn past(model: &Model) -> Option<String> {
    let Some(replay) = &model.replay else {
        return model.look.map(|l| format!("frozen {}  {}", l.moment.time(), look::age_words(model)));
    };
    let moment = model.look.map(|l| l.moment).or_else(|| model.past.newest());
    // Without a wall clock: the recorded time.
    let time = match moment {
        Some(m) if m.wall.is_some() => m.date_and_time(),
        Some(m) => seconds(m.at),
        None => seconds(replay.at),
    };
    let age = model.look.map(|_| format!("  {}", look::age_words(model))).unwrap_or_default();
    let state = match (replay.ended, replay.playing) {
        (true, _) => "end".to_owned(),
        (false, true) => format!("playing {}x", replay.speed),
        (false, false) => "paused".to_owned(),
    };
    Some(format!("replay {}  {time}{age}  {state}", cut(&replay.record, RECORD)))
}

fn seconds(t: Nanos) -> String {
    format!("{:.1} s", t.seconds())
}

fn interval(d: std::time::Duration) -> String {
    let s = d.as_secs();
    if d.subsec_nanos() == 0 {
        format!("{s}s")
    } else {
        latency(d.into()).replace(".00", "").replace(' ', "")
    }
}
