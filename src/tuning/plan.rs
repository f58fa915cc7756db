//! From a set of changes to the writes: what is wrong with it, and the order it has to be written in.

use super::catalogue::{self, is_decimal};
use super::change::Change;
use crate::sys::queue::{Attribute, QueueState};

/// What is wrong with the words of a set, before any device is looked at.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// The text is no `NAME=VALUE`.
    #[error("{0:?} is no change; write NAME=VALUE, as in read_ahead_kb=512")]
    NotAChange(String),
    /// The same setting twice.
    #[error("{0} is given twice; a set can give each setting one value")]
    Twice(String),
}

/// Reads `NAME=VALUE`. The value may be anything, it is judged against a device later.
///
/// # Errors
/// Without `=`, or with nothing before it.
pub fn parse_change(text: &str) -> Result<Change, SetError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Change { name: name.to_owned(), requested: value.to_owned() })
        }
        _ => Err(SetError::NotAChange(text.to_owned())),
    }
}

/// A set names each setting once.
///
/// # Errors
/// The first name that comes twice.
pub fn no_duplicates(changes: &[Change]) -> Result<(), SetError> {
    for (i, c) in changes.iter().enumerate() {
        if changes[..i].iter().any(|earlier| earlier.name == c.name) {
            return Err(SetError::Twice(c.name.clone()));
        }
    }
    Ok(())
}

/// The attributes that are stored through the kernel's `queue_limits`, in the order they are written. A write to any of
/// them, even of the value it has, makes current kernels raise read-ahead (`blk_apply_bdi_limits` in
/// `block/blk-settings.c`).
pub(super) const LIMITS: [&str; 9] = [
    "rotational",
    "max_sectors_kb",
    "add_random",
    "iostats",
    "iostats_passthrough",
    "stable_writes",
    "write_cache",
    "discard_max_bytes",
    "write_zeroes_unmap_max_bytes",
];

/// Whether a write of this setting may raise read-ahead.
#[must_use]
pub fn moves_read_ahead(name: &str) -> bool {
    LIMITS.contains(&name)
}

/// Place of a setting in the order of writing.
///
/// A write of a limit raises read-ahead, a switch of scheduler resets `nr_requests`, makes `iosched/` anew and moves
/// `wbt_lat_usec`, a write of `nr_requests` resets `async_depth`, and bfq's `strict_guarantees` moves `slice_idle`. So
/// each comes before what it moves, and `read_ahead_kb` comes last.
fn rank(name: &str) -> usize {
    if let Some(place) = LIMITS.iter().position(|l| *l == name) {
        return place;
    }
    let place = match name {
        "scheduler" => 0,
        "nr_requests" => 1,
        "async_depth" => 2,
        "iosched/strict_guarantees" => 3,
        // One setting under two names: the finer one first, then the other is right already.
        "iosched/slice_idle_us" => 4,
        _ if name.starts_with("iosched/") => 5,
        "wbt_lat_usec" => 6,
        "nomerges" => 7,
        "rq_affinity" => 8,
        _ if name.starts_with("io_") => 9,
        "read_ahead_kb" => 11,
        _ => 10,
    };
    LIMITS.len() + place
}

/// The changes in the order they are to be written; equal places keep the order they were given in.
#[must_use]
pub fn order(changes: &[Change]) -> Vec<&Change> {
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by_key(|c| rank(&c.name));
    ordered
}

/// Whether a name can be that of an attribute below `queue/` (`read_ahead_kb`, `iosched/slice_idle`): only such are
/// written, noted to be put back, or made into a path. Whether it *is* put back also depends on the queue and on what
/// was written, see [`puts_back`].
#[must_use]
pub fn restorable(name: &str) -> bool {
    catalogue::is_attribute_name(name)
}

/// Whether an attribute is put back when a set is taken back: it is there and the kernel lets its owner write it.
/// `wbt_lat_usec` only if the set itself wrote it (`wrote` says so): the kernel moves it by itself and back again (it
/// reads 0 under bfq), and a value written by hand, be it the one that is read, stays for good.
#[must_use]
pub fn puts_back(name: &str, state: &QueueState, wrote: impl Fn(&str) -> bool) -> bool {
    restorable(name)
        && state.attributes.get(name).is_some_and(|a| a.writable)
        && (name != "wbt_lat_usec" || wrote(name))
}

