//! A process that dies right after a certain step of changing settings: after a write to the queue, or a line of the journal.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blktune::sys::attr::{self, AttrError};
use blktune::sys::device::DeviceId;
use blktune::sys::inventory;
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::tuning::control::{QueueControl, SysfsQueue};
use blktune::tuning::journal::Journal;
use rustix::process::{Signal, getpid, kill_process};

/// What tells a copy of a test to die, where, and how.
pub const CRASH: &str = "BLKTUNE_TEST_CRASH";

/// The journal of the host.
pub fn host_journal() -> Journal {
    let root = SysRoot::host();
    let boot = attr::read(&root.proc("sys/kernel/random/boot_id")).unwrap();
    Journal::new(&root.run_dir(), &boot)
}

/// A queue that counts every write and may not outlive one.
pub struct Stepping {
    queue: SysfsQueue,
    step: Arc<dyn Fn() + Send + Sync>,
}

impl QueueControl for Stepping {
    fn read(&self) -> QueueState {
        self.queue.read()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        let answer = self.queue.write(name, value);
        (self.step)();
        answer
    }
}

/// Does `work` on the host's journal and a device's queue, and dies right after step `at`; with step 0 it lives, and says how
/// many there were.
pub fn die_at(device: &str, at: usize, work: impl FnOnce(&Journal, Stepping, &DeviceId)) {
    let done = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&done);
    let step: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        if count.fetch_add(1, Ordering::SeqCst) + 1 == at {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    });
    let seen = Arc::clone(&step);
    let journal = host_journal().observed(move |_| seen());
    let id = inventory::identify(&SysRoot::host(), &KernelName::new(device).unwrap()).unwrap();
    work(&journal, Stepping { queue: SysfsQueue::new(SysRoot::host(), id.clone()), step }, &id);
    eprintln!("steps={}", done.load(Ordering::SeqCst));
}

/// Runs a copy of this test with that order. None if it was killed, else the number of steps.
pub fn crash(test: &str, order: &str) -> Option<usize> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CRASH, order)
        .output()
        .unwrap();
    output.status.code()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let steps = said.lines().find_map(|l| l.split("steps=").nth(1)?.trim().parse().ok());
    Some(steps.unwrap_or_else(|| panic!("the copy neither died nor finished: {said}")))
}
