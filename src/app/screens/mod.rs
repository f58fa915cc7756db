//! The state of each screen and what its keys do.

pub mod devices;
pub mod experiment;
pub mod fields;
pub mod messages;
pub mod settings;
pub mod workload;

/// Moves a scrolled window of `height` lines so that line `at` of `count` is inside it.
#[must_use]
pub fn scrolled(top: usize, at: usize, count: usize, height: usize) -> usize {
    let height = height.max(1);
    let top = if at < top {
        at
    } else if at >= top.saturating_add(height) {
        at + 1 - height
    } else {
        top
    };
    top.min(count.saturating_sub(height))
}
