//! The table itself: every column with its words, its width and where its values come from.

use std::borrow::Cow;

use super::{Cell, Column, ColumnId, Measure, Source, Subject};
use crate::app::fleet::Entry;
use crate::sys::device::Device;
use crate::telemetry::rates::Rates;

/// The columns behind the name that are shown as long as nothing else is chosen.
pub const DEFAULT: &[ColumnId] = &[
    ColumnId::Size,
    ColumnId::Scheduler,
    ColumnId::Rotational,
    ColumnId::ReadAhead,
    ColumnId::Requests,
    ColumnId::ReadIops,
    ColumnId::WriteIops,
    ColumnId::Bytes,
    ColumnId::Await,
    ColumnId::Busy,
    ColumnId::UsedBy,
    ColumnId::Model,
];

/// The same below 80 columns: the figures before what hardly changes.
pub const DEFAULT_NARROW: &[ColumnId] = &[
    ColumnId::Size,
    ColumnId::Scheduler,
    ColumnId::ReadIops,
    ColumnId::WriteIops,
    ColumnId::Bytes,
    ColumnId::Busy,
    ColumnId::Await,
    ColumnId::Rotational,
    ColumnId::ReadAhead,
    ColumnId::Requests,
    ColumnId::UsedBy,
    ColumnId::Model,
];

/// A column of figures.
const fn rates(
    id: ColumnId,
    (word, head, width): (&'static str, &'static str, usize),
    measure: Measure,
    about: &'static str,
    figure: fn(&Rates) -> Option<f64>,
) -> Column {
    Column { id, word, head, width, most: width, measure, about, source: Source::Rates(figure) }
}

/// A column of facts.
const fn facts(
    id: ColumnId,
    (word, head, width, most): (&'static str, &'static str, usize, usize),
    measure: Measure,
    about: &'static str,
    source: Source,
) -> Column {
    Column { id, word, head, width, most, measure, about, source }
}

