//! Trees made by hand, for devices that no captured kernel had.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use blktune::sys::chain;
use blktune::sys::device::{Device, Kind};
use blktune::sys::inventory::scan;
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::workload::target::{Target, TargetError};
use serde_json::Value;
use tempfile::TempDir;

/// A tree to be filled.
struct Made(TempDir);

impl Made {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        for dir in ["sys/block", "sys/class/block", "proc/self"] {
            fs::create_dir_all(made.0.path().join(dir)).unwrap();
        }
        made
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A device of 64 MiB below `/sys/devices`, with some more files; a path that ends in `/` is a directory.
    fn device(&self, place: &str, number: &str, more: &[(&str, &str)]) -> &Self {
        let name = place.rsplit('/').next().unwrap();
        let below = format!("devices/{place}");
        for (file, text) in [("size", "131072\n"), ("dev", number)].iter().chain(more) {
            if let Some(dir) = file.strip_suffix('/') {
                fs::create_dir_all(self.0.path().join("sys").join(&below).join(dir)).unwrap();
            } else {
                self.file(&format!("sys/{below}/{file}"), text);
            }
        }
        for (dir, up) in [("sys/block", ".."), ("sys/class/block", "../..")] {
            symlink(Path::new(up).join(&below), self.0.path().join(dir).join(name)).unwrap();
        }
        self
    }

    fn mounts(&self, text: &str) -> &Self {
        self.file("proc/self/mountinfo", text)
    }

    fn root(&self) -> SysRoot {
        SysRoot::captured(self.0.path())
    }

    fn scan(&self) -> HashMap<String, Device> {
        scan(&self.root()).unwrap().into_iter().map(|d| (d.name().kernel(), d)).collect()
    }

    fn json(&self, args: &[&str]) -> Value {
        let (mut c, _home) = crate::support::blktune();
        let out = c.args(args).args(["--json", "--sysroot"]).arg(self.0.path()).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    }

    fn text(&self, args: &[&str]) -> String {
        let (mut c, _home) = crate::support::blktune();
        let out = c.args(args).arg("--sysroot").arg(self.0.path()).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
    }
}

fn words(users: &[blktune::sys::device::Usage]) -> Vec<String> {
    users.iter().map(ToString::to_string).collect()
}

#[test]
fn bcache_is_told_and_followed() {
    let made = Made::new();
    made.device(
        "pci0000:00/ata1/host0/block/sda",
        "8:0",
        &[("holders/bcache0/", ""), ("queue/rotational", "1")],
    )
    .device("pci0000:00/nvme/nvme0/nvme0n1", "259:0", &[("holders/bcache0/", "")])
    .device("virtual/block/bcache0", "252:0", &[("slaves/sda/", ""), ("slaves/nvme0n1/", "")])
    .mounts("30 1 252:0 / /srv rw - xfs /dev/bcache0 rw\n");
    let all = made.scan();
    let cache = &all["bcache0"];
    assert_eq!((cache.kind, cache.kind_evidence.as_str()), (Kind::Other, "bcache over nvme0n1, sda"));
    assert_eq!(words(&all["sda"].used_by), ["bcache0 (bcache)"]);
    let find = |n: &KernelName| all.get(&n.kernel());
    assert_eq!(chain::words(&all["sda"].used_by, &find), "bcache0 > /srv");
    assert!(made.text(&["list"]).lines().any(|l| l.contains("sda") && l.contains("bcache0 > /srv")));
}

#[test]
fn a_stack_of_crypt_and_lvm_is_followed_to_the_mount_points_in_the_list() {
    let made = Made::new();
    let part = [
        ("sda1/partition", "1\n"),
        ("sda1/size", "2048\n"),
        ("sda1/dev", "8:1\n"),
        ("sda1/holders/dm-0/", ""),
    ];
    made.device("pci0000:00/ata1/host0/block/sda", "8:0", &part)
        .device(
            "virtual/block/dm-0",
            "253:0",
            &[
                ("dm/name", "luks-home\n"),
                ("dm/uuid", "CRYPT-LUKS2-1\n"),
                ("slaves/sda1/", ""),
                ("holders/dm-1/", ""),
                ("holders/dm-2/", ""),
            ],
        )
        .device(
            "virtual/block/dm-1",
            "253:1",
            &[("dm/name", "vg0-root\n"), ("dm/uuid", "LVM-1\n"), ("slaves/dm-0/", "")],
        )
        .device(
            "virtual/block/dm-2",
            "253:2",
            &[("dm/name", "vg0-my\\x20home\n"), ("dm/uuid", "LVM-2\n"), ("slaves/dm-0/", "")],
        )
        .mounts(
            "30 1 253:1 / / rw - ext4 /dev/mapper/vg0-root rw\n31 1 253:2 / /home rw - ext4 /dev/dm-2 rw\n",
        );
    let all = made.scan();
    assert_eq!(words(&all["sda"].partitions[0].used_by), ["dm-0 (crypt luks-home)"]);
    assert_eq!(words(&all["dm-0"].used_by), ["dm-1 (LVM vg0/root)", "dm-2 (LVM vg0/my\\x20home)"]);
    assert_eq!(all["dm-2"].path.as_ref().unwrap().to_str(), Some("/dev/mapper/vg0-my\\x20home"));
    let list = made.text(&["list"]);
    assert!(
        list.lines().any(|l| l.contains("sda1") && l.contains("crypt > vg0 > /, crypt > vg0 > /home")),
        "{list}"
    );
    assert_eq!(made.json(&["show", "vg0-my\\x20home"])["name"], "dm-2");
}

