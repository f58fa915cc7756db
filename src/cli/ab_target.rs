//! What an experiment's trials use, and what is known of it before the first.

use std::sync::atomic::AtomicBool;

use super::outcome::Failure;
use super::progress_line::ProgressLine;
use super::target_arg::{Named, run_failure, target_failure};
use crate::experiment::design::Design;
use crate::experiment::jobs::jobs_of;
use crate::experiment::weak::{self, Surroundings, Weak};
use crate::sys::attr;
use crate::sys::link::Attachment;
use crate::sys::memory::Memory;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::trial;
use crate::units::{Bytes, Sectors};
use crate::workload::job::Job;
use crate::workload::scratch;
use crate::workload::target::{Target, TargetKind};

/// The jobs of all cells, the baseline's first.
pub(super) fn jobs_of_all(design: &Design) -> Result<Vec<Vec<Job>>, Failure> {
    (0..design.cells.len())
        .map(|cell| jobs_of(design, cell, 1).map_err(|e| Failure::Usage(e.to_string())))
        .collect()
}

/// Opens what the trials of all cells use: the row that was named, or what `--target` says. Once, so that all find the same
/// places.
///
/// # Errors
/// What can not be read; a workload that writes, and nothing to write to.
pub(super) fn open(
    root: &SysRoot,
    design: &Design,
    row: &KernelName,
    stop: &AtomicBool,
    line: &mut ProgressLine,
) -> Result<Target, Failure> {
    let jobs: Vec<Job> = jobs_of_all(design)?.concat();
    trial::check(root, &jobs).map_err(run_failure)?;
    let node = SysRoot::node(row);
    let name = row.kernel();
    let path = design.target.as_deref().unwrap_or(&node);
    let mut scratch = || scratch::make(root, path, &jobs, stop, &mut |p| line.show(&p));
    let named = Named { path, armed: &|| None, arms: false, own: false };
    if let Some(job) = jobs.iter().find(|j| j.rw.writes())
        && let Ok(Some(target)) = Target::open(root, path)
        && target.kind == TargetKind::Device
    {
        return Err(Failure::Unsafe(format!(
            "{} (rw={}) writes, and an experiment writes to no device itself: give --target DIR, a directory on a file \
             system of {name}, and a scratch file is made there",
            job.name,
            job.rw.word()
        )));
    }
    let target = named.open(root, &jobs, &mut scratch)?;
    for job in &jobs {
        target.region(job).map_err(target_failure)?;
    }
    Ok(target)
}

/// What is weak about the workload, of any cell. `target` is None before it is opened.
///
/// # Errors
/// The workload of a cell can not be made.
pub(super) fn weaknesses(
    root: &SysRoot,
    design: &Design,
    whole: &KernelName,
    state: &QueueState,
    target: Option<&Target>,
) -> Result<Vec<Weak>, Failure> {
    let size = |name| attr::read_u64(&root.block(name).join("size")).map(|n| Sectors(n).bytes());
    let depth = Attachment::read(root, whole).queue_depth.map(u64::from);
    let (span, used): (Option<Bytes>, Option<KernelName>) = match target {
        Some(target) => (Some(target.size), target.backing.as_ref().map(|b| b.whole.clone())),
        None if design.target.is_none() => (size(whole), Some(whole.clone())),
        None => (None, None),
    };
    let on = Surroundings {
        memory: Memory::read(root).total_bytes,
        span,
        depth: depth.or_else(|| state.number("nr_requests")),
        tuned: Some(whole.clone()),
        used,
    };
    let mut out: Vec<Weak> = Vec::new();
    for jobs in jobs_of_all(design)? {
        for weak in weak::named(&jobs, design.trial, &on) {
            if !out.iter().any(|o| o.weakness == weak.weakness) {
                out.push(weak);
            }
        }
    }
    Ok(out)
}
