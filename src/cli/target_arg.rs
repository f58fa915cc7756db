//! What a workload uses, from the command line: a device, a file, or a scratch file that is made for it.

use std::path::Path;

use super::outcome::Failure;
use crate::sys::root::SysRoot;
use crate::workload::guard::Refusal;
use crate::workload::job::Job;
use crate::workload::keys::JobError;
use crate::workload::outcome::RunError;
use crate::workload::target::{Target, TargetError, TargetKind};

/// What was said of the target.
pub(super) struct Named<'a> {
    /// A device, a file, or a directory for a scratch file.
    pub(super) path: &'a Path,
    /// Opens a device that the command line arms for writing; None if it arms none.
    pub(super) armed: &'a dyn Fn() -> Option<Result<Target, TargetError>>,
    /// The command line names a device that may be written to.
    pub(super) arms: bool,
    /// Nobody named it: it is the sandbox's, made for this run.
    pub(super) own: bool,
}

/// Makes the scratch file in the directory that was named.
pub(super) type Scratch<'a> = dyn FnMut() -> Result<Target, TargetError> + 'a;

impl Named<'_> {
    /// Opens it for these jobs.
    pub(super) fn open(
        &self,
        root: &SysRoot,
        jobs: &[Job],
        scratch: &mut Scratch<'_>,
    ) -> Result<Target, Failure> {
        let mut target = match jobs.iter().find(|j| j.rw.writes()) {
            Some(job) => self.to_write(root, job, scratch)?,
            None => self.to_read(root, scratch)?,
        };
        // The sandbox's file has no name, only a descriptor.
        if self.own && target.kind != TargetKind::Device {
            "the sandbox's scratch file".clone_into(&mut target.shown);
        }
        Ok(target)
    }

    /// The target of jobs that only read.
    fn to_read(&self, root: &SysRoot, scratch: &mut Scratch<'_>) -> Result<Target, Failure> {
        if self.arms {
            return Err(Failure::Usage(
                "--write-device arms a job that writes, and this one only reads".to_owned(),
            ));
        }
        match Target::open(root, self.path).map_err(target_failure)? {
            Some(target) => Ok(target),
            None => scratch().map_err(target_failure),
        }
    }

    /// The target of a job that writes: a device that is armed, or a file made for the run.
    fn to_write(&self, root: &SysRoot, job: &Job, scratch: &mut Scratch<'_>) -> Result<Target, Failure> {
        let job = format!("{} (rw={})", job.name, job.rw.word());
        if let Some(armed) = (self.armed)() {
            return armed.map_err(target_failure);
        }
        let refused = |r: Refusal| Err(target_failure(r.into()));
        match Target::open(root, self.path) {
            Ok(None) => scratch().map_err(target_failure),
            Ok(Some(target)) if self.own => Ok(target.made_for_the_run()),
            Ok(Some(target)) => match (target.kind, target.backing) {
                (TargetKind::Device, Some(b)) if b.row == b.whole => {
                    refused(Refusal::NotArmed { job, node: target.shown, name: b.whole })
                }
                (TargetKind::Device, Some(b)) => refused(Refusal::Partition(b.row, b.whole)),
                _ => refused(Refusal::ExistingFile(job, target.shown)),
            },
            Err(TargetError::Open(shown, e)) if e.kind() == std::io::ErrorKind::NotFound => {
                refused(Refusal::NoFile(job, shown))
            }
            Err(TargetError::Hidden(path, head)) => refused(Refusal::Hidden(path, head)),
            Err(e) => Err(target_failure(e)),
        }
    }
}

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
