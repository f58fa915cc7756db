//! What a person types for a device: a kernel name in either spelling, a node, a link to a node, a mapper name.

use std::path::Path;

use super::outcome::Failure;
use crate::sys::attr;
use crate::sys::device::DeviceId;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;

/// The whole device that settings belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The device.
    pub id: DeviceId,
    /// The row of `/proc/diskstats` that was meant: the partition's, if one was named.
    pub row: KernelName,
    /// What the person should know: a link that was followed, a partition that has no settings of its own.
    pub note: Option<String>,
}

/// Finds the device.
///
/// # Errors
/// [`Failure::GoneOrBusy`] if there is none, naming what was typed and how to see the names there are.
pub fn resolve(root: &SysRoot, typed: &str) -> Result<Resolved, Failure> {
    let unknown = || {
        let shown = attr::clean(typed.as_bytes());
        Failure::GoneOrBusy(format!(
            "{shown}: no such block device; `blktune list --all` names those there are"
        ))
    };
    let (row, link) = row_name(root, typed).ok_or_else(unknown)?;
    let (whole, part_of) = match whole_device(root, &row) {
        Some(whole) => (whole, Some(row.clone())),
        None => (row.clone(), None),
    };
    let id = inventory::identify(root, &whole).ok_or_else(unknown)?;
    let mut notes = Vec::new();
    if let Some(target) = link {
        notes.push(format!("{} is {target}", attr::clean(typed.as_bytes())));
    }
    if let Some(part) = part_of {
        notes.push(format!(
            "{part} is a partition; scheduler, read-ahead and the rest belong to the whole device {whole}"
        ));
    }
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Resolved { id, row, note })
}

/// The row's name, and the node that a link led to.
fn row_name(root: &SysRoot, typed: &str) -> Option<(KernelName, Option<String>)> {
    let exists = |name: &KernelName| root.class_block(name).exists() || root.block(name).exists();
    let path = Path::new(typed);
    if path.is_absolute() {
        if let Some(name) = SysRoot::below_dev(path).and_then(|n| KernelName::new(&n)).filter(&exists) {
            return Some((name, None));
        }
        if let Some(name) = by_mapper_node(root, path) {
            let node = SysRoot::node(&name).display().to_string();
            return Some((name, Some(node)));
        }
        if !root.is_live() {
            return None;
        }
        let resolved = std::fs::canonicalize(path).ok()?;
        let name = KernelName::new(&SysRoot::below_dev(&resolved)?).filter(&exists)?;
        return Some((name, Some(attr::clean(resolved.as_os_str().as_encoded_bytes()))));
    }
    if let Some(name) = KernelName::new(typed).filter(&exists) {
        return Some((name, None));
    }
    let name = by_mapper_node(root, &SysRoot::mapper_node(typed))?;
    let node = SysRoot::node(&name).display().to_string();
    Some((name, Some(node)))
}

/// The device-mapper device of a `/dev/mapper` node, found in sysfs so that it works in a captured tree too.
fn by_mapper_node(root: &SysRoot, node: &Path) -> Option<KernelName> {
    std::fs::read_dir(root.block_dir())
        .ok()?
        .flatten()
        .filter_map(|e| KernelName::new(e.file_name().to_str()?))
        .find(|name| {
            attr::read_opt(&root.block(name).join("dm/name"))
                .is_some_and(|dm| SysRoot::mapper_node(&dm) == node)
        })
}

/// The device that a partition is a slice of; None if `name` is no partition.
fn whole_device(root: &SysRoot, name: &KernelName) -> Option<KernelName> {
    let dir = root.class_block(name);
    if !dir.join("partition").exists() {
        return None;
    }
    let resolved = std::fs::canonicalize(dir).ok()?;
    KernelName::new(resolved.parent()?.file_name()?.to_str()?)
}
