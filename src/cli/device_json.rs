//! A device in the shape of `list --json`.

use std::path::PathBuf;

use serde::Serialize;

use crate::sys::device::{DevNum, Device, Kind, Partition, Usage};
use crate::sys::name::KernelName;
use crate::sys::queue::SchedulerList;
use crate::units::{Bytes, Kib};

/// The fields of the contract; unknown is null.
#[allow(clippy::struct_excessive_bools)] // fields of the contract, as they are
#[derive(Debug, Serialize)]
pub(super) struct DeviceJson<'a> {
    name: &'a KernelName,
    path: Option<&'a PathBuf>,
    dm_name: Option<&'a str>,
    devnum: Option<DevNum>,
    diskseq: Option<u64>,
    wwid: Option<&'a str>,
    serial: Option<&'a str>,
    kind: Kind,
    kind_evidence: &'a str,
    backing_file: Option<&'a str>,
    zoned: Option<&'a str>,
    size_bytes: Bytes,
    model: Option<&'a str>,
    removable: bool,
    read_only: bool,
    hidden: bool,
    rotational: Option<bool>,
    scheduler: Option<&'a SchedulerList>,
    read_ahead_kib: Option<Kib>,
    nr_requests: Option<u64>,
    logical_block_bytes: Option<Bytes>,
    iostats: Option<bool>,
    used_by: &'a [Usage],
    used_by_complete: bool,
    built_on: &'a [KernelName],
    partitions: &'a [Partition],
}

impl<'a> From<&'a Device> for DeviceJson<'a> {
    fn from(d: &'a Device) -> Self {
        Self {
            name: &d.id.name,
            path: d.path.as_ref(),
            dm_name: d.dm_name.as_deref(),
            devnum: d.id.devnum,
            diskseq: d.id.diskseq,
            wwid: d.id.wwid.as_deref(),
            serial: d.id.serial.as_deref(),
            kind: d.kind,
            kind_evidence: &d.kind_evidence,
            backing_file: d.backing_file.as_deref(),
            zoned: d.queue.zoned.as_deref(),
            size_bytes: d.size,
            model: d.model.as_deref(),
            removable: d.removable,
            read_only: d.read_only,
            hidden: d.hidden,
            rotational: d.queue.rotational,
            scheduler: d.queue.scheduler.as_ref(),
            read_ahead_kib: d.queue.read_ahead,
            nr_requests: d.queue.nr_requests,
            logical_block_bytes: d.queue.logical_block,
            iostats: d.queue.iostats,
            used_by: &d.used_by,
            used_by_complete: d.used_by_complete,
            built_on: &d.built_on,
            partitions: &d.partitions,
        }
    }
}
