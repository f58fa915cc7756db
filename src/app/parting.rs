//! What is said on the shell after the screen is gone.

use crate::tuning::catalogue;

use super::fleet::{ChangedBy, Entry};
use super::model::Model;

/// What this program changed and leaves changed, a line a device: `sda scheduler none -> bfq, read_ahead_kb 128 -> 512
/// (blktune undo sda)`. Changes made and taken back again are not in it, nor are those that are held.
#[must_use]
pub fn left_changed(model: &Model) -> Vec<String> {
    let line = |entry: &Entry| {
        let changes = changes(&entry.put_back(), |by| matches!(by, ChangedBy::Us | ChangedBy::SideEffect))?;
        let name = entry.device.name();
        Some(format!("{name} {changes} (blktune undo {name})"))
    };
    model.fleet.entries().iter().filter(|e| e.live()).filter_map(line).collect()
}

/// What is put back unless somebody confirms it, a line a device: `sda scheduler none -> bfq is put back in 41 s unless
/// confirmed (blktune set --confirm sda)`.
#[must_use]
pub fn left_held(model: &Model) -> Vec<String> {
    let line = |entry: &Entry| {
        let seconds = entry.held_for(model.now)?;
        let name = entry.device.name();
        // Nothing is known to be held where something else wrote the same settings meanwhile.
        let what =
            changes(entry, |by| by == ChangedBy::Held).unwrap_or_else(|| "what was changed".to_owned());
        Some(format!(
            "{name} {what} is put back in {seconds} s unless confirmed (blktune set --confirm {name})"
        ))
    };
    model.fleet.entries().iter().filter(|e| e.live()).filter_map(line).collect()
}

/// The settings of a device that were changed by somebody, from the value at the start; None if there are none.
fn changes(entry: &Entry, whose: impl Fn(ChangedBy) -> bool) -> Option<String> {
    let changes: Vec<String> = catalogue::rows(entry.queue.as_ref()?, None)
        .into_iter()
        .filter(|row| row.writable)
        .filter_map(|row| {
            let (by, before) = entry.changed(&row.name)?;
            whose(by).then_some(format!("{} {before} -> {}", row.name, row.value?))
        })
        .collect();
    (!changes.is_empty()).then(|| changes.join(", "))
}
