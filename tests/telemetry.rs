//! Scripted samples against values worked out by hand: each test is a short story of `/proc/diskstats`.
//!
//! Columns: number and name | reads, merged, sectors, ms | writes the same | in flight, busy ms, weighted ms |
//! discards as reads | flushes, ms. A sector is 512 bytes.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use blktune::sys::name::KernelName;
use blktune::telemetry::note::Note;
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::Sample;
use blktune::telemetry::total::{Leaves, Total, total};
use blktune::telemetry::tracker::{DeviceRates, Frame, RateTracker};
use blktune::units::Nanos;

const MIB: f64 = 1_048_576.0;

fn name(text: &str) -> KernelName {
    KernelName::new(text).unwrap()
}

/// A tracker and what goes with its samples.
#[derive(Default)]
struct Story {
    tracker: RateTracker,
    diskseq: HashMap<KernelName, u64>,
    iostats_off: HashSet<KernelName>,
}

impl Story {
    fn new() -> Self {
        Self::default()
    }

    /// The frame after a sample at that many milliseconds, of a host that never slept.
    fn at(&mut self, ms: u64, text: &str) -> Frame {
        self.try_at(ms, ms, text).unwrap()
    }

    fn try_at(&mut self, monotonic_ms: u64, boot_ms: u64, text: &str) -> Option<Frame> {
        let nanos = |ms: u64| Nanos(ms * 1_000_000);
        let mut sample = Sample::parse(nanos(monotonic_ms), Some(nanos(boot_ms)), text, self.diskseq.clone());
        sample.iostats_off = Arc::new(self.iostats_off.clone());
        self.tracker.next(&sample)
    }

    fn has_seq(&mut self, device: &str, seq: u64) {
        self.diskseq.insert(name(device), seq);
    }
}

fn row<'a>(frame: &'a Frame, device: &str) -> &'a DeviceRates {
    let mut found = frame.devices.iter().filter(|d| d.key.name == name(device));
    let row = found.next().unwrap_or_else(|| panic!("no row {device}"));
    assert!(found.next().is_none(), "two rows {device}");
    row
}

#[track_caller]
fn is(got: Option<f64>, expected: f64) {
    assert!(got.is_some_and(|v| (v - expected).abs() < 1e-9 * expected.max(1.0)), "{got:?}, not {expected}");
}

/// Every figure of a row.
fn figures(r: &Rates) -> [Option<f64>; 20] {
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
    ]
}

#[track_caller]
fn is_unknown(d: &DeviceRates) {
    assert_eq!((figures(&d.rates), &d.delta), ([None; 20], &None), "{d:?}");
}

#[test]
fn a_device_made_again_under_its_name_is_another_device() {
    let mut s = Story::new();
    s.at(0, "253 3 dm-3 4210 0 336800 5120 9000 0 720000 8800 0 9100 13920 0 0 0 0 0 0");
    let f = s.at(1000, "253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7 0 0 0 0 0 0");
    let d = row(&f, "dm-3");
    is_unknown(d);
    assert_eq!((d.new, d.instance, &d.rates.notes[..]), (true, 2, &[Note::NewDevice][..]));
    let f = s.at(2000, "253 3 dm-3 112 0 25696 44 1 0 2048 3 0 56 47 0 0 0 0 0 0");
    let d = row(&f, "dm-3");
    // 100 reads of 25,600 sectors = 12.5 MiB, 40 ms in all; busy 50 of 1000 ms.
    is(d.rates.read_iops, 100.0);
    is(d.rates.read_bytes_per_s, 12.5 * MIB);
    is(d.rates.read_await_ms, 0.4);
    is(d.rates.busy_pct, 5.0);
    assert_eq!((d.new, d.instance, d.rates.write_await_ms), (false, 2, None));
}

