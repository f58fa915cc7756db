//! One thread a device being changed: a write to sysfs can block for as long as the queue drains, and must hold up
//! neither the screen nor another device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;

use super::event::Event;
use super::thread;
use super::watcher::{Ask, Asks};
use crate::app::message::{Level, Message, UndoStep};
use crate::clock::{Clock, SystemClock};
use crate::sys::attr::AttrError;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::tuning::apply::Cause;
use crate::tuning::change::{ApplyReport, Change};
use crate::tuning::control::{QueueControl, SysfsQueue};
use crate::tuning::journal::Journal;
use crate::tuning::{keep, undo};

/// The flag by which a person who waits for a device's queue gives up.
type GivenUp = Arc<AtomicBool>;

/// A queue whose writes can be given up on. A write that the kernel holds can not be taken from it; but when it returns,
/// the next one fails, once, and so everything is put back.
struct Impatient<'a> {
    queue: &'a SysfsQueue,
    given_up: &'a AtomicBool,
}

impl QueueControl for Impatient<'_> {
    fn read(&self) -> QueueState {
        self.queue.read()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        if self.given_up.swap(false, Ordering::SeqCst) {
            let source = std::io::Error::from_raw_os_error(libc::ECANCELED);
            return Err(AttrError { path: name.into(), value: Some(value.to_owned()), source });
        }
        self.queue.write(name, value)
    }
}

/// Carries out changes and undos, each on a thread of its own.
#[derive(Clone)]
pub struct Control {
    root: SysRoot,
    journal: Arc<Journal>,
    events: Sender<Event>,
    asks: Asks,
    working: Arc<Mutex<Vec<(DeviceId, GivenUp)>>>,
}

impl Control {
    /// What is changed is noted in `journal`; the watcher behind `asks` is woken afterwards.
    #[must_use]
    pub fn new(root: SysRoot, journal: Journal, events: Sender<Event>, asks: Asks) -> Self {
        Self { root, journal: Arc::new(journal), events, asks, working: Arc::default() }
    }

    /// Writes a set of changes; answers with [`Message::Applied`].
    pub fn apply(&self, device: DeviceId, changes: Vec<Change>) {
        self.on_own_thread(device, move |control, device, given_up| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let queue = Impatient { queue: &queue, given_up };
            let seconds = SystemClock.wall().0 / 1_000_000_000;
            let mut kept = keep::apply_and_keep(&control.journal, &queue, &device, &changes, seconds);
            // The write that was waited for was the last one, and it did succeed in the end.
            if given_up.swap(false, Ordering::SeqCst) && kept.applied.cause.is_none() {
                keep::take_back_kept(&control.journal, &queue, &device, &mut kept, "waiting was given up");
            }
            control.warn(kept.warning);
            control.show(&device, kept.applied.after);
            Message::Applied { device, result: in_words(kept.applied.cause, kept.applied.report) }
        });
    }

    /// Says what an undo would do; answers with [`Message::UndoPlan`].
    pub fn plan_undo(&self, device: DeviceId) {
        self.on_own_thread(device, |control, device, _| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let plan = control.journal.entries().map_err(|e| e.to_string()).and_then(|entries| {
                let entry = undo::latest(&entries, |id| id.same_device(&device))
                    .ok_or_else(|| format!("nothing was changed on {} by blktune since boot", device.name))?;
                let now = queue.read();
                let (back, foreign) = undo::preview(entry, &now);
                if let (true, Some(first)) = (back.is_empty(), foreign.first()) {
                    return Err(format!("{} {}", first.name, first.message.as_deref().unwrap_or_default()));
                }
                let steps = back
                    .into_iter()
                    .map(|c| UndoStep { now: now.effective(&c.name), name: c.name, back_to: c.requested })
                    .filter(|s| s.now.as_ref() != Some(&s.back_to));
                Ok(steps.collect())
            });
            Message::UndoPlan { device, plan }
        });
    }

    /// Takes back the last kept change; answers with [`Message::UndoDone`].
    pub fn undo(&self, device: DeviceId) {
        self.on_own_thread(device, |control, device, given_up| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let queue = Impatient { queue: &queue, given_up };
            let result = control.journal.entries().map_err(|e| e.to_string()).and_then(|entries| {
                let entry = undo::latest(&entries, |id| id.same_device(&device))
                    .ok_or_else(|| format!("nothing was changed on {} by blktune since boot", device.name))?;
                let undone = undo::undo(&control.journal, &queue, entry);
                control.warn(undone.warning);
                control.show(&device, queue.read());
                in_words(undone.cause, undone.report)
            });
            Message::UndoDone { device, result }
        });
    }

    /// Waits no longer for what goes on with this device.
    pub fn give_up(&self, device: &DeviceId) {
        for (_, flag) in self.working().iter().filter(|(id, _)| id == device) {
            flag.store(true, Ordering::SeqCst);
        }
    }

    fn working(&self) -> MutexGuard<'_, Vec<(DeviceId, GivenUp)>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_own_thread(
        &self,
        device: DeviceId,
        work: impl FnOnce(&Self, DeviceId, &AtomicBool) -> Message + Send + 'static,
    ) {
        let control = self.clone();
        let name = format!("control-{}", device.name);
        let given_up = GivenUp::default();
        self.working().push((device.clone(), Arc::clone(&given_up)));
        let started = thread::spawn(&name, &self.events, move || {
            let message = work(&control, device, &given_up);
            control.working().retain(|(_, flag)| !Arc::ptr_eq(flag, &given_up));
            // Neither matters if the program is already leaving.
            let _ = control.events.send(Event::Message(message));
            let _ = control.asks.send(Ask::Wake);
        });
        if let Err(e) = started {
            self.warn(Some(format!("no thread can be started: {e}")));
        }
    }

    /// The queue as it was read back, before the report: the watcher's own reading comes later.
    fn show(&self, device: &DeviceId, state: QueueState) {
        let _ = self.events.send(Event::Message(Message::Queue { device: device.name.clone(), state }));
    }

    fn warn(&self, words: Option<String>) {
        if let Some(words) = words {
            let _ = self.events.send(Event::Message(Message::Notice(Level::Warning, words)));
        }
    }
}

/// A report that has no change in it says nothing; then the cause has to.
fn in_words(cause: Option<Cause>, report: ApplyReport) -> Result<ApplyReport, String> {
    match cause {
        Some(Cause::Gone) if report.changes.is_empty() => Err("the device is gone".to_owned()),
        _ => Ok(report),
    }
}
