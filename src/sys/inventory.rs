//! What block devices there are: every whole device with its partitions, its neighbours above and below, and its users.

use std::collections::HashMap;
use std::path::Path;

use super::attr;
use super::device::{DevNum, Device, DeviceId, Kind, Partition, QueueSummary, Reading, Usage, UsageKind};
use super::kind;
use super::layer::Layer;
use super::name::{KernelName, natural_order};
use super::queue::SchedulerList;
use super::root::SysRoot;
use super::usage::{self, Users};
use crate::units::{Bytes, Kib, Sectors};

/// Everything below `/sys/block`, read whole, in natural order. Entries that vanish during the scan or carry no safe name
/// are left out.
///
/// # Errors
/// `/sys/block` can not be read: not Linux, not mounted, or a directory that is no captured tree.
pub fn scan(root: &SysRoot) -> std::io::Result<Vec<Device>> {
    let names = names(root)?;
    Ok(read_all(root, &names, &Users::read(root)))
}

/// The same with users that are known already.
///
/// # Errors
/// As [`scan`].
pub fn scan_with(root: &SysRoot, users: &Users) -> std::io::Result<Vec<Device>> {
    Ok(read_all(root, &names(root)?, users))
}

fn read_all(root: &SysRoot, names: &[KernelName], users: &Users) -> Vec<Device> {
    let paths = paths_by_head(names);
    names.iter().filter_map(|name| read_device(root, name, users, &paths)).collect()
}

/// The names of all whole devices, in natural order: one read of a directory.
///
/// # Errors
/// As [`scan`].
pub fn names(root: &SysRoot) -> std::io::Result<Vec<KernelName>> {
    names_in(&root.block_dir())
}

/// The same as the directory has them.
pub(super) fn unordered_names(root: &SysRoot) -> std::io::Result<Vec<KernelName>> {
    let entries = std::fs::read_dir(root.block_dir())?;
    Ok(entries.flatten().filter_map(|e| KernelName::new(e.file_name().to_str()?)).collect())
}

/// Every device by name, number and size alone ([`Reading::Sketch`]), in natural order: one read of a directory and one of
/// `/proc/partitions`, and one small file for each device that is not in there (unbound loop devices apart).
///
/// # Errors
/// As [`scan`].
pub fn sketch(root: &SysRoot) -> std::io::Result<Vec<Device>> {
    let names = names(root)?;
    let listed = listed(root);
    Ok(names.into_iter().map(|name| sketch_of(root, name, &listed)).collect())
}

/// One whole device; None if it is gone.
#[must_use]
pub fn read(root: &SysRoot, name: &KernelName, users: &Users) -> Option<Device> {
    // Only the head of a multipath device has to know the other names.
    let head = name.sysfs().starts_with("nvme") && head_of_path(name.sysfs()).is_none();
    let names = if head { names(root).unwrap_or_default() } else { Vec::new() };
    read_device(root, name, users, &paths_by_head(&names))
}

/// Number and size by name, as `/proc/partitions` has them.
pub(super) type Listed = HashMap<KernelName, (DevNum, Bytes)>;

/// Reads `/proc/partitions`. Devices of size 0 and hidden ones are not in it; sizes are in whole KiB.
pub(super) fn listed(root: &SysRoot) -> Listed {
    let text = std::fs::read(root.proc("partitions")).unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let mut number = || fields.next()?.parse::<u64>().ok();
            let (major, minor, kib) = (number()?, number()?, number()?);
            let devnum = DevNum { major: u32::try_from(major).ok()?, minor: u32::try_from(minor).ok()? };
            Some((KernelName::new(fields.next()?)?, (devnum, Kib(kib).sectors().bytes())))
        })
        .collect()
}

pub(super) fn sketch_of(root: &SysRoot, name: KernelName, listed: &Listed) -> Device {
    let known = listed.get(&name).copied();
    let by_name = kind::by_name(&name);
    // The list leaves out what has no size (`show_partition` in `block/genhd.c`); of loop devices there may be thousands.
    let empty = !listed.is_empty() && matches!(by_name, Some((Kind::Loop, _)));
    let size = match known {
        Some((_, size)) => size,
        None if empty => Bytes(0),
        None => Sectors(attr::read_u64(&root.block(&name).join("size")).unwrap_or(0)).bytes(),
    };
    let hidden = head_of_path(name.sysfs()).is_some();
    let mut device = Device::sketch(name);
    if let Some((kind, words)) = by_name {
        device.kind = kind;
        device.kind_evidence = format!("{words}, by its name");
    }
    device.path = (!hidden).then(|| SysRoot::node(device.name()));
    device.hidden = hidden;
    device.size = size;
    device.id.devnum = known.map(|(devnum, _)| devnum);
    device
}

