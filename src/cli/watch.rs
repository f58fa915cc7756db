//! `blktune watch`: the figures of `/proc/diskstats`, a sample an interval.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::device_arg::resolve;
use super::frame_output::{block, json_line};
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::clock::{Clock, SystemClock};
use crate::runtime::recording::{self, Recording};
use crate::runtime::sampler::Sampler;
use crate::runtime::stop::Stop;
use crate::sys::attr::clean;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::total::{Leaves, total};
use crate::telemetry::tracker::{Frame, RateTracker};
use crate::units::Nanos;

/// Options of `watch`.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Devices or partitions; without any, every row of /proc/diskstats, or of the record
    pub(super) devices: Vec<String>,
    /// Stop after this many samples, the first one (which has no rates yet) included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) count: Option<u64>,
    /// One JSON object a line a sample
    #[arg(long)]
    pub(super) json: bool,
    /// Also write the raw counters of all devices to FILE, which must not exist; compressed if it ends in .gz
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(super) record: Option<PathBuf>,
    /// Print what `watch` would have printed while FILE was recorded, without waiting
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
}

/// Watches until `--count` samples are printed, the reader goes away, or a signal ends it.
///
/// # Errors
/// A named device does not exist, `/proc/diskstats` can not be read, stdout or the record not be written.
pub fn run(
    args: &WatchArgs,
    root: &SysRoot,
    instead: Option<&str>,
    interval: Duration,
    stop: &Stop,
) -> CommandResult {
    let clock = SystemClock;
    let mut wanted = Vec::new();
    let named = args.devices.iter().map(String::as_str);
    for typed in named.chain(instead.filter(|_| args.devices.is_empty())) {
        wanted.push(resolve(root, typed)?.row);
    }
    let mut record = match &args.record {
        Some(path) => {
            let recording =
                Recording::create(path, root, &clock, interval.into()).map_err(|e| not_made(path, &e))?;
            tell_where(root, path, &wanted);
            Some((path, recording))
        }
        None => None,
    };
    let watched = print_samples(args, root, interval, stop, &wanted, record.as_mut());
    // However it ended, the record is ended in order.
    let finished = record.map_or(Ok(()), |(path, r)| r.finish().map_err(|e| not_written(path, &e)));
    watched.and(finished)
}

fn print_samples(
    args: &WatchArgs,
    root: &SysRoot,
    interval: Duration,
    stop: &Stop,
    wanted: &[KernelName],
    mut record: Option<&mut (&PathBuf, Recording<'_>)>,
) -> CommandResult {
    let clock = SystemClock;
    let mut printer = Printer { json: args.json, left: args.count };
    let mut sampler = Sampler::new(root);
    let mut tracker = RateTracker::default();
    let mut next = clock.monotonic();
    loop {
        sampler.take(&clock).map_err(|e| {
            Failure::Unexpected(format!("{}: {e}; is procfs mounted?", root.proc("diskstats").display()))
        })?;
        if let Some((path, recording)) = &mut record {
            recording.note(&sampler).map_err(|e| not_written(path, &e))?;
        }
        if let Some(frame) = tracker.next(sampler.sample())
            && !printer.print(frame, wanted, sampler.leaves())?
        {
            return Ok(());
        }
        // From the planned instant, so that the interval does not grow by the time a sample takes.
        next = Nanos(next.0.saturating_add(Nanos::from(interval).0));
        if !stop.sleep(next.since(clock.monotonic()).duration()) {
            return Ok(());
        }
    }
}

/// Prints frames as they were asked for, live and from a record alike.
pub(super) struct Printer {
    pub(super) json: bool,
    /// How many more; None for no end.
    pub(super) left: Option<u64>,
}

impl Printer {
    /// Prints the rows that are wanted, or all. False if that was the last one, or nobody reads any more.
    ///
    /// # Errors
    /// Stdout can not be written.
    pub(super) fn print(
        &mut self,
        mut frame: Frame,
        wanted: &[KernelName],
        leaves: &Leaves,
    ) -> Result<bool, Failure> {
        frame.devices.retain(|d| wanted.is_empty() || wanted.contains(&d.key.name));
        let total = total(&frame, leaves);
        let text = if self.json { json_line(&frame, &total)? } else { block(&frame, &total) };
        let read = output::line(&text)?;
        self.left = self.left.map(|n| n.saturating_sub(1));
        Ok(read && self.left != Some(0))
    }
}

fn not_made(path: &Path, e: &std::io::Error) -> Failure {
    let path = clean(path.as_os_str().as_encoded_bytes());
    match e.kind() {
        ErrorKind::AlreadyExists => {
            Failure::Usage(format!("{path}: exists; a record never replaces a file, name another"))
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Failure::NotPermitted(format!("{path}: {e}"))
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            Failure::Usage(format!("{path}: {e}"))
        }
        _ => Failure::Unexpected(format!("{path}: {e}")),
    }
}

fn not_written(path: &Path, e: &std::io::Error) -> Failure {
    let path = clean(path.as_os_str().as_encoded_bytes());
    Failure::Unexpected(format!(
        "{path}: {e}; the recording ends here, what was written before can be replayed"
    ))
}

/// Says it if recording adds to what is watched.
fn tell_where(root: &SysRoot, path: &Path, wanted: &[KernelName]) {
    let mut rows = recording::rows_below(root, path);
    rows.retain(|row| wanted.is_empty() || wanted.contains(row));
    if rows.is_empty() {
        return;
    }
    let names: Vec<String> = rows.iter().map(KernelName::kernel).collect();
    output::say(format_args!(
        "blktune: {} lies on {}, which is watched: writing the record is part of the figures",
        clean(path.as_os_str().as_encoded_bytes()),
        names.join(", ")
    ));
}
