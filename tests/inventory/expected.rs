//! Every device and partition of three kernels against expectations written by hand from the raw files.

use std::collections::{BTreeMap, BTreeSet};

use blktune::sys::device::{Device, Partition, Usage};
use blktune::sys::inventory::names;
use blktune::sys::name::KernelName;

use super::devices;
use crate::support::fixtures::{expected, sysroot};

const KERNELS: [(&str, usize); 3] = [("linux-6.1-qemu", 68), ("linux-6.12-qemu", 68), ("linux-6.18-loop", 5)];

fn used(users: &[Usage]) -> String {
    let one = |u: &Usage| {
        let kind = serde_json::to_value(u.kind).unwrap();
        let detail = u.detail.as_ref().map(|d| format!(" ({d})")).unwrap_or_default();
        format!("{}:{}{detail}", kind.as_str().unwrap(), u.what)
    };
    or_dash(users.iter().map(one).collect::<Vec<_>>().join("; "))
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// What is shown of a device, by the table's columns.
fn device_columns(d: &Device) -> BTreeMap<&'static str, String> {
    let flags = [(d.hidden, "h"), (d.removable, "r"), (d.read_only, "o")];
    let scheduler = d.queue.scheduler.as_ref();
    let names = |n: &[KernelName]| n.iter().map(KernelName::kernel).collect::<Vec<_>>().join(" ");
    BTreeMap::from([
        ("kind", d.kind.word().to_owned()),
        ("bytes", d.size.0.to_string()),
        ("dm_name", or_dash(d.dm_name.clone().unwrap_or_default())),
        ("path", or_dash(d.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default())),
        ("devnum", or_dash(d.id.devnum.map(|n| n.to_string()).unwrap_or_default())),
        ("flags", or_dash(flags.iter().filter(|f| f.0).map(|f| f.1).collect())),
        ("active", or_dash(scheduler.map(|s| s.active.clone()).unwrap_or_default())),
        ("offered", or_dash(scheduler.map(|s| s.available.join(" ")).unwrap_or_default())),
        ("fixed", if scheduler.is_some_and(|s| s.changeable) { "-" } else { "fixed" }.to_owned()),
        ("zoned", or_dash(d.queue.zoned.clone().unwrap_or_default())),
        ("serial", or_dash(d.id.serial.clone().unwrap_or_default())),
        ("used_by", used(&d.used_by)),
        ("built_on", or_dash(names(&d.built_on))),
        ("list", if d.unused_or_uninteresting() { "folded" } else { "plain" }.to_owned()),
    ])
}

fn partition_columns(p: &Partition) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("kind", "part".to_owned()),
        ("bytes", p.size.0.to_string()),
        ("path", p.path.display().to_string()),
        ("devnum", p.devnum.unwrap().to_string()),
        ("used_by", used(&p.used_by)),
    ])
}

#[test]
fn every_device_and_partition_is_as_written_by_hand() {
    for (kernel, count) in KERNELS {
        let ours = devices(kernel);
        let rows = expected(kernel);
        assert_eq!(rows.len(), count, "{kernel}");
        let mut wrong = Vec::new();
        let mut named = BTreeSet::new();
        let mut of = None;
        for row in &rows {
            let name = &row["name"];
            named.insert(name.clone());
            let columns = if row["kind"] == "part" {
                let of: &Device = of.unwrap();
                partition_columns(of.partitions.iter().find(|p| p.name.kernel() == *name).unwrap())
            } else {
                let d = ours.get(name).unwrap_or_else(|| panic!("{kernel}: {name} is missing"));
                of = Some(d);
                if !d.kind_evidence.contains(&row["evidence"]) {
                    wrong.push(format!("{name}: {:?} has no {:?}", d.kind_evidence, row["evidence"]));
                }
                device_columns(d)
            };
            for (column, is) in columns {
                if is != row[column] {
                    wrong.push(format!("{name}: {column} is {is:?}, not {:?}", row[column]));
                }
            }
        }
        assert!(wrong.is_empty(), "{kernel}:\n{}", wrong.join("\n"));
        let partitions = ours.values().flat_map(|d| &d.partitions).map(|p| p.name.kernel());
        let all: BTreeSet<String> = ours.keys().cloned().chain(partitions).collect();
        assert_eq!(all, named, "{kernel}");
    }
}

#[test]
fn the_plain_list_and_the_whole_one_show_what_the_table_says() {
    for (kernel, _) in KERNELS {
        let fixture = sysroot(kernel);
        let listed = |all: bool| {
            let (mut c, _home) = crate::support::blktune();
            c.args(["list", "--json", "--sysroot"]).arg(fixture.path());
            if all {
                c.arg("--all");
            }
            let out = c.output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let v: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
            let devices = v["devices"].as_array().unwrap().clone();
            devices.iter().map(|d| d["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let in_order = names(&fixture.root).unwrap().iter().map(KernelName::kernel).collect::<Vec<_>>();
        assert_eq!(listed(true), in_order, "{kernel}: all, in natural order");
        let plain: BTreeSet<String> = listed(false).into_iter().collect();
        let expected: BTreeSet<String> = expected(kernel)
            .into_iter()
            .filter(|r| r["list"] == "plain")
            .map(|r| r["name"].clone())
            .collect();
        assert_eq!(plain, expected, "{kernel}");
    }
}
