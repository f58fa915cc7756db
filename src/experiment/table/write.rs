//! A table of trials, as the reader of this module takes it.

use super::preamble::Preamble;
use super::{HEADER, TableError};
use crate::experiment::observation::{Observation, Question};
use crate::experiment::trial::Role;

/// The table of these trials, in the order of time: a row for each trial and metric, the primary metric first. Metrics that no
/// trial has are left out. Read again, it gives the same observations, but for the bytes that were moved.
///
/// # Errors
/// None of them are ours: what a writer into memory can fail with.
pub fn write(
    question: &Question,
    observations: &[Observation],
    preamble: &Preamble,
    people: &[(&str, &str)],
) -> Result<String, TableError> {
    let failed = |e: csv::Error| TableError::Whole(e.to_string());
    let mut table = csv::Writer::from_writer(preamble.lines(people).into_bytes());
    table.write_record(HEADER).map_err(failed)?;
    let had = |m: &usize| *m == 0 || observations.iter().any(|o| o.reading(*m).is_some());
    let measures: Vec<usize> = (0..question.measures.len()).filter(had).collect();
    for o in observations {
        let cell = o.cell.and_then(|c| question.cells.get(c)).map_or("", |c| c.name.as_str());
        for m in &measures {
            let number = |n: Option<f64>| n.map(decimal).unwrap_or_default();
            let fields = [
                &*o.number.to_string(),
                role(o.role),
                &*o.block.map(|b| b.to_string()).unwrap_or_default(),
                &*o.position.map(|p| p.to_string()).unwrap_or_default(),
                cell,
                if o.void { "yes" } else { "" },
                &*number(o.started_s),
                &*question.measures[*m].word,
                &*number(o.reading(*m)),
            ];
            table.write_record(fields).map_err(failed)?;
        }
    }
    let bytes = table.into_inner().map_err(|e| TableError::Whole(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| TableError::Whole(e.to_string()))
}

/// The word of a role in the table.
const fn role(role: Role) -> &'static str {
    match role {
        Role::Trial => "trial",
        Role::LeadIn => "lead-in",
        Role::BaselineBefore => "baseline-before",
        Role::BaselineAfter => "baseline-after",
        Role::Precondition => "precondition",
    }
}

/// The shortest text that reads as the same number.
fn decimal(v: f64) -> String {
    if v == 0.0 || (1e-6..1e16).contains(&v.abs()) { v.to_string() } else { format!("{v:e}") }
}
