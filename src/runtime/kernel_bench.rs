//! The bench of a real experiment: the queue in sysfs, held, and trials on a target that is opened once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::experiment::bench::{Bench, BenchError, Found, Measured};
use crate::experiment::measured::{Around, measured_of};
use crate::experiment::passage::Below;
use crate::sys::attr;
use crate::sys::device::DeviceId;
use crate::sys::device_lock::DeviceLock;
use crate::sys::inventory;
use crate::sys::memory::Unwritten;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::trial;
use crate::trial::foreign::Foreign;
use crate::tuning::apply::{Applied, Cause};
use crate::tuning::change::Change;
use crate::tuning::control::{QueueControl as _, SysfsQueue};
use crate::tuning::held_queue::HeldQueue;
use crate::tuning::journal::Journal;
use crate::tuning::restore::{End, PutBack};
use crate::units::{Bytes, Kib, Nanos, Sectors};
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::outcome::RunError;
use crate::workload::target::Target;

/// A queue that has not come to rest by then is at work for somebody else.
const AT_REST_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(5);
/// So many looks in a row find nothing in flight.
const QUIET_LOOKS: u32 = 3;
/// As little as this, beyond what waited at the start, is not worth waiting for: other programs always write something.
const LITTLE: Bytes = Bytes(16 << 20);
/// A stop is seen within this time.
const GLANCE: Duration = Duration::from_millis(20);

/// What is told while a trial runs.
pub type Tell<'a> = Box<dyn FnMut(&Progress) + 'a>;

/// One device under experiment. Dropped, it puts back what it holds.
pub struct KernelBench<'a> {
    root: SysRoot,
    id: DeviceId,
    held: HeldQueue<SysfsQueue>,
    /// Behind it, so that dropped in this order it lets udev see the device when everything is back.
    lock: Option<DeviceLock>,
    target: Target,
    others: Option<Foreign>,
    at_start: Unwritten,
    size_at_start: Option<Bytes>,
    tell: Option<Tell<'a>>,
    said: Vec<String>,
    /// Set whenever this process was stopped and goes on; None where signals can not be caught.
    continued: Option<Continued>,
}

/// Notes SIGCONT for as long as it lives: a stop itself can not be caught.
struct Continued {
    came: Arc<AtomicBool>,
    handler: signal_hook::SigId,
}

impl Continued {
    fn listen() -> Option<Self> {
        let came = Arc::default();
        let handler = signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&came)).ok()?;
        Some(Self { came, handler })
    }
}

impl Drop for Continued {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.handler);
    }
}

impl<'a> KernelBench<'a> {
    /// Takes the queue as it reads now for the beginning. `lock` is that of the device's node; None where the target's guard
    /// has it. `others` is what others did on the device before, if anything: a trial then ends when they wait too long.
    /// No setting is written, but no other program of ours may write one from now on.
    #[must_use]
    pub fn open(
        root: &SysRoot,
        journal: &Journal,
        id: &DeviceId,
        lock: Option<DeviceLock>,
        target: Target,
        others: Option<Foreign>,
    ) -> Self {
        let queue = SysfsQueue::new(root.clone(), id.clone());
        let now = SystemClock.wall().0 / Nanos::SECOND.0;
        let mut held = HeldQueue::begin(journal, queue, id, now);
        // Whoever may not write the journal may write no setting either; one that others hold says so when it is to be
        // changed, and stands still while it is only measured.
        let _ = held.claim();
        Self {
            root: root.clone(),
            id: id.clone(),
            held,
            lock,
            target,
            others,
            at_start: Unwritten::read(root),
            size_at_start: size(root, id),
            tell: None,
            said: Vec::new(),
            continued: Continued::listen(),
        }
    }

    /// Has progress told, about ten times a second while a trial runs.
    #[must_use]
    pub fn telling(mut self, tell: Tell<'a>) -> Self {
        self.tell = Some(tell);
        self
    }

    /// The device and its queue at the beginning.
    #[must_use]
    pub fn found(&self) -> Found {
        Found { settings: self.held.start().clone(), id: Some(self.id.clone()), size: self.size_at_start }
    }

