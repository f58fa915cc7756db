//! An experiment as the screen follows it, from its order until its result is closed.

use std::path::PathBuf;
use std::time::Duration;

use crate::app::effect::ExperimentOrder;
use crate::app::entries::furthest;
use crate::app::layout;
use crate::app::message::{ExperimentBeginning, ExperimentEnd, NotBegun};
use crate::experiment::analysis::Analysis;
use crate::experiment::design::Design;
use crate::experiment::estimate::{in_block, looks_of, trial_time};
use crate::experiment::event::{Event, Phase};
use crate::experiment::observation::TRIALS_OF_TWO;
use crate::experiment::schedule::{self, BASELINE_TRIALS};
use crate::experiment::trial::{PlannedTrial, Role, Trial};
use crate::experiment::weak::Weak;
use crate::units::Nanos;
use crate::workload::live::{self, Progress};

use super::report::{self, Paper};

/// A block, or a trial outside of blocks, that is run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Void {
    /// The block.
    pub block: u32,
    /// The attempt that is void.
    pub attempt: u32,
    /// Why.
    pub reason: String,
}

/// An experiment, going or ended.
#[derive(Clone, Debug)]
pub struct Course {
    /// What was ordered.
    pub order: Box<ExperimentOrder>,
    /// Where its record is.
    pub record: Option<PathBuf>,
    /// What is weak about the workload.
    pub weak: Vec<Weak>,
    /// What else is to be known, in sentences.
    pub notes: Vec<String>,
    /// It has begun: settings may be written.
    pub begun: bool,
    /// The trial that goes on; None between trials.
    pub trial: Option<PlannedTrial>,
    /// What is done for it.
    pub phase: Option<Phase>,
    /// How far it is.
    pub progress: Option<Progress>,
    /// The trials so far, in the order of time.
    pub trials: Vec<Trial>,
    /// Blocks that are run again.
    pub voids: Vec<Void>,
    /// Blocks that may yet be void, as of the last that was.
    pub voids_left: Option<usize>,
    /// The last look: valid blocks, and whether it goes on after it.
    pub look: Option<(usize, bool)>,
    /// What follows from the trials so far.
    pub analysis: Option<Box<Analysis>>,
    /// It was told to stop.
    pub stopping: bool,
    /// How it ended; None while it goes on.
    pub ended: Option<Result<Box<ExperimentEnd>, NotBegun>>,
    /// The first entry that is shown.
    pub top: usize,
    /// When it was ordered, on `CLOCK_MONOTONIC`.
    pub since: Nanos,
}

impl Course {
    /// An experiment that was just ordered.
    #[must_use]
    pub const fn new(order: Box<ExperimentOrder>, now: Nanos) -> Self {
        Self {
            order,
            record: None,
            weak: Vec::new(),
            notes: Vec::new(),
            begun: false,
            trial: None,
            phase: None,
            progress: None,
            trials: Vec::new(),
            voids: Vec::new(),
            voids_left: None,
            look: None,
            analysis: None,
            stopping: false,
            ended: None,
            top: 0,
            since: now,
        }
    }

    /// Whether it goes on.
    #[must_use]
    pub const fn going(&self) -> bool {
        self.ended.is_none()
    }

    /// Its design.
    #[must_use]
    pub const fn design(&self) -> &Design {
        &self.order.designed.design
    }

    /// `none against bfq`, or what a calibration compares.
    #[must_use]
    pub fn cells(&self) -> String {
        let design = self.design();
        if design.calibration {
            return "calibration".to_owned();
        }
        let names: Vec<&str> = design.cells.iter().map(|c| c.name.as_str()).collect();
        names.join(" against ")
    }

    /// It begins.
    pub fn begin(&mut self, beginning: ExperimentBeginning) {
        self.begun = true;
        self.record = beginning.record;
        self.weak = beginning.weak;
        self.notes = beginning.notes;
        self.progress = None;
    }

    /// Scrolls on a screen of this size.
    pub fn scroll(&mut self, by: isize, (width, height): (u16, u16), ascii: bool) {
        let room = layout::experiment(width, height, self.going()).1.height;
        let last = furthest(&report::entries(self, Paper { width, height, ascii }), width, room);
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Takes in what happened.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::TrialStarted { plan } => {
                self.trial = Some(plan);
                self.phase = None;
                self.progress = None;
            }
            Event::Phase { phase } => {
                self.phase = Some(phase);
                self.progress = None;
            }
            Event::TrialDone { trial, .. } => {
                self.trial = None;
                self.phase = None;
                self.progress = None;
                self.trials.push(trial);
            }
            Event::BlockVoid { block, attempt, reason, left } => {
                self.voids.push(Void { block, attempt, reason });
                self.voids_left = Some(left);
            }
            Event::Look { blocks, decided, last } => self.look = Some((blocks, !decided && !last)),
            // Settings are told by the end, steadiness by its notes.
            Event::Began { .. }
            | Event::Preconditioned { .. }
            | Event::PutBack { .. }
            | Event::Ended { .. } => {}
        }
    }
}

