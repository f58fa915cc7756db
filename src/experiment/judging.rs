//! Every candidate judged on one measure: at the looks that there were, against the order of trials, into a comparison.

use super::blocks::{self, BlockTrials, Blocks};
use super::design;
use super::observation::{Observation, Question};
use super::order::{Facts, Light, Order};
use super::verdict::{Comparison, RatioInterval, Unblocked, Verdict};
use crate::stats::decision::{Decision, Judgement, judge_all};
use crate::stats::interval::Interval;
use crate::stats::looks::{self, Looked, judge_with};
use crate::stats::planning::FEWEST_BLOCKS;
use crate::stats::summary::count;
use crate::stats::{bootstrap, hodges_lehmann, mann_whitney, wilcoxon, williams};

/// Most trials of a cell that are compared without blocks: the exact count grows with their product.
const MOST_UNBLOCKED: usize = 100;

/// When it is judged, and how strictly.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    /// Numbers of blocks at which it is judged.
    pub looks: Vec<usize>,
    /// Alpha of each, for all candidates together.
    pub alpha: f64,
    /// Until a look decides.
    pub adaptive: bool,
}

impl Schedule {
    pub(super) fn of(question: &Question) -> Self {
        let cells = question.cells.len();
        match question.blocks {
            design::Blocks::Fixed(n) => {
                Schedule { looks: vec![n.max(FEWEST_BLOCKS)], alpha: looks::FIXED, adaptive: false }
            }
            design::Blocks::Adaptive => Schedule {
                looks: looks::looks(cells).to_vec(),
                alpha: if cells > 2 { looks::PER_LOOK_SEVERAL } else { looks::PER_LOOK },
                adaptive: true,
            },
        }
    }
}

/// All candidates on one measure.
#[derive(Clone, Debug)]
pub(super) struct Judged<'a> {
    pub question: &'a Question,
    pub observations: &'a [Observation],
    pub schedule: &'a Schedule,
    pub measure: usize,
    /// Of each candidate, its complete blocks.
    pub blocks: Vec<Vec<&'a BlockTrials<'a>>>,
    /// Of each candidate, the log ratio of each of them.
    pub d: Vec<Vec<Option<f64>>>,
    /// Of each candidate, what was decided.
    looked: Vec<Looked>,
    /// It goes on: between looks nothing is decided.
    running: bool,
}

impl<'a> Judged<'a> {
    pub(super) fn new(
        question: &'a Question,
        observations: &'a [Observation],
        sorted: &'a Blocks<'a>,
        schedule: &'a Schedule,
        measure: usize,
        running: bool,
    ) -> Self {
        let candidates = 1..question.cells.len();
        let blocks: Vec<Vec<&BlockTrials<'a>>> = candidates.clone().map(|c| sorted.comparing(c)).collect();
        let d: Vec<Vec<Option<f64>>> = candidates
            .zip(&blocks)
            .map(|(c, blocks)| blocks.iter().map(|b| b.log_ratio(c, measure)).collect())
            .collect();
        let mut judged =
            Judged { question, observations, schedule, measure, blocks, d, looked: Vec::new(), running };
        judged.looked = judged.look();
        judged
    }

    fn look(&self) -> Vec<Looked> {
        let known: Vec<Vec<f64>> = self.d.iter().map(|d| d.iter().copied().flatten().collect()).collect();
        let family: Vec<&[f64]> = known.iter().map(Vec::as_slice).collect();
        let (margin, alpha) = (self.question.margin, self.schedule.alpha);
        let against = |i: usize, look: usize, judgement: Judgement| match self.carried_over(i, look) {
            Some(lambda) => judgement.against(lambda),
            None => judgement,
        };
        let mut looked = judge_with(&family, margin, alpha, &self.schedule.looks, against);
        if self.running {
            for (held, so_far) in looked.iter_mut().zip(judge_all(&family, margin, alpha)) {
                if !held.judgement.decision.settled() && !held.last {
                    *held = Looked { judgement: so_far, look: None, last: false };
                }
            }
        }
        looked
    }

