//! Signals as something to wait for, with a time limit.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use rustix::time::Timespec;
use signal_hook::{flag, low_level::pipe};

/// The signals that came since the last look.
pub struct Inbox {
    wake: UnixStream,
    flags: Vec<(Signal, Arc<AtomicBool>)>,
}

impl Inbox {
    /// Catches these signals from now on, for as long as the process lives.
    ///
    /// # Errors
    /// A handler can not be installed.
    pub fn catching(signals: &[Signal]) -> io::Result<Self> {
        let (wake, write) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let mut flags = Vec::new();
        for &signal in signals {
            let came = Arc::new(AtomicBool::new(false));
            // The flag first, so that whoever is woken finds it set.
            flag::register(signal.as_raw(), Arc::clone(&came))?;
            pipe::register(signal.as_raw(), write.try_clone()?)?;
            flags.push((signal, came));
        }
        Ok(Self { wake, flags })
    }

    /// Waits for signals, but not longer than this; without a limit for as long as it takes. Empty if none came.
    #[must_use]
    pub fn wait(&self, limit: Option<Duration>) -> Vec<Signal> {
        let limit = limit.and_then(|d| Timespec::try_from(d).ok());
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
        // Interrupted is as good as woken: the flags tell.
        let _ = poll(&mut fds, limit.as_ref());
        let mut bytes = [0; 64];
        while matches!(io::Read::read(&mut &self.wake, &mut bytes), Ok(1..)) {}
        self.flags.iter().filter(|(_, came)| came.swap(false, Ordering::SeqCst)).map(|(s, _)| *s).collect()
    }
}
