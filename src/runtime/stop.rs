//! Signals for commands without a screen: the first asks to stop in order, a second one ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether a signal asked to stop, and which.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    ///
    /// # Errors
    /// The handlers can not be installed.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the second signal finds the flag that the first one set.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.asked))?;
            flag::register(signal, Arc::clone(&stop.asked))?;
            flag::register_usize(signal, Arc::clone(&stop.signal), usize::try_from(signal).unwrap_or(0))?;
        }
        Ok(stop)
    }

    /// As [`Stop::on_signals`] in a program under a supervisor: a second signal changes nothing, since what is being stopped
    /// by then has settings to put back, and who can not end is ended by the supervisor. A terminal's Ctrl-c comes twice
    /// anyway, once from the terminal and once passed on.
    ///
    /// # Errors
    /// The handlers can not be installed.
    pub fn under_supervisor() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let (asked, number) = (Arc::clone(&stop.asked), Arc::clone(&stop.signal));
            flag::register_usize(signal, number, usize::try_from(signal).unwrap_or(0))?;
            flag::register(signal, asked)?;
        }
        Ok(stop)
    }

    /// The flag, for those who look at it often.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }

    /// The signal that came, if one did.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        u8::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|n| *n > 0)
    }

    /// Sleeps, but not past a signal. False if one came.
    #[must_use]
    pub fn sleep(&self, time: Duration) -> bool {
        const LOOK: Duration = Duration::from_millis(50);
        let end = Instant::now() + time;
        while !self.asked.load(Ordering::SeqCst) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
        false
    }
}