/// The identity of a device as it is now: cheap enough to check before every write.
#[must_use]
pub fn identify(root: &SysRoot, name: &KernelName) -> Option<DeviceId> {
    let dir = root.block(name);
    if !dir.join("size").exists() {
        return None;
    }
    let first = |files: [&str; 2]| {
        files
            .iter()
            .find_map(|f| attr::read_opt(&dir.join(f)).map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()))
    };
    Some(DeviceId {
        name: name.clone(),
        devnum: attr::read_opt(&dir.join("dev")).and_then(|t| DevNum::parse(&t)),
        diskseq: attr::read_u64(&dir.join("diskseq")),
        wwid: first(["wwid", "device/wwid"]),
        serial: first(["serial", "device/serial"]).or_else(|| unit_serial(&dir)),
    })
}

/// The unit serial number of SCSI and ATA: page 0x80 of vital product data, four bytes of head before the text (SPC,
/// "Unit Serial Number VPD page").
fn unit_serial(dir: &Path) -> Option<String> {
    let page = attr::read_bytes(&dir.join("device/vpd_pg80")).ok()?;
    let text = attr::clean(page.get(4..)?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The settings that matter most, a few small files.
#[must_use]
pub fn queue_summary(root: &SysRoot, name: &KernelName) -> QueueSummary {
    let q = root.queue(name);
    QueueSummary {
        scheduler: attr::read_opt(&q.join("scheduler")).and_then(|t| SchedulerList::parse(&t)),
        rotational: attr::read_flag(&q.join("rotational")),
        read_ahead: attr::read_u64(&q.join("read_ahead_kb")).map(Kib),
        nr_requests: attr::read_u64(&q.join("nr_requests")),
        logical_block: attr::read_u64(&q.join("logical_block_size")).map(Bytes),
        zoned: attr::read_opt(&q.join("zoned")).filter(|z| !z.is_empty() && z != "none"),
        iostats: attr::read_flag(&q.join("iostats")),
    }
}

pub(super) fn read_device(
    root: &SysRoot,
    name: &KernelName,
    users: &Users,
    paths: &PathsByHead,
) -> Option<Device> {
    let id = identify(root, name)?;
    let dir = root.block(name);
    let flag = |f: &str| attr::read_flag(&dir.join(f)).unwrap_or(false);
    let hidden = flag("hidden");
    let layer = Layer::of(name, &dir);
    let dm_name = attr::read_opt(&dir.join("dm/name")).filter(|n| !n.is_empty());
    let path = match &dm_name {
        _ if hidden => None,
        Some(dm) => Some(SysRoot::mapper_node(dm)),
        None => Some(SysRoot::node(name)),
    };
    let queue = queue_summary(root, name);
    // Below /sys/block are links that go straight to the place among the devices; no need to look up each part of it.
    let place =
        std::fs::read_link(&dir).or_else(|_| std::fs::canonicalize(&dir)).unwrap_or_else(|_| dir.clone());
    let size = Sectors(attr::read_u64(&dir.join("size")).unwrap_or(0)).bytes();
    let backing_file = usage::backing_file(root, name);
    let mut built_on = names_in(&dir.join("slaves")).unwrap_or_default();
    // sysfs links the paths of a multipath head only on newer kernels, their names always say it.
    for path in paths.get(name.sysfs()).into_iter().flatten() {
        if !built_on.contains(path) {
            built_on.push(path.clone());
        }
    }
    let head = if hidden { head_of_path(name.sysfs()).and_then(|h| KernelName::new(&h)) } else { None };
    let (kind, kind_evidence) = kind::judge(&kind::Facts {
        name,
        block: &dir,
        place: &place,
        rotational: queue.rotational,
        zoned: queue.zoned.as_deref(),
        layer: layer.as_ref(),
        built_on: &built_on,
        backing_file: backing_file.as_deref(),
        size,
        head: head.as_ref(),
    });

    let kernel_node = SysRoot::node(name);
    let nodes: Vec<&Path> = std::iter::once(kernel_node.as_path()).chain(path.as_deref()).collect();
    let mut used_by = users.of(id.devnum, &nodes);
    used_by.extend(holders(root, &dir));
    Some(Device {
        path,
        reading: Reading::Whole,
        dm_name,
        kind,
        kind_evidence,
        layer,
        backing_file,
        size,
        model: model(&dir),
        removable: flag("removable"),
        read_only: flag("ro"),
        hidden,
        queue,
        used_by,
        used_by_complete: users.complete(),
        built_on,
        partitions: partitions(root, &dir, users),
        id,
    })
}

fn partitions(root: &SysRoot, dir: &Path, users: &Users) -> Vec<Partition> {
    let mut found: Vec<Partition> = names_in(dir)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| {
            let part = dir.join(name.sysfs());
            let number = attr::read_u64(&part.join("partition"))?;
            let devnum = attr::read_opt(&part.join("dev")).and_then(|t| DevNum::parse(&t));
            let path = SysRoot::node(&name);
            let mut used_by = users.of(devnum, &[&path]);
            used_by.extend(holders(root, &part));
            let size = Sectors(attr::read_u64(&part.join("size")).unwrap_or(0)).bytes();
            Some(Partition { name, path, devnum, number, size, used_by })
        })
        .collect();
    found.sort_by_key(|p| p.number);
    found
}

fn holders(root: &SysRoot, dir: &Path) -> Vec<Usage> {
    let names = names_in(&dir.join("holders")).unwrap_or_default();
    names
        .into_iter()
        .map(|n| Usage {
            detail: Layer::of(&n, &root.block(&n)).map(|l| l.words()),
            ..Usage::new(UsageKind::Holder, n.kernel())
        })
        .collect()
}

/// Vendor and model of SCSI (`device/vendor`, `device/model`), NVMe (`device/model`), MMC (`device/name`).
fn model(dir: &Path) -> Option<String> {
    let word = |file: &str| {
        let text = attr::read_opt(&dir.join(file))?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    };
    match word("device/model") {
        // A PCI id is a number, and ATA behind SCSI names the bus, not the maker.
        Some(model) => match word("device/vendor").filter(|v| !v.starts_with("0x") && v != "ATA") {
            Some(vendor) if !model.starts_with(&vendor) => Some(format!("{vendor} {model}")),
            _ => Some(model),
        },
        None => word("device/name"),
    }
}

/// Hidden paths by the sysfs name of their head.
pub(super) type PathsByHead = HashMap<String, Vec<KernelName>>;

/// Hidden `nvmeXcYnZ` are the paths of head `nvmeXnZ`.
pub(super) fn paths_by_head<'a>(names: impl IntoIterator<Item = &'a KernelName>) -> PathsByHead {
    let mut paths = PathsByHead::new();
    for name in names {
        if let Some(head) = head_of_path(name.sysfs()) {
            paths.entry(head).or_default().push(name.clone());
        }
    }
    paths
}

