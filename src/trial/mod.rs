//! L3: one measured execution of a job: settings and counters around it, and what both sides counted.

pub mod foreground;
pub mod foreign;
pub mod host;
mod own_writes;
pub mod result;
mod warnings;
pub mod watch;
mod window;
pub mod words;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::sys::page_cache;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::workload::durability::DropCaches;
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::outcome::{RunError, RunOutcome};
use crate::workload::run::run;
use crate::workload::target::Target;
use foreground::Alone;
use foreign::Foreign;
use host::HostFacts;
use result::{CpuUse, DeviceWindow, OtherIo, TrialResult};
use warnings::Facts;
use watch::Watch;
use window::Window;

/// Runs jobs once, at the same time, with the device's settings and counters taken around it.
///
/// As [`run_trial_beside`], where nobody else uses the device.
///
/// # Errors
/// As [`run_trial_beside`].
pub fn run_trial(
    root: &SysRoot,
    jobs: &[Job],
    target: &Target,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrialResult, RunError> {
    run_trial_beside(root, jobs, target, None, stop, Some(progress))
}

/// Runs jobs once, at the same time, with the device's settings and counters taken around it; foreground jobs alone before
/// that, for the same time. If others use the device, as was seen before, it ends when they wait too long ([`watch`]).
///
/// The window of `device` is the measured window: without a ramp it opens before the first I/O is issued and closes after
/// the last one is reaped, so that under direct I/O the kernel's bytes are the engine's; with a ramp it opens while I/O
/// is in flight, and the two may differ by as much as was in flight. Without somebody to tell progress to, none is made. CPU time is that of the workers' threads in the
/// window; what kernel threads do for them (io_uring's own workers, a loop device's) is only in the host's share.
///
/// # Errors
/// As [`run`], and where a right is missing for what was asked.
pub fn run_trial_beside(
    root: &SysRoot,
    jobs: &[Job],
    target: &Target,
    others: Option<&Foreign>,
    stop: &AtomicBool,
    mut progress: Option<&mut dyn FnMut(Progress)>,
) -> Result<TrialResult, RunError> {
    check(root, jobs)?;
    let trial = Trial { root, target, others, stop };
    let foreground = foreground::of(jobs)?;
    if foreground.is_empty() {
        return trial.measure(jobs, progress).map(|m| m.result(target, jobs));
    }
    let alone =
        trial.measure(&foreground, progress.as_mut().map(|p| &mut **p as &mut dyn FnMut(Progress)))?;
    if alone.outcome.interrupted {
        let mut result = alone.result(target, &foreground);
        let names: Vec<&str> = foreground.iter().map(|j| j.name.as_str()).collect();
        result.warnings.insert(
            0,
            format!("stopped while {} ran alone: the other jobs were never started", names.join(", ")),
        );
        return Ok(result);
    }
    let together = trial.measure(jobs, progress)?;
    let mut result = together.result(target, jobs);
    result.promises.extend(foreground::sentence(jobs));
    result.inflation = foreground::inflation(&alone.outcome.jobs, &result.jobs);
    let only_alone: Vec<String> =
        alone.warnings(target, &foreground).into_iter().filter(|w| !result.warnings.contains(w)).collect();
    result.warnings.extend(only_alone.into_iter().map(|w| format!("while the foreground ran alone: {w}")));
    result.alone = Some(Alone {
        window_s: alone.outcome.window.seconds(),
        jobs: alone.outcome.jobs,
        device: alone.device,
        others: alone.others,
        cpu: alone.cpu,
    });
    Ok(result)
}

/// Whether the jobs may be run by this process and together, before anything is prepared for them.
///
/// # Errors
/// A right that is missing, with what to do; a foreground without a background.
pub fn check(root: &SysRoot, jobs: &[Job]) -> Result<(), RunError> {
    foreground::of(jobs)?;
    if jobs.iter().any(|j| j.drop_caches == DropCaches::System) {
        page_cache::may_drop(root).map_err(|e| no_right(&e))?;
    }
    Ok(())
}

pub use window::at_edges;

/// What a trial's facts say of heat or of a link that became slower, in a sentence; None if nothing.
#[must_use]
pub fn heat(host: &HostFacts) -> Option<String> {
    warnings::link::throttling(&host.devices)
}

fn no_right(e: &crate::sys::attr::AttrError) -> RunError {
    RunError::NotPermitted(format!(
        "drop_caches=system: {e}; nothing was started; drop_caches=true drops the target's pages only and needs no right"
    ))
}

/// What all executions of a trial have in common.
struct Trial<'a> {
    root: &'a SysRoot,
    target: &'a Target,
    others: Option<&'a Foreign>,
    stop: &'a AtomicBool,
}

