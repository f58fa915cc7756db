//! Figures against values that other programs worked out: percentiles, means, rates (`fixtures/vectors.json`).

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]
// Statistics of small numbers.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use blktune::sys::diskstats::{Counters, parse_line};
use blktune::telemetry::rates::{Rates, between};
use blktune::telemetry::series::Series;
use blktune::units::Nanos;
use blktune::workload::arrivals::{Arrivals, RateProcess};
use blktune::workload::histogram::Histogram;
use serde_json::Value;

/// A vector: its input and what is expected.
fn vector(id: &str) -> (Value, Value) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/vectors.json");
    let all: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let found = all.iter().find(|v| v["id"] == id).unwrap_or_else(|| panic!("no vector {id}"));
    (found["input"].clone(), found["expected"].clone())
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn wholes(v: &Value) -> Vec<u64> {
    numbers(v).into_iter().map(|n| n as u64).collect()
}

fn close(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance * expected.abs().max(1.0), "{got}, not {expected}");
}

fn histogram(counts: &[(u64, u64)]) -> Histogram {
    let mut h = Histogram::new();
    for &(value, times) in counts {
        (0..times).for_each(|_| h.record(value));
    }
    h
}

fn percentile(h: &Histogram, percent: f64) -> Option<u64> {
    h.percentile((percent * 100.0).round() as u32).map(|n| n.0)
}

#[test]
fn percentiles_are_those_of_the_rank_to_a_thousandth() {
    let (input, exact) = vector("percentile-nearest-rank");
    let (_, hdr) = vector("percentile-hdr-3sf");
    let latencies = wholes(&input["latencies_ns"]);
    // Each twice: the value at rank ceil(p n) is the same, and 4,000 are enough for p99.9.
    let h = histogram(&latencies.iter().map(|l| (*l, 2)).collect::<Vec<_>>());
    for ((q, exact), bucket) in
        numbers(&input["q"]).into_iter().zip(wholes(&exact["values"])).zip(wholes(&hdr["values"]))
    {
        if q < 100.0 {
            assert_eq!(percentile(&h, q), Some(bucket), "p{q}");
            close(bucket as f64, exact as f64, 0.001);
        } else {
            // No percentile: the greatest, which is known exactly.
            assert_eq!((percentile(&h, q), h.sum_and_max().1), (None, exact));
        }
    }
    let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64;
    close(h.mean_and_deviation().unwrap().0, mean, 1e-12);
}

#[test]
fn histograms_are_merged_and_percentiles_never_averaged() {
    let (_, expected) = vector("percentile-merge");
    // Four times as many as in the vector, which moves no rank: a thousand do not support p99.9.
    let first = histogram(&[(100_000, 4 * 990), (5_000_000, 4 * 10)]);
    let second = histogram(&[(100_000, 4 * 9_990), (200_000, 4 * 10)]);
    let mut merged = Histogram::new();
    merged.merge(&first);
    merged.merge(&second);
    for (h, key) in [(&first, "p999_job1"), (&second, "p999_job2"), (&merged, "merged")] {
        close(percentile(h, 99.9).unwrap() as f64, expected[key].as_f64().unwrap(), 0.001);
    }
    assert_eq!(merged.count(), first.count() + second.count());
}

#[test]
fn a_percentile_is_told_only_if_its_interval_lies_within_what_was_seen() {
    let (_, expected) = vector("percentile-order-stat-ci");
    let rows = expected["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let h = histogram(&[(1_000, row["n"].as_u64().unwrap())]);
        let q = row["q"].as_f64().unwrap();
        assert_eq!(percentile(&h, q * 100.0).is_some(), row["upper_exists"].as_bool().unwrap(), "{row}");
    }
}

#[test]
fn an_open_loop_omits_nothing_that_a_stall_delayed() {
    let (input, expected) = vector("coordinated-omission");
    let every = input["expected_interval_us"].as_u64().unwrap() * 1_000;
    let samples: Vec<(u64, u64)> = input["values_us"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| (v[0].as_u64().unwrap() * 1_000, v[1].as_u64().unwrap()))
        .collect();
    let mut service = samples.iter().flat_map(|(v, n)| std::iter::repeat_n(*v, *n as usize));
    // One server; what was due during the stall is answered at its end at once.
    let mut arrivals = Arrivals::new(RateProcess::Fixed, 1e9 / every as f64, 1, 0, 1);
    arrivals.begin(Nanos(0));
    let (mut closed, mut open) = (Histogram::new(), Histogram::new());
    let mut free = 0;
    while open.count() < expected["corrected_n"].as_u64().unwrap() {
        let due = arrivals.due().0;
        arrivals.take();
        let took = service.next();
        if let Some(took) = took {
            closed.record(took);
        }
        free = free.max(due) + took.unwrap_or(0);
        open.record(free - due);
    }
    assert_eq!(closed.count(), expected["raw_n"].as_u64().unwrap());
    for (h, q, key) in [
        (&closed, 50.0, "raw_p50"),
        (&closed, 99.0, "raw_p99"),
        (&open, 50.0, "corrected_p50"),
        (&open, 75.0, "corrected_p75"),
        (&open, 99.0, "corrected_p99"),
    ] {
        let us = percentile(h, q).unwrap() as f64 / 1_000.0;
        close(us, expected[key].as_f64().unwrap(), 0.001);
    }
}

