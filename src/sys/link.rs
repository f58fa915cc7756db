//! The way between host and device: PCIe link, SATA link, NUMA node, and how many requests the device takes at once.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::attr;
use super::name::KernelName;
use super::root::SysRoot;

/// A PCIe link (`Documentation/ABI/testing/sysfs-bus-pci`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PcieLink {
    /// Speed of a lane now, GT/s.
    pub speed_gt_s: f64,
    /// Lanes now.
    pub width: u32,
    /// The most the device can do.
    pub max_speed_gt_s: f64,
    /// The most lanes it has.
    pub max_width: u32,
}

impl PcieLink {
    /// Share of what the device could have: 0.5 for half the lanes.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.speed_gt_s * f64::from(self.width) / (self.max_speed_gt_s * f64::from(self.max_width))
    }
}

/// A SATA link (`Documentation/ABI/testing/sysfs-ata`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SataLink {
    /// Speed now, Gbit/s.
    pub speed_gbps: f64,
    /// What the link is limited to now; the kernel lowers it after errors.
    pub limit_gbps: Option<f64>,
    /// What the controller's port can do.
    pub port_gbps: Option<f64>,
}

/// How a device is reached. None is what the kernel does not say: most of it for virtual devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Attachment {
    /// NUMA node of the controller.
    pub numa_node: Option<u32>,
    /// PCIe link of the controller.
    pub pcie: Option<PcieLink>,
    /// SATA link.
    pub sata: Option<SataLink>,
    /// Requests a SCSI device takes at once (`device/queue_depth`).
    pub queue_depth: Option<u32>,
    /// Hardware queues (`mq/`).
    pub hw_queues: Option<u32>,
    /// Tags that the driver uses in a hardware queue: how many requests that takes at once, whatever `nr_requests` reads.
    /// None where debugfs is not mounted or not for this process.
    pub tags: Option<u32>,
}

impl Attachment {
    /// Reads a whole device's.
    #[must_use]
    pub fn read(root: &SysRoot, name: &KernelName) -> Self {
        let above = ancestors(root, name);
        let number = |file| attr::read_u64(&root.block(name).join(file)).and_then(|n| u32::try_from(n).ok());
        Self {
            // -1, which is no number of this type, stands for none.
            numa_node: above
                .iter()
                .find_map(|dir| attr::read_u64(&dir.join("numa_node")))
                .and_then(|n| u32::try_from(n).ok()),
            pcie: above.iter().find_map(|dir| pcie(dir)),
            sata: above.iter().find_map(|dir| sata(dir)),
            queue_depth: number("device/queue_depth"),
            hw_queues: std::fs::read_dir(root.block(name).join("mq"))
                .ok()
                .and_then(|entries| u32::try_from(entries.flatten().count()).ok())
                .filter(|n| *n > 0),
            tags: tags_in_use(root, name),
        }
    }
}

/// Tags that a whole device's driver uses in a hardware queue, see [`Attachment::tags`].
#[must_use]
pub fn tags_in_use(root: &SysRoot, name: &KernelName) -> Option<u32> {
    tags(&attr::read_opt(&root.debug_block(name).join("hctx0/tags"))?)
}

/// Those in use of `nr_tags=256`, `nr_reserved_tags=0` and further lines (`blk_mq_debugfs_tags_show` in
/// `block/blk-mq-debugfs.c`): the `depth` of the bitmap that is resized, and the reserved ones, which have another.
fn tags(text: &str) -> Option<u32> {
    let number =
        |key| text.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.parse::<u32>().ok());
    number("depth=")?.checked_add(number("nr_reserved_tags=")?)
}

