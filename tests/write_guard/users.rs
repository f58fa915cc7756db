//! Devices that something uses.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use blktune::sys::loopdev::{LoopDevice, LoopOptions};

use crate::NOTHING;
use crate::disk::{Disk, has, run, sh};

/// Mounted until dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn of(node: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        sh("mount", &["-o", "ro,noload", node, &dir.path().display().to_string()]);
        Self(dir)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        sh("umount", &[&self.0.path().display().to_string()]);
    }
}

#[test]
fn a_mounted_device() {
    let Some(disk) = Disk::blank() else { return };
    if !has("a_mounted_device", "mkfs.ext4") {
        return;
    }
    sh("mkfs.ext4", &["-q", &disk.dev()]);
    let mounted = Mounted::of(&disk.dev());
    let at = format!("mounted at {}", mounted.0.path().display());
    disk.refused_although_armed(&["ext4"], &["is in use", &at, NOTHING]);
}

#[test]
fn a_device_with_a_mounted_partition() {
    let Some(disk) = Disk::with(&["-P"]) else { return };
    if !has("a_device_with_a_mounted_partition", "mkfs.ext4") || !has("it", "addpart") {
        return;
    }
    let (name, part) = (disk.kernel(), format!("{}p1", disk.dev()));
    sh("addpart", &[&disk.dev(), "1", "2048", "16384"]);
    sh("mkfs.ext4", &["-q", &part]);
    // The partition itself, and the disk with a partition that nothing uses.
    for armed in [&name, &format!("{name}p1")] {
        disk.refused(&part, &["--write-device", armed], &["is a partition of", &name, NOTHING]);
    }
    disk.refused(&disk.dev(), &["--write-device", &name], &["holds partitions", "--destroy partitions"]);
    {
        let _mounted = Mounted::of(&part);
        disk.refused_although_armed(&["partitions"], &[&format!("{name}p1 is mounted at"), NOTHING]);
    }
    {
        let _open = std::fs::File::open(&part).unwrap();
        disk.refused_although_armed(&["partitions"], &[&format!("{name}p1 is open by"), NOTHING]);
    }
    sh("delpart", &[&disk.dev(), "1"]);
}

#[test]
fn a_device_mounted_in_another_namespace_alone() {
    let Some(disk) = Disk::blank() else { return };
    if !has("a_device_mounted_in_another_namespace", "mkfs.ext4") || !has("it", "unshare") {
        return;
    }
    sh("mkfs.ext4", &["-q", &disk.dev()]);
    let dir = tempfile::tempdir().unwrap();
    let script =
        format!("mount -o ro,noload {} {} && echo ready && read x", disk.dev(), dir.path().display());
    let mut there = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(there.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    disk.refused_although_armed(&["ext4"], &["mounted at", "in the namespace of", NOTHING]);
    drop(there.stdin.take());
    assert!(there.wait().unwrap().code().is_some());
}

#[test]
fn swap() {
    let Some(disk) = Disk::blank() else { return };
    if !has("swap", "mkswap") || !has("swap", "swapon") {
        return;
    }
    sh("mkswap", &[&disk.dev()]);
    if !std::path::Path::new("/proc/swaps").exists() {
        let _ = writeln!(std::io::stderr(), "not run: swap: this kernel has none");
        return;
    }
    sh("swapon", &[&disk.dev()]);
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        disk.refused_although_armed(&["swap"], &["is swap", NOTHING]);
    }));
    sh("swapoff", &[&disk.dev()]);
    refused.unwrap_or_else(|e| std::panic::resume_unwind(e));
}

#[test]
fn a_device_that_another_is_built_on() {
    let Some(disk) = Disk::blank() else { return };
    let dm = format!("blktune-guard-{}", std::process::id());
    let table = format!("0 1024 linear {} 0", disk.dev());
    let made = Command::new("dmsetup").args(["create", &dm, "--table", &table]).output();
    match made {
        Ok(out) if out.status.success() => {}
        _ => {
            // tests/vm/run tries it in a kernel that has them.
            let _ = writeln!(std::io::stderr(), "not run: a holder: no device mapper here");
            return;
        }
    }
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        disk.refused_although_armed(&[], &["is held by dm-", NOTHING]);
    }));
    sh("dmsetup", &["remove", "--retry", &dm]);
    refused.unwrap_or_else(|e| std::panic::resume_unwind(e));
}

#[test]
fn the_backing_of_a_loop_device() {
    let Some(disk) = Disk::blank() else { return };
    let open =
        |path: &std::path::Path| std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    {
        let above = LoopDevice::over(open(&disk.node()), LoopOptions::default()).unwrap();
        disk.refused_although_armed(&[], &[&format!("backs {}", above.name().kernel()), NOTHING]);
    }
    // Through a node that nobody finds any more.
    let dir = tempfile::tempdir().unwrap();
    let node = dir.path().join("node");
    disk.mknod(&node);
    let file = open(&node);
    std::fs::remove_file(&node).unwrap();
    let above = LoopDevice::over(file, LoopOptions::default()).unwrap();
    disk.refused_although_armed(&[], &[&format!("backs {}", above.name().kernel()), NOTHING]);
}

#[test]
fn a_device_that_a_process_has_open() {
    let Some(disk) = Disk::blank() else { return };
    for (writes, words) in [(false, "for reading"), (true, "for writing")] {
        let _open = std::fs::OpenOptions::new().read(true).write(writes).open(disk.node()).unwrap();
        disk.refused_although_armed(&[], &["is open by", words, NOTHING]);
    }
    // Closed a moment later, as by whoever reacts to a device that has come, it is waited for.
    let open = disk.open();
    let closes = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(open);
    });
    let out = run(&disk.dev(), &["--write-device", &disk.kernel()], "number_ios=8");
    closes.join().unwrap();
    assert_eq!(out.code, 0, "{}", out.stderr);
}
