//! A frame of rates as `watch` prints it: one JSON object a line, or a block of text.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::outcome::Failure;
use crate::sys::name::KernelName;
use crate::telemetry::note::Note;
use crate::telemetry::rates::Rates;
use crate::telemetry::total::Total;
use crate::telemetry::tracker::Frame;
use crate::units::{Nanos, events, mib_per_s, three_digits};

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    t_s: f64,
    interval_s: Option<f64>,
    devices: Vec<DeviceJson<'a>>,
    total: TotalJson<'a>,
}

#[derive(Serialize)]
struct DeviceJson<'a> {
    name: &'a KernelName,
    instance: u32,
    new: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<&'a [KernelName]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_of: Option<&'a KernelName>,
    #[serde(flatten)]
    rates: RatesJson<'a>,
}

#[derive(Serialize)]
struct TotalJson<'a> {
    leaves: usize,
    #[serde(flatten)]
    rates: RatesJson<'a>,
}

#[derive(Serialize)]
struct RatesJson<'a> {
    /// What these are over, where that is not the sample's interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_s: Option<f64>,
    read_iops: Option<f64>,
    write_iops: Option<f64>,
    discard_iops: Option<f64>,
    flush_iops: Option<f64>,
    read_bytes_per_s: Option<f64>,
    write_bytes_per_s: Option<f64>,
    discard_bytes_per_s: Option<f64>,
    read_await_ms: Option<f64>,
    write_await_ms: Option<f64>,
    discard_await_ms: Option<f64>,
    flush_await_ms: Option<f64>,
    read_size_bytes: Option<f64>,
    write_size_bytes: Option<f64>,
    discard_size_bytes: Option<f64>,
    read_merged_pct: Option<f64>,
    write_merged_pct: Option<f64>,
    discard_merged_pct: Option<f64>,
    aqu_sz: Option<f64>,
    in_flight: Option<u32>,
    busy_pct: Option<f64>,
    busy_raw_pct: Option<f64>,
    notes: &'a [Note],
}

/// One line of JSON.
///
/// # Errors
/// There is none that a frame can cause.
pub(super) fn json_line(frame: &Frame, total: &Total) -> Result<String, Failure> {
    let mut paths = HashMap::new();
    let mut path_of = HashMap::new();
    for (head, all) in &frame.paths {
        paths.insert(head, all.as_slice());
        path_of.extend(all.iter().map(|path| (path, head)));
    }
    let devices = frame.devices.iter().map(|d| DeviceJson {
        name: &d.key.name,
        instance: d.instance,
        new: d.new,
        paths: paths.get(&d.key.name).copied(),
        path_of: path_of.get(&d.key.name).copied(),
        rates: rates_json(&d.rates, frame.interval),
    });
    let line = Line {
        schema: "blktune.watch/1",
        t_s: frame.monotonic.seconds(),
        interval_s: frame.interval.map(Nanos::seconds),
        devices: devices.collect(),
        total: TotalJson { leaves: total.leaves, rates: rates_json(&total.rates, frame.interval) },
    };
    serde_json::to_string(&line).map_err(|e| Failure::Unexpected(e.to_string()))
}

fn rates_json(r: &Rates, of_frame: Option<Nanos>) -> RatesJson<'_> {
    RatesJson {
        interval_s: (r.interval.0 > 0 && Some(r.interval) != of_frame).then(|| r.interval.seconds()),
        read_iops: r.read_iops,
        write_iops: r.write_iops,
        discard_iops: r.discard_iops,
        flush_iops: r.flush_iops,
        read_bytes_per_s: r.read_bytes_per_s,
        write_bytes_per_s: r.write_bytes_per_s,
        discard_bytes_per_s: r.discard_bytes_per_s,
        read_await_ms: r.read_await_ms,
        write_await_ms: r.write_await_ms,
        discard_await_ms: r.discard_await_ms,
        flush_await_ms: r.flush_await_ms,
        read_size_bytes: r.read_size_bytes,
        write_size_bytes: r.write_size_bytes,
        discard_size_bytes: r.discard_size_bytes,
        read_merged_pct: r.read_merged_pct,
        write_merged_pct: r.write_merged_pct,
        discard_merged_pct: r.discard_merged_pct,
        aqu_sz: r.aqu_sz,
        in_flight: r.in_flight,
        busy_pct: r.busy_pct,
        busy_raw_pct: r.busy_raw_pct,
        notes: &r.notes,
    }
}

/// One sample as a block of text, ended by a blank line as iostat does. With more than one device, the total of those
/// that are leaves stands below them.
pub(super) fn block(frame: &Frame, total: &Total) -> String {
    let mut out = format!(
        "{:<14}{:>8}{:>8}{:>9}{:>9}{:>8}{:>8}{:>8}{:>8}{:>7}{:>5}{:>6}\n",
        "NAME",
        "r/s",
        "w/s",
        "rMiB/s",
        "wMiB/s",
        "r_await",
        "w_await",
        "r-KiB",
        "w-KiB",
        "aqu-sz",
        "infl",
        "busy"
    );
    for d in &frame.devices {
        row(&mut out, &d.key.name, &d.rates);
    }
    if frame.devices.len() > 1 {
        row(&mut out, &"TOTAL", &total.rates);
    }
    out
}

fn row(out: &mut String, name: &dyn std::fmt::Display, r: &Rates) {
    let show = |v: Option<f64>, f: fn(f64) -> String| v.map_or_else(|| "-".to_owned(), f);
    let kib = |v: f64| three_digits(v / 1024.0);
    let busy = |v: f64| format!("{v:.0}%");
    let notes: Vec<String> = r.notes.iter().map(ToString::to_string).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{name:<14}{:>8}{:>8}{:>9}{:>9}{:>8}{:>8}{:>8}{:>8}{:>7}{:>5}{:>6}{}{}",
        show(r.read_iops, events),
        show(r.write_iops, events),
        show(r.read_bytes_per_s, mib_per_s),
        show(r.write_bytes_per_s, mib_per_s),
        show(r.read_await_ms, three_digits),
        show(r.write_await_ms, three_digits),
        show(r.read_size_bytes, kib),
        show(r.write_size_bytes, kib),
        show(r.aqu_sz, three_digits),
        r.in_flight.map_or_else(|| "-".to_owned(), |n| n.to_string()),
        show(r.busy_pct, busy),
        if notes.is_empty() { "" } else { "  " },
        notes.join(", "),
    );
}