    /// The carry-over that counts against a verdict: a red light, and no lead-ins to take it away.
    fn carried_over(&self, candidate: usize, look: usize) -> Option<f64> {
        let blocks = &self.blocks[candidate][..look.min(self.blocks[candidate].len())];
        let facts = self.facts(candidate, blocks);
        if facts.lead_ins() {
            return None;
        }
        let effects = facts.effects();
        let red = effects.light(self.question.theta()).0 == Light::Red;
        effects.carry_over.filter(|_| red).map(|e| e.value)
    }

    fn facts<'b>(&'b self, candidate: usize, blocks: &'b [&'b BlockTrials<'b>]) -> Facts<'b> {
        Facts {
            question: self.question,
            observations: self.observations,
            blocks,
            candidate: candidate + 1,
            measure: self.measure,
        }
    }

    /// Blocks of the candidate that were judged: up to its look, else all.
    fn judged_blocks(&self, candidate: usize) -> usize {
        let all = self.blocks[candidate].len();
        self.looked[candidate].look.map_or(all, |look| look.min(all))
    }

    /// The fewest complete blocks of any candidate.
    pub(super) fn fewest_blocks(&self) -> usize {
        self.blocks.iter().map(Vec::len).min().unwrap_or_default()
    }

    /// The order light of the candidate that has the worst.
    pub(super) fn order(&self) -> Option<Order> {
        let of = |i: usize| {
            let n = self.judged_blocks(i);
            let d: Vec<f64> = self.d[i][..n].iter().copied().flatten().collect();
            self.facts(i, &self.blocks[i][..n]).order(&d)
        };
        // The first of those that are equally bad.
        let balanced = |i: &usize| self.lopsided(*i).is_none();
        (0..self.blocks.len()).rev().filter(balanced).map(of).max_by_key(|o| o.light)
    }

    /// Why its blocks can not tell a drift from an effect, if they can not.
    fn lopsided(&self, candidate: usize) -> Option<String> {
        let n = self.judged_blocks(candidate);
        // An experiment that has not finished a block yet is no table without blocks.
        if n == 0 && self.question.block_trials.is_some() {
            return None;
        }
        let names = [&*self.question.cells[0].name, &*self.question.cells[candidate + 1].name];
        blocks::lopsided(&self.blocks[candidate][..n], candidate + 1, names)
    }

    /// Why nothing follows from a candidate's trials on this measure.
    pub(super) fn flaw(&self, candidate: usize) -> Option<String> {
        self.lopsided(candidate).or_else(|| {
            let missing = self.d[candidate].iter().filter(|d| d.is_none()).count();
            let word = &self.question.measures[self.measure].word;
            (missing > 0).then(|| {
                format!(
                    "{word} could not be had in every trial: it is missing in {missing} of {} blocks",
                    self.d[candidate].len()
                )
            })
        })
    }

    /// Whether any trial has a reading of this measure.
    pub(super) fn measured(&self) -> bool {
        self.observations.iter().any(|o| o.reading(self.measure).is_some())
    }

