//! What has to be written to take an entry back, and what must be left alone.

use super::apply::write_patiently;
use super::change::{Change, ChangeReport, Outcome};
use super::control::QueueControl;
use super::journal::{Entry, Moved, Stage};
use super::plan;
use super::tag_depth;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// Settings that writes of others move, and that are kept where they are against it. mq-deadline of 6.1 gives
/// `async_depth` the number of requests from before a write of `nr_requests`, so that the way back moves what the way
/// there did not.
const FOLLOWERS: [&str; 3] = ["read_ahead_kb", "nr_requests", "iosched/async_depth"];

/// A setting that is not as it was left.
#[derive(Debug)]
pub(super) struct Foreign {
    name: String,
    wanted: String,
    left: Option<String>,
    now: Option<String>,
}

impl Foreign {
    fn words(&self) -> String {
        let shown = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_owned());
        format!(
            "is {} now, not the {} that blktune left; something else changed it (tuned, a udev rule, a person?); \
             not touched",
            shown(&self.now),
            shown(&self.left)
        )
    }

    pub(super) fn report(&self, device: &KernelName) -> ChangeReport {
        ChangeReport {
            device: device.clone(),
            name: self.name.clone(),
            requested: self.wanted.clone(),
            before: self.now.clone(),
            effective: self.now.clone(),
            outcome: Outcome::Refused,
            message: Some(self.words()),
        }
    }
}

/// What taking an entry back has to do.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// To go back.
    pub(super) back: Vec<Change>,
    /// To stay as it is, against what the writes above would move.
    pub(super) hold: Vec<Change>,
    /// To be left alone.
    pub(super) foreign: Vec<Foreign>,
}

impl Work {
    pub(super) fn foreign_words(&self, device: &KernelName) -> String {
        let words: Vec<String> =
            self.foreign.iter().map(|f| format!("{device} {} {}", f.name, f.words())).collect();
        words.join("; ")
    }

    /// Everything to be written if it differs.
    pub(super) fn writes(&self) -> Vec<Change> {
        self.back.iter().chain(&self.hold).cloned().collect()
    }

    pub(super) fn plan(entry: &Entry, now: &QueueState) -> Self {
        let moved = moved(entry, now);
        let scheduler = moved.iter().find(|m| m.name == "scheduler");
        let is_as_left = |m: &Moved| now.effective(&m.name) == m.effective;
        let switching = scheduler.is_some_and(is_as_left);
        let wrote = |name: &str| entry.planned.iter().any(|c| c.name == name);
        let mut work = Self::default();
        for m in moved.iter().filter(|m| scheduler.is_none() || !m.name.starts_with("iosched/")) {
            let ours = plan::puts_back(&m.name, now, wrote);
            let Some(wanted) = m.before.clone().filter(|_| ours) else { continue };
            let derived = m.name == "nr_requests" && !wrote(&m.name);
            if now.effective(&m.name).as_ref() == Some(&wanted)
                || (derived && scheduler.is_some() && !switching)
            {
                // There already; or moved by a switch of scheduler that is not ours to take back.
                continue;
            }
            if is_as_left(m) {
                work.back.push(Change { name: m.name.clone(), requested: wanted });
            } else {
                let left = m.effective.clone();
                work.foreign.push(Foreign {
                    name: m.name.clone(),
                    wanted,
                    left,
                    now: now.effective(&m.name),
                });
            }
        }
        if switching {
            // They went with the scheduler and come back with its defaults.
            for (name, value) in entry.before.iter().filter(|(n, _)| n.starts_with("iosched/")) {
                work.back.push(Change { name: name.clone(), requested: value.clone() });
            }
        }
        for name in FOLLOWERS {
            let Some(value) = now.effective(name) else { continue };
            // A number of requests that fits this scheduler may be too many for the former one.
            // Tunables go and come with a scheduler.
            let fits = name == "read_ahead_kb" || !switching || entry.before.get(name) == Some(&value);
            if fits && !work.back.iter().any(|c| c.name == name) {
                work.hold.push(Change { name: name.to_owned(), requested: value });
            }
        }
        work
    }
}

/// What the entry moved. For one that was interrupted, forwards or on the way back, nobody knows how far it came: of
/// what it meant to write, what those writes are known to move, and what is known to have moved, everything that now
/// differs from before.
fn moved(entry: &Entry, now: &QueueState) -> Vec<Moved> {
    let certain = matches!(entry.stage, Stage::Held | Stage::Kept) && entry.claim.is_none();
    if certain {
        return entry.moved.clone();
    }
    let meant: Vec<&str> = entry
        .planned
        .iter()
        .map(|c| c.name.as_str())
        .chain(entry.moved.iter().map(|m| m.name.as_str()))
        .collect();
    entry
        .before
        .iter()
        .filter(|(name, _)| meant.iter().any(|m| *m == name.as_str() || moves(m, name)))
        .filter_map(|(name, before)| {
            let effective = now.effective(name);
            (effective.as_ref() != Some(before)).then(|| Moved {
                name: name.clone(),
                before: Some(before.clone()),
                effective,
            })
        })
        .collect()
}

/// Whether a write of one attribute can move another.
fn moves(written: &str, other: &str) -> bool {
    match written {
        "scheduler" => matches!(other, "nr_requests" | "wbt_lat_usec") || other.starts_with("iosched/"),
        "nr_requests" => other.starts_with("iosched/"),
        "read_ahead_kb" | "nomerges" | "rq_affinity" | "wbt_lat_usec" => false,
        _ if written.starts_with("iosched/") => other.starts_with("iosched/"),
        // A write of any limit makes the kernel work out read-ahead anew.
        _ => other == "read_ahead_kb",
    }
}

/// Writes what differs to take `entry` back, in safe order, whatever becomes of the others. Two rounds, since a write can
/// move what was right before it. Answers with the queue as it reads then.
pub(super) fn write_all(queue: &dyn QueueControl, entry: &Entry, wanted: &[Change]) -> QueueState {
    let differs = |state: &QueueState, c: &Change| {
        state.effective(&c.name).is_none_or(|now| !plan::same_value(&c.name, &c.requested, &now))
    };
    let scheduler = wanted.iter().find(|c| c.name == "scheduler");
    let mut state = queue.read();
    for _ in 0..2 {
        let mut written: Vec<&str> = Vec::new();
        for change in plan::order(wanted) {
            if state.attributes.is_empty() {
                return state;
            }
            // Tunables of one name belong to several schedulers; these are the wanted one's.
            let its_scheduler = scheduler.is_none_or(|s| !differs(&state, s));
            if differs(&state, change) && (its_scheduler || !change.name.starts_with("iosched/")) {
                // A failure shows in the comparison afterwards; the others are put back all the same.
                let _ = write_patiently(queue, &change.name, &change.requested);
                written.push(&change.name);
                state = queue.read();
            }
        }
        if tag_depth::concerns(entry) && !written.contains(&"nr_requests") {
            // As above.
            let _ = tag_depth::renew(queue);
            state = queue.read();
        }
        if !wanted.iter().any(|c| differs(&state, c)) {
            break;
        }
    }
    state
}
