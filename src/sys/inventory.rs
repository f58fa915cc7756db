//! The scan of `/sys/block`: every whole device with its partitions, its neighbours above and below, and its users.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::attr;
use super::device::{DevNum, Device, DeviceId, Partition, QueueSummary, Usage, UsageKind};
use super::kind;
use super::name::{KernelName, natural_order};
use super::queue::SchedulerList;
use super::root::SysRoot;
use super::usage::Users;
use crate::units::{Bytes, Kib, Sectors};

/// Everything below `/sys/block`, in natural order. Entries that vanish during the scan or carry no safe name are
/// left out.
///
/// # Errors
/// `/sys/block` can not be read: not Linux, not mounted, or a directory that is no captured tree.
pub fn scan(root: &SysRoot) -> std::io::Result<Vec<Device>> {
    let users = Users::read(root);
    let mut devices: Vec<Device> = names_in(&root.block_dir())?
        .into_iter()
        .filter_map(|name| read_device(root, &name, &users))
        .collect();
    devices.sort_by(|a, b| natural_order(a.name().sysfs(), b.name().sysfs()));
    add_loop_users(root, &users, &mut devices);
    add_multipath_members(&mut devices);
    Ok(devices)
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
        serial: first(["serial", "device/serial"]),
    })
}

/// The settings that matter most, five small files.
#[must_use]
pub fn queue_summary(root: &SysRoot, name: &KernelName) -> QueueSummary {
    let q = root.queue(name);
    QueueSummary {
        scheduler: attr::read_opt(&q.join("scheduler")).and_then(|t| SchedulerList::parse(&t)),
        rotational: attr::read_flag(&q.join("rotational")),
        read_ahead: attr::read_u64(&q.join("read_ahead_kb")).map(Kib),
        nr_requests: attr::read_u64(&q.join("nr_requests")),
        logical_block: attr::read_u64(&q.join("logical_block_size")).map(Bytes),
        iostats: attr::read_flag(&q.join("iostats")),
    }
}

fn read_device(root: &SysRoot, name: &KernelName, users: &Users) -> Option<Device> {
    let id = identify(root, name)?;
    let dir = root.block(name);
    let flag = |f: &str| attr::read_flag(&dir.join(f)).unwrap_or(false);
    let hidden = flag("hidden");
    let dm_name = attr::read_opt(&dir.join("dm/name")).filter(|n| !n.is_empty());
    let path = match &dm_name {
        _ if hidden => None,
        Some(dm) => Some(SysRoot::mapper_node(dm)),
        None => Some(SysRoot::node(name)),
    };
    let queue = queue_summary(root, name);
    let resolved = std::fs::canonicalize(&dir).unwrap_or_else(|_| dir.clone());
    let (kind, kind_evidence) = kind::judge(name, &resolved, queue.rotational);

    let kernel_node = SysRoot::node(name);
    let nodes: Vec<&Path> = std::iter::once(kernel_node.as_path()).chain(path.as_deref()).collect();
    let mut used_by = users.of(id.devnum, &nodes);
    used_by.extend(holders(&dir));
    Some(Device {
        path,
        dm_name,
        kind,
        kind_evidence,
        size: Sectors(attr::read_u64(&dir.join("size")).unwrap_or(0)).bytes(),
        model: model(&dir),
        removable: flag("removable"),
        read_only: flag("ro"),
        hidden,
        queue,
        used_by,
        built_on: names_in(&dir.join("slaves")).unwrap_or_default(),
        partitions: partitions(&dir, users),
        id,
    })
}

fn partitions(dir: &Path, users: &Users) -> Vec<Partition> {
    let mut found: Vec<Partition> = names_in(dir)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| {
            let part = dir.join(name.sysfs());
            let number = attr::read_u64(&part.join("partition"))?;
            let devnum = attr::read_opt(&part.join("dev")).and_then(|t| DevNum::parse(&t));
            let path = SysRoot::node(&name);
            let mut used_by = users.of(devnum, &[&path]);
            used_by.extend(holders(&part));
            let size = Sectors(attr::read_u64(&part.join("size")).unwrap_or(0)).bytes();
            Some(Partition { name, path, devnum, number, size, used_by })
        })
        .collect();
    found.sort_by_key(|p| p.number);
    found
}

fn holders(dir: &Path) -> Vec<Usage> {
    let names = names_in(&dir.join("holders")).unwrap_or_default();
    names.into_iter().map(|n| Usage { kind: UsageKind::Holder, what: n.kernel() }).collect()
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

/// A bound loop device uses the device that its backing file lies on.
fn add_loop_users(root: &SysRoot, users: &Users, devices: &mut [Device]) {
    let mut by_number: HashMap<DevNum, Vec<String>> = HashMap::new();
    for d in devices.iter() {
        let Some(file) = attr::read_opt(&root.block(d.name()).join("loop/backing_file")) else { continue };
        if let Some(n) = users.holding(&PathBuf::from(file)) {
            by_number.entry(n).or_default().push(d.name().kernel());
        }
    }
    let loops = |n: Option<DevNum>| {
        let names = n.and_then(|n| by_number.get(&n)).cloned().unwrap_or_default();
        names.into_iter().map(|what| Usage { kind: UsageKind::Loop, what })
    };
    for d in devices {
        d.used_by.extend(loops(d.id.devnum));
        for p in &mut d.partitions {
            p.used_by.extend(loops(p.devnum));
        }
    }
}

/// Hidden `nvmeXcYnZ` are the paths of head `nvmeXnZ`; sysfs links them only on newer kernels, the name always does.
fn add_multipath_members(devices: &mut [Device]) {
    let members: Vec<(String, KernelName)> = devices
        .iter()
        .filter(|d| d.hidden)
        .filter_map(|d| Some((head_of_path(d.name().sysfs())?, d.name().clone())))
        .collect();
    for d in devices {
        for (head, member) in &members {
            if d.name().sysfs() == head && !d.built_on.contains(member) {
                d.built_on.push(member.clone());
            }
        }
    }
}

/// `nvme3c2n1` to `nvme3n1`.
fn head_of_path(name: &str) -> Option<String> {
    let rest = name.strip_prefix("nvme")?;
    let (subsystem, rest) = rest.split_once('c')?;
    let (_controller, namespace) = rest.split_once('n')?;
    Some(format!("nvme{subsystem}n{namespace}"))
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
