//! What a calibration (both cells the same) leaves: how quiet the machine was, and which margins that allows.

use serde::{Deserialize, Serialize};

use crate::stats::planning::{detectable, margin_floor};
use crate::sys::device::DeviceId;
use crate::units::Bytes;

/// Days after which it is taken anew: firmware, filling and neighbours change a device.
const GOOD_FOR_DAYS: u64 = 7;

/// A calibration, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The device, by kernel name.
    pub device: String,
    /// Who it is beyond that, in words that another device does not have: its sequence number, id and size.
    pub identity: String,
    /// The kernel's release.
    pub kernel: String,
    /// When it ended, seconds since 1970.
    pub at_s: u64,
    /// Standard deviation of the blocks' differences, log units.
    pub spread: f64,
    /// Blocks it was taken from.
    pub blocks: usize,
    /// Both cells came out equivalent.
    pub quiet: bool,
}

/// Who a device is, in words that hold across a reboot where it has an id of its own; else until its next start.
#[must_use]
pub fn identity(id: &DeviceId, size: Bytes) -> String {
    let who = match (&id.wwid, &id.serial, id.diskseq) {
        (Some(wwid), ..) => format!("wwid {wwid}"),
        (None, Some(serial), _) => format!("serial {serial}"),
        (None, None, Some(seq)) => format!("sequence number {seq}"),
        (None, None, None) => format!("name {}", id.name),
    };
    format!("{who}, {} bytes", size.0)
}

impl Calibration {
    /// Whether its figures can be those of a calibration: it is read from a file.
    #[must_use]
    pub fn makes_sense(&self) -> bool {
        self.spread.is_finite() && self.spread >= 0.0 && self.blocks >= 2
    }

    /// The smallest margin, as a share, that an experiment of at most `blocks` could show to be kept. None if unknown.
    #[must_use]
    pub fn floor(&self, blocks: usize) -> Option<f64> {
        Some(margin_floor(self.spread, blocks)?.exp_m1())
    }

    /// The smallest effect, as a share, that so many blocks find four times in five. None if unknown.
    #[must_use]
    pub fn detectable(&self, blocks: usize, alpha: f64) -> Option<f64> {
        Some(detectable(self.spread, blocks, alpha)?.exp_m1())
    }

    /// Why a margin is too small for this machine; None if it is not.
    #[must_use]
    pub fn refuses(&self, margin: f64, blocks: usize) -> Option<String> {
        let floor = self.floor(blocks).filter(|floor| margin < *floor)?;
        Some(format!(
            "--margin {:.2}% is below what {blocks} blocks can show on {}: trials of the same cell were {:.2}% apart when it was calibrated, so {:.2}% is the least",
            margin * 100.0,
            self.device,
            self.spread.exp_m1() * 100.0,
            floor * 100.0
        ))
    }

    /// Why it says nothing of the machine as it is now; None if it does.
    #[must_use]
    pub fn stale(&self, identity: &str, kernel: &str, now_s: u64) -> Option<String> {
        let again = "calibrate again";
        if self.identity != identity {
            return Some(format!("{} was another device when it was calibrated; {again}", self.device));
        }
        if self.kernel != kernel {
            return Some(format!(
                "it was calibrated under Linux {}, and this is {kernel}; {again}",
                self.kernel
            ));
        }
        let days = now_s.saturating_sub(self.at_s) / (24 * 60 * 60);
        (days >= GOOD_FOR_DAYS).then(|| format!("it was calibrated {days} days ago; {again}"))
    }

    /// What is to be said beside every result of a machine that was not quiet; None if it was.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        (!self.quiet).then(|| {
            format!("when {} was calibrated the same cell twice did not come out equivalent: the machine is not quiet enough", self.device)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::name::KernelName;

    fn taken() -> Calibration {
        Calibration {
            device: "sda".to_owned(),
            identity: "seq 4".to_owned(),
            kernel: "6.18.4".to_owned(),
            at_s: 1_000_000,
            spread: 0.02,
            blocks: 6,
            quiet: true,
        }
    }

    /// t of 95 % at 19 degrees is 1.7291: 1.7291 * 0.02 / sqrt(20) = 0.7733 %.
    #[test]
    fn a_margin_below_the_floor_is_refused_with_the_least() {
        let floor = taken().floor(20).unwrap();
        assert!((floor - 0.007_733_f64.exp_m1()).abs() < 1e-6, "{floor}");
        let said = taken().refuses(0.005, 20).unwrap();
        assert!(said.contains("0.50%") && said.contains("0.78%"), "{said}");
        assert_eq!(taken().refuses(0.03, 20), None);
        assert_eq!(taken().refuses(0.005, 1), None);
    }

    #[test]
    fn a_device_is_known_by_what_outlives_a_reboot() {
        let mut id = DeviceId {
            name: KernelName::new("sda").unwrap(),
            devnum: None,
            diskseq: Some(4),
            wwid: Some("naa.5".to_owned()),
            serial: Some("S1".to_owned()),
        };
        assert_eq!(identity(&id, Bytes(512)), "wwid naa.5, 512 bytes");
        let boot = DeviceId { diskseq: Some(9), ..id.clone() };
        assert_eq!(identity(&boot, Bytes(512)), identity(&id, Bytes(512)));
        id.wwid = None;
        assert_eq!(identity(&id, Bytes(512)), "serial S1, 512 bytes");
        id.serial = None;
        assert_eq!(identity(&id, Bytes(512)), "sequence number 4, 512 bytes");
        id.diskseq = None;
        assert_eq!(identity(&id, Bytes(512)), "name sda, 512 bytes");
    }

    #[test]
    fn it_holds_for_a_week_one_kernel_and_one_device() {
        let c = taken();
        let day = 24 * 60 * 60;
        assert_eq!(c.stale("seq 4", "6.18.4", c.at_s + 7 * day - 1), None);
        assert!(c.stale("seq 4", "6.18.4", c.at_s + 7 * day).unwrap().contains("7 days"));
        assert!(c.stale("seq 5", "6.18.4", c.at_s).unwrap().contains("another device"));
        assert!(c.stale("seq 4", "6.19.0", c.at_s).unwrap().contains("6.18.4"));
        assert_eq!(c.note(), None);
        assert!(Calibration { quiet: false, ..c }.note().unwrap().contains("not quiet"));
    }
}
