//! The device's own counters at both edges of the measured window.

use super::result::DeviceWindow;
use crate::sys::diskstats::{Counters, counters_of};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::Bytes;
use crate::workload::live::Progress;
use crate::workload::outcome::RunOutcome;
use crate::workload::run::Observer;

/// Takes the counters when the run says so, and passes progress on.
pub(super) struct Window<'a> {
    root: &'a SysRoot,
    row: Option<&'a KernelName>,
    progress: &'a mut dyn FnMut(Progress),
    opened: Option<Counters>,
    closed: Option<Counters>,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        root: &'a SysRoot,
        row: Option<&'a KernelName>,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self { root, row, progress, opened: None, closed: None }
    }

    /// What the device did between the edges. None without a device, or if it was replaced meanwhile: counters that
    /// fall belong to another device of the same name.
    pub(super) fn device(&self, outcome: &RunOutcome) -> Option<DeviceWindow> {
        let (a, b) = (self.opened?, self.closed?);
        let read = b.read.ios.checked_sub(a.read.ios)?;
        let write = b.write.ios.checked_sub(a.write.ios)?;
        let read_bytes = Bytes(b.read.sectors.bytes().0.checked_sub(a.read.sectors.bytes().0)?);
        let write_bytes = Bytes(b.write.sectors.bytes().0.checked_sub(a.write.sectors.bytes().0)?);
        let merged = (b.read.merges + b.write.merges).checked_sub(a.read.merges + a.write.merges)?;
        let engine = outcome.total.read.bytes.0 + outcome.total.write.bytes.0;
        Some(DeviceWindow {
            name: self.row?.clone(),
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

    fn counters(&self) -> Option<Counters> {
        counters_of(self.root, self.row?)
    }
}

impl Observer for Window<'_> {
    fn window_opens(&mut self) {
        self.opened = self.counters();
    }
    fn window_closes(&mut self) {
        self.closed = self.counters();
    }
    fn progress(&mut self, progress: Progress) {
        (self.progress)(progress);
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
