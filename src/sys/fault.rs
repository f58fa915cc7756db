//! Faults on purpose, for the tests of how the program ends. Debug builds only: `BLKTUNE_FAULT=panic:THREAD` makes the
//! named thread panic, `abort:THREAD` makes it abort the process, a moment after the screen is up.

use std::time::Duration;

/// Enough for the first frame.
const MOMENT: Duration = Duration::from_millis(300);

/// Does what the environment asks of the thread of this name, if anything.
///
/// # Panics
/// When it is asked to.
#[allow(clippy::panic)] // that is what it is for
pub fn due(thread: &str) {
    let Ok(fault) = std::env::var("BLKTUNE_FAULT") else { return };
    match fault.split_once(':') {
        Some(("panic", name)) if name == thread => {
            std::thread::sleep(MOMENT);
            panic!("a fault was asked for in thread {thread}");
        }
        Some(("abort", name)) if name == thread => {
            std::thread::sleep(MOMENT);
            // As abort(3) ends: by the signal.
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::ABORT);
        }
        _ => {}
    }
}