#[test]
fn busy_above_100_is_cut_and_said_and_no_time_gives_no_figures() {
    let t0 = "8 0 sda 100 0 800 90 50 0 400 40 0 1000 130 0 0 0 0 0 0";
    let t1 = "8 0 sda 102 0 802 93 50 0 400 40 0 2007 133 0 0 0 0 0 0";
    let mut s = Story::new();
    s.at(0, t0);
    let f = s.at(1000, t1);
    let r = &row(&f, "sda").rates;
    is(r.busy_pct, 100.0);
    is(r.busy_raw_pct, 100.7);
    is(r.read_iops, 2.0);
    is(r.read_size_bytes, 512.0);
    is(r.read_await_ms, 1.5);
    assert_eq!(r.notes, [Note::BusySampled]);
    assert!(r.notes[0].to_string().contains("sampled by the kernel"));
    assert_eq!((r.write_iops, r.write_size_bytes, r.write_await_ms), (Some(0.0), None, None));

    let mut tracker = RateTracker::default();
    let at = |ns, text| Sample::parse(Nanos(ns), None, text, HashMap::new());
    tracker.next(&at(0, t0)).unwrap();
    assert_eq!(tracker.next(&at(0, t1)), None);
    assert_eq!(tracker.next(&at(400_000, t1)), None);
    // The base is still the first sample: 2 reads in 2 s.
    is(row(&tracker.next(&at(2_000_000_000, t1)).unwrap(), "sda").rates.read_iops, 1.0);
}

#[test]
fn both_spellings_of_a_name_are_one_device() {
    let mut s = Story::new();
    // sysfs says "!", the file "/".
    s.has_seq("cciss!c0d0", 7);
    let t = |ios: u64, part: u64| {
        format!(
            "104 0 cciss/c0d0 {ios} 0 {} 5 0 0 0 0 0 5 5\n104 1 cciss/c0d0p1 {part} 0 0 0 0 0 0 0 0 0 0",
            ios * 8
        )
    };
    s.at(0, &t(10, 4));
    let f = s.at(1000, &t(20, 9));
    let d = row(&f, "cciss!c0d0");
    is(d.rates.read_iops, 10.0);
    is(row(&f, "cciss!c0d0p1").rates.read_iops, 5.0);
    assert_eq!((d.key.name.kernel().as_str(), d.key.name.sysfs()), ("cciss/c0d0", "cciss!c0d0"));
    // One device, its partition not beside it.
    let sum = total(&f, &Leaves::default());
    is(sum.rates.read_iops, 10.0);
    assert_eq!(sum.leaves, 1);
    // Another disk in the slot: its partition is another one too, though its counters went on.
    s.has_seq("cciss/c0d0", 8);
    let f = s.at(2000, &t(30, 12));
    for n in ["cciss/c0d0", "cciss/c0d0p1"] {
        is_unknown(row(&f, n));
        assert_eq!(row(&f, n).instance, 2, "{n}");
    }
}

/// Two paths and their head; `head` is its reads, sectors and milliseconds.
fn multipath(a: &str, b: &str, head: &str) -> String {
    format!(
        "0 0 nvme0c0n1 {a}\n0 0 nvme0c1n1 {b}\n259 1 nvme0n1 {head}\n259 2 nvme0n1p1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"
    )
}

const PATH_T0: &str = "1000 0 8000 100 0 0 0 0 0 90 100 0 0 0 0 0 0";
const PATH_A_T1: &str = "4000 0 32000 400 0 0 0 0 4 390 400 0 0 0 0 0 0";
const PATH_B_T1: &str = "2000 0 16000 200 0 0 0 0 1 190 200 0 0 0 0 0 0";
const STILL: &str = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

