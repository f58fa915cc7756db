//! Space that runs out, and errors that show late: the run ends by name, and nothing is left behind.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use blktune::sys::root::SysRoot;
use blktune::workload::job::Job;
use blktune::workload::preset;
use blktune::workload::scratch;
use blktune::workload::target::TargetError;
use support::{blktune, privileged};

/// A tmpfs of a size that can be changed, gone at the end of the test.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn new(test: &str, size: &str) -> Option<Self> {
        if !privileged(test) {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        sh(
            "mount",
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", &dir.path().display().to_string()],
        );
        Some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn resize(&self, size: &str) {
        let options = format!("remount,size={size}");
        sh("mount", &["-o", &options, &self.path().display().to_string()]);
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // A loop device over a file in it may take a moment to let go of that.
        let umount = || Command::new("umount").arg(self.path()).output().is_ok_and(|o| o.status.success());
        let gone = support::loopdev::within_seconds(10, umount);
        assert!(gone || std::thread::panicking(), "{}: still mounted", self.path().display());
    }
}

fn sh(program: &str, args: &[&str]) -> String {
    let out = Command::new(program).args(args).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

fn job(keys: &[&str]) -> Job {
    let mut job = preset::find("randwrite-4k").unwrap().jobs().remove(0);
    for key in keys {
        job.set(key).unwrap();
    }
    job
}

#[test]
fn a_file_system_that_fills_up_meanwhile_is_named_and_left_empty() {
    let Some(tmpfs) = Tmpfs::new("a_file_system_that_fills_up_meanwhile", "2g") else { return };
    let job = job(&["size=64m", "direct=false"]);
    let mut shrunk = false;
    let made = scratch::make(
        &SysRoot::host(),
        tmpfs.path(),
        std::slice::from_ref(&job),
        &AtomicBool::new(false),
        &mut |_| {
            if !std::mem::replace(&mut shrunk, true) {
                tmpfs.resize("20m");
            }
        },
    );
    let e = made.unwrap_err();
    assert!(matches!(e, TargetError::Full(..)), "{e}");
    assert!(e.to_string().contains("No space left") && e.to_string().contains("--set size="), "{e}");
    let left = rustix::fs::statvfs(tmpfs.path()).unwrap();
    assert_eq!(left.f_bfree, left.f_blocks, "something still takes space");
    assert_eq!(std::fs::read_dir(tmpfs.path()).unwrap().count(), 0);
}

#[test]
fn there_is_always_a_gibibyte_left() {
    let Some(tmpfs) = Tmpfs::new("there_is_always_a_gibibyte_left", "1g") else { return };
    let (mut command, _home) = blktune();
    let out =
        command.args(["run", "randwrite-4k"]).arg(tmpfs.path()).args(["--set", "size=1m"]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(6), "{text}");
    assert!(text.contains("1 GiB left") && text.contains("another directory"), "{text}");
    assert_eq!(std::fs::read_dir(tmpfs.path()).unwrap().count(), 0);
}

/// A loop device over a file with holes, on a file system that can not fill them.
struct Thin {
    dev: String,
    _tmpfs: Tmpfs,
}

impl Thin {
    fn new(test: &str) -> Option<Self> {
        let tmpfs = Tmpfs::new(test, "4m")?;
        let file: PathBuf = tmpfs.path().join("backing");
        std::fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let dev = sh("losetup", &["-f", "--show", &file.display().to_string()]);
        Some(Self { dev, _tmpfs: tmpfs })
    }
}

impl Drop for Thin {
    fn drop(&mut self) {
        sh("losetup", &["-d", &self.dev]);
    }
}

#[test]
fn an_error_that_shows_at_the_sync_alone_ends_the_run() {
    let Some(thin) = Thin::new("an_error_that_shows_at_the_sync_alone") else { return };
    let name = thin.dev.trim_start_matches("/dev/");
    let write = |keys: &str| {
        let (mut command, _home) = blktune();
        command.args(["run", "randwrite-4k", &thin.dev, "--write-device", name, "--set", "ramp=0s"]);
        for key in keys.split(' ') {
            command.args(["--set", key]);
        }
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    for engine in ["psync", "io_uring"] {
        // All of it fits into memory, so every write succeeds.
        let keys = format!("engine={engine} rw=write bs=1m direct=false end_fsync=0 number_ios=32");
        let (code, text) = write(&keys);
        assert_eq!(code, Some(7), "{engine}: {text}");
        assert!(text.contains("could not be brought to the medium"), "{engine}: {text}");
        // Under direct I/O the write itself says so.
        let (code, text) = write(&format!("engine={engine} rw=write bs=1m number_ios=32"));
        assert_eq!(code, Some(7), "{engine}: {text}");
        assert!(text.contains("writing at offset"), "{engine}: {text}");
    }
}
