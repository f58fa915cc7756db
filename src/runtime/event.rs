//! What the threads tell the event loop.

use crate::app::message::Message;

/// One thing that happened outside of the pure state.
#[derive(Debug)]
pub enum Event {
    /// Something for the state.
    Message(Message),
    /// A signal asks the program to end.
    Signal(i32),
    /// The terminal is gone: its other end was closed.
    TerminalGone,
    /// A thread ended by a panic; its name.
    ThreadFailed(String),
}
