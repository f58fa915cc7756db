//! Why an experiment did not begin. No setting was touched then.

use crate::experiment::cells::CellsError;
use crate::sys::device_lock::LockError;
use crate::sys::name::KernelName;
use crate::trial::foreign::Foreign;
use crate::workload::outcome::RunError;
use crate::workload::target::TargetError;

/// What kept it from beginning.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Cells that should make no difference, and no control was asked for.
    #[error("{0}")]
    Greyed(String),
    /// The workload of a cell can not be made.
    #[error(transparent)]
    Cells(#[from] CellsError),
    /// Settings can not be written.
    #[error("{0}: {1}")]
    NoRights(KernelName, String),
    /// A job that writes, and a device to be written to.
    #[error(
        "{job} writes, and an experiment writes to no device itself: give --target DIR, a directory on a file system of {device}, and a scratch file is made there"
    )]
    Writes {
        /// The job and its direction.
        job: String,
        /// The device.
        device: String,
    },
    /// What the trials use can not be.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The jobs can not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A margin below what the machine can show, as its calibration has it.
    #[error("{0}")]
    Margin(String),
    /// Others use the device.
    #[error("{0}; an experiment would slow it down, and could not tell its I/O from its own")]
    Busy(Foreign),
    /// Another program has the device locked.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The record that was asked for can not be kept.
    #[error("no record can be kept there: {0}; nothing was changed")]
    NoRecord(String),
}

impl BeginError {
    /// It was told to stop before it began.
    #[must_use]
    pub const fn stopped(&self) -> bool {
        matches!(
            self,
            Self::Lock(LockError::Stopped(_))
                | Self::Target(TargetError::Stopped)
                | Self::Run(RunError::Stopped)
        )
    }
}
