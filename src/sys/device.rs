//! What a block device is: identity, kind with its evidence, topology and use.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use super::name::KernelName;
use super::queue::SchedulerList;
use crate::units::{Bytes, Kib};

/// A device number. The hidden paths of NVMe multipath have none, so it is optional wherever a device is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevNum {
    /// The driver's number.
    pub major: u32,
    /// The device's or partition's number within the driver.
    pub minor: u32,
}

impl DevNum {
    /// Parses `MAJ:MIN` as in the `dev` attribute and mountinfo.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }

    /// From the kernel's encoding in `st_rdev` and `st_dev`.
    #[must_use]
    pub fn of_rdev(rdev: u64) -> Self {
        Self { major: rustix::fs::major(rdev), minor: rustix::fs::minor(rdev) }
    }
}

impl fmt::Display for DevNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl Serialize for DevNum {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Who a device is, beyond its name. Two are the same device only if everything known to both agrees: names and
/// numbers are reused within seconds, `diskseq` (Linux 5.15) never within a boot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId {
    /// The kernel's name.
    pub name: KernelName,
    /// The number; None for hidden multipath members.
    pub devnum: Option<DevNum>,
    /// The kernel's sequence number of disks since boot; None before Linux 5.15.
    pub diskseq: Option<u64>,
    /// World-wide id of the namespace or LUN.
    pub wwid: Option<String>,
    /// Serial number, where sysfs has one.
    pub serial: Option<String>,
}

impl DeviceId {
    /// Whether both can be the same device: nothing known to both differs.
    #[must_use]
    pub fn same_device(&self, other: &DeviceId) -> bool {
        fn agree<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            match (a, b) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
        }
        self.name == other.name
            && agree(self.devnum.as_ref(), other.devnum.as_ref())
            && agree(self.diskseq.as_ref(), other.diskseq.as_ref())
            && agree(self.wwid.as_ref(), other.wwid.as_ref())
            && agree(self.serial.as_ref(), other.serial.as_ref())
    }
}

/// What a device is, as far as it can be shown. No claim is made about the medium of virtual or USB devices:
/// their rotational flag is only what they report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A SCSI or ATA device that reports rotation.
    Hdd,
    /// A SCSI or ATA device that reports none.
    Ssd,
    /// An NVMe namespace.
    Nvme,
    /// Anything behind a USB bridge.
    Usb,
    /// SD card or eMMC.
    Sd,
    /// A hypervisor's or a test driver's device.
    Virtual,
    /// Device mapper.
    Dm,
    /// Linux software RAID.
    Md,
    /// A loop device over a file.
    Loop,
    /// Compressed memory.
    Zram,
    /// Network block device.
    Nbd,
    /// CD, DVD.
    Optical,
    /// Everything else.
    Other,
}

impl Kind {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Hdd => "hdd",
            Kind::Ssd => "ssd",
            Kind::Nvme => "nvme",
            Kind::Usb => "usb",
            Kind::Sd => "sd",
            Kind::Virtual => "virtual",
            Kind::Dm => "dm",
            Kind::Md => "md",
            Kind::Loop => "loop",
            Kind::Zram => "zram",
            Kind::Nbd => "nbd",
            Kind::Optical => "optical",
            Kind::Other => "other",
        }
    }
}

/// One use of a device or partition by something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// What sort of use.
    pub kind: UsageKind,
    /// Mount point, holder's name, loop device.
    pub what: String,
}

impl fmt::Display for Usage {
    /// In few words: `/boot`, `swap`, `dm-0`, `backs loop3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            UsageKind::Mount | UsageKind::Holder => f.write_str(&self.what),
            UsageKind::Swap if self.what == "swap" => f.write_str("swap"),
            UsageKind::Swap => write!(f, "swap {}", self.what),
            UsageKind::Loop => write!(f, "backs {}", self.what),
        }
    }
}

/// The sorts of use that can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageKind {
    /// A file system mounted at `what`.
    Mount,
    /// Swap space, on the device or on a file of its file system.
    Swap,
    /// A stacked device named `what` sits on it.
    Holder,
    /// The loop device `what` has a backing file on it.
    Loop,
}

/// A slice of a device. It has no queue: settings belong to the whole device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Partition {
    /// Kernel name.
    pub name: KernelName,
    /// Node, as the operator would type it.
    pub path: PathBuf,
    /// Device number.
    pub devnum: Option<DevNum>,
    /// Its number in the table.
    pub number: u64,
    /// Size.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Who uses it.
    pub used_by: Vec<Usage>,
}

/// The four settings that the list shows, and what is needed to judge them. None is unknown or absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSummary {
    /// The scheduler; None for bio-based devices, which have no such file.
    pub scheduler: Option<SchedulerList>,
    /// `rotational` as reported.
    pub rotational: Option<bool>,
    /// `read_ahead_kb`.
    pub read_ahead: Option<Kib>,
    /// `nr_requests`.
    pub nr_requests: Option<u64>,
    /// `logical_block_size`: the step of direct I/O.
    pub logical_block: Option<Bytes>,
    /// `iostats`: false means that `/proc/diskstats` may stand still; some drivers without a request queue count all the same.
    pub iostats: Option<bool>,
}

/// A whole block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Who it is.
    pub id: DeviceId,
    /// Node, as the operator would type it; None for hidden devices.
    pub path: Option<PathBuf>,
    /// Device mapper's own name, with its escapes (`slow\x20disk`).
    pub dm_name: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The fact that `kind` rests on, in words.
    pub kind_evidence: String,
    /// Size; 0 for an unused loop or nbd device.
    pub size: Bytes,
    /// Vendor and model as the device says them, cleaned.
    pub model: Option<String>,
    /// The medium can be taken out.
    pub removable: bool,
    /// Writes are refused.
    pub read_only: bool,
    /// A path of an NVMe multipath head, without a node.
    pub hidden: bool,
    /// The settings that matter most.
    pub queue: QueueSummary,
    /// Who uses the device itself (partitions have their own list).
    pub used_by: Vec<Usage>,
    /// The devices and partitions below it (`slaves/`; paths of a multipath head).
    pub built_on: Vec<KernelName>,
    /// Its partitions, in table order.
    pub partitions: Vec<Partition>,
}

impl Device {
    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &KernelName {
        &self.id.name
    }

    /// Whether the device or any partition is used by anything that can be seen.
    #[must_use]
    pub fn in_use(&self) -> bool {
        !self.used_by.is_empty() || self.partitions.iter().any(|p| !p.used_by.is_empty())
    }

    /// A loop, ram or zram device that nobody uses, a drive without a medium, an eMMC boot area: left out of the
    /// plain list, shown with `--all`.
    #[must_use]
    pub fn unused_or_uninteresting(&self) -> bool {
        let name = self.id.name.sysfs();
        let boot_area = name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"));
        let idle_memory = (matches!(self.kind, Kind::Zram) || name.starts_with("ram")) && !self.in_use();
        self.size.0 == 0 || self.hidden || boot_area || idle_memory
    }
}
