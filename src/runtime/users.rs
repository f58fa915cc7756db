//! The thread that looks at what other processes do with devices. Every process and each of its open files is looked at,
//! so it takes its time, and nobody waits for it.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, never};

use super::event::Event;
use super::thread;
use crate::sys::elsewhere::Elsewhere;
use crate::sys::root::SysRoot;

/// Time between two looks when nothing asks for one.
const ROUND: Duration = Duration::from_secs(10);
/// At least this long after a look, even if something came or went.
const REST: Duration = Duration::from_secs(1);
/// A look may take this share of a core: after one that took 50 ms, five seconds of rest.
const SHARE: u32 = 100;

/// Asks for a look soon, and gets what was seen.
pub(super) struct Lookout {
    ask: Sender<()>,
    /// Never says anything once the thread is gone.
    pub(super) seen: Receiver<Elsewhere>,
}

impl Lookout {
    /// Starts the thread; it ends when this is dropped. Without it (no room for a thread) nothing is ever seen.
    pub(super) fn start(root: SysRoot, events: &Sender<Event>) -> Self {
        let (ask, asked) = bounded(1);
        let (found, seen) = bounded(1);
        let started = thread::spawn("users", events, move || run(&root, &asked, &found));
        Self { ask, seen: if started.is_ok() { seen } else { never() } }
    }

    /// Something came or went: look as soon as the last look allows.
    pub(super) fn look(&self) {
        // Full means that a look is due already.
        let _ = self.ask.try_send(());
    }
}

fn run(root: &SysRoot, asked: &Receiver<()>, found: &Sender<Elsewhere>) {
    loop {
        let begin = Instant::now();
        let seen = Elsewhere::read(root);
        let rest = begin.elapsed() * SHARE;
        if found.send(seen).is_err() {
            return;
        }
        let after = Instant::now();
        let mut due = after + ROUND.max(rest);
        loop {
            match asked.recv_deadline(due) {
                Ok(()) => due = due.min(after + REST.max(rest)),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
