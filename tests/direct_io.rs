//! What direct I/O has to be aligned to, on devices and files, and what is said where it is not, before anything starts.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use support::{LoopDevice, blktune};

/// `blktune run randread-4k` in JSON: exit code, stdout, stderr.
fn read(target: &Path, keys: &str) -> (i32, serde_json::Value, String) {
    let (mut command, _home) = blktune();
    command.args(["run", "randread-4k", "--json"]).arg(target);
    for key in ["ramp=0s", "runtime=20s"].into_iter().chain(keys.split_ascii_whitespace()) {
        command.args(["--set", key]);
    }
    let out = command.output().unwrap();
    let json = serde_json::from_slice(&out.stdout).unwrap_or_default();
    (out.status.code().unwrap(), json, String::from_utf8_lossy(&out.stderr).into_owned())
}

/// Refused before anything was read, naming the step.
fn off_the_step(device: &LoopDevice, target: &Path, keys: &str, step: u32) {
    let before = device.stat()[0];
    let (code, json, text) = read(target, keys);
    assert!(code == 2 && json.is_null(), "{keys}: {code}: {text}");
    let says = [format!("not a multiple of {step}"), "--set direct=false".to_owned()];
    assert!(says.iter().all(|s| text.contains(s)), "{keys}: {text}");
    assert_eq!(device.stat()[0], before, "{keys}: something was read");
}

#[test]
fn a_device_with_blocks_of_4096_takes_multiples_of_that_alone() {
    let Some(device) = LoopDevice::with(8, |o| o.logical_block = Some(4096)) else { return };
    let node = device.node();
    for keys in ["bs=512", "bs=6k", "bs=4k offset=512", "bs=8k align=2k"] {
        off_the_step(&device, &node, keys, 4096);
    }
    for (keys, bytes) in [("bs=4k", 4096), ("bs=12k", 12288), ("bs=8k align=4k", 8192)] {
        let (code, json, text) = read(&node, &format!("{keys} number_ios=10"));
        assert_eq!(code, 0, "{keys}: {text}");
        assert_eq!(json["total"]["read"]["bytes"], 10 * bytes, "{keys}");
        assert_eq!(json["total"]["read"]["errors"], 0, "{keys}");
    }
    // Buffered, anything goes, and the result says that it was buffered.
    let (code, json, text) = read(&node, "bs=512 direct=false number_ios=10");
    assert_eq!(code, 0, "{text}");
    assert!(json["promises"][0].as_str().unwrap().contains("page cache"), "{}", json["promises"]);
}

#[test]
fn a_file_there_takes_what_its_file_system_says() {
    let Some(device) = LoopDevice::with(16, |o| o.logical_block = Some(4096)) else { return };
    let made = Command::new("mkfs.ext4").args(["-q", "-b", "4096"]).arg(device.node()).output();
    if !made.is_ok_and(|o| o.status.success()) {
        eprintln!("not run: a_file_there_takes_what_its_file_system_says needs mkfs.ext4");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    assert!(Command::new("mount").arg(device.node()).arg(dir.path()).status().unwrap().success());
    let tried = std::panic::catch_unwind(|| {
        let file = dir.path().join("data");
        let f = std::fs::File::create(&file).unwrap();
        f.write_all_at(&[7; 10_000], 0).unwrap();
        f.sync_all().unwrap();
        off_the_step(&device, &file, "bs=512", 4096);
        off_the_step(&device, &file, "bs=6k", 4096);
        // 10,000 bytes are two whole blocks.
        let (code, json, text) = read(&file, "bs=4k rw=read number_ios=2");
        assert_eq!((code, json["total"]["read"]["bytes"].as_u64()), (0, Some(8192)), "{text}");
        // And not one of 12 KiB.
        let (code, _, text) = read(&file, "bs=12k");
        assert!(code == 2 && text.contains("not one block of"), "{code}: {text}");
        let empty = dir.path().join("empty");
        std::fs::File::create(&empty).unwrap();
        let (code, _, text) = read(&empty, "bs=4k");
        assert!(code == 2 && text.contains("0 B from offset 0 B holds not one block"), "{code}: {text}");
    });
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    tried.unwrap_or_else(|e| std::panic::resume_unwind(e));
}

#[test]
fn on_tmpfs_it_works_or_is_refused_and_never_falls_back() {
    let shm = Path::new("/dev/shm");
    if !shm.is_dir() {
        eprintln!("not run: there is no /dev/shm");
        return;
    }
    let file = tempfile::NamedTempFile::new_in(shm).unwrap();
    file.as_file().write_all_at(&vec![7; 1 << 20], 0).unwrap();
    let (code, json, text) = read(file.path(), "number_ios=10");
    if code == 0 {
        // Linux 6.6 and later.
        assert!(json["promises"][0].as_str().unwrap().contains("O_DIRECT"), "{}", json["promises"]);
    } else {
        assert!(code == 2 && text.contains("no direct I/O; use --set direct=false"), "{code}: {text}");
    }
    let (code, json, text) = read(file.path(), "direct=false number_ios=10");
    assert!(code == 0 && !json["promises"][0].as_str().unwrap().contains("O_DIRECT"), "{text}");
}