#[test]
fn a_head_that_counts_nothing_has_the_figures_of_its_paths() {
    let mut s = Story::new();
    let f = s.at(0, &multipath(PATH_T0, PATH_T0, STILL));
    is_unknown(row(&f, "nvme0n1"));
    let f = s.at(1000, &multipath(PATH_A_T1, PATH_B_T1, STILL));
    let d = row(&f, "nvme0n1");
    // 3000 + 1000 reads of 4 KiB: 32,000 sectors = 15.625 MiB. 300 + 100 ms over 4000 reads.
    is(d.rates.read_iops, 4000.0);
    is(d.rates.read_bytes_per_s, 15.625 * MIB);
    is(d.rates.read_await_ms, 0.1);
    is(d.rates.aqu_sz, 0.4);
    // Both at once or one after the other: at least as long as the busier one.
    is(d.rates.busy_pct, 30.0);
    assert_eq!((d.rates.in_flight, &d.rates.notes[..]), (Some(5), &[Note::FromPaths][..]));
    assert_eq!((d.new, d.instance), (false, 1));
    // The paths keep rows of their own; two devices of number 0:0 do not collide.
    is(row(&f, "nvme0c0n1").rates.read_iops, 3000.0);
    is(row(&f, "nvme0c1n1").rates.read_iops, 1000.0);
    assert_eq!(f.paths, [(name("nvme0n1"), vec![name("nvme0c0n1"), name("nvme0c1n1")])]);
    // What the partition did is not known, and the total has it once.
    is_unknown(row(&f, "nvme0n1p1"));
    assert_eq!(row(&f, "nvme0n1p1").rates.notes, [Note::CountedOnPaths]);
    let sum = total(&f, &Leaves::default());
    is(sum.rates.read_iops, 4000.0);
    assert_eq!(sum.leaves, 1);
    // Idle all around is known to be idle.
    let f = s.at(2000, &multipath(PATH_A_T1, PATH_B_T1, STILL));
    is(row(&f, "nvme0n1").rates.read_iops, 0.0);
    is(row(&f, "nvme0n1p1").rates.read_iops, 0.0);
}

#[test]
fn a_head_that_counts_itself_is_believed_alone() {
    let mut s = Story::new();
    s.at(0, &multipath(PATH_T0, PATH_T0, STILL));
    let own = "4000 0 32000 440 0 0 0 0 5 400 440 0 0 0 0 0 0";
    let f = s.at(1000, &multipath(PATH_A_T1, PATH_B_T1, own));
    let d = row(&f, "nvme0n1");
    is(d.rates.read_iops, 4000.0);
    is(d.rates.read_await_ms, 0.11);
    assert_eq!(d.rates.notes, []);
    is(row(&f, "nvme0n1p1").rates.read_iops, 0.0);
    let sum = total(&f, &Leaves::default());
    is(sum.rates.read_iops, 4000.0);
    assert_eq!(sum.leaves, 1);
}

#[test]
fn a_head_without_a_row_is_made_of_its_paths() {
    let mut s = Story::new();
    let t = |a: &str, b: &str| format!("0 0 nvme0c0n1 {a}\n0 0 nvme0c1n1 {b}\n8 0 sda {STILL}");
    let f = s.at(0, &t(PATH_T0, PATH_T0));
    is_unknown(row(&f, "nvme0n1"));
    let f = s.at(1000, &t(PATH_A_T1, PATH_B_T1));
    let d = row(&f, "nvme0n1");
    is(d.rates.read_iops, 4000.0);
    assert_eq!(d.rates.notes, [Note::FromPaths, Note::NoRow]);
    let sum = total(&f, &Leaves::default());
    is(sum.rates.read_iops, 4000.0);
    assert_eq!(sum.leaves, 2, "the head and sda");
    // A head that has had a row, was replaced, and has none again does not count from the first instance.
    let mut s = Story::new();
    s.at(0, &multipath(PATH_T0, PATH_T0, PATH_T0));
    s.at(1000, &multipath(PATH_T0, PATH_T0, STILL));
    assert_eq!(row(&s.at(2000, &t(PATH_T0, PATH_T0)), "nvme0n1").instance, 2);
}

