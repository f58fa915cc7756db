//! A lock on a whole device's node that udev respects: while it is held udev does not act on the device, neither on our own
//! closes nor on events, and so applies no rule that sets its queue
//! (systemd's `docs/BLOCK_DEVICE_LOCKING.md`: `flock` on the node of the whole device).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::name::KernelName;
use super::root::SysRoot;
use crate::clock::{Clock, SystemClock};

/// udev holds its own lock while it probes a device: under a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a look costs is nothing beside this.
const LOOK: Duration = Duration::from_millis(20);
/// Until udev has taken an event that the end of a lock lets it see.
const UNTIL_SEEN: Duration = Duration::from_millis(100);
/// As `udevadm settle` would wait, though nobody wants to wait so long for a prompt.
const SETTLED: Duration = Duration::from_secs(1);

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The node can not be opened or locked.
    #[error("{0}: locking it against udev: {1}")]
    Io(String, io::Error),
    /// Somebody else has it.
    #[error(
        "{0} is locked by another program (a partitioning tool, udev, another experiment?); try again when it has ended"
    )]
    Busy(KernelName),
    /// Asked to stop while waiting.
    #[error("stopped while waiting for the lock of {0}")]
    Stopped(KernelName),
}

/// The lock, given up when dropped or when the process ends, however it does.
#[derive(Debug)]
pub struct DeviceLock {
    file: File,
}

impl DeviceLock {
    /// Locks the node of a whole device, opened for reading: closing it again tells udev nothing.
    ///
    /// # Errors
    /// The node can not be opened, or another program has it locked for longer than udev ever does.
    pub fn take(name: &KernelName, stop: &AtomicBool) -> Result<Self, LockError> {
        let node = SysRoot::node(name);
        let fail = |e: io::Error| LockError::Io(node.display().to_string(), e);
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&node).map_err(fail)?;
        let began = SystemClock.monotonic();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(e) => return Err(fail(e.into())),
            }
            if stop.load(Ordering::Relaxed) {
                return Err(LockError::Stopped(name.clone()));
            }
            if SystemClock.monotonic().since(began).duration() > PATIENCE {
                return Err(LockError::Busy(name.clone()));
            }
            thread::sleep(LOOK);
        }
    }

    /// Gives it up and waits until udev, if it runs, is done with what it then sees, a second at most.
    pub fn give_up(self, root: &SysRoot) {
        drop(self.file);
        if !root.udev_dir().exists() {
            return;
        }
        thread::sleep(UNTIL_SEEN);
        let began = SystemClock.monotonic();
        while root.udev_dir().join("queue").exists()
            && SystemClock.monotonic().since(began).duration() < SETTLED
        {
            thread::sleep(LOOK);
        }
    }
}
