//! What a trial says beyond the engine's figures, on real devices: whose the other I/O was, what the host is, what the
//! CPUs did, a foreground alone and beside others, and that it ends for the sake of others.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use blktune::sys::loopdev::{self, LoopOptions};
use blktune::sys::name::KernelName;
use blktune::sys::process_io::Mover;
use blktune::sys::root::SysRoot;
use blktune::trial::host::HostFacts;
use blktune::trial::result::TrialResult;
use blktune::trial::run_trial;
use blktune::workload::job::Job;
use blktune::workload::outcome::RunError;
use blktune::workload::preset;
use blktune::workload::target::Target;
use support::fixtures::sysroot;
use support::loop_device;
use support::throttle::Throttle;

fn jobs(name: &str, keys: &str) -> Vec<Job> {
    let mut jobs = preset::find(name).unwrap().jobs();
    for job in &mut jobs {
        for key in ["ramp=0s", "runtime=500ms"].into_iter().chain(keys.split_ascii_whitespace()) {
            job.set(key).unwrap();
        }
    }
    jobs
}

fn trial(jobs: &[Job], target: &Target) -> Result<TrialResult, RunError> {
    run_trial(&SysRoot::host(), jobs, target, &AtomicBool::new(false), &mut |_| {})
}

fn open(path: &Path) -> Target {
    Target::open(&SysRoot::host(), path).unwrap().unwrap()
}

/// A program in a control group.
fn in_group(group: Option<&Throttle>, args: &[&str]) -> (Command, tempfile::TempDir) {
    let (program, home) = support::blktune();
    let enter = group.map_or(String::new(), |g| format!("echo $$ > {}/cgroup.procs; ", g.group().display()));
    let mut command = Command::new("sh");
    for (key, value) in program.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    command.args(["-c", &format!("{enter}exec \"$0\" \"$@\"")]).arg(program.get_program()).args(args);
    (command, home)
}

/// Another program that goes on reading a device past the page cache, ended when dropped.
struct Reader {
    child: Child,
    _home: tempfile::TempDir,
}