#[test]
fn a_path_that_comes_or_starts_anew_does_not_spoil_its_head() {
    let mut s = Story::new();
    let one = |a: &str| format!("0 0 nvme0c0n1 {a}\n259 1 nvme0n1 {STILL}");
    s.at(0, &one(PATH_T0));
    // The other path appears with all that it ever did: only the first counts.
    let f = s.at(1000, &multipath(PATH_A_T1, "900000 0 7200000 0 0 0 0 0 0 0 0", STILL));
    let d = row(&f, "nvme0n1");
    is(d.rates.read_iops, 3000.0);
    assert_eq!(d.rates.notes, [Note::FromPaths, Note::PathNew]);
    // It starts from zero: again without it.
    let more = "4500 0 36000 450 0 0 0 0 0 440 450 0 0 0 0 0 0";
    let f = s.at(2000, &multipath(more, "10 0 80 0 0 0 0 0 0 0 0", STILL));
    let d = row(&f, "nvme0n1");
    is(d.rates.read_iops, 500.0);
    assert_eq!(d.rates.notes, [Note::FromPaths, Note::PathNew]);
    assert_eq!(row(&f, "nvme0c1n1").instance, 2);
    // The path that did nothing is known, what the one that is new again did is not: nor is the head.
    let f = s.at(3000, &multipath(more, "5 0 40 0 0 0 0 0 0 0 0", STILL));
    is_unknown(row(&f, "nvme0n1"));
    assert_eq!(row(&f, "nvme0n1").rates.notes, [Note::PathNew]);
    // One path goes: its last I/O is lost, and that is said.
    let f = s.at(4000, &one("4600 0 36800 460 0 0 0 0 0 450 460 0 0 0 0 0 0"));
    is(row(&f, "nvme0n1").rates.read_iops, 100.0);
    assert_eq!(row(&f, "nvme0n1").rates.notes, [Note::FromPaths, Note::PathGone]);
}

#[test]
fn the_sum_of_all_request_times_wraps_and_is_no_new_device() {
    let mut s = Story::new();
    s.has_seq("nvme0n1", 3);
    // 32 deep for 37 hours: the sum goes round at 4,294,967,296 ms.
    s.at(0, "259 0 nvme0n1 5000000 0 40000000 4294960000 0 0 0 0 32 133000000 4294960000 0 0 0 0 0 0");
    let f = s.at(1000, "259 0 nvme0n1 5010000 0 40080000 24704 0 0 0 0 32 133001000 24704 0 0 0 0 0 0");
    let d = row(&f, "nvme0n1");
    // From 4,294,960,000 to 2^32 are 7,296 ms, and 24,704 more: 32,000 ms over 10,000 reads.
    is(d.rates.aqu_sz, 32.0);
    is(d.rates.read_await_ms, 3.2);
    is(d.rates.read_iops, 10_000.0);
    assert_eq!((d.new, d.instance, &d.rates.notes[..]), (false, 1, &[][..]));
}

#[test]
fn a_count_that_falls_is_a_reset_even_beside_a_wrap() {
    let mut s = Story::new();
    s.has_seq("sda", 4);
    s.at(0, "8 0 sda 5000 0 40000 4294967000 70 0 560 40 0 900 4294967000 0 0 0 0 0 0");
    // Milliseconds look like a wrap, writes went on, reads fell.
    let f = s.at(1000, "8 0 sda 10 0 80 5 75 0 600 45 1 5 50 0 0 0 0 0 0");
    let d = row(&f, "sda");
    is_unknown(d);
    assert_eq!((d.new, d.instance, &d.rates.notes[..]), (true, 2, &[Note::CountersReset][..]));
    assert_eq!(d.rates.in_flight, Some(1), "the gauge is true of any instance");
    // Counts of 32 bits (32-bit kernels) that go round fall too: one interval is lost, nothing huge is shown.
    let mut s = Story::new();
    s.at(0, "8 0 sda 4294967290 0 8 0 0 0 0 0 0 0 0");
    let f = s.at(1000, "8 0 sda 4 0 88 0 0 0 0 0 0 0 0");
    is_unknown(row(&f, "sda"));
    let f = s.at(2000, "8 0 sda 14 0 168 0 0 0 0 0 0 0 0");
    is(row(&f, "sda").rates.read_iops, 10.0);
}

