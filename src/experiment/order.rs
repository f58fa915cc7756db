//! The warning light for the order of trials, for one comparison: whether what ran before influenced what was read.

use serde::{Deserialize, Serialize};

use super::blocks::{self, BlockTrials};
use super::observation::{Observation, Question};
use super::sentence;
use super::trial::Role;
use crate::stats::block::Block;
use crate::stats::carry_over::{self, Step};
use crate::stats::drift;
use crate::stats::latch::{Latch, Return, return_to_baseline};
pub use crate::stats::light::Light;
use crate::stats::light::{OrderEffects, Reason};
use crate::stats::planning::MOST_BLOCKS;
use crate::stats::summary::mean;
use crate::stats::t_test::Estimate;

/// Below so many blocks no carry-over is estimated.
const FEWEST_FITTED: usize = 3;

/// What is known about the order of trials. Log units: 0.05 is 5.1 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Green: an effect as large as the margin is ruled out. Amber: it is not. Red: there is one.
    pub light: Light,
    /// How much more a trial right after the candidate reads than one right after the baseline.
    pub carryover: Option<f64>,
    /// Its 90 % interval.
    pub carryover_ci: Option<[f64; 2]>,
    /// Its two-sided p value.
    pub carryover_p: Option<f64>,
    /// ABBA blocks less BAAB blocks.
    pub order_difference: Option<f64>,
    /// Change of the log reading from one trial to the next.
    pub drift_per_trial: Option<f64>,
    /// Its 95 % interval.
    pub drift_per_trial_ci: Option<[f64; 2]>,
    /// What that comes to over all trials, as a share: 0.05 is 5 %.
    pub drift_total: Option<f64>,
    /// Correlation of neighbouring blocks, where it is large enough to warn of.
    pub neighbours_alike: Option<f64>,
    /// The device did not come back to its starting performance; `None` if that was not measured. "No" is no proof: see
    /// `returned_ci`.
    pub latched: Option<bool>,
    /// Log reading of the starting settings after the last block, less before the first.
    pub returned: Option<f64>,
    /// Its 95 % interval.
    pub returned_ci: Option<[f64; 2]>,
    /// What drift alone would have changed there.
    pub returned_drift: Option<f64>,
    /// Every judged block began with a lead-in of its own first cell.
    pub lead_ins: bool,
    /// The candidate that this is about: of several, the one with the worst light.
    pub candidate: String,
    /// The light in words.
    pub text: String,
    /// What is said beside a verdict when the light is red.
    pub warning: Option<String>,
}

/// What the order of trials is judged from.
#[derive(Clone, Debug)]
pub(super) struct Facts<'a> {
    /// The question.
    pub question: &'a Question,
    /// Everything that ran, in the order of time.
    pub observations: &'a [Observation],
    /// The blocks that are judged.
    pub blocks: &'a [&'a BlockTrials<'a>],
    /// Index of the candidate's cell.
    pub candidate: usize,
    /// Index of the measure.
    pub measure: usize,
}

