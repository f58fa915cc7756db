//! Looking back: the list and the panel at a moment of the past, and the orders to a record's source.
//!
//! Only what screen 1 shows is of that moment; samples go on being taken, and settings are shown and written as they are.

use std::collections::HashMap;

use crate::sys::name::KernelName;
use crate::telemetry::rates::Rates;
use crate::units::Nanos;

use super::actions::ActionId;
use super::effect::Effect;
use super::fleet::Entry;
use super::mark::Mark;
use super::model::Model;
use super::past::Moment;
use super::replay::ReplayOrder;
use super::timeline::Window;

/// A minute.
const MINUTE: Nanos = Nanos(60 * Nanos::SECOND.0);

/// The speeds of a record, recorded seconds in a second.
pub const SPEEDS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 60.0, 600.0];

/// The moment that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The moment.
    pub moment: Moment,
    /// The last moment that the charts show.
    pub edge: Moment,
}

/// A device's figures at the moment that is looked at. Kept, so that they do not change as the past is thinned out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Then {
    /// Its rates; None if they are not known.
    pub rates: Option<Rates>,
    /// The same for its partitions; their past is not kept.
    pub partition_rates: HashMap<KernelName, Rates>,
}

/// What the charts end with: the moment looked at or one after it, else the newest sample.
#[must_use]
pub fn edge(model: &Model) -> Option<Moment> {
    model.look.map(|l| l.edge).or_else(|| model.past.newest())
}

/// The columns of a chart of this width.
#[must_use]
pub fn window(model: &Model, width: u16) -> Window {
    let until = edge(model).map_or(Nanos(0), |m| m.at);
    Window::ending(until, model.chart_span.length(), usize::from(width))
}

/// What happened to a device around the moment looked at: from the sample before it on, and in the same column of the
/// chart. What a reading shows may bear the time of the sample before, where the time was not told since.
#[must_use]
pub fn marks_here<'a>(model: &Model, entry: &'a Entry, window: &Window) -> Vec<&'a Mark> {
    let Some(look) = &model.look else { return Vec::new() };
    let at = look.moment.at;
    let before = model.past.before(at).map_or(Nanos(0), |m| m.at);
    let column = window.column_of(at);
    let here = |m: &&Mark| {
        let seen = m.seen.at;
        (seen >= before && seen <= at) || (column.is_some() && window.column_of(seen) == column)
    };
    entry.marks.iter().filter(here).collect()
}

/// How long before the newest sample the moment is: `-0:55`, `-1:02:03`; with tenths where samples are that close.
#[must_use]
pub fn age_words(model: &Model) -> String {
    let newest = model.past.newest().map_or(Nanos(0), |m| m.at);
    let age = model.look.map_or(Nanos(0), |l| newest.since(l.moment.at));
    let s = age.0 / Nanos::SECOND.0;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    let close = !model.host.interval.is_zero() && Nanos::from(model.host.interval) < Nanos::SECOND;
    let tenths = if close { format!(".{}", age.0 / (Nanos::SECOND.0 / 10) % 10) } else { String::new() };
    if h > 0 { format!("-{h}:{m:02}:{s:02}{tenths}") } else { format!("-{m}:{s:02}{tenths}") }
}

/// Whether a key of this room can do something.
///
/// # Errors
/// Why not.
pub fn can(id: ActionId, model: &Model) -> Result<(), String> {
    let because = |holds: bool, why: &str| if holds { Ok(()) } else { Err(why.to_owned()) };
    let ended = model.replay.as_ref().map(|r| r.ended);
    match id {
        ActionId::Freeze if model.look.is_some() => Ok(()),
        ActionId::Freeze if model.replay.is_some() => because(ended == Some(false), "the record ends here"),
        ActionId::Freeze => because(model.past.newest().is_some(), "nothing was sampled yet"),
        ActionId::SampleBack | ActionId::MinuteBack => {
            let here = model.look.map(|l| l.moment).or_else(|| model.past.newest());
            let older = here.is_some_and(|m| model.past.before(m.at).is_some());
            because(older, "nothing older is kept")
        }
        ActionId::SampleForward | ActionId::MinuteForward if model.look.is_none() => match ended {
            None => Err("this is live; [ looks back".to_owned()),
            Some(ended) => because(!ended, "the record ends here"),
        },
        ActionId::Faster | ActionId::Slower => {
            let replay = model.replay.as_ref().ok_or("not a record")?;
            because(
                next_speed(replay.speed, id == ActionId::Faster).is_some(),
                if id == ActionId::Faster { "it goes no faster" } else { "it goes no slower" },
            )
        }
        _ => Ok(()),
    }
}