#[test]
fn a_flood_of_discards_is_no_throughput() {
    let mut s = Story::new();
    s.at(0, "8 0 sda 0 0 0 0 0 0 0 0 0 0 0 100 5 0 0 0 0");
    // 16 discards of 1 GiB (2,097,152 sectors), 48 more folded into them, 4 s each, in 2 s.
    let f = s.at(2000, "8 0 sda 0 0 0 0 0 0 0 0 3 2000 64000 116 53 33554432 64000 0 0");
    let r = &row(&f, "sda").rates;
    is(r.discard_iops, 8.0);
    is(r.discard_bytes_per_s, 8.0 * 1024.0 * MIB);
    is(r.discard_size_bytes, 1024.0 * MIB);
    is(r.discard_await_ms, 4000.0);
    is(r.discard_merged_pct, 75.0);
    is(r.busy_pct, 100.0);
    is(r.aqu_sz, 32.0);
    is(r.bytes_per_s(), 0.0);
    assert_eq!((r.await_ms(), r.read_await_ms, r.flush_await_ms), (None, None, None));
}

#[test]
fn flushes_alone_have_a_wait_and_no_data() {
    let mut s = Story::new();
    s.at(0, "8 0 sda 7 0 56 1 9 0 72 2 0 50 100 0 0 0 0 1000 4294967290");
    // The time of flushes wraps as well: 6 ms to 2^32 and 194 more, over 50 flushes. They are in the sum of all.
    let f = s.at(1000, "8 0 sda 7 0 56 1 9 0 72 2 0 250 300 0 0 0 0 1050 194");
    let r = &row(&f, "sda").rates;
    is(r.flush_iops, 50.0);
    is(r.flush_await_ms, 4.0);
    is(r.aqu_sz, 0.2);
    is(r.write_iops, 0.0);
    is(r.bytes_per_s(), 0.0);
    assert_eq!((r.write_await_ms, r.discard_await_ms), (None, None));
    // A partition's row has a zero there, since flushes are not counted for partitions: unknown, not none.
    let mut s = Story::new();
    let t = |n: u64| {
        format!("8 0 sda {n} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {n} 0\n8 1 sda1 {n} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0")
    };
    s.at(0, &t(0));
    let f = s.at(1000, &t(5));
    assert_eq!((row(&f, "sda").rates.flush_iops, row(&f, "sda1").rates.flush_iops), (Some(5.0), None));
    assert_eq!(row(&f, "sda1").rates.discard_iops, Some(0.0));
}

#[test]
fn counters_that_stand_still_with_iostats_off_are_unknown() {
    let mut s = Story::new();
    let t = |n: u64, part: u64, dm: u64| {
        format!(
            "8 0 sda {n} 0 {} 0 0 0 0 0 0 0 0\n8 1 sda1 {part} 0 0 0 0 0 0 0 0 0 0\n253 0 dm-0 {dm} 0 0 0 0 0 0 0 0 0 0",
            n * 8
        )
    };
    s.at(0, &t(10, 5, 1));
    s.iostats_off = ["sda", "dm-0"].map(name).into();
    let f = s.at(1000, &t(13, 6, 1));
    // Switched within the interval: what was counted is a part.
    is(row(&f, "sda").rates.read_iops, 3.0);
    assert_eq!(row(&f, "sda").rates.notes, [Note::IostatsSwitched]);
    let f = s.at(2000, &t(13, 6, 21));
    for n in ["sda", "sda1"] {
        is_unknown(row(&f, n));
        assert_eq!(
            (row(&f, n).new, row(&f, n).rates.in_flight, &row(&f, n).rates.notes[..]),
            (false, None, &[Note::IostatsOff][..]),
            "{n}"
        );
    }
    // Device mapper counts all the same.
    is(row(&f, "dm-0").rates.read_iops, 20.0);
    assert_eq!(row(&f, "dm-0").rates.notes, []);
    let sum = total(&f, &Leaves::default());
    assert_eq!((figures(&sum.rates), &sum.rates.notes[..]), ([None; 20], &[Note::Without(1)][..]));
    // On again: still in the first interval, since it may have been off for most of it.
    s.iostats_off.clear();
    let f = s.at(3000, &t(13, 6, 21));
    is_unknown(row(&f, "sda"));
    assert_eq!(row(&f, "sda").rates.notes, [Note::IostatsSwitched]);
    let f = s.at(4000, &t(113, 6, 21));
    is(row(&f, "sda").rates.read_iops, 100.0);
    is(row(&f, "sda1").rates.read_iops, 0.0);
    assert_eq!(row(&f, "sda").rates.notes, []);
}

