//! One experiment of the screen, on a thread of its own: the same as `blktune ab` conducts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::event::Event;
use super::experiment::{self, Audience, BeginError, Beginning, Ended, Prepared, RecordAt};
use super::thread;
use crate::app::effect::ExperimentOrder;
use crate::app::message::{ExperimentBeginning, ExperimentEnd, Message, NotBegun};
use crate::experiment::analysis::Analysis;
use crate::experiment::event::Event as Happened;
use crate::experiment::schedule;
use crate::sys::attr;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Journal;
use crate::workload::live::Progress;

/// How it came out.
type Outcome = Result<Box<ExperimentEnd>, NotBegun>;

/// An experiment that goes on, or has ended.
pub struct Experimenter {
    device: DeviceId,
    stop: Arc<AtomicBool>,
    /// It has ended; set before anybody is told.
    over: Arc<AtomicBool>,
    outcome: Receiver<Outcome>,
}

impl Experimenter {
    /// Starts it; answers with what happens, and with [`Message::ExperimentEnded`] at last. Its record lies below `state`.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(
        root: SysRoot,
        journal: Journal,
        order: ExperimentOrder,
        state: Option<PathBuf>,
        events: &Sender<Event>,
    ) -> std::io::Result<Self> {
        let (stop, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (asked, ended) = (Arc::clone(&stop), Arc::clone(&over));
        let (answer, outcome) = bounded(1);
        let device = order.device.clone();
        let follower = Follower { device: device.clone(), to: events.clone() };
        thread::spawn("experiment", events, move || {
            let prepared = prepare(&root, order, state);
            let result = experiment::conduct(&root, &journal, &prepared, None, &follower, &asked);
            let result = result.map(|e| Box::new(end(e))).map_err(not_begun);
            ended.store(true, Ordering::SeqCst);
            // Whoever leaves waits for it, whether or not the loop still listens.
            let _ = answer.send(result.clone());
            follower.send(Message::ExperimentEnded(result));
        })?;
        Ok(Self { device, stop, over, outcome })
    }

    /// Whether it goes on.
    #[must_use]
    pub fn going(&self) -> bool {
        !self.over.load(Ordering::SeqCst)
    }

    /// Whether it goes on with this device.
    #[must_use]
    pub fn holds(&self, device: &DeviceId) -> bool {
        self.going() && self.device.same_device(device)
    }

    /// Asks it to stop; its settings are still put back.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Stops it and waits until its settings are back and its record is closed, but not longer than this: a device that hangs
    /// must not hold the program.
    #[must_use]
    pub fn leave(self, patience: Duration) -> LastWord {
        let was_going = self.going();
        self.stop();
        let name = &self.device.name;
        let mut last = LastWord::default();
        match self.outcome.recv_timeout(patience) {
            Ok(Ok(end)) => {
                if was_going {
                    last.said = Some(in_words(name, &end));
                }
                last.not_restored = end.not_restored;
            }
            // The screen, or the panic, has said why.
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                last.stuck = Some(format!(
                    "the experiment on {name} did not end in time; the settings that it still held are put back without it"
                ));
            }
        }
        last
    }
}

/// What there is to say on the shell of an experiment that was left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastWord {
    /// That it was stopped, and where its record is.
    pub said: Option<String>,
    /// Settings that could not be put back.
    pub not_restored: Vec<String>,
    /// It could not be stopped in time.
    pub stuck: Option<String>,
}

fn in_words(name: &crate::sys::name::KernelName, end: &ExperimentEnd) -> String {
    let settings = if end.not_restored.is_empty() { "; its settings are as they were" } else { "" };
    let record = end.record.as_ref().map_or_else(String::new, |dir| {
        let dir = attr::clean(dir.as_os_str().as_encoded_bytes());
        format!("; record: {dir} (`blktune ab --resume` goes on with it)")
    });
    format!("the experiment on {name} was stopped{settings}{record}")
}

fn prepare(root: &SysRoot, order: ExperimentOrder, state: Option<PathBuf>) -> Prepared {
    let ExperimentOrder { device, row, designed, busy_ok, command } = order;
    Prepared {
        state: QueueState::read(root, &device.name),
        plan: schedule::whole(&designed.design),
        device,
        row,
        designed,
        done: Vec::new(),
        sandbox: false,
        busy_ok,
        margin_ok: false,
        command,
        record: RecordAt::New(state),
    }
}

fn end(ended: Ended) -> ExperimentEnd {
    let Ended { ending, reason, analysis, not_restored, notes, record, .. } = ended;
    ExperimentEnd { ending, reason, analysis, not_restored, notes, record }
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn not_begun(e: BeginError) -> NotBegun {
    match e {
        BeginError::Busy(_) => NotBegun::Busy(e.to_string()),
        e if e.stopped() => NotBegun::Stopped,
        e => NotBegun::Refused(e.to_string()),
    }
}

/// Sends what happens to the screen. A loop that has ended needs none of it; the stop flag ends the experiment.
struct Follower {
    device: DeviceId,
    to: Sender<Event>,
}

impl Follower {
    fn send(&self, message: Message) {
        let _ = self.to.send(Event::Message(message));
    }
}

impl Audience for Follower {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, progress: &Progress) {
        // Where the screen does not keep up, the next one is as good.
        let _ = self.to.try_send(Event::Message(Message::ExperimentProgress(Box::new(progress.clone()))));
    }

    fn began(&self, beginning: &Beginning) {
        let Beginning { found, record, weak, notes } = beginning.clone();
        // What was found is known before anything else is read.
        self.send(Message::Queue { device: self.device.name.clone(), state: found });
        self.send(Message::ExperimentBegan(Box::new(ExperimentBeginning {
            device: self.device.clone(),
            record,
            weak,
            notes,
        })));
    }

    fn heard(&self, event: &Happened) {
        let event = match event {
            Happened::TrialDone { trial, .. } => {
                Happened::TrialDone { trial: trial.clone(), detail: serde_json::Value::Null }
            }
            event => event.clone(),
        };
        self.send(Message::Experiment(Box::new(event)));
    }

    fn block_done(&self, so_far: &dyn Fn() -> Analysis) {
        self.send(Message::ExperimentAnalysis(Box::new(so_far())));
    }
}
