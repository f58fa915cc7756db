//! The state machine that conducts an experiment: it asks for one step after the other and is told what came of it. It knows
//! neither a screen nor a kernel nor a clock; [`super::drive`] does the steps.

use std::collections::VecDeque;
use std::time::Duration;

use crate::sys::queue::QueueState;
use crate::tuning::change::Change;
use crate::workload::job::Job;

use super::bench::{BenchError, Found, Measured};
use super::carried;
use super::cell_state::{CellStates, mismatches};
use super::circumstances::{Circumstances, pace, steady};
use super::design::{Design, FactorKind, Isolation};
use super::estimate::{self, looks_of};
use super::event::{Ending, Event, Phase};
use super::gate::{self, Expected};
use super::jobs::jobs_of;
use super::look;
use super::metric::Readings;
use super::schedule::{self, BASELINE_TRIALS, FEWEST_REPEATS, MOST_ROUNDS};
use super::trial::{Finding, Gate, PlannedTrial, Role, Trial};

/// So many void trials of one cell and none of the other are no accident.
const FOLLOWS: usize = 3;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Wait until nothing is in flight.
    Drain,
    /// Read all settings.
    Read,
    /// Bring settings to their values, in the safe order.
    Apply(Vec<Change>),
    /// Write settings bare.
    WriteBare(Vec<Change>),
    /// Wait.
    Settle(Duration),
    /// Run the jobs once.
    Measure(Vec<Job>),
    /// Put back what is held.
    PutBack,
    /// Nothing: it is over.
    End,
}

/// What came of a step.
#[derive(Debug)]
pub enum Outcome {
    /// It was done.
    Done,
    /// The queue as it reads now.
    Settings(QueueState),
    /// A trial was run.
    Measured(Box<Measured>),
    /// Settings were put back, but for these.
    PutBack(Vec<String>),
    /// It could not be done.
    Failed(BenchError),
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Precondition,
    Before,
    Blocks,
    After(Ending),
}

/// The trial that is being prepared or run.
#[derive(Clone, Debug)]
struct Current {
    plan: PlannedTrial,
    /// The queue as it read after its settings were written.
    settings: QueueState,
}

/// An experiment on its way.
#[derive(Debug)]
pub struct Conductor {
    design: Design,
    looks: Vec<usize>,
    cells: CellStates,
    /// What each cell, and last the settings that were found, read when a trial of it was first good.
    first: Vec<Option<QueueState>>,
    expected: Expected,
    trials: Vec<Trial>,
    stage: Stage,
    pending: VecDeque<PlannedTrial>,
    steps: VecDeque<Step>,
    current: Option<Current>,
    rounds: Vec<f64>,
    number: u32,
    block: u32,
    attempt: u32,
    valid: usize,
    voids: usize,
    now_s: f64,
    events: Vec<Event>,
    ending: Option<(Ending, String)>,
    /// Settings were put back.
    closed: bool,
    over: bool,
    phase: Option<Phase>,
}

impl Conductor {
    /// Begins an experiment on a device that was found so.
    #[must_use]
    pub fn new(design: Design, found: Found) -> Self {
        Self::resume(design, found, Vec::new())
    }

    /// Goes on with an experiment of which these trials were done, in the order of time. Finished valid blocks count; an
    /// unfinished one is repeated with a new lead-in. The record must hold a design that is unchanged.
    #[must_use]
    pub fn resume(design: Design, found: Found, done: Vec<Trial>) -> Self {
        let Found { settings: start, id, size } = found;
        let names = start.attributes.keys().map(|n| (n.clone(), start.effective(n))).collect();
        let attempts = look::attempts(&done);
        let valid = attempts.iter().filter(|a| a.complete && !a.void).count();
        let last = attempts.last();
        let writes = estimate::writes(&design);
        let mut this = Self {
            looks: looks_of(&design),
            cells: CellStates::new(&design, start),
            first: vec![None; design.cells.len() + 1],
            expected: Expected { settings: QueueState::default(), id, size },
            stage: if writes { Stage::Precondition } else { Stage::Before },
            pending: VecDeque::new(),
            steps: VecDeque::new(),
            current: None,
            rounds: Vec::new(),
            number: done.iter().map(|t| t.plan.number).max().unwrap_or(0),
            block: u32::try_from(valid).unwrap_or(u32::MAX).saturating_add(1),
            attempt: last.filter(|a| !a.complete || a.void).map_or(1, |a| a.which.saturating_add(1)),
            valid,
            voids: attempts.iter().filter(|a| a.void).count(),
            now_s: 0.0,
            events: vec![Event::Began { settings: names, resumed: done.len() }],
            ending: None,
            closed: false,
            over: false,
            phase: None,
            trials: done,
            design,
        };
        this.look();
        this
    }

