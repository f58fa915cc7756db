//! What the screen asks of the outside. The runtime carries these out and answers with messages.

use std::path::PathBuf;

use crate::config::view::View;
use crate::experiment::asked::Designed;
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::tuning::change::Change;
use crate::units::Nanos;
use crate::workload::job::Job;

use super::replay::ReplayOrder;

/// Something to be done outside of the screen's state.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Read this queue now; answered with [`super::message::Message::Queue`].
    ReadQueue(KernelName),
    /// These devices are on the screen (or have staged changes): keep reading their queues, and no others. Replaces
    /// the list of before.
    Watch(Vec<KernelName>),
    /// Write these changes as one transaction; answered with [`super::message::Message::Applied`].
    Apply {
        /// The device.
        device: DeviceId,
        /// The changes, in the order of the catalogue.
        changes: Vec<Change>,
        /// None: kept. A time: held, and put back when it is over unless [`Effect::Confirm`] comes before;
        /// [`super::message::Message::Held`] tells that it is in force and that it is over.
        revert_after: Option<Nanos>,
    },
    /// Keep the changes of this device that would be put back; answered with [`super::message::Message::Held`] that
    /// says that it is over. Writes nothing.
    Confirm {
        /// The device.
        device: DeviceId,
    },
    /// Find out what an undo would put back; answered with [`super::message::Message::UndoPlan`]. Writes nothing.
    PlanUndo {
        /// The device.
        device: DeviceId,
    },
    /// Take back the last kept change that is not undone; answered with [`super::message::Message::UndoDone`].
    Undo {
        /// The device.
        device: DeviceId,
    },
    /// Find out what a redo would write; answered with [`super::message::Message::RedoPlan`]. Writes nothing.
    PlanRedo {
        /// The device.
        device: DeviceId,
    },
    /// Do again what was undone last; answered with [`super::message::Message::RedoDone`].
    Redo {
        /// The device.
        device: DeviceId,
    },
    /// Find out what the settings were before the first change since boot; answered with
    /// [`super::message::Message::BootState`]. Writes nothing.
    ReadBoot {
        /// The device.
        device: DeviceId,
    },
    /// Wait no longer for the changes, undo or redo of this device: write nothing more, and put back what was written as soon
    /// as the kernel lets go. The answer to them still comes.
    GiveUp {
        /// The device.
        device: DeviceId,
    },
    /// Start a run; answered with progress and [`super::message::Message::RunFinished`].
    StartRun {
        /// The jobs, at the same time.
        jobs: Vec<Job>,
        /// What they use.
        target: RunTarget,
        /// The person was told that the device is busy with other people's I/O, and started all the same.
        busy_ok: bool,
    },
    /// Stop the run; [`super::message::Message::RunFinished`] still comes.
    StopRun,
    /// Start an experiment; answered with [`super::message::Message::ExperimentBegan`], its events, and
    /// [`super::message::Message::ExperimentEnded`] at last, which is the only answer if it can not begin. Not while a run or
    /// another experiment goes on.
    StartExperiment(Box<ExperimentOrder>),
    /// Stop the experiment and put its settings back; [`super::message::Message::ExperimentEnded`] still comes, with what
    /// follows from the trials until then.
    StopExperiment,
    /// Keep this for the next start; a notice comes if that fails.
    SaveView(View),
    /// To the source of a record, where the screen is on one; answered with [`super::message::Message::Replay`].
    Replay(ReplayOrder),
    /// Stop the process, as Ctrl-Z does to any other; it goes on when the shell lets it.
    Suspend,
    /// Leave. A run or an experiment was stopped before, by an effect of its own.
    Quit,
}

/// An experiment that is to be conducted.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentOrder {
    /// The whole device, whose settings are varied.
    pub device: DeviceId,
    /// What its trials read, unless the design names another target: the device itself, or a partition of it.
    pub row: KernelName,
    /// The design, and what there was to say of it.
    pub designed: Designed,
    /// The person was told that the device is busy with other people's I/O
    /// ([`super::message::NotBegun::Busy`]), and started all the same.
    pub busy_ok: bool,
    /// The words of the command line that conducts the same experiment, without the program's name, for the record.
    pub command: Vec<String>,
}

/// What a run uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunTarget {
    /// A device, or the partition at `path`.
    Device {
        /// The whole device.
        device: DeviceId,
        /// The node to be opened, read-only.
        path: PathBuf,
    },
    /// A file made for the run and removed after it.
    Scratch,
}
