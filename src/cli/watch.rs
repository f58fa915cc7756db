//! `blktune watch`: the figures of `/proc/diskstats`, a sample an interval.

use std::time::Duration;

use super::device_arg::resolve;
use super::frame_output::{block, json_line};
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::clock::{Clock, SystemClock};
use crate::runtime::sampler::Sampler;
use crate::runtime::stop::Stop;
use crate::sys::root::SysRoot;
use crate::telemetry::total::total;
use crate::telemetry::tracker::RateTracker;
use crate::units::Nanos;

/// Options of `watch`.
#[derive(Clone, Debug, clap::Args)]
pub struct WatchArgs {
    /// Devices or partitions; without any, every row of /proc/diskstats
    devices: Vec<String>,
    /// Stop after this many samples, the first one (which has no rates yet) included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// One JSON object a line a sample
    #[arg(long)]
    json: bool,
}

/// Watches until `--count` samples are printed, the reader goes away, or a signal ends it.
///
/// # Errors
/// A named device does not exist, `/proc/diskstats` can not be read, or stdout not written.
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
    let mut sampler = Sampler::new(root);
    let mut tracker = RateTracker::default();
    let mut printed = 0;
    let mut next = clock.monotonic();
    loop {
        let sample = sampler.take(&clock).map_err(|e| {
            Failure::Unexpected(format!("{}: {e}; is procfs mounted?", root.proc("diskstats").display()))
        })?;
        if let Some(mut frame) = tracker.next(sample) {
            frame.devices.retain(|d| wanted.is_empty() || wanted.contains(&d.key.name));
            let total = total(&frame, sampler.leaves());
            let text = if args.json { json_line(&frame, &total)? } else { block(&frame, &total) };
            if !output::line(&text)? {
                return Ok(());
            }
            printed += 1;
        }
        if args.count.is_some_and(|n| printed >= n) {
            return Ok(());
        }
        // From the planned instant, so that the interval does not grow by the time a sample takes.
        next = Nanos(next.0.saturating_add(Nanos::from(interval).0));
        if !stop.sleep(next.since(clock.monotonic()).duration()) {
            return Ok(());
        }
    }
}
