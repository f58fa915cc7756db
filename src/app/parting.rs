//! What is said on the shell after the screen is gone.

use crate::tuning::catalogue;

use super::fleet::ChangedBy;
use super::model::Model;

/// What this program changed and leaves changed, a line a device: `sda scheduler none -> bfq, read_ahead_kb 128 -> 512
/// (blktune undo sda)`. Changes made and taken back again are not in it.
#[must_use]
pub fn left_changed(model: &Model) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in model.fleet.entries().iter().filter(|e| e.live()) {
        let name = entry.device.name();
        let Some(queue) = &entry.queue else { continue };
        let changes: Vec<String> = catalogue::rows(queue, None)
            .into_iter()
            .filter(|row| row.writable)
            .filter_map(|row| match entry.changed(&row.name)? {
                (ChangedBy::Us | ChangedBy::SideEffect, before) => {
                    Some(format!("{} {before} -> {}", row.name, row.value?))
                }
                (ChangedBy::Other, _) => None,
            })
            .collect();
        if !changes.is_empty() {
            lines.push(format!("{name} {} (blktune undo {name})", changes.join(", ")));
        }
    }
    lines
}
