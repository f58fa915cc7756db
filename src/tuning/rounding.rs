//! Why another value is read than the one that was written: the rounding and the limits of the kernel, each as tried on
//! Linux 6.1, 6.12 and 6.18. What none of them explains may be a lie.

use super::catalogue::{self, Legal};
use super::change::Change;
use crate::sys::queue::{Attribute, QueueState};

/// The tick rates that kernels are built with, in Hz: times that are kept in ticks are rounded up to whole ones.
const TICK_RATES: [u64; 4] = [100, 250, 300, 1000];

/// What explains that `now` is read after `change` was written, in words; None if nothing known does. `state` is the
/// queue after the write.
pub(super) fn explain(change: &Change, now: &str, state: &QueueState) -> Option<String> {
    let name = change.name.as_str();
    if change.requested == "-1" && name == "wbt_lat_usec" {
        return Some(format!("-1 asks for the kernel's default, which is {now} us for this device"));
    }
    let asked: u64 = change.requested.parse().ok()?;
    let got: u64 = now.parse().ok()?;
    let unset = Attribute { value: None, writable: true };
    let attribute = state.attributes.get(name).unwrap_or(&unset);
    match catalogue::judge(name, attribute, state).0 {
        Legal::Choice(words) if !matches!(name, "rq_affinity" | "io_poll") => truth(asked, got, &words),
        Legal::Number { min, max, .. } => number(name, asked, got, (min, max), state),
        _ => None,
    }
}

/// What is most likely read after `change` is written to a queue in this state, as far as that can be told before: other
/// names (`mq-deadline` for `deadline`), whole pages (4 for a read-ahead of 5 KiB), whole blocks, ends of ranges. What only the
/// kernel can tell (ticks of its timer, its own defaults) is as it was asked.
#[must_use]
pub fn expected(change: &Change, state: &QueueState) -> String {
    let (name, asked) = (change.name.as_str(), change.requested.as_str());
    if (name == "scheduler" && asked == "deadline") || (name == "write_cache" && asked == "none") {
        return if name == "scheduler" { "mq-deadline" } else { "write through" }.to_owned();
    }
    let Ok(number) = asked.parse::<u64>() else { return asked.to_owned() };
    let unset = Attribute { value: None, writable: true };
    let attribute = state.attributes.get(name).unwrap_or(&unset);
    let read = match catalogue::judge(name, attribute, state).0 {
        Legal::Choice(words) if words.iter().all(|w| w.parse::<u64>().is_ok()) => {
            if words.iter().any(|w| w.parse() == Ok(number)) { number } else { 1 }
        }
        Legal::Number { min, max, .. } => {
            let candidates = [
                number.max(u64::try_from(min).unwrap_or(0)).min(max.unwrap_or(u64::MAX)),
                number - number % (rustix::param::page_size() as u64 / 1024).max(1),
            ];
            // Asked for 0, a limit goes to a default that only the kernel knows.
            let known = |got: &u64| number != 0 && explain(change, &got.to_string(), state).is_some();
            candidates.into_iter().find(known).unwrap_or(number)
        }
        _ => number,
    };
    read.to_string()
}

/// Kernels that want 0 or 1 take any other number for 1, and so does `nomerges` beyond 2.
fn truth(asked: u64, got: u64, words: &[String]) -> Option<String> {
    let listed = words.iter().any(|w| w.parse() == Ok(asked));
    (!listed && got == 1)
        .then(|| format!("set to 1; the kernel takes any number beyond {} for 1", words.len() - 1))
}

fn number(
    name: &str,
    asked: u64,
    got: u64,
    (min, max): (i64, Option<u64>),
    state: &QueueState,
) -> Option<String> {
    match name {
        "read_ahead_kb" => {
            let page_kib = (rustix::param::page_size() as u64 / 1024).max(1);
            (got == asked - asked % page_kib).then(|| format!("set to {got} KiB (whole pages)"))
        }
        "max_sectors_kb" => request_size(asked, got, max, state),
        "discard_max_bytes" => {
            (asked > got && max == Some(got)).then(|| format!("set to {got}, the most the device takes"))
        }
        // bfq counts in microseconds.
        "iosched/slice_idle" => None,
        _ => {
            if let Ok(least) = u64::try_from(min)
                && asked < least
                && got == least
            {
                return Some(format!("set to {got}, the least the kernel takes"));
            }
            if max.is_some_and(|most| asked > most && got == most) {
                return Some(format!("set to {got}, the most the kernel can hold"));
            }
            (is_in_ticks(name) && ticks(asked.max(u64::try_from(min).unwrap_or(0)), got))
                .then(|| format!("set to {got} ms (the kernel counts in ticks of its timer)"))
        }
    }
}

/// `max_sectors_kb`: at most what the driver takes, in whole logical blocks; 0 is the default.
fn request_size(asked: u64, got: u64, most: Option<u64>, state: &QueueState) -> Option<String> {
    let block_kib = (state.number("logical_block_size").unwrap_or(512) / 1024).max(1);
    let whole = |kib: u64| kib - kib % block_kib;
    if asked == 0 {
        return Some(format!("0 asks for the kernel's default, which is {got} KiB here"));
    }
    if let Some(most) = most.filter(|most| asked > *most)
        && got == whole(most)
    {
        return Some(format!("set to {got} KiB, the most the driver takes (max_hw_sectors_kb is {most})"));
    }
    (got == whole(asked)).then(|| format!("set to {got} KiB (whole logical blocks of {block_kib} KiB)"))
}

