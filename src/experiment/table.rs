//! Trials as a table of comma-separated values: `block,position,cell,value` and, if wanted, `role`, `started_s`, `metric`,
//! `number`, `void`. A row is one reading of one trial. They were measured elsewhere, or are of a record of ours.

mod preamble;
mod write;

use std::collections::BTreeMap;

pub use preamble::Preamble;
pub use write::write;

use super::circumstances::Circumstances;
use super::design::{Blocks, Cell};
use super::observation::{Measure, Observation, Question};
use super::trial::Role;
use crate::stats::planning::FEWEST_BLOCKS;
use crate::sys::attr::clean;

/// Bytes that a table may have.
pub const MOST_BYTES: usize = 16 << 20;
/// Rows.
const MOST_ROWS: usize = 20_000;
/// Cells.
const MOST_CELLS: usize = 24;
/// Metrics.
const MOST_MEASURES: usize = 16;
/// Characters of a name.
const LONGEST_NAME: usize = 200;
/// The metric of a table that does not say.
const UNNAMED: &str = "value";

/// What is wrong with a table, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// In one line.
    #[error("line {line}: {what}")]
    Line {
        /// From 1, the header counted.
        line: u64,
        /// What is wrong and what to do.
        what: String,
    },
    /// Of the whole.
    #[error("{0}")]
    Whole(String),
}

/// A table that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The cells, the baseline first.
    pub cells: Vec<Cell>,
    /// The metrics in the order they first appear; the first is the primary one.
    pub measures: Vec<Measure>,
    /// The trials in the order of time.
    pub observations: Vec<Observation>,
    /// What was passed over, each a sentence.
    pub notes: Vec<String>,
    /// What it says of itself before its header.
    pub preamble: Preamble,
}

impl Table {
    /// Reads one. `baseline` names the cell to compare with; without it, that of the baseline trials, else the first by name.
    ///
    /// # Errors
    /// It is no such table; the error names the line and the value.
    pub fn read(bytes: &[u8], baseline: Option<&str>) -> Result<Table, TableError> {
        if bytes.len() > MOST_BYTES {
            return whole(format!("more than {} MiB; is it a table of trials?", MOST_BYTES >> 20));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let (preamble, lines) = Preamble::read(bytes)?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).comment(Some(b'#')).from_reader(bytes);
        let header = reader.byte_headers().map_err(|e| TableError::Whole(e.to_string()))?.clone();
        let columns = Columns::of(&header, lines.saturating_add(1))?;
        let mut rows = Vec::new();
        for record in reader.byte_records() {
            let record = record.map_err(|e| TableError::Whole(e.to_string()))?;
            if rows.len() == MOST_ROWS {
                return whole(format!("more than {MOST_ROWS} rows"));
            }
            let line = record.position().map_or(0, csv::Position::line);
            rows.push(columns.row(&record, line)?);
        }
        let notes = columns.passed_over;
        assemble(rows, baseline, notes, preamble)
    }

    /// What an analysis has to know beside its trials.
    #[must_use]
    pub fn circumstances(&self) -> Circumstances {
        let mut told = self.preamble.told.clone();
        told.remarks.splice(0..0, self.notes.iter().cloned());
        told
    }

    /// The question that is asked of it. With `adaptive` it is judged at the looks; else as the table says of itself, else
    /// every complete block counts, at 5 %.
    #[must_use]
    pub fn question(&self, margin: f64, adaptive: bool) -> Question {
        let mut question = Question {
            cells: self.cells.clone(),
            measures: self.measures.clone(),
            margin,
            blocks: if adaptive {
                Blocks::Adaptive
            } else {
                self.preamble.blocks.unwrap_or(Blocks::Adaptive)
            },
            block_trials: self.preamble.block_trials,
            block_s: self.preamble.block_s,
            seed: self.preamble.seed.unwrap_or(1),
        };
        if !adaptive && self.preamble.blocks.is_none() {
            let sorted = super::blocks::Blocks::of(&question, &self.observations);
            let fewest = (1..self.cells.len()).map(|c| sorted.comparing(c).len()).min();
            question.blocks = Blocks::Fixed(fewest.unwrap_or_default().max(FEWEST_BLOCKS));
        }
        question
    }
}

/// What a row says its trial was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Trial,
    LeadIn,
    /// Before or after the blocks: its time or its place in the table tells.
    Baseline(Option<Role>),
    Precondition,
}

/// One reading.
#[derive(Clone, Debug)]
struct Row {
    line: u64,
    number: Option<u32>,
    said: Said,
    void: bool,
    block: Option<u32>,
    position: Option<u8>,
    cell: String,
    metric: String,
    value: Option<f64>,
    started_s: Option<f64>,
}