    /// What there was to say meanwhile that is no error: notes that were not made, settings of others that were left
    /// alone. Each is said once.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Puts back what is held, gives up the lock, waits for udev, and looks whether everything is still as it was put
    /// back. What could not be put back, and what there is to say.
    ///
    /// `at_once` leaves the waiting and the look out: for whoever was told to end.
    #[must_use]
    pub fn close(self, at_once: bool) -> (Vec<String>, Vec<String>) {
        let mut this = self;
        let not_restored = this.put_back();
        let Self { root, id, held, lock, mut said, .. } = this;
        let back = held.read();
        // The beginning is what `held` answers for, and that is done.
        drop(held);
        if at_once {
            return (not_restored, said);
        }
        if let Some(lock) = lock {
            lock.give_up(&root);
        }
        let now = SysfsQueue::new(root, id.clone()).read();
        if !back.attributes.is_empty() && !now.attributes.is_empty() {
            said.extend(back.differences(&now).into_iter().map(|(name, was, is)| {
                let shown = |v: Option<String>| v.unwrap_or_else(|| "absent".to_owned());
                format!(
                    "{} {name} went from {} to {} when the device was unlocked: a udev rule sets it",
                    id.name,
                    shown(was),
                    shown(is)
                )
            }));
        }
        (not_restored, said)
    }

    fn gone(&self) -> BenchError {
        BenchError::Gone(format!("{} is gone, or another device has its name now", self.id.name))
    }

    fn is_there(&self) -> bool {
        inventory::identify(&self.root, &self.id.name).is_some_and(|now| now.same_device(&self.id))
    }

    /// Requests that are being worked on; None if the device does not say.
    fn in_flight(&self) -> Option<u64> {
        let text = attr::read_opt(&self.root.block(&self.id.name).join("inflight"))?;
        text.split_ascii_whitespace().map(|n| n.parse::<u64>().ok()).sum()
    }

    fn take(&mut self, applied: Applied) -> Result<QueueState, BenchError> {
        self.said.extend(self.held.take_warning());
        if applied.after.attributes.is_empty() {
            return Err(self.gone());
        }
        let Some(cause) = applied.cause else { return Ok(applied.after) };
        let mut why = applied.why.unwrap_or_else(|| "refused".to_owned());
        if !applied.report.not_restored.is_empty() {
            why = format!("{why}; could not be put back: {}", applied.report.not_restored.join("; "));
        }
        Err(match cause {
            Cause::Value => BenchError::Refused(why),
            Cause::Rights | Cause::Gone | Cause::Journal => BenchError::Broken(why),
        })
    }

    fn failure(&self, e: &RunError) -> BenchError {
        if !self.is_there() {
            return self.gone();
        }
        match e {
            RunError::Stopped => BenchError::Stopped,
            RunError::Failed { .. } | RunError::Engine(_) | RunError::Start(..) | RunError::Target(_) => {
                BenchError::Failed(e.to_string())
            }
            RunError::Writes(..)
            | RunError::Job(_)
            | RunError::NoEngine(_)
            | RunError::NotPermitted(_)
            | RunError::Unsafe(_) => BenchError::Broken(e.to_string()),
        }
    }
}

fn size(root: &SysRoot, id: &DeviceId) -> Option<Bytes> {
    attr::read_u64(&root.block(&id.name).join("size")).map(|n| Sectors(n).bytes())
}

