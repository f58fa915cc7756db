//! `blktune watch --replay FILE`: what `watch` would have printed, from the record alone.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use super::outcome::{CommandResult, Failure};
use super::output;
use super::watch::{Printer, WatchArgs};
use crate::runtime::record_reader::RecordReader;
use crate::runtime::stop::Stop;
use crate::sys::attr::clean;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::recording::inventory::RecordedDevice;
use crate::telemetry::recording::thinning::Thinning;
use crate::telemetry::tracker::RateTracker;

/// Prints a record. Nothing of this host is looked at: a DEVICE is a row of the record.
///
/// # Errors
/// The record can not be read or holds no sample, a DEVICE is not in it, or stdout can not be written.
pub(super) fn run(args: &WatchArgs, file: &Path, interval: Option<Duration>, stop: &Stop) -> CommandResult {
    let mut reader = open(file)?;
    let result = print(args, file, interval, stop, &mut reader);
    for words in reader.findings().in_words() {
        output::say(format_args!("blktune: {}: {words}", shown(file)));
    }
    result
}

/// Opens a record.
///
/// # Errors
/// There is none, or it can not be read.
pub(super) fn open(file: &Path) -> Result<RecordReader, Failure> {
    RecordReader::open(file).map_err(|e| unreadable(file, &e))
}

/// The row that a name or node stands for, without a look at this host.
pub(super) fn row_of_record(typed: &str) -> Option<KernelName> {
    let below_dev = SysRoot::below_dev(Path::new(typed));
    KernelName::new(below_dev.as_deref().unwrap_or(typed))
}

/// The failure of a file that holds no sample.
pub(super) fn no_sample(file: &Path) -> Failure {
    Failure::Usage(format!("{}: no sample in it; is it a record of `blktune watch --record`?", shown(file)))
}

/// The failure of a record that can not be read.
pub(super) fn unreadable(file: &Path, e: &std::io::Error) -> Failure {
    let text = format!("{}: {e}", shown(file));
    match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory => Failure::Usage(text),
        ErrorKind::PermissionDenied => Failure::NotPermitted(text),
        _ => Failure::Unexpected(text),
    }
}

fn print(
    args: &WatchArgs,
    file: &Path,
    interval: Option<Duration>,
    stop: &Stop,
    reader: &mut RecordReader,
) -> CommandResult {
    let mut wanted: Vec<Wanted<'_>> = args.devices.iter().map(|typed| Wanted::new(typed)).collect();
    let mut printer = Printer { json: args.json, left: args.count };
    let mut tracker = RateTracker::default();
    let mut thinning = Thinning::new(interval.map(Into::into));
    let mut rows: Vec<KernelName> = Vec::new();
    let mut devices: Vec<RecordedDevice> = Vec::new();
    while let Some(line) = reader.next_line().map_err(|e| unreadable(file, &e))? {
        if stop.signal().is_some() {
            return Ok(());
        }
        if let Some(inventory) = line.inventory.as_ref().filter(|_| !wanted.is_empty()) {
            devices.clone_from(inventory);
        }
        if !thinning.takes(line.monotonic) {
            continue;
        }
        let Some(frame) = tracker.next(&line.sample()) else { continue };
        rows = frame.devices.iter().map(|d| d.key.name.clone()).collect();
        for w in wanted.iter_mut().filter(|w| !w.seen) {
            w.look(&rows, &devices);
        }
        let names: Vec<KernelName> = wanted.iter().filter_map(|w| w.row.clone()).collect();
        // What can be no name must not show all rows.
        if wanted.len() == names.len() && !printer.print(frame, &names, &line.leaves())? {
            break;
        }
    }
    if reader.findings().samples == 0 {
        return Err(no_sample(file));
    }
    match wanted.iter().find(|w| !w.seen) {
        None => Ok(()),
        Some(missing) => Err(Failure::GoneOrBusy(format!(
            "{}: no such device in the record; its last sample has {}",
            clean(missing.typed.as_bytes()),
            some_of(&rows)
        ))),
    }
}

/// A device as it was typed, and the row it stands for.
struct Wanted<'a> {
    typed: &'a str,
    row: Option<KernelName>,
    seen: bool,
}

impl<'a> Wanted<'a> {
    fn new(typed: &'a str) -> Self {
        Self { typed, row: row_of_record(typed), seen: false }
    }

    /// Finds it among the rows; a name of the device mapper is known to the record's list of devices.
    fn look(&mut self, rows: &[KernelName], devices: &[RecordedDevice]) {
        let is_row = |row: &Option<KernelName>| row.as_ref().is_some_and(|row| rows.contains(row));
        if !is_row(&self.row) {
            let is_meant = |dm: &str| dm == self.typed || SysRoot::mapper_node(dm) == Path::new(self.typed);
            let mut devices = devices.iter().filter_map(RecordedDevice::device);
            if let Some(device) = devices.find(|d| d.dm_name.as_deref().is_some_and(is_meant)) {
                self.row = Some(device.id.name);
            }
        }
        self.seen = is_row(&self.row);
    }
}

fn some_of(rows: &[KernelName]) -> String {
    const SHOWN: usize = 12;
    let mut names: Vec<String> = rows.iter().take(SHOWN).map(KernelName::kernel).collect();
    if rows.len() > SHOWN {
        names.push(format!("{} more", rows.len() - SHOWN));
    }
    if names.is_empty() { "no row".to_owned() } else { names.join(", ") }
}

fn shown(file: &Path) -> String {
    clean(file.as_os_str().as_encoded_bytes())
}
