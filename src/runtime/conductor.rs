//! One run of the workload screen, on a thread of its own: the same trial as `blktune run`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;

use super::event::Event;
use super::thread;
use crate::app::effect::RunTarget;
use crate::app::message::{KernelFigures, Message};
use crate::clock::{Clock, SystemClock};
use crate::sys::diskstats::{Counters, counters_of};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::syscall::{ThreadCpu, process_cpu};
use crate::telemetry::rates::{self, Rates, SHORTEST_INTERVAL};
use crate::trial::result::TrialResult;
use crate::trial::{self, foreign};
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::scratch;
use crate::workload::target::Target;

/// A run that goes on.
pub struct Conductor {
    stop: Arc<AtomicBool>,
    /// It has ended; set before anybody is told.
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What a run needs.
pub struct Order {
    /// The jobs, at the same time.
    pub jobs: Vec<Job>,
    /// What they use.
    pub target: RunTarget,
    /// What a run on a scratch file uses: a directory to make one in, or one that is there.
    pub scratch: std::path::PathBuf,
    /// Start beside other people's I/O.
    pub busy_ok: bool,
}

impl Conductor {
    /// Starts the run; answers with progress, the kernel's figures, and [`Message::RunFinished`] at last.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(root: SysRoot, order: Order, events: &Sender<Event>) -> std::io::Result<Self> {
        let (stop, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (asked, ended) = (Arc::clone(&stop), Arc::clone(&over));
        let to = events.clone();
        let thread = thread::spawn("conductor", events, move || {
            let result = conduct(&root, &order, &asked, &to).map(Box::new);
            ended.store(true, Ordering::SeqCst);
            let _ = to.send(Event::Message(Message::RunFinished(result)));
        })?;
        Ok(Self { stop, over, thread })
    }

    /// Whether it goes on.
    #[must_use]
    pub fn going(&self) -> bool {
        !self.over.load(Ordering::SeqCst)
    }

    /// Asks it to stop; in-flight I/O is still reaped.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Waits for its end, but not longer than this: a device that hangs must not hold the program. False if it was
    /// left behind.
    #[must_use]
    pub fn join(self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.thread.is_finished()
    }
}

fn conduct(
    root: &SysRoot,
    order: &Order,
    stop: &AtomicBool,
    to: &Sender<Event>,
) -> Result<TrialResult, String> {
    let tell = |p: Progress| {
        // A loop that has ended needs no progress; the stop flag ends the run.
        let _ = to.send(Event::Message(Message::RunProgress(p)));
    };
    trial::check(root, &order.jobs).map_err(|e| e.to_string())?;
    let path = match &order.target {
        RunTarget::Device { path, .. } => path,
        RunTarget::Scratch => &order.scratch,
    };
    let target = match Target::open(root, path).map_err(|e| e.to_string())? {
        Some(mut target) => {
            if order.target == RunTarget::Scratch {
                // It has no name, only a descriptor.
                "the sandbox's scratch file".clone_into(&mut target.shown);
            }
            target
        }
        None => scratch::make(root, path, &order.jobs, stop, &mut |p| tell(p)).map_err(|e| e.to_string())?,
    };
    let device = target.backing.as_ref().filter(|_| matches!(order.target, RunTarget::Device { .. }));
    let others = device.and_then(|b| foreign::look(root, &b.whole, stop));
    if let (Some(busy), false) = (&others, order.busy_ok) {
        return Err(format!("{busy}; start it again to run all the same"));
    }
    let mut kernel = KernelView::new(root, target.backing.as_ref().map(|b| &b.row));
    let mut tell = |p| {
        tell(p);
        if let Some(figures) = kernel.next() {
            let _ = to.send(Event::Message(Message::RunKernel(figures)));
        }
    };
    trial::run_trial_beside(root, &order.jobs, &target, others.as_ref(), stop, Some(&mut tell))
        .map_err(|e| e.to_string())
}

/// The run's device and this program as the kernel counts them, at the pace of the progress.
struct KernelView<'a> {
    root: &'a SysRoot,
    row: Option<KernelName>,
    last: Option<(Nanos, ThreadCpu, Option<Counters>)>,
}

impl<'a> KernelView<'a> {
    fn new(root: &'a SysRoot, row: Option<&KernelName>) -> Self {
        Self { root, row: row.cloned(), last: None }
    }

    fn next(&mut self) -> Option<KernelFigures> {
        let counters = self.row.as_ref().and_then(|row| counters_of(self.root, row));
        let (now, cpu) = (SystemClock.monotonic(), process_cpu());
        let Some((then, cpu_before, before)) = self.last else {
            self.last = Some((now, cpu, counters));
            return None;
        };
        let interval = now.since(then);
        if interval < SHORTEST_INTERVAL {
            return None;
        }
        self.last = Some((now, cpu, counters));
        let used = cpu.since(cpu_before);
        let rates = before.zip(counters).and_then(|(a, b)| rates::between(&a, &b, interval));
        Some(KernelFigures {
            bytes_per_s: rates.as_ref().and_then(Rates::bytes_per_s),
            read_size: rates.as_ref().and_then(|r| r.read_size_bytes),
            write_size: rates.as_ref().and_then(|r| r.write_size_bytes),
            cpus: Some((used.user.seconds() + used.system.seconds()) / interval.seconds()),
        })
    }
}