/// The head of a hidden path of NVMe multipath; None for every other device.
#[must_use]
pub fn head_of_hidden(root: &SysRoot, name: &KernelName) -> Option<KernelName> {
    let head = KernelName::new(&head_of_path(name.sysfs())?)?;
    attr::read_flag(&root.block(name).join("hidden")).unwrap_or(false).then_some(head)
}

/// `nvme3c2n1` to `nvme3n1`.
fn head_of_path(name: &str) -> Option<String> {
    let rest = name.strip_prefix("nvme")?;
    let (subsystem, rest) = rest.split_once('c')?;
    let (controller, namespace) = rest.split_once('n')?;
    let numbers = [subsystem, controller, namespace];
    let number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    numbers.into_iter().all(number).then(|| format!("nvme{subsystem}n{namespace}"))
}

fn names_in(dir: &Path) -> std::io::Result<Vec<KernelName>> {
    let mut names: Vec<KernelName> =
        std::fs::read_dir(dir)?.flatten().filter_map(|e| KernelName::new(e.file_name().to_str()?)).collect();
    names.sort_by(|a, b| natural_order(a.sysfs(), b.sysfs()));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::head_of_path;

    #[test]
    fn a_multipath_member_knows_its_head() {
        assert_eq!(head_of_path("nvme3c2n1").as_deref(), Some("nvme3n1"));
        assert_eq!(head_of_path("nvme10c12n4").as_deref(), Some("nvme10n4"));
        assert_eq!(head_of_path("nvme0n1"), None);
        assert_eq!(head_of_path("sdc1n2"), None);
    }
}