    /// The comparison of one candidate, without its sentence. `companions` are the figures that are shown beside it.
    pub(super) fn comparison(&self, candidate: usize, companions: bool) -> Comparison {
        let Looked { judgement, look, last } = &self.looked[candidate];
        let measure = &self.question.measures[self.measure];
        let n = self.judged_blocks(candidate);
        let d: Vec<f64> = self.d[candidate][..n].iter().copied().flatten().collect();
        let verdict = self.verdict(candidate);
        let adjusted = look.and_then(|look| self.carried_over(candidate, look));
        let each = 1.0 - judgement.confidence();
        let typical = hodges_lehmann::paired(&d, each);
        // That they point to opposite sides of 0 says nothing while both are about 0; a winner whose typical block points the
        // other way is always further from it than this.
        let disagree = typical
            .as_ref()
            .is_some_and(|t| d.len() > 1 && (t.estimate - judgement.mean).abs() > judgement.theta / 2.0);
        let more = (verdict == Verdict::Inconclusive && adjusted.is_none())
            .then(|| judgement.blocks_more(self.step()).map(|more| judgement.n + more))
            .flatten();
        Comparison {
            baseline: self.question.cells[0].name.clone(),
            candidate: self.question.cells[candidate + 1].name.clone(),
            metric: measure.word.clone(),
            primary: self.measure == 0,
            more_is_better: measure.more_is_better,
            blocks: n,
            ratio: (!d.is_empty()).then(|| judgement.mean.exp()),
            ci: judgement.difference.map(ratios),
            confidence: judgement.confidence(),
            ci_equivalence: judgement.equivalence.map(ratios),
            p: judgement.p,
            p_adjusted: judgement.p_adjusted,
            verdict,
            at_least_margin: verdict.decided()
                && matches!(
                    judgement.decision,
                    Decision::More { at_least_margin: true } | Decision::Less { at_least_margin: true }
                ),
            measurable: judgement.decision == Decision::Equivalent { measurable: true },
            identical: d.len() > 1 && judgement.identical(),
            look: *look,
            last_look: *last,
            alpha: self.schedule.alpha,
            carryover_against: adjusted,
            new_experiment_blocks: more,
            hodges_lehmann: typical.filter(|_| companions).map(|t| RatioInterval {
                ratio: t.estimate.exp(),
                ci: t.interval.map(|i| ratios(i.range)),
                confidence: t.interval.map(|i| i.confidence),
            }),
            wilcoxon_p: companions.then(|| wilcoxon::signed_rank(&d)).flatten().map(|w| w.p),
            bca: companions
                .then(|| bootstrap::bca(&d, each, self.question.seed))
                .flatten()
                .map(|b| ratios(b.interval)),
            typical_and_mean_disagree: disagree,
            d: self.d[candidate].clone(),
            unblocked: self.lopsided(candidate).is_some().then(|| self.unblocked(candidate, each)).flatten(),
            sentence: String::new(),
        }
    }

    fn verdict(&self, candidate: usize) -> Verdict {
        let Looked { judgement, look, .. } = &self.looked[candidate];
        if look.is_none() {
            return Verdict::Preliminary;
        }
        let more_is_better = self.question.measures[self.measure].more_is_better;
        match judgement.decision {
            Decision::More { .. } if more_is_better => Verdict::Better,
            Decision::Less { .. } if !more_is_better => Verdict::Better,
            Decision::More { .. } | Decision::Less { .. } => Verdict::Worse,
            Decision::Equivalent { .. } => Verdict::Equivalent,
            Decision::Inconclusive => Verdict::Inconclusive,
            Decision::Preliminary => Verdict::Preliminary,
        }
    }

    /// Blocks come in multiples of this.
    fn step(&self) -> usize {
        match self.question.cells.len() {
            k @ 3..=6 => williams::complete_set(k),
            _ => 2,
        }
    }

    fn unblocked(&self, candidate: usize, alpha: f64) -> Option<Unblocked> {
        let logs = |cell: usize| -> Vec<f64> {
            let of = self.observations.iter().filter(|o| o.cell == Some(cell) && !o.void);
            let of = of.filter(|o| o.role == super::trial::Role::Trial);
            of.filter_map(|o| o.reading(self.measure)).map(f64::ln).collect()
        };
        let (x, y) = (logs(0), logs(candidate + 1));
        let few = x.len() <= MOST_UNBLOCKED && y.len() <= MOST_UNBLOCKED;
        let shift = few.then(|| mann_whitney::shift(&x, &y, alpha)).flatten()?;
        Some(Unblocked {
            label: "not counterbalanced".to_owned(),
            shift: RatioInterval {
                ratio: shift.estimate.exp(),
                ci: shift.interval.map(|i| ratios(i.range)),
                confidence: shift.interval.map(|i| i.confidence),
            },
            p: shift.p,
        })
    }
}

/// Trials of the candidates' blocks without a lead-in, and with it.
#[must_use]
pub(super) fn block_seconds(observations: &[Observation], blocks: usize) -> Option<f64> {
    let started: Vec<f64> =
        observations.iter().filter(|o| o.block.is_some()).filter_map(|o| o.started_s).collect();
    let (first, last) = (started.first()?, started.last()?);
    let steps = started.len().checked_sub(1).filter(|n| *n > 0 && blocks > 0)?;
    let one = (last - first) / count(steps);
    let block = one * count(started.len()) / count(blocks);
    (block.is_finite() && block > 0.0).then_some(block)
}

/// The ends of an interval of log ratios, as ratios.
fn ratios(log: Interval) -> [f64; 2] {
    let i = log.exp();
    [i.lo, i.hi]
}