/// Does what a key of this room stands for.
pub(super) fn act(model: &mut Model, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::ChartSpan => {
            model.chart_span = model.chart_span.next();
            if let Some(look) = model.look {
                look_at(model, look.moment);
            }
            return vec![super::view::remember(model)];
        }
        ActionId::Freeze if model.replay.is_some() => {
            let plays = model.look.is_none() && model.replay.as_ref().is_some_and(|r| r.playing);
            live(model);
            return vec![Effect::Replay(if plays { ReplayOrder::Pause } else { ReplayOrder::Play })];
        }
        ActionId::Freeze if model.look.is_some() => live(model),
        ActionId::Freeze => {
            if let Some(newest) = model.past.newest() {
                look_at(model, newest);
            }
        }
        ActionId::SampleBack | ActionId::MinuteBack => return back(model, id == ActionId::MinuteBack),
        ActionId::SampleForward | ActionId::MinuteForward => {
            return forward(model, id == ActionId::MinuteForward);
        }
        ActionId::Faster | ActionId::Slower => {
            let speed = model.replay.as_ref().map(|r| r.speed);
            let next = speed.and_then(|s| next_speed(s, id == ActionId::Faster));
            return next.map(|s| Effect::Replay(ReplayOrder::Speed(s))).into_iter().collect();
        }
        _ => {}
    }
    Vec::new()
}

/// The next of the speeds; None at the end of them.
fn next_speed(speed: f64, faster: bool) -> Option<f64> {
    if faster {
        SPEEDS.into_iter().find(|s| *s > speed)
    } else {
        SPEEDS.into_iter().rev().find(|s| *s < speed)
    }
}

/// What makes a record stand still, if it does not.
fn stand_still(model: &Model) -> Vec<Effect> {
    let plays = model.replay.as_ref().is_some_and(|r| r.playing);
    plays.then_some(Effect::Replay(ReplayOrder::Pause)).into_iter().collect()
}

fn back(model: &mut Model, minute: bool) -> Vec<Effect> {
    let Some(here) = model.look.map(|l| l.moment).or_else(|| model.past.newest()) else { return Vec::new() };
    let past = &model.past;
    let to = if minute {
        let wanted = Nanos(here.at.0.saturating_sub(MINUTE.0));
        past.before(Nanos(wanted.0.saturating_add(1))).or_else(|| past.oldest())
    } else {
        past.before(here.at)
    };
    if let Some(to) = to {
        look_at(model, to);
    }
    stand_still(model)
}

fn forward(model: &mut Model, minute: bool) -> Vec<Effect> {
    let Some(here) = model.look.map(|l| l.moment) else {
        let order = if minute { ReplayOrder::Skip(MINUTE) } else { ReplayOrder::Step };
        let mut effects = if minute { Vec::new() } else { stand_still(model) };
        effects.push(Effect::Replay(order));
        return effects;
    };
    let to = if minute {
        // A minute on, or the sample after a sleep of more.
        let wanted = here.at.0.saturating_add(MINUTE.0);
        model.past.after(Nanos(wanted - 1))
    } else {
        model.past.after(here.at)
    };
    match to {
        Some(to) => look_at(model, to),
        None => live(model),
    }
    Vec::new()
}

/// Shows a moment: notes the figures of all devices then, and moves the charts if it is not on them.
fn look_at(model: &mut Model, moment: Moment) {
    let newest = model.past.newest() == Some(moment);
    for entry in model.fleet.entries_mut() {
        let then = if newest {
            Then { rates: entry.rates.clone(), partition_rates: entry.partition_rates.clone() }
        } else {
            then(entry, moment.at)
        };
        entry.then = Some(Box::new(then));
    }
    let span = model.chart_span.length().0;
    let mut edge = model.look.map(|l| l.edge).or_else(|| model.past.newest()).unwrap_or(moment);
    if moment.at > edge.at {
        edge = moment;
    }
    if edge.at.since(moment.at).0 >= span {
        // Some of what was before it is shown too.
        let later = Nanos(moment.at.0.saturating_add(span / 8 * 7));
        edge = model.past.before(Nanos(later.0.saturating_add(1))).unwrap_or(moment);
    }
    model.look = Some(Look { moment, edge });
}

fn then(entry: &Entry, at: Nanos) -> Then {
    let rates = entry.history.as_ref().and_then(|h| h.at(at));
    Then { rates, partition_rates: HashMap::new() }
}

/// Back to what is.
pub(super) fn live(model: &mut Model) {
    model.look = None;
    for entry in model.fleet.entries_mut() {
        entry.then = None;
    }
}

/// Devices came: they are marked as new, and were not there at the moment that is looked at. `seen` is None for those that
/// were there from the start.
pub(super) fn newcomers(model: &mut Model, seen: Option<Moment>) {
    model.fleet.mark_newcomers(seen);
    if let Some(look) = model.look {
        for entry in model.fleet.entries_mut().iter_mut().filter(|e| e.then.is_none()) {
            entry.then = Some(Box::new(then(entry, look.moment.at)));
        }
    }
}