impl Facts<'_> {
    /// Whether every block began with a lead-in.
    pub(super) fn lead_ins(&self) -> bool {
        !self.blocks.is_empty() && self.blocks.iter().all(|b| b.lead_in)
    }

    /// What can be estimated.
    pub(super) fn effects(&self) -> OrderEffects {
        let cells = self.question.cells.len();
        let of_four: Option<Vec<Block>> = self.blocks.iter().map(|b| b.of_four(self.measure)).collect();
        let steps = blocks::steps(self.blocks, self.observations, self.measure);
        let (carry_over, order_difference) = match of_four {
            Some(four) => {
                (carry_over::carry_over(&four, self.lead_ins()), carry_over::order_difference(&four))
            }
            None if (FEWEST_FITTED..=MOST_BLOCKS).contains(&self.blocks.len()) => {
                (carry_over::by_least_squares(&steps, cells, self.candidate), None)
            }
            None => (None, None),
        };
        OrderEffects { carry_over, order_difference, latch: self.latch(&steps, cells) }
    }

    fn latch(&self, steps: &[Step], cells: usize) -> Option<Latch> {
        let group = |role| -> Vec<(f64, f64)> {
            let of = self.observations.iter().filter(|o| o.role == role && !o.void);
            of.filter_map(|o| Some((f64::from(o.number), o.reading(self.measure)?.ln()))).collect()
        };
        let (before, after) = (group(Role::BaselineBefore), group(Role::BaselineAfter));
        let middle = |g: &[(f64, f64)]| mean(&g.iter().map(|t| t.0).collect::<Vec<_>>());
        let logs = |g: &[(f64, f64)]| g.iter().map(|t| t.1).collect::<Vec<_>>();
        let distance = middle(&after)? - middle(&before)?;
        let slope = carry_over::slope_beside_cells(steps, cells).unwrap_or_default();
        return_to_baseline(&logs(&before), &logs(&after), self.question.theta(), slope, distance)
    }

    /// The drift over the trials of all these blocks.
    fn drift(&self) -> Option<Estimate> {
        let trials = self.blocks.iter().flat_map(|b| &b.trials);
        let (numbers, logs): (Vec<f64>, Vec<f64>) =
            trials.filter_map(|o| Some((f64::from(o.number), o.reading(self.measure)?.ln()))).unzip();
        drift::drift(&numbers, &logs)
    }

    /// The light and everything that is shown beside it. `d` are the log ratios of the blocks.
    pub(super) fn order(&self, d: &[f64]) -> Order {
        let effects = self.effects();
        let theta = self.question.theta();
        let (light, reason) = effects.light(theta);
        let names = [&*self.question.cells[0].name, &*self.question.cells[self.candidate].name];
        let rate = self.question.measures[self.measure].more_is_better;
        let carried = effects.carry_over;
        let ci = carried.and_then(|e| e.interval(0.10));
        let drift = self.drift();
        let (text, warning) = words(&effects, reason, theta, names, rate);
        let returned = effects.latch.map(|l| l.change);
        Order {
            light,
            carryover: carried.map(|e| e.value),
            carryover_ci: ci.map(|i| [i.lo, i.hi]),
            carryover_p: carried.and_then(|e| e.p()),
            order_difference: effects.order_difference.map(|e| e.value),
            drift_per_trial: drift.map(|e| e.value),
            drift_per_trial_ci: drift.and_then(|e| e.interval(0.05)).map(|i| [i.lo, i.hi]),
            drift_total: drift.map(|e| drift::total(e.value, self.observations.len())),
            neighbours_alike: drift::neighbours_alike(d),
            latched: effects.latch.map(|l| l.result == Return::Latched),
            returned: returned.map(|e| e.value),
            returned_ci: returned.and_then(|e| e.interval(0.05)).map(|i| [i.lo, i.hi]),
            returned_drift: effects.latch.map(|l| l.drift),
            lead_ins: self.lead_ins(),
            candidate: names[1].to_owned(),
            text,
            warning,
        }
    }
}

/// The light in words, and the warning of a red one.
fn words(
    effects: &OrderEffects,
    reason: Reason,
    theta: f64,
    names: [&str; 2],
    rate: bool,
) -> (String, Option<String>) {
    let [baseline, candidate] = names;
    let change = |lead: &str| {
        let change = effects.latch.map(|l| l.change);
        let interval =
            change.and_then(|e| e.interval(0.05)).map(|i| format!(", 95 % CI {}", sentence::range(i)));
        let value = change.map(|e| sentence::percent(e.value)).unwrap_or_default();
        format!("{lead} ({value}{})", interval.unwrap_or_default())
    };
    match reason {
        Reason::Latched => (change("the device did not come back to its starting performance"), None),
        Reason::CarriedOver(value) => {
            let ci = effects.carry_over.and_then(|e| e.interval(0.10));
            let what = sentence::carried_over(value, ci, names, rate);
            (
                format!("trials are influenced by what ran before: {what}"),
                Some(format!("Warning – order matters: {what}.")),
            )
        }
        Reason::OrderDiffers(value) => {
            let ci = effects.order_difference.and_then(|e| e.interval(0.10));
            let interval = ci.map_or_else(String::new, |i| format!(" (90 % CI {})", sentence::range(i)));
            let what = format!(
                "blocks that begin with {baseline} show {candidate} {} against those that begin with {candidate}{interval}",
                sentence::percent(value)
            );
            (
                format!("trials are influenced by what ran before: {what}"),
                Some(format!("Warning – order matters: {what}.")),
            )
        }
        Reason::DriftOrLatch => (
            change(
                "drift or latch: the device ended elsewhere than it began, by as much as the drift accounts for",
            ),
            None,
        ),
        Reason::RuledOut => {
            (format!("order effect smaller than ±{}", sentence::margin(theta.exp_m1())), None)
        }
        Reason::NotRuledOut(i) => (
            format!("order effect not ruled out (90 % CI {}): lengthen the settle pause", sentence::range(i)),
            None,
        ),
        Reason::NotKnown => {
            ("order effect not known: these blocks do not allow an estimate".to_owned(), None)
        }
    }
}
