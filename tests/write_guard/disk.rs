//! A loop device to be attacked, and the program that is to leave it alone.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use blktune::sys::inventory;
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use rustix::fs::{CWD, FileType, makedev, mknodat};

use crate::support::{blktune, privileged};

/// How large it is, bytes.
pub(crate) const SIZE: u64 = 16 << 20;

/// A loop device full of zeroes that, unlike those of the library, nobody holds open: a guard would object.
pub(crate) struct Disk {
    name: KernelName,
    backing: File,
    /// Lets the device go when its input ends: at the end of the test, also of one that is killed.
    keeper: Child,
}

/// What the program answered.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Disk {
    /// None, and said why, without root.
    pub(crate) fn blank() -> Option<Self> {
        Self::with(&[])
    }

    /// With options of `losetup`.
    pub(crate) fn with(options: &[&str]) -> Option<Self> {
        let test = std::thread::current().name().unwrap_or("this test").to_owned();
        if !privileged(&test) {
            return None;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let backing = file.reopen().unwrap();
        backing.write_all_at(&vec![0; usize::try_from(SIZE).unwrap()], 0).unwrap();
        let path = file.path().display().to_string();
        let out = Command::new("losetup").args(["-f", "--show"]).args(options).arg(path).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        let dev = String::from_utf8(out.stdout).unwrap().trim().to_owned();
        let script = format!("cat > /dev/null; losetup -d {dev}");
        let keeper = Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap();
        let name = KernelName::new(dev.strip_prefix("/dev/").unwrap()).unwrap();
        Some(Self { name, backing, keeper })
    }

    pub(crate) fn name(&self) -> &KernelName {
        &self.name
    }

    /// The kernel name as text.
    pub(crate) fn kernel(&self) -> String {
        self.name.kernel()
    }

    pub(crate) fn node(&self) -> PathBuf {
        SysRoot::node(&self.name)
    }

    /// The node as text.
    pub(crate) fn dev(&self) -> String {
        self.node().display().to_string()
    }

    /// The node, opened for reading.
    pub(crate) fn open(&self) -> File {
        File::open(self.node()).unwrap()
    }

    pub(crate) fn backing_file(&self) -> &File {
        &self.backing
    }

    /// I/Os written so far, by the kernel's count.
    pub(crate) fn writes(&self) -> u64 {
        let text = std::fs::read_to_string(SysRoot::host().block(&self.name).join("stat")).unwrap();
        text.split_whitespace().nth(4).unwrap().parse().unwrap()
    }

    /// Everything that is on it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut all = vec![0; usize::try_from(SIZE).unwrap()];
        self.backing_file().read_exact_at(&mut all, 0).unwrap();
        all
    }

    /// Writes through the device, as others do.
    pub(crate) fn put(&self, offset: u64, bytes: &[u8]) {
        let node = std::fs::OpenOptions::new().write(true).open(self.node()).unwrap();
        node.write_all_at(bytes, offset).unwrap();
        node.sync_all().unwrap();
    }

    /// Zeroes again.
    pub(crate) fn clear(&self) {
        self.put(0, &vec![0; usize::try_from(SIZE).unwrap()]);
    }

    pub(crate) fn untouched(&self) {
        assert!(zeroes(&self.bytes()), "bytes were written");
    }

    /// A node of the device's number.
    pub(crate) fn mknod(&self, path: &Path) {
        let number = inventory::identify(&SysRoot::host(), self.name()).unwrap().devnum.unwrap();
        let dev = makedev(number.major, number.minor);
        mknodat(CWD, path, FileType::BlockDevice, 0o600.into(), dev).unwrap();
    }

    /// Asks the program to write to `target`: it exits 6 with these words, and the device was not written to, neither by
    /// its content nor by the kernel's count.
    pub(crate) fn refused(&self, target: &str, extra: &[&str], words: &[&str]) {
        let (before, writes) = (self.bytes(), self.writes());
        for engine in ["psync", "io_uring"] {
            let out = run(target, extra, &format!("engine={engine} number_ios=64"));
            let what = format!("{target} {extra:?}: {}", out.stderr);
            assert_eq!(out.code, 6, "{what}");
            assert!(out.stdout.is_empty(), "{what}");
            assert!(words.iter().all(|w| out.stderr.contains(w)), "{what}");
        }
        assert!(self.bytes() == before, "{target} {extra:?}: BYTES WERE WRITTEN");
        assert_eq!(self.writes(), writes, "{target} {extra:?}: the kernel counts writes");
    }

    /// Armed in every way, and refused all the same.
    pub(crate) fn refused_although_armed(&self, destroy: &[&str], words: &[&str]) {
        let name = self.kernel();
        let destroy = destroy.join(",");
        self.refused(&self.dev(), &["--write-device", &name], words);
        if !destroy.is_empty() {
            self.refused(&self.dev(), &["--write-device", &name, "--destroy", &destroy], words);
        }
        self.refused(&self.dev(), &["--busy-ok"], &["--write-device"]);
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let ended = self.keeper.wait();
        if !std::thread::panicking() {
            assert!(ended.is_ok_and(|e| e.success()), "{}: not let go", self.name);
        }
    }
}

/// `blktune run randwrite-4k TARGET` with these arguments and keys.
pub(crate) fn run(target: &str, extra: &[&str], keys: &str) -> Answer {
    let (mut command, _home) = blktune();
    command.args(["run", "randwrite-4k", target]).args(extra);
    for key in ["ramp=0s", "runtime=20s"].into_iter().chain(keys.split_ascii_whitespace()) {
        command.args(["--set", key]);
    }
    let out = command.output().unwrap();
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    Answer { code: out.status.code().unwrap_or(-1), stdout: text(&out.stdout), stderr: text(&out.stderr) }
}

pub(crate) fn zeroes(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == 0)
}

/// Runs a program of the system, which has to succeed.
pub(crate) fn sh(program: &str, args: &[&str]) {
    let out =
        std::process::Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Whether a program is there; if not, says so.
pub(crate) fn has(what: &str, program: &str) -> bool {
    let there = Command::new(program).arg("-V").output().is_ok();
    if !there {
        let _ = writeln!(std::io::stderr(), "not run: {what} needs {program}");
    }
    there
}
