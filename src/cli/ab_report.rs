//! What `ab` answers: as a document, and as text.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::experiment::analysis::{Analysis, CellFigures};
use crate::experiment::event::Ending;
use crate::experiment::metric::Metric;
use crate::experiment::trial::{Gate, Trial};
use crate::experiment::verdict::Comparison;
use crate::experiment::weak::Weak;
use crate::units::Nanos;
use crate::units::{latency, mib_per_s};

/// What a gate found of a trial.
#[derive(Serialize)]
pub(super) struct GateFound<'a> {
    trial: u32,
    block: Option<u32>,
    cell: Option<&'a str>,
    gate: Gate,
    voids: bool,
    text: &'a str,
}

/// An experiment that has ended.
pub(super) struct Ended<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) trials: &'a [Trial],
    pub(super) cell_names: Vec<&'a str>,
    pub(super) device: &'a str,
    pub(super) seed: u64,
    pub(super) ending: Ending,
    pub(super) reason: &'a str,
    pub(super) restored: bool,
    pub(super) not_restored: &'a [String],
    pub(super) weak: &'a [Weak],
    pub(super) notes: &'a [String],
    pub(super) record: Option<&'a Path>,
}

/// The document. The fields of the analysis are at its top.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    device: &'a str,
    seed: u64,
    ended: Ending,
    reason: &'a str,
    interrupted: bool,
    /// Null if there was nothing to put back.
    restored: bool,
    not_restored: &'a [String],
    gates: Vec<GateFound<'a>>,
    weak: &'a [Weak],
    notes: &'a [String],
    record: Option<String>,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

impl<'a> Ended<'a> {
    pub(super) fn document(&self) -> Document<'a> {
        Document {
            schema: "blktune.ab/1",
            device: self.device,
            seed: self.seed,
            ended: self.ending,
            reason: self.reason,
            interrupted: self.ending == Ending::Stopped,
            restored: self.restored,
            not_restored: self.not_restored,
            gates: self.gates(),
            weak: self.weak,
            notes: self.notes,
            record: self.record.map(shown),
            analysis: self.analysis,
        }
    }

    fn gates(&self) -> Vec<GateFound<'a>> {
        let of = |t: &'a Trial| {
            let cell = t.plan.cell.and_then(|c| self.cell_names.get(c).copied());
            t.findings.iter().map(move |f| GateFound {
                trial: t.plan.number,
                block: t.plan.block,
                cell,
                gate: f.gate,
                voids: f.voids,
                text: &f.text,
            })
        };
        self.trials.iter().flat_map(of).collect()
    }

    /// The text for a person: the verdict first, then what it rests on.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String can not fail.
        for c in self.analysis.primary() {
            _ = writeln!(out, "{}", c.sentence);
        }
        _ = writeln!(out, "Order effect: {}", self.analysis.order.text);
        out.push('\n');
        for cell in &self.analysis.cells {
            _ = writeln!(out, "{}", cell_line(cell));
        }
        let others: Vec<&Comparison> = self.analysis.comparisons.iter().filter(|c| !c.primary).collect();
        if !others.is_empty() {
            out.push('\n');
        }
        for c in others {
            _ = writeln!(out, "  {:12} {}", c.metric, c.sentence);
        }
        let mut more: Vec<String> = self.analysis.trade_offs.clone();
        more.extend(self.void_lines());
        more.extend(self.analysis.warnings.iter().cloned());
        more.extend(self.weak.iter().map(|w| format!("weak: {}", w.text)));
        more.extend(self.notes.iter().cloned());
        if !more.is_empty() {
            out.push('\n');
        }
        for line in more {
            _ = writeln!(out, "! {line}");
        }
        out.push('\n');
        _ = writeln!(out, "ended: {}", self.reason);
        if self.not_restored.is_empty() {
            _ = writeln!(out, "settings are as they were found");
        }
        for what in self.not_restored {
            _ = writeln!(out, "not put back: {what}");
        }
        if let Some(record) = self.record {
            _ = writeln!(out, "record: {}", shown(record));
        }
        out
    }

    fn void_lines(&self) -> Vec<String> {
        let void = self.gates().into_iter().filter(|g| g.voids);
        void.map(|g| {
            format!(
                "void: trial {}{}: {}",
                g.trial,
                g.cell.map(|c| format!(" ({c})")).unwrap_or_default(),
                g.text
            )
        })
        .collect()
    }
}

fn cell_line(cell: &CellFigures) -> String {
    let mut line = format!("  {:24} {} trials", cell.name, cell.trials);
    for f in &cell.figures {
        let value = match Metric::parse(&f.metric) {
            Some(Metric::Throughput) => format!("{} MiB/s", mib_per_s(f.mean)),
            Some(Metric::Iops) => format!("{:.0} IOPS", f.mean),
            Some(Metric::CpuPerGib) => format!("{:.2} CPU s/GiB", f.mean),
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a positive latency in ns
            Some(m) => format!("{} {}", m.word(), latency(Nanos(f.mean as u64))),
            None => continue,
        };
        _ = write!(line, "  {value}");
    }
    line
}

fn shown(path: &Path) -> String {
    crate::sys::attr::clean(path.as_os_str().as_encoded_bytes())
}