/// All columns. Their order is that of the dialog for those that are not chosen.
pub const TABLE: &[Column] = &[
    facts(
        ColumnId::Name,
        ("name", "NAME", 15, 15),
        Measure::Text,
        "the kernel's name; always the first column",
        Source::Either(name),
    ),
    facts(
        ColumnId::Size,
        ("size", "SIZE", 5, 5),
        Measure::Bytes,
        "size; K M G T are powers of 1024",
        Source::Either(size),
    ),
    facts(
        ColumnId::Scheduler,
        ("sched", "SCHED", 11, 11),
        Measure::Text,
        "the active I/O scheduler",
        Source::Queue(|d| d.queue.scheduler.as_ref().map_or(Cell::Unknown, |s| text(&s.active))),
    ),
    facts(
        ColumnId::Rotational,
        ("rotational", "R", 1, 1),
        Measure::Whole,
        "1 if the device says that it rotates; only what it reports",
        Source::Queue(|d| number(d.queue.rotational.map(u64::from))),
    ),
    facts(
        ColumnId::ReadAhead,
        ("read_ahead", "RA", 5, 5),
        Measure::Kib,
        "read-ahead, KiB",
        Source::Queue(|d| number(d.queue.read_ahead.map(|k| k.0))),
    ),
    facts(
        ColumnId::Requests,
        ("nr_requests", "NRQ", 4, 4),
        Measure::Whole,
        "nr_requests: how many requests may wait in the scheduler",
        Source::Queue(|d| number(d.queue.nr_requests)),
    ),
    rates(
        ColumnId::ReadIops,
        ("read_iops", "r/s", 5),
        Measure::PerSecond,
        "completed reads per second",
        |r| r.read_iops,
    ),
    rates(
        ColumnId::WriteIops,
        ("write_iops", "w/s", 5),
        Measure::PerSecond,
        "completed writes per second",
        |r| r.write_iops,
    ),
    rates(
        ColumnId::DiscardIops,
        ("discard_iops", "d/s", 5),
        Measure::PerSecond,
        "completed discards per second (Linux 4.18)",
        |r| r.discard_iops,
    ),
    rates(
        ColumnId::FlushIops,
        ("flush_iops", "f/s", 5),
        Measure::PerSecond,
        "completed flushes per second (Linux 5.5); partitions count none",
        |r| r.flush_iops,
    ),
    rates(
        ColumnId::Bytes,
        ("throughput", "MiB/s", 6),
        Measure::MibPerSecond,
        "read and written together; discards are no throughput",
        Rates::bytes_per_s,
    ),
    rates(
        ColumnId::ReadBytes,
        ("read_throughput", "rMiB/s", 6),
        Measure::MibPerSecond,
        "read per second",
        |r| r.read_bytes_per_s,
    ),
    rates(
        ColumnId::WriteBytes,
        ("write_throughput", "wMiB/s", 6),
        Measure::MibPerSecond,
        "written per second",
        |r| r.write_bytes_per_s,
    ),
    rates(
        ColumnId::DiscardBytes,
        ("discard_throughput", "dMiB/s", 6),
        Measure::MibPerSecond,
        "discarded per second",
        |r| r.discard_bytes_per_s,
    ),
    rates(
        ColumnId::Await,
        ("await", "await", 6),
        Measure::Millis,
        "mean time of a read or write, ms, queueing included",
        Rates::await_ms,
    ),
    rates(
        ColumnId::ReadAwait,
        ("read_await", "r_await", 7),
        Measure::Millis,
        "mean time of a read, ms, queueing included",
        |r| r.read_await_ms,
    ),
    rates(
        ColumnId::WriteAwait,
        ("write_await", "w_await", 7),
        Measure::Millis,
        "mean time of a write, ms, queueing included",
        |r| r.write_await_ms,
    ),
    rates(
        ColumnId::DiscardAwait,
        ("discard_await", "d_await", 7),
        Measure::Millis,
        "mean time of a discard, ms",
        |r| r.discard_await_ms,
    ),
    rates(
        ColumnId::FlushAwait,
        ("flush_await", "f_await", 7),
        Measure::Millis,
        "mean time of a flush, ms",
        |r| r.flush_await_ms,
    ),
    rates(
        ColumnId::ReadSize,
        ("read_size", "r-size", 6),
        Measure::Bytes,
        "mean size of a read request at the device",
        |r| r.read_size_bytes,
    ),
    rates(
        ColumnId::WriteSize,
        ("write_size", "w-size", 6),
        Measure::Bytes,
        "mean size of a write request at the device",
        |r| r.write_size_bytes,
    ),
    rates(
        ColumnId::DiscardSize,
        ("discard_size", "d-size", 6),
        Measure::Bytes,
        "mean size of a discard at the device",
        |r| r.discard_size_bytes,
    ),
    rates(
        ColumnId::ReadMerged,
        ("read_merged", "rrqm%", 5),
        Measure::Percent,
        "share of reads that were merged into a waiting request",
        |r| r.read_merged_pct,
    ),
    rates(
        ColumnId::WriteMerged,
        ("write_merged", "wrqm%", 5),
        Measure::Percent,
        "share of writes that were merged into a waiting request",
        |r| r.write_merged_pct,
    ),
    rates(
        ColumnId::DiscardMerged,
        ("discard_merged", "drqm%", 5),
        Measure::Percent,
        "share of discards that were merged into a waiting request",
        |r| r.discard_merged_pct,
    ),
    rates(
        ColumnId::QueueLength,
        ("aqu_sz", "aqu-sz", 6),
        Measure::Mean,
        "mean number of requests waiting or in flight",
        |r| r.aqu_sz,
    ),
    rates(
        ColumnId::InFlight,
        ("in_flight", "infl", 5),
        Measure::Whole,
        "requests at the driver when the sample was taken",
        |r| r.in_flight.map(f64::from),
    ),
    rates(
        ColumnId::Busy,
        ("busy", "busy", 5),
        Measure::Percent,
        "time with something in flight; 100% can still take more where much runs at once",
        |r| r.busy_pct,
    ),
    rates(
        ColumnId::BusyRaw,
        ("busy_raw", "busy-raw", 8),
        Measure::Percent,
        "the same, not cut at 100: above it the kernel's clock and ours differ",
        |r| r.busy_raw_pct,
    ),
    facts(
        ColumnId::UsedBy,
        ("used_by", "USED BY", 12, 48),
        Measure::Text,
        "who uses it: mounts, swap, devices on it; and what it is built on if that is several",
        Source::Either(users),
    ),
    facts(
        ColumnId::Model,
        ("model", "MODEL", 14, 28),
        Measure::Text,
        "vendor and model as the device says them",
        Source::Device(|d| optional(d.model.as_deref())),
    ),
    facts(
        ColumnId::Kind,
        ("kind", "KIND", 7, 7),
        Measure::Text,
        "hdd, ssd, nvme, usb, sd, virtual, dm, md, loop, zram, nbd, optical, other",
        Source::Device(|d| Cell::Text(Cow::Borrowed(d.kind.word()))),
    ),
    facts(
        ColumnId::DmName,
        ("dm_name", "DM NAME", 12, 32),
        Measure::Text,
        "device mapper's own name",
        Source::Device(|d| optional(d.dm_name.as_deref())),
    ),
    facts(
        ColumnId::Serial,
        ("serial", "SERIAL", 12, 24),
        Measure::Text,
        "serial number, where sysfs has one",
        Source::Device(|d| optional(d.id.serial.as_deref())),
    ),
    facts(
        ColumnId::Wwid,
        ("wwid", "WWID", 16, 48),
        Measure::Text,
        "world-wide id of the namespace or LUN",
        Source::Device(|d| optional(d.id.wwid.as_deref())),
    ),
    facts(
        ColumnId::DevNum,
        ("devnum", "DEVNUM", 8, 8),
        Measure::Text,
        "device number, major:minor",
        Source::Either(|of| {
            let devnum = match of {
                Subject::Device(e) => e.device.id.devnum,
                Subject::Partition(_, p) => p.devnum,
            };
            devnum.map_or(Cell::Unknown, |n| Cell::Text(Cow::Owned(n.to_string())))
        }),
    ),
];