/// The directories above a device on its bus, nearest first, up to its PCI device. Never outside of `/sys/devices`.
pub(super) fn ancestors(root: &SysRoot, name: &KernelName) -> Vec<PathBuf> {
    let (Ok(device), Ok(top)) =
        (std::fs::canonicalize(root.block(name)), std::fs::canonicalize(root.devices_dir()))
    else {
        return Vec::new();
    };
    let mut dirs = Vec::new();
    for dir in device.ancestors().skip(1) {
        if dir == top || !dir.starts_with(&top) {
            break;
        }
        dirs.push(dir.to_path_buf());
        if dir.join("max_link_speed").exists() || (dir.join("vendor").exists() && dir.join("class").exists())
        {
            break;
        }
    }
    dirs
}

/// `8.0 GT/s PCIe`; `Unknown` where there is no such link (virtio, conventional PCI).
fn pcie(dir: &Path) -> Option<PcieLink> {
    let speed = |file| first_number(&attr::read_opt(&dir.join(file))?);
    let width = |file| {
        attr::read_u64(&dir.join(file)).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=64).contains(n))
    };
    Some(PcieLink {
        speed_gt_s: speed("current_link_speed")?,
        width: width("current_link_width")?,
        max_speed_gt_s: speed("max_link_speed")?,
        max_width: width("max_link_width")?,
    })
}

/// The link of a port directory, `ata3`: `ata3/link3/ata_link/link3`.
fn sata(dir: &Path) -> Option<SataLink> {
    let port: u32 = dir.file_name()?.to_str()?.strip_prefix("ata")?.parse().ok()?;
    let link = dir.join(format!("link{port}/ata_link/link{port}"));
    let speed = |file| first_number(&attr::read_opt(&link.join(file))?);
    Some(SataLink {
        speed_gbps: speed("sata_spd")?,
        limit_gbps: speed("sata_spd_limit"),
        port_gbps: speed("hw_sata_spd_limit"),
    })
}

