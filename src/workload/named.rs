//! What a workload uses, as it was named: a device, a file, or a directory in which a scratch file is made for it.

use std::path::Path;

use super::guard::Refusal;
use super::job::Job;
use super::target::{Target, TargetError, TargetKind};
use crate::sys::root::SysRoot;

/// What was said of the target.
pub struct Named<'a> {
    /// A device, a file, or a directory for a scratch file.
    pub path: &'a Path,
    /// Opens a device that the command line arms for writing; None if it arms none.
    pub armed: &'a dyn Fn() -> Option<Result<Target, TargetError>>,
    /// Nobody named it: it is the sandbox's, made for this run.
    pub own: bool,
}

/// Makes the scratch file in the directory that was named.
pub type Scratch<'a> = dyn FnMut() -> Result<Target, TargetError> + 'a;

impl Named<'_> {
    /// Opens it for these jobs.
    ///
    /// # Errors
    /// What can not be opened; what a job would write to and may not.
    pub fn open(
        &self,
        root: &SysRoot,
        jobs: &[Job],
        scratch: &mut Scratch<'_>,
    ) -> Result<Target, TargetError> {
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
    fn to_read(&self, root: &SysRoot, scratch: &mut Scratch<'_>) -> Result<Target, TargetError> {
        match Target::open(root, self.path)? {
            Some(target) => Ok(target),
            None => scratch(),
        }
    }

    /// The target of a job that writes: a device that is armed, or a file made for the run.
    fn to_write(&self, root: &SysRoot, job: &Job, scratch: &mut Scratch<'_>) -> Result<Target, TargetError> {
        let job = format!("{} (rw={})", job.name, job.rw.word());
        if let Some(armed) = (self.armed)() {
            return armed;
        }
        let refused = |r: Refusal| Err(r.into());
        match Target::open(root, self.path) {
            Ok(None) => scratch(),
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
            Err(e) => Err(e),
        }
    }
}
