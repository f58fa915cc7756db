//! What a device is, and the fact that says so.

use std::path::Path;

use super::attr;
use super::device::Kind;
use super::layer::Layer;
use super::name::KernelName;
use crate::units::{Bytes, Sectors};

/// SCSI peripheral type of CD and DVD drives (SPC, "CD/DVD device").
const SCSI_TYPE_OPTICAL: u64 = 5;

/// Vendor words in SCSI inquiry data behind which no medium of their own exists.
const HYPERVISOR_VENDORS: [&str; 5] = ["QEMU", "VMware", "VBOX", "Msft", "Google"];

/// What `sr` takes for a capacity that the drive does not tell, in 512-byte sectors (`get_sectorsize` in
/// `drivers/scsi/sr.c`): no medium was in it when it was last asked.
const OPTICAL_UNKNOWN: u64 = 0x1f_ffff;

/// What the judgement rests on, as read.
pub(super) struct Facts<'a> {
    pub(super) name: &'a KernelName,
    /// The device's directory below `/sys/devices`, links resolved.
    pub(super) block: &'a Path,
    pub(super) rotational: Option<bool>,
    pub(super) zoned: Option<&'a str>,
    pub(super) layer: Option<&'a Layer>,
    pub(super) built_on: &'a [KernelName],
    pub(super) backing_file: Option<&'a str>,
    pub(super) size: Bytes,
    /// The head that a hidden path belongs to.
    pub(super) head: Option<&'a KernelName>,
}

/// Judges a device.
///
/// Drivers are told by the bus in the path, never by the flag; the flag only tells disk from flash where it comes
/// from the drive itself (SCSI and ATA), not through a USB bridge or a hypervisor.
pub(super) fn judge(facts: &Facts<'_>) -> (Kind, String) {
    let (kind, mut evidence) = judge_driver(facts);
    if let Some(model) = facts.zoned {
        evidence.push_str(", zoned: ");
        evidence.push_str(model);
    }
    (kind, evidence)
}

/// The kind of drivers that are told by the name alone; what a device counts as before it is looked at.
pub(super) fn by_name(name: &KernelName) -> Option<(Kind, &'static str)> {
    Some(match name.sysfs().trim_end_matches(|c: char| c.is_ascii_digit()) {
        "loop" => (Kind::Loop, "loop device"),
        "zram" => (Kind::Zram, "zram, compressed memory"),
        "nbd" => (Kind::Nbd, "network block device"),
        "ram" => (Kind::Virtual, "ram disk"),
        "nullb" => (Kind::Virtual, "null_blk test device"),
        "fd" => (Kind::Other, "floppy drive"),
        "mtdblock" => (Kind::Other, "mtd block device"),
        _ => return None,
    })
}

fn judge_driver(facts: &Facts<'_>) -> (Kind, String) {
    let Facts { name, block, rotational, .. } = *facts;
    let n = name.sysfs();
    let path = block.to_string_lossy();
    let on_bus = |bus: &str| path.split('/').any(|c| c.starts_with(bus));
    let reported = match rotational {
        Some(true) => "rotational=1",
        Some(false) => "rotational=0",
        None => "rotational unknown",
    };
    let fact = |kind, text: &str| (kind, text.to_owned());

    if let Some(layer) = facts.layer {
        let kind = match layer {
            Layer::Raid(_) => Kind::Md,
            Layer::Bcache => Kind::Other,
            _ => Kind::Dm,
        };
        return (kind, layer.evidence(facts.built_on));
    }
    if let Some(head) = facts.head {
        return (Kind::Nvme, format!("NVMe multipath, a path of {head}"));
    }
    if on_bus("virtual") || on_bus("floppy") {
        return match (by_name(name), facts.backing_file) {
            (Some((Kind::Loop, words)), Some(file)) => (Kind::Loop, format!("{words} over {file}")),
            (Some((Kind::Loop, words)), None) => (Kind::Loop, format!("{words}, no file")),
            (Some((kind, words)), _) => fact(kind, words),
            (None, _) if n.starts_with("nvme") => fact(Kind::Nvme, "NVMe multipath head"),
            (None, _) => fact(Kind::Virtual, "under /sys/devices/virtual"),
        };
    }
    if attr::read_u64(&block.join("device/type")) == Some(SCSI_TYPE_OPTICAL) {
        let empty = facts.size == Sectors(OPTICAL_UNKNOWN).bytes() || facts.size.0 == 0;
        return fact(Kind::Optical, if empty { "SCSI type 5, no medium" } else { "SCSI type 5" });
    }
    if on_bus("mmc_host") {
        let kind = attr::read_opt(&block.join("device/type")).unwrap_or_default();
        return (Kind::Sd, format!("mmc {kind}").trim_end().to_owned());
    }
    if on_bus("usb") {
        return (Kind::Usb, format!("USB, {reported} (as reported)"));
    }
    if n.starts_with("nvme") {
        return fact(Kind::Nvme, "NVMe namespace");
    }
    if n.starts_with("pmem") || on_bus("ndbus") {
        return fact(Kind::Other, "persistent memory");
    }
    for (bus, what) in
        [("virtio", "virtio"), ("vbd-", "xen"), ("vmbus", "Hyper-V"), ("pseudo_", "scsi_debug test device")]
    {
        if on_bus(bus) {
            return (Kind::Virtual, format!("behind {what}, {reported} as the host says"));
        }
    }
    let vendor = attr::read_opt(&block.join("device/vendor")).unwrap_or_default();
    let model = attr::read_opt(&block.join("device/model")).unwrap_or_default();
    if HYPERVISOR_VENDORS.iter().any(|v| vendor.starts_with(v) || model.starts_with(v)) {
        return (Kind::Virtual, format!("vendor says {vendor} {model}, {reported}"));
    }
    if block.join("device/scsi_device").is_dir() || on_bus("target") || on_bus("ata") || on_bus("host") {
        let bus = if on_bus("ata") { "ATA" } else { "SCSI" };
        return match rotational {
            Some(true) => (Kind::Hdd, format!("{bus}, {reported}")),
            Some(false) => (Kind::Ssd, format!("{bus}, {reported}")),
            None => (Kind::Other, format!("{bus}, {reported}")),
        };
    }
    fact(Kind::Other, "unknown driver")
}
