//! Every device of real kernels' trees: against lsblk's own words, and against what lsblk does not say.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use blktune::sys::device::{Device, Kind, UsageKind};
use blktune::sys::inventory::scan;
use blktune::sys::name::KernelName;
use serde_json::Value;
use support::fixtures::{lsblk, sysroot};

const CAPTURED: [&str; 2] = ["linux-6.1-qemu", "linux-6.12-qemu"];

fn devices(kernel: &str) -> BTreeMap<String, Device> {
    let fixture = sysroot(kernel);
    scan(&fixture.root).unwrap().into_iter().map(|d| (d.name().kernel(), d)).collect()
}

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

#[test]
fn every_device_agrees_with_lsblk() {
    for kernel in CAPTURED {
        let ours = devices(kernel);
        let theirs = flat(&lsblk(kernel));
        let mut compared = 0;
        for (name, v) in theirs.iter().filter(|(_, v)| !is_partition(v)) {
            let d = ours.get(name).unwrap_or_else(|| panic!("{kernel}: {name} is missing"));
            let about = format!("{kernel} {name}");
            assert_eq!(d.path.as_ref().unwrap().to_str(), v["path"].as_str(), "{about} path");
            assert_eq!(d.id.devnum.unwrap().to_string(), v["maj:min"].as_str().unwrap(), "{about} devnum");
            assert_eq!(Some(d.size.0), v["size"].as_u64(), "{about} size");
            assert_eq!(d.read_only, v["ro"], "{about} ro");
            assert_eq!(d.removable, v["rm"], "{about} rm");
            assert_eq!(d.queue.rotational, v["rota"].as_bool(), "{about} rota");
            assert_eq!(d.queue.read_ahead.map(|k| k.0), v["ra"].as_u64(), "{about} ra");
            assert_eq!(d.queue.logical_block.map(|b| b.0), v["log-sec"].as_u64(), "{about} log-sec");
            // Old kernels print a bare `none` for bio-based devices, which lsblk does not call a scheduler.
            let choosable = d.queue.scheduler.as_ref().filter(|s| s.changeable);
            assert_eq!(choosable.map(|s| s.active.as_str()), v["sched"].as_str(), "{about} sched");
            // lsblk answers 128 on old kernels where bio-based devices have no such attribute.
            if let Some(nr) = d.queue.nr_requests {
                assert_eq!(Some(nr), v["rq-size"].as_u64(), "{about} rq-size");
            }
            let mut ours: Vec<_> =
                d.used_by.iter().filter(|u| u.kind == UsageKind::Mount).map(|u| u.what.clone()).collect();
            ours.sort();
            assert_eq!(ours, mounts(v), "{about} mounts");
            compared += 1;
        }
        assert!(compared > 50, "{kernel}: only {compared} devices were compared");
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
            let swap = v["mountpoints"].as_array().unwrap().iter().any(|m| m == "[SWAP]");
            assert_eq!(p.used_by.iter().any(|u| u.what == "swap"), swap, "{name} swap");
            compared += 1;
        }
        assert!(compared >= 10, "{kernel}: only {compared} partitions were compared");
    }
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
        assert!(theirs.len() > 10, "{kernel}");
        for (below, above) in theirs {
            let holder = &ours[&above];
            assert!(
                holder.built_on.iter().any(|n| n.kernel() == below),
                "{kernel}: {above} is not on {below}"
            );
        }
    }
}

