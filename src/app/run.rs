//! The run as the screen follows it, from its start until its result is closed.

use crate::sys::device::DeviceId;
use crate::trial::result::TrialResult;
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::live::{Phase, Progress};

use super::message::KernelFigures;
use super::timeline::Timeline;

/// A run, going or ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was asked.
    pub job: Job,
    /// What it reads, in words: `loop3`, `sda2`, `a scratch file`.
    pub target: String,
    /// The device, unless it is a scratch file.
    pub device: Option<DeviceId>,
    /// How far it is; None before the engine said anything.
    pub progress: Option<Progress>,
    /// What the kernel counts.
    pub kernel: KernelFigures,
    /// The engine's bytes per second over the run.
    pub engine_line: Timeline,
    /// The kernel's.
    pub kernel_line: Timeline,
    /// It was told to stop.
    pub stopping: bool,
    /// How it ended; None while it goes on.
    pub ended: Option<Result<Box<TrialResult>, String>>,
    at: Nanos,
}

impl Run {
    /// A run that was just asked for.
    #[must_use]
    pub fn new(job: Job, target: String, device: Option<DeviceId>) -> Self {
        let planned = Nanos::from(job.ramp.saturating_add(job.runtime));
        Self {
            job,
            target,
            device,
            progress: None,
            kernel: KernelFigures::default(),
            engine_line: Timeline::new(planned),
            kernel_line: Timeline::new(planned),
            stopping: false,
            ended: None,
            at: Nanos(0),
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn going(&self) -> bool {
        self.ended.is_none()
    }

    /// Takes in the engine's word.
    pub fn take_progress(&mut self, p: Progress) {
        let ramp = Nanos::from(self.job.ramp);
        let since_start = match p.phase {
            Phase::Preparing | Phase::Draining => None,
            Phase::Ramp => Some(p.elapsed),
            Phase::Measuring => Some(Nanos(ramp.0.saturating_add(p.elapsed.0))),
        };
        if let Some(at) = since_start {
            self.at = at;
            self.engine_line.push(at, p.bytes_per_s);
        }
        self.progress = Some(p);
    }

    /// Takes in the kernel's figures; they are drawn at the time of the engine's last word.
    pub fn take_kernel(&mut self, figures: KernelFigures) {
        self.kernel = figures;
        self.kernel_line.push(self.at, figures.bytes_per_s);
    }

    /// Share of ramp and runtime that is over, 0 to 1; None while it can not be known.
    #[must_use]
    pub fn share_done(&self) -> Option<f64> {
        let (done, all) = self.done_of()?;
        #[allow(clippy::cast_precision_loss)] // a progress bar
        let share = done.0 as f64 / all.0.max(1) as f64;
        Some(share.clamp(0.0, 1.0))
    }

    /// Time left of ramp and runtime; None while it can not be known.
    #[must_use]
    pub fn time_left(&self) -> Option<Nanos> {
        let (done, all) = self.done_of()?;
        Some(all.since(done))
    }

    fn done_of(&self) -> Option<(Nanos, Nanos)> {
        let p = self.progress.as_ref()?;
        let ramp = Nanos::from(self.job.ramp);
        let runtime = Nanos::from(self.job.runtime);
        let all = Nanos(ramp.0.saturating_add(runtime.0));
        match p.phase {
            Phase::Preparing => None,
            Phase::Ramp => Some((p.elapsed, all)),
            Phase::Measuring => p
                .planned
                .map(|m| (Nanos(ramp.0.saturating_add(p.elapsed.0)), Nanos(ramp.0.saturating_add(m.0)))),
            Phase::Draining => Some((all, all)),
        }
    }
}
