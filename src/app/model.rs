//! Everything the screen knows.

use std::collections::VecDeque;

use crate::config::view::View;
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::telemetry::rates::Rates;
use crate::units::Nanos;
use crate::workload::job::Job;

use super::dialogs::Dialog;
use super::fleet::Fleet;
use super::look::Look;
use super::message::{HostLine, Level};
use super::past::{ChartSpan, Moment, Past};
use super::replay::ReplayState;
use super::run::Run;
use super::screens::devices::DevicesScreen;
use super::screens::experiment::ExperimentScreen;
use super::screens::experiment::course::Course;
use super::screens::messages::{KEPT, MessagesScreen, Said};
use super::screens::settings::SettingsScreen;
use super::screens::workload::WorkloadScreen;

/// What is fixed when the program starts.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// No characters beyond ASCII: `--ascii`, or a locale that is not UTF-8.
    pub ascii: bool,
    /// The presets of the workload screen, in order.
    pub presets: Vec<PresetRow>,
    /// The scratch file is there already and can only be read: that of a sandbox without root.
    pub scratch_is_read_only: bool,
    /// The device or partition that is chosen at the start.
    pub choose: Option<KernelName>,
    /// What was chosen in the list the last time.
    pub view: View,
}

/// A preset as the workload screen shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetRow {
    /// Its name.
    pub name: String,
    /// The question that it answers.
    pub question: String,
    /// What it must not be used for.
    pub not_for: String,
    /// What it runs, at the same time.
    pub jobs: Vec<Job>,
}

impl PresetRow {
    /// What it does to caches and to a target: `is direct and writes to a scratch file made for it`.
    #[must_use]
    pub fn nature(&self) -> String {
        let direct = self.jobs.iter().filter(|j| j.direct).count();
        let cache = match direct {
            0 => "is buffered",
            n if n == self.jobs.len() => "is direct",
            _ => "is direct in part",
        };
        let writes = self.jobs.iter().any(|j| j.rw.writes());
        let writes = if writes { "writes, to a scratch file made for it" } else { "only reads" };
        format!("{cache} and {writes}")
    }
}

/// The screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Screen {
    /// 1
    #[default]
    Devices,
    /// 2
    Settings,
    /// 3
    Workload,
    /// 4
    Experiment,
    /// 7
    Messages,
}

/// Whether settings can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rights {
    /// Not tried yet.
    #[default]
    Unknown,
    /// They can.
    Write,
    /// They can not, and why.
    ReadOnly(String),
}

/// The line above the footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// How much it matters.
    pub level: Level,
    /// What is said.
    pub text: String,
    /// When it was said.
    pub at: Nanos,
}

/// How long a status stays.
pub const STATUS_STAYS: Nanos = Nanos(8_000_000_000);

/// The state of the screen. It changes only in [`super::update::update`].
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Columns of the terminal.
    pub width: u16,
    /// Rows of the terminal.
    pub height: u16,
    /// No characters beyond ASCII.
    pub ascii: bool,
    /// `CLOCK_MONOTONIC` as last told.
    pub now: Nanos,
    /// The wall clock as last told.
    pub wall: String,
    /// The facts of the first line.
    pub host: HostLine,
    /// Whether settings can be written.
    pub rights: Rights,
    /// The screen shown.
    pub screen: Screen,
    /// Dialogs above it; the last is on top.
    pub dialogs: Vec<Dialog>,
    /// The devices.
    pub fleet: Fleet,
    /// All leaves together, as of the newest sample (see [`crate::telemetry::total`]); None before the first.
    pub total: Option<Box<Rates>>,
    /// Screen 1.
    pub devices: DevicesScreen,
    /// Screen 2.
    pub settings: SettingsScreen,
    /// Screen 3.
    pub workload: WorkloadScreen,
    /// Screen 4.
    pub experiment: ExperimentScreen,
    /// Screen 7.
    pub messages: MessagesScreen,
    /// The times of the samples.
    pub past: Past,
    /// What the charts show of it.
    pub chart_span: ChartSpan,
    /// The moment that screen 1 shows; None if it shows the newest.
    pub look: Option<Look>,
    /// Where the record is that is shown; None if the screen is live.
    pub replay: Option<ReplayState>,
    /// The run, going or ended.
    pub run: Option<Run>,
    /// The experiment, going or ended.
    pub course: Option<Box<Course>>,
    /// The line above the footer.
    pub status: Option<Status>,
    /// The program was asked to end.
    pub leaving: bool,
    /// What is kept of the list for the next start.
    pub(super) view: View,
    pub(super) watched: Vec<KernelName>,
    pub(super) dirty: bool,
}

impl Model {
    /// The state before anything happened.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let mut model = Self {
            ascii: options.ascii,
            devices: DevicesScreen { choose: options.choose, ..DevicesScreen::default() },
            workload: WorkloadScreen {
                scratch_is_read_only: options.scratch_is_read_only,
                ..WorkloadScreen::new(options.presets)
            },
            dirty: true,
            ..Self::default()
        };
        super::view::recall(&mut model, options.view);
        model
    }

    /// Whether something shown changed since the last call; the screen need not be drawn otherwise.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Why nothing can be written; None if it can, as far as is known.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        match &self.rights {
            Rights::ReadOnly(why) => Some(why),
            Rights::Unknown | Rights::Write => None,
        }
    }

    /// Whether an experiment goes on.
    #[must_use]
    pub fn experimenting(&self) -> bool {
        self.going().is_some()
    }

    /// The experiment that goes on.
    fn going(&self) -> Option<&Course> {
        self.course.as_deref().filter(|c| c.going())
    }

    /// Why the settings of this device can not be written; None if they can, as far as is known.
    #[must_use]
    pub fn why_not_write(&self, device: &DeviceId) -> Option<String> {
        let experiment = self.going().is_some_and(|c| c.order.device.same_device(device));
        let held = || format!("an experiment goes on and holds the settings of {}", device.name);
        self.read_only().map(str::to_owned).or_else(|| experiment.then(held))
    }

    /// Why the process is not to be stopped now, and what to do; None if it may be. Settings of a trial would stay on the
    /// device for as long as nobody lets the process go on, and a run measured across it says nothing.
    #[must_use]
    pub fn why_not_suspend(&self) -> Option<String> {
        let on = self.going().map(|c| {
            format!("an experiment holds the settings of {}; stop it first (4, Esc)", c.order.device.name)
        });
        let run = self.run.as_ref().is_some_and(Run::going);
        let why = on.or_else(|| run.then(|| "a run goes on; stop it first (3, Esc)".to_owned()))?;
        Some(format!("no Ctrl-Z: {why}"))
    }

    /// The moment at which something is seen now. On a record the clock of this host says nothing.
    pub(super) fn seen(&self) -> Moment {
        match &self.replay {
            Some(_) => self.past.newest().unwrap_or_default(),
            None => self.past.now(self.now),
        }
    }

    /// Says something: in the status line, and for good in the messages.
    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        let said = VecDeque::len(&self.messages.said);
        if said >= KEPT {
            self.messages.said.pop_front();
        }
        self.messages.said.push_back(Said { wall: self.wall.clone(), level, text: text.clone() });
        self.status = Some(Status { level, text, at: self.now });
        self.dirty = true;
    }

    /// Says something that need not be kept: why a key does nothing.
    pub fn hint(&mut self, text: impl Into<String>) {
        self.status = Some(Status { level: Level::Info, text: text.into(), at: self.now });
        self.dirty = true;
    }
}
