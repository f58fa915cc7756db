//! What is said about a change: each message tells what happened and what to do, in one sentence.

use super::catalogue::{self, FLUSHES_STOP, Legal};
use super::change::{Change, Outcome};
use super::plan;
use super::rounding;
use crate::sys::attr::{self, AttrError};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Why the kernel refused a write. `state` is the queue after it.
pub(super) fn refusal(change: &Change, state: &QueueState, error: &AttrError) -> String {
    let general = || attr::explain(&error.source);
    match error.errno() {
        Some(libc::EINVAL) => invalid(change, state).unwrap_or_else(general),
        Some(libc::ENOENT) if change.name == "scheduler" => invalid(change, state).unwrap_or_else(general),
        Some(libc::ENOENT | libc::ENODEV) if change.name.starts_with("iosched/") => {
            let active = state.effective("scheduler").unwrap_or_default();
            let tunable = change.name.trim_start_matches("iosched/");
            format!("{active}, the scheduler then, has no {tunable}")
        }
        Some(libc::ERANGE) => format!("{} is more than the kernel can hold here", change.requested),
        _ => general(),
    }
}

/// Why the kernel does not take a value; None if there is no more to say than that.
fn invalid(change: &Change, state: &QueueState) -> Option<String> {
    let value = &change.requested;
    let read = |name: &str| state.effective(name);
    let why = match change.name.as_str() {
        "scheduler" => {
            let list = state.schedulers()?;
            if list.available.iter().any(|a| a == value) {
                return Some(format!(
                    "the kernel lists {value} but does not take it here (Invalid argument)"
                ));
            }
            let offers = list.available.join(" ");
            return Some(format!(
                "the kernel offers {offers}; {value} may be in a module that is not loaded"
            ));
        }
        "nr_requests" if read("scheduler").as_deref().is_none_or(|s| s == "none") => {
            "without a scheduler the driver's own queue depth is the most".to_owned()
        }
        "nr_requests" => "under a scheduler 2048 is the most, and less on some devices".to_owned(),
        "read_ahead_kb" => "4294967295 KiB is the most it can hold".to_owned(),
        "max_sectors_kb" => match read("max_hw_sectors_kb") {
            Some(most) => {
                format!("a page (4 KiB) is the least, and some kernels take no more than {most} KiB")
            }
            None => "a page (4 KiB) is the least, and the driver sets the most".to_owned(),
        },
        "discard_max_bytes" => match read("discard_granularity").filter(|g| g != "0") {
            Some(step) => format!("only multiples of discard_granularity, {step} bytes, are taken"),
            None => "this device takes no discards, or they were switched off for good".to_owned(),
        },
        "write_zeroes_unmap_max_bytes" => {
            let most = read("write_zeroes_unmap_max_hw_bytes").filter(|m| m != "0");
            most.map_or_else(|| "only 0 is taken here".to_owned(), |m| format!("only 0 or {m} is taken"))
        }
        "wbt_lat_usec" => "it is not set up on this device, or the number is out of range".to_owned(),
        "io_poll" => "the driver has no queues that can be polled".to_owned(),
        "io_timeout" => "1 ms is the least, 4294967295 the most".to_owned(),
        "async_depth" | "iosched/async_depth" => {
            "a scheduler has to be active, and 1 is the least".to_owned()
        }
        _ => return None,
    };
    Some(format!("the kernel does not take {value}: {why}"))
}

/// Why a write that the kernel claims to have done is not believed: nothing moved, or to something that rounding and
/// limits do not explain. None if it did what was asked, or a limited form of it. `state` is the queue after it.
pub(super) fn disbelief(change: &Change, prior: Option<&str>, state: &QueueState) -> Option<String> {
    let Some(now) = state.effective(&change.name) else {
        return Some("the kernel took it, but it can not be read back".to_owned());
    };
    if plan::same_value(&change.name, &change.requested, &now)
        || rounding::explain(change, &now, state).is_some()
    {
        return None;
    }
    if prior == Some(now.as_str()) {
        let why = match change.name.as_str() {
            "io_poll" | "io_poll_delay" => "; this kernel ignores writes to it",
            "write_cache" => "; the driver told the kernel of no cache that would need flushes",
            "rq_affinity" => "; it knows 0, 1 and 2",
            _ => "",
        };
        return Some(format!("the kernel took it and nothing changed: it still reads {now}{why}"));
    }
    let words = state
        .attributes
        .get(&change.name)
        .is_some_and(|a| matches!(catalogue::judge(&change.name, a, state).0, Legal::Choice(_)));
    // These have no values in between.
    words.then(|| format!("the kernel took it and reads back {now} instead; its log may say why"))
}

/// What there is to say about a change that was carried out. `verified` is what was read right after the write, if it
/// was written.
pub(super) fn success(
    change: &Change,
    outcome: Outcome,
    before: Option<&str>,
    verified: Option<&str>,
    after: &QueueState,
) -> Option<String> {
    let now = after.effective(&change.name);
    let now = now.as_deref().unwrap_or("nothing");
    if let Some(verified) = verified.filter(|v| *v != now) {
        return Some(format!("it read back {verified}, and then something moved it to {now}"));
    }
    if change.name == "write_cache" && before == Some("write back") && now == "write through" {
        return Some(FLUSHES_STOP.to_owned());
    }
    match outcome {
        Outcome::Clamped => Some(
            rounding::explain(change, now, after)
                .unwrap_or_else(|| format!("the kernel took it and reads back {now}")),
        ),
        Outcome::Applied | Outcome::Unchanged
            if matches!(change.name.as_str(), "scheduler" | "write_cache") && change.requested != now =>
        {
            Some(format!("{} is the kernel's other name of {now}", change.requested))
        }
        Outcome::Unchanged => Some("it had this value already; nothing was written".to_owned()),
        Outcome::Applied | Outcome::Refused => None,
    }
}

/// A setting that is not as it was.
pub(super) fn not_restored(
    device: &KernelName,
    name: &str,
    (was, before): (Option<&str>, &QueueState),
    now: Option<&str>,
) -> String {
    match (was, now) {
        (Some(was), Some(now)) => format!("{device} {name} was {was} and is {now} now"),
        (Some(was), None) => format!("{device} {name} was {was} and can not be read now"),
        (None, now) => {
            let was =
                if before.attributes.contains_key(name) { "could not be read" } else { "was not there" };
            format!("{device} {name} {was} and is {} now", now.unwrap_or("unreadable"))
        }
    }
}
