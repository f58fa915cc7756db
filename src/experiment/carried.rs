//! Settings that a trial took over from those before it, where nothing is put back between trials: the same cell is then
//! measured in different states, and what is compared are no longer two cells.

use crate::sys::queue::QueueState;

use super::cell_state::mismatches;
use super::trial::{Finding, Gate, Trial};

/// More settings than this are not named one by one.
const MOST_NAMED: usize = 3;

/// What a cell's settings read otherwise than they did in its first trial, as a finding that voids nothing: trials later
/// in the sequence would read the same again. `name` is the cell's, `number` that of the trial.
pub(super) fn finding(name: &str, first: &QueueState, reads: &QueueState, number: u32) -> Option<Finding> {
    let moved = mismatches(first, reads);
    let shown = |v: Option<String>| v.unwrap_or_else(|| "absent".to_owned());
    let more = moved.len().saturating_sub(MOST_NAMED);
    let mut each: Vec<String> = moved
        .into_iter()
        .take(MOST_NAMED)
        .map(|(setting, was, is)| {
            format!(
                "{setting} was {} in the first trial of {name}, {} in trial {number}",
                shown(was),
                shown(is)
            )
        })
        .collect();
    if more > 0 {
        each.push(format!("and {more} more"));
    }
    (!each.is_empty()).then(|| Finding { gate: Gate::G1, voids: false, text: each.join("; ") })
}

/// That settings were carried over, in words: the first such finding, and what follows from it.
pub(super) fn said(trials: &[Trial]) -> Option<String> {
    let found = trials.iter().flat_map(|t| &t.findings).find(|f| f.gate == Gate::G1 && !f.voids)?;
    Some(format!(
        "settings are carried over from trial to trial: {}; what a cell is depends on what ran before it",
        found.text
    ))
}
