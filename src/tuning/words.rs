//! What is said about a change: each message tells what happened and what to do, in one sentence.

use super::change::{Change, Outcome};
use super::plan;
use crate::sys::attr::{self, AttrError};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Why the kernel refused a write. `state` is the queue after it.
pub(super) fn refusal(change: &Change, state: &QueueState, error: &AttrError) -> String {
    let value = &change.requested;
    let invalid = error.errno() == Some(libc::EINVAL);
    match change.name.as_str() {
        "scheduler" if invalid || error.errno() == Some(libc::ENOENT) => match state.schedulers() {
            Some(list) if list.available.iter().any(|a| a == value) => {
                format!(
                    "the kernel lists {value} but does not take it here ({})",
                    attr::explain(&error.source)
                )
            }
            Some(list) => format!(
                "the kernel offers {}; {value} may be in a module that is not loaded",
                list.available.join(" ")
            ),
            None => attr::explain(&error.source),
        },
        "nr_requests" if invalid => {
            let active = state.effective("scheduler");
            if active.as_deref().is_none_or(|s| s == "none") {
                format!(
                    "the kernel does not take {value}: without a scheduler the driver's own queue depth is the most"
                )
            } else {
                format!(
                    "the kernel does not take {value}: under a scheduler 2048 is the most, and less on some devices"
                )
            }
        }
        "read_ahead_kb" if invalid => {
            format!("the kernel does not take {value}: 4294967295 KiB is the most it can hold")
        }
        _ => attr::explain(&error.source),
    }
}

/// Why a write that the kernel claims to have done is not believed: nothing moved, or to something that rounding and
/// limits do not explain. None if it did what was asked, or a limited form of it.
pub(super) fn disbelief(change: &Change, prior: Option<&str>, now: Option<&str>) -> Option<String> {
    let Some(now) = now else {
        return Some("the kernel took it, but it can not be read back".to_owned());
    };
    if plan::same_value(&change.name, &change.requested, now) || limited(change, now).is_some() {
        return None;
    }
    if Some(now) == prior {
        return Some(format!("the kernel took it and nothing changed: it still reads {now}"));
    }
    match change.name.as_str() {
        // These have no values in between.
        "scheduler" | "rotational" => {
            Some(format!("the kernel took it and reads back {now} instead; its log may say why"))
        }
        _ => None,
    }
}

/// The rounding or limit that explains why `now` is read where another value was written.
fn limited(change: &Change, now: &str) -> Option<String> {
    let asked: u64 = change.requested.parse().ok()?;
    let got: u64 = now.parse().ok()?;
    match change.name.as_str() {
        "read_ahead_kb" => {
            let page_kib = (rustix::param::page_size() as u64 / 1024).max(1);
            (got == asked - asked % page_kib).then(|| format!("set to {got} KiB (whole pages)"))
        }
        "nr_requests" => (asked < 4 && got == 4).then(|| "set to 4, the least the kernel takes".to_owned()),
        _ => None,
    }
}

/// What there is to say about a change that was carried out.
pub(super) fn success(change: &Change, outcome: Outcome, now: Option<&str>) -> Option<String> {
    let now = now.unwrap_or("nothing");
    match outcome {
        Outcome::Clamped => {
            Some(limited(change, now).unwrap_or_else(|| format!("the kernel took it and reads back {now}")))
        }
        Outcome::Applied | Outcome::Unchanged if change.name == "scheduler" && change.requested != now => {
            Some(format!("{} is the kernel's other name of {now}", change.requested))
        }
        Outcome::Unchanged => Some("it had this value already; nothing was written".to_owned()),
        Outcome::Applied | Outcome::Refused => None,
    }
}

/// A setting that is not as it was.
pub(super) fn not_restored(device: &KernelName, name: &str, was: Option<&str>, now: Option<&str>) -> String {
    match (was, now) {
        (Some(was), Some(now)) => format!("{device} {name} was {was} and is {now} now"),
        (Some(was), None) => format!("{device} {name} was {was} and can not be read now"),
        (None, now) => format!("{device} {name} was not there and is {} now", now.unwrap_or("unreadable")),
    }
}
