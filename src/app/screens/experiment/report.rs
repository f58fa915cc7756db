//! What an experiment shows, going or ended, entry by entry: the most important first.

use crate::app::entries::{Entry, text};
use crate::app::message::ExperimentEnd;
use crate::config::theme::Role;
use crate::experiment::analysis::Analysis;
use crate::experiment::estimate::looks_of;
use crate::experiment::event::Ending;
use crate::experiment::limits::CALIBRATION_BLOCKS;
use crate::experiment::order::Light;
use crate::experiment::sentence;
use crate::stats::summary::deviation;

use super::asking::command;
use super::course::Course;
use super::tables::{self, cells, compared};

/// How a screen is made: what the entries depend on besides the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// No characters beyond ASCII.
    pub ascii: bool,
}

/// From here on there is room for all metrics above the chart.
const HIGH: u16 = 30;

/// All of it.
#[must_use]
pub fn entries(course: &Course, paper: Paper) -> Vec<Entry> {
    let mut out = match &course.ended {
        None => going(course, paper),
        Some(Ok(end)) => ended(course, end, paper),
        Some(Err(why)) => vec![
            text(Role::Danger, format!("It did not begin: {why}.")),
            text(Role::Text, "No setting was touched."),
        ],
    };
    if paper.ascii {
        out.iter_mut().for_each(in_ascii);
    }
    out
}

fn in_ascii(entry: &mut Entry) {
    match entry {
        Entry::Text { text, .. } => *text = sentence::ascii(text),
        Entry::Line(pieces) => pieces.iter_mut().for_each(|(_, text)| *text = sentence::ascii(text)),
        Entry::Blank | Entry::Heads { .. } | Entry::Row { .. } | Entry::Charts(_) => {}
    }
}

/// Rows of the chart of trials.
const fn chart_rows(paper: Paper) -> usize {
    if paper.height < HIGH { 8 } else { 12 }
}

fn going(course: &Course, paper: Paper) -> Vec<Entry> {
    let analysis = course.analysis.as_deref();
    let mut out = cells(course, analysis, paper);
    match analysis {
        Some(a) => out.push(text(verdict_role(a), sentence_so_far(course, a))),
        None => out.push(text(Role::Muted, "Nothing to compare before the first block is complete.")),
    }
    let high = paper.height >= HIGH;
    if let Some(a) = analysis {
        out.extend(trade_offs(a));
        out.extend(compared(a, paper, if high { tables::Which::All } else { tables::Which::Primary }));
        out.extend(order(a));
    }
    out.extend(voids(course));
    out.push(Entry::Charts(chart_rows(paper)));
    out.extend(void_reasons(course));
    if let Some(a) = analysis.filter(|_| !high) {
        out.extend(compared(a, paper, tables::Which::Others));
    }
    out.extend(analysis.into_iter().flat_map(warnings));
    out.extend(beside(course, &course.notes));
    out
}

fn ended(course: &Course, end: &ExperimentEnd, paper: Paper) -> Vec<Entry> {
    let mut out = Vec::new();
    let device = &course.design().device;
    for what in &end.not_restored {
        out.push(Entry::Text { role: Role::Danger, mark: "!", text: format!("NOT PUT BACK: {what}") });
    }
    if !end.not_restored.is_empty() {
        let what = format!(
            "{device} is not as it was found: blktune restore tries again; see its settings on screen 2."
        );
        out.push(text(Role::Danger, what));
        out.push(Entry::Blank);
    }
    let a = &end.analysis;
    let verdict = || text(verdict_role(a), a.sentence().to_owned());
    match end.ending {
        Ending::Decided | Ending::Finished | Ending::Invalid => out.push(verdict()),
        Ending::Stopped => {
            out.push(text(Role::Warning, "Stopped before its end."));
            out.push(verdict());
        }
        // The sentence would only say it again.
        Ending::Refused => {
            out.push(text(Role::Danger, format!("The kernel did not take it: {}.", end.reason)));
        }
        Ending::Gone => {
            out.push(text(Role::Danger, format!("The device went away: {}.", end.reason)));
            out.push(verdict());
        }
        Ending::Broken => {
            out.push(text(Role::Danger, format!("It could not go on: {}.", end.reason)));
            out.push(verdict());
        }
    }
    out.extend(trade_offs(a));
    out.extend(quiet(course, a));
    let restored = match (end.not_restored.is_empty(), end.ending) {
        (false, _) => "",
        (true, Ending::Gone) => " Nothing is left that could be put back.",
        (true, _) => " Settings are as they were found.",
    };
    let reason = match end.ending {
        Ending::Decided | Ending::Finished | Ending::Stopped => format!("Ended: {}.", end.reason),
        _ => String::new(),
    };
    out.push(text(Role::Muted, format!("{reason}{restored}").trim().to_owned()));
    out.extend(cells(course, Some(a), paper));
    out.extend(compared(a, paper, tables::Which::All));
    out.extend(order(a));
    out.extend(voids(course));
    out.extend(void_reasons(course));
    out.extend(warnings(a));
    out.push(Entry::Charts(chart_rows(paper)));
    out.extend(beside(course, &end.notes));
    match &end.record {
        Some(dir) => {
            let dir = crate::sys::attr::clean(dir.as_os_str().as_encoded_bytes());
            out.push(text(Role::Text, format!("Record: {dir}")));
            out.push(text(Role::Text, format!("Report: blktune report {dir}")));
            if end.ending == Ending::Stopped {
                out.push(text(Role::Text, format!("Go on: blktune ab --resume {dir}")));
            }
        }
        None => out.push(text(Role::Warning, "No record was kept.")),
    }
    out.push(text(Role::Text, format!("Again: {}", command(&course.order.command))));
    out
}

