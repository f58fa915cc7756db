//! Signals that ask the program to end, as events.

use std::io;

use crossbeam_channel::Sender;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::iterator::backend::Handle;

use super::event::Event;
use super::thread;

/// Listens from now on, on a thread of its own. The handle ends it.
///
/// # Errors
/// The handlers can not be installed.
pub fn listen(events: &Sender<Event>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let to = events.clone();
    thread::spawn("signals", events, move || {
        for signal in &mut signals {
            if to.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    })?;
    Ok(handle)
}