impl Bench for KernelBench<'_> {
    fn settings(&mut self) -> QueueState {
        self.held.read()
    }

    fn drain(&mut self, stop: &AtomicBool) -> Result<(), BenchError> {
        let began = SystemClock.monotonic();
        let late = || SystemClock.monotonic().since(began).duration() > AT_REST_WITHIN;
        // What trials wrote through the page cache would else arrive in the next one's time.
        let wrote = self.target.may_write();
        if wrote {
            self.target.sync().map_err(|e| BenchError::Failed(e.to_string()))?;
        }
        let mut quiet = 0;
        while quiet < QUIET_LOOKS {
            if stop.load(Ordering::Relaxed) {
                return Err(BenchError::Stopped);
            }
            if !self.is_there() {
                return Err(self.gone());
            }
            quiet = if self.in_flight().unwrap_or(0) == 0 { quiet + 1 } else { 0 };
            if late() && quiet == 0 && self.others.is_none() {
                return Err(BenchError::Failed(format!(
                    "{} does not come to rest: something has kept I/O in flight for {} s; find out what, or start with --busy-ok",
                    self.id.name,
                    AT_REST_WITHIN.as_secs()
                )));
            }
            if late() {
                break;
            }
            thread::sleep(LOOK);
        }
        let enough = self.at_start.all().0.saturating_add(LITTLE.0);
        while wrote && Unwritten::read(&self.root).all().0 > enough && !late() {
            if stop.load(Ordering::Relaxed) {
                return Err(BenchError::Stopped);
            }
            thread::sleep(GLANCE);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<QueueState, BenchError> {
        let applied = self.held.change(changes);
        self.take(applied)
    }

    fn write_bare(&mut self, changes: &[Change]) -> Result<QueueState, BenchError> {
        let applied = self.held.write_bare(changes);
        self.take(applied)
    }

    fn settle(&mut self, time: Duration, stop: &AtomicBool) -> Result<(), BenchError> {
        let began = SystemClock.monotonic();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(BenchError::Stopped);
            }
            let left = time.saturating_sub(SystemClock.monotonic().since(began).duration());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(GLANCE));
        }
    }

    fn measure(&mut self, jobs: &[Job], stop: &AtomicBool) -> Result<Measured, BenchError> {
        let (boot, awake) = (SystemClock.boot(), SystemClock.monotonic());
        if let Some(continued) = &self.continued {
            continued.came.store(false, Ordering::SeqCst);
        }
        let before = self.held.read();
        #[cfg(debug_assertions)]
        crate::sys::fault::due(&format!("trial-{}", before.effective("scheduler").unwrap_or_default()));
        let result = {
            let mut tell = self.tell.as_mut().map(|tell| move |p: Progress| tell(&p));
            let tell = tell.as_mut().map(|t| t as &mut dyn FnMut(Progress));
            trial::run_trial_beside(&self.root, jobs, &self.target, self.others.as_ref(), stop, tell)
        };
        let after = self.held.read();
        let result = result.map_err(|e| self.failure(&e))?;
        if result.interrupted {
            return Err(result.stopped_for.map_or(BenchError::Stopped, BenchError::Broken));
        }
        let (boot, awake) = (SystemClock.boot().since(boot), SystemClock.monotonic().since(awake));
        let read_ahead = before.number("read_ahead_kb").map_or(Bytes(0), |kib| Kib(kib).sectors().bytes());
        let around = Around {
            settings: (before, after),
            id: inventory::identify(&self.root, &self.id.name),
            size: size(&self.root, &self.id),
            asleep_s: boot.since(awake).seconds(),
            halted: self.continued.as_ref().is_some_and(|c| c.came.load(Ordering::SeqCst)),
            below: Below { read_ahead, shared: self.others.is_some() },
        };
        Ok(measured_of(&result, around))
    }

    fn put_back(&mut self) -> Vec<String> {
        let Some(done) = self.held.put_back() else { return Vec::new() };
        let PutBack { device, foreign, not_restored, end, warning, .. } = done;
        self.said.extend(
            foreign.into_iter().map(|f| format!("{device} {} {}", f.name, f.message.unwrap_or_default())),
        );
        let mut out = not_restored;
        match end {
            End::Done | End::Partly | End::Settled => self.said.extend(warning),
            End::Gone => self.said.push(format!("{device} is gone, and its settings with it")),
            End::Busy(pid) => {
                out.push(format!("{device} is in the hands of process {pid}, which puts it back"));
            }
            End::NoJournal => {
                let why = warning.unwrap_or_default();
                out.push(format!("{device} was not put back, since the journal can not be written: {why}"));
            }
        }
        out
    }
}