impl Reader {
    fn of(device: &Path, kernel: &str, group: Option<&Throttle>) -> Self {
        let stat = || std::fs::read_to_string(format!("/sys/block/{kernel}/stat")).unwrap();
        let reads = || stat().split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let before = reads();
        let args = ["run", "randread-4k", device.to_str().unwrap(), "--set", "runtime=600s", "--json"];
        let (mut command, home) = in_group(group, &args);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let reader = Self { child, _home: home };
        let end = Instant::now() + Duration::from_secs(20);
        while reads() < before + 50 {
            assert!(Instant::now() < end, "the reader does not read");
            std::thread::sleep(Duration::from_millis(2));
        }
        reader
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn other_io_is_told_apart_from_the_engines_and_by_process() {
    let Some(device) = loop_device(512) else { return };
    let reader = Reader::of(&device.node(), &device.kernel(), None);
    let r = trial(&jobs("randread-4k", "runtime=1s"), &open(&device.node())).unwrap();
    let others = r.others.unwrap();
    let foreign = others.read_bytes.unwrap().0;
    assert_eq!(foreign, r.device.unwrap().read_bytes.0 - r.total.read.bytes.0);
    assert!(foreign > 0 && others.write_bytes.unwrap().0 == 0, "{foreign}");
    let it = others.processes.iter().find(|p| p.pid == reader.child.id());
    let it = it.unwrap_or_else(|| panic!("{:?}", others.processes));
    assert!(it.name == "blktune" && it.read_bytes.0 > 0 && !it.kernel, "{it:?}");
    assert!(others.processes.iter().all(|p| p.pid != std::process::id()), "its own I/O is another's");
    let warned = r.warnings.iter().find(|w| w.contains("other I/O on")).unwrap();
    // The most active ones, whoever else is at work on this host.
    let worker = |p: &Mover| p.kernel && p.name.starts_with("kworker");
    for p in others.processes.iter().filter(|p| !worker(p)).take(3) {
        assert!(warned.contains(&format!("{} ({})", p.name, p.pid)), "{warned}");
    }
}

#[test]
fn a_quiet_device_has_no_other_io() {
    let Some(device) = loop_device(64) else { return };
    let r = trial(&jobs("randread-4k", ""), &open(&device.node())).unwrap();
    let others = r.others.unwrap();
    assert_eq!((others.read_bytes.unwrap().0, others.write_bytes.unwrap().0), (0, 0));
    assert!(!r.warnings.iter().any(|w| w.contains("other I/O")), "{:?}", r.warnings);
    // Through the page cache nobody can tell.
    let r = trial(&jobs("dd-1m", ""), &open(&device.node())).unwrap();
    assert_eq!(r.others.unwrap().read_bytes, None);
}

#[test]
fn the_host_and_its_cpus_are_part_of_the_result() {
    let Some(device) = loop_device(64) else { return };
    let r = trial(&jobs("randread-4k", ""), &open(&device.node())).unwrap();
    let uname = rustix::system::uname();
    assert_eq!(r.host.kernel.as_deref(), uname.release().to_str().ok());
    assert!(r.host.memory.total_bytes.unwrap().0 > 1 << 20 && r.host.cpus.unwrap() > 0);
    let named =
        |file: &str| std::fs::read_to_string(format!("/proc/sys/vm/{file}")).unwrap().trim().parse().ok();
    assert_eq!(r.host.dirty_limits.ratio_pct, named("dirty_ratio"));
    assert_eq!(r.host.dirty_limits.background_ratio_pct, named("dirty_background_ratio"));
    let [leaf] = r.host.devices.as_slice() else { panic!("{:?}", r.host.devices) };
    assert_eq!((&leaf.name, leaf.attachment.pcie, leaf.temperature), (device.name(), None, None));
    #[allow(clippy::cast_precision_loss)] // a rate
    let gib = r.total.bytes().0 as f64 / f64::from(1 << 30);
    let cpu = r.cpu;
    // The kernel knows the sum exactly and shares it out by what its ticks met.
    let per_gib = cpu.user_s_per_gib.unwrap() + cpu.system_s_per_gib.unwrap();
    assert!(cpu.user_s + cpu.system_s > 0.0 && (per_gib * gib - cpu.user_s - cpu.system_s).abs() < 1e-9);
    assert!((0.0..=100.0).contains(&cpu.host_busy_pct.unwrap()), "{cpu:?}");
    let json = serde_json::to_value(&r).unwrap();
    assert!(
        json["host"]["devices"][0]["temperature"].is_null() && json["host"]["devices"][0]["pcie"].is_null()
    );
}

#[test]
fn a_foreground_is_measured_alone_and_beside_the_others() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let all = jobs("readers-vs-writer", "size=64m");
    let target = blktune::workload::scratch::make(
        &SysRoot::host(),
        dir.path(),
        &all,
        &AtomicBool::new(false),
        &mut |_| {},
    )
    .unwrap();
    let r = trial(&all, &target).unwrap();
    let alone = r.alone.as_ref().unwrap();
    let [readers] = alone.jobs.as_slice() else { panic!("{:?}", alone.jobs) };
    assert!(readers.name == "readers" && readers.read.ios > 0 && readers.write.ios == 0);
    assert!(alone.device.is_some() && alone.cpu.user_s + alone.cpu.system_s > 0.0 && alone.window_s > 0.4);
    assert_eq!(r.jobs.len(), 2);
    let metrics: Vec<&str> = r.inflation.iter().map(|i| i.metric).collect();
    assert_eq!(metrics, ["p50", "p99", "mean"]);
    let mean = &r.inflation[2];
    assert_eq!(mean.alone_ns, readers.read.clat_ns.unwrap().mean);
    assert_eq!(mean.loaded_ns, r.jobs[0].read.clat_ns.unwrap().mean);
    assert!((mean.ratio.unwrap() - mean.loaded_ns.unwrap() / mean.alone_ns.unwrap()).abs() < 1e-9);
    assert!((mean.iops_alone - readers.read.iops).abs() < 1e-9 && mean.iops_loaded > 0.0);
    assert!(r.promises.iter().any(|p| p.contains("twice as long")), "{:?}", r.promises);
    let without = trial(&jobs("readers-vs-writer", "size=64m foreground=0"), &target).unwrap();
    assert!(without.alone.is_none() && without.inflation.is_empty());
}

#[test]
fn a_foreground_that_is_stopped_says_that_the_others_never_ran() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let all = jobs("readers-vs-writer", "size=64m runtime=600s");
    let never = AtomicBool::new(false);
    let target =
        blktune::workload::scratch::make(&SysRoot::host(), dir.path(), &all, &never, &mut |_| {}).unwrap();
    let stop = AtomicBool::new(false);
    let r = run_trial(&SysRoot::host(), &all, &target, &stop, &mut |p| {
        stop.store(p.ios > 10, std::sync::atomic::Ordering::Relaxed);
    })
    .unwrap();
    assert!(r.interrupted && r.inflation.is_empty() && r.alone.is_none() && r.jobs.len() == 1);
    assert!(r.warnings[0].contains("never started"), "{:?}", r.warnings);
}

