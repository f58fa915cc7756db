//! Faults on purpose, for the tests of how the program ends. Debug builds only: `BLKTUNE_FAULT=panic:THREAD` makes the
//! named thread panic, `abort:THREAD` makes it abort the process, a moment after the screen is up. A trial of an experiment
//! is called `trial-SCHEDULER` here, by the scheduler it runs under.

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

/// With `BLKTUNE_FAULT=hold:FILE`, waits here until FILE is gone, for at most half a minute: time for a test to change
/// something between two steps.
pub fn hold() {
    let Ok(fault) = std::env::var("BLKTUNE_FAULT") else { return };
    let Some(("hold", file)) = fault.split_once(':') else { return };
    for _ in 0..3000 {
        if !std::path::Path::new(file).exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
