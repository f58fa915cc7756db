//! What is shown of cells and trials beside the verdict.

use super::analysis::{CellFigure, CellFigures, TrialFigures};
use super::blocks::Blocks;
use super::observation::{Observation, Question};
use super::trial::Role;
use crate::stats::outlier::outliers;
use crate::stats::summary::mean_log;

/// The cells' own figures: over the trials of complete blocks, or over all trials if there are no blocks.
pub(super) fn cells(
    question: &Question,
    observations: &[Observation],
    blocks: &Blocks<'_>,
) -> Vec<CellFigures> {
    let used = used(observations, blocks);
    let figures = |(index, cell): (usize, &super::design::Cell)| {
        let own: Vec<&Observation> = observations
            .iter()
            .zip(&used)
            .filter(|(o, used)| **used && o.cell == Some(index))
            .map(|(o, _)| o)
            .collect();
        let figure = |(m, measure): (usize, &super::observation::Measure)| {
            // Of some trials only it would be of other ones than the figure beside it, and p99.9 could be below p99.
            let values = own.iter().map(|o| o.reading(m)).collect::<Option<Vec<f64>>>()?;
            Some(CellFigure {
                metric: measure.word.clone(),
                mean: mean_log(&values)?.exp(),
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
                max: values.iter().copied().fold(0.0, f64::max),
            })
        };
        CellFigures {
            name: cell.name.clone(),
            levels: cell.levels.clone(),
            trials: own.len(),
            bytes_per_s: moved(&own),
            figures: question.measures.iter().enumerate().filter_map(figure).collect(),
        }
    };
    question.cells.iter().enumerate().map(figures).collect()
}

/// All bytes over all time, never the mean of rates.
#[allow(clippy::cast_precision_loss)] // a rate is made of it
fn moved(own: &[&Observation]) -> Option<f64> {
    let moved: Option<Vec<(u64, f64)>> = own.iter().map(|o| o.moved).collect();
    let (bytes, seconds) =
        moved?.into_iter().fold((0.0, 0.0), |(b, s), (bytes, time)| (b + bytes as f64, s + time));
    (seconds > 0.0).then_some(bytes / seconds)
}

/// All trials with what is said of each.
pub(super) fn trials(
    question: &Question,
    observations: &[Observation],
    blocks: &Blocks<'_>,
) -> Vec<TrialFigures> {
    let used = used(observations, blocks);
    let flagged = flagged(question, observations, &used);
    let one = |(i, o): (usize, &Observation)| TrialFigures {
        number: o.number,
        role: o.role,
        cell: o.cell.and_then(|c| question.cells.get(c)).map(|c| c.name.clone()),
        block: o.block,
        position: o.position,
        started_s: o.started_s,
        value: o.reading(0),
        used: used[i],
        outlier: flagged[i],
    };
    observations.iter().enumerate().map(one).collect()
}

/// Which trials the figures are made of.
pub(super) fn used(observations: &[Observation], blocks: &Blocks<'_>) -> Vec<bool> {
    let numbers: std::collections::BTreeSet<u32> =
        blocks.complete.iter().flat_map(|b| &b.trials).map(|o| o.number).collect();
    let unblocked = numbers.is_empty();
    observations
        .iter()
        .map(|o| numbers.contains(&o.number) || unblocked && o.role == Role::Trial && !o.void)
        .collect()
}

/// Which trials are far from the others of their cell, on the primary metric.
pub(super) fn flagged(question: &Question, observations: &[Observation], used: &[bool]) -> Vec<bool> {
    let mut flagged = vec![false; observations.len()];
    for cell in 0..question.cells.len() {
        let own = observations.iter().enumerate().filter(|(i, o)| used[*i] && o.cell == Some(cell));
        let (at, values): (Vec<usize>, Vec<f64>) = own.filter_map(|(i, o)| Some((i, o.reading(0)?))).unzip();
        if let Some(found) = outliers(&values) {
            for (i, far) in at.into_iter().zip(found.flagged) {
                flagged[i] = far;
            }
        }
    }
    flagged
}
