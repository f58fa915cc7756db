//! Every device of real kernels' trees against lsblk's own words. What lsblk does not say is in `expected.rs`.

use std::collections::BTreeMap;

use super::devices;
use crate::support::fixtures::lsblk;
use blktune::sys::device::{Device, Kind, UsageKind};
use blktune::sys::layer::Layer;
use blktune::sys::name::KernelName;
use serde_json::Value;

const CAPTURED: [&str; 2] = ["linux-6.1-qemu", "linux-6.12-qemu"];

/// Every node of lsblk's tree, partitions included, by kernel name.
fn flat(tree: &Value) -> BTreeMap<String, Value> {
    fn walk(v: &Value, out: &mut BTreeMap<String, Value>) {
        out.insert(v["kname"].as_str().unwrap().to_owned(), v.clone());
        for child in v["children"].as_array().into_iter().flatten() {
            walk(child, out);
        }
    }
    let mut out = BTreeMap::new();
    for v in tree["blockdevices"].as_array().unwrap() {
        walk(v, &mut out);
    }
    out
}

fn is_partition(v: &Value) -> bool {
    v["type"] == "part" && !v["kname"].as_str().unwrap().starts_with("dm-")
}

fn mounts(v: &Value) -> Vec<String> {
    let points = v["mountpoints"].as_array().unwrap();
    points.iter().filter_map(Value::as_str).filter(|p| *p != "[SWAP]").map(str::to_owned).collect()
}

/// lsblk's word for what a device is, from ours.
fn type_word(d: &Device) -> String {
    match (&d.layer, d.kind) {
        (Some(Layer::Lvm { .. }), _) => "lvm".to_owned(),
        (Some(Layer::Crypt(_)), _) => "crypt".to_owned(),
        (Some(Layer::Multipath(_)), _) => "mpath".to_owned(),
        (Some(Layer::PartitionMap(_)), _) => "part".to_owned(),
        (Some(Layer::Mapped(_)), _) => "dm".to_owned(),
        (Some(Layer::Raid(level)), _) => level.clone(),
        (_, Kind::Loop) => "loop".to_owned(),
        (_, Kind::Optical) => "rom".to_owned(),
        _ => "disk".to_owned(),
    }
}

/// Vendor and model in one, as we show it. Without udev lsblk gives them apart, padded, and a PCI number for a vendor.
fn model_words(v: &Value) -> Option<String> {
    let word = |key: &str| v[key].as_str().map(str::trim).filter(|w| !w.is_empty());
    let model = word("model")?;
    let vendor = word("vendor").filter(|v| *v != "ATA" && !model.starts_with(v));
    Some(vendor.map_or_else(|| model.to_owned(), |vendor| format!("{vendor} {model}")))
}

#[test]
fn every_device_agrees_with_lsblk() {
    for kernel in CAPTURED {
        let ours = devices(kernel);
        let theirs = flat(&lsblk(kernel));
        let mut compared = 0;
        for (name, v) in theirs.iter().filter(|(_, v)| !is_partition(v)) {
            let d = ours.get(name).unwrap_or_else(|| panic!("{kernel}: {name} is missing"));
            let about = format!("{kernel} {name}");
            assert_eq!(type_word(d), v["type"].as_str().unwrap(), "{about} type");
            assert_eq!(d.path.as_ref().unwrap().to_str(), v["path"].as_str(), "{about} path");
            let shown = d.dm_name.clone().unwrap_or_else(|| d.name().kernel());
            assert_eq!(Some(shown.as_str()), v["name"].as_str(), "{about} name");
            assert_eq!(d.id.devnum.unwrap().to_string(), v["maj:min"].as_str().unwrap(), "{about} devnum");
            assert_eq!(Some(d.size.0), v["size"].as_u64(), "{about} size");
            assert_eq!(d.read_only, v["ro"], "{about} ro");
            assert_eq!(d.removable, v["rm"], "{about} rm");
            assert_eq!(d.queue.rotational, v["rota"].as_bool(), "{about} rota");
            assert_eq!(d.queue.read_ahead.map(|k| k.0), v["ra"].as_u64(), "{about} ra");
            assert_eq!(d.queue.logical_block.map(|b| b.0), v["log-sec"].as_u64(), "{about} log-sec");
            assert_eq!(d.queue.zoned.as_deref().unwrap_or("none"), v["zoned"], "{about} zoned");
            // Old kernels print a bare `none` for bio-based devices, which lsblk does not call a scheduler.
            let choosable = d.queue.scheduler.as_ref().filter(|s| s.changeable);
            assert_eq!(choosable.map(|s| s.active.as_str()), v["sched"].as_str(), "{about} sched");
            // lsblk answers 128 on old kernels where bio-based devices have no such attribute.
            if let Some(nr) = d.queue.nr_requests {
                assert_eq!(Some(nr), v["rq-size"].as_u64(), "{about} rq-size");
            } else {
                assert!(choosable.is_none(), "{about}: only devices without a scheduler lack rq-size");
            }
            // The name of an SD card or of flash memory is its model to us, not to lsblk.
            if d.kind != Kind::Sd && !name.starts_with("mtdblock") {
                assert_eq!(d.model, model_words(v), "{about} model");
            }
            // Where lsblk knows them: without udev it has no serial number of SCSI, and no wwn at all.
            if let Some(serial) = v["serial"].as_str() {
                assert_eq!(d.id.serial.as_deref(), Some(serial.trim()), "{about} serial");
            }
            if let Some(wwn) = v["wwn"].as_str() {
                assert_eq!(d.id.wwid.as_deref(), Some(wwn), "{about} wwn");
            }
            assert_eq!(d.kind == Kind::Usb, v["tran"] == "usb", "{about} tran");
            let mut ours: Vec<_> =
                d.used_by.iter().filter(|u| u.kind == UsageKind::Mount).map(|u| u.what.clone()).collect();
            ours.sort();
            assert_eq!(ours, mounts(v), "{about} mounts");
            assert_eq!(d.used_by.iter().any(|u| u.what == "swap"), swap(v), "{about} swap");
            compared += 1;
        }
        // The tree has two more: the hidden paths, which lsblk does not list.
        assert_eq!(compared + 2, ours.len(), "{kernel}");
    }
}

