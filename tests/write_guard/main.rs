//! Attacks on the guard of whole devices, with the real program on real loop devices: every one is refused, and not one
//! byte is written. What a kernel lets nobody do to a loop device (another one in its place while it is open) is attacked in
//! `src/workload/guard/tests.rs`, on a tree made for it.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../support/mod.rs"]
mod support;

mod between;
mod disk;
mod signatures;
mod users;

use std::path::Path;

use disk::{Disk, run, zeroes};

/// What every refusal has in common.
const NOTHING: &str = "nothing was written";

#[test]
fn a_blank_device_that_is_armed_is_written_and_said_to_be() {
    let Some(disk) = Disk::blank() else { return };
    for (engine, keys) in [
        ("psync", "rw=randwrite"),
        ("io_uring", "rw=randwrite iodepth=8"),
        ("psync", "rw=randwrite direct=false"),
        ("io_uring", "rw=write sync=dsync numjobs=1"),
    ] {
        disk.clear();
        let keys = format!("engine={engine} {keys} number_ios=64 runtime=60s");
        let out = run(&disk.dev(), &["--write-device", &disk.kernel(), "--json"], &keys);
        assert_eq!(out.code, 0, "{keys}: {}", out.stderr);
        let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
        assert_eq!(json["wrote_device"], disk.kernel(), "{keys}");
        assert_eq!(json["total"]["write"]["ios"], 64, "{keys}");
        let sentence = format!("armed: {}, 16.0 MiB of {}, will be written to", disk.dev(), disk.kernel());
        assert!(out.stderr.contains(&sentence) && out.stderr.contains("it is blank"), "{}", out.stderr);
        // Without repeats: as many blocks as I/Os, each of its own content, and no other byte.
        let bytes = disk.bytes();
        let written: Vec<&[u8]> = bytes.chunks(4096).filter(|b| !zeroes(b)).collect();
        assert_eq!(written.len(), 64, "{keys}");
        let distinct: std::collections::HashSet<&[u8]> = written.iter().copied().collect();
        assert_eq!(distinct.len(), 64, "{keys}: blocks are alike");
    }
    // What is on it now is of no known kind: written over, and said.
    let out = run(&disk.dev(), &["--write-device", &disk.kernel()], "number_ios=8");
    assert!(out.code == 0 && out.stderr.contains("data of no known kind"), "{}", out.stderr);
}

#[test]
fn without_the_very_name_nothing_is_written() {
    let Some(disk) = Disk::blank() else { return };
    let name = disk.kernel();
    let refused = |extra: &[&str], words: &str| disk.refused(&disk.dev(), extra, &[words]);
    refused(&[], &format!("--write-device {name}"));
    for wrong in ["sda", "loop", "", "*", &disk.dev(), &name.to_uppercase(), &format!("{name}p1")] {
        refused(&["--write-device", wrong], "make sure which device is meant");
    }
    // By its kernel name it is the same device.
    disk.refused(&name, &[], &[&format!("would overwrite {}", disk.dev())]);
    // A file that is called like the device.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(&name);
    std::fs::write(&file, [7; 4096]).unwrap();
    disk.refused(&file.display().to_string(), &["--write-device", &name], &["is no block device"]);
    disk.refused(&dir.path().display().to_string(), &["--write-device", &name], &["is no block device"]);
    assert_eq!(std::fs::read(&file).unwrap(), [7; 4096]);
    // Command lines that make no sense.
    let out = run(&disk.dev(), &["--destroy", "ext4"], "number_ios=1");
    assert_eq!(out.code, 2, "{}", out.stderr);
    let out = run(&disk.dev(), &["--write-device", &name], "rw=randread number_ios=1");
    assert!(out.code == 2 && out.stderr.contains("only reads"), "{}", out.stderr);
    disk.untouched();
}

#[test]
fn a_node_outside_of_dev_is_not_believed() {
    let Some(disk) = Disk::blank() else { return };
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path().join(disk.kernel());
    disk.mknod(&node);
    let armed = ["--write-device", &disk.kernel()];
    disk.refused(&node.display().to_string(), &armed, &["does not lie below /dev", NOTHING]);
    // The number of another device under this one's name.
    let other = Disk::blank().unwrap();
    std::fs::remove_file(&node).unwrap();
    other.mknod(&node);
    disk.refused(&node.display().to_string(), &armed, &[NOTHING]);
    other.untouched();
    // A link is followed once, and told.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(disk.dev(), &link).unwrap();
    let out = run(&link.display().to_string(), &armed, "number_ios=8");
    let both = format!("armed: {} ({})", disk.dev(), link.display());
    assert!(out.code == 0 && out.stderr.contains(&both), "{}", out.stderr);
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(disk) = Disk::with(&["-r"]) else { return };
    disk.refused(&disk.dev(), &["--write-device", &disk.kernel()], &["is read-only", NOTHING]);
}

#[test]
fn files_that_are_there_stay_and_those_that_are_not_are_not_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("data");
    let content: Vec<u8> = (0..1 << 20).map(|i: u32| i.to_le_bytes()[1]).collect();
    std::fs::write(&file, &content).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        for keys in ["number_ios=8", "rw=randrw number_ios=8", "rw=write direct=false number_ios=8"] {
            let out = run(&path.display().to_string(), &[], keys);
            assert_eq!(out.code, 6, "{}", out.stderr);
            assert!(
                out.stderr.contains("a file that was there before")
                    && out.stderr.contains("give a directory")
            );
        }
    }
    let out = run(&dir.path().join("new").display().to_string(), &[], "number_ios=8");
    assert!(out.code == 6 && out.stderr.contains("was not created"), "{}", out.stderr);
    assert_eq!(std::fs::read(&file).unwrap(), content);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "something was left or made");
    let out = run(&Path::new("/dev/null").display().to_string(), &[], "number_ios=8");
    assert!(out.code == 2 && out.stderr.contains("character device"), "{}", out.stderr);
}

#[test]
fn the_sandbox_was_made_for_the_run_and_needs_no_arming() {
    if !support::privileged("the_sandbox_was_made_for_the_run") {
        return;
    }
    let (mut command, _home) = support::blktune();
    command.args(["run", "randwrite-4k", "--sandbox=16M", "--json"]);
    let out = command.args(["--set", "number_ios=32", "--set", "ramp=0s"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{stderr}");
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["total"]["write"]["ios"], 32);
    assert!(json["wrote_device"].as_str().unwrap().starts_with("loop"), "{stderr}");
}
