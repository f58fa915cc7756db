//! The input thread: what the terminal sends, as messages. Ends when the terminal goes, without spinning on it.

use crossbeam_channel::Sender;
use crossterm::event::{self, Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::event::Event;
use crate::app::key::Key;
use crate::app::message::Message;

/// Reads until the terminal is gone or the loop stopped listening.
pub fn read_keys(events: &Sender<Event>) {
    loop {
        match wait() {
            Waited::Nothing => {}
            Waited::Gone => {
                let _ = events.send(Event::TerminalGone);
                return;
            }
            Waited::Input => {
                let Ok(event) = event::read() else {
                    let _ = events.send(Event::TerminalGone);
                    return;
                };
                let Some(event) = translate(&event) else { continue };
                if events.send(event).is_err() {
                    return;
                }
            }
        }
    }
}

enum Waited {
    Input,
    Nothing,
    Gone,
}

/// Waits for something to read. Polled here first, because a terminal whose other end was closed reads as an endless
/// stream of nothing.
fn wait() -> Waited {
    // crossterm may hold events it has read already, and reports a resize through a signal of its own.
    if event::poll(std::time::Duration::ZERO).unwrap_or(false) {
        return Waited::Input;
    }
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Waited::Nothing,
        Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
            Waited::Gone
        }
        Ok(_) => match event::poll(std::time::Duration::ZERO) {
            Ok(true) => Waited::Input,
            Ok(false) => Waited::Nothing,
            Err(_) => Waited::Gone,
        },
        Err(_) => Waited::Gone,
    }
}

fn translate(event: &TerminalEvent) -> Option<Event> {
    match event {
        TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => Some(match key_of(key)? {
            // In raw mode the terminal makes no signal of it.
            Key::Ctrl('z') => Event::Suspend,
            key => Event::Message(Message::Key(key)),
        }),
        TerminalEvent::Resize(width, height) => {
            Some(Event::Message(Message::Resize { width: *width, height: *height }))
        }
        _ => None,
    }
}

fn key_of(key: &KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            Key::Ctrl(c.to_ascii_lowercase())
        }
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::ALT) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Esc,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