#[test]
fn a_limit_of_the_own_group_is_told_when_it_was_reached() {
    let Some(device) = loop_device(64) else { return };
    let Some(throttle) = Throttle::reads(&device, 4 << 20) else { return };
    let dev = device.dev();
    let keys = ["--set", "ramp=1s", "--set", "runtime=4s", "--set", "bs=64k", "--set", "prio=7"];
    let (mut command, _home) =
        in_group(Some(&throttle), &[&["run", "randread-4k", &dev, "--json"], keys.as_slice()].concat());
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let limit = &json["host"]["cgroup"]["io"][0];
    assert_eq!(
        (&limit["read_bytes_per_s"], &limit["write_bytes_per_s"]),
        (&(4 << 20).into(), &serde_json::Value::Null)
    );
    let warnings = json["warnings"].as_array().unwrap();
    let has = |part: &str| warnings.iter().any(|w| w.as_str().unwrap().contains(part));
    assert!(has("throttled: the control group limits reads"), "{warnings:?}");
    let ignored = matches!(device.scheduler().as_str(), "none" | "kyber");
    assert_eq!(has("prio be/7 has no effect"), ignored, "{warnings:?}");
}

#[test]
fn a_run_ends_by_itself_when_others_wait_too_long() {
    let Some(lower) = loop_device(64) else { return };
    // About 200 reads of 4 KiB a second, to be shared by all: with one in flight each takes 5 ms, behind 128 others half
    // a second. The limit is that of the device below, so that the waiting is in the upper one's queue.
    let Some(throttle) = Throttle::reads(&lower, 200 * 4096) else { return };
    let file = std::fs::OpenOptions::new().read(true).write(true).open(lower.node()).unwrap();
    let upper =
        loopdev::LoopDevice::over(file, LoopOptions { direct_io: true, ..LoopOptions::default() }).unwrap();
    let (node, kernel) = (upper.node().display().to_string(), upper.name().kernel());
    let run = |keys: &[&str]| {
        let args = [
            "run",
            "randread-4k",
            &node,
            "--busy-ok",
            "--json",
            "--set",
            "ramp=0s",
            "--set",
            "engine=io_uring",
        ];
        let (mut command, _home) = in_group(Some(&throttle), &[&args, keys].concat());
        command.output().unwrap()
    };
    let reader = Reader::of(&upper.node(), &kernel, Some(&throttle));
    let began = Instant::now();
    let out = run(&["--set", "iodepth=128", "--set", "runtime=120s"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(began.elapsed() < Duration::from_mins(1), "it went on: {said}");
    assert_eq!(out.status.code(), Some(6), "{said}");
    assert!(said.contains("others wait too long"), "{said}");
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["interrupted"], true);
    assert!(json["stopped_for"].as_str().unwrap().contains(&kernel), "{}", json["stopped_for"]);
    let out = run(&["--set", "iodepth=128", "--set", "ramp=120s"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(6), "{said}");
    assert!(out.stdout.is_empty() && said.contains("before anything was measured"), "{said}");
    // One more at a time is what the others can bear.
    let out = run(&["--set", "iodepth=1", "--set", "runtime=5s"]);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    drop(reader);
    throttle.lift();
    upper.remove().unwrap();
}

/// The names in an object, with those of the objects in it; what is null or empty in one of two is not compared.
fn compare(at: &str, documented: &serde_json::Value, real: &serde_json::Value) {
    use serde_json::Value::{Array, Object};
    match (documented, real) {
        (Object(_), Object(_)) if at.ends_with("settings_before") || at.ends_with("settings_after") => {}
        (Object(d), Object(r)) => {
            let names =
                |o: &serde_json::Map<String, serde_json::Value>| o.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(d), names(r), "documented and real names of {at}");
            for (name, value) in d {
                compare(&format!("{at}.{name}"), value, &r[name]);
            }
        }
        (Array(d), Array(r)) => {
            if let (Some(d), Some(r)) = (d.first(), r.first()) {
                compare(&format!("{at}[]"), d, r);
            }
        }
        _ => {}
    }
}

#[test]
fn the_documented_result_has_the_fields_of_a_real_one() {
    let docs = include_str!("../docs/json.md");
    let section = docs.split("## `run --json`").nth(1).unwrap();
    let text = section.split("```json").nth(1).unwrap().split("```").next().unwrap();
    let documented: serde_json::Value = serde_json::from_str(text).unwrap();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (mut command, _home) = support::blktune();
    command.args(["run", "readers-vs-writer", dir.path().to_str().unwrap(), "--json"]);
    for key in ["size=64m", "ramp=0s", "runtime=500ms", "limits_ms=1", "writer.fsync=10"] {
        command.args(["--set", key]);
    }
    let out = command.output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let real: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    compare("run", &documented, &real);
    assert_eq!(real["asked"][0]["limits_ms"][0], 1.0);
    assert_eq!(real["jobs"][0]["read"]["over_limit"][0]["limit_ns"], 1_000_000);
}

#[test]
fn a_right_that_is_missing_is_told_before_anything_is_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let tree = SysRoot::captured(dir.path());
    let e = blktune::trial::check(&tree, &jobs("dd-1m", "drop_caches=system")).unwrap_err();
    assert!(matches!(e, RunError::NotPermitted(_)), "{e}");
    assert!(e.to_string().contains("nothing was started; drop_caches=true"), "{e}");
    assert!(blktune::trial::check(&tree, &jobs("dd-1m", "drop_caches=true")).is_ok());
}

