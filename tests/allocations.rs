//! The measured loop takes no memory: workers' allocations are counted while they run, hand-overs included.

// Functions beside the tests are parts of tests.
#![allow(clippy::unwrap_used, clippy::panic)]
// An allocator that counts is one.
#![allow(unsafe_code)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use blktune::sys::root::SysRoot;
use blktune::workload::live::{Phase, Progress};
use blktune::workload::preset;
use blktune::workload::run::{Observer, run};
use blktune::workload::{job::Job, scratch, target::Target};

/// Calls by threads called `worker-N`, freeing included.
static BY_WORKERS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: as the caller promises.
        unsafe { System.realloc(memory, layout, size) }
    }
}

fn note() {
    let mut name = [0u8; 16];
    // SAFETY: it writes at most 16 bytes there. Asked each time: thread-local memory is not to be had in an allocator.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    if name.starts_with(b"worker-") {
        BY_WORKERS.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the workers did between the first and the last look at a run that measures. It is stopped when that is enough: how
/// long it takes for that is the machine's affair.
#[derive(Default)]
struct Seen {
    first: Option<(u64, u64)>,
    last: (u64, u64),
    looks: u64,
}

impl Seen {
    fn enough(&self) -> bool {
        self.looks >= 5 && self.first.is_some_and(|(_, ios)| self.last.1 > ios)
    }
}

impl Observer for Seen {
    fn wants_stop(&self) -> bool {
        self.enough()
    }

    fn progress(&mut self, p: Progress) {
        // Workers end once it is enough.
        if p.phase == Phase::Measuring && p.ios > 0 && !self.enough() {
            let now = (BY_WORKERS.load(Ordering::Relaxed), p.ios);
            self.first.get_or_insert(now);
            self.last = now;
            self.looks += 1;
        }
    }
}

fn job(keys: &str) -> Job {
    let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
    let common = "ramp=100ms runtime=60s size=64m direct=false norandommap=1";
    for key in common.split_ascii_whitespace().chain(keys.split_ascii_whitespace()) {
        job.set(key).unwrap();
    }
    job
}

fn scratch_file(job: &Job) -> (tempfile::TempDir, Target) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let stop = AtomicBool::new(false);
    let jobs = std::slice::from_ref(job);
    let target = scratch::make(&SysRoot::host(), dir.path(), jobs, &stop, &mut |_| {}).unwrap();
    (dir, target)
}

/// That a worker's calls are counted, and those of others not: else the test below could not fail.
fn check_the_count() {
    let calls = |name: &str| {
        let before = BY_WORKERS.load(Ordering::Relaxed);
        let work = || {
            let before = BY_WORKERS.load(Ordering::Relaxed);
            drop(std::hint::black_box(Box::new(7u64)));
            BY_WORKERS.load(Ordering::Relaxed) - before
        };
        let within = std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap().join().unwrap();
        (within, BY_WORKERS.load(Ordering::Relaxed) > before)
    };
    assert_eq!(calls("collector"), (0, false));
    assert_eq!(calls("worker-0").0, 2, "taken and given back");
}

// One test: the counter is one for the whole process.
#[test]
fn workers_take_and_give_back_no_memory_while_they_measure() {
    check_the_count();
    let (_dir, target) = scratch_file(&job("rw=randrw"));
    for keys in [
        "engine=psync",
        "engine=null",
        "engine=io_uring iodepth=16",
        "engine=psync norandommap=0",
        "engine=psync numjobs=2 rw=rw",
        "engine=psync rate_iops=2000",
        "engine=null rate_iops=5000 rate_process=poisson",
        "engine=io_uring iodepth=16 rate_iops=2000 rate_process=poisson",
        "engine=psync thinktime=1ms",
        "engine=io_uring iodepth=4 thinktime=1ms",
        "engine=psync rw=randwrite fdatasync=100",
        "engine=io_uring iodepth=8 rw=randrw fsync=100",
    ] {
        let mut seen = Seen::default();
        let outcome = run(&[job(keys)], &target, &AtomicBool::new(false), &mut seen)
            .unwrap_or_else(|e| panic!("{keys}: {e}"));
        let (calls, ios) = seen.first.unwrap_or_else(|| panic!("{keys}: nothing was seen"));
        assert!(seen.looks > 1 && seen.last.1 > ios, "{keys}: one look at {ios} of {}", outcome.total.ios());
        assert_eq!(seen.last.0 - calls, 0, "{keys}: calls of the allocator in {} I/Os", seen.last.1 - ios);
    }
    assert!(BY_WORKERS.load(Ordering::Relaxed) > 0, "nothing was counted at all");
}
