//! What is told of a device: of one whose speed is known, a loop device under the limit of a control group, which the kernel
//! keeps to a fraction of a percent over ten seconds; and of what is written, beside what the device counts.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use blktune::sys::root::SysRoot;
use blktune::trial::run_trial;
use blktune::workload::guard::Arming;
use blktune::workload::preset;
use blktune::workload::target::Target;
use serde_json::Value;
use support::throttle::Throttle;
use support::{LoopDevice, loop_device};

/// A limit admits a burst when it begins: +4% over one second, so that a ramp has to pass first.
const RAMP: &str = "ramp=2s";
const RUNTIME: &str = "runtime=10s";
const WITHIN: f64 = 0.015;

/// Runs with the limit, in the group, until the end.
fn limited(device: &LoopDevice, throttle: &Throttle, keys: &[&str]) -> std::process::Child {
    let mut command = Command::new("sh");
    command
        .args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""])
        .arg(throttle.group())
        .arg(assert_cmd::cargo::cargo_bin!("blktune"))
        .args(["run", "randread-4k", &device.dev(), "--json"]);
    for key in ["direct=true", RAMP, RUNTIME].iter().chain(keys) {
        command.args(["--set", key]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_device_of_known_speed_is_measured_right() {
    // So slow that each I/O has 13 ms or more: a device that answers late, on a machine that builds and tests beside this, still
    // answers before the limit lets the next one pass.
    let cases = [
        ("bytes", 1_600_000, &["engine=psync", "iodepth=1", "bs=32k"][..]),
        ("bytes", 20_000_000, &["engine=io_uring", "iodepth=8", "bs=32k"]),
        ("iops", 50, &["engine=psync", "iodepth=1"]),
        ("iops", 500, &["engine=io_uring", "iodepth=8"]),
    ];
    // All at once, each on a device of its own: they are slow by their limits and not by one another.
    let mut running = Vec::new();
    for (of, limit, keys) in cases {
        let Some(device) = loop_device(16) else { return };
        let throttle = match of {
            "bytes" => Throttle::reads(&device, limit),
            _ => Throttle::read_iops(&device, limit),
        };
        let Some(throttle) = throttle else { return };
        let child = limited(&device, &throttle, keys);
        running.push((of, limit, keys, child, throttle, device));
    }
    let mut wrong = Vec::new();
    for (of, limit, keys, child, throttle, device) in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{keys:?}: {}", String::from_utf8_lossy(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        let read = &json["total"]["read"];
        let key = if of == "bytes" { "bytes_per_s" } else { "iops" };
        let got = read[key].as_f64().unwrap();
        #[allow(clippy::cast_precision_loss)] // far below 2^53
        let ratio = got / limit as f64;
        eprintln!("{of} {keys:?}: {ratio:.4} of the limit");
        if (ratio - 1.0).abs() > WITHIN {
            wrong.push(format!("{of} {keys:?}: {got}, limit {limit}"));
        }
        drop(throttle);
        drop(device);
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn bytes_written_directly_are_those_that_the_device_counts() {
    let Some(device) = loop_device(16) else { return };
    for engine in ["engine=psync", "engine=io_uring"] {
        for keys in [
            &["rw=write"][..],
            &["rw=randwrite"],
            &["rw=randrw"],
            &["rw=randrw", "sync=dsync"],
            &["rw=randwrite", "sync=dsync"],
        ] {
            let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
            for key in ["ramp=0s", "runtime=20s", "number_ios=500", "direct=true", "iodepth=8", engine]
                .iter()
                .chain(keys)
            {
                job.set(key).unwrap();
            }
            let root = SysRoot::host();
            let arming = Arming { device: device.kernel(), destroy: Vec::new() };
            let target = Target::armed(&root, &device.node(), &arming).unwrap();
            let trial = run_trial(&root, &[job], &target, &AtomicBool::new(false), &mut |_| {}).unwrap();
            let (read, write) = (&trial.total.read, &trial.total.write);
            assert_eq!(read.ios + write.ios, 500, "{engine} {keys:?}");
            let engine_bytes = (read.bytes, write.bytes);
            assert!(engine_bytes.1.0 > 0, "{engine} {keys:?}: nothing was written");
            let counted = trial.device.unwrap();
            let device_bytes = (counted.read_bytes, counted.write_bytes);
            assert_eq!(engine_bytes, device_bytes, "{engine} {keys:?}");
        }
    }
}
