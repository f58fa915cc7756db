//! Why a workload could not be run, as the end of a command.

use super::outcome::Failure;
use crate::workload::guard::Refusal;
use crate::workload::keys::JobError;
use crate::workload::outcome::RunError;
use crate::workload::target::TargetError;

/// The end of a command that was stopped; which signal it was is known further up.
pub(super) fn stopped() -> Failure {
    Failure::Signal(2)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
pub(super) fn usage(e: JobError) -> Failure {
    Failure::Usage(e.to_string())
}

/// Why a target can not be used, as the end of a command.
#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
pub(super) fn target_failure(e: TargetError) -> Failure {
    let text = e.to_string();
    match e {
        TargetError::NotPermitted(_) => Failure::NotPermitted(text),
        TargetError::Io(_, _, ref e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(text)
        }
        TargetError::Open(_, ref e) if e.kind() == std::io::ErrorKind::NotFound => Failure::Usage(text),
        TargetError::Open(..) | TargetError::Io(..) => Failure::GoneOrBusy(text),
        TargetError::Refused(Refusal::Open(_, ref e)) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(text)
        }
        TargetError::NoScratch(_) | TargetError::Refused(_) => Failure::Unsafe(text),
        TargetError::Full(..) | TargetError::Unwritten(..) => Failure::Workload(text),
        TargetError::Stopped => stopped(),
        TargetError::WrongType(..)
        | TargetError::Hidden(..)
        | TargetError::NoDirect(_)
        | TargetError::NotPolled(_)
        | TargetError::Misaligned { .. }
        | TargetError::Memory(..)
        | TargetError::Empty { .. } => Failure::Usage(text),
    }
}

/// Why a run came to nothing, as the end of a command.
pub(super) fn run_failure(e: RunError) -> Failure {
    match e {
        RunError::Writes(..) | RunError::Unsafe(_) => Failure::Unsafe(e.to_string()),
        RunError::NotPermitted(text) => Failure::NotPermitted(text),
        RunError::Job(e) => usage(e),
        RunError::Target(e) => target_failure(e),
        RunError::Stopped => stopped(),
        RunError::NoEngine(_) | RunError::Start(..) | RunError::Failed { .. } | RunError::Engine(_) => {
            Failure::Workload(e.to_string())
        }
    }
}
