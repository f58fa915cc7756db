//! Everything that can happen to the screen. The runtime sends these; [`super::update::update`] digests them.

use std::path::PathBuf;
use std::time::Duration;

use crate::experiment::analysis::Analysis;
use crate::experiment::event::{Ending, Event};
use crate::experiment::weak::Weak;
use crate::sys::device::{Device, DeviceId};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::telemetry::rates::Rates;
use crate::telemetry::sample::RowKey;
use crate::trial::result::TrialResult;
use crate::tuning::change::ApplyReport;
use crate::units::Nanos;
use crate::workload::live::Progress;

use super::key::Key;
use super::replay::ReplayState;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Message {
    /// A key was pressed.
    Key(Key),
    /// The terminal has this size now. Sent once at the start too.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// Time went on. About once a second, and before anything that should carry the time; it dirties the screen
    /// only if something shown depends on it.
    Tick {
        /// `CLOCK_MONOTONIC`.
        now: Nanos,
        /// The wall clock as it is to be shown: `10:42`, or `10:42:07` where bytes do not matter.
        wall: String,
    },
    /// The facts of the first line.
    Host(HostLine),
    /// All devices there are now. Those that are missing from it count as gone.
    Inventory(Vec<Device>),
    /// Newer readings of some devices; all others are as they were.
    Readings(Vec<Device>),
    /// Rates of every row of diskstats. In the first sample each has only None.
    Rates {
        /// `CLOCK_MONOTONIC` of the sample.
        at: Nanos,
        /// The other clocks at that moment, as far as the source has them.
        when: When,
        /// The rows, partitions included.
        rows: Vec<(RowKey, Rates)>,
        /// All leaves together (see [`crate::telemetry::total`]); None where nobody adds them up.
        total: Option<Box<Rates>>,
    },
    /// Where the record's source is, where the screen is on a record.
    Replay(ReplayState),
    /// A queue was read; an empty state is a device without one.
    Queue {
        /// The device.
        device: KernelName,
        /// All its attributes.
        state: QueueState,
    },
    /// Whether settings can be written, found by trying; the reason if not.
    Rights(Result<(), String>),
    /// A set of changes was carried out, refused or rolled back.
    Applied {
        /// The device as it was named in [`super::effect::Effect::Apply`].
        device: DeviceId,
        /// What became of it, or why it could not even be tried (the device is gone).
        result: Result<ApplyReport, String>,
    },
    /// The answer to [`super::effect::Effect::PlanUndo`].
    UndoPlan {
        /// The device.
        device: DeviceId,
        /// What an undo would put back, in order; or why there is nothing to undo.
        plan: Result<Vec<UndoStep>, String>,
    },
    /// An undo was carried out.
    UndoDone {
        /// The device.
        device: DeviceId,
        /// What became of it, or why it could not be tried.
        result: Result<ApplyReport, String>,
    },
    /// The answer to [`super::effect::Effect::PlanRedo`].
    RedoPlan {
        /// The device.
        device: DeviceId,
        /// What a redo would write, in order; or why there is nothing to redo.
        plan: Result<Vec<UndoStep>, String>,
    },
    /// A redo was carried out.
    RedoDone {
        /// The device.
        device: DeviceId,
        /// What became of it, or why it could not be tried.
        result: Result<ApplyReport, String>,
    },
    /// The answer to [`super::effect::Effect::ReadBoot`].
    BootState {
        /// The device.
        device: DeviceId,
        /// The queue as it was before the first change since boot; or why that is not known.
        state: Result<QueueState, String>,
    },
    /// Changes of this device are held or are so no longer.
    Held {
        /// The device.
        device: DeviceId,
        /// When they are put back unless confirmed, on `CLOCK_MONOTONIC`; None when that is over: they were confirmed
        /// or put back.
        until: Option<Nanos>,
    },
    /// The run says how far it is.
    RunProgress(Progress),
    /// What the kernel counted on the run's device since the last of these, from diskstats.
    RunKernel(KernelFigures),
    /// The run ended: with figures, or with the reason why there are none.
    RunFinished(Result<Box<TrialResult>, String>),
    /// The experiment begins: what can be known before its first trial.
    ExperimentBegan(Box<ExperimentBeginning>),
    /// What happened in the experiment, in the order of time.
    Experiment(Box<Event>),
    /// How far the trial is that goes on; before [`Message::ExperimentBegan`], how far the scratch file is written.
    ExperimentProgress(Box<Progress>),
    /// What follows from the trials so far: after each block, and at each look. Made between trials, never while one is
    /// measured.
    ExperimentAnalysis(Box<Analysis>),
    /// The experiment ended, and its settings are back but for what it says; or it could not begin.
    ExperimentEnded(Result<Box<ExperimentEnd>, NotBegun>),
    /// The process is to stop (Ctrl-Z, SIGTSTP); answered with [`super::effect::Effect::Suspend`], unless something goes on
    /// that would be left as it is in the middle.
    Suspend,
    /// Something to be said: shown in the status line and kept in the messages.
    Notice(Level, String),
}

