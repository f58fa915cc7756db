//! What a device is, and the fact that says so.

use std::path::Path;

use super::attr;
use super::device::Kind;
use super::name::KernelName;

/// SCSI peripheral type of CD and DVD drives (SPC, "CD/DVD device").
const SCSI_TYPE_OPTICAL: u64 = 5;

/// Vendor words in SCSI inquiry data behind which no medium of their own exists.
const HYPERVISOR_VENDORS: [&str; 5] = ["QEMU", "VMware", "VBOX", "Msft", "Google"];

/// Judges a device by its directory below `/sys/devices`, `block` being its resolved path and `rotational` its flag.
///
/// Drivers are told by the bus in the path, never by the flag; the flag only tells disk from flash where it comes
/// from the drive itself (SCSI and ATA), not through a USB bridge or a hypervisor.
#[must_use]
pub fn judge(name: &KernelName, block: &Path, rotational: Option<bool>) -> (Kind, String) {
    let n = name.sysfs();
    let path = block.to_string_lossy();
    let on_bus = |bus: &str| path.split('/').any(|c| c.starts_with(bus));
    let reported = match rotational {
        Some(true) => "rotational=1",
        Some(false) => "rotational=0",
        None => "rotational unknown",
    };
    let fact = |kind, text: &str| (kind, text.to_owned());

    if block.join("dm").is_dir() {
        let uuid = attr::read_opt(&block.join("dm/uuid")).unwrap_or_default();
        let target = uuid.split('-').next().unwrap_or_default();
        let what = match target {
            "LVM" => "device mapper, LVM",
            "CRYPT" => "device mapper, crypt",
            "mpath" => "device mapper, multipath",
            t if t.starts_with("part") => "device mapper, partition map",
            _ => "device mapper",
        };
        return fact(Kind::Dm, what);
    }
    if block.join("md").is_dir() {
        let level = attr::read_opt(&block.join("md/level")).unwrap_or_default();
        return (Kind::Md, format!("md {level}").trim_end().to_owned());
    }
    if on_bus("virtual") || on_bus("floppy") {
        return match n.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "loop" => fact(Kind::Loop, "loop device"),
            "zram" => fact(Kind::Zram, "zram, compressed memory"),
            "nbd" => fact(Kind::Nbd, "network block device"),
            "ram" => fact(Kind::Virtual, "ram disk"),
            "nullb" => fact(Kind::Virtual, "null_blk test device"),
            "fd" => fact(Kind::Other, "floppy drive"),
            "mtdblock" => fact(Kind::Other, "mtd block device"),
            _ if n.starts_with("nvme") => fact(Kind::Nvme, "NVMe multipath head"),
            _ => fact(Kind::Virtual, "under /sys/devices/virtual"),
        };
    }
    if attr::read_u64(&block.join("device/type")) == Some(SCSI_TYPE_OPTICAL) {
        return fact(Kind::Optical, "SCSI type 5");
    }
    if on_bus("mmc_host") {
        let kind = attr::read_opt(&block.join("device/type")).unwrap_or_default();
        return (Kind::Sd, format!("mmc {kind}").trim_end().to_owned());
    }
    if on_bus("usb") {
        return (Kind::Usb, format!("behind USB, {reported} as the bridge reports"));
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