/// How the verdict on the primary metric looks.
fn verdict_role(a: &Analysis) -> Role {
    a.primary().next().map_or(Role::Muted, tables::role)
}

/// The sentence, and that nothing is decided between looks.
fn sentence_so_far(course: &Course, a: &Analysis) -> String {
    const NO_POINT: &str = "not a decision point";
    let said = a.sentence();
    let first = looks_of(course.design()).first().copied().unwrap_or_default();
    let between = a.interim || a.complete_blocks < first;
    if between && !said.contains(NO_POINT) {
        return format!("{said} Between looks: {NO_POINT}.");
    }
    said.to_owned()
}

fn trade_offs(a: &Analysis) -> Vec<Entry> {
    a.trade_offs.iter().map(|t| text(Role::Warning, t.clone())).collect()
}

fn order(a: &Analysis) -> Vec<Entry> {
    let o = &a.order;
    let (role, light) = match o.light {
        Light::Green => (Role::Good, "green"),
        Light::Amber => (Role::Warning, "amber"),
        Light::Red => (Role::Danger, "red"),
    };
    let mut out = vec![text(role, format!("order {light}: {}", o.text))];
    if let (Some(slope), Some([lo, hi])) = (o.drift_per_trial, o.drift_per_trial_ci) {
        let ci = sentence::shares(lo, hi);
        out.push(text(Role::Muted, format!("drift {} a trial (95 % CI {ci})", sentence::share(slope))));
    }
    out
}

/// How many blocks were void.
fn voids(course: &Course) -> Option<Entry> {
    let n = course.voids.len();
    let (blocks, were) = if n == 1 { ("block", "was") } else { ("blocks", "were") };
    let left = course.voids_left.filter(|_| course.going());
    let left = left.map_or_else(String::new, |left| format!("; {left} more may be"));
    (n > 0).then(|| text(Role::Warning, format!("void: {n} {blocks} {were} run again{left}")))
}

/// Blocks and trials that were void, each with its reason.
fn void_reasons(course: &Course) -> Vec<Entry> {
    let mark = |text: String| Entry::Text { role: Role::Warning, mark: "!", text };
    let blocks = course.voids.iter().map(|v| {
        let attempt = if v.attempt > 1 { format!(", attempt {}", v.attempt) } else { String::new() };
        mark(format!("void: block {}{attempt}: {}", v.block, v.reason))
    });
    let found = course.trials.iter().filter(|t| t.plan.block.is_none() && t.void());
    let found = found.map(|t| {
        let why = t.findings.iter().find(|f| f.voids).map_or("", |f| f.text.as_str());
        mark(format!("void: trial {} of the settings that were found: {why}", t.plan.number))
    });
    blocks.chain(found).collect()
}

fn warnings(a: &Analysis) -> Vec<Entry> {
    let mark = |w: &String| Entry::Text { role: Role::Warning, mark: "!", text: w.clone() };
    a.warnings.iter().map(mark).collect()
}

/// What is to be known beside the verdict.
fn beside(course: &Course, notes: &[String]) -> Vec<Entry> {
    let weak = course.weak.iter().map(|w| text(Role::Muted, format!("weak: {}", w.text)));
    weak.chain(notes.iter().map(|n| text(Role::Text, n.clone()))).collect()
}

/// What a calibration found: how far apart blocks of the same cell are, and which margin that allows.
fn quiet(course: &Course, a: &Analysis) -> Option<Entry> {
    if !course.design().calibration {
        return None;
    }
    let d: Vec<f64> = a.primary().next()?.d.iter().copied().flatten().collect();
    let spread = deviation(&d)?;
    let floor = |blocks: usize| crate::stats::planning::margin_floor(spread, blocks).map(f64::exp_m1);
    let (few, many) = (floor(CALIBRATION_BLOCKS)?, floor(20)?);
    Some(text(
        Role::Text,
        format!(
            "Blocks of the same cell are {} apart: the smallest margin that makes sense here is {} with {} blocks, and {} with 20.",
            sentence::margin(spread.exp_m1()),
            sentence::margin(few),
            CALIBRATION_BLOCKS,
            sentence::margin(many)
        ),
    ))
}
