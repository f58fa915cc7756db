//! What cells are greyed for is what the kernel does: read-ahead on a loop device, by the size of the requests that reach it.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::sync::atomic::AtomicBool;

use blktune::experiment::asked::{Asked, design};
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::trial::run_trial;
use blktune::workload::assemble::assemble;
use blktune::workload::target::Target;
use support::loop_device;
use support::loopdev::LoopDevice;

/// The mean size, in KiB, of the reads that reach the device at a read-ahead.
fn read_size(device: &LoopDevice, read_ahead_kb: &str, set: &[&str]) -> f64 {
    device.put("read_ahead_kb", read_ahead_kb);
    let jobs = assemble("dd-1m", set).unwrap();
    let target = Target::open(&SysRoot::host(), &device.node()).unwrap().unwrap();
    let stop = AtomicBool::new(false);
    let result = run_trial(&SysRoot::host(), &jobs, &target, &stop, &mut |_| {}).unwrap();
    result.device.unwrap().read_size_bytes.unwrap() / 1024.0
}

/// Whether these levels of read-ahead are greyed for the same workload.
fn greyed(device: &LoopDevice, levels: &str, set: &[&str]) -> bool {
    let state = QueueState::read(&SysRoot::host(), device.name());
    let asked = Asked {
        factors: vec![format!("read_ahead_kb={levels}")],
        // How long it runs is the experiment's own.
        set: set.iter().filter(|s| !s.starts_with("number_ios=")).map(|s| (*s).to_owned()).collect(),
        ..Asked::new(&device.kernel(), "dd-1m", 1)
    };
    design(&asked, &state).unwrap().refusal().is_some()
}

#[test]
fn read_ahead_decides_on_small_sequential_reads_and_on_nothing_that_is_greyed() {
    let Some(device) = loop_device(64) else { return };
    device.known_queue();
    let small = ["bs=4k", "number_ios=4096"];
    let (least, most) = (read_size(&device, "4", &small), read_size(&device, "1024", &small));
    assert!(least < 8.0 && most > 256.0, "{least} {most}");
    assert!(!greyed(&device, "4,1024", &small));

    let large = ["bs=1m", "number_ios=48"];
    let (least, most) = (read_size(&device, "4", &large), read_size(&device, "128", &large));
    assert!(least > 256.0 && (least - most).abs() < 0.1 * most, "{least} {most}");
    assert!(greyed(&device, "4,128", &large) && greyed(&device, "4,4096", &large));

    let random = ["bs=4k", "rw=randread", "number_ios=400"];
    let (least, most) = (read_size(&device, "4", &random), read_size(&device, "1024", &random));
    assert!(least < 8.0 && most < 8.0, "{least} {most}");
    assert!(greyed(&device, "4,1024", &random));

    let direct = ["bs=4k", "direct=1", "number_ios=400"];
    let (least, most) = (read_size(&device, "4", &direct), read_size(&device, "1024", &direct));
    assert!(least < 4.1 && most < 4.1, "{least} {most}");
    assert!(greyed(&device, "4,1024", &direct));
}
