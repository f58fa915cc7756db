//! A requested change and its outcome: the words that `set`, the screen and the journal share.

use serde::Serialize;

use crate::sys::name::KernelName;

/// One requested change of one setting of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The attribute below `queue/`: `read_ahead_kb`, `iosched/slice_idle`.
    pub name: String,
    /// The value asked for, as it is written to the attribute.
    pub requested: String,
}

/// What became of one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The kernel reads back what was asked.
    Applied,
    /// The kernel took it and reads back another value (rounded, limited).
    Clamped,
    /// Not written, or the kernel refused it.
    Refused,
    /// It had that value already; nothing was written.
    Unchanged,
}

/// One change with its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeReport {
    /// The device.
    pub device: KernelName,
    /// The setting.
    pub name: String,
    /// The value asked for.
    pub requested: String,
    /// What it read before; None if the device lacks it or it could not be read.
    pub before: Option<String>,
    /// What it reads now.
    pub effective: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, and what to do, in a sentence; None when there is nothing to say.
    pub message: Option<String>,
}

/// Something else on the queue that moved with a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SideEffect {
    /// The device.
    pub device: KernelName,
    /// The attribute that moved.
    pub name: String,
    /// What it read before; None if it was not there.
    pub before: Option<String>,
    /// What it reads now; None if it is gone.
    pub after: Option<String>,
}

/// A set of changes of one or more devices, carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ApplyReport {
    /// Every change asked for, in the order it was asked for.
    pub changes: Vec<ChangeReport>,
    /// What else moved.
    pub side_effects: Vec<SideEffect>,
    /// One change was refused, so everything was put back.
    pub rolled_back: bool,
    /// Settings that could not be put back, in words; empty in all ordinary endings.
    pub not_restored: Vec<String>,
}