fn text(text: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text))
}

/// A text that many devices do not have.
fn optional(text: Option<&str>) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(text.unwrap_or_default()))
}

#[allow(clippy::cast_precision_loss)] // exact to 2^53, far beyond any setting; sizes are shown with three digits
fn number(n: Option<u64>) -> Cell<'static> {
    n.map_or(Cell::Unknown, |n| Cell::Number(n as f64))
}

fn name(of: Subject<'_>) -> Cell<'_> {
    let name = match of {
        Subject::Device(e) => e.device.name(),
        Subject::Partition(_, p) => &p.name,
    };
    // Without a `!` both spellings are the same, and thousands of names need no copy.
    let owned = name.sysfs().contains('!').then(|| name.kernel());
    Cell::Text(owned.map_or(Cow::Borrowed(name.sysfs()), Cow::Owned))
}

fn size(of: Subject<'_>) -> Cell<'_> {
    let size = match of {
        Subject::Device(e) => e.device.known_size(),
        // What a whole device's size is known with, its partitions' are too.
        Subject::Partition(e, p) => e.device.known_size().map(|_| p.size),
    };
    number(size.map(|s| s.0))
}

fn users(of: Subject<'_>) -> Cell<'_> {
    Cell::Text(match of {
        Subject::Device(e) => users_of(e),
        Subject::Partition(e, p) => e.partition_users(&p.name).into(),
    })
}

/// Who uses a device: its own users, and what it is built on where that is more than the tree shows.
fn users_of(entry: &Entry) -> Cow<'_, str> {
    let d = &entry.device;
    let mut text = Cow::Borrowed(d.dm_name.as_deref().unwrap_or_default());
    let base = if d.built_on.len() > 1 { on(d) } else { String::new() };
    for part in [entry.users(), &base] {
        if !part.is_empty() {
            if !text.is_empty() {
                text += "  ";
            }
            text.to_mut().push_str(part);
        }
    }
    text
}

/// What a device is built on: `on sda1 sdb1`.
#[must_use]
pub fn on(device: &Device) -> String {
    let names: Vec<String> = device.built_on.iter().map(ToString::to_string).collect();
    format!("on {}", names.join(" "))
}
