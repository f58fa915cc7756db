//! What the kernel counted at both edges of the measured window: the device, the CPUs, other processes.

use super::own_writes;
use super::result::{DeviceWindow, OtherIo};
use super::watch::Watch;
use crate::sys::cpu::HostTicks;
use crate::sys::diskstats::{Counters, counters_of};
use crate::sys::process_io::Accounts;
use crate::sys::root::SysRoot;
use crate::units::Bytes;
use crate::workload::job::{EngineKind, Job};
use crate::workload::live::Progress;
use crate::workload::outcome::RunOutcome;
use crate::workload::run::Observer;
use crate::workload::target::Backing;

/// So many of the other processes are named.
const MOVERS: usize = 5;

/// What is read at an edge.
#[derive(Default)]
struct Edge {
    row: Option<Counters>,
    whole: Option<Counters>,
    ticks: Option<HostTicks>,
    accounts: Accounts,
}

/// Takes the counters when the run says so, and passes progress on.
pub(super) struct Window<'a, 'p> {
    root: &'a SysRoot,
    backing: Option<&'a Backing>,
    progress: Option<&'p mut dyn FnMut(Progress)>,
    watch: Option<Watch<'a>>,
    opened: Edge,
    closed: Edge,
}

impl<'a, 'p> Window<'a, 'p> {
    pub(super) fn new(
        root: &'a SysRoot,
        backing: Option<&'a Backing>,
        watch: Option<Watch<'a>>,
        progress: Option<&'p mut dyn FnMut(Progress)>,
    ) -> Self {
        Self { root, backing, progress, watch, opened: Edge::default(), closed: Edge::default() }
    }

    /// What the device did between the edges. None without a device, or if it was replaced meanwhile: counters that
    /// fall belong to another device of the same name.
    pub(super) fn device(&self, outcome: &RunOutcome) -> Option<DeviceWindow> {
        let (a, b) = (self.opened.row?, self.closed.row?);
        let read = b.read.ios.checked_sub(a.read.ios)?;
        let write = b.write.ios.checked_sub(a.write.ios)?;
        let read_bytes = Bytes(b.read.sectors.bytes().0.checked_sub(a.read.sectors.bytes().0)?);
        let write_bytes = Bytes(b.write.sectors.bytes().0.checked_sub(a.write.sectors.bytes().0)?);
        let merged = (b.read.merges + b.write.merges).checked_sub(a.read.merges + a.write.merges)?;
        let engine = outcome.total.read.bytes.0 + outcome.total.write.bytes.0;
        Some(DeviceWindow {
            name: self.backing?.row.clone(),
            read_ios: read,
            read_bytes,
            write_ios: write,
            write_bytes,
            read_size_bytes: ratio(read_bytes.0, read),
            write_size_bytes: ratio(write_bytes.0, write),
            merged,
            engine_share: ratio(engine, read_bytes.0 + write_bytes.0),
        })
    }

    /// What others did to the whole device, other partitions included. None without a device, or if it was replaced.
    pub(super) fn others(
        &self,
        jobs: &[Job],
        outcome: &RunOutcome,
        per_sync: Option<Bytes>,
    ) -> Option<OtherIo> {
        let (a, b) = (self.opened.whole?, self.closed.whole?);
        let read = b.read.sectors.bytes().0.checked_sub(a.read.sectors.bytes().0)?;
        let write = b.write.sectors.bytes().0.checked_sub(a.write.sectors.bytes().0)?;
        let direct = jobs.iter().all(|j| j.direct && j.engine != EngineKind::Null);
        let total = &outcome.total;
        // With a ramp, what was in flight when the window opened was begun before and is counted by the device alone.
        let slack = at_edges(jobs);
        let beyond =
            |device: u64, engine: Bytes| direct.then(|| Bytes(device.saturating_sub(engine.0 + slack)));
        Some(OtherIo {
            device: self.backing?.whole.clone(),
            device_read_bytes: Bytes(read),
            device_write_bytes: Bytes(write),
            read_bytes: beyond(read, total.read.bytes),
            write_bytes: beyond(write, total.write.bytes),
            file_system_bytes: own_writes::at_most(jobs, &outcome.jobs, per_sync, outcome.window.seconds()),
            processes: self.closed.accounts.most_since(self.root, &self.opened.accounts, MOVERS),
            processes_complete: self.opened.accounts.complete() && self.closed.accounts.complete(),
        })
    }