/// The number before the unit; None for words.
fn first_number(text: &str) -> Option<f64> {
    let number: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::temperature::Temperature;
    use super::*;
    use std::os::unix::fs::symlink;

    /// A tree with one device at this place below `/sys/devices`, and these files beside it.
    fn tree(place: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, SysRoot, KernelName) {
        let dir = tempfile::tempdir().unwrap();
        let devices = dir.path().join("sys/devices");
        std::fs::create_dir_all(devices.join(place)).unwrap();
        std::fs::create_dir_all(dir.path().join("sys/block")).unwrap();
        for (name, text) in files {
            let path = devices.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let name = KernelName::new(place.rsplit('/').next().unwrap()).unwrap();
        symlink(devices.join(place), dir.path().join("sys/block").join(name.sysfs())).unwrap();
        let root = SysRoot::captured(dir.path());
        (dir, root, name)
    }

    #[test]
    fn an_nvme_drive_in_half_a_slot() {
        let pci = "pci0000:00/0000:00:1d.0/0000:02:00.0";
        let file = |f: &str| format!("{pci}/{f}");
        let (_dir, root, name) = tree(
            &file("nvme/nvme0/nvme0n1"),
            &[
                (&file("current_link_speed"), "8.0 GT/s PCIe\n"),
                (&file("current_link_width"), "2\n"),
                (&file("max_link_speed"), "8.0 GT/s PCIe\n"),
                (&file("max_link_width"), "4\n"),
                (&file("numa_node"), "1\n"),
                (&file("nvme/nvme0/hwmon2/temp1_input"), "80850\n"),
                (&file("nvme/nvme0/hwmon2/temp1_max"), "81850\n"),
                (&file("nvme/nvme0/hwmon2/temp1_crit"), "84850\n"),
                (&file("nvme/nvme0/nvme0n1/mq/0/x"), ""),
                (&file("nvme/nvme0/nvme0n1/mq/1/x"), ""),
                // The bridge above is no part of it.
                ("pci0000:00/0000:00:1d.0/hwmon/hwmon7/temp1_input", "1000\n"),
            ],
        );
        let a = Attachment::read(&root, &name);
        assert!((a.pcie.unwrap().share() - 0.5).abs() < 1e-9, "{a:?}");
        assert_eq!((a.numa_node, a.hw_queues, a.queue_depth), (Some(1), Some(2), None));
        let t = Temperature::read(&root, &name).unwrap();
        assert!((t.now_c - 80.85).abs() < 1e-9 && (t.room().unwrap() - 1.0).abs() < 1e-9, "{t:?}");
    }

    #[test]
    fn a_disk_behind_a_slow_cable() {
        let port = "pci0000:00/0000:00:1f.2/ata3";
        let file = |f: &str| format!("{port}/{f}");
        let (_dir, root, name) = tree(
            &file("host2/target2:0:0/2:0:0:0/block/sda"),
            &[
                (&file("link3/ata_link/link3/sata_spd"), "1.5 Gbps\n"),
                (&file("link3/ata_link/link3/sata_spd_limit"), "1.5 Gbps\n"),
                (&file("link3/ata_link/link3/hw_sata_spd_limit"), "6.0 Gbps\n"),
                (&file("host2/target2:0:0/2:0:0:0/queue_depth"), "31\n"),
                (&file("host2/target2:0:0/2:0:0:0/hwmon/hwmon1/temp1_input"), "35000\n"),
                ("pci0000:00/0000:00:1f.2/numa_node", "-1\n"),
            ],
        );
        symlink(root.devices_dir().join(file("host2/target2:0:0/2:0:0:0")), root.block(&name).join("device"))
            .unwrap();
        let a = Attachment::read(&root, &name);
        assert_eq!(a.sata, Some(SataLink { speed_gbps: 1.5, limit_gbps: Some(1.5), port_gbps: Some(6.0) }));
        assert_eq!((a.queue_depth, a.numa_node, a.pcie), (Some(31), None, None));
        assert_eq!(Temperature::read(&root, &name).map(|t| (t.now_c, t.room())), Some((35.0, None)));
    }

    #[test]
    fn tags_of_the_first_bitmap_and_the_reserved_ones() {
        let bitmap =
            |depth: &str| format!("bitmap_tags:\ndepth={depth}\nbusy=0\ncleared=28\nbits_per_word=32\n");
        let text = |reserved: u32, rest: &str| {
            format!("nr_tags=128\nnr_reserved_tags={reserved}\nactive_queues=0\n\n{}{rest}", bitmap("4"))
        };
        assert_eq!(tags(&text(0, "")), Some(4));
        assert_eq!(tags(&text(2, "breserved_tags:\ndepth=2\nbusy=0\n")), Some(6));
        for wrong in ["", "nr_tags=128\n", &bitmap("4"), &text(0, "").replace('4', "4294967296")] {
            assert_eq!(tags(wrong), None, "{wrong}");
        }
        let (_dir, root, name) = tree("virtual/block/loop0", &[]);
        let file = root.debug_block(&name).join("hctx0/tags");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text(0, "")).unwrap();
        assert_eq!(Attachment::read(&root, &name).tags, Some(4));
    }

    #[test]
    fn what_is_not_known_is_none() {
        let pci = "pci0000:00/0000:00:05.0";
        let unknown = [
            (format!("{pci}/current_link_speed"), "Unknown\n"),
            (format!("{pci}/max_link_speed"), "Unknown\n"),
            (format!("{pci}/current_link_width"), "0\n"),
            (format!("{pci}/max_link_width"), "255\n"),
        ];
        let files: Vec<(&str, &str)> = unknown.iter().map(|(a, b)| (a.as_str(), *b)).collect();
        let (_dir, root, name) = tree(&format!("{pci}/virtio2/block/vda"), &files);
        assert_eq!(Attachment::read(&root, &name), Attachment::default());
        let (_dir, root, name) = tree("virtual/block/loop0", &[]);
        assert_eq!(Attachment::read(&root, &name), Attachment::default());
        assert_eq!(Temperature::read(&root, &name), None);
        assert_eq!(Attachment::read(&root, &KernelName::new("gone").unwrap()), Attachment::default());
    }
}
