//! Carries out the effects of the state: each on a thread that may block, never on the loop's own.

use std::path::PathBuf;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::conductor::{Conductor, Order};
use super::control::Control;
use super::event::Event;
use super::experimenter::{Experimenter, LastWord};
use super::replay::LOOKED_AT;
use super::view_file::ViewFile;
use super::watcher::{Ask, Asks};
use crate::app::effect::{Effect, ExperimentOrder};
use crate::app::message::{Level, Message, NotBegun};
use crate::app::replay::ReplayOrder;
use crate::sys::device::DeviceId;
use crate::sys::root::SysRoot;

/// How long a run or an experiment may take to end after it was told to: less than the supervisor's patience with the whole program.
const RUN_ENDS_WITHIN: Duration = Duration::from_secs(1);

/// How long what was chosen may take to be written at the end. It is a nicety; the prompt is not kept for it.
const VIEW_WRITTEN_WITHIN: Duration = Duration::from_millis(250);

/// Everything outside of the state.
pub struct Outside {
    root: SysRoot,
    events: Sender<Event>,
    asks: Asks,
    control: Option<Control>,
    scratch: PathBuf,
    state: Option<PathBuf>,
    view: ViewFile,
    run: Option<Conductor>,
    experiment: Option<Experimenter>,
    replay: Option<Sender<ReplayOrder>>,
}

impl Outside {
    /// `control` is None where nothing can be changed (a captured tree); `scratch` is what a run on a
    /// scratch file reads: a directory to make one in, or one that is there; `state` is where choices are remembered and records of experiments are
    /// kept.
    #[must_use]
    pub fn new(
        root: SysRoot,
        events: Sender<Event>,
        asks: Asks,
        control: Option<Control>,
        scratch: PathBuf,
        state: Option<PathBuf>,
    ) -> Self {
        let view = ViewFile::new(state.clone(), events.clone());
        Self { root, events, asks, control, scratch, state, view, run: None, experiment: None, replay: None }
    }

    /// With a record's source in place of the host: it takes the orders, and nothing can be changed or run.
    #[must_use]
    pub fn replaying(self, orders: Sender<ReplayOrder>) -> Self {
        Self { replay: Some(orders), ..self }
    }