fn is_in_ticks(name: &str) -> bool {
    matches!(
        name,
        "io_timeout"
            | "iosched/read_expire"
            | "iosched/write_expire"
            | "iosched/prio_aging_expire"
            | "iosched/timeout_sync"
    )
}

/// Whether `got` ms are `asked` ms in whole ticks, at some rate.
fn ticks(asked: u64, got: u64) -> bool {
    TICK_RATES.iter().any(|hz| {
        let Some(ticks) = asked.checked_mul(*hz).map(|n| n.div_ceil(1000)) else { return false };
        let ms = ticks.saturating_mul(1000);
        got == ms / hz || got == ms.div_ceil(*hz)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_explained_by_a_tick_and_nothing_else() {
        for (asked, got) in
            [(77, 80), (1, 4), (0, 0), (5, 8), (127, 128), (10, 12), (15, 20), (77, 77), (7, 10)]
        {
            assert!(ticks(asked, got), "{asked} {got}");
        }
        for (asked, got) in [(0, 4), (77, 76), (77, 84), (500, 504), (500, 300), (u64::MAX, 0)] {
            assert!(!ticks(asked, got), "{asked} {got}");
        }
    }

    fn explained(name: &str, asked: &str, got: &str) -> bool {
        let attributes = [
            (name, got, true),
            ("max_hw_sectors_kb", "1282", false),
            ("logical_block_size", "4096", false),
            ("discard_max_hw_bytes", "1073741824", false),
        ];
        let attributes = attributes
            .map(|(n, v, writable)| (n.to_owned(), Attribute { value: Some(v.to_owned()), writable }));
        let state = QueueState { attributes: attributes.into() };
        let change = Change { name: name.to_owned(), requested: asked.to_owned() };
        explain(&change, got, &state).is_some()
    }

    #[test]
    fn what_will_be_read_is_told_before_where_it_can_be() {
        let attributes = [
            ("read_ahead_kb", "128"),
            ("max_sectors_kb", "1280"),
            ("max_hw_sectors_kb", "1280"),
            ("nr_requests", "128"),
            ("nomerges", "0"),
            ("iosched/read_expire", "500"),
            ("scheduler", "[none] mq-deadline"),
        ];
        let attributes =
            attributes.map(|(n, v)| (n.to_owned(), Attribute { value: Some(v.to_owned()), writable: true }));
        let state = QueueState { attributes: attributes.into() };
        for (name, asked, read) in [
            ("read_ahead_kb", "5", "4"),
            ("read_ahead_kb", "3", "0"),
            ("read_ahead_kb", "4096", "4096"),
            ("read_ahead_kb", "0128", "128"),
            ("max_sectors_kb", "99999", "1280"),
            ("max_sectors_kb", "0", "0"),
            ("nr_requests", "1", "4"),
            ("nomerges", "7", "1"),
            ("nomerges", "2", "2"),
            ("iosched/read_expire", "77", "77"),
            ("scheduler", "deadline", "mq-deadline"),
            ("scheduler", "none", "none"),
            ("wbt_lat_usec", "-1", "-1"),
            ("unknown", "x", "x"),
        ] {
            let change = Change { name: name.to_owned(), requested: asked.to_owned() };
            assert_eq!(expected(&change, &state), read, "{name}={asked}");
        }
    }

    #[test]
    fn a_limit_explains_the_value_it_leads_to_and_no_other() {
        for (name, asked, got, lie) in [
            ("max_sectors_kb", "99999", "1280", "512"),
            ("max_sectors_kb", "1026", "1024", "512"),
            ("discard_max_bytes", "2147483648", "1073741824", "4096"),
            ("nomerges", "3", "1", "0"),
            ("iostats", "7", "1", "0"),
            ("iosched/low_latency", "2", "1", "0"),
            ("nr_requests", "1", "4", "8"),
            ("iosched/async_depth", "0", "1", "256"),
            ("iosched/back_seek_max", "2147483648", "2147483647", "16384"),
            ("iosched/read_expire", "77", "80", "500"),
            ("io_timeout", "1", "4", "30000"),
        ] {
            assert!(explained(name, asked, got), "{name} {asked} {got}");
            assert!(!explained(name, asked, lie), "{name} {asked} {lie}");
        }
        for (name, asked, got) in [
            ("rq_affinity", "3", "1"),
            ("io_poll", "2", "1"),
            ("io_poll_delay", "-1", "5"),
            ("max_sectors_kb", "1024", "512"),
            ("nomerges", "2", "1"),
            ("discard_max_bytes", "4096", "1073741824"),
            ("write_cache", "write back", "write through"),
            ("new_in_linux_9", "5", "4"),
        ] {
            assert!(!explained(name, asked, got), "{name} {asked} {got}");
        }
    }
}
