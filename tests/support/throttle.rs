//! A device whose speed is known, or that all but hangs: a control group whose reads from it are limited.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use blktune::sys::name::KernelName;

use super::LoopDevice;

/// A control group with a limit, gone when dropped.
pub struct Throttle {
    group: PathBuf,
    file: &'static str,
    unlimited: String,
}

impl Throttle {
    /// Limits the bytes a second that processes which join the group read of this device. None, and said why, where the
    /// host has neither form of the block controller.
    pub fn reads(device: &LoopDevice, bytes_per_s: u64) -> Option<Self> {
        Self::limit(device.name(), "blkio.throttle.read_bps_device", "rbps", bytes_per_s)
    }

    /// The same of requests a second, as they are after splitting.
    pub fn read_iops(device: &LoopDevice, per_s: u64) -> Option<Self> {
        Self::read_iops_of(device.name(), per_s)
    }

    /// The same of any device.
    pub fn read_iops_of(device: &KernelName, per_s: u64) -> Option<Self> {
        Self::limit(device, "blkio.throttle.read_iops_device", "riops", per_s)
    }

    fn limit(device: &KernelName, v1: &'static str, v2: &str, most: u64) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number =
            std::fs::read_to_string(format!("/sys/block/{}/dev", device.kernel())).expect("a device number");
        let number = number.trim();
        let name = format!("blktune-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let forms = [
            ("/sys/fs/cgroup/blkio", v1, format!("{number} {most}"), format!("{number} 0")),
            ("/sys/fs/cgroup", "io.max", format!("{number} {v2}={most}"), format!("{number} {v2}=max")),
        ];
        for (root, file, limited, unlimited) in forms {
            let group = Path::new(root).join(&name);
            if std::fs::create_dir(&group).is_err() {
                continue;
            }
            let throttle = Self { group, file, unlimited };
            if std::fs::write(throttle.group.join(file), limited).is_ok() {
                return Some(throttle);
            }
        }
        assert!(
            std::env::var_os("BLKTUNE_REQUIRE_PRIVILEGED").is_none_or(|v| v != "1"),
            "no block controller to throttle with, and BLKTUNE_REQUIRE_PRIVILEGED=1"
        );
        eprintln!("not run: this host has no block controller to throttle a device with");
        None
    }

    /// The group's directory.
    pub fn group(&self) -> &Path {
        &self.group
    }

    /// Takes the limit away: what waited goes on.
    pub fn lift(&self) {
        std::fs::write(self.group.join(self.file), &self.unlimited).expect("the limit can be lifted");
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // Whoever is still in the group must be able to leave it.
        let _ = std::fs::write(self.group.join(self.file), &self.unlimited);
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while std::fs::remove_dir(&self.group).is_err() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