    /// Carries out one effect, or starts to.
    pub fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::ReadQueue(name) => self.ask(Ask::ReadQueue(name)),
            Effect::Watch(names) => self.ask(Ask::Watch(names)),
            Effect::Apply { device, changes, revert_after } => match self.control_of(&device) {
                Ok(control) => control.apply(device, changes, revert_after),
                Err(why) => self.tell(Message::Applied { device, result: Err(why) }),
            },
            Effect::PlanUndo { device } => match &self.control {
                Some(control) => control.plan_undo(device),
                None => self.tell(Message::UndoPlan { device, plan: Err(self.why_not()) }),
            },
            Effect::Undo { device } => match self.control_of(&device) {
                Ok(control) => control.undo(device),
                Err(why) => self.tell(Message::UndoDone { device, result: Err(why) }),
            },
            Effect::PlanRedo { device } => match &self.control {
                Some(control) => control.plan_redo(device),
                None => self.tell(Message::RedoPlan { device, plan: Err(self.why_not()) }),
            },
            Effect::Redo { device } => match self.control_of(&device) {
                Ok(control) => control.redo(device),
                Err(why) => self.tell(Message::RedoDone { device, result: Err(why) }),
            },
            Effect::ReadBoot { device } => match &self.control {
                Some(control) => control.read_boot(device),
                None => self.tell(Message::BootState { device, state: Err(self.why_not()) }),
            },
            Effect::Confirm { device } => {
                if let Some(control) = &self.control {
                    control.confirm(device);
                }
            }
            Effect::GiveUp { device } => {
                if let Some(control) = &self.control {
                    control.give_up(&device);
                }
            }
            Effect::StartRun { .. } if self.replay.is_some() => {
                self.tell(Message::RunFinished(Err(self.why_not())));
            }
            Effect::StartRun { .. } if !self.root.is_live() => {
                self.tell(Message::RunFinished(Err(
                    "a captured tree can be looked at, not measured".to_owned()
                )));
            }
            Effect::StartRun { .. } if self.experiment.as_ref().is_some_and(Experimenter::going) => {
                let why = "an experiment is going on, which would measure it, too; stop it first";
                self.tell(Message::RunFinished(Err(why.to_owned())));
            }
            Effect::StartRun { jobs, target, busy_ok } => {
                let order = Order { jobs, target, scratch: self.scratch.clone(), busy_ok };
                match Conductor::start(self.root.clone(), order, &self.events) {
                    Ok(run) => self.run = Some(run),
                    Err(e) => self.tell(Message::RunFinished(Err(format!("no thread can be started: {e}")))),
                }
            }
            Effect::StopRun => {
                if let Some(run) = &self.run {
                    run.stop();
                }
            }
            Effect::StartExperiment(order) => {
                if let Err(why) = self.start_experiment(*order) {
                    self.tell(Message::ExperimentEnded(Err(NotBegun::Refused(why))));
                }
            }
            Effect::StopExperiment => {
                if let Some(experiment) = &self.experiment {
                    experiment.stop();
                }
            }
            Effect::Replay(order) => {
                // A source that has ended takes no orders, and was told of by its thread.
                let _ = self.replay.as_ref().map(|orders| orders.send(order));
            }
            Effect::SaveView(view) => self.view.save(view),
            // The loop does these itself and does not pass them on.
            Effect::Suspend | Effect::Quit => {}
        }
    }

    /// Starts an experiment, or says why not.
    fn start_experiment(&mut self, order: ExperimentOrder) -> Result<(), String> {
        // Without a live host there is no control.
        let control = self.control_of(&order.device)?;
        if control.works_on(&order.device) {
            return Err(format!("the settings of {} are being changed", order.device.name));
        }
        if self.experiment.as_ref().is_some_and(Experimenter::going) {
            return Err("an experiment is going on already".to_owned());
        }
        if self.run.as_ref().is_some_and(Conductor::going) {
            return Err(
                "a run is going on, and an experiment would measure it, too; stop it first".to_owned()
            );
        }
        let journal = control.journal().clone();
        let started =
            Experimenter::start(self.root.clone(), journal, order, self.state.clone(), &self.events);
        self.experiment = Some(started.map_err(|e| format!("no thread can be started: {e}"))?);
        Ok(())
    }

    /// What carries out changes of a device, unless they can not be made now.
    fn control_of(&self, device: &DeviceId) -> Result<&Control, String> {
        if self.experiment.as_ref().is_some_and(|e| e.holds(device)) {
            return Err(format!(
                "an experiment is going on with {}, and its settings are the experiment's until it ends",
                device.name
            ));
        }
        self.control.as_ref().ok_or_else(|| self.why_not())
    }

    /// Stops what is going on, and says of what there is something to say.
    #[must_use]
    pub fn leave(self) -> LastWord {
        if let Some(run) = &self.run {
            run.stop();
        }
        if let Some(experiment) = &self.experiment {
            experiment.stop();
        }
        // Settings first; a run and an experiment do not go on together.
        let mut last = self.experiment.map_or_else(LastWord::default, |e| e.leave(RUN_ENDS_WITHIN));
        self.view.finish(VIEW_WRITTEN_WITHIN);
        if self.run.is_some_and(|run| !run.join(RUN_ENDS_WITHIN)) {
            last.stuck = Some("the run's device does not answer; its threads were left behind".to_owned());
        }
        last
    }

    fn why_not(&self) -> String {
        let reason = if self.replay.is_some() { LOOKED_AT } else { CAPTURED };
        reason.to_owned()
    }

    fn ask(&self, ask: Ask) {
        if self.asks.send(ask).is_err() {
            self.tell(Message::Notice(
                Level::Error,
                "the watcher has ended; what is shown no longer moves".to_owned(),
            ));
        }
    }

    fn tell(&self, message: Message) {
        // The loop is the caller, so it listens.
        let _ = self.events.send(Event::Message(message));
    }
}

const CAPTURED: &str = "a captured tree can be looked at, not changed";
