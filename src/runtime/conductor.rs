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
use crate::telemetry::rates::{self, SHORTEST_INTERVAL};
use crate::trial::result::TrialResult;
use crate::trial::{foreign, run_trial};
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::scratch;
use crate::workload::target::Target;

/// A run that goes on.
pub struct Conductor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What a run needs.
pub struct Order {
    /// The job.
    pub job: Job,
    /// What it reads.
    pub target: RunTarget,
    /// What a run on a scratch file reads: a directory to make one in, or one that is there.
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
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let to = events.clone();
        let thread = thread::spawn("conductor", events, move || {
            let result = conduct(&root, &order, &asked, &to).map(Box::new);
            let _ = to.send(Event::Message(Message::RunFinished(result)));
        })?;
        Ok(Self { stop, thread })
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
    let path = match &order.target {
        RunTarget::Device { path, .. } => path,
        RunTarget::Scratch => &order.scratch,
    };
    let target = match Target::open(root, path).map_err(|e| e.to_string())? {
        Some(target) => target,
        None => scratch::make(root, path, std::slice::from_ref(&order.job), stop, &mut |p| tell(p))
            .map_err(|e| e.to_string())?,
    };
    if let (RunTarget::Device { .. }, false, Some(backing)) = (&order.target, order.busy_ok, &target.backing)
        && let Some(busy) = foreign::look(root, &backing.whole, stop)
    {
        return Err(format!("{busy}; start it again to run all the same"));
    }
    let mut kernel = target.backing.as_ref().map(|b| KernelView::new(root, &b.row));
    run_trial(root, std::slice::from_ref(&order.job), &target, stop, &mut |p| {
        tell(p);
        if let Some(figures) = kernel.as_mut().and_then(KernelView::next) {
            let _ = to.send(Event::Message(Message::RunKernel(figures)));
        }
    })
    .map_err(|e| e.to_string())
}

/// The run's device as the kernel counts it, at the pace of the progress.
struct KernelView<'a> {
    root: &'a SysRoot,
    row: KernelName,
    last: Option<(Nanos, Counters)>,
}

impl<'a> KernelView<'a> {
    fn new(root: &'a SysRoot, row: &KernelName) -> Self {
        Self { root, row: row.clone(), last: None }
    }

    fn next(&mut self) -> Option<KernelFigures> {
        let counters = counters_of(self.root, &self.row)?;
        let now = SystemClock.monotonic();
        let Some((then, before)) = self.last else {
            self.last = Some((now, counters));
            return None;
        };
        let interval = now.since(then);
        if interval < SHORTEST_INTERVAL {
            return None;
        }
        self.last = Some((now, counters));
        let r = rates::between(&before, &counters, interval)?;
        Some(KernelFigures {
            bytes_per_s: r.bytes_per_s(),
            request_bytes: r.read_size_bytes.or(r.write_size_bytes),
        })
    }
}
