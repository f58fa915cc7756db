//! What holds of figures whatever the samples say: devices that come, go and are replaced, clocks that jump, counters of
//! any value.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use blktune::sys::name::KernelName;
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::Sample;
use blktune::telemetry::total::{Leaves, total};
use blktune::telemetry::tracker::RateTracker;
use blktune::units::Nanos;
use proptest::prelude::*;

const NAMES: [&str; 9] =
    ["sda", "sda1", "sdb", "nvme0n1", "nvme0n1p1", "nvme0c0n1", "nvme0c1n1", "loop0", "cciss/c0d0"];

/// A row: which name, which number, and counters that mostly grow a little, or are anything.
fn any_row() -> impl Strategy<Value = (usize, u32, Vec<u64>)> {
    let value = prop_oneof![4 => 0u64..50, 1 => any::<u64>(), 1 => Just(u64::from(u32::MAX))];
    (0..NAMES.len(), 0u32..2, proptest::collection::vec(value, 10..19))
}

#[derive(Clone, Debug)]
struct Step {
    rows: Vec<(usize, u32, Vec<u64>)>,
    ahead_ns: i64,
    asleep_ns: i64,
    diskseq: Vec<(usize, u64)>,
    iostats_off: Vec<usize>,
}

fn any_step() -> impl Strategy<Value = Step> {
    let time =
        prop_oneof![6 => Just(1_000_000_000i64), 1 => any::<i32>().prop_map(i64::from), 1 => any::<i64>()];
    let sleep = prop_oneof![6 => Just(0i64), 1 => any::<i32>().prop_map(|n| i64::from(n) * 100)];
    let seqs = proptest::collection::vec((0..NAMES.len(), 0u64..3), 0..4);
    let off = proptest::collection::vec(0..NAMES.len(), 0..2);
    (proptest::collection::vec(any_row(), 0..8), time, sleep, seqs, off).prop_map(
        |(rows, ahead_ns, asleep_ns, diskseq, iostats_off)| Step {
            rows,
            ahead_ns,
            asleep_ns,
            diskseq,
            iostats_off,
        },
    )
}

fn figures(r: &Rates) -> Vec<f64> {
    [
        r.read_iops,
        r.write_iops,
        r.discard_iops,
        r.flush_iops,
        r.read_bytes_per_s,
        r.write_bytes_per_s,
        r.discard_bytes_per_s,
        r.read_await_ms,
        r.write_await_ms,
        r.discard_await_ms,
        r.flush_await_ms,
        r.read_size_bytes,
        r.write_size_bytes,
        r.discard_size_bytes,
        r.read_merged_pct,
        r.write_merged_pct,
        r.discard_merged_pct,
        r.aqu_sz,
        r.busy_pct,
        r.busy_raw_pct,
        r.await_ms(),
        r.bytes_per_s(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

proptest! {
    #[test]
    fn figures_are_sane_and_instances_only_count_up(steps in proptest::collection::vec(any_step(), 1..12)) {
        let name = |i: usize| KernelName::new(NAMES[i]).unwrap();
        let mut tracker = RateTracker::default();
        let mut totals: HashMap<usize, Vec<u64>> = HashMap::new();
        let mut instances: HashMap<KernelName, u32> = HashMap::new();
        let (mut now, mut slept) = (1_000_000_000_000u64, 0u64);
        let mut before: Option<Sample> = None;
        for step in steps {
            now = now.saturating_add_signed(step.ahead_ns);
            slept = slept.saturating_add_signed(step.asleep_ns);
            let mut text = String::new();
            let mut there = HashSet::new();
            for (i, minor, moved) in step.rows.iter().filter(|(i, ..)| there.insert(*i)) {
                let sums = totals.entry(*i).or_insert_with(|| vec![0; 20]);
                sums.iter_mut().zip(moved).for_each(|(sum, m)| *sum = sum.wrapping_add(*m));
                let columns = sums[..moved.len()].iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
                writeln!(text, "8 {minor} {} {columns}", NAMES[*i]).unwrap();
            }
            let mut sample = Sample {
                monotonic: Nanos(now),
                boot: Some(Nanos(now.saturating_add(slept))),
                diskseq: Arc::new(step.diskseq.iter().map(|(i, n)| (name(*i), *n)).collect()),
                iostats_off: Arc::new(step.iostats_off.iter().map(|i| name(*i)).collect()),
                ..Sample::default()
            };
            sample.read_rows(&text, before.as_ref().map_or(&[], |b| &b.rows));
            // Keys taken from the sample before are those that a fresh reading makes.
            let fresh = Sample::parse(Nanos(now), None, &text, HashMap::new());
            prop_assert_eq!(&sample.rows, &fresh.rows);
            let Some(frame) = tracker.next(&sample) else { continue };
            for d in &frame.devices {
                let all = figures(&d.rates);
                prop_assert!(all.iter().all(|v| v.is_finite() && *v >= 0.0), "{d:?}");
                prop_assert!(d.rates.busy_pct.is_none_or(|v| v <= 100.0));
                prop_assert_eq!(d.delta.is_none(), all.is_empty(), "{:?}", d);
                prop_assert!(!d.new || all.is_empty());
                let last = instances.insert(d.key.name.clone(), d.instance).unwrap_or(1);
                prop_assert!(d.instance >= last, "{d:?} after {last}");
            }
            let names: HashSet<_> = frame.devices.iter().map(|d| &d.key.name).collect();
            prop_assert_eq!(names.len(), frame.devices.len(), "each name once");
            let sum = total(&frame, &Leaves::default());
            prop_assert!(figures(&sum.rates).iter().all(|v| v.is_finite() && *v >= 0.0));
            prop_assert!(sum.leaves <= frame.devices.len());
            before = Some(sample);
        }
    }
}
