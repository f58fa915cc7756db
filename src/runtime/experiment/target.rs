//! What an experiment's trials use, and what is known of it before the first.

use std::sync::atomic::AtomicBool;

use super::Prepared;
use super::error::BeginError;
use crate::experiment::asked::Designed;
use crate::experiment::cells::CellsError;
use crate::experiment::design::Design;
use crate::experiment::jobs::jobs_of;
use crate::experiment::weak::{self, Surroundings, Weak};
use crate::sys::attr;
use crate::sys::link::Attachment;
use crate::sys::memory::Memory;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::sys::stack;
use crate::trial;
use crate::units::{Bytes, Sectors};
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::named::Named;
use crate::workload::scratch;
use crate::workload::target::{Target, TargetKind};

/// The jobs of all cells, the baseline's first.
///
/// # Errors
/// The workload of a cell can not be made.
pub fn jobs_of_all(design: &Design) -> Result<Vec<Vec<Job>>, CellsError> {
    (0..design.cells.len()).map(|cell| jobs_of(design, cell, 1)).collect()
}

/// Opens what the trials of all cells use: the row that was named, or the design's target, unless it was `made` for them. Once, so that all find the same
/// places.
///
/// # Errors
/// What can not be read; a workload that writes, and nothing to write to.
pub(super) fn open(
    root: &SysRoot,
    prepared: &Prepared,
    made: Option<Target>,
    stop: &AtomicBool,
    tell: &dyn Fn(&Progress),
) -> Result<Target, BeginError> {
    let Prepared { row, designed: Designed { design, .. }, .. } = prepared;
    let jobs: Vec<Job> = jobs_of_all(design)?.concat();
    trial::check(root, &jobs)?;
    let node = SysRoot::node(row);
    let path = design.target.as_deref().unwrap_or(&node);
    let mut scratch = || scratch::make(root, path, &jobs, stop, &mut |p| tell(&p));
    if let Some(no) = no_place(root, prepared)? {
        return Err(no);
    }
    let target = match made {
        Some(target) => target,
        None => Named { path, armed: &|| None, own: false }.open(root, &jobs, &mut scratch)?,
    };
    for job in &jobs {
        target.region(job)?;
    }
    Ok(target)
}

/// That there is nothing to write to: a workload that writes, and a device.
///
/// # Errors
/// The workload of a cell can not be made.
pub fn no_place(root: &SysRoot, prepared: &Prepared) -> Result<Option<BeginError>, CellsError> {
    let Prepared { row, designed: Designed { design, .. }, .. } = prepared;
    let jobs = jobs_of_all(design)?.concat();
    let Some(job) = jobs.iter().find(|j| j.rw.writes()) else { return Ok(None) };
    let device = match &design.target {
        None => !prepared.sandbox,
        Some(path) => {
            matches!(Target::open(root, path), Ok(Some(t)) if t.kind == TargetKind::Device)
        }
    };
    let job = format!("{} (rw={})", job.name, job.rw.word());
    Ok(device.then(|| BeginError::Writes { job, device: row.kernel() }))
}

/// What is weak about the workload, of any cell. `target` is None before it is opened.
///
/// # Errors
/// The workload of a cell can not be made.
pub fn weaknesses(
    root: &SysRoot,
    design: &Design,
    whole: &KernelName,
    state: &QueueState,
    target: Option<&Target>,
) -> Result<Vec<Weak>, CellsError> {
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
        below: used.as_ref().map(|used| stack::all_below(root, used)).unwrap_or_default(),
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
