//! Loop devices of our own: whole while they live, nothing left when they go.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use blktune::sys::loopdev::{self, LoopOptions, NUMBERS};
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::sys::scratch;
use support::loopdev::{Footprint, is_content};
use support::{LoopDevice, loop_device};

/// Set for the copy of this binary that holds a device until it is killed.
const HOLDER: &str = "BLKTUNE_TEST_HOLDS_A_LOOP_DEVICE";

fn block_dir(name: &KernelName) -> PathBuf {
    SysRoot::host().block(name)
}

#[test]
fn a_device_reads_what_it_was_filled_with_and_leaves_nothing() {
    let Some(device) = loop_device(3) else { return };
    let name = device.name().clone();
    let number: u32 = name.sysfs().trim_start_matches("loop").parse().unwrap();
    assert!(NUMBERS.contains(&number), "{name}");
    assert_eq!(std::fs::read_to_string(block_dir(&name).join("size")).unwrap().trim(), "6144");
    let (mut bytes, file) = (vec![0; 3 << 20], device.open());
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(is_content(0, &bytes));
    let before = device.stat();
    assert!(before[2] >= 6144, "the device counted {} sectors read", before[2]);
    drop(file);
    let footprint = Footprint::of(&name);
    drop(device);
    assert!(!footprint.is_left(), "{name} is left");
}

#[test]
fn a_new_device_has_the_drivers_defaults_whatever_was_done_to_the_last() {
    let Some(first) = loop_device(1) else { return };
    let fresh = first.get("read_ahead_kb");
    first.put("read_ahead_kb", "4");
    assert_eq!(first.get("read_ahead_kb"), "4");
    first.put("scheduler", "none");
    assert_eq!(first.scheduler(), "none");
    drop(first);
    let Some(second) = loop_device(1) else { return };
    assert_eq!(second.get("read_ahead_kb"), fresh);
}

#[test]
fn a_known_queue_is_what_it_says() {
    let Some(device) = loop_device(1) else { return };
    device.put("scheduler", "mq-deadline");
    device.put("rotational", "1");
    device.known_queue();
    let state = ["rotational", "nr_requests", "nomerges", "read_ahead_kb"].map(|a| device.get(a));
    assert_eq!(state, ["0", "128", "0", "128"]);
    assert_eq!(device.scheduler(), "none");
}

#[test]
fn threads_get_devices_of_their_own() {
    if !support::privileged("threads_get_devices_of_their_own") {
        return;
    }
    let footprints: Vec<Footprint> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut footprints = Vec::new();
                    for _ in 0..4 {
                        let device = loop_device(1).unwrap();
                        let mut bytes = vec![0; 4096];
                        device.open().read_exact_at(&mut bytes, 8192).unwrap();
                        assert!(is_content(8192, &bytes));
                        footprints.push(Footprint::of(device.name()));
                    }
                    footprints
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(footprints.len(), 32);
    assert!(footprints.iter().all(|f| !f.is_left()), "a device is left");
}

#[test]
fn kill_9_leaves_nothing_bound_and_the_next_device_tidies_up() {
    if std::env::var_os(HOLDER).is_some() {
        hold_until_killed();
    }
    if !support::privileged("kill_9_leaves_nothing_bound_and_the_next_device_tidies_up") {
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill_9_leaves_nothing_bound_and_the_next_device_tidies_up", "--nocapture"])
        .env(HOLDER, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split("holds ").nth(1).map(str::to_owned))
        .expect("the holder names its device");
    let name = KernelName::new(said.trim()).unwrap();
    let footprint = Footprint::of(&name);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!footprint.is_bound(), "{name} is still bound after its holder was killed");
    drop(loop_device(1));
    assert!(!footprint.is_left(), "{name} is left");
}

/// Makes a device, says which, and waits for the end. Reading stdin ends it should the parent die first.
fn hold_until_killed() -> ! {
    let device = loop_device(1).unwrap();
    println!("holds {}", device.name());
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().lines().next();
    drop(device);
    panic!("the parent went away");
}

/// The library's own device, without the guard of the tests.
fn empty_device(logical_block: Option<u32>) -> Result<loopdev::LoopDevice, loopdev::LoopError> {
    let file = scratch::nameless(&std::env::temp_dir()).unwrap();
    file.set_len(1 << 20).unwrap();
    loopdev::LoopDevice::over(file, LoopOptions { logical_block, ..LoopOptions::default() })
}

#[test]
fn logical_blocks_of_4_kib() {
    let Some(device) = LoopDevice::with(1, |o| o.logical_block = Some(4096)) else { return };
    assert_eq!(device.get("logical_block_size"), "4096");
}

#[test]
fn a_block_size_the_kernel_does_not_take_is_an_error_and_leaves_nothing() {
    if !support::privileged("a_block_size_the_kernel_does_not_take_is_an_error_and_leaves_nothing") {
        return;
    }
    let e = empty_device(Some(1000)).unwrap_err();
    assert_eq!(e.errno(), Some(libc::EINVAL), "{e}");
    assert!(!e.path.exists(), "{} is left", e.path.display());
}

#[test]
fn a_read_only_device_refuses_writes() {
    let Some(device) = LoopDevice::with(1, |o| o.read_only = true) else { return };
    let refused =
        OpenOptions::new().write(true).open(device.node()).and_then(|f| f.write_all_at(b"x", 0)).unwrap_err();
    assert!(matches!(refused.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::EROFS)), "{refused}");
    let mut bytes = [0; 512];
    device.open().read_exact_at(&mut bytes, 0).unwrap();
    assert!(is_content(0, &bytes));
}

#[test]
fn a_truncated_backing_file_makes_reads_fail() {
    let Some(device) = loop_device(4) else { return };
    device.backing_file().set_len(1 << 20).unwrap();
    let (file, mut bytes) = (device.open(), vec![0; 4096]);
    file.read_exact_at(&mut bytes, 0).unwrap();
    let failed = file.read_exact_at(&mut bytes, 3 << 20).unwrap_err();
    assert_eq!(failed.raw_os_error(), Some(libc::EIO), "{failed}");
}

#[test]
fn removal_says_so_while_somebody_has_the_device_open() {
    if !support::privileged("removal_says_so_while_somebody_has_the_device_open") {
        return;
    }
    let device = empty_device(None).unwrap();
    let (name, footprint) = (device.name().clone(), Footprint::of(device.name()));
    let other = File::open(device.node()).unwrap();
    let e = device.remove().unwrap_err();
    assert_eq!(e.errno(), Some(libc::EBUSY), "{e}");
    assert!(e.to_string().contains(&name.kernel()), "{e}");
    drop(other);
    // What was left is removed with the next device.
    drop(loop_device(1));
    assert!(!footprint.is_left(), "{name} is left");
}
