//! Whether a device is a leaf: whether its bytes are its own, not those of the devices it is built on.

use std::path::Path;

use super::attr;
use super::name::KernelName;
use super::root::SysRoot;

/// Answers from the device's directory, three small look-ups. None if there is no such whole device.
///
/// Not leaves: what is built on something (`slaves/`), hidden paths, and all that the kernel makes up, which it keeps below
/// `/sys/devices/virtual`: device mapper, md, bcache, loop, zram, ram disks. Leaves all the same: the heads of NVMe
/// multipath, which live there too, and network block devices, whose bytes no other row of this host has.
#[must_use]
pub fn is_leaf(root: &SysRoot, name: &KernelName) -> Option<bool> {
    let dir = root.block(name);
    if !dir.exists() {
        return None;
    }
    if attr::read_flag(&dir.join("hidden")) == Some(true) || name.multipath_head().is_some() {
        return Some(false);
    }
    let made_up = match std::fs::read_link(&dir) {
        Ok(link) => link.components().any(|c| c.as_os_str() == "virtual"),
        // A captured tree with plain directories.
        Err(_) => dir.join("dm").exists() || dir.join("md").exists() || dir.join("loop").exists(),
    };
    let exempt = name.sysfs().starts_with("nvme") || name.sysfs().starts_with("nbd");
    Some((exempt || !made_up) && is_empty(&dir.join("slaves")))
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}
