//! What is known of each setting: group, unit, legal values, meaning, and what else a change moves.

mod table;

use super::change::Change;
use super::plan;
use crate::sys::queue::{Attribute, QueueState};
use table::{KNOWN, Known};

/// The settings that this program changes, in the order they are written (see [`plan::order`]). All others are shown.
pub const CHANGEABLE: [&str; 4] = ["rotational", "scheduler", "nr_requests", "read_ahead_kb"];

/// Values of `read_ahead_kb` that stepping visits.
const READ_AHEAD_STEPS: [u64; 13] = [0, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];

/// Values of `nr_requests` that stepping visits.
const REQUEST_STEPS: [u64; 10] = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/// The most requests the kernel allows under a scheduler (`MAX_SCHED_RQ` in `block/blk-mq-sched.h`). Under none the
/// limit is the driver's, which is not told.
const MAX_SCHEDULED_REQUESTS: u64 = 2048;

/// The kernel keeps the value in a 32-bit number of KiB.
const MAX_READ_AHEAD: u64 = u32::MAX as u64;

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

/// The values that make sense for a setting on this queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Legal {
    /// One of a list.
    Choice(Vec<String>),
    /// A whole number. `suggested` are the values that stepping through visits, in order.
    Number {
        /// Least that the kernel takes.
        min: u64,
        /// Greatest; None if the kernel does not say.
        max: Option<u64>,
        /// Common values within the range, ascending.
        suggested: Vec<u64>,
    },
    /// Can not be changed, or not by this program yet.
    Fixed,
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
pub(super) fn is_known(name: &str) -> bool {
    known(name).is_some()
}

/// Why an attribute can not be changed, whoever asks and whatever the value; None if it can.
pub(super) fn obstacle(name: &str, attribute: &Attribute, state: &QueueState) -> Option<String> {
    judge(name, attribute, state).1
}

fn judge(name: &str, attribute: &Attribute, state: &QueueState) -> (Legal, Option<String>) {
    if attribute.writable { legal(name, state) } else { fixed("read only in the kernel") }
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

fn fixed(why: &str) -> (Legal, Option<String>) {
    (Legal::Fixed, Some(why.to_owned()))
}

/// The legal values of an attribute that the kernel lets its owner write, or why there are none.
fn legal(name: &str, state: &QueueState) -> (Legal, Option<String>) {
    match name {
        "scheduler" => match state.schedulers() {
            Some(list) if list.changeable => (Legal::Choice(list.available), None),
            Some(_) => fixed("this device has no scheduler to choose"),
            None => fixed("the kernel's list of schedulers could not be read"),
        },
        "rotational" => (Legal::Choice(vec!["0".to_owned(), "1".to_owned()]), None),
        "read_ahead_kb" => {
            let suggested = READ_AHEAD_STEPS.to_vec();
            (Legal::Number { min: 0, max: Some(MAX_READ_AHEAD), suggested }, None)
        }
        "nr_requests" => {
            let scheduled = state.schedulers().is_some_and(|s| s.active != "none");
            let max = scheduled.then_some(MAX_SCHEDULED_REQUESTS);
            (Legal::Number { min: 4, max, suggested: REQUEST_STEPS.to_vec() }, None)
        }
        _ => fixed("not changeable by blktune yet"),
    }
}

impl Legal {
    /// In words: `none mq-deadline bfq`, `0 or 1`, `4..2048`; empty for what is fixed.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Legal::Choice(words) if words.len() == 2 && words.iter().all(|w| w.parse::<u64>().is_ok()) => {
                words.join(" or ")
            }
            Legal::Choice(words) => words.join(" "),
            Legal::Number { min, max: Some(max), .. } => format!("{min}..{max}"),
            Legal::Number { min, max: None, .. } => format!("{min}.."),
            Legal::Fixed => String::new(),
        }
    }
}

/// The next (or previous) value to offer after `staged`, or after the present value if nothing is staged. Choices go
/// round; numbers stop at their ends. None at an end, and for what can not be changed.
#[must_use]
pub fn step(row: &SettingRow, staged: Option<&str>, forward: bool) -> Option<String> {
    if !row.writable {
        return None;
    }
    let now = staged.or(row.value.as_deref());
    match &row.legal {
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
        Legal::Number { min, max, suggested } => {
            let mut values = suggested.iter().filter(|v| *v >= min && max.is_none_or(|m| **v <= m));
            let next = match now.and_then(|n| n.parse::<u64>().ok()) {
                Some(now) if forward => values.find(|v| **v > now),
                Some(now) => values.rfind(|v| **v < now),
                None => values.next(),
            };
            next.map(u64::to_string)
        }
        Legal::Fixed => None,
    }
}