#[test]
fn a_sleep_is_said_and_does_not_slow_the_rates() {
    let mut s = Story::new();
    s.try_at(5_000, 5_000, "8 0 sda 10 0 80 0 0 0 0 0 0 0 0").unwrap();
    // Awake for 2 s, asleep for an hour.
    let f = s.try_at(7_000, 3_607_000, "8 0 sda 210 0 1680 0 0 0 0 0 0 0 0").unwrap();
    let d = row(&f, "sda");
    is(d.rates.read_iops, 100.0);
    assert_eq!(d.rates.notes, [Note::Suspended(Nanos(3_600_000_000_000))]);
    assert_eq!(d.rates.notes[0].to_string(), "suspended 3600 s");
    assert_eq!(total(&f, &Leaves::default()).rates.notes, d.rates.notes);
    // The clocks are never read at quite the same instant: a few milliseconds are no sleep.
    let f = s.try_at(8_000, 3_608_004, "8 0 sda 210 0 1680 0 0 0 0 0 0 0 0").unwrap();
    assert_eq!(row(&f, "sda").rates.notes, []);
}

#[test]
fn where_time_goes_back_everything_starts_anew() {
    let mut s = Story::new();
    s.has_seq("sda", 1);
    let t =
        |sda: u64, sdb: u64| format!("8 0 sda {sda} 0 0 0 0 0 0 0 0 0 0\n8 16 sdb {sdb} 0 0 0 0 0 0 0 0 0 0");
    s.at(500_000, &t(100, 100));
    let f = s.at(20_000, &t(150, 7));
    assert_eq!(f.interval, None);
    for n in ["sda", "sdb"] {
        is_unknown(row(&f, n));
        assert!(row(&f, n).new && row(&f, n).rates.notes.contains(&Note::TimeWentBack), "{n}");
    }
    // sda may be the same one, sdb can not.
    assert_eq!((row(&f, "sda").instance, row(&f, "sdb").instance), (1, 2));
    assert_eq!(figures(&total(&f, &Leaves::default()).rates), [None; 20]);
    let f = s.at(21_000, &t(160, 27));
    is(row(&f, "sda").rates.read_iops, 10.0);
    is(row(&f, "sdb").rates.read_iops, 20.0);
    // Another boot that has been up for longer: the time asleep, which only grows, is less than before.
    s.try_at(30_000, 90_000, &t(160, 27)).unwrap();
    let f = s.try_at(40_000, 40_000, &t(170, 37)).unwrap();
    is_unknown(row(&f, "sda"));
    assert_eq!(row(&f, "sda").rates.notes, [Note::TimeWentBack]);
    // One that is away at that moment is new when it comes, though its number is the same: of another boot, perhaps.
    s.at(39_000, &t(170, 37).replace("sda", "sdx"));
    let f = s.at(40_000, &t(180, 37));
    is_unknown(row(&f, "sda"));
    // A step back too small to be told from a doubled sample is one all the same.
    let f = s.try_at(39_999, 39_999, &t(170, 37)).unwrap();
    is_unknown(row(&f, "sdb"));
}

