//! What should be known beside the verdict. None of it changes one.

use super::blocks::Blocks;
use super::figures::{flagged, used};
use super::metric::Metric;
use super::observation::{Observation, Question};
use super::order::Order;
use super::sentence;
use super::trial::Role;
use super::verdict::Comparison;
use crate::stats::outlier::outliers;
use crate::stats::summary::median;

/// More trials than this are not told one by one.
const MOST_TOLD: usize = 5;

/// The sentences, the most important first.
pub(super) fn of(
    question: &Question,
    observations: &[Observation],
    blocks: &Blocks<'_>,
    comparisons: &[Comparison],
    order: &Order,
    running: bool,
) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for c in comparisons.iter().filter(|c| c.identical) {
        told.push(format!(
            "{}, {}: identical readings – too coarse a clock or a cached result?",
            c.candidate, c.metric
        ));
    }
    told.extend(drift(question, order));
    if let Some(r) = order.neighbours_alike {
        told.push(format!(
            "Neighbouring blocks resemble each other (correlation {r:.2}): the interval may be too narrow."
        ));
    }
    for c in comparisons.iter().filter(|c| c.primary && c.typical_and_mean_disagree) {
        told.push(format!("{}: typical block and mean disagree: look at every block.", c.candidate));
    }
    // The last block of an experiment that goes on is not yet complete.
    for (number, trials, size) in blocks.left_out.iter().filter(|_| !running) {
        told.push(format!("Block {number} has {trials} trials, not {size}, and is left out."));
    }
    told.extend(outlying(question, observations, blocks));
    told.extend(slow_start(question, observations, blocks));
    told
}

fn drift(question: &Question, order: &Order) -> Option<String> {
    let (slope, total) = (order.drift_per_trial?, order.drift_total?);
    if total.ln_1p().abs() <= question.theta() {
        return None;
    }
    let interval = order.drift_per_trial_ci;
    let interval =
        interval.map_or_else(String::new, |[lo, hi]| format!(" (95 % CI {})", sentence::shares(lo, hi)));
    Some(format!(
        "Readings drift by {} a trial{interval}, {} over all trials; the blocks cancel it.",
        sentence::share(slope),
        sentence::percent(total.ln_1p())
    ))
}

fn outlying(question: &Question, observations: &[Observation], blocks: &Blocks<'_>) -> Vec<String> {
    let used = used(observations, blocks);
    let flags = flagged(question, observations, &used);
    let shown = |v: f64| shown(question, v);
    let far: Vec<&Observation> =
        observations.iter().zip(&flags).filter(|(_, f)| **f).map(|(o, _)| o).collect();
    let mut told: Vec<String> = far
        .iter()
        .take(MOST_TOLD)
        .filter_map(|o| {
            let own = observations.iter().zip(&used).filter(|(p, used)| **used && p.cell == o.cell);
            let middle = median(&own.filter_map(|(p, _)| p.reading(0)).collect::<Vec<_>>())?;
            let cell = question.cells.get(o.cell?)?;
            Some(format!(
                "Trial {} of {} reads {}, far from the others of its cell (median {}); it is kept.",
                o.number,
                cell.name,
                shown(o.reading(0)?),
                shown(middle)
            ))
        })
        .collect();
    if far.len() > MOST_TOLD {
        told.push(format!("{} more trials are far from the others of their cell.", far.len() - MOST_TOLD));
    }
    told
}

/// First trials that are unlike the rest, and in no block: the very first of all, with the settings that were found, and the
/// first lead-in. A device that has to wake up, or a cache that is cold, shows here.
fn slow_start(question: &Question, observations: &[Observation], blocks: &Blocks<'_>) -> Vec<String> {
    let used = used(observations, blocks);
    let begins = observations.first().filter(|o| o.role == Role::BaselineBefore);
    let found = begins.and_then(|first| {
        let same = |o: &&Observation| matches!(o.role, Role::BaselineBefore | Role::BaselineAfter);
        let (reading, middle) = unlike(first, observations.iter().skip(1).filter(same))?;
        let (reading, middle) = (shown(question, reading), shown(question, middle));
        Some(format!(
            "The very first trial, with the settings that were found, read {reading}, unlike the later ones with them (median \
             {middle}); it is in no block."
        ))
    });
    let lead_in = observations.iter().find(|o| o.role == Role::LeadIn).and_then(|first| {
        let cell = question.cells.get(first.cell?)?;
        let own = observations.iter().zip(&used).filter(|(o, used)| **used && o.cell == first.cell);
        let (reading, middle) = unlike(first, own.map(|(o, _)| o))?;
        let (reading, middle) = (shown(question, reading), shown(question, middle));
        Some(format!(
            "The first lead-in, of {}, read {reading}, unlike the later trials of its cell (median {middle}); it is \
             discarded.",
            cell.name
        ))
    });
    found.into_iter().chain(lead_in).collect()
}

/// A reading of the primary metric with its unit.
fn shown(question: &Question, v: f64) -> String {
    Metric::reading_of(question.measures.first().map_or("", |m| &m.word), v)
}

/// What a trial read and the median of the others, if it is an outlier among them.
fn unlike<'a>(first: &Observation, others: impl Iterator<Item = &'a Observation>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = others.filter_map(|o| o.reading(0)).collect();
    let middle = median(&values)?;
    let reading = first.reading(0)?;
    values.push(reading);
    let flagged = outliers(&values)?.flagged.last().copied()?;
    flagged.then_some((reading, middle))
}
