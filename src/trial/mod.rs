//! L3: one measured execution of a job: settings and counters around it, and what both sides counted.

pub mod foreign;
pub mod result;
mod warnings;
mod window;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::workload::job::Job;
use crate::workload::live::Progress;
use crate::workload::outcome::{RunError, RunOutcome};
use crate::workload::run::run;
use crate::workload::target::Target;
use result::{CpuUse, TrialResult};
use warnings::Facts;
use window::Window;

/// Runs jobs once, at the same time, with the device's settings and counters taken around it.
///
/// The window of `device` is the measured window: without a ramp it opens before the first I/O is issued and closes after
/// the last one is reaped, so that under direct I/O the kernel's bytes are the engine's; with a ramp it opens while I/O
/// is in flight, and the two may differ by as much as was in flight. CPU time is that of the workers' threads in the
/// window; what kernel threads do for them (io_uring's own workers, a loop device's) is not in it.
///
/// # Errors
/// As [`run`].
pub fn run_trial(
    root: &SysRoot,
    jobs: &[Job],
    target: &Target,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrialResult, RunError> {
    let whole = target.backing.as_ref().map(|b| &b.whole);
    let settings = || whole.map(|name| QueueState::read(root, name)).unwrap_or_default();
    let before = settings();
    let iostats = before.number("iostats") != Some(0);
    let mut window = Window::new(root, target.backing.as_ref().map(|b| &b.row), progress);
    let outcome = run(jobs, target, stop, &mut window)?;
    let after = settings();
    let device = window.device(&outcome).filter(|counted| window::believable(counted, iostats));
    let facts = Facts {
        jobs,
        outcome: &outcome,
        device: device.as_ref(),
        has_device: whole.is_some(),
        iostats: iostats || device.is_some(),
        changed: before.differences(&after),
    };
    let warnings = facts.warnings();
    Ok(TrialResult {
        target: target.shown.clone(),
        asked: jobs.to_vec(),
        engine: outcome.engine.clone(),
        window_s: outcome.window.seconds(),
        cpu: cpu_use(&outcome),
        interrupted: outcome.interrupted,
        jobs: outcome.jobs,
        total: outcome.total,
        fairness: outcome.fairness,
        promises: outcome.promises,
        device,
        settings_before: by_name(&before),
        settings_after: by_name(&after),
        host: host(),
        warnings,
    })
}

fn by_name(state: &QueueState) -> BTreeMap<String, Option<String>> {
    state.attributes.keys().map(|name| (name.clone(), state.effective(name))).collect()
}

fn cpu_use(outcome: &RunOutcome) -> CpuUse {
    let ios = outcome.total.ios();
    #[allow(clippy::cast_precision_loss)] // a rate
    let per_io = |ns: u64| (ios > 0).then(|| ns as f64 / ios as f64);
    CpuUse {
        user_s: outcome.cpu.user.seconds(),
        system_s: outcome.cpu.system.seconds(),
        user_ns_per_io: per_io(outcome.cpu.user.0),
        system_ns_per_io: per_io(outcome.cpu.system.0),
    }
}

/// What of the host bears on figures, without its name.
fn host() -> BTreeMap<String, String> {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| crate::sys::attr::clean(s.to_bytes());
    let mut facts = BTreeMap::from([
        ("kernel".to_owned(), text(uname.release())),
        ("build".to_owned(), text(uname.version())),
        ("machine".to_owned(), text(uname.machine())),
        ("page_size".to_owned(), rustix::param::page_size().to_string()),
    ]);
    if let Ok(n) = std::thread::available_parallelism() {
        facts.insert("cpus".to_owned(), n.to_string());
    }
    facts
}
