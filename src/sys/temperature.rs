//! A device's temperature, where its driver tells it: NVMe, and disks with `drivetemp`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::attr;
use super::link;
use super::name::KernelName;
use super::root::SysRoot;

/// Degrees Celsius, by `Documentation/hwmon/sysfs-interface.rst`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Temperature {
    /// `temp1_input`.
    pub now_c: f64,
    /// `temp1_max`: the drive slows down or warns about here.
    pub max_c: Option<f64>,
    /// `temp1_crit`.
    pub critical_c: Option<f64>,
}

impl Temperature {
    /// Reads a whole device's. None if nobody measures it.
    #[must_use]
    pub fn read(root: &SysRoot, name: &KernelName) -> Option<Self> {
        let above = link::ancestors(root, name);
        let monitor = above.iter().find_map(|dir| monitor_in(dir))?;
        let degrees = |file: &str| {
            let text = attr::read_opt(&monitor.join(file))?;
            // Thousandths, and drives without a limit report absurd ones.
            let milli: i32 = text.trim().parse().ok()?;
            Some(f64::from(milli) / 1000.0).filter(|c| (-100.0..200.0).contains(c))
        };
        Some(Self {
            now_c: degrees("temp1_input")?,
            max_c: degrees("temp1_max"),
            critical_c: degrees("temp1_crit"),
        })
    }

    /// Degrees left to the lower of the limits that are known.
    #[must_use]
    pub fn room(&self) -> Option<f64> {
        let limit = match (self.max_c, self.critical_c) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some(limit - self.now_c)
    }
}

/// `hwmon/hwmonN` below a device, or `hwmonN` right below it (NVMe controllers since Linux 5.7).
fn monitor_in(dir: &Path) -> Option<PathBuf> {
    [dir.join("hwmon"), dir.to_path_buf()].into_iter().find_map(|dir| {
        let entries = std::fs::read_dir(dir).ok()?;
        let mut found: Vec<PathBuf> = entries
            .flatten()
            .filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with("hwmon")))
            .map(|e| e.path())
            .filter(|p| p.join("temp1_input").exists())
            .collect();
        found.sort();
        found.into_iter().next()
    })
}
