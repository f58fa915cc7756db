//! One worker: a named thread with an engine, a pattern and books of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::affinity::Cpus;
use super::engine::io_uring::{Setup, Uring};
use super::engine::null::Null;
use super::engine::psync::Psync;
use super::engine::{Feed, IoEngine, Pace, Source};
use super::figures::Figures;
use super::ledger::{Ledger, Plan, Report};
use super::priority::Priority;
use crate::sys::syscall;

/// Which engine a worker builds for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// `pread` and `pwrite`.
    Psync,
    /// No I/O.
    Null,
    /// io_uring with this setup and depth.
    Uring {
        /// The flags the kernel took.
        setup: Setup,
        /// I/Os in flight.
        depth: u32,
        /// Answers are polled for.
        polled: bool,
    },
}

/// What a worker is to do.
#[derive(Debug)]
pub struct Assignment {
    /// What it reads from or writes to.
    pub source: Source,
    /// The I/Os and their times.
    pub feed: Feed,
    /// With which engine.
    pub choice: EngineChoice,
    /// Its I/O priority; None leaves that of the program.
    pub prio: Option<Priority>,
    /// The CPUs it may run on; None for all.
    pub cpus: Option<Cpus>,
}

/// A worker's ends of its channels, as the collector holds them.
#[derive(Debug)]
pub struct WorkerHandle {
    /// The thread. Dropped without joining if it is stuck in the kernel.
    pub thread: JoinHandle<()>,
    /// Gives the start. Dropping it sends the worker home.
    pub go: Sender<Plan>,
    /// Brings emptied buffers back.
    pub spares: Sender<Box<Figures>>,
}

/// Starts worker `index`. It sets itself up, reports that it is ready, and waits for its plan.
///
/// The thread owns everything it uses: if a device never answers, the thread is left behind with it, and no one else
/// has to wait.
///
/// # Errors
/// If there can be no more threads.
pub fn spawn(
    index: usize,
    assignment: Assignment,
    halt: Arc<AtomicBool>,
    reports: Sender<Report>,
) -> io::Result<WorkerHandle> {
    let (go, start) = bounded(1);
    let (spares, spares_rx) = bounded::<Box<Figures>>(1);
    let open_loop = matches!(assignment.feed.pace, Pace::Open(_));
    let thread = Builder::new().name(format!("worker-{index}")).spawn(move || {
        #[cfg(debug_assertions)]
        crate::sys::fault::due(&format!("worker-{index}"));
        let Assignment { source, feed, choice, prio, cpus } = assignment;
        let closed_loop = matches!(feed.pace, Pace::Closed);
        if let Err(why) = settle(prio, cpus.as_ref(), closed_loop) {
            return tell(&reports, Report::Unable(why));
        }
        let books = (Box::new(Figures::new(open_loop)), halt, spares_rx);
        match choice {
            EngineChoice::Null => work(index, Null::new(source), feed, books, &start, &reports),
            EngineChoice::Psync => match Psync::new(source) {
                Some(engine) => work(index, engine, feed, books, &start, &reports),
                None => tell(&reports, Report::Unable("no memory for the buffer".to_owned())),
            },
            EngineChoice::Uring { setup, depth, polled } => match Uring::new(source, depth, setup, polled) {
                Ok(engine) => work(index, engine, feed, books, &start, &reports),
                Err(e) => {
                    tell(&reports, Report::Unable(format!("setting up io_uring at iodepth {depth}: {e}")));
                }
            },
        }
    })?;
    // The first spare; the channel is empty and holds one.
    let _ = spares.try_send(Box::new(Figures::new(open_loop)));
    Ok(WorkerHandle { thread, go, spares })
}

/// Gives the thread the priority and the CPUs it is to have.
fn settle(prio: Option<Priority>, cpus: Option<&Cpus>, closed_loop: bool) -> Result<(), String> {
    if let Some(prio) = prio {
        syscall::set_io_priority(prio.value())
            .map_err(|e| format!("prio={prio}: {e}; realtime needs root, be and idle do not"))?;
    }
    if let Some(cpus) = cpus {
        cpus.apply().map_err(|e| format!("cpus_allowed={cpus}: {e}; none of them may be used here"))?;
    }
    if !closed_loop {
        // A pause ends within this of its time, which else may be 50 us late (PR_SET_TIMERSLACK).
        syscall::set_timer_slack(1);
    }
    Ok(())
}

fn work<E: IoEngine>(
    index: usize,
    mut engine: E,
    mut feed: Feed,
    (figures, halt, spares): (Box<Figures>, Arc<AtomicBool>, Receiver<Box<Figures>>),
    start: &Receiver<Plan>,
    reports: &Sender<Report>,
) {
    tell(reports, Report::Ready(engine.registered()));
    let Ok(plan) = start.recv() else { return };
    let mut ledger = Ledger::new(index, plan, halt, reports.clone(), spares, figures);
    let (closed, error) = match engine.drive(&mut feed, &mut ledger) {
        Ok(closed) => (closed, None),
        Err(e) => {
            ledger.give_up();
            (super::engine::now(), Some(e.to_string()))
        }
    };
    tell(reports, Report::Done { worker: index, end: Box::new(ledger.close(closed, error)) });
}

/// Outside the measured part, a report may wait for its place. If nobody listens any more there is nobody to tell.
fn tell(reports: &Sender<Report>, report: Report) {
    let _ = reports.send(report);
}
