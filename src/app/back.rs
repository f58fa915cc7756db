//! Going back: every setting staged as it was once, to be seen in the diff before anything is written.

use std::collections::BTreeMap;

use crate::sys::queue::QueueState;
use crate::tuning::{catalogue, plan};

use super::fleet::Entry;

/// What has to be staged so that the queue reads as it did in `goal`; empty if it does already.
///
/// Left out is what can not be changed, and what the kernel moves by itself: `wbt_lat_usec` unless it was set here, and
/// the coarser of bfq's two names for one setting. Tunables of a scheduler that has to come back are all in it, since a
/// switch starts with the scheduler's defaults.
#[must_use]
pub fn differences(entry: &Entry, goal: &QueueState) -> BTreeMap<String, String> {
    let Some(now) = &entry.queue else { return BTreeMap::new() };
    let differs = |name: &str| now.effective(name) != goal.effective(name);
    let switches = differs("scheduler") && goal.attributes.contains_key("scheduler");
    let wanted = |name: &str| {
        // A tunable to come is judged by the queue that has it.
        let comes = switches && name.starts_with("iosched/");
        let at = if comes { goal } else { now };
        let alias = name == "iosched/slice_idle" && goal.effective("iosched/slice_idle_us").is_some();
        (comes || differs(name))
            && !alias
            && catalogue::changeable(name, at)
            && plan::puts_back(name, at, |n| entry.wrote(n))
    };
    let names = goal.attributes.keys().filter(|name| wanted(name));
    names.filter_map(|name| Some((name.clone(), goal.effective(name)?))).collect()
}
