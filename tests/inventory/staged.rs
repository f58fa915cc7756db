//! The inventory that is read in parts, on trees of very many devices.

use std::collections::BTreeMap;
use std::path::Path;

use blktune::sys::device::{Device, Kind, Reading};
use blktune::sys::inventory::{read, scan, sketch};
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::sys::staged::Inventory;
use blktune::sys::usage::Users;

use crate::support::synthetic::{many_devices, many_loops};

fn name(text: &str) -> KernelName {
    KernelName::new(text).unwrap()
}

fn by_name(devices: &[Device]) -> BTreeMap<String, &Device> {
    devices.iter().map(|d| (d.name().kernel(), d)).collect()
}

#[test]
fn a_sketch_has_the_names_numbers_and_sizes_of_the_whole_reading() {
    let tree = many_devices(400).unwrap();
    let root = SysRoot::captured(tree.path());
    let (sketches, whole) = (sketch(&root).unwrap(), scan(&root).unwrap());
    assert_eq!(whole.len(), 400);
    let same = |d: &Device| (d.name().clone(), d.size, d.id.devnum);
    assert!(sketches.iter().map(same).eq(whole.iter().map(same)));
    assert!(sketches.iter().all(|d| d.reading == Reading::Sketch));
    assert!(whole.iter().all(|d| d.reading == Reading::Whole));
    // What is said of a device that was not looked at is not made up.
    let of = by_name(&sketches);
    assert_eq!((of["sda"].kind, of["sda"].kind_evidence.as_str()), (Kind::Other, "not looked at yet"));
    assert_eq!(by_name(&whole)["sda"].kind, Kind::Hdd);
    assert_eq!(by_name(&whole)["dm-3"].built_on, [name("sdd2")]);
}

#[test]
fn a_device_read_alone_is_as_in_the_whole_list() {
    for kernel in ["linux-6.1-qemu", "linux-6.12-qemu", "linux-6.18-loop"] {
        let fixture = crate::support::fixtures::sysroot(kernel);
        let users = Users::read(&fixture.root);
        for d in scan(&fixture.root).unwrap() {
            assert_eq!(read(&fixture.root, d.name(), &users).as_ref(), Some(&d), "{kernel}");
        }
        assert_eq!(read(&fixture.root, &name("sdzz"), &users), None);
    }
}

#[test]
fn captured_hidden_paths_and_empty_devices_are_told_by_a_sketch_too() {
    let fixture = crate::support::fixtures::sysroot("linux-6.12-qemu");
    let (sketches, whole) = (sketch(&fixture.root).unwrap(), scan(&fixture.root).unwrap());
    for (s, w) in sketches.iter().zip(&whole) {
        assert_eq!((s.name(), s.hidden), (w.name(), w.hidden));
        // Whole KiB is all that the list of partitions knows.
        assert!(w.size.0 - s.size.0 < 1024, "{}: {} and {}", s.name(), s.size.0, w.size.0);
    }
}

#[test]
fn what_is_asked_for_is_read_and_the_rest_in_turn_within_the_count() {
    let tree = many_devices(300).unwrap();
    let root = SysRoot::captured(tree.path());
    let users = Users::read(&root);
    let mut inventory = Inventory::of(root.clone(), sketch(&root).unwrap());
    assert_eq!(inventory.unread(), 300);
    let asked = inventory.read([&name("nvme7n1"), &name("nothing")], &users);
    assert_eq!(asked.iter().map(|d| d.name().kernel()).collect::<Vec<_>>(), ["nvme7n1"]);
    let mut rounds = 0;
    while inventory.unread() > 0 {
        assert!(inventory.read_next(50, &users).len() <= 50);
        rounds += 1;
    }
    assert_eq!(rounds, 6);
    assert_eq!(inventory.devices(), scan(&root).unwrap(), "all was read");
    assert!(inventory.read_next(300, &users).is_empty(), "nothing moved");
    // A change far from the screen is found within one round.
    let file = root.block(&name("sdz")).join("ro");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "1\n").unwrap();
    let found: Vec<Device> = (0..6).flat_map(|_| inventory.read_next(50, &users)).collect();
    assert_eq!(found.len(), 1);
    assert!(found[0].read_only);
}

#[test]
fn names_that_come_and_go_are_seen_at_once() {
    let tree = many_devices(240).unwrap();
    let root = SysRoot::captured(tree.path());
    let mut inventory = Inventory::of(root.clone(), scan(&root).unwrap());
    assert!(inventory.refresh_names().unwrap().is_empty());
    let link = |n: &str| tree.path().join("sys/block").join(n);
    let rename = |from: &str, to: &str| std::fs::rename(link(from), link(to)).unwrap();
    // As many come as go.
    rename("sdb", "sdzz");
    let moved = inventory.refresh_names().unwrap();
    assert_eq!((moved.joined, moved.left), (vec![name("sdzz")], vec![name("sdb")]));
    std::fs::remove_file(link("nvme0n1")).unwrap();
    assert_eq!(inventory.refresh_names().unwrap().left, [name("nvme0n1")]);
    assert_eq!(inventory.devices().len(), 239);
    assert_eq!(inventory.unread(), 1, "the newcomer is a sketch");
    let users = Users::read(&root);
    inventory.read_next(1, &users);
    assert_eq!(inventory.devices(), scan(&root).unwrap(), "in order, and read");
    std::fs::remove_dir_all(tree.path().join("sys/block")).unwrap();
    assert!(inventory.refresh_names().is_err());
    assert_eq!(inventory.devices().len(), 239, "nothing is thrown away for an error");
}

#[test]
fn of_2500_loop_devices_the_22_with_a_file_are_shown() {
    let tree = many_loops(2500, 22).unwrap();
    let root = SysRoot::captured(tree.path());
    let whole = scan(&root).unwrap();
    assert_eq!(whole.len(), 2501);
    for devices in [&whole, &sketch(&root).unwrap()] {
        let plain: Vec<&Device> = devices.iter().filter(|d| !d.unused_or_uninteresting()).collect();
        assert_eq!(plain.len(), 23);
    }
    let sda = by_name(&whole)["sda"];
    assert_eq!(sda.partitions[0].used_by.len(), 1 + 22, "the root file system and 22 files");
    assert_eq!(sda.partitions[0].used_by[1].to_string(), "backs loop0 (/srv/images/0.img)");
    let inventory = Inventory::of(root, whole);
    assert_eq!(inventory.loop_files().len(), 22);
    assert!(Path::new(&inventory.loop_files()[3].1).ends_with("3.img"));
}
