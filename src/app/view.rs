//! What is remembered of the list and the charts from one start to the next, in words as the file has them.

use crate::config::view::{SortWords, View};
use crate::units::Nanos;

use super::columns::{self, ColumnId};
use super::effect::Effect;
use super::model::Model;
use super::order::Order;
use super::past::ChartSpan;

/// Takes over what was remembered. Words that are no columns are left out, and stay in the file.
pub(super) fn recall(model: &mut Model, view: View) {
    if let Some(words) = &view.columns {
        let mut chosen: Vec<ColumnId> = Vec::new();
        for column in words.iter().filter_map(|w| columns::of_word(w)) {
            if column.id != ColumnId::Name && !chosen.contains(&column.id) {
                chosen.push(column.id);
            }
        }
        // A file of another version, of which nothing is known here, is no wish for a bare list.
        model.devices.columns = (words.is_empty() || !chosen.is_empty()).then_some(chosen);
    }
    if let Some(sort) = &view.sort
        && let Some(column) = columns::of_word(&sort.column)
    {
        model.fleet.order_at_start(Order { column: column.id, reversed: sort.reversed, follow: sort.follow });
    }
    let asked = |span: &ChartSpan| view.chart_seconds.is_some_and(|s| span.length() == seconds(s));
    model.chart_span = ChartSpan::ALL.into_iter().find(asked).unwrap_or_default();
    model.view = view;
}

const fn seconds(n: u64) -> Nanos {
    Nanos(n.saturating_mul(Nanos::SECOND.0))
}

/// Has what is chosen now remembered.
pub(super) fn remember(model: &mut Model) -> Effect {
    let strangers = model.view.columns.take().unwrap_or_default();
    let strangers = strangers.into_iter().filter(|w| columns::of_word(w).is_none());
    model.view.columns = model
        .devices
        .columns
        .as_ref()
        .map(|chosen| chosen.iter().map(|c| c.column().word.to_owned()).chain(strangers).collect());
    let order = model.fleet.order();
    model.view.sort = (order != Order::default()).then(|| SortWords {
        column: order.column.column().word.to_owned(),
        reversed: order.reversed,
        follow: order.follow,
    });
    let span = model.chart_span;
    model.view.chart_seconds = (span != ChartSpan::default()).then(|| span.length().0 / Nanos::SECOND.0);
    Effect::SaveView(model.view.clone())
}
