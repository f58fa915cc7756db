//! Signals as events: those that ask the program to end, and those that stop it and let it go on.

use std::io;

use crossbeam_channel::Sender;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;
use signal_hook::iterator::backend::Handle;

use super::event::Event;
use super::thread;

/// Listens from now on, on a thread of its own. The handle ends it.
///
/// # Errors
/// The handlers can not be installed.
pub fn listen(events: &Sender<Event>) -> io::Result<Handle> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT])?;
    let handle = signals.handle();
    let to = events.clone();
    thread::spawn("signals", events, move || {
        for signal in &mut signals {
            let event = match signal {
                SIGTSTP => Event::Suspend,
                SIGCONT => Event::Continued,
                signal => Event::Signal(signal),
            };
            if to.send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(handle)
}
