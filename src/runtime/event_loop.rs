//! The loop that ties the pure state to the outside. Generic over backend and sources: the very loop that ships is
//! what tests drive.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use ratatui::Terminal;
use ratatui::backend::Backend;

use super::event::Event;
use crate::app::effect::Effect;
use crate::app::message::Message;
use crate::app::model::Model;
use crate::app::update::update;
use crate::clock::Clock;
use crate::config::theme::Theme;
use crate::ui;
use crate::units::Nanos;

/// At most one frame in this time: a burst of messages is one redraw.
const FRAME: Nanos = Nanos(16_000_000);

/// Time passes for the state this often.
const TICK: Nanos = Nanos::SECOND;

/// Messages digested before a frame gets its turn again.
const BURST: usize = 256;

/// Why the loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The person left.
    Quit,
    /// A signal came.
    Signal(i32),
    /// The terminal's other end was closed, or it can not be written.
    TerminalGone,
    /// A thread ended by a panic.
    ThreadFailed(String),
}

/// What the loop needs beside the state: how to draw, what time it is, and whether it may still draw.
pub struct Surroundings<'a> {
    /// Colours by role.
    pub theme: &'a Theme,
    /// Where ticks and frame times come from.
    pub clock: &'a dyn Clock,
    /// The wall clock as it is shown.
    pub wall: &'a dyn Fn() -> String,
    /// Why nothing may be drawn any more, once the terminal was given back by somebody else (a panic).
    pub lost: &'a dyn Fn() -> Option<Ending>,
    /// Stops the process and returns when it goes on, the terminal being taken again.
    pub suspend: &'a dyn Fn(),
    /// Takes the terminal again after the process was stopped by others.
    pub take_again: &'a dyn Fn(),
}

/// Runs until something ends it. Effects go to `carry_out`, in order.
pub fn run<B: Backend>(
    terminal: &mut Terminal<B>,
    model: &mut Model,
    events: &Receiver<Event>,
    around: &Surroundings<'_>,
    carry_out: &mut dyn FnMut(Effect),
) -> Ending {
    let mut last_frame: Option<Nanos> = None;
    let mut next_tick = Nanos(0);
    let mut dirty = true;
    loop {
        let now = around.clock.monotonic();
        if now >= next_tick {
            next_tick = Nanos(now.0 + TICK.0);
            let _ = digest(model, Message::Tick { now, wall: (around.wall)() }, carry_out);
        }
        dirty |= model.take_dirty();
        let frame_due = last_frame.is_none_or(|t| now.since(t) >= FRAME);
        if dirty && frame_due {
            if let Some(ending) = (around.lost)() {
                return ending;
            }
            if terminal.draw(|frame| ui::render(model, around.theme, frame)).is_err() {
                return Ending::TerminalGone;
            }
            dirty = false;
            last_frame = Some(now);
        }
        let until = match last_frame {
            Some(t) if dirty => Nanos(t.0 + FRAME.0).min(next_tick),
            _ => next_tick,
        };
        let wait: Duration = until.since(around.clock.monotonic()).duration();
        let mut event = match events.recv_timeout(wait) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ending::Quit,
        };
        for _ in 0..BURST {
            match event {
                None => break,
                Some(Event::Message(m)) => {
                    if digest(model, m, carry_out) == Next::Quit {
                        return Ending::Quit;
                    }
                }
                Some(Event::Suspend | Event::Continued) if (around.lost)().is_some() => {}
                Some(event @ (Event::Suspend | Event::Continued)) => {
                    let emptied = if matches!(event, Event::Continued) {
                        (around.take_again)();
                        true
                    } else if digest(model, Message::Suspend, carry_out) == Next::Suspend {
                        (around.suspend)();
                        true
                    } else {
                        // The state knows what must not be left in the middle.
                        false
                    };
                    if emptied {
                        // The screen is empty now, so the next frame is compared with an empty one. Not by
                        // `Terminal::clear`, which asks the terminal where its cursor is and waits for the answer.
                        terminal.swap_buffers();
                        dirty = true;
                    }
                }
                Some(Event::Signal(n)) => return Ending::Signal(n),
                Some(Event::TerminalGone) => return Ending::TerminalGone,
                Some(Event::ThreadFailed(name)) => return Ending::ThreadFailed(name),
            }
            event = events.try_recv().ok();
        }
    }
}

/// What the loop itself is to do after a message.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Suspend,
    Quit,
}

/// Hands on what follows from a message, but for what the loop does itself.
fn digest(model: &mut Model, message: Message, carry_out: &mut dyn FnMut(Effect)) -> Next {
    let mut next = Next::GoOn;
    for effect in update(model, message) {
        match effect {
            Effect::Quit => return Next::Quit,
            Effect::Suspend => next = Next::Suspend,
            effect => carry_out(effect),
        }
    }
    next
}
