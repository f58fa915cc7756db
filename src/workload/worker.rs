//! One worker: a named thread with an engine, a pattern and books of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::engine::io_uring::{Setup, Uring};
use super::engine::psync::Psync;
use super::engine::{IoEngine, Source};
use super::ledger::{Figures, Ledger, Plan, Report};
use super::pattern::Pattern;

/// Which engine a worker builds for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// `pread`.
    Psync,
    /// io_uring with this setup and depth.
    Uring {
        /// The flags the kernel took.
        setup: Setup,
        /// I/Os in flight.
        depth: u32,
    },
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
    source: Source,
    pattern: Pattern,
    choice: EngineChoice,
    halt: Arc<AtomicBool>,
    reports: Sender<Report>,
) -> io::Result<WorkerHandle> {
    let (go, start) = bounded(1);
    let (spares, spares_rx) = bounded::<Box<Figures>>(1);
    let thread = Builder::new().name(format!("worker-{index}")).spawn(move || {
        #[cfg(debug_assertions)]
        crate::sys::fault::due(&format!("worker-{index}"));
        let books = (Box::<Figures>::default(), halt, spares_rx);
        match choice {
            EngineChoice::Psync => match Psync::new(source) {
                Some(engine) => work(index, engine, pattern, books, &start, &reports),
                None => tell(&reports, Report::Unable("no memory for the buffer".to_owned())),
            },
            EngineChoice::Uring { setup, depth } => match Uring::new(source, depth, setup) {
                Ok(engine) => work(index, engine, pattern, books, &start, &reports),
                Err(e) => {
                    tell(&reports, Report::Unable(format!("setting up io_uring at iodepth {depth}: {e}")));
                }
            },
        }
    })?;
    // The first spare; the channel is empty and holds one.
    let _ = spares.try_send(Box::default());
    Ok(WorkerHandle { thread, go, spares })
}

fn work<E: IoEngine>(
    index: usize,
    mut engine: E,
    mut pattern: Pattern,
    (figures, halt, spares): (Box<Figures>, Arc<AtomicBool>, Receiver<Box<Figures>>),
    start: &Receiver<Plan>,
    reports: &Sender<Report>,
) {
    tell(reports, Report::Ready(engine.registered()));
    let Ok(plan) = start.recv() else { return };
    let mut ledger = Ledger::new(index, plan, halt, reports.clone(), spares, figures);
    let (closed, error) = match engine.drive(&mut pattern, &mut ledger) {
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
