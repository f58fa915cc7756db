//! What happens between arming and start: the program is held there, something is done, and it goes on.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::NOTHING;
use crate::disk::{Disk, SIZE, sh};

/// The program, armed and held before its first write.
struct Held {
    child: Child,
    stderr: BufReader<ChildStderr>,
    gate: PathBuf,
    _dir: tempfile::TempDir,
}

impl Held {
    fn before_writing_to(target: &str, name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let gate = dir.path().join("gate");
        std::fs::write(&gate, "").unwrap();
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("blktune"))
            .args(["run", "randwrite-4k", target, "--write-device", name])
            .args(["--set", "ramp=0s", "--set", "number_ios=64"])
            .env("HOME", dir.path())
            .env("BLKTUNE_FAULT", format!("hold:{}", gate.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("armed: "), "{line}");
        Self { child, stderr, gate, _dir: dir }
    }

    /// Lets it go on: exit code and what it says.
    fn goes_on(mut self) -> (i32, String) {
        std::fs::remove_file(&self.gate).unwrap();
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code().unwrap(), text)
    }
}

#[test]
fn nothing_done_in_between_lets_it_write() {
    let Some(disk) = Disk::blank() else { return };
    let held = Held::before_writing_to(&disk.dev(), &disk.kernel());
    disk.untouched();
    // Meanwhile the device is taken: nothing mounts it, and it is locked against udev.
    let exclusive = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL;
    let e = rustix::fs::open(disk.node(), exclusive, rustix::fs::Mode::empty()).unwrap_err();
    assert_eq!(e, rustix::io::Errno::BUSY);
    let open = disk.open();
    let e = rustix::fs::flock(&open, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap_err();
    assert_eq!(e, rustix::io::Errno::WOULDBLOCK);
    drop(open);
    let (code, text) = held.goes_on();
    assert_eq!(code, 0, "{text}");
    assert!(!crate::zeroes(&disk.bytes()), "nothing was written");
}

#[test]
fn what_is_done_in_between_is_refused() {
    let Some(disk) = Disk::blank() else { return };
    // A file system.
    let held = Held::before_writing_to(&disk.dev(), &disk.kernel());
    disk.put(0, b"XFSB");
    let (code, text) = held.goes_on();
    assert!(code == 6 && text.contains("xfs is on it now") && text.contains(NOTHING), "{code}: {text}");
    disk.put(0, &[0; 4]);
    disk.untouched();
    // Another program.
    let held = Held::before_writing_to(&disk.dev(), &disk.kernel());
    let open = disk.open();
    let (code, text) = held.goes_on();
    drop(open);
    assert!(code == 6 && text.contains("is open by") && text.contains(NOTHING), "{code}: {text}");
    disk.untouched();
    // Writes refused.
    let held = Held::before_writing_to(&disk.dev(), &disk.kernel());
    sh("blockdev", &["--setro", &disk.dev()]);
    let (code, text) = held.goes_on();
    sh("blockdev", &["--setrw", &disk.dev()]);
    assert!(code == 6 && text.contains("read-only"), "{code}: {text}");
    disk.untouched();
    // Another size.
    let held = Held::before_writing_to(&disk.dev(), &disk.kernel());
    disk.backing_file().set_len(SIZE / 2).unwrap();
    sh("losetup", &["-c", &disk.dev()]);
    let (code, text) = held.goes_on();
    assert!(code == 6 && text.contains("its size is another now"), "{code}: {text}");
    disk.backing_file().set_len(SIZE).unwrap();
    disk.untouched();
}

/// A node in `/dev` that is gone at the end of the test, whatever it is by then.
struct Node(PathBuf);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_node_replaced_in_between_is_refused_and_neither_device_is_written() {
    let (Some(disk), Some(other)) = (Disk::blank(), Disk::blank()) else { return };
    let node = Node(Path::new("/dev").join(format!("blktune-test-{}", std::process::id())));
    let target = node.0.display().to_string();
    // By a link to another device, by a node of another device, by nothing.
    let attacks: [(&str, &dyn Fn()); 3] = [
        ("no block device any more", &|| symlink(other.node(), &node.0).unwrap()),
        ("its number is", &|| other.mknod(&node.0)),
        ("No such file", &|| {}),
    ];
    for (words, replace) in attacks {
        let _ = std::fs::remove_file(&node.0);
        disk.mknod(&node.0);
        let held = Held::before_writing_to(&target, &disk.kernel());
        std::fs::remove_file(&node.0).unwrap();
        replace();
        let (code, text) = held.goes_on();
        assert!(code == 6 && text.contains(words) && text.contains(NOTHING), "{code}: {text}");
        disk.untouched();
        other.untouched();
    }
}