#[test]
fn a_row_that_was_away_is_known_by_its_sequence_number_only() {
    let mut s = Story::new();
    s.has_seq("sdb", 9);
    let t = |sdb: &str, sdc: &str| format!("8 0 sda 1 0 0 0 0 0 0 0 0 0 0\n{sdb}\n{sdc}");
    let line =
        |minor: u32, name: &str, ios: u64| format!("8 {minor} {name} {ios} 0 {} 0 0 0 0 0 0 0 0", ios * 8);
    s.at(0, &t(&line(16, "sdb", 100), &line(32, "sdc", 100)));
    let f = s.at(1000, &t("", "8 32 sdc torn"));
    assert_eq!(f.devices.len(), 1);
    s.at(2000, &t("", ""));
    // 300 more reads in the 3 s that it was not seen.
    let f = s.at(3000, &t(&line(16, "sdb", 400), &line(32, "sdc", 400)));
    let d = row(&f, "sdb");
    is(d.rates.read_iops, 100.0);
    assert_eq!((d.instance, d.new, d.rates.interval), (1, false, Nanos(3_000_000_000)));
    assert_eq!(d.rates.notes[0].to_string(), "back after 3.00 s");
    // sdc's number is not known: another device for all that can be said, and the count goes on.
    is_unknown(row(&f, "sdc"));
    assert_eq!((row(&f, "sdc").instance, row(&f, "sdc").new), (2, true));
    // A total of one second has no room for what was done in three, nor for what is new.
    let sum = total(&f, &Leaves::default());
    is(sum.rates.read_iops, 0.0);
    assert_eq!((sum.leaves, &sum.rates.notes[..]), (3, &[Note::Without(2)][..]));
    s.at(4000, &t("", ""));
    let f = s.at(5000, &t("", &line(32, "sdc", 0)));
    assert_eq!(row(&f, "sdc").instance, 3, "never again the first");
}

#[test]
fn a_loop_device_bound_anew_goes_on_counting_and_is_another_device() {
    // The kernel keeps the counters of loop devices; only the sequence number moves.
    let mut s = Story::new();
    s.has_seq("loop0", 15);
    s.at(0, "7 0 loop0 100 0 800 0 0 0 0 0 0 0 0");
    s.has_seq("loop0", 16);
    let f = s.at(1000, "7 0 loop0 200 0 1600 0 0 0 0 0 0 0 0");
    is_unknown(row(&f, "loop0"));
    assert_eq!(
        (row(&f, "loop0").instance, row(&f, "loop0").rates.notes[0].to_string().as_str()),
        (2, "new device")
    );
    // One whose number is read only every other sample is not new each time.
    s.diskseq.clear();
    is(row(&s.at(2000, "7 0 loop0 210 0 1680 0 0 0 0 0 0 0 0"), "loop0").rates.read_iops, 10.0);
    s.has_seq("loop0", 16);
    is(row(&s.at(3000, "7 0 loop0 230 0 1840 0 0 0 0 0 0 0 0"), "loop0").rates.read_iops, 20.0);
    // The same name with another number.
    let f = s.at(4000, "7 1 loop0 240 0 1920 0 0 0 0 0 0 0 0");
    assert_eq!(row(&f, "loop0").instance, 3);
}

#[test]
fn kernels_old_and_new_stand_side_by_side_in_one_text() {
    let mut s = Story::new();
    let t = |n: u64| {
        format!(
            "8 0 sda {n} 0 0 0 0 0 0 0 0 0 0\n8 16 sdb {n} 0 0 0 0 0 0 0 0 0 0 {n} 0 0 0\n\
             8 32 sdc {n} 0 0 0 0 0 0 0 0 0 0 {n} 0 0 0 {n} 0\n8 48 sdd {n} 0 0 0 0 0 0 0 0 0 0 {n} 0 0 0 {n} 0 77 88"
        )
    };
    s.at(0, &t(0));
    let f = s.at(1000, &t(10));
    let of = |n| {
        let r = &row(&f, n).rates;
        (r.read_iops, r.discard_iops, r.flush_iops)
    };
    assert_eq!(of("sda"), (Some(10.0), None, None));
    assert_eq!(of("sdb"), (Some(10.0), Some(10.0), None));
    assert_eq!(of("sdc"), (Some(10.0), Some(10.0), Some(10.0)));
    assert_eq!(of("sdd"), of("sdc"), "surplus columns are ignored");
    // The kernel was replaced under a record: a column that comes or goes is unknown once, nothing else is.
    let f = s.at(2000, "8 0 sda 20 0 0 0 0 0 0 0 0 0 0 500 0 0 0\n8 16 sdb 20 0 0 0 0 0 0 0 0 0 0");
    assert_eq!((row(&f, "sda").rates.read_iops, row(&f, "sda").rates.discard_iops), (Some(10.0), None));
    assert_eq!((row(&f, "sdb").rates.read_iops, row(&f, "sdb").rates.discard_iops), (Some(10.0), None));
}

