//! What is known of each setting: group, unit, legal values, meaning.

use crate::sys::queue::QueueState;

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
#[must_use]
pub fn rows(_state: &QueueState, _rights: Option<&str>) -> Vec<SettingRow> {
    Vec::new()
}
