//! What the threads tell the event loop.

use crate::app::message::Message;

/// One thing that happened outside of the pure state.
#[derive(Debug)]
pub enum Event {
    /// Something for the state.
    Message(Message),
    /// A signal asks the program to end.
    Signal(i32),
    /// The program is to stop, for the shell's `fg` to let it go on (Ctrl-Z, SIGTSTP).
    Suspend,
    /// The program goes on after it was stopped; the terminal may have been anything meanwhile.
    Continued,
    /// The terminal is gone: its other end was closed.
    TerminalGone,
    /// A thread ended by a panic; its name.
    ThreadFailed(String),
}