#[test]
fn glitches_are_unknown_not_huge() {
    let mut s = Story::new();
    s.at(0, "8 0 sda 10 0 80 500 0 0 0 0 1 700 900");
    // Per-CPU counts summed without a lock: in flight below zero, printed unsigned; times a little less than before.
    let f = s.at(1000, "8 0 sda 12 0 96 498 0 0 0 0 4294967295 699 899");
    let r = &row(&f, "sda").rates;
    is(r.read_iops, 2.0);
    assert_eq!((r.in_flight, r.read_await_ms, r.aqu_sz, r.busy_pct), (None, None, None, None));
    let f = s.at(2000, "8 0 sda 14 0 112 508 0 0 0 0 0 799 999");
    let r = &row(&f, "sda").rates;
    is(r.read_await_ms, 5.0);
    is(r.busy_pct, 10.0);
    assert_eq!(r.in_flight, Some(0));
    // A name twice is a torn text: neither is compared with the other.
    let f = s.at(3000, "8 0 sda 24 0 112 508 0 0 0 0 0 799 999\n8 0 sda 24 0 112 508 0 0 0 0 0 799 999");
    assert!(f.devices.iter().all(|d| d.rates.read_iops == Some(10.0)), "{f:?}");
    // After a month milliseconds of 32 bits may have gone round; counts are still right.
    let f = s.at(3000 + 30 * 86_400_000, "8 0 sda 2592024 0 112 600 0 0 0 0 0 899 1999");
    let r = &row(&f, "sda").rates;
    is(r.read_iops, 1.0);
    assert_eq!((r.busy_pct, r.aqu_sz, r.read_await_ms), (None, None, None));
}

#[test]
fn a_total_has_each_byte_once() {
    // A disk with two partitions, a volume on them, a file of it bound to a loop device, memory, a network device.
    let t = |n: u64| {
        [
            "8 0 sda",
            "8 1 sda1",
            "8 2 sda2",
            "8 16 sdb",
            "9 0 md0",
            "253 0 dm-0",
            "252 0 zram0",
            "1 0 ram0",
            "7 0 loop0",
            "7 1 loop0p1",
            "43 0 nbd0",
            "259 0 nvme1n1",
            "259 1 nvme1n1p1",
            "202 1 xvda1",
            "11 0 sr0",
        ]
        .map(|d| format!("{d} {n} 0 {} {n} {n} 0 {} {} 1 {n} {n} {n} 0 8 {n} {n} {n}", n * 8, n * 16, n * 3))
        .join("\n")
    };
    let by_name = |f: &Frame| total(f, &Leaves::default());
    let mut s = Story::new();
    let first = by_name(&s.at(0, &t(0)));
    assert_eq!((first.leaves, figures(&first.rates)), (6, [None; 20]));
    let f = s.at(1000, &t(100));
    // sda, sdb, nbd0, nvme1n1, xvda1 (no xvda there: a whole device), sr0.
    let Total { rates: r, leaves } = by_name(&f);
    assert_eq!(leaves, 6);
    is(r.read_iops, 600.0);
    is(r.write_bytes_per_s, 6.0 * 1600.0 * 512.0);
    // Waits are over all requests: 6 x 100 ms over 600, 6 x 300 ms over 600.
    is(r.read_await_ms, 1.0);
    is(r.write_await_ms, 3.0);
    is(r.flush_iops, 600.0);
    // 100 ms of each: at least 100 ms in all.
    is(r.busy_pct, 10.0);
    is(r.aqu_sz, 0.6);
    assert_eq!(r.in_flight, Some(6));
    // sysfs knows better than names: xvda1 turned out a partition, the drive empty, md0 the top of nothing.
    let mut leaves = Leaves::default();
    for (device, leaf) in [("xvda1", false), ("sr0", false), ("md0", true)] {
        leaves.learn(&name(device), leaf);
    }
    let sum = total(&f, &leaves);
    is(sum.rates.read_iops, 500.0);
    assert_eq!(sum.leaves, 5);
}