    /// The design.
    #[must_use]
    pub const fn design(&self) -> &Design {
        &self.design
    }

    /// All trials so far, in the order of time.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// What happened since it was last asked.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// How it ended and why; None while it goes on.
    #[must_use]
    pub fn ending(&self) -> Option<(Ending, &str)> {
        self.ending.as_ref().map(|(e, why)| (*e, why.as_str()))
    }

    /// What an analysis has to know beside the trials.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        Circumstances::of(&self.design, &self.trials, self.ending())
    }

    /// The step that is to be done now; the same until it is told what came of it.
    pub fn step(&mut self) -> Step {
        while self.steps.is_empty() && !self.over {
            self.advance();
        }
        self.steps.front().cloned().unwrap_or(Step::End)
    }

    /// What came of the step, and when: seconds since the experiment began.
    pub fn told(&mut self, outcome: Outcome, now_s: f64) {
        let began_s = std::mem::replace(&mut self.now_s, now_s);
        let Some(step) = self.steps.pop_front() else { return };
        match outcome {
            Outcome::Failed(e) => self.failed(&step, e),
            Outcome::Settings(read) => self.read(&step, read),
            Outcome::Measured(measured) => self.measured(*measured, began_s),
            Outcome::PutBack(not_restored) => {
                self.closed = true;
                self.events.push(Event::PutBack { not_restored });
            }
            Outcome::Done => {}
        }
        if let Some(phase) = self.steps.front().and_then(phase) {
            self.phase(phase);
        }
    }

    fn phase(&mut self, phase: Phase) {
        if self.phase.replace(phase) != Some(phase) {
            self.events.push(Event::Phase { phase });
        }
    }

    /// Finds the next steps, with none left.
    fn advance(&mut self) {
        if let Some((ending, reason)) = self.ending.clone() {
            if self.closed {
                self.over = true;
                self.events.push(Event::Ended { ending, reason });
            } else {
                self.current = None;
                self.steps.push_back(Step::PutBack);
                self.phase(Phase::PuttingBack);
            }
            return;
        }
        if let Some(plan) = self.pending.pop_front() {
            return self.start(plan);
        }
        match self.stage {
            Stage::Precondition => self.precondition(),
            Stage::Before => self.baseline(Role::BaselineBefore),
            Stage::Blocks => {
                let trials =
                    schedule::block(&self.design, self.block, self.attempt, self.number.saturating_add(1));
                self.pending = trials.into();
            }
            Stage::After(_) => self.baseline(Role::BaselineAfter),
        }
    }

    /// The trials of the settings that were found; void ones are run again.
    fn baseline(&mut self, role: Role) {
        let of_role = || self.trials.iter().filter(|t| t.plan.role == role);
        let (good, void) = (of_role().filter(|t| !t.void()).count(), of_role().filter(|t| t.void()).count());
        let reason = of_role().rev().find(|t| t.void()).map(Trial::why_void).unwrap_or_default();
        match self.stage {
            Stage::Before if good >= BASELINE_TRIALS => self.stage = Stage::Blocks,
            Stage::After(ending) if good >= BASELINE_TRIALS => {
                let reason = match ending {
                    Ending::Decided => format!("decided at {} blocks", self.valid),
                    _ => format!("all {} blocks were run", self.valid),
                };
                self.finish(ending, reason);
            }
            Stage::Before if void > FEWEST_REPEATS => self.end(
                Ending::Invalid,
                format!("{void} trials of the settings that were found were void; the last: {reason}"),
            ),
            Stage::After(ending) if void > FEWEST_REPEATS => {
                self.finish(ending, format!("{} blocks were run", self.valid));
            }
            _ => {
                let attempt = u32::try_from(void).unwrap_or(u32::MAX).saturating_add(1);
                self.start(schedule::outside(role, self.number.saturating_add(1), attempt));
            }
        }
    }

    /// It has run to its end. Nothing follows from it if cells did not stay what they were.
    fn finish(&mut self, ending: Ending, reason: String) {
        let carried = carried::said(&self.trials).map(|why| (Ending::Invalid, why));
        self.ending = Some(carried.unwrap_or((ending, reason)));
    }

    /// Rounds of a workload that writes, until the last five are steady.
    fn precondition(&mut self) {
        let done = u32::try_from(self.rounds.len()).unwrap_or(u32::MAX);
        let steady = steady(&self.rounds);
        if !steady && done < MOST_ROUNDS {
            return self.start(schedule::outside(Role::Precondition, self.number.saturating_add(1), 1));
        }
        self.events.push(Event::Preconditioned { rounds: done, steady });
        self.stage = Stage::Before;
    }

    fn start(&mut self, plan: PlannedTrial) {
        // Rounds write to other places each, as trials of other blocks do; the settings that were found always to the same.
        let place = match (plan.block, plan.role) {
            (Some(block), _) => block,
            (None, Role::Precondition) => u32::MAX - u32::try_from(self.rounds.len()).unwrap_or(u32::MAX),
            (None, _) => 0,
        };
        let jobs = match jobs_of(&self.design, plan.cell.unwrap_or(0), place) {
            Ok(jobs) => jobs,
            Err(e) => return self.end(Ending::Broken, e.to_string()),
        };
        self.number = plan.number;
        self.events.push(Event::TrialStarted { plan: plan.clone() });
        self.phase = None;
        self.current = Some(Current { plan, settings: QueueState::default() });
        self.steps = [Step::Drain, Step::Read, Step::Settle(self.design.settle), Step::Measure(jobs)].into();
        self.phase(Phase::Draining);
    }

    /// The queue was read: before something is written, or after.
    fn read(&mut self, step: &Step, read: QueueState) {
        if read.attributes.is_empty() && !self.cells.start().attributes.is_empty() {
            return self.end(Ending::Gone, format!("{} is gone", self.design.device));
        }
        let Some(current) = &mut self.current else { return };
        current.settings = read;
        let cell = current.plan.cell;
        if *step == Step::Read {
            let writes = self.cells.writes(cell, &current.settings);
            if !writes.bare.is_empty() {
                self.steps.push_front(Step::WriteBare(writes.bare));
            }
            if !writes.settled.is_empty() {
                self.steps.push_front(Step::Apply(writes.settled));
            }
        }
        // More is to be written.
        if matches!(self.steps.front(), Some(Step::Apply(_) | Step::WriteBare(_))) {
            return;
        }
        if let Some(text) = self.stray() {
            self.void_trial(Gate::G1, text);
        }
    }

    /// What is not as it should be now that the cell's settings are written.
    fn stray(&self) -> Option<String> {
        let current = self.current.as_ref()?;
        let cell = current.plan.cell;
        let mut strays = self.cells.strays(cell, &current.settings);
        let first = self.first.get(cell.unwrap_or(self.design.cells.len())).and_then(Option::as_ref);
        // Upon what the trial before left, a cell need not read the same twice.
        if let Some(first) =
            first.filter(|_| strays.is_empty() && self.design.isolation != Isolation::Sequence)
        {
            strays = mismatches(first, &current.settings);
        }
        gate::strays(&strays, "since it was written")
    }

    fn measured(&mut self, measured: Measured, began_s: f64) {
        let Some(current) = self.current.take() else { return };
        self.expected.settings = current.settings;
        let mut findings = gate::judge(&measured, &self.expected, self.design.metric);
        let void = findings.iter().any(|f| f.voids);
        findings.extend(self.carried(&current.plan).filter(|_| !void));
        let gone = findings.iter().find(|f| f.gate == Gate::G8).map(|f| f.text.clone());
        let trial = Trial {
            plan: current.plan,
            started_s: began_s,
            window_s: measured.window_s,
            ios: measured.ios,
            bytes: measured.engine.read.0.saturating_add(measured.engine.written.0),
            readings: measured.readings,
            findings,
            warnings: measured.warnings,
        };
        if !void {
            let at = trial.plan.cell.unwrap_or(self.design.cells.len());
            if let Some(first) = self.first.get_mut(at).filter(|f| f.is_none()) {
                *first = Some(self.expected.settings.clone());
            }
        }
        self.done(trial, measured.detail);
        if let Some(text) = gone {
            self.end(Ending::Gone, text);
        }
    }

    /// What a trial of a sequence of bare writes took over from those before it.
    fn carried(&self, plan: &PlannedTrial) -> Option<Finding> {
        if self.design.isolation != Isolation::Sequence {
            return None;
        }
        let first = self.first.get(plan.cell.unwrap_or(self.design.cells.len()))?.as_ref()?;
        let cell = plan.cell.and_then(|c| self.design.cells.get(c));
        let name = cell.map_or("the settings that were found", |c| c.name.as_str());
        carried::finding(name, first, &self.expected.settings, plan.number)
    }

    /// The trial that is under way is void without having been measured.
    fn void_trial(&mut self, gate: Gate, text: String) {
        let Some(current) = self.current.take() else { return };
        self.steps.clear();
        let trial = Trial {
            plan: current.plan,
            started_s: self.now_s,
            window_s: 0.0,
            ios: 0,
            bytes: 0,
            readings: Readings::new(),
            findings: vec![Finding { gate, voids: true, text }],
            warnings: Vec::new(),
        };
        self.done(trial, serde_json::Value::Null);
    }

    fn done(&mut self, trial: Trial, detail: serde_json::Value) {
        self.events.push(Event::TrialDone { trial: trial.clone(), detail });
        let (role, void) = (trial.plan.role, trial.void());
        let reading = pace(&trial);
        let reason = trial.why_void();
        self.trials.push(trial);
        match role {
            Role::Precondition => self.rounds.push(reading),
            Role::LeadIn | Role::Trial if void => self.void_block(reason),
            Role::Trial if self.pending.is_empty() => {
                self.valid += 1;
                self.block_done();
            }
            _ => {}
        }
        if self.ending.is_none()
            && let Some(same) = self.same()
        {
            self.end(Ending::Invalid, same);
        }
    }

    fn void_block(&mut self, reason: String) {
        self.pending.clear();
        self.voids += 1;
        if let Some(text) = self.follows().filter(|_| !self.design.calibration) {
            return self.end(Ending::Invalid, format!("{text}; the last: {reason}"));
        }
        let next = self.looks.iter().find(|l| **l > self.valid).copied().unwrap_or_default();
        let limit = FEWEST_REPEATS.max(next / 2);
        let Some(left) = limit.checked_sub(self.voids) else {
            let text = format!("{} blocks were void, more than {limit}; the last: {reason}", self.voids);
            return self.end(Ending::Invalid, text);
        };
        self.events.push(Event::BlockVoid { block: self.block, attempt: self.attempt, reason, left });
        self.attempt = self.attempt.saturating_add(1);
    }

    /// That only trials of one cell fail, in words. A lead-in counts: it is a trial of its cell like any other, held to the
    /// same gates, and of a cell that always fails nothing but lead-ins may ever run. The other cell must have been tried as
    /// often, or nothing is known of it; trials of the settings that were found are trials of the cell that has them.
    fn follows(&self) -> Option<String> {
        let cells = 0..self.design.cells.len();
        let of = |cell: usize, void: bool| {
            let own = |t: &&Trial| {
                t.plan.cell == Some(cell) || t.plan.cell.is_none() && !void && self.ran_as_found(cell)
            };
            self.trials.iter().filter(own).filter(|t| t.void() == void).count()
        };
        let failing: Vec<usize> = cells.clone().filter(|c| of(*c, true) > 0).collect();
        let [only] = failing[..] else { return None };
        let others_hold = cells.filter(|c| *c != only).all(|c| of(c, false) >= FOLLOWS);
        let void = of(only, true);
        (void >= FOLLOWS && others_hold).then(|| {
            format!(
                "failures follow one cell: {void} trials of {} were void and none of the other",
                self.design.cells[only].name
            )
        })
    }

    /// Whether trials outside of blocks are trials of this cell: it has the settings that were found, and the workload of
    /// the first cell.
    fn ran_as_found(&self, cell: usize) -> bool {
        let workload = |cell: usize| -> Vec<&String> {
            let levels = self.design.cells.get(cell).map_or(&[][..], |c| &c.levels[..]);
            let each = self.design.factors.iter().zip(levels);
            each.filter(|(f, _)| f.kind == FactorKind::Workload).map(|(_, level)| level).collect()
        };
        self.cells.as_found(cell) && workload(cell) == workload(0)
    }

    /// That the kernel makes the same of both cells, in words, once both were tried.
    fn same(&self) -> Option<String> {
        let settings = self.design.factors.iter().all(|f| f.kind == FactorKind::Setting);
        if !settings || self.design.calibration || self.design.control {
            return None;
        }
        let (Some(Some(a)), Some(Some(b))) = (self.first.first(), self.first.get(1)) else { return None };
        if self.design.isolation == Isolation::Sequence || !mismatches(a, b).is_empty() {
            return None;
        }
        let name = |i: usize| self.design.cells.get(i).map_or("", |c| c.name.as_str());
        Some(format!("every setting reads the same in {} and in {}", name(0), name(1)))
    }

    /// A block is valid.
    fn block_done(&mut self) {
        self.block = u32::try_from(self.valid).unwrap_or(u32::MAX).saturating_add(1);
        self.attempt = 1;
        self.look();
    }

    /// Judges what there is, if this is a look, and goes on to what comes after the last block or not.
    fn look(&mut self) {
        let enough = self.looks.last().is_some_and(|last| self.valid >= *last);
        if !enough && !self.looks.contains(&self.valid) {
            return;
        }
        let carried = carried::said(&self.trials).is_some();
        let decided = !carried && look::decided(&self.design, &self.trials);
        // No further block would make it valid.
        let last = carried || enough;
        self.events.push(Event::Look { blocks: self.valid, decided, last });
        if decided || last {
            self.stage = Stage::After(if decided { Ending::Decided } else { Ending::Finished });
        }
    }

    fn failed(&mut self, step: &Step, e: BenchError) {
        if *step == Step::PutBack {
            self.closed = true;
            return self.events.push(Event::PutBack { not_restored: vec![e.to_string()] });
        }
        match (e, step) {
            (BenchError::Stopped, _) => {
                self.end(Ending::Stopped, format!("stopped after {} valid blocks", self.valid));
            }
            (BenchError::Refused(why), _) => self.end(Ending::Refused, why),
            (BenchError::Gone(why), _) => self.end(Ending::Gone, why),
            (BenchError::Failed(why), Step::Drain) => self.void_trial(Gate::G4, why),
            (BenchError::Failed(why), Step::Measure(_)) if self.preparing() => self.end(Ending::Broken, why),
            (BenchError::Failed(why), Step::Measure(_)) => self.void_trial(Gate::G3, why),
            (BenchError::Failed(why) | BenchError::Broken(why), _) => self.end(Ending::Broken, why),
        }
    }

    /// The trial under way is one of the rounds before everything.
    fn preparing(&self) -> bool {
        self.current.as_ref().is_some_and(|c| c.plan.role == Role::Precondition)
    }

    /// It ends here. What was held is put back next.
    fn end(&mut self, ending: Ending, reason: String) {
        self.pending.clear();
        self.steps.clear();
        self.current = None;
        // What came first is the cause.
        self.ending.get_or_insert((ending, reason));
    }
}

fn phase(step: &Step) -> Option<Phase> {
    match step {
        Step::Drain => Some(Phase::Draining),
        Step::Read | Step::Apply(_) | Step::WriteBare(_) => Some(Phase::Applying),
        Step::Settle(_) => Some(Phase::Settling),
        Step::Measure(_) => Some(Phase::Measuring),
        Step::PutBack => Some(Phase::PuttingBack),
        Step::End => None,
    }
}