#[test]
fn a_mean_latency_is_weighted_by_the_ios() {
    let (input, expected) = vector("latency-weighted-mean");
    let expected = expected["weighted"].as_f64().unwrap();
    let parts: Vec<(u64, f64)> = wholes(&input["ios"]).into_iter().zip(numbers(&input["mean_ms"])).collect();
    let mut merged = Histogram::new();
    let mut past = Past::default();
    for (ios, mean_ms) in parts {
        merged.merge(&histogram(&[((mean_ms * 1e6).round() as u64, ios)]));
        let rates = Rates { read_iops: Some(ios as f64), read_await_ms: Some(mean_ms), ..Rates::default() };
        past.push(1.0, rates);
    }
    close(merged.mean_and_deviation().unwrap().0 / 1e6, expected, 1e-9);
    let kept = past.mean();
    // A past is kept in single precision.
    close(kept.read_await_ms.unwrap(), expected, 1e-6);
    close(kept.await_ms().unwrap(), expected, 1e-6);
}

#[test]
fn throughput_over_uneven_times_is_all_data_over_all_time() {
    for (id, key) in [
        ("throughput-aggregate-equal-bytes", "total_bytes_over_total_time"),
        ("throughput-aggregate-unequal", "total"),
    ] {
        let (input, expected) = vector(id);
        let mut past = Past::default();
        let seconds = numbers(&input["seconds"]);
        // So short that all is in one piece of the past; rates and their weights stay in proportion.
        let shorter = 3.0 / seconds.iter().sum::<f64>();
        for (bytes, seconds) in numbers(&input["bytes"]).into_iter().zip(seconds) {
            let rates = Rates { read_bytes_per_s: Some(bytes / seconds), ..Rates::default() };
            past.push(seconds * shorter, rates);
        }
        close(past.mean().read_bytes_per_s.unwrap() / 1e6, expected[key].as_f64().unwrap(), 1e-6);
    }
}

/// The past of a device, from a time at which a new piece of it begins.
#[derive(Default)]
struct Past {
    series: Series,
    after: f64,
}

impl Past {
    const BEGIN: f64 = 4_000.0;

    fn push(&mut self, seconds: f64, rates: Rates) {
        self.after += seconds;
        let interval = Nanos((seconds * 1e9) as u64);
        let at = Nanos(((Self::BEGIN + self.after) * 1e9) as u64);
        self.series.push(at, &Rates { interval, ..rates });
    }

    /// What is left of all that was pushed when samples are not kept one by one any more.
    fn mean(&mut self) -> Rates {
        let within = Nanos((Self::BEGIN * 1e9) as u64 + 1);
        self.push(300.0, Rates::default());
        self.series.at(within).unwrap()
    }
}

fn counters(fields: &Value) -> Counters {
    let text: Vec<String> = wholes(fields).iter().map(u64::to_string).collect();
    parse_line(&format!("8 0 sda {}", text.join(" "))).unwrap().counters
}

#[test]
fn rates_of_two_rows() {
    let (input, expected) = vector("diskstats-rates");
    let interval = Nanos((input["interval_s"].as_f64().unwrap() * 1e9) as u64);
    let r = between(&counters(&input["prev"]), &counters(&input["cur"]), interval).unwrap();
    for (got, key) in [
        (r.read_iops, "r_iops"),
        (r.write_iops, "w_iops"),
        (r.read_bytes_per_s.map(|b| b / 1_048_576.0), "r_MiB_s"),
        (r.read_size_bytes.map(|b| b / 1024.0), "avg_read_kib"),
        (r.write_size_bytes, "avg_write_kib"),
        (r.read_await_ms, "r_await_ms"),
        (r.write_await_ms, "w_await_ms"),
        (r.busy_pct, "util_pct"),
        (r.aqu_sz, "aqu_sz"),
    ] {
        match expected[key].as_f64() {
            Some(expected) => close(got.unwrap(), expected, 1e-9),
            None => assert_eq!(got, None, "{key}"),
        }
    }
}

#[test]
fn milliseconds_wrap_at_32_bits() {
    let (input, expected) = vector("diskstats-wrap32");
    let row = |ms: &Value, ios: u64| {
        let ms = ms.as_u64().unwrap();
        counters(&serde_json::json!([ios, 0, 8 * ios, ms, 0, 0, 0, 0, 0, 0, ms]))
    };
    let r = between(&row(&input["prev"], 1), &row(&input["cur"], 2), Nanos::SECOND).unwrap();
    let delta = expected["delta"].as_f64().unwrap();
    // One read in one second.
    assert_eq!((r.read_await_ms, r.aqu_sz), (Some(delta), Some(delta / 1_000.0)));
}