/// One execution.
struct Measured {
    outcome: RunOutcome,
    device: Option<DeviceWindow>,
    others: Option<OtherIo>,
    cpu: CpuUse,
    host: HostFacts,
    before: QueueState,
    after: QueueState,
    iostats: bool,
    stopped_for: Option<String>,
}

impl Trial<'_> {
    fn measure(
        &self,
        jobs: &[Job],
        progress: Option<&mut dyn FnMut(Progress)>,
    ) -> Result<Measured, RunError> {
        let whole = self.target.backing.as_ref().map(|b| &b.whole);
        let settings = || whole.map(|name| QueueState::read(self.root, name)).unwrap_or_default();
        if jobs.iter().any(|j| j.drop_caches == DropCaches::System) {
            page_cache::drop_all(self.root).map_err(|e| no_right(&e))?;
        }
        let mut host = HostFacts::read(self.root, whole, cpus_of(jobs).as_deref());
        let before = settings();
        let watch = self.others.and_then(|f| Watch::new(self.root, f, jobs));
        let mut window = Window::new(self.root, self.target.backing.as_ref(), watch, progress);
        let outcome = match (run(jobs, self.target, self.stop, &mut window), window.stopped_for()) {
            (Err(RunError::Stopped), Some(why)) => return Err(RunError::Unsafe(why.to_owned())),
            (outcome, _) => outcome?,
        };
        let after = settings();
        host.read_after(self.root);
        let iostats = before.number("iostats") != Some(0);
        let device = window.device(&outcome).filter(|counted| window::believable(counted, iostats));
        Ok(Measured {
            others: window.others(jobs, &outcome, self.target.per_sync()).filter(|_| device.is_some()),
            cpu: cpu_use(&outcome, window.cpu_shares()),
            iostats: iostats || device.is_some(),
            device,
            host,
            before,
            after,
            stopped_for: window.stopped_for().filter(|_| outcome.interrupted).map(str::to_owned),
            outcome,
        })
    }
}

impl Measured {
    fn warnings(&self, target: &Target, jobs: &[Job]) -> Vec<String> {
        Facts {
            jobs,
            outcome: &self.outcome,
            device: self.device.as_ref(),
            others: self.others.as_ref(),
            cpu: &self.cpu,
            host: &self.host,
            has_device: target.backing.is_some(),
            iostats: self.iostats,
            before: &self.before,
            after: &self.after,
            target: target.size,
            stopped_for: self.stopped_for.as_deref(),
        }
        .warnings()
    }

    fn result(self, target: &Target, jobs: &[Job]) -> TrialResult {
        let warnings = self.warnings(target, jobs);
        let outcome = self.outcome;
        TrialResult {
            target: target.shown.clone(),
            asked: jobs.to_vec(),
            engine: outcome.engine,
            window_s: outcome.window.seconds(),
            cpu: self.cpu,
            interrupted: outcome.interrupted,
            stopped_for: self.stopped_for,
            jobs: outcome.jobs,
            total: outcome.total,
            fairness: outcome.fairness,
            promises: outcome.promises,
            device: self.device,
            others: self.others,
            settings_before: by_name(&self.before),
            settings_after: by_name(&self.after),
            alone: None,
            inflation: Vec::new(),
            host: self.host,
            warnings,
        }
    }
}

/// The CPUs that all workers are kept on; None if some may run anywhere.
fn cpus_of(jobs: &[Job]) -> Option<Vec<u32>> {
    let kept: Option<Vec<&[u32]>> = jobs.iter().map(|j| Some(j.cpus_allowed.as_ref()?.numbers())).collect();
    kept.map(|lists| lists.concat())
}

fn by_name(state: &QueueState) -> BTreeMap<String, Option<String>> {
    state.attributes.keys().map(|name| (name.clone(), state.effective(name))).collect()
}

fn cpu_use(outcome: &RunOutcome, shares: Option<(f64, f64)>) -> CpuUse {
    let (ios, bytes) = (outcome.total.ios(), outcome.total.bytes());
    let (user, system) = (outcome.cpu.user, outcome.cpu.system);
    #[allow(clippy::cast_precision_loss)] // a rate
    let per_io = |ns: u64| (ios > 0).then(|| ns as f64 / ios as f64);
    #[allow(clippy::cast_precision_loss)] // a rate
    let per_gib = |s: f64| (bytes.0 > 0).then(|| s / (bytes.0 as f64 / f64::from(1 << 30)));
    CpuUse {
        user_s: user.seconds(),
        system_s: system.seconds(),
        user_ns_per_io: per_io(user.0),
        system_ns_per_io: per_io(system.0),
        user_s_per_gib: per_gib(user.seconds()),
        system_s_per_gib: per_gib(system.seconds()),
        host_busy_pct: shares.map(|s| s.0),
        host_stolen_pct: shares.map(|s| s.1),
    }
}
