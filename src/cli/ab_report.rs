//! What `ab` answers: as a document, and as text.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::analysis_text;
use crate::experiment::analysis::Analysis;
use crate::experiment::event::Ending;
use crate::experiment::trial::{Gate, Trial};
use crate::experiment::weak::Weak;

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

    /// The text for a person: what follows, then what it rests on.
    pub(super) fn text(&self) -> String {
        let mut out = analysis_text::of(self.analysis);
        let mut more = self.void_lines();
        more.extend(self.weak.iter().map(|w| format!("weak: {}", w.text)));
        more.extend(self.notes.iter().cloned());
        // Writing to a String can not fail.
        for line in more {
            _ = writeln!(out, "  {line}");
        }
        _ = writeln!(out, "\nEnded: {}.", self.reason);
        if self.not_restored.is_empty() {
            out.push_str("Settings are as they were found.\n");
        }
        for what in self.not_restored {
            _ = writeln!(out, "Not put back: {what}");
        }
        if let Some(record) = self.record {
            _ = writeln!(out, "Record: {}", shown(record));
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

fn shown(path: &Path) -> String {
    crate::sys::attr::clean(path.as_os_str().as_encoded_bytes())
}