#[test]
fn no_claim_is_made_about_the_medium_of_virtual_and_usb_devices() {
    let ours = devices("linux-6.12-qemu");
    let kind = |n: &str| ours[n].kind;
    for (name, expected) in [
        ("dm-0", Kind::Dm),
        ("md5", Kind::Md),
        ("loop1", Kind::Loop),
        ("zram0", Kind::Zram),
        ("nbd0", Kind::Nbd),
        ("mmcblk0", Kind::Sd),
        ("nullb0", Kind::Virtual),
        ("ram0", Kind::Virtual),
        ("nvme0n1", Kind::Nvme),
        ("nvme3n1", Kind::Nvme),
        ("sda", Kind::Virtual),
        ("sdb", Kind::Hdd),
        ("sde", Kind::Ssd),
        ("sdf", Kind::Usb),
        ("sdg", Kind::Usb),
        ("sdh", Kind::Virtual),
        ("sr0", Kind::Optical),
        ("vda", Kind::Virtual),
        ("pmem0", Kind::Other),
    ] {
        assert_eq!(kind(name), expected, "{name}: {}", ours[name].kind_evidence);
    }
    assert!(ours["sdg"].kind_evidence.contains("rotational=1 as the bridge reports"));
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

#[test]
fn swap_files_and_odd_names_find_their_device() {
    let ours = devices("linux-6.12-qemu");
    let vda1: Vec<&str> = ours["vda"].partitions[0].used_by.iter().map(|u| u.what.as_str()).collect();
    assert_eq!(vda1, ["/mnt/data", "/mnt/bind", "/mnt/data/swap file"]);
    assert_eq!(ours["dm-3"].dm_name.as_deref(), Some("slow\\x20disk"));
    assert_eq!(ours["pmem0"].used_by[0].what, "/mnt/btrfs", "btrfs mounts carry an anonymous number");
}

#[test]
fn the_third_kernel_is_read_too() {
    let ours = devices("linux-6.18-loop");
    assert_eq!(ours["loop2"].kind, Kind::Loop);
    assert_eq!(ours["loop2"].partitions.len(), 2);
    let mounted: Vec<_> = ours["loop2"].partitions.iter().flat_map(|p| &p.used_by).collect();
    assert_eq!(mounted.iter().filter(|u| u.kind == UsageKind::Mount).count(), 1, "{mounted:?}");
    assert_eq!(ours["zram0"].queue.scheduler, None);
    assert!(ours["vda"].queue.scheduler.as_ref().unwrap().changeable);
}

#[test]
fn a_name_with_a_slash_is_one_device_in_either_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let block = dir.path().join("sys/block/cciss!c0d0");
    let part = block.join("cciss!c0d0p1");
    std::fs::create_dir_all(block.join("queue")).unwrap();
    std::fs::create_dir_all(&part).unwrap();
    for (file, text) in [("size", "143305920\n"), ("queue/rotational", "1\n"), ("dev", "104:0\n")] {
        std::fs::write(block.join(file), text).unwrap();
    }
    std::fs::write(part.join("partition"), "1\n").unwrap();
    std::fs::write(part.join("size"), "2048\n").unwrap();
    let class = dir.path().join("sys/class/block");
    std::fs::create_dir_all(&class).unwrap();
    std::os::unix::fs::symlink(&block, class.join("cciss!c0d0")).unwrap();
    std::os::unix::fs::symlink(&part, class.join("cciss!c0d0p1")).unwrap();

    let list = |typed: &str| {
        let (mut c, _home) = support::blktune();
        let out = c.args(["show", typed, "--json", "--sysroot"]).arg(dir.path()).output().unwrap();
        assert!(out.status.success(), "{typed}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice::<Value>(&out.stdout).unwrap()
    };
    for typed in ["cciss/c0d0", "cciss!c0d0", "/dev/cciss/c0d0"] {
        let v = list(typed);
        assert_eq!(
            (v["name"].as_str(), v["path"].as_str()),
            (Some("cciss/c0d0"), Some("/dev/cciss/c0d0")),
            "{typed}"
        );
        assert_eq!(v["note"], Value::Null, "{typed}");
    }
    let v = list("/dev/cciss/c0d0p1");
    assert_eq!(v["name"], "cciss/c0d0");
    assert!(v["note"].as_str().unwrap().contains("belong to the whole device cciss/c0d0"), "{}", v["note"]);
}
