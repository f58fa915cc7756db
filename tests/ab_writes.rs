//! Experiments with workloads that write, on real devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "support/mod.rs"]
mod support;

use std::fs::File;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use blktune::experiment::bench::{Bench as _, Measured};
use blktune::runtime::kernel_bench::KernelBench;
use blktune::sys::root::SysRoot;
use blktune::sys::{inventory, scratch};
use blktune::tuning::journal::Journal;
use blktune::units::Bytes;
use blktune::workload::assemble::assemble;
use blktune::workload::target::Target;
use rustix::process::{Pid, Signal, kill_process};
use support::loopdev::within_seconds;
use support::{LoopDevice, installed, loop_device, privileged};

/// Writes that are synced one by one, at a pace that leaves the journal little to write.
const COMMITS: [&str; 3] = ["rate_iops=50", "runtime=2s", "ramp=0s"];

fn bench_on<'a>(d: &LoopDevice, file: &File, home: &Path) -> KernelBench<'a> {
    let root = SysRoot::host();
    let node = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let target = Target::open(&root, &node).unwrap().unwrap().made_for_the_run();
    let id = inventory::identify(&root, d.name()).unwrap();
    KernelBench::open(&root, &Journal::new(home, "this boot"), &id, None, target, None)
}

fn amiss(m: &Measured) -> Option<(String, bool)> {
    m.passage.amiss(m.engine, m.device.expect("a loop device counts"))
}

/// Writes 1 MiB again and again, down to the device, for as long as `measure` takes.
fn beside<T>(path: &Path, measure: impl FnOnce() -> T) -> T {
    let (file, data, done) = (File::create(path).unwrap(), vec![7; 1 << 20], AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                file.write_all_at(&data, 0).unwrap();
                file.sync_data().unwrap();
            }
        });
        let measured = measure();
        done.store(true, Ordering::Relaxed);
        measured
    })
}

#[test]
fn what_a_journal_writes_is_no_foreign_io_and_what_another_program_writes_is() {
    let what = "what_a_journal_writes_is_no_foreign_io";
    let Some(d) = loop_device(64) else { return };
    if !installed(what, "mkfs.ext4", "e2fsprogs") {
        return;
    }
    // All is written at once: the kernel would else go on with it behind the trials.
    let words = ["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
    assert!(Command::new("mkfs.ext4").args(words).arg(d.dev()).status().unwrap().success());
    let (dir, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert!(Command::new("mount").arg(d.dev()).arg(dir.path()).status().unwrap().success());
    let tried = std::panic::catch_unwind(|| {
        let file = scratch::nameless(dir.path()).unwrap();
        scratch::fill(&file, Bytes(16 << 20), &mut |_| ControlFlow::Continue(())).unwrap();
        let mut bench = bench_on(&d, &file, home.path());
        let (jobs, stop) = (assemble("commit-4k-dsync", COMMITS).unwrap(), AtomicBool::new(false));
        bench.drain(&stop).unwrap();
        let quiet = bench.measure(&jobs, &stop).unwrap();
        assert_eq!(amiss(&quiet), None);
        assert!(!quiet.warnings.iter().any(|w| w.contains("other I/O")), "{:?}", quiet.warnings);
        let busy = beside(&dir.path().join("other"), || bench.measure(&jobs, &stop).unwrap());
        let (text, more) = amiss(&busy).expect("another program wrote");
        assert!(more && text.contains("others used it"), "{text}");
    });
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    tried.unwrap_or_else(|e| std::panic::resume_unwind(e));
}

#[test]
fn a_workload_writes_to_the_sandbox_which_is_gone_when_it_is_interrupted() {
    if !privileged("a_workload_writes_to_the_sandbox") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let record = home.path().join("record");
    let words = "--sandbox=32M ab --factor scheduler=none,mq-deadline --job randwrite-4k --trial 3s --ramp 0s --settle 0s";
    let mut ab = Command::new(env!("CARGO_BIN_EXE_blktune"))
        .args(words.split(' '))
        .arg("--record")
        .arg(&record)
        .env("XDG_STATE_HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let trials = || std::fs::read_to_string(record.join("trials.jsonl")).unwrap_or_default();
    let measured = within_seconds(60, || ab.try_wait().unwrap().is_some() || trials().ends_with('\n'));
    let pid = Pid::from_raw(i32::try_from(ab.id()).unwrap()).unwrap();
    let _ = kill_process(pid, Signal::INT);
    let said = ab.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    assert!(
        measured && said.status.code() == Some(130) && text.contains("Settings are as they were"),
        "{text}"
    );
    let trial: serde_json::Value = serde_json::from_str(trials().lines().next().unwrap()).unwrap();
    assert!(trial["detail"]["total"]["write"]["ios"].as_u64() > Some(0), "nothing was written");
    let name = trial["detail"]["device"]["name"].as_str().unwrap();
    assert!(name.starts_with("loop"), "{name}");
    let bound = Path::new("/sys/block").join(name).join("loop/backing_file");
    assert!(!bound.exists(), "{name} is left");
}
