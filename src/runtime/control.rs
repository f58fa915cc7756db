//! One thread a device being changed: a write to sysfs can block for as long as the queue drains, and must hold up
//! neither the screen nor another device.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::Sender;

use super::event::Event;
use super::keeper;
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
use crate::tuning::journal::{Entry, EntryId, Journal, Stage};
use crate::tuning::{held, keep, snapshot, undo};
use crate::units::Nanos;

/// Time between two looks at whether something held is still so.
const HELD_LOOK: Duration = Duration::from_millis(250);

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

    /// Where changes are noted.
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether this device is being changed.
    #[must_use]
    pub fn works_on(&self, device: &DeviceId) -> bool {
        self.working().iter().any(|(id, _)| id.same_device(device))
    }

    /// Writes a set of changes; answers with [`Message::Applied`]. With `revert_after` they are held by a keeper that
    /// outlives this program, and [`Message::Held`] says when that begins and that it is over.
    pub fn apply(&self, device: DeviceId, changes: Vec<Change>, revert_after: Option<Nanos>) {
        if let Some(after) = revert_after {
            return self.hold(device, changes, after);
        }
        self.on_own_thread(device, move |control, device, given_up| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let queue = Impatient { queue: &queue, given_up };
            let mut kept = keep::apply_and_keep(&control.journal, &queue, &device, &changes, seconds());
            // The write that was waited for was the last one, and it did succeed in the end.
            if given_up.swap(false, Ordering::SeqCst) && kept.applied.cause.is_none() {
                keep::take_back_kept(&control.journal, &queue, &device, &mut kept, "waiting was given up");
            }
            control.warn(kept.warning);
            control.show(&device, kept.applied.after);
            Message::Applied { device, result: in_words(kept.applied.cause, kept.applied.report) }
        });
    }

    /// Writes a set of changes in the name of a keeper, and watches the journal for what becomes of them.
    fn hold(&self, device: DeviceId, changes: Vec<Change>, after: Nanos) {
        self.on_own_thread(device, move |control, device, given_up| {
            let keeper = match keeper::start(after.duration()) {
                Ok(keeper) => keeper,
                Err(e) => {
                    let why = format!("starting the process that puts back: {e}; nothing was changed");
                    return Message::Applied { device, result: Err(why) };
                }
            };
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let queue = Impatient { queue: &queue, given_up };
            let held = held::hold_until_confirmed(
                &control.journal,
                queue,
                &device,
                &changes,
                seconds(),
                keeper.owner,
                keeper.reverts_at,
            );
            if given_up.swap(false, Ordering::SeqCst) && held.applied().cause.is_none() {
                let report = held.take_back("waiting was given up");
                return Message::Applied { device, result: Ok(report) };
            }
            let kept = held.leave();
            control.warn(kept.warning);
            control.show(&device, kept.applied.after);
            if let (Some(entry), None) = (kept.entry, kept.applied.cause) {
                let until = Nanos(SystemClock.monotonic().0.saturating_add(after.0));
                control.send(Message::Held { device: device.clone(), until: Some(until) });
                control.watch_held(device.clone(), entry);
            }
            Message::Applied { device, result: in_words(kept.applied.cause, kept.applied.report) }
        });
    }

    /// Tells when a held entry is confirmed or put back, by whomever.
    fn watch_held(&self, device: DeviceId, entry: EntryId) {
        let control = self.clone();
        let name = format!("held-{}", device.name);
        let watch = move || {
            let stage = loop {
                std::thread::sleep(HELD_LOOK);
                let entries = control.journal.entries().unwrap_or_default();
                match entries.iter().find(|e| e.id == entry).map(|e| e.stage) {
                    Some(Stage::Held | Stage::Open) => {}
                    other => break other,
                }
            };
            let name = &device.name;
            let (level, words) = match stage {
                Some(Stage::Kept) => (Level::Info, format!("{name}: the changes are kept")),
                _ => (Level::Warning, format!("{name}: nobody confirmed, so the changes were put back")),
            };
            control.send(Message::Held { device, until: None });
            control.send(Message::Notice(level, words));
            let _ = control.asks.send(Ask::Wake);
        };
        if let Err(e) = thread::spawn(&name, &self.events, watch) {
            self.warn(Some(format!("no thread can be started: {e}")));
        }
    }

    /// Keeps what would be put back; the watch over it tells the screen.
    pub fn confirm(&self, device: DeviceId) {
        self.in_background(device, |control, device| {
            let entries = control.journal.entries().map_err(|e| e.to_string())?;
            let waits = |e: &&Entry| {
                e.stage == Stage::Held && e.reverts_at.is_some() && e.device.same_device(&device)
            };
            for entry in entries.iter().filter(waits) {
                control.journal.confirm(entry).map_err(|e| e.to_string())?;
            }
            Ok(())
        });
    }

    /// Says what the settings were before blktune's first change since boot; answers with [`Message::BootState`].
    pub fn read_boot(&self, device: DeviceId) {
        self.on_own_thread(device, |control, device, _| {
            let state = match snapshot::load(&control.journal, &device) {
                Ok(Some(snapshot)) => Ok(snapshot.state()),
                Ok(None) => Err(format!(
                    "blktune has changed nothing on {} since boot, so there is nothing to go back to",
                    device.name
                )),
                Err(e) => Err(e.to_string()),
            };
            Message::BootState { device, state }
        });
    }

    /// Says what a redo would do; answers with [`Message::RedoPlan`].
    pub fn plan_redo(&self, device: DeviceId) {
        self.on_own_thread(device, |control, device, _| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let plan = control.journal.entries().map_err(|e| e.to_string()).and_then(|entries| {
                let entry = undo::latest_undone(&entries, |id| id.same_device(&device)).ok_or_else(|| {
                    format!("nothing was undone on {} that could be done again", device.name)
                })?;
                Ok(steps(entry.planned.clone(), &queue.read()))
            });
            Message::RedoPlan { device, plan }
        });
    }

    /// Does again what was undone last; answers with [`Message::RedoDone`].
    pub fn redo(&self, device: DeviceId) {
        self.on_own_thread(device, |control, device, given_up| {
            let queue = SysfsQueue::new(control.root.clone(), device.clone());
            let queue = Impatient { queue: &queue, given_up };
            let result = control.journal.entries().map_err(|e| e.to_string()).and_then(|entries| {
                let entry = undo::latest_undone(&entries, |id| id.same_device(&device)).ok_or_else(|| {
                    format!("nothing was undone on {} that could be done again", device.name)
                })?;
                let kept = undo::redo(&control.journal, &queue, entry, seconds());
                control.warn(kept.warning);
                control.show(&device, kept.applied.after);
                in_words(kept.applied.cause, kept.applied.report)
            });
            Message::RedoDone { device, result }
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
                Ok(steps(back, &now))
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
            control.send(message);
            let _ = control.asks.send(Ask::Wake);
        });
        if let Err(e) = started {
            self.warn(Some(format!("no thread can be started: {e}")));
        }
    }

    /// Work that reports only if it fails: nothing of the device is written.
    fn in_background(
        &self,
        device: DeviceId,
        work: impl FnOnce(&Self, DeviceId) -> Result<(), String> + Send + 'static,
    ) {
        let control = self.clone();
        let name = format!("control-{}", device.name);
        let started = thread::spawn(&name, &self.events, move || control.warn(work(&control, device).err()));
        if let Err(e) = started {
            self.warn(Some(format!("no thread can be started: {e}")));
        }
    }

    fn send(&self, message: Message) {
        // It does not matter if the program is already leaving.
        let _ = self.events.send(Event::Message(message));
    }

    /// The queue as it was read back, before the report: the watcher's own reading comes later.
    fn show(&self, device: &DeviceId, state: QueueState) {
        self.send(Message::Queue { device: device.name.clone(), state });
    }

    fn warn(&self, words: Option<String>) {
        if let Some(words) = words {
            self.send(Message::Notice(Level::Warning, words));
        }
    }
}

/// What changes would do to a queue that reads `now`; what it reads already is left out.
fn steps(changes: Vec<Change>, now: &QueueState) -> Vec<UndoStep> {
    changes
        .into_iter()
        .map(|c| UndoStep { now: now.effective(&c.name), name: c.name, back_to: c.requested })
        .filter(|s| s.now.as_ref() != Some(&s.back_to))
        .collect()
}

/// The wall clock, as the journal notes it.
fn seconds() -> u64 {
    SystemClock.wall().0 / 1_000_000_000
}

/// A report that has no change in it says nothing; then the cause has to.
fn in_words(cause: Option<Cause>, report: ApplyReport) -> Result<ApplyReport, String> {
    match cause {
        Some(Cause::Gone) if report.changes.is_empty() => Err("the device is gone".to_owned()),
        _ => Ok(report),
    }
}
