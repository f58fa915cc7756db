//! The run as the screen follows it, from its start until its result is closed.

use crate::sys::device::DeviceId;
use crate::trial::result::TrialResult;
use crate::units::Nanos;
use crate::workload::job::Job;
use crate::workload::live::{Phase, Progress};

use super::message::KernelFigures;
use super::screens::fields::Place;
use super::timeline::Timeline;
use super::{entries, layout, report};

/// A run, going or ended.
#[derive(Clone, Debug)]
pub struct Run {
    /// The preset's name.
    pub name: String,
    /// What was asked: jobs that run at the same time.
    pub jobs: Vec<Job>,
    /// Where, in words.
    pub place: Place,
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
    /// The first entry of the report that is shown.
    pub top: usize,
    at: Nanos,
}

impl Run {
    /// A run that was just asked for.
    #[must_use]
    pub fn new(name: String, jobs: Vec<Job>, place: Place, device: Option<DeviceId>) -> Self {
        let planned = length(&jobs);
        Self {
            name,
            jobs,
            place,
            device,
            progress: None,
            kernel: KernelFigures::default(),
            engine_line: Timeline::new(planned),
            kernel_line: Timeline::new(planned),
            stopping: false,
            ended: None,
            top: 0,
            at: Nanos(0),
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn going(&self) -> bool {
        self.ended.is_none()
    }

    /// Time that is not measured, and time that is.
    #[must_use]
    pub fn times(&self) -> (Nanos, Nanos) {
        times(&self.jobs)
    }

    /// All of its time: twice that of a run, where some jobs are measured alone first.
    #[must_use]
    pub fn length(&self) -> Nanos {
        length(&self.jobs)
    }

    /// The jobs in the foreground that run alone now.
    #[must_use]
    pub fn alone(&self) -> Option<String> {
        let p = self.progress.as_ref()?;
        self.is_alone(p).then(|| p.jobs.iter().map(|j| j.name.as_str()).collect::<Vec<_>>().join(", "))
    }

    fn is_alone(&self, p: &Progress) -> bool {
        p.jobs.len() < self.jobs.len() && !p.jobs.is_empty() && self.jobs.iter().any(|j| j.foreground)
    }

    /// Time before the execution that this is of.
    fn before(&self, p: &Progress) -> Nanos {
        let (ramp, runtime) = self.times();
        let twice = self.jobs.iter().any(|j| j.foreground) && !self.is_alone(p);
        Nanos(if twice { ramp.0.saturating_add(runtime.0) } else { 0 })
    }

    /// Scrolls the report on a screen of this size.
    pub fn scroll(&mut self, by: isize, (width, height): (u16, u16)) {
        // Below the name, and as long as it goes on what was asked for and how far it is: up to four rows more.
        let above = if self.going() { 5 } else { 1 };
        let room = layout::parts(width, height).body.height.saturating_sub(above);
        let last = entries::furthest(&report::entries(self, width), width, room);
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Takes in the engine's word.
    pub fn take_progress(&mut self, p: Progress) {
        let ramp = self.times().0;
        let before = self.before(&p);
        let since_start = match p.phase {
            Phase::Preparing | Phase::Draining => None,
            Phase::Ramp => Some(p.elapsed),
            Phase::Measuring => Some(Nanos(ramp.0.saturating_add(p.elapsed.0))),
        };
        let since_start = since_start.map(|at| Nanos(before.0.saturating_add(at.0)));
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
        let (ramp, runtime) = self.times();
        let (all, before) = (self.length(), self.before(p));
        let after = |at: Nanos| Nanos(before.0.saturating_add(at.0));
        let measuring = Nanos(ramp.0.saturating_add(p.elapsed.0));
        match p.phase {
            Phase::Preparing => None,
            Phase::Ramp => Some((after(p.elapsed), all)),
            // It may end at a number of I/Os.
            Phase::Measuring => p.planned.map(|_| (after(measuring), all)),
            Phase::Draining => Some((after(Nanos(ramp.0.saturating_add(runtime.0))), all)),
        }
    }
}

/// All of the time of these jobs.
fn length(jobs: &[Job]) -> Nanos {
    let (ramp, runtime) = times(jobs);
    let once = ramp.0.saturating_add(runtime.0);
    Nanos(if jobs.iter().any(|j| j.foreground) { once.saturating_mul(2) } else { once })
}

/// Ramp and runtime, which all jobs of a run share.
fn times(jobs: &[Job]) -> (Nanos, Nanos) {
    jobs.first().map_or_else(Default::default, |j| (j.ramp.into(), j.runtime.into()))
}
