//! Many workers with deep queues, stopped at any moment, on devices that go wrong: everything in flight is reaped, the
//! counts add up, and what went wrong is named. `BLKTUNE_STRESS_SECONDS` makes the first test longer, for a run under a
//! sanitizer.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use blktune::sys::root::SysRoot;
use blktune::trial::run_trial;
use blktune::workload::job::Job;
use blktune::workload::outcome::RunError;
use blktune::workload::preset;
use blktune::workload::scratch;
use blktune::workload::target::Target;
use support::{LoopDevice, loop_device};

const ENGINES: [&str; 2] = ["psync", "io_uring"];

fn job(keys: &str) -> Job {
    let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
    for key in "ramp=0s runtime=600s size=64m".split(' ').chain(keys.split_ascii_whitespace()) {
        job.set(key).unwrap();
    }
    job
}

fn on(device: &LoopDevice) -> Target {
    Target::open(&SysRoot::host(), &device.node()).unwrap().unwrap()
}

/// A stop after that time, from a thread of its own as a person gives it.
fn stop_after(time: Duration) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    std::thread::spawn(move || {
        std::thread::sleep(time);
        set.store(true, Ordering::Relaxed);
    });
    stop
}

#[test]
fn stopped_at_any_moment_nothing_is_lost() {
    let seconds = std::env::var("BLKTUNE_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let end = Instant::now() + Duration::from_secs(seconds);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let asked = job("rw=randrw");
    let never = AtomicBool::new(false);
    let target = scratch::make(&SysRoot::host(), dir.path(), &[asked], &never, &mut |_| {}).unwrap();
    let mut seed = 0u64;
    while Instant::now() < end {
        for engine in ENGINES {
            for keys in [
                "rw=randrw",
                "rw=randrw fsync=50",
                "rw=randread direct=false",
                "rw=randwrite rate_iops=100000 rate_process=poisson",
                "rw=rw thinktime=1ms bs=16k",
            ] {
                seed += 1;
                let keys = format!("{keys} engine={engine} numjobs=8 iodepth=128 seed={seed}");
                // From before the first I/O to some thousands.
                let stop = stop_after(Duration::from_micros(seed.wrapping_mul(7919) % 60_000));
                let outcome = run_trial(&SysRoot::host(), &[job(&keys)], &target, &stop, &mut |_| {});
                match outcome {
                    Err(RunError::Stopped) => {}
                    Err(e) => panic!("{keys}: {e}"),
                    Ok(t) => {
                        let bs = if keys.contains("bs=16k") { 16_384 } else { 4_096 };
                        let of_jobs: u64 = t.jobs.iter().map(blktune::workload::result::JobResult::ios).sum();
                        assert!(t.interrupted && t.total.errors() == 0, "{keys}");
                        assert_eq!(
                            (t.total.bytes().0, of_jobs),
                            (t.total.ios() * bs, t.total.ios()),
                            "{keys}"
                        );
                        let steps = &t.jobs[0].series.steps;
                        let in_steps: u64 = steps.iter().map(|s| s.read_ios + s.write_ios).sum();
                        assert_eq!(in_steps, t.total.ios(), "{keys}");
                    }
                }
            }
        }
    }
}

/// Descriptors of this process that are of the file.
fn open_descriptors(file: &std::fs::Metadata) -> usize {
    use std::os::unix::fs::MetadataExt;
    let of = |fd: std::io::Result<std::fs::DirEntry>| std::fs::metadata(fd.ok()?.path()).ok();
    let all = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(of);
    all.filter(|m| (m.dev(), m.ino()) == (file.dev(), file.ino())).count()
}

#[test]
fn stopped_before_its_start_a_run_has_let_go_of_the_target() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(64 << 20).unwrap();
    let target = Target::open(&SysRoot::host(), file.path()).unwrap().unwrap();
    let before = open_descriptors(&file.as_file().metadata().unwrap());
    for engine in ENGINES {
        let job = job(&format!("engine={engine} numjobs=8 iodepth=128 direct=false"));
        for _ in 0..10 {
            let e = run_trial(
                &SysRoot::host(),
                std::slice::from_ref(&job),
                &target,
                &AtomicBool::new(true),
                &mut |_| {},
            );
            assert!(matches!(e, Err(RunError::Stopped)), "{engine}");
            assert_eq!(open_descriptors(&file.as_file().metadata().unwrap()), before, "{engine}");
        }
    }
}

