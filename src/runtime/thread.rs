//! Named threads whose panic is noticed instead of leaving a screen that no longer moves.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::Sender;

use super::event::Event;

/// Starts a thread. If its work panics, the event loop is told its name and ends the program in order.
///
/// # Errors
/// The system has no room for another thread.
pub fn spawn(
    name: &str,
    events: &Sender<Event>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let events = events.clone();
    let thread = name.to_owned();
    Builder::new().name(name.to_owned()).spawn(move || {
        // The work owns all it touches, so nothing broken is seen afterwards.
        let work = || {
            #[cfg(debug_assertions)]
            crate::sys::fault::due(&thread);
            work();
        };
        if catch_unwind(AssertUnwindSafe(work)).is_err() {
            // A loop that already ended needs no telling.
            let _ = events.send(Event::ThreadFailed(thread));
        }
    })
}
