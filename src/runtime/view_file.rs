//! Writes what the person chose in the list, on a thread of its own: the disk may be the one that hangs.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::event::Event;
use super::thread;
use crate::app::message::{Level, Message};
use crate::config::view::View;

/// Where choices are written, and the thread that does it once there is one.
pub struct ViewFile {
    dir: Option<PathBuf>,
    events: Sender<Event>,
    writer: Option<(Sender<View>, JoinHandle<()>)>,
}

impl ViewFile {
    /// Writes below this directory; nowhere without one.
    #[must_use]
    pub fn new(dir: Option<PathBuf>, events: Sender<Event>) -> Self {
        Self { dir, events, writer: None }
    }

    /// Has it written. What fails is told as a notice.
    pub fn save(&mut self, view: View) {
        let Some(dir) = &self.dir else { return };
        if self.writer.is_none() {
            let (to, views) = unbounded();
            let (dir, events) = (dir.clone(), self.events.clone());
            match thread::spawn("view", &self.events, move || write_all(&dir, &views, &events)) {
                Ok(thread) => self.writer = Some((to, thread)),
                Err(e) => return tell(&self.events, &format!("no thread can be started: {e}")),
            }
        }
        if let Some((to, _)) = &self.writer {
            // A writer that ended by a panic has told so.
            let _ = to.send(view);
        }
    }

    /// Waits until all is written, but not longer than this.
    pub fn finish(self, patience: Duration) {
        let Some((to, thread)) = self.writer else { return };
        drop(to);
        let end = Instant::now() + patience;
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write_all(dir: &std::path::Path, views: &Receiver<View>, events: &Sender<Event>) {
    while let Ok(view) = views.recv() {
        // Of several the newest is what counts.
        let view = views.try_iter().last().unwrap_or(view);
        if let Err(e) = view.save(dir) {
            tell(events, &format!("what you chose is forgotten at the end: {}: {e}", dir.display()));
        }
    }
}

fn tell(events: &Sender<Event>, text: &str) {
    // A loop that has ended shows no notices.
    let _ = events.try_send(Event::Message(Message::Notice(Level::Warning, text.to_owned())));
}