#[test]
fn the_bottom_of_every_stack_is_found_in_a_captured_tree() {
    let tree = sysroot("linux-6.12-qemu");
    let facts = |name: &str| HostFacts::read(&tree.root, KernelName::new(name).as_ref(), None);
    let bottom = |name: &str| facts(name).devices.iter().map(|d| d.name.kernel()).collect::<Vec<_>>();
    assert_eq!(bottom("sda"), ["sda"]);
    // A stripe over a multipath device over two disks; an array of a null_blk and two namespaces.
    assert_eq!(bottom("dm-7"), ["sdh", "sdi"]);
    assert_eq!(bottom("md5"), ["nullb3", "nvme0n1", "nvme0n2"]);
    assert_eq!(bottom("nvme3n1"), ["nvme3c2n1", "nvme3c3n1"]);
    let arrays =
        |name: &str| facts(name).arrays.iter().map(|a| (a.name.kernel(), a.works())).collect::<Vec<_>>();
    assert_eq!(arrays("md5"), [("md5".to_owned(), false)]);
    assert_eq!(arrays("nvme0n2"), [("md5".to_owned(), false)], "the array above a member");
    assert_eq!(arrays("sda"), []);
    let sda = facts("sda").devices.remove(0).attachment;
    // qemu's host has one node and says -1; its virtio has no link.
    assert_eq!((sda.queue_depth, sda.hw_queues, sda.numa_node, sda.pcie), (Some(128), Some(2), None, None));
    assert_eq!(facts("loop1").devices[0].attachment.queue_depth, None);
}