#[test]
fn a_device_that_fails_ends_the_run_with_the_offset_and_the_reason() {
    for engine in ENGINES {
        let Some(device) = loop_device(16) else { return };
        let (mut command, _home) = support::blktune();
        let keys = [format!("engine={engine}"), "iodepth=128".to_owned(), "numjobs=8".to_owned()];
        command.args([
            "run",
            "randread-4k",
            &device.dev(),
            "--json",
            "--set",
            "ramp=0s",
            "--set",
            "runtime=50s",
        ]);
        for key in &keys {
            command.args(["--set", key]);
        }
        let began = Instant::now();
        let output = std::thread::scope(|s| {
            let running = s.spawn(|| command.output().unwrap());
            // Once it reads, its backing file ends.
            let reads = || device.stat()[0] > 1_000;
            assert!(support::loopdev::within_seconds(20, reads), "{engine} does not read");
            device.backing_file().set_len(0).unwrap();
            running.join().unwrap()
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{engine}: {said}");
        assert!(said.contains("reading at offset") && said.contains("os error 5"), "{engine}: {said}");
        assert!(began.elapsed() < Duration::from_secs(40), "{engine}: it went on");
    }
}

#[test]
fn a_device_that_becomes_smaller_fails_by_name() {
    for engine in ENGINES {
        let Some(device) = loop_device(16) else { return };
        let target = on(&device);
        let job = job(&format!("engine={engine} iodepth=16 direct=true"));
        let mut cut = false;
        let result = run_trial(&SysRoot::host(), &[job], &target, &AtomicBool::new(false), &mut |_| {
            if !cut {
                device.backing_file().set_len(8 << 20).unwrap();
                set_capacity(&device);
                cut = true;
            }
        });
        let e = result.unwrap_err();
        assert!(matches!(e, RunError::Failed { .. }), "{engine}: {e}");
        let said = e.to_string();
        let offset: u64 = said.split("offset ").nth(1).unwrap().split(':').next().unwrap().parse().unwrap();
        assert!(offset >= 8 << 20, "{engine}: {said}");
        assert!(said.contains("became shorter") || said.contains("os error"), "{engine}: {said}");
    }
}

#[test]
fn a_device_that_becomes_larger_is_measured_as_it_was() {
    for engine in ENGINES {
        let Some(device) = loop_device(16) else { return };
        let target = on(&device);
        let mut job = job(&format!("engine={engine} iodepth=16 direct=true"));
        job.set("runtime=1s").unwrap();
        job.set("size=16m").unwrap();
        let mut grown = false;
        let result = run_trial(&SysRoot::host(), &[job], &target, &AtomicBool::new(false), &mut |_| {
            if !grown {
                device.backing_file().set_len(32 << 20).unwrap();
                set_capacity(&device);
                grown = true;
            }
        });
        let trial = result.unwrap_or_else(|e| panic!("{engine}: {e}"));
        assert_eq!((grown, trial.total.errors()), (true, 0), "{engine}");
        assert_eq!(trial.device.unwrap().read_bytes, trial.total.read.bytes, "{engine}");
    }
}

/// `losetup --set-capacity`: the device takes the size that its file has now.
fn set_capacity(device: &LoopDevice) {
    let done =
        std::process::Command::new("losetup").args(["--set-capacity", &device.dev()]).status().unwrap();
    assert!(done.success());
}
