//! What `ab` answers: as a document, and as text.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::analysis_text;
use crate::experiment::analysis::Analysis;
use crate::experiment::calibration::Said;
use crate::experiment::design::Design;
use crate::experiment::event::Ending;
use crate::experiment::trial::{Gate, Trial};
use crate::experiment::weak::Weak;
use crate::runtime::experiment::Ended;

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

/// An experiment that has ended, and what it was.
#[derive(Clone, Copy)]
pub(super) struct Report<'a> {
    pub(super) ended: &'a Ended,
    pub(super) design: &'a Design,
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
    calibration: Option<&'a Said>,
    record: Option<String>,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

impl<'a> Report<'a> {
    pub(super) fn document(self) -> Document<'a> {
        let Self { ended, design } = self;
        Document {
            schema: "blktune.ab/1",
            device: &design.device,
            seed: design.seed,
            ended: ended.ending,
            reason: &ended.reason,
            interrupted: ended.ending == Ending::Stopped,
            restored: ended.not_restored.is_empty(),
            not_restored: &ended.not_restored,
            gates: self.gates(),
            weak: &ended.weak,
            notes: &ended.notes,
            calibration: ended.calibration.as_ref(),
            record: ended.record.as_deref().map(shown),
            analysis: &ended.analysis,
        }
    }

    fn gates(self) -> Vec<GateFound<'a>> {
        let of = move |t: &'a Trial| {
            let cell = t.plan.cell.and_then(|c| self.design.cells.get(c)).map(|c| c.name.as_str());
            t.findings.iter().map(move |f| GateFound {
                trial: t.plan.number,
                block: t.plan.block,
                cell,
                gate: f.gate,
                voids: f.voids,
                text: &f.text,
            })
        };
        self.ended.trials.iter().flat_map(of).collect()
    }

    /// The text for a person: what follows, then what it rests on.
    pub(super) fn text(self) -> String {
        let ended = self.ended;
        let mut out = analysis_text::of(&ended.analysis);
        let mut more = self.void_lines();
        more.extend(ended.weak.iter().map(|w| format!("weak: {}", w.text)));
        more.extend(ended.notes.iter().cloned());
        // Writing to a String can not fail.
        for line in more {
            _ = writeln!(out, "  {line}");
        }
        _ = writeln!(out, "\nEnded: {}.", ended.reason);
        if ended.not_restored.is_empty() {
            out.push_str("Settings are as they were found.\n");
        }
        for what in &ended.not_restored {
            _ = writeln!(out, "Not put back: {what}");
        }
        if let Some(record) = &ended.record {
            _ = writeln!(out, "Record: {}", shown(record));
        }
        out
    }

    fn void_lines(self) -> Vec<String> {
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
