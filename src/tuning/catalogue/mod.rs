//! What is known of each setting: group, unit, legal values, meaning, and what else a change moves.

mod effects;
mod legal;
mod table;

pub(super) use effects::FLUSHES_STOP;
pub use effects::known_side_effects;
pub use legal::Legal;
pub(super) use legal::{is_attribute_name, is_decimal, no_line};

use crate::sys::queue::{Attribute, QueueState};
use table::{KNOWN, Known};

/// Where a setting is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// The scheduler and its tunables (`queue/iosched`).
    Scheduler,
    /// The request queue.
    Queue,
    /// What the hardware and driver fix.
    Limits,
}

/// One setting of one queue, ready to be shown or staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// Attribute name below `queue/`: `read_ahead_kb`, `iosched/slice_idle`.
    pub name: String,
    /// Where it is shown.
    pub group: Group,
    /// What it reads, in the form it is written in (the active scheduler, not the list); None if unreadable.
    pub value: Option<String>,
    /// `KiB`, `ms`, `bytes`...; empty for words and plain counts.
    pub unit: &'static str,
    /// Legal values.
    pub legal: Legal,
    /// Legal values in words, for `show`: `none mq-deadline bfq`, `4..`, `0 or 1`.
    pub legal_text: String,
    /// Whether this program can change it here.
    pub writable: bool,
    /// Why it can not be changed; None if it can.
    pub why_not: Option<String>,
    /// One plain line.
    pub explanation: &'static str,
}

/// All settings of a queue, in the order they are shown. `rights` is why this process may not write, if so.
///
/// Attributes that this program does not know come last in their group, as read.
#[must_use]
pub fn rows(state: &QueueState, rights: Option<&str>) -> Vec<SettingRow> {
    let mut rows: Vec<SettingRow> = KNOWN
        .iter()
        .filter_map(|known| {
            Some(row(known.name, state.attributes.get(known.name)?, Some(known), state, rights))
        })
        .collect();
    for (name, attribute) in &state.attributes {
        if known(name).is_none() {
            rows.push(row(name, attribute, None, state, rights));
        }
    }
    // Stable: keeps the table's order within a group.
    rows.sort_by_key(|r| r.group);
    rows
}

/// Whether the kernel has an attribute of this name on some device.
#[must_use]
pub fn is_known(name: &str) -> bool {
    known(name).is_some()
}

/// Why an attribute can not be changed, whoever asks and whatever the value; None if it can.
pub(super) fn obstacle(name: &str, attribute: &Attribute, state: &QueueState) -> Option<String> {
    judge(name, attribute, state).1
}

/// Whether an attribute of this queue can be changed: it is there, the kernel lets its owner write it, and there is
/// something to choose. Rights of this process are another question.
#[must_use]
pub fn changeable(name: &str, state: &QueueState) -> bool {
    state.attributes.get(name).is_some_and(|a| obstacle(name, a, state).is_none())
}

/// Names of attributes known to be settings, those that matter most first.
pub(super) fn setting_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(|k| !matches!(k.form, table::Form::Shown)).map(|k| k.name)
}

/// Legal values of an attribute, and why there are none.
pub(super) fn judge(name: &str, attribute: &Attribute, state: &QueueState) -> (Legal, Option<String>) {
    legal::judge(name, attribute, known(name), state)
}

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|k| k.name == name)
}

fn row(
    name: &str,
    attribute: &Attribute,
    known: Option<&'static Known>,
    state: &QueueState,
    rights: Option<&str>,
) -> SettingRow {
    let (legal, obstacle) = judge(name, attribute, state);
    let why_not = obstacle.or_else(|| rights.map(str::to_owned));
    let group = known.map_or_else(|| group_of_unknown(name, attribute), |k| k.group);
    SettingRow {
        name: name.to_owned(),
        group,
        value: state.effective(name),
        unit: known.map_or("", |k| k.unit),
        legal_text: legal.words(),
        legal,
        writable: why_not.is_none(),
        why_not,
        explanation: known.map_or("not described here", |k| k.explanation),
    }
}

fn group_of_unknown(name: &str, attribute: &Attribute) -> Group {
    match (name.starts_with("iosched/"), attribute.writable) {
        (true, _) => Group::Scheduler,
        (false, true) => Group::Queue,
        (false, false) => Group::Limits,
    }
}

/// The next (or previous) value to offer after `staged`, or after the present value if nothing is staged. Choices go
/// round; numbers stop at their ends. None at an end, and for what can not be changed or has to be typed: text, and
/// `write through`, which makes the kernel stop sending flushes and so must be meant.
#[must_use]
pub fn step(row: &SettingRow, staged: Option<&str>, forward: bool) -> Option<String> {
    if !row.writable {
        return None;
    }
    let now = staged.or(row.value.as_deref());
    match &row.legal {
        Legal::Choice(_) if row.name == "write_cache" => {
            let back = "write back";
            (now != Some(back)).then(|| back.to_owned())
        }
        Legal::Choice(words) => {
            let n = words.len();
            let next = match words.iter().position(|w| Some(w.as_str()) == now) {
                Some(i) if forward => (i + 1) % n,
                Some(i) => (i + n - 1) % n,
                None => 0,
            };
            let next = words.get(next)?;
            (Some(next.as_str()) != now).then(|| next.clone())
        }
        Legal::Number { suggested, .. } => {
            let mut values = suggested.iter();
            let next = match now.and_then(|n| n.parse::<u64>().ok()) {
                Some(now) if forward => values.find(|v| **v > now),
                Some(now) => values.rfind(|v| **v < now),
                None => values.next(),
            };
            next.map(u64::to_string)
        }
        Legal::Text | Legal::Fixed => None,
    }
}