#[test]
fn boot_areas_of_an_emmc_are_folded() {
    let made = Made::new();
    let card = "pci0000:00/mmc_host/mmc0/mmc0:0001/block";
    let emmc = [("device/type", "MMC\n"), ("device/name", "H8G4a\u{92}\n"), ("device/serial", "0x1234\n")];
    made.device(&format!("{card}/mmcblk0"), "179:0", &emmc)
        .device(&format!("{card}/mmcblk0/mmcblk0boot0"), "179:8", &emmc)
        .device(&format!("{card}/mmcblk0/mmcblk0boot1"), "179:16", &emmc);
    let all = made.scan();
    for (name, folded) in [("mmcblk0", false), ("mmcblk0boot0", true), ("mmcblk0boot1", true)] {
        let d = &all[name];
        assert_eq!((d.kind, d.kind_evidence.as_str()), (Kind::Sd, "mmc MMC"), "{name}");
        assert_eq!(d.unused_or_uninteresting(), folded, "{name}");
        assert_eq!(d.model.as_deref(), Some("H8G4a\u{fffd}"), "{name}");
    }
    assert!(all["mmcblk0"].partitions.is_empty(), "boot areas are no partitions");
    assert_eq!(made.json(&["list"])["left_out"], 2);
}

#[test]
fn a_usb_stick_is_no_hard_disk_whatever_its_flag_says() {
    let made = Made::new();
    made.device(
        "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host7/target7:0:0/7:0:0:0/block/sdb",
        "8:16",
        &[
            ("removable", "1\n"),
            ("queue/rotational", "1\n"),
            ("queue/scheduler", "none [mq-deadline]\n"),
            ("device/model", "Flash Disk      \n"),
            ("device/type", "0\n"),
        ],
    );
    let d = &made.scan()["sdb"];
    assert_eq!((d.kind, d.kind_evidence.as_str()), (Kind::Usb, "USB, rotational=1 (as reported)"));
    assert_eq!((d.model.as_deref(), d.removable), (Some("Flash Disk"), true));
    assert!(made.text(&["show", "sdb"]).contains("usb (USB, rotational=1 (as reported))"));
}

#[test]
fn a_name_with_a_slash_is_one_device_in_either_spelling() {
    let made = Made::new();
    let part = [
        ("queue/rotational", "1\n"),
        ("cciss!c0d0p1/partition", "1\n"),
        ("cciss!c0d0p1/size", "2048\n"),
        ("cciss!c0d0p1/dev", "104:1\n"),
    ];
    made.device("pci0000:00/cciss0/c0d0/block/cciss!c0d0", "104:0", &part)
        .mounts("30 1 104:1 / /boot rw - ext4 /dev/cciss/c0d0p1 rw\n");
    let place = "../../devices/pci0000:00/cciss0/c0d0/block/cciss!c0d0/cciss!c0d0p1";
    symlink(place, made.0.path().join("sys/class/block/cciss!c0d0p1")).unwrap();
    for typed in ["cciss/c0d0", "cciss!c0d0", "/dev/cciss/c0d0"] {
        let v = made.json(&["show", typed]);
        assert_eq!(
            (v["name"].as_str(), v["path"].as_str()),
            (Some("cciss/c0d0"), Some("/dev/cciss/c0d0")),
            "{typed}"
        );
        assert_eq!(v["note"], Value::Null, "{typed}");
    }
    for typed in ["/dev/cciss/c0d0p1", "cciss/c0d0p1", "cciss!c0d0p1"] {
        let v = made.json(&["show", typed]);
        assert_eq!(v["name"], "cciss/c0d0", "{typed}");
        let note = v["note"].as_str().unwrap();
        assert!(note.contains("belong to the whole device cciss/c0d0"), "{note}");
        assert_eq!(v["partitions"][0]["path"], "/dev/cciss/c0d0p1");
        assert_eq!(v["partitions"][0]["used_by"][0]["what"], "/boot");
    }
    let names: Vec<String> = made.scan().into_keys().collect();
    assert_eq!(names, ["cciss/c0d0"], "a partition is no device");
}