/// What a set of changes is known to move besides, in sentences, for the operator to read before it is written. Changes
/// that ask for the present value move nothing, since they are not written.
#[must_use]
pub fn known_side_effects(changes: &[Change], state: &QueueState) -> Vec<String> {
    let wanted = |name: &str| changes.iter().find(|c| c.name == name).map(|c| c.requested.as_str());
    let differing = |name: &str| {
        wanted(name)
            .filter(|w| state.attributes.contains_key(name) && state.effective(name).as_deref() != Some(*w))
    };
    let mut told = Vec::new();
    if let Some(to) = differing("rotational") {
        told.push(rotational_effect(to == "0", wanted("read_ahead_kb").is_some(), state));
        if state.effective("scheduler").as_deref() == Some("bfq") {
            told.push("rotational: bfq changes its idling with it at once".to_owned());
        }
    }
    if let Some(to) = differing("scheduler") {
        told.push(
            "scheduler: the queue is drained first; I/O waits until what is in flight is done".to_owned(),
        );
        if state.effective("zoned").as_deref() == Some("host-managed")
            && to != "mq-deadline"
            && to != "deadline"
        {
            told.push(
                "scheduler: before Linux 6.10 only mq-deadline keeps writes to a zone in order; others make them fail"
                    .to_owned(),
            );
        }
        if let Some(n) = state.effective("nr_requests") {
            told.push(if wanted("nr_requests").is_some() {
                "scheduler: a switch resets nr_requests, so blktune writes it after the switch".to_owned()
            } else {
                format!("scheduler: nr_requests (now {n}) goes to the default of {to}")
            });
        }
        if state.attributes.keys().any(|k| k.starts_with("iosched/")) {
            let from = state.effective("scheduler").unwrap_or_default();
            told.push(format!("scheduler: the tunables of {from} are lost; {to} starts with its defaults"));
        }
        if state.attributes.contains_key("wbt_lat_usec") {
            if to == "bfq" {
                told.push("scheduler: bfq turns wbt_lat_usec off while it is active".to_owned());
            } else if state.effective("scheduler").as_deref() == Some("bfq") {
                told.push("scheduler: wbt_lat_usec, which bfq turned off, comes back".to_owned());
            }
        }
    }
    if differing("nr_requests").is_some() {
        told.push("nr_requests: the queue stops for a moment while it is resized".to_owned());
        if state.attributes.contains_key("iosched/async_depth") && differing("scheduler").is_none() {
            told.push("nr_requests: the scheduler sets iosched/async_depth anew".to_owned());
        }
    }
    if differing("read_ahead_kb").is_some() {
        told.push(
            "read_ahead_kb: files that are open already keep the value they were opened with".to_owned(),
        );
        if plan::order(changes).len() > 1 {
            told.push("read_ahead_kb is written last, so that no other change moves it".to_owned());
        }
    }
    told
}

/// What the kernel does to read-ahead when a limit is written: since 6.11 at least the default of 128 KiB or twice the
/// optimal size; since 6.17 also twice `max_sectors_kb` if rotational and no optimal size is told
/// (`blk_apply_bdi_limits` in `block/blk-settings.c`).
fn rotational_effect(to_zero: bool, read_ahead_asked: bool, state: &QueueState) -> String {
    if read_ahead_asked {
        return "rotational: writing it can raise read_ahead_kb, so blktune writes read_ahead_kb after it"
            .to_owned();
    }
    let now = state.number("read_ahead_kb");
    let optimal_kib = state.number("optimal_io_size").unwrap_or(0) / 1024;
    let request_kib = state.number("max_sectors_kb").unwrap_or(0);
    let floor = match (optimal_kib, to_zero) {
        (0, true) => 0,
        (0, false) => request_kib.saturating_mul(2),
        (n, _) => n.saturating_mul(2),
    }
    .max(128);
    match now {
        Some(now) if now >= floor => {
            format!(
                "rotational: writing it can raise read_ahead_kb, not expected here ({now} KiB is above the floor)"
            )
        }
        Some(now) => format!(
            "rotational: current kernels raise read_ahead_kb with it (now {now}, up to {floor} KiB) and never lower it again"
        ),
        None => {
            "rotational: current kernels may raise read-ahead with it and never lower it again".to_owned()
        }
    }
}