/// What can be known of an experiment before its first trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentBeginning {
    /// The whole device whose settings are varied.
    pub device: DeviceId,
    /// Where its record is; None if none is kept, and then `notes` say why.
    pub record: Option<PathBuf>,
    /// What is weak about the workload.
    pub weak: Vec<Weak>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
}

/// An experiment that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentEnd {
    /// How.
    pub ending: Ending,
    /// Why, in a sentence's words.
    pub reason: String,
    /// What follows.
    pub analysis: Analysis,
    /// Settings that could not be put back, in sentences; empty in ordinary endings.
    pub not_restored: Vec<String>,
    /// What else is to be known, in sentences: those of [`ExperimentBeginning`] and what came since.
    pub notes: Vec<String>,
    /// Where its record is; None if none was kept.
    pub record: Option<PathBuf>,
}

/// Why an experiment could not begin, in words. No setting was touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotBegun {
    /// Others use the device: whose I/O and how much. To start all the same there is
    /// [`super::effect::ExperimentOrder::busy_ok`].
    #[error("{0}")]
    Busy(String),
    /// Anything else: rights, a target that can not be opened, a device that is gone or locked.
    #[error("{0}")]
    Refused(String),
    /// It was told to stop before it began.
    #[error("stopped before it began; nothing was changed")]
    Stopped,
}

/// A moment on the clocks that do not measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// `CLOCK_BOOTTIME`, which goes on while the host sleeps: the axis of the past, so that a sleep has its width.
    pub boot: Option<Nanos>,
    /// The date and time of day where the sample was taken, for labels.
    pub wall: Option<jiff::civil::DateTime>,
}

/// What the first line shows of the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLine {
    /// Host name.
    pub hostname: String,
    /// Kernel release, `6.18.4`.
    pub kernel: String,
    /// Online CPUs.
    pub cpus: usize,
    /// Who this process is: `root`, `uid 1000`.
    pub user: String,
    /// Share of the last 10 s in which some task waited for I/O, percent; None without pressure information.
    pub io_pressure_pct: Option<f64>,
    /// Time between samples.
    pub interval: Duration,
    /// Where this is not the plain host: `sandbox loop3`, `sysroot capture`; None otherwise.
    pub place: Option<String>,
}

/// One line of what an undo or a redo would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoStep {
    /// The attribute below `queue/`.
    pub name: String,
    /// What it reads now; None if unreadable.
    pub now: Option<String>,
    /// What it reads afterwards.
    pub back_to: String,
}

/// The kernel's view of the run's device over the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelFigures {
    /// Bytes read and written per second.
    pub bytes_per_s: Option<f64>,
    /// Mean read at the device, bytes.
    pub read_size: Option<f64>,
    /// Mean write at the device, bytes.
    pub write_size: Option<f64>,
    /// CPUs' worth of time that this program used, its own screen included.
    pub cpus: Option<f64>,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the record.
    Info,
    /// Worth a look.
    Warning,
    /// Something did not work.
    Error,
}

impl Level {
    /// The word beside the message, so that it is not told by colour alone.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}