/// Which column is which.
#[derive(Clone, Debug)]
struct Columns {
    of: BTreeMap<&'static str, usize>,
    number: usize,
    passed_over: Vec<String>,
}

/// All columns there are, in the order they are written.
const HEADER: [&str; 9] =
    ["number", "role", "block", "position", "cell", "void", "started_s", "metric", "value"];
const EXPECTED: &str = "the first line must be block,position,cell,value (and, if wanted, role, started_s, metric, number, void)";

impl Columns {
    fn of(header: &csv::ByteRecord, line: u64) -> Result<Self, TableError> {
        let mut of = BTreeMap::new();
        let mut passed_over = Vec::new();
        for (i, field) in header.iter().enumerate() {
            let name = shown(field).to_lowercase();
            match HEADER.iter().find(|k| **k == name) {
                Some(known) if of.insert(*known, i).is_some() => {
                    return at(line, format!("column {name} is there twice"));
                }
                Some(_) => {}
                None => passed_over
                    .push(format!("Column {name} says nothing to this program and is passed over.")),
            }
        }
        for needed in ["cell", "value"] {
            if !of.contains_key(needed) {
                let joined = header.iter().any(|f| f.contains(&b';') || f.contains(&b'\t'));
                let hint = if joined {
                    "; columns are separated by commas, numbers have a decimal point"
                } else {
                    ""
                };
                return at(line, format!("no column {needed}: {EXPECTED}{hint}"));
            }
        }
        Ok(Columns { of, number: header.len(), passed_over })
    }

    fn row(&self, record: &csv::ByteRecord, line: u64) -> Result<Row, TableError> {
        if record.len() != self.number {
            let hint =
                if record.len() > self.number { "; numbers have a decimal point, not a comma" } else { "" };
            return at(line, format!("{} fields, the header has {}{hint}", record.len(), self.number));
        }
        let field = |name: &str| {
            let text = self.of.get(name).and_then(|i| record.get(*i)).map(shown).unwrap_or_default();
            if text.chars().count() > LONGEST_NAME {
                return at(line, format!("{name}: longer than {LONGEST_NAME} characters"));
            }
            Ok(text)
        };
        let role = field("role")?;
        let said = match role.to_lowercase().replace('_', "-").as_str() {
            "" | "trial" => Said::Trial,
            "lead-in" => Said::LeadIn,
            "baseline" => Said::Baseline(None),
            "baseline-before" => Said::Baseline(Some(Role::BaselineBefore)),
            "baseline-after" => Said::Baseline(Some(Role::BaselineAfter)),
            "precondition" => Said::Precondition,
            _ => return at(line, format!("role {role}: it is trial, lead-in, baseline or precondition")),
        };
        let void = field("void")?;
        let void = match void.to_lowercase().as_str() {
            "" | "no" => false,
            "yes" => true,
            _ => return at(line, format!("void {void}: it is yes, or empty")),
        };
        let cell = field("cell")?;
        if cell.is_empty() && matches!(said, Said::Trial | Said::LeadIn) {
            return at(line, "no cell: which of the settings compared was it?".to_owned());
        }
        let metric = Some(field("metric")?).filter(|m| !m.is_empty()).unwrap_or_else(|| UNNAMED.to_owned());
        Ok(Row {
            line,
            number: whole_number(&field("number")?, "number", line)?,
            said,
            void,
            block: whole_number(&field("block")?, "block", line)?,
            position: whole_number(&field("position")?, "position", line)?,
            cell,
            metric,
            value: value(&field("value")?, line)?,
            started_s: number(&field("started_s")?, "started_s", line)?,
        })
    }
}

/// A reading: positive, or empty where it is not known.
fn value(text: &str, line: u64) -> Result<Option<f64>, TableError> {
    let value = number(text, "value", line)?;
    match value {
        Some(v) if v <= 0.0 => at(
            line,
            format!(
                "value {text}: readings are compared as ratios and must be above 0; a trial without a completed I/O is none"
            ),
        ),
        _ => Ok(value),
    }
}

fn number(text: &str, name: &str, line: u64) -> Result<Option<f64>, TableError> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(Some(v)),
        _ if text.contains(',') => {
            at(line, format!("{name} {text}: numbers have a decimal point, not a comma, and no grouping"))
        }
        _ => at(line, format!("{name} {text}: not a number")),
    }
}

fn whole_number<T: std::str::FromStr>(text: &str, name: &str, line: u64) -> Result<Option<T>, TableError> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).or_else(|_| at(line, format!("{name} {text}: not a whole number, or too large")))
}

