//! What a device is built on, and what is built on it.

use std::path::Path;

use super::attr;
use super::device::DevNum;
use super::name::KernelName;
use super::root::SysRoot;

/// Most devices that are followed: stacks are shallow, and a hostile tree may have links that go round.
const MOST: usize = 256;

/// The whole devices at the bottom of a stack: the device itself if it is built on nothing. The paths of an NVMe
/// multipath head are below it, too.
#[must_use]
pub fn leaves(root: &SysRoot, whole: &KernelName) -> Vec<KernelName> {
    let mut leaves = Vec::new();
    follow(&mut vec![whole.clone()], |name| {
        let below = below(root, name);
        if below.is_empty() {
            leaves.push(name.clone());
        }
        below
    });
    leaves
}

/// Every whole device that a stack is built on, from the next one down to the leaves; empty if it is built on nothing.
#[must_use]
pub fn all_below(root: &SysRoot, whole: &KernelName) -> Vec<KernelName> {
    let mut seen = vec![whole.clone()];
    follow(&mut seen, |name| below(root, name));
    seen.split_off(1)
}

/// A device with everything below it and everything above it, each once.
#[must_use]
pub fn whole_stack(root: &SysRoot, whole: &KernelName) -> Vec<KernelName> {
    let mut seen = vec![whole.clone()];
    for step in [below, above] {
        follow(&mut seen, |name| step(root, name));
    }
    seen
}

/// Adds what one `step` leads to from each device, also from those that came so, each once.
fn follow(seen: &mut Vec<KernelName>, mut step: impl FnMut(&KernelName) -> Vec<KernelName>) {
    let mut at = 0;
    while let Some(name) = seen.get(at).cloned() {
        at += 1;
        add(seen, step(&name));
    }
}

/// The whole device that a number (`st_dev` of a file) stands for; None where a file system has no device of its own.
#[must_use]
pub fn whole_of_number(root: &SysRoot, number: DevNum) -> Option<KernelName> {
    let dir = std::fs::canonicalize(root.dev_block(number.major, number.minor)).ok()?;
    Some(whole_of(root, KernelName::new(dir.file_name()?.to_str()?)?))
}

fn add(seen: &mut Vec<KernelName>, more: Vec<KernelName>) {
    for name in more {
        if seen.len() < MOST && !seen.contains(&name) {
            seen.push(name);
        }
    }
}

fn below(root: &SysRoot, name: &KernelName) -> Vec<KernelName> {
    let slaves = names_in(&root.block(name).join("slaves"));
    if !slaves.is_empty() {
        return slaves.into_iter().map(|n| whole_of(root, n)).collect();
    }
    if !name.sysfs().starts_with("nvme") || name.multipath_head().is_some() {
        return Vec::new();
    }
    names_in(&root.block_dir()).into_iter().filter(|n| n.multipath_head().as_ref() == Some(name)).collect()
}

/// Holders of the device and of its partitions.
fn above(root: &SysRoot, name: &KernelName) -> Vec<KernelName> {
    let dir = root.block(name);
    let mut holders = names_in(&dir.join("holders"));
    for part in names_in(&dir).into_iter().filter(|n| n.could_be_partition_of(name)) {
        holders.extend(names_in(&dir.join(part.sysfs()).join("holders")));
    }
    holders.into_iter().map(|n| whole_of(root, n)).collect()
}

/// The whole device of a partition; a device that is whole is its own.
fn whole_of(root: &SysRoot, name: KernelName) -> KernelName {
    let link = root.class_block(&name);
    if attr::read_u64(&link.join("partition")).is_none() {
        return name;
    }
    let parent = std::fs::canonicalize(&link)
        .ok()
        .and_then(|dir| KernelName::new(dir.parent()?.file_name()?.to_str()?));
    parent.unwrap_or(name)
}

fn names_in(dir: &Path) -> Vec<KernelName> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<KernelName> =
        entries.filter_map(|e| KernelName::new(e.file_name().to_str()?)).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_stack_is_followed_down_to_whole_devices_and_up_through_partitions() {
        let dir = tempfile::tempdir().unwrap();
        let at = |p: &str| dir.path().join(p);
        for p in [
            "sys/devices/pci/sda/sda1/holders/md0",
            "sys/devices/pci/sdb/sdb1/holders/md0",
            "sys/devices/virtual/md0/slaves/sda1",
            "sys/devices/virtual/md0/slaves/sdb1",
            "sys/devices/virtual/md0/holders/dm-0",
            "sys/devices/virtual/dm-0/slaves/md0",
            "sys/block",
            "sys/class/block",
        ] {
            std::fs::create_dir_all(at(p)).unwrap();
        }
        for part in ["sda/sda1", "sdb/sdb1"] {
            std::fs::write(at(&format!("sys/devices/pci/{part}/partition")), "1\n").unwrap();
        }
        for (name, place) in
            [("sda", "pci/sda"), ("sdb", "pci/sdb"), ("md0", "virtual/md0"), ("dm-0", "virtual/dm-0")]
        {
            symlink(at(&format!("sys/devices/{place}")), at(&format!("sys/block/{name}"))).unwrap();
            symlink(at(&format!("sys/devices/{place}")), at(&format!("sys/class/block/{name}"))).unwrap();
        }
        for (name, place) in [("sda1", "pci/sda/sda1"), ("sdb1", "pci/sdb/sdb1")] {
            symlink(at(&format!("sys/devices/{place}")), at(&format!("sys/class/block/{name}"))).unwrap();
        }
        let root = SysRoot::captured(dir.path());
        let words = |names: Vec<KernelName>| names.iter().map(KernelName::kernel).collect::<Vec<_>>();
        let name = |n: &str| KernelName::new(n).unwrap();
        assert_eq!(words(leaves(&root, &name("dm-0"))), ["sda", "sdb"]);
        assert_eq!(words(leaves(&root, &name("sda"))), ["sda"]);
        assert_eq!(words(all_below(&root, &name("dm-0"))), ["md0", "sda", "sdb"]);
        assert_eq!(words(all_below(&root, &name("sda"))), Vec::<String>::new());
        assert_eq!(words(whole_stack(&root, &name("sda"))), ["sda", "md0", "dm-0"]);
        assert_eq!(words(whole_stack(&root, &name("md0"))), ["md0", "sda", "sdb", "dm-0"]);
    }
}
