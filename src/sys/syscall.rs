//! The unsafe edge: system calls that rustix does not have.
#![allow(unsafe_code)] // libc's functions are unsafe; each use says why it is sound

use crate::units::Nanos;

/// CPU time of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// In user space.
    pub user: Nanos,
    /// In the kernel, on behalf of the thread. Work done by kernel threads (a loop device's, io_uring's own workers) is
    /// not in it.
    pub system: Nanos,
}

impl ThreadCpu {
    /// What was used since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: ThreadCpu) -> ThreadCpu {
        ThreadCpu { user: self.user.since(earlier.user), system: self.system.since(earlier.system) }
    }

    /// The sum of two threads' times.
    #[must_use]
    pub const fn plus(self, other: ThreadCpu) -> ThreadCpu {
        ThreadCpu {
            user: Nanos(self.user.0.saturating_add(other.user.0)),
            system: Nanos(self.system.0.saturating_add(other.system.0)),
        }
    }
}

/// CPU time of the calling thread so far (`getrusage(RUSAGE_THREAD)`), in the microseconds the kernel gives.
#[must_use]
pub fn thread_cpu() -> ThreadCpu {
    // SAFETY: rusage is a plain struct of integers, for which all zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage of our own; RUSAGE_THREAD can only fail for a bad pointer.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    ThreadCpu { user: nanos(usage.ru_utime), system: nanos(usage.ru_stime) }
}

fn nanos(t: libc::timeval) -> Nanos {
    let s = u64::try_from(t.tv_sec).unwrap_or(0);
    let us = u64::try_from(t.tv_usec).unwrap_or(0);
    Nanos(s.saturating_mul(1_000_000_000).saturating_add(us.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn only_the_calling_thread_is_counted() {
        let before = thread_cpu();
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut n = 0u64;
        while thread_cpu().since(before) == ThreadCpu::default() {
            n = n.wrapping_mul(31).wrapping_add(1);
            assert!(Instant::now() < deadline, "no CPU time after {n} rounds");
        }
        let other = std::thread::spawn(thread_cpu).join().unwrap();
        assert!(other.user.0 + other.system.0 < Nanos::SECOND.0);
    }
}
