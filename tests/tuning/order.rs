//! The order of a set, whatever it holds and however it was given.

use blktune::sys::queue::QueueState;
use blktune::tuning::change::Change;
use blktune::tuning::plan::{order, puts_back, refusals, restorable};
use proptest::prelude::*;

use super::fake::FakeQueue;
use super::set;
use blktune::tuning::control::QueueControl;

const LIMITS: [&str; 9] = [
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
const TUNABLES: [&str; 6] = [
    "iosched/strict_guarantees",
    "iosched/slice_idle_us",
    "iosched/slice_idle",
    "iosched/read_expire",
    "iosched/async_depth",
    "iosched/of_linux_9",
];
const LATER: [&str; 5] = ["nomerges", "rq_affinity", "io_timeout", "io_poll", "io_poll_delay"];

/// Pairs of which the first has to be written before the second, since it moves it (or read-ahead, in the end).
fn before_after() -> Vec<(&'static str, &'static str)> {
    let mut pairs = vec![
        ("scheduler", "nr_requests"),
        ("nr_requests", "async_depth"),
        ("scheduler", "wbt_lat_usec"),
        ("iosched/strict_guarantees", "iosched/slice_idle"),
        ("iosched/strict_guarantees", "iosched/slice_idle_us"),
        ("iosched/slice_idle_us", "iosched/slice_idle"),
        ("wbt_lat_usec", "nomerges"),
        ("nomerges", "rq_affinity"),
    ];
    for limit in LIMITS {
        pairs.extend([(limit, "scheduler"), (limit, "read_ahead_kb")]);
    }
    for tunable in TUNABLES {
        pairs.extend([("nr_requests", tunable), ("scheduler", tunable), (tunable, "wbt_lat_usec")]);
    }
    for later in LATER {
        pairs.extend([("wbt_lat_usec", later), (later, "read_ahead_kb")]);
    }
    pairs.extend(LIMITS.windows(2).map(|w| (w[0], w[1])));
    pairs.extend([("unknown_of_linux_9", "read_ahead_kb"), ("scheduler", "unknown_of_linux_9")]);
    pairs
}

fn any_names() -> impl Strategy<Value = Vec<&'static str>> {
    let mut all: Vec<&str> = LIMITS.into_iter().chain(TUNABLES).chain(LATER).collect();
    all.extend([
        "scheduler",
        "nr_requests",
        "async_depth",
        "wbt_lat_usec",
        "read_ahead_kb",
        "unknown_of_linux_9",
    ]);
    let n = all.len();
    prop::sample::subsequence(all, 0..=n).prop_shuffle()
}

proptest! {
    #[test]
    fn nothing_is_written_after_what_it_moves(names in any_names()) {
        let changes: Vec<Change> =
            names.iter().map(|n| Change { name: (*n).to_owned(), requested: "1".to_owned() }).collect();
        let ordered: Vec<&str> = order(&changes).iter().map(|c| c.name.as_str()).collect();
        prop_assert_eq!(ordered.len(), names.len());
        for (first, second) in before_after() {
            let place = |name: &str| ordered.iter().position(|n| *n == name);
            if let (Some(a), Some(b)) = (place(first), place(second)) {
                prop_assert!(a < b, "{} before {} in {:?}", first, second, ordered);
            }
        }
        if names.contains(&"read_ahead_kb") {
            prop_assert_eq!(ordered.last(), Some(&"read_ahead_kb"));
        }
        let again: Vec<Change> = order(&changes).into_iter().cloned().collect();
        prop_assert_eq!(order(&again), again.iter().collect::<Vec<_>>(), "ordering is done once and for all");
    }

    #[test]
    fn no_words_whatever_are_taken_for_a_path_or_a_value(name in ".{0,40}", value in ".{0,40}") {
        let state = FakeQueue::new().read();
        let change = Change { name: name.clone(), requested: value.clone() };
        if refusals(&[change], &state).is_empty() {
            prop_assert!(state.attributes.contains_key(&name));
            prop_assert!(!value.trim().is_empty() && !value.chars().any(char::is_control));
        }
        if restorable(&name) {
            let file = name.strip_prefix("iosched/").unwrap_or(&name);
            prop_assert!(!file.contains(['/', '.']) && file.is_ascii() && !file.is_empty());
        }
    }
}

#[test]
fn wbt_is_put_back_only_by_the_set_that_wrote_it_and_read_only_ones_never() {
    let state: QueueState = FakeQueue::new().read();
    assert!(!puts_back("wbt_lat_usec", &state, |_| false));
    assert!(puts_back("wbt_lat_usec", &state, |n| n == "wbt_lat_usec"));
    assert!(puts_back("nr_requests", &state, |_| false), "what a switch of scheduler moved");
    assert!(!puts_back("discard_granularity", &state, |_| true));
    assert!(!puts_back("no_such_thing", &state, |_| true));
}

#[test]
fn a_contradiction_is_refused_and_agreement_is_not() {
    let q = FakeQueue::new();
    q.foreign("scheduler", "bfq");
    let refused =
        |text: &str| refusals(&set(text), &q.read()).into_iter().map(|(n, _)| n).collect::<Vec<_>>();
    assert_eq!(refused("iosched/slice_idle=1 iosched/slice_idle_us=2000"), ["iosched/slice_idle"]);
    assert_eq!(refused("iosched/slice_idle=2 iosched/slice_idle_us=2999"), Vec::<String>::new());
    assert_eq!(refused("iosched/read_expire=80"), ["iosched/read_expire"], "bfq has none");
    assert_eq!(refused("iosched/read_expire=80 scheduler=bfq"), ["iosched/read_expire"], "that is no switch");
    assert_eq!(refused("iosched/read_expire=80 scheduler=mq-deadline"), Vec::<String>::new());
    assert_eq!(refused("iosched/read_expire=soon scheduler=mq-deadline"), ["iosched/read_expire"]);
    assert_eq!(refused("iosched/../nomerges=1 scheduler=mq-deadline"), ["iosched/../nomerges"]);
}
