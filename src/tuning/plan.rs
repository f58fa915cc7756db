//! From a set of changes to the writes: what is wrong with it, and the order it has to be written in.

use super::catalogue::{self, CHANGEABLE};
use super::change::Change;
use crate::sys::queue::QueueState;

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

/// Place of a setting in the order of writing.
///
/// A write of a limit (`rotational`) raises read-ahead, a switch of scheduler resets `nr_requests` and makes
/// `iosched/` anew, a write of `nr_requests` resets `iosched/async_depth`, and bfq's `strict_guarantees` moves
/// `slice_idle`. So each comes before what it moves, and `read_ahead_kb` comes last.
fn rank(name: &str) -> u8 {
    match name {
        "rotational" => 0,
        "scheduler" => 1,
        "nr_requests" => 2,
        "iosched/strict_guarantees" => 3,
        // One setting under two names: the finer one first, then the other is right already.
        "iosched/slice_idle_us" => 4,
        "read_ahead_kb" => 7,
        _ if name.starts_with("iosched/") => 5,
        _ => 6,
    }
}

/// The changes in the order they are to be written; equal places keep the order they were given in.
#[must_use]
pub fn order(changes: &[Change]) -> Vec<&Change> {
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by_key(|c| rank(&c.name));
    ordered
}

/// Whether an attribute is put back when a set is taken back: what this program changes, and the scheduler's tunables
/// that a switch loses. Anything else that moves is derived by the kernel from these, and writing it would fix it
/// (`wbt_lat_usec` read 0 under bfq; written 0 it stays off for good).
#[must_use]
pub fn restorable(name: &str) -> bool {
    CHANGEABLE.contains(&name)
        || name.strip_prefix("iosched/").is_some_and(|t| {
            !t.is_empty() && t.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        })
}

/// Why a change can not be written to a queue in this state, in a sentence that shows the legal form; None if it can be
/// tried. The kernel has the last word: a scheduler that is not listed may be loaded by name, and only the driver knows
/// how many requests it takes.
#[must_use]
pub fn refusal(change: &Change, state: &QueueState) -> Option<String> {
    let (name, value) = (change.name.as_str(), change.requested.as_str());
    let Some(attribute) = state.attributes.get(name) else {
        return Some(if catalogue::is_known(name) {
            format!("this device has no {name}")
        } else {
            format!("no such setting; blktune changes {}", CHANGEABLE.join(", "))
        });
    };
    if let Some(why) = catalogue::obstacle(name, attribute, state) {
        // Asking for what it already is needs no write.
        let already = CHANGEABLE.contains(&name) && state.effective(name).as_deref() == Some(value);
        return (!already).then_some(why);
    }
    match name {
        "scheduler" => scheduler_refusal(value, state),
        "rotational" if value != "0" && value != "1" => Some(format!("{value:?} is not 0 or 1")),
        "rotational" => None,
        _ if is_decimal(value) => None,
        _ => {
            Some(format!("{value:?} is not a whole number (digits only, no sign, no unit{})", example(name)))
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "read_ahead_kb" => "; 4 MiB is 4096",
        _ => "",
    }
}

fn is_decimal(text: &str) -> bool {
    // 20 digits hold any 64-bit number; what is longer is no number of the kernel's.
    (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
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
/// the kernel's other name of `mq-deadline`.
#[must_use]
pub fn same_value(name: &str, requested: &str, read: &str) -> bool {
    if requested == read {
        return true;
    }
    if name == "scheduler" {
        return requested == "deadline" && read == "mq-deadline";
    }
    is_decimal(requested)
        && is_decimal(read)
        && requested.trim_start_matches('0') == read.trim_start_matches('0')
}
