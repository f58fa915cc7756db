//! From observations to cells, comparisons, the order light, verdicts and sentences. The fields are those of the JSON of
//! `ab` and `analyse`.

use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::circumstances::Circumstances;
use super::figures;
use super::judging::{self, Judged, Schedule};
use super::observation::{Observation, Question};
use super::order::{Light, Order};
use super::sentence::{self, Saying};
use super::trial::Role;
use super::verdict::{Comparison, Verdict};
use super::warnings;

/// A cell's own figures, for display: the verdict is made of ratios within blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// Its name.
    pub name: String,
    /// The level of each factor.
    pub levels: Vec<String>,
    /// Trials used.
    pub trials: usize,
    /// All bytes over all measured time, where that is known.
    pub bytes_per_s: Option<f64>,
    /// A figure of each metric that every one of these trials has, the primary first.
    pub figures: Vec<CellFigure>,
}

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigure {
    /// The metric's word.
    pub metric: String,
    /// Geometric mean over trials, in the metric's unit.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// One trial, as shown in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialFigures {
    /// Place in the order of time, from 1.
    pub number: u32,
    /// What it was for.
    pub role: Role,
    /// Its cell; `None` with the settings that were found.
    pub cell: Option<String>,
    /// Its block.
    pub block: Option<u32>,
    /// Its place in the block.
    pub position: Option<u8>,
    /// When it began, seconds.
    pub started_s: Option<f64>,
    /// Its reading of the primary metric.
    pub value: Option<f64>,
    /// Used by the analysis.
    pub used: bool,
    /// Far from the other trials of its cell.
    pub outlier: bool,
}

/// Everything that follows from the observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// The cells, the baseline first.
    pub cells: Vec<CellFigures>,
    /// Every candidate on the primary metric, then on the others.
    pub comparisons: Vec<Comparison>,
    /// The order of trials, by the primary metric.
    pub order: Order,
    /// Smallest difference that matters, as a share.
    pub margin: f64,
    /// Complete blocks, also those after the look.
    pub complete_blocks: usize,
    /// The next look, while there is one to come.
    pub next_look: Option<usize>,
    /// This is no point of decision: between two looks of an experiment that goes on.
    pub interim: bool,
    /// Metrics that disagree, said aloud.
    pub trade_offs: Vec<String>,
    /// What else should be known, each a sentence.
    pub warnings: Vec<String>,
    /// All trials in the order of time.
    pub trials: Vec<TrialFigures>,
}

impl Analysis {
    /// The comparisons on the primary metric.
    pub fn primary(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|c| c.primary)
    }

    /// Whether every candidate is decided on the primary metric: an adaptive experiment ends here.
    #[must_use]
    pub fn decided(&self) -> bool {
        self.primary().all(|c| c.verdict.decided())
    }

    /// Whether nothing follows from it.
    #[must_use]
    pub fn invalid(&self) -> bool {
        self.primary().any(|c| c.verdict == Verdict::Invalid)
    }

    /// The sentence of the first candidate on the primary metric.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.primary().next().map_or("", |c| &c.sentence)
    }
}

/// What follows from an experiment that has ended, or from a table. Observations are in the order of time, their numbers
/// ascend. Never fails: what can not be judged is said in the verdict.
#[must_use]
pub fn analyse(question: &Question, observations: &[Observation], circumstances: &Circumstances) -> Analysis {
    draw(question, observations, circumstances, false)
}

/// The same of an experiment that goes on. At a look [`Analysis::decided`] says whether it ends here; between looks the
/// intervals are of all blocks so far, and no point of decision ([`Analysis::interim`]). Without the figures that take time.
#[must_use]
pub fn live(question: &Question, observations: &[Observation], circumstances: &Circumstances) -> Analysis {
    draw(question, observations, circumstances, true)
}

fn draw(question: &Question, observations: &[Observation], told: &Circumstances, running: bool) -> Analysis {
    let schedule = Schedule::of(question);
    let sorted = Blocks::of(question, observations);
    let judged = |measure| Judged::new(question, observations, &sorted, &schedule, measure, running);
    let primary = judged(0);
    let blocks = primary.fewest_blocks();
    let mut order = primary.order().unwrap_or_else(Order::unknown);
    if let Some(what) = &told.carried_over {
        order.carries(what);
    }
    let latched = order.latched == Some(true) || told.carried_over.is_some();
    let latched = latched.then(|| order.text.clone());
    let mut comparisons: Vec<Comparison> = Vec::new();
    let mut flaws: Vec<Option<String>> = Vec::new();
    for measure in 0..question.measures.len() {
        let judged = if measure == 0 { primary.clone() } else { judged(measure) };
        if measure > 0 && !judged.measured() {
            continue;
        }
        for candidate in 0..question.cells.len().saturating_sub(1) {
            let told = told.invalid.clone().or_else(|| judged.flaw(candidate));
            flaws.push(told.or_else(|| latched.clone()));
            comparisons.push(judged.comparison(candidate, !running));
        }
    }
    let undecided = comparisons.iter().filter(|c| c.primary).any(|c| !c.verdict.decided());
    let next_look = schedule.looks.iter().copied().find(|l| *l > blocks).filter(|_| running && undecided);
    let interim = running && undecided && next_look.is_some() && !schedule.looks.contains(&blocks);
    let saying = Saying {
        invalid: None,
        margin: question.margin,
        order: &order,
        looks: &schedule.looks,
        adaptive: schedule.adaptive,
        next_look,
        interim,
        blocks,
        early: told.early,
        block_s: question.block_s.or_else(|| judging::block_seconds(observations, sorted.complete.len())),
        candidates: question.cells.len().saturating_sub(1),
    };
    for (c, flaw) in comparisons.iter_mut().zip(&flaws) {
        if flaw.is_some() {
            c.verdict = Verdict::Invalid;
            (c.at_least_margin, c.measurable, c.new_experiment_blocks) = (false, false, None);
        }
        c.sentence = sentence::of(c, &Saying { invalid: flaw.as_deref(), ..saying });
    }
    let warned = warnings::of(question, observations, &sorted, &comparisons, &order, running);
    Analysis {
        cells: figures::cells(question, observations, &sorted),
        trade_offs: sentence::trade_offs(&comparisons),
        comparisons,
        order,
        margin: question.margin,
        complete_blocks: blocks,
        next_look,
        interim,
        warnings: warned.into_iter().chain(told.remarks.iter().cloned()).collect(),
        trials: figures::trials(question, observations, &sorted),
    }
}

impl Order {
    /// Settings were carried over, which is worse than whatever the readings say.
    fn carries(&mut self, what: &str) {
        self.text = match self.latched {
            Some(true) => format!("{}; {what}", self.text),
            _ => what.to_owned(),
        };
        (self.light, self.warning) = (Light::Red, None);
    }

    /// Without blocks that are counterbalanced.
    fn unknown() -> Self {
        Order {
            light: Light::Amber,
            carryover: None,
            carryover_ci: None,
            carryover_p: None,
            order_difference: None,
            drift_per_trial: None,
            drift_per_trial_ci: None,
            drift_total: None,
            neighbours_alike: None,
            latched: None,
            returned: None,
            returned_ci: None,
            returned_drift: None,
            lead_ins: false,
            candidate: String::new(),
            text: "order effect not known: the trials are not counterbalanced".to_owned(),
            warning: None,
        }
    }
}