    /// Why the run had to end for the sake of others.
    pub(super) fn stopped_for(&self) -> Option<&str> {
        self.watch.as_ref()?.verdict()
    }

    /// Shares of all CPUs' time, percent: busy, stolen.
    pub(super) fn cpu_shares(&self) -> Option<(f64, f64)> {
        self.closed.ticks?.shares_since(self.opened.ticks?)
    }

    /// Of row and whole device. Read first at both edges, since with a ramp I/O goes on at the opening: the engine's
    /// window has begun, and looking at all processes takes some milliseconds.
    fn counters(&self) -> (Option<Counters>, Option<Counters>) {
        let Some(backing) = self.backing else { return (None, None) };
        let whole = counters_of(self.root, &backing.whole);
        let row = if backing.row == backing.whole { whole } else { counters_of(self.root, &backing.row) };
        (row, whole)
    }
}

/// What may be in flight, and so on one side of an edge only, when the window opens behind a ramp.
#[must_use]
pub fn at_edges(jobs: &[Job]) -> u64 {
    let in_flight = |j: &Job| j.bs.0 * u64::from(j.depth_in_use()) * u64::from(j.numjobs);
    if jobs.iter().any(|j| !j.ramp.is_zero()) { jobs.iter().map(in_flight).sum() } else { 0 }
}

impl Observer for Window<'_, '_> {
    fn window_opens(&mut self) {
        let (row, whole) = self.counters();
        let accounts = Accounts::read(self.root);
        self.opened = Edge { row, whole, ticks: HostTicks::read(self.root), accounts };
    }
    fn window_closes(&mut self) {
        let (row, whole) = self.counters();
        let ticks = HostTicks::read(self.root);
        self.closed = Edge { row, whole, ticks, accounts: Accounts::read(self.root) };
    }
    fn tick(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.look();
        }
    }
    fn listens(&self) -> bool {
        self.progress.is_some()
    }
    fn progress(&mut self, progress: Progress) {
        if let Some(tell) = &mut self.progress {
            tell(progress);
        }
    }
    fn wants_stop(&self) -> bool {
        self.stopped_for().is_some()
    }
}

/// Whether what a device counted is an account of what it did, `iostats` being that attribute of its queue.
///
/// Some drivers without a request queue start with `iostats` 0 and count every bio all the same (`bio_start_io_acct` in
/// `block/blk-core.c` does not ask; seen of device mapper on 6.1 and of zram up to 6.12), others count nothing then
/// (persistent memory, ram disks). So 0 proves nothing; counters that stood still do.
pub(super) fn believable(counted: &DeviceWindow, iostats: bool) -> bool {
    iostats || counted.read_ios > 0 || counted.write_ios > 0
}

#[allow(clippy::cast_precision_loss)] // a mean
fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::name::KernelName;

    #[test]
    fn counters_that_move_are_believed_whatever_iostats_says() {
        let counted = |read_ios, write_ios| DeviceWindow {
            name: KernelName::new("dm-0").unwrap(),
            read_ios,
            read_bytes: Bytes(read_ios * 4096),
            write_ios,
            write_bytes: Bytes(write_ios * 4096),
            read_size_bytes: None,
            write_size_bytes: None,
            merged: 0,
            engine_share: None,
        };
        assert!(believable(&counted(180, 0), false) && believable(&counted(0, 1), false));
        assert!(!believable(&counted(0, 0), false));
        assert!(believable(&counted(0, 0), true), "all was served from memory");
    }
}
