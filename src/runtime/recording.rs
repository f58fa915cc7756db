//! What goes into a record beside the counters: the time of day, and the devices whenever something of them changed.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::tz::TimeZone;

use super::recorder::Recorder;
use super::sampler::Sampler;
use crate::clock::Clock;
use crate::sys::device::{DevNum, Device, UsageKind};
use crate::sys::elsewhere::Elsewhere;
use crate::sys::host::Host;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::usage::{self, Users};
use crate::telemetry::recording::inventory::RecordedDevice;
use crate::telemetry::recording::{Line, RecordedHost};
use crate::telemetry::sample::{RowKey, Sample};
use crate::units::Nanos;

/// While no row comes or goes the devices are looked at this often: settings, users.
const LOOK: Nanos = Nanos(10_000_000_000);

/// Looking takes at most one part of this many of the time.
const SHARE: u64 = 100;

/// A recording that is going on.
pub struct Recording<'a> {
    recorder: Recorder,
    root: &'a SysRoot,
    clock: &'a dyn Clock,
    zone: TimeZone,
    host: Option<RecordedHost>,
    rows: Vec<(RowKey, Option<u64>)>,
    devices: Vec<RecordedDevice>,
    next_look: Nanos,
}

impl<'a> Recording<'a> {
    /// Makes the file.
    ///
    /// # Errors
    /// As [`Recorder::create`].
    pub fn create(path: &Path, root: &'a SysRoot, clock: &'a dyn Clock, interval: Nanos) -> io::Result<Self> {
        let host = Host::read(root);
        Ok(Self {
            recorder: Recorder::create(path, interval)?,
            root,
            clock,
            zone: TimeZone::system(),
            host: Some(RecordedHost { name: host.name, kernel: host.kernel, cpus: host.cpus }),
            rows: Vec::new(),
            devices: Vec::new(),
            next_look: Nanos(0),
        })
    }

    /// Writes the last sample down.
    ///
    /// # Errors
    /// As [`Recorder::write`].
    pub fn note(&mut self, sampler: &Sampler) -> io::Result<()> {
        let sample = sampler.sample();
        let line = Line {
            wall: wall(self.clock, &self.zone),
            host: self.host.take(),
            inventory: self.changed_devices(sample),
            ..Line::of(sample, &sampler.text(), sampler.leaves())
        };
        self.recorder.write(&line)
    }

    /// Ends the record in order.
    ///
    /// # Errors
    /// As [`Recorder::finish`].
    pub fn finish(self) -> io::Result<()> {
        self.recorder.finish()
    }

    /// The devices if something of them is not as last written.
    fn changed_devices(&mut self, sample: &Sample) -> Option<Vec<RecordedDevice>> {
        let rows: Vec<_> = sample
            .rows
            .iter()
            .map(|(key, _)| (key.clone(), sample.diskseq.get(&key.name).copied()))
            .collect();
        let before = self.clock.monotonic();
        if rows == self.rows && before < self.next_look {
            return None;
        }
        let first = self.rows.is_empty() && self.devices.is_empty();
        // A tree without /sys/block still has counters worth recording.
        let devices = devices(self.root).unwrap_or_default();
        let devices: Vec<RecordedDevice> = devices.iter().map(RecordedDevice::from).collect();
        let after = self.clock.monotonic();
        self.next_look = next_look(before, after);
        self.rows = rows;
        if devices == self.devices || (first && devices.is_empty()) {
            return None;
        }
        self.devices.clone_from(&devices);
        Some(devices)
    }
}

/// The devices without what other processes have open: that is nobody's business who reads the record, and comes and
/// goes.
fn devices(root: &SysRoot) -> io::Result<Vec<Device>> {
    let users = Users::with(root, &Elsewhere::default(), &usage::loop_files(root));
    inventory::scan_with(root, &users)
}

/// When to look again after a look of this length.
fn next_look(before: Nanos, after: Nanos) -> Nanos {
    let pause = after.since(before).0.saturating_mul(SHARE).max(LOOK.0);
    Nanos(after.0.saturating_add(pause))
}

fn wall(clock: &dyn Clock, zone: &TimeZone) -> Option<String> {
    let moment = jiff::Timestamp::from_nanosecond(i128::from(clock.wall().0)).ok()?;
    Some(moment.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
}

/// The rows whose figures a file's writes are part of: the device or partition that its file system is on, and all that
/// this is built on. Empty where that is not known: memory, network, a file system that hides its device.
#[must_use]
pub fn rows_below(root: &SysRoot, file: &Path) -> Vec<KernelName> {
    if !root.is_live() {
        return Vec::new();
    }
    match (std::fs::metadata(file), devices(root)) {
        (Ok(file), Ok(devices)) => below(&devices, DevNum::of_rdev(file.dev())),
        _ => Vec::new(),
    }
}

fn below(devices: &[Device], number: DevNum) -> Vec<KernelName> {
    let mut found: Vec<KernelName> = Vec::new();
    let mut next: Vec<KernelName> = devices
        .iter()
        .flat_map(|d| {
            let parts = d.partitions.iter().map(|p| (p.devnum, &p.name));
            std::iter::once((d.id.devnum, d.name())).chain(parts)
        })
        .filter(|(n, _)| *n == Some(number))
        .map(|(_, name)| name.clone())
        .collect();
    while let Some(name) = next.pop() {
        if found.contains(&name) {
            continue;
        }
        for d in devices {
            let loops = |what: &str, kind| kind == UsageKind::Loop && what == name.kernel();
            if d.name() == &name {
                next.extend(d.built_on.iter().cloned());
            }
            if d.used_by.iter().any(|u| loops(&u.what, u.kind)) {
                next.push(d.name().clone());
            }
            for p in &d.partitions {
                if p.name == name {
                    next.push(d.name().clone());
                }
                if p.used_by.iter().any(|u| loops(&u.what, u.kind)) {
                    next.push(p.name.clone());
                }
            }
        }
        found.push(name);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_look_is_taken_less_often() {
        let s = |n: u64| Nanos(n * Nanos::SECOND.0);
        assert_eq!(next_look(s(5), Nanos(s(5).0 + 3_000_000)), Nanos(s(15).0 + 3_000_000));
        assert_eq!(next_look(s(5), s(7)), s(207));
    }
}
