//! A lock on an open file that is waited for, but not without end.

use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fd::AsFd;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, Result};

/// Time between two tries.
const POLL: Duration = Duration::from_millis(5);

/// Locks it for this process alone (`flock(2)`), within that time. Not by a call that blocks: a holder that hangs must not
/// make us hang.
///
/// # Errors
/// EWOULDBLOCK or EINTR if others had it all the time, else the kernel's refusal.
pub fn lock_within(file: impl AsFd, patience: Duration) -> Result<()> {
    let end = Instant::now() + patience;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => sleep(POLL),
            answer => return answer,
        }
    }
}
