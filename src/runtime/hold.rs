//! Waiting for the signal that ends `set --hold`.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The signals that ask to end, caught from the moment this was made. A second one changes nothing: what is being put
/// back by then is put back.
#[derive(Debug)]
pub struct Caught(Signals);

impl Caught {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    ///
    /// # Errors
    /// The handlers can not be installed.
    pub fn from_now() -> io::Result<Self> {
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map(Self)
    }

    /// Waits for the first of them, which may have come already.
    #[must_use]
    pub fn wait(&mut self) -> u8 {
        let first = self.0.forever().next();
        first.and_then(|n| u8::try_from(n).ok()).unwrap_or(0)
    }
}