/// A trial being put together of its rows.
#[derive(Clone, Debug)]
struct Gathered {
    line: u64,
    number: Option<u32>,
    role: Role,
    void: bool,
    block: Option<u32>,
    position: Option<u8>,
    cell: String,
    started_s: Option<f64>,
    values: BTreeMap<usize, Option<f64>>,
}

fn assemble(
    rows: Vec<Row>,
    baseline: Option<&str>,
    mut notes: Vec<String>,
    preamble: Preamble,
) -> Result<Table, TableError> {
    in_all_or_none(&rows, "started_s", |_| true, |r| r.started_s.is_some())?;
    in_all_or_none(&rows, "number", |_| true, |r| r.number.is_some())?;
    in_all_or_none(&rows, "block", |r| r.said == Said::Trial, |r| r.block.is_some())?;
    let metrics = distinct(rows.iter().map(|r| &*r.metric));
    if metrics.len() > MOST_MEASURES {
        return whole(format!("more than {MOST_MEASURES} metrics"));
    }
    let mut trials = gather(rows, &metrics)?;
    let in_blocks = trials.iter().any(|t| t.block.is_some());
    sort(&mut trials)?;
    let cells = cells(&trials, baseline, &preamble.cells)?;
    if !in_blocks && preamble.block_trials.is_none() {
        notes.push("The table has no blocks: what ran when can not be told from what was set.".to_owned());
    }
    let index = |name: &str| cells.iter().position(|c| c.name == name);
    let observations = trials
        .iter()
        .zip(1..)
        .map(|(t, number)| {
            let cell = index(&t.cell);
            if t.role == Role::LeadIn && cell.is_none() {
                return at(t.line, format!("cell {}: a lead-in of a cell without trials", t.cell));
            }
            if t.role == Role::Trial && cell.is_none() {
                return at(t.line, format!("cell {}: it is none of those named before the header", t.cell));
            }
            Ok(Observation {
                number: t.number.unwrap_or(number),
                role: t.role,
                cell,
                block: t.block,
                position: t.position,
                void: t.void,
                started_s: t.started_s,
                moved: None,
                values: (0..metrics.len()).map(|m| t.values.get(&m).copied().flatten()).collect(),
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let measures = metrics.iter().map(|m| Measure::of_word(m)).collect();
    Ok(Table { cells, measures, observations, notes, preamble })
}

/// That a column has something in all rows of that kind, or in none.
fn in_all_or_none(
    rows: &[Row],
    column: &str,
    kind: impl Fn(&Row) -> bool,
    has: impl Fn(&Row) -> bool,
) -> Result<(), TableError> {
    let (with, without): (Vec<&Row>, Vec<&Row>) = rows.iter().filter(|r| kind(r)).partition(|r| has(r));
    match (with.first(), without.first()) {
        (Some(_), Some(row)) => {
            at(row.line, format!("no {column}, which other rows have: give it in all rows or in none"))
        }
        _ => Ok(()),
    }
}

/// Rows of one trial are brought together: those of the same number, else of the same role, block, position and cell, the n-th
/// of one metric with the n-th of another.
fn gather(rows: Vec<Row>, metrics: &[String]) -> Result<Vec<Gathered>, TableError> {
    type Key = (u8, bool, Option<u32>, Option<u8>, String, Option<u32>, usize);
    let first_trial = rows.iter().position(|r| r.said == Said::Trial).unwrap_or(rows.len());
    let starts = rows.iter().filter(|r| r.said == Said::Trial).filter_map(|r| r.started_s);
    let first_start = starts.fold(f64::INFINITY, f64::min);
    let mut trials: Vec<Gathered> = Vec::new();
    let mut at_key: BTreeMap<Key, usize> = BTreeMap::new();
    let mut times: BTreeMap<(Key, usize), usize> = BTreeMap::new();
    for (i, row) in rows.into_iter().enumerate() {
        let role = match row.said {
            Said::Trial => Role::Trial,
            Said::LeadIn => Role::LeadIn,
            Said::Baseline(Some(role)) => role,
            Said::Baseline(None) => {
                let before = row.started_s.map_or(i < first_trial, |s| s < first_start);
                if before { Role::BaselineBefore } else { Role::BaselineAfter }
            }
            Said::Precondition => Role::Precondition,
        };
        let Some(metric) = metrics.iter().position(|m| *m == row.metric) else { continue };
        let kind = match role {
            Role::BaselineBefore => 0,
            Role::LeadIn => 1,
            Role::Trial => 2,
            Role::BaselineAfter => 3,
            Role::Precondition => 4,
        };
        let mut key: Key = (kind, row.void, row.block, row.position, row.cell.clone(), row.number, 0);
        let seen = times.entry((key.clone(), metric)).or_default();
        key.6 = *seen;
        *seen += 1;
        if let Some(number) = row.number.filter(|_| key.6 > 0) {
            return at(row.line, format!("number {number} is there twice with {}", row.metric));
        }
        let placed = role == Role::Trial && !row.void && row.block.is_some() && row.position.is_some();
        if placed && key.6 > 0 {
            let (block, position) = (row.block.unwrap_or_default(), row.position.unwrap_or_default());
            return at(
                row.line,
                format!("block {block} position {position} of {} is there twice", row.metric),
            );
        }
        let at = *at_key.entry(key).or_insert_with(|| {
            trials.push(Gathered {
                line: row.line,
                number: row.number,
                role,
                void: row.void,
                block: row.block,
                position: row.position,
                cell: row.cell,
                started_s: row.started_s,
                values: BTreeMap::new(),
            });
            trials.len() - 1
        });
        trials[at].values.insert(metric, row.value);
    }
    Ok(trials)
}

/// Into the order of time: by their numbers, else by their times, else by block and position.
fn sort(trials: &mut [Gathered]) -> Result<(), TableError> {
    if trials.iter().any(|t| t.number.is_some()) {
        trials.sort_by_key(|t| t.number);
        if let Some([_, b]) = trials.array_windows().find(|[a, b]| a.number == b.number) {
            let number = b.number.unwrap_or_default();
            return at(b.line, format!("number {number} is that of another trial, too"));
        }
    } else if trials.iter().any(|t| t.started_s.is_some()) {
        trials.sort_by(|a, b| a.started_s.unwrap_or_default().total_cmp(&b.started_s.unwrap_or_default()));
    } else {
        let phase = |t: &Gathered| match t.role {
            Role::Precondition => 0,
            Role::BaselineBefore => 1,
            Role::LeadIn | Role::Trial => 2,
            Role::BaselineAfter => 3,
        };
        let lead_in = |t: &Gathered| t.role != Role::LeadIn;
        trials.sort_by_key(|t| (phase(t), t.block, lead_in(t), t.position));
    }
    let mut last: BTreeMap<u32, (u8, String)> = BTreeMap::new();
    for t in trials.iter().filter(|t| t.role == Role::Trial && !t.void) {
        let (Some(block), Some(position)) = (t.block, t.position) else { continue };
        match last.insert(block, (position, t.cell.clone())) {
            Some((before, _)) if before > position => {
                return at(
                    t.line,
                    format!("block {block} position {position} started after position {before}"),
                );
            }
            Some((before, other)) if before == position => {
                return at(
                    t.line,
                    format!("block {block} position {position} is of {other} and of {}", t.cell),
                );
            }
            _ => {}
        }
    }
    Ok(())
}

/// The cells, the baseline first: those `told`, else those of the trials, the others by name.
fn cells(trials: &[Gathered], baseline: Option<&str>, told: &[String]) -> Result<Vec<Cell>, TableError> {
    let mut names = told.to_vec();
    if names.is_empty() {
        names = distinct(trials.iter().filter(|t| t.role == Role::Trial).map(|t| &*t.cell));
        names.sort();
    }
    if trials.is_empty() {
        return whole("no trial in it: there is nothing to compare".to_owned());
    }
    if names.len() > MOST_CELLS {
        return whole(format!("more than {MOST_CELLS} cells"));
    }
    if names.len() < 2 {
        let only = names.first().map_or_else(|| "no trial".to_owned(), |n| format!("only the cell {n}"));
        return whole(format!("{only} in it: there is nothing to compare"));
    }
    let found = trials.iter().filter(|t| matches!(t.role, Role::BaselineBefore | Role::BaselineAfter));
    let first = match baseline {
        Some(wanted) => match names.iter().position(|n| n == wanted) {
            Some(i) => i,
            None => {
                return whole(format!(
                    "no cell {}: there are {}",
                    clean(wanted.as_bytes()),
                    names.join(", ")
                ));
            }
        },
        None if !told.is_empty() => 0,
        None => found.map(|t| &t.cell).find_map(|c| names.iter().position(|n| n == c)).unwrap_or_default(),
    };
    let name = names.remove(first);
    names.insert(0, name);
    Ok(names.into_iter().map(|name| Cell { name, levels: Vec::new() }).collect())
}

fn distinct<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words {
        // Beyond the limits one more is enough to know.
        if found.len() <= MOST_CELLS.max(MOST_MEASURES) && !found.iter().any(|f| f == word) {
            found.push(word.to_owned());
        }
    }
    found
}

fn shown(field: &[u8]) -> String {
    clean(field).trim().to_owned()
}

fn at<T>(line: u64, what: String) -> Result<T, TableError> {
    Err(TableError::Line { line, what })
}

fn whole<T>(what: String) -> Result<T, TableError> {
    Err(TableError::Whole(what))
}
