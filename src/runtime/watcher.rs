//! Keeps the state of devices and queues true: a poll tells the truth, notify only wakes it early.
//!
//! inotify alone would miss what the kernel itself changes (`nr_requests` on a switch, read-ahead raised by
//! `rotational`) and what an ioctl sets (`blockdev --setra`), which raise no event.

use std::collections::HashMap;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, never};
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::devices::DeviceWatch;
use super::event::Event;
use super::users::Lookout;
use crate::app::message::Message;
use crate::sys::device::Device;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;

/// Time between two polls when nothing wakes it.
const POLL: Duration = Duration::from_secs(1);

/// After an event the kernel is given this long to finish what it began, and a burst of events is one poll.
const SETTLE: Duration = Duration::from_millis(20);

/// What the watcher is asked to do.
#[derive(Debug)]
pub enum Ask {
    /// Keep reading the queues of these devices, and no others.
    Watch(Vec<KernelName>),
    /// Read this queue now and answer even if nothing changed.
    ReadQueue(KernelName),
    /// Something may have changed.
    Wake,
}

/// The asking end.
pub type Asks = Sender<Ask>;

/// Both ends of the channel to the watcher. Unbounded in theory, a handful in practice: only keys and inotify ask.
#[must_use]
pub fn asks() -> (Asks, Receiver<Ask>) {
    crossbeam_channel::unbounded()
}

/// The watcher's state, on its thread.
pub struct Watcher {
    root: SysRoot,
    events: Sender<Event>,
    asks: Receiver<Ask>,
    inotify: Option<RecommendedWatcher>,
    woken: Receiver<()>,
    watched: Vec<KernelName>,
    devices: DeviceWatch,
    lookout: Lookout,
    last_queues: HashMap<KernelName, QueueState>,
}

impl Watcher {
    /// A watcher that knows the devices already shown.
    #[must_use]
    pub fn new(root: SysRoot, events: Sender<Event>, asks: Receiver<Ask>, devices: Vec<Device>) -> Self {
        let (wake, woken) = bounded(1);
        let inotify = if root.is_live() { start_inotify(&root, wake) } else { None };
        // Without it nothing ever wakes; the closed channel would do so without end.
        let woken = if inotify.is_some() { woken } else { never() };
        Self {
            devices: DeviceWatch::new(root.clone(), devices),
            lookout: Lookout::start(root.clone(), &events),
            root,
            events,
            asks,
            inotify,
            woken,
            watched: Vec::new(),
            last_queues: HashMap::new(),
        }
    }

    /// Polls until the loop stops listening.
    pub fn run(mut self) {
        loop {
            let go_on = crossbeam_channel::select! {
                recv(self.asks) -> ask => match ask {
                    Ok(ask) => self.answer(ask),
                    Err(_) => return,
                },
                recv(self.woken) -> _ => {
                    std::thread::sleep(SETTLE);
                    while self.woken.try_recv().is_ok() {}
                    self.poll()
                },
                recv(self.lookout.seen) -> seen => {
                    match seen {
                        Ok(elsewhere) => self.devices.take(elsewhere),
                        // The thread is gone, and the loop was told.
                        Err(_) => self.lookout.seen = never(),
                    }
                    self.poll_devices()
                },
                default(POLL) => self.poll(),
            };
            if !go_on {
                return;
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> bool {
        match ask {
            Ask::Watch(names) => {
                self.last_queues.retain(|name, _| names.contains(name));
                self.watch_directories(&names);
                self.watched = names;
                let read = self.devices.show(&self.watched);
                read.is_none_or(|news| self.send(news)) && self.poll_queues()
            }
            Ask::ReadQueue(name) => {
                self.last_queues.remove(&name);
                self.read_queue(&name)
            }
            Ask::Wake => self.poll(),
        }
    }

    fn poll(&mut self) -> bool {
        self.poll_devices() && self.poll_queues()
    }

    fn poll_devices(&mut self) -> bool {
        let found = self.devices.poll(&self.watched);
        if found.moved || !found.renewed.is_empty() {
            self.lookout.look();
        }
        for name in &found.renewed {
            // What was sent is of the device that had the name before.
            self.last_queues.remove(name);
        }
        found.news.is_none_or(|news| self.send(news))
    }

    fn poll_queues(&mut self) -> bool {
        let names = self.watched.clone();
        names.iter().all(|name| self.read_queue(name))
    }

    fn read_queue(&mut self, name: &KernelName) -> bool {
        let state = QueueState::read(&self.root, name);
        if self.last_queues.get(name) == Some(&state) {
            return true;
        }
        self.last_queues.insert(name.clone(), state.clone());
        self.send(Message::Queue { device: name.clone(), state })
    }

    /// One inotify watch a queue directory: a foreign write is seen at once. Where inotify is missing or full the
    /// poll alone has to do.
    fn watch_directories(&mut self, names: &[KernelName]) {
        let Some(inotify) = &mut self.inotify else { return };
        for old in self.watched.iter().filter(|n| !names.contains(n)) {
            let _ = inotify.unwatch(&self.root.queue(old));
        }
        for new in names.iter().filter(|n| !self.watched.contains(n)) {
            let _ = inotify.watch(&self.root.queue(new), RecursiveMode::NonRecursive);
        }
    }

    fn send(&self, message: Message) -> bool {
        self.events.send(Event::Message(message)).is_ok()
    }
}

fn start_inotify(root: &SysRoot, wake: Sender<()>) -> Option<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|e| tells_of_a_change(&e)) {
            // Full means that a poll is due already.
            let _ = wake.try_send(());
        }
    })
    .ok()?;
    // Links to block devices come and go here where udev runs; in /sys/block itself nothing is reported. Not in /dev: the
    // kernel looks for who watches a node's directory at every read and write of that node, and whoever uses the device
    // pays for that: a trial, or a database on a device as it is.
    let _ = watcher.watch(&root.block_links_dir(), RecursiveMode::NonRecursive);
    Some(watcher)
}

/// Writes count, reads do not: our own reading of the attributes opens and closes them all the time.
fn tells_of_a_change(event: &notify::Event) -> bool {
    matches!(
        event.kind,
        EventKind::Create(_)
            | EventKind::Remove(_)
            | EventKind::Modify(_)
            | EventKind::Access(AccessKind::Close(AccessMode::Write))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_inotify_nothing_wakes_it() {
        let dir = tempfile::tempdir().unwrap();
        let (events, _inbox) = bounded(1);
        let (_asks, asked) = asks();
        let watcher = Watcher::new(SysRoot::captured(dir.path()), events, asked, Vec::new());
        // A closed channel is always ready: the thread would poll without a pause.
        assert_eq!(watcher.woken.try_recv(), Err(crossbeam_channel::TryRecvError::Empty));
    }
}