#[test]
fn a_path_of_a_multipath_head_is_refused_as_a_target_and_the_head_is_named() {
    let fixture = crate::support::fixtures::sysroot("linux-6.12-qemu");
    for typed in ["nvme3c2n1", "/dev/nvme3c2n1"] {
        match Target::open(&fixture.root, Path::new(typed)) {
            Err(e @ TargetError::Hidden(..)) => {
                assert!(e.to_string().contains("give the head (nvme3n1)"), "{e}");
            }
            other => panic!("{typed}: {other:?}"),
        }
    }
    // The same name that is not hidden is opened, or not there.
    let made = Made::new();
    made.device("pci0000:00/nvme/nvme3c2n1", "259:9", &[("hidden", "0\n")]);
    let e = Target::open(&made.root(), Path::new("/dev/nvme3c2n1")).unwrap_err();
    assert!(matches!(e, TargetError::Open(..)), "{e}");
}

#[test]
fn processes_and_namespaces_are_read_and_their_names_cleaned() {
    let made = Made::new();
    made.device("pci0000:00/ata1/host0/block/sda", "8:0", &[])
        .device("pci0000:00/ata2/host1/block/sdb", "8:16", &[])
        .mounts("30 1 8:0 / / rw - ext4 /dev/sda rw\n")
        .file("proc/1234/comm", "qe\u{1b}[2Jmu\n")
        .file("proc/1234/fdinfo/3", "pos:\t0\nflags:\t0100002\nmnt_id:\t26\n")
        .file("proc/1234/fdinfo/4", "pos:\t0\nflags:\t0100000\n")
        .file(
            "proc/1234/mountinfo",
            "1 0 8:0 / / rw - ext4 /dev/sda rw\n2 1 8:16 / /da\\040ta rw - xfs /dev/sdb rw\n",
        )
        .file("proc/4321/comm", "reader\n")
        .file("proc/4321/fdinfo/0", "flags:\t0100000\n");
    let base = made.0.path();
    for (dir, fd, target) in
        [(1234, 3, "/dev/sdb"), (1234, 4, "/dev/sdb"), (1234, 5, "socket:[7]"), (4321, 0, "/dev/sdb")]
    {
        let dir = base.join(format!("proc/{dir}/fd"));
        fs::create_dir_all(&dir).unwrap();
        symlink(target, dir.join(fd.to_string())).unwrap();
    }
    for pid in ["self", "1234", "4321"] {
        fs::create_dir_all(base.join("proc").join(pid).join("ns")).unwrap();
        let namespace = if pid == "1234" { "mnt:[2]" } else { "mnt:[1]" };
        symlink(namespace, base.join("proc").join(pid).join("ns/mnt")).unwrap();
    }
    let all = made.scan();
    assert_eq!(words(&all["sda"].used_by), ["/"]);
    assert_eq!(
        words(&all["sdb"].used_by),
        [
            "/da ta (in the namespace of 1234 qe\u{fffd}[2Jmu)",
            "open by qe\u{fffd}[2Jmu (1234) for writing",
            "open by reader (4321) for reading",
        ]
    );
    let open = &made.json(&["show", "sdb"])["used_by"][2];
    assert_eq!(open, &serde_json::json!({"kind": "open", "what": "reader (4321)", "detail": "for reading"}));
    // Nothing is known of the processes of a host that was captured.
    assert!(!all["sdb"].used_by_complete && all["sdb"].may_be_in_use());
    assert!(made.text(&["show", "sda"]).contains("there may be more users"));
}

#[test]
fn what_names_and_users_lie_about_is_survived() {
    let made = Made::new();
    made.device("virtual/block/bcache", "252:0", &[])
        .device("virtual/block/nvme1cxn1", "259:1", &[("hidden", "1\n")])
        .device(
            "virtual/block/dm-0",
            "253:0",
            &[("dm/name", "\n"), ("slaves/dm-0/", ""), ("holders/dm-0/", "")],
        );
    let all = made.scan();
    assert_eq!(all["bcache"].kind, Kind::Virtual, "no number, no bcache");
    assert_eq!(all["nvme1cxn1"].path, None);
    assert_eq!(all["dm-0"].path.as_ref().unwrap().to_str(), Some("/dev/dm-0"));
    assert!(made.text(&["list"]).contains("dm-0"));
}