/// Why a set can not be written to a queue in this state: every change with its reason, in sentences that show the
/// legal form. Empty if it can be tried. The kernel has the last word: a scheduler that is not listed may be loaded by
/// name, a tunable may come with the scheduler that is asked for, and only the driver knows how many requests it takes.
#[must_use]
pub fn refusals(changes: &[Change], state: &QueueState) -> Vec<(String, String)> {
    let switches = changes.iter().any(|c| {
        c.name == "scheduler"
            && state.effective("scheduler").is_some_and(|s| !same_value("scheduler", &c.requested, &s))
    });
    let mut found: Vec<(String, String)> =
        changes.iter().filter_map(|c| Some((c.name.clone(), refusal(c, state, switches)?))).collect();
    let asked =
        |name: &str| changes.iter().find(|c| c.name == name).and_then(|c| c.requested.parse::<u64>().ok());
    if let (Some(ms), Some(us)) = (asked("iosched/slice_idle"), asked("iosched/slice_idle_us"))
        && us / 1000 != ms
    {
        let why =
            format!("it is iosched/slice_idle_us in ms, and {ms} ms is not {us} us; give one of the two");
        found.push(("iosched/slice_idle".to_owned(), why));
    }
    found
}

fn refusal(change: &Change, state: &QueueState, switches: bool) -> Option<String> {
    let (name, value) = (change.name.as_str(), change.requested.as_str());
    let to_come = Attribute { value: None, writable: true };
    let attribute = match (state.attributes.get(name), name.strip_prefix("iosched/")) {
        (Some(attribute), _) => attribute,
        (None, Some(_)) if switches && restorable(name) => &to_come,
        (None, Some(tunable)) if catalogue::is_known(name) => {
            let active = state.effective("scheduler");
            return Some(format!("{} has no {tunable}", active.as_deref().unwrap_or("this device")));
        }
        (None, _) if catalogue::is_known(name) => return Some(format!("this device has no {name}")),
        (None, _) => {
            return Some("no such setting here; blktune show DEVICE lists what can be set".to_owned());
        }
    };
    let (legal, obstacle) = catalogue::judge(name, attribute, state);
    if let Some(why) = obstacle {
        // Asking for what it already is needs no write.
        let already = attribute.writable && state.effective(name).as_deref() == Some(value);
        return (!already).then_some(why);
    }
    if name == "scheduler" { scheduler_refusal(value, state) } else { legal.refusal(name, value) }
}

fn scheduler_refusal(value: &str, state: &QueueState) -> Option<String> {
    let offered = state.schedulers().map(|s| s.available).unwrap_or_default();
    if offered.iter().any(|o| o == value) {
        return None;
    }
    let offers = offered.join(" ");
    let word = (1..=31).contains(&value.len())
        && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
    if !word {
        return Some(format!("{value:?} is not the name of a scheduler; the kernel offers {offers}"));
    }
    // The kernel compares only the first four letters with none and would switch the scheduler off.
    if value.starts_with("none") && value != "none" {
        return Some(format!(
            "{value:?} is no scheduler, though the kernel would take it for none; it offers {offers}"
        ));
    }
    None
}

/// Whether a value that is read is the one that was asked for: numbers by value, words letter by letter. `deadline` is
/// the kernel's other name of `mq-deadline`, `none` that of `write through`.
#[must_use]
pub fn same_value(name: &str, requested: &str, read: &str) -> bool {
    if requested == read {
        return true;
    }
    match name {
        "scheduler" => return requested == "deadline" && read == "mq-deadline",
        "write_cache" => return requested == "none" && read == "write through",
        _ => {}
    }
    is_decimal(requested)
        && is_decimal(read)
        && requested.trim_start_matches('0') == read.trim_start_matches('0')
}