/// How far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Far {
    /// Blocks that are valid.
    pub blocks: usize,
    /// Share of the whole that is over, 0 to 1, if no block has to be repeated any more and the last look is needed.
    pub share: f64,
    /// The same at each look.
    pub looks: Vec<f64>,
    /// Time to the next look and its blocks; None once no more blocks come.
    pub to_look: Option<(Duration, usize)>,
    /// Time to the end, at most.
    pub at_most: Duration,
    /// Trials that the whole has, repeated ones not counted.
    pub trials: usize,
}

impl Course {
    /// Whether a trial's reading is used: of a block, its attempt without a void trial, no later attempt. `at` is its place.
    fn in_void_attempt(&self, of: &PlannedTrial) -> bool {
        of.block.is_some()
            && self.trials.iter().any(|t| {
                t.plan.block == of.block
                    && (t.plan.attempt == of.attempt && t.void() || t.plan.attempt > of.attempt)
            })
    }

    /// Whether a trial is void, itself or with its block.
    #[must_use]
    pub fn is_void(&self, trial: &Trial) -> bool {
        trial.void() || self.in_void_attempt(&trial.plan)
    }

    /// Good trials of a role outside of blocks.
    #[must_use]
    pub fn good(&self, role: Role) -> usize {
        self.trials.iter().filter(|t| t.plan.role == role && !t.void()).count()
    }

    /// Good trials of the block that goes on, its lead-in included.
    #[must_use]
    pub fn in_block(&self) -> usize {
        self.blocks().1
    }

    /// Valid blocks, and the good trials of the one that goes on, its lead-in included.
    fn blocks(&self) -> (usize, usize) {
        let mut whole = 0;
        let (mut of, mut trials, mut run) = (None, 0, 0);
        for t in self.trials.iter().filter(|t| t.plan.block.is_some() && !self.is_void(t)) {
            if of != Some((t.plan.block, t.plan.attempt)) {
                (of, trials, run) = (Some((t.plan.block, t.plan.attempt)), 0, 0);
            }
            run += 1;
            trials += usize::from(t.plan.role == Role::Trial);
            if trials == TRIALS_OF_TWO {
                whole += 1;
                (of, run) = (None, 0);
            }
        }
        (whole, run)
    }

    /// How long a trial takes: as designed, or as they took so far if that is longer.
    fn trial_time(&self) -> Duration {
        let designed = trial_time(self.design());
        let (Some(first), Some(last)) = (self.trials.first(), self.trials.last()) else { return designed };
        let between = u32::try_from(self.trials.len() - 1).ok().filter(|n| *n > 0);
        let took = between.map(|n| (last.started_s - first.started_s) / f64::from(n));
        let took = took.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or_default();
        designed.max(took)
    }

    /// How much of the trial that goes on is over.
    fn in_trial(&self) -> Duration {
        let design = self.design();
        let Some(phase) = self.phase else { return Duration::ZERO };
        let elapsed = self.progress.as_ref().map_or(Duration::ZERO, |p| match p.phase {
            live::Phase::Preparing => Duration::ZERO,
            live::Phase::Ramp => p.elapsed.duration(),
            live::Phase::Measuring => design.ramp.saturating_add(p.elapsed.duration()),
            live::Phase::Draining => design.ramp.saturating_add(design.trial),
        });
        match phase {
            Phase::Draining | Phase::Applying | Phase::Settling | Phase::PuttingBack => Duration::ZERO,
            Phase::Measuring => design.settle.saturating_add(elapsed).min(self.trial_time()),
        }
    }

    /// How far it is.
    #[must_use]
    pub fn far(&self) -> Far {
        let design = self.design();
        let looks = looks_of(design);
        let last = looks.last().copied().unwrap_or_default();
        let trials = schedule::whole(design).len();
        let in_block = in_block(design);
        let (blocks, run) = self.blocks();
        let before = self.good(Role::BaselineBefore).min(BASELINE_TRIALS);
        let after = self.good(Role::BaselineAfter).min(BASELINE_TRIALS);
        let over = self.look.is_some_and(|(_, goes_on)| !goes_on);
        let done = before + blocks * in_block + run + after;
        let each = self.trial_time();
        let time = |trials: usize| {
            each.saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX)).saturating_sub(self.in_trial())
        };
        // Trials until so many blocks are complete.
        let until = |look: usize| {
            (BASELINE_TRIALS - before) + (look - blocks.min(look)) * in_block - run.min(in_block)
        };
        let next = looks.iter().copied().find(|l| *l > blocks).filter(|_| !over);
        let left = if over { 0 } else { until(last.max(blocks)) };
        #[allow(clippy::cast_precision_loss)] // shares of a bar
        let share = |n: usize| (n as f64 / trials.max(1) as f64).min(1.0);
        let part = self.in_trial().as_secs_f64() / each.as_secs_f64().max(f64::MIN_POSITIVE);
        Far {
            blocks,
            share: (share(done) + part.min(1.0) * share(1)).min(1.0),
            looks: looks.iter().map(|l| share(BASELINE_TRIALS + l * in_block)).collect(),
            to_look: next.map(|l| (time(until(l)), l)),
            at_most: time(left + BASELINE_TRIALS - after),
            trials,
        }
    }
}