#[test]
fn every_partition_agrees_with_lsblk() {
    for kernel in CAPTURED {
        let ours = devices(kernel);
        let mut compared = 0;
        for (name, v) in flat(&lsblk(kernel)).iter().filter(|(_, v)| is_partition(v)) {
            let p = ours
                .values()
                .flat_map(|d| &d.partitions)
                .find(|p| p.name.kernel() == *name)
                .unwrap_or_else(|| panic!("{kernel}: {name} is missing"));
            assert_eq!(Some(p.size.0), v["size"].as_u64(), "{name} size");
            assert_eq!(p.path.to_str(), v["path"].as_str(), "{name} path");
            let mut points: Vec<_> =
                p.used_by.iter().filter(|u| u.kind == UsageKind::Mount).map(|u| u.what.clone()).collect();
            points.sort();
            assert_eq!(points, mounts(v), "{name} mounts");
            assert_eq!(p.used_by.iter().any(|u| u.what == "swap"), swap(v), "{name} swap");
            assert_eq!(p.devnum.unwrap().to_string(), v["maj:min"].as_str().unwrap(), "{name} devnum");
            let on = ours.values().find(|d| d.partitions.contains(p)).unwrap();
            assert_eq!(
                Some(on.name().kernel().as_str()),
                v["pkname"].as_str(),
                "{name} is not on this device"
            );
            compared += 1;
        }
        assert!(compared >= 10, "{kernel}: only {compared} partitions were compared");
    }
}

fn swap(v: &Value) -> bool {
    v["mountpoints"].as_array().unwrap().iter().any(|m| m == "[SWAP]")
}

#[test]
fn every_stack_agrees_with_lsblk() {
    fn edges(v: &Value, out: &mut Vec<(String, String)>) {
        for child in v["children"].as_array().into_iter().flatten() {
            if !is_partition(child) {
                out.push((
                    v["kname"].as_str().unwrap().to_owned(),
                    child["kname"].as_str().unwrap().to_owned(),
                ));
            }
            edges(child, out);
        }
    }
    for kernel in CAPTURED {
        let ours = devices(kernel);
        let mut theirs = Vec::new();
        for v in lsblk(kernel)["blockdevices"].as_array().unwrap() {
            edges(v, &mut theirs);
        }
        theirs.sort();
        theirs.dedup();
        assert!(theirs.len() > 10, "{kernel}");
        let mut down = Vec::new();
        let mut up = Vec::new();
        for d in ours.values() {
            let name = d.name().kernel();
            // lsblk does not know the hidden paths.
            let below = d.built_on.iter().filter(|n| !ours.get(&n.kernel()).is_some_and(|d| d.hidden));
            down.extend(below.map(|n| (n.kernel(), name.clone())));
            let holders = d.used_by.iter().filter(|u| u.kind == UsageKind::Holder);
            up.extend(holders.map(|u| (name.clone(), u.what.clone())));
        }
        down.sort();
        up.sort();
        assert_eq!(down, theirs, "{kernel}: built on");
        assert_eq!(up, theirs, "{kernel}: held by");
    }
}

#[test]
fn hidden_multipath_members_belong_to_their_head_and_have_no_node() {
    for (kernel, head, members) in [
        ("linux-6.12-qemu", "nvme3n1", ["nvme3c2n1", "nvme3c3n1"]),
        ("linux-6.1-qemu", "nvme2n1", ["nvme2c2n1", "nvme2c3n1"]),
    ] {
        let ours = devices(kernel);
        let names: Vec<String> = ours[head].built_on.iter().map(KernelName::kernel).collect();
        assert_eq!(names, members, "{kernel}");
        for m in members {
            assert!(ours[m].hidden && ours[m].path.is_none() && ours[m].id.devnum.is_none(), "{kernel} {m}");
        }
        let changeable = |name: &str| ours[name].queue.scheduler.as_ref().is_some_and(|s| s.changeable);
        assert!(!changeable(head), "{kernel}: the head is bio-based");
        assert!(changeable(members[0]), "{kernel}");
    }
}
