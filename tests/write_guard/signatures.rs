//! Devices that hold something.

use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::NOTHING;
use crate::disk::{Disk, SIZE, has, run, sh};

/// Marks by hand, for kinds whose tools may not be there. Word, and places with their bytes.
type Mark = (&'static str, &'static [(u64, &'static [u8])]);
const MARKS: &[Mark] = &[
    ("gpt", &[(512, b"EFI PART")]),
    ("gpt", &[(SIZE - 512, b"EFI PART")]),
    ("dos", &[(450, b"\x83"), (510, b"\x55\xaa")]),
    ("xfs", &[(0, b"XFSB")]),
    ("btrfs", &[(0x10040, b"_BHRfS_M")]),
    ("f2fs", &[(0x400, b"\x10\x20\xf5\xf2")]),
    ("ntfs", &[(3, b"NTFS    "), (510, b"\x55\xaa")]),
    ("vfat", &[(0x52, b"FAT32   "), (510, b"\x55\xaa")]),
    ("exfat", &[(3, b"EXFAT   "), (510, b"\x55\xaa")]),
    ("iso9660", &[(0x8001, b"CD001")]),
    ("squashfs", &[(0, b"hsqs"), (28, b"\x04")]),
    ("erofs", &[(0x400, b"\xe2\xe1\xf5\xe0")]),
    ("LVM2_member", &[(0x200, b"LABELONE"), (0x218, b"LVM2 001")]),
    ("crypto_LUKS", &[(0, b"LUKS\xba\xbe\x00\x02")]),
    ("linux_raid_member", &[(4096, b"\xfc\x4e\x2b\xa9\x01")]),
    ("linux_raid_member", &[(SIZE - 8192, b"\xfc\x4e\x2b\xa9\x01")]),
    ("linux_raid_member", &[(SIZE - 65536, b"\xfc\x4e\x2b\xa9")]),
    ("bcache", &[(0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81")]),
    ("zfs_member", &[(128 << 10, b"\x0c\xb1\xba\0\0\0\0\0")]),
    ("zfs_member", &[(SIZE - (128 << 10), b"\x0c\xb1\xba\0\0\0\0\0")]),
    ("drbd", &[(SIZE - 4096 + 60, b"\x83\x74\x02\x6d")]),
    ("VMFS_volume_member", &[(1 << 20, b"\x0d\xd0\x01\xc0")]),
];

#[test]
fn every_common_kind_is_named_and_kept() {
    let Some(disk) = Disk::blank() else { return };
    let name = disk.kernel();
    for (word, places) in MARKS {
        for (offset, bytes) in *places {
            disk.put(*offset, bytes);
        }
        let (before, writes) = (disk.bytes(), disk.writes());
        let out = run(&disk.dev(), &["--write-device", &name], "number_ios=64");
        assert_eq!(out.code, 6, "{word}: {}", out.stderr);
        let says = [format!("holds {word}: {NOTHING}"), format!("--write-device {name} --destroy {word}")];
        assert!(says.iter().all(|w| out.stderr.contains(w)), "{word}: {}", out.stderr);
        assert!(disk.bytes() == before && disk.writes() == writes, "{word}: BYTES WERE WRITTEN");
        for (offset, bytes) in *places {
            disk.put(*offset, &vec![0; bytes.len()]);
        }
    }
    disk.untouched();
}

#[test]
fn a_signature_is_destroyed_by_its_very_word_alone() {
    let Some(disk) = Disk::blank() else { return };
    let name = disk.kernel();
    let armed = ["--write-device", name.as_str(), "--destroy"];
    let with = |word| [&armed[..], &[word]].concat();
    // A word for what is not there may mean that another device was meant.
    disk.refused(&disk.dev(), &with("ext4"), &["--destroy names ext4", "holds nothing of the kind", NOTHING]);
    disk.put(0, b"XFSB");
    for wrong in ["ext4", "XFS", "xf", "xfs ", "all", "*", "", "xfs,gpt"] {
        disk.refused(&disk.dev(), &with(wrong), &[NOTHING]);
    }
    // Two at once: both have to be named.
    disk.put(SIZE - 512, b"EFI PART");
    disk.refused(&disk.dev(), &with("xfs"), &["holds gpt and xfs", "--destroy gpt,xfs", NOTHING]);
    let before = disk.bytes();
    let out = run(&disk.dev(), &with("gpt,xfs"), "number_ios=64");
    assert!(out.code == 0 && out.stderr.contains("its gpt, xfs is destroyed"), "{}", out.stderr);
    assert!(disk.bytes() != before);
}

/// What the tools of the system make, by the names that `wipefs` gives it.
#[test]
fn what_mkfs_makes_is_told_as_wipefs_tells_it() {
    let Some(disk) = Disk::blank() else { return };
    if !has("what_mkfs_makes", "wipefs") {
        return;
    }
    let (name, dev) = (disk.kernel(), disk.dev());
    let tools: &[(&str, &[&str])] = &[
        ("mkfs.ext2", &["-q"]),
        ("mkfs.ext3", &["-q"]),
        ("mkfs.ext4", &["-q"]),
        ("mkfs.xfs", &["-q", "-f"]),
        ("mkfs.btrfs", &["-q", "-f"]),
        ("mkfs.f2fs", &["-q", "-f"]),
        ("mkfs.vfat", &[]),
        ("mkfs.exfat", &[]),
        ("mkfs.ntfs", &["-q", "-F", "-f"]),
        ("mkfs.minix", &[]),
        ("mkfs.bfs", &[]),
        ("mkswap", &[]),
        ("pvcreate", &["-q", "-ff", "-y"]),
    ];
    let mut tried = 0;
    for (tool, args) in tools {
        let made = Command::new(tool).args(*args).arg(&dev).output();
        // A device that small, or a tool that is not there, is no matter of ours.
        if !made.is_ok_and(|o| o.status.success()) {
            continue;
        }
        tried += 1;
        let out = Command::new("wipefs").args(["--noheadings", "-O", "TYPE", &dev]).output().unwrap();
        let told = String::from_utf8_lossy(&out.stdout).into_owned();
        let words: std::collections::BTreeSet<&str> = told.split_whitespace().collect();
        let answer = run(&dev, &["--write-device", &name], "number_ios=64");
        assert_eq!(answer.code, 6, "{tool}: {}", answer.stderr);
        let ours = answer.stderr.split("--destroy ").nth(1).unwrap_or_default().trim();
        let ours: std::collections::BTreeSet<&str> = ours.split(',').collect();
        assert_eq!(ours, words, "{tool}: {}", answer.stderr);
        disk.clear();
    }
    assert!(tried > 0, "not a single tool");
}

#[test]
fn a_partition_table_made_by_sfdisk() {
    let Some(disk) = Disk::with(&["-P"]) else { return };
    if !has("a_partition_table_made_by_sfdisk", "sfdisk") {
        return;
    }
    for (label, word) in [("gpt", "gpt"), ("dos", "dos")] {
        let script = format!("echo ',4M\n,' | sfdisk -q --label {label} {}", disk.dev());
        sh("sh", &["-c", &script]);
        let words = [format!("holds {word}"), format!("--destroy {word}")];
        disk.refused(&disk.dev(), &["--write-device", &disk.kernel()], &[&words[0], &words[1], NOTHING]);
        sh("sfdisk", &["-q", "--delete", &disk.dev()]);
        disk.clear();
    }
}

#[test]
fn a_device_that_can_not_be_read_is_not_written() {
    let Some(disk) = Disk::blank() else { return };
    // Reads past the end of the backing file fail.
    disk.backing_file().set_len(4096).unwrap();
    let out = run(&disk.dev(), &["--write-device", &disk.kernel()], "number_ios=64");
    assert!(out.code == 6 && out.stderr.contains("can not be looked at"), "{}: {}", out.code, out.stderr);
    assert_eq!(disk.backing_file().metadata().unwrap().len(), 4096);
    let mut first = [1; 4096];
    disk.backing_file().read_exact_at(&mut first, 0).unwrap();
    assert_eq!(first, [0; 4096]);
}
