//! The loop that ships, over a backend in memory and a clock that a test holds.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;

use blktune::app::key::Key;
use blktune::app::message::{HostLine, Level, Message};
use blktune::app::model::{Model, Options};
use blktune::clock::ManualClock;
use blktune::config::theme::Theme;
use blktune::runtime::event::Event;
use blktune::runtime::event_loop::{Ending, Surroundings, run};
use blktune::units::Nanos;
use crossbeam_channel::unbounded;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Runs the loop over these events. The ending, what is on the screen then, and how many frames it took.
fn looped(events: Vec<Event>, lost: Option<&Ending>) -> (Ending, String, u32) {
    let (send, receive) = unbounded();
    for event in events {
        send.send(event).unwrap();
    }
    drop(send);
    let clock = ManualClock::default();
    clock.advance(Nanos::SECOND);
    let frames = Cell::new(0);
    let may_draw = || {
        frames.set(frames.get() + 1);
        lost.cloned()
    };
    let around = Surroundings {
        theme: &Theme::default(),
        clock: &clock,
        wall: &|| "10:42".to_owned(),
        lost: &may_draw,
        suspend: &|| {},
        take_again: &|| {},
    };
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    let mut model = Model::new(Options::default());
    let ending = run(&mut terminal, &mut model, &receive, &around, &mut |_| {});
    let drawn = terminal.backend().buffer().content.iter().map(ratatui::buffer::Cell::symbol).collect();
    (ending, drawn, frames.get())
}

fn size() -> Event {
    Event::Message(Message::Resize { width: 80, height: 24 })
}

#[test]
fn it_ends_on_what_ends_it_and_says_why() {
    let cases = [
        (Event::Message(Message::Key(Key::Char('q'))), Ending::Quit),
        (Event::Signal(15), Ending::Signal(15)),
        (Event::TerminalGone, Ending::TerminalGone),
        (Event::ThreadFailed("sampler".to_owned()), Ending::ThreadFailed("sampler".to_owned())),
    ];
    for (event, ending) in cases {
        // A later signal would be the ending if this one were passed over.
        assert_eq!(looped(vec![size(), event, Event::Signal(1)], None).0, ending);
    }
}

#[test]
fn while_the_clock_stands_still_any_number_of_messages_is_one_frame() {
    let mut events = vec![size()];
    events.extend((0..1000).map(|i| Event::Message(Message::Notice(Level::Info, format!("notice {i}")))));
    let (_, _, frames) = looped(events, None);
    assert_eq!(frames, 1);
}

#[test]
fn nothing_is_drawn_once_the_terminal_was_given_back() {
    let failed = Ending::ThreadFailed("watcher".to_owned());
    let host = HostLine { hostname: "db7".to_owned(), ..HostLine::default() };
    let (ending, screen, _) = looped(vec![size(), Event::Message(Message::Host(host))], Some(&failed));
    assert_eq!((ending, screen.trim()), (failed, ""));
}
