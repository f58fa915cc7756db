//! What a block device is: identity, kind with its evidence, topology and use.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use super::layer::Layer;
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
    /// The number of no device: what rows of devices without a number carry.
    pub const NONE: DevNum = DevNum { major: 0, minor: 0 };

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
///
/// The name itself is no part of a device that has a sequence number: one that is renamed stays the device it was, with
/// its settings and counters. A world-wide id or serial number alone does not say as much: every path of a multipath
/// device has the same, and a disk that was pulled and put back is a new queue with settings and counters of its own.
/// Device mapper's names are not here at all: `dmsetup rename` changes them at will.
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
    /// Whether both can be the same device: nothing known to both differs, but for the name where number and sequence
    /// number are known and equal.
    #[must_use]
    pub fn same_device(&self, other: &DeviceId) -> bool {
        fn agree<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            match (a, b) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
        }
        (self.name == other.name || self.same_instance(other))
            && agree(self.devnum.as_ref(), other.devnum.as_ref())
            && agree(self.diskseq.as_ref(), other.diskseq.as_ref())
            && agree(self.wwid.as_ref(), other.wwid.as_ref())
            && agree(self.serial.as_ref(), other.serial.as_ref())
    }

    /// Whether number and sequence number are known to both and equal: one and the same registration with the kernel,
    /// whatever it is called.
    fn same_instance(&self, other: &DeviceId) -> bool {
        self.diskseq.is_some()
            && self.diskseq == other.diskseq
            && self.devnum.is_some()
            && self.devnum == other.devnum
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
    /// Mount point, swap file, holder's name, loop device, process.
    pub what: String,
    /// More of it: what sort of holder (`crypt home`, `raid1 member`), whose mount if not ours (`in the namespace of 1234
    /// containerd`), a loop device's file, `for writing` or `for reading`. None if there is nothing to add.
    pub detail: Option<String>,
}

impl Usage {
    /// A use of which no more is known.
    #[must_use]
    pub fn new(kind: UsageKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), detail: None }
    }

    /// With more words.
    #[must_use]
    pub fn with(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

impl fmt::Display for Usage {
    /// In few words: `/boot`, `swap`, `dm-0 (crypt home)`, `backs loop3 (/srv/disk.img)`, `open by qemu (1234) for writing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            UsageKind::Mount | UsageKind::Holder => f.write_str(&self.what)?,
            UsageKind::Swap if self.what == "swap" => f.write_str("swap")?,
            UsageKind::Swap => write!(f, "swap {}", self.what)?,
            UsageKind::Loop => write!(f, "backs {}", self.what)?,
            UsageKind::Open => write!(f, "open by {}", self.what)?,
        }
        match &self.detail {
            Some(detail) if self.kind == UsageKind::Open => write!(f, " {detail}"),
            Some(detail) => write!(f, " ({detail})"),
            None => Ok(()),
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
    /// The process `what` has its node open.
    Open,
}

/// How much of a device was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// A row of `/proc/diskstats` in a record is all there is: not even the size is known.
    Row,
    /// Name, number and size alone; all else is as yet unknown.
    Sketch,
    /// Everything.
    Whole,
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
    /// Zone model of zoned devices: `host-managed`, `host-aware`; None for all others.
    pub zoned: Option<String>,
    /// `iostats`: false means that `/proc/diskstats` may stand still; some drivers without a request queue count all the same.
    pub iostats: Option<bool>,
}

/// A whole block device.
#[allow(clippy::struct_excessive_bools)] // independent facts, most of them attributes of the kernel's
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Who it is.
    pub id: DeviceId,
    /// Node, as the operator would type it; None for hidden devices.
    pub path: Option<PathBuf>,
    /// How much of it was read.
    pub reading: Reading,
    /// Device mapper's own name, with its escapes (`slow\x20disk`).
    pub dm_name: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The fact that `kind` rests on, in words.
    pub kind_evidence: String,
    /// What it does with what it is built on; None for devices that are not stacked.
    pub layer: Option<Layer>,
    /// The file behind a bound loop device, as the kernel names it (`/srv/disk.img`, `/tmp/x (deleted)`).
    pub backing_file: Option<String>,
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
    /// Whether all that could use it was looked at; false if processes or mount namespaces were out of reach (other
    /// users', another container's) or not looked at: then it may have users that are not listed.
    pub used_by_complete: bool,
    /// The devices and partitions below it (`slaves/`; paths of a multipath head).
    pub built_on: Vec<KernelName>,
    /// Its partitions, in table order.
    pub partitions: Vec<Partition>,
}

impl Device {
    /// A device of which the name alone is known.
    #[must_use]
    pub fn sketch(name: KernelName) -> Self {
        Self {
            id: DeviceId { name, devnum: None, diskseq: None, wwid: None, serial: None },
            path: None,
            reading: Reading::Sketch,
            dm_name: None,
            kind: Kind::Other,
            kind_evidence: "not looked at yet".to_owned(),
            layer: None,
            backing_file: None,
            size: Bytes(0),
            model: None,
            removable: false,
            read_only: false,
            hidden: false,
            queue: QueueSummary::default(),
            used_by: Vec::new(),
            used_by_complete: false,
            built_on: Vec::new(),
            partitions: Vec::new(),
        }
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &KernelName {
        &self.id.name
    }

    /// The size; None where it is not known.
    #[must_use]
    pub fn known_size(&self) -> Option<Bytes> {
        (self.reading != Reading::Row).then_some(self.size)
    }

    /// Whether the device or any partition is used by anything that can be seen.
    #[must_use]
    pub fn in_use(&self) -> bool {
        !self.used_by.is_empty() || self.partitions.iter().any(|p| !p.used_by.is_empty())
    }

    /// The same for whoever is about to destroy data: what could not be looked at counts as use.
    #[must_use]
    pub fn may_be_in_use(&self) -> bool {
        self.in_use() || !self.used_by_complete
    }

    /// A loop, ram or zram device that nobody uses, a drive without a medium, an eMMC boot area: left out of the
    /// plain list, shown with `--all`.
    #[must_use]
    pub fn unused_or_uninteresting(&self) -> bool {
        let name = self.id.name.sysfs();
        let boot_area = name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"));
        let idle_memory = (matches!(self.kind, Kind::Zram) || name.starts_with("ram")) && !self.in_use();
        let no_medium = self.known_size() == Some(Bytes(0));
        no_medium || self.hidden || boot_area || idle_memory
    }
}
