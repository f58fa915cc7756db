//! The report as one JSON document.

use serde::Serialize;
use serde_json::Value;

use super::Report;
use crate::experiment::analysis::Analysis;
use crate::experiment::trial::{Gate, Trial};
use crate::record::confirmation::Confirmation;
use crate::record::manifest::Manifest;
use crate::record::summary::Summary;

/// The whole record and what follows from it.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    cut_off: bool,
    ending: String,
    put_back: String,
    command: String,
    damage: &'a [String],
    manifest: &'a Manifest,
    trials: Vec<Row<'a>>,
    gates: Vec<Gated<'a>>,
    events: &'a [Value],
    analysis: Option<&'a Analysis>,
    judged_now: bool,
    no_verdict: Option<&'a str>,
    confirmation: Option<&'a Confirmation>,
    summary: Option<&'a Summary>,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    trial: &'a Trial,
    void: bool,
    detail: &'a Value,
}

#[derive(Debug, Serialize)]
struct Gated<'a> {
    trial: u32,
    gate: Gate,
    voids: bool,
    text: &'a str,
}

impl Report<'_> {
    /// The document `blktune.report/1`.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        let r = self.record;
        Document {
            schema: "blktune.report/1",
            cut_off: r.cut_off(),
            ending: self.ending(),
            put_back: self.put_back(),
            command: self.command(),
            damage: &r.damage,
            manifest: &r.manifest,
            trials: r
                .trials
                .iter()
                .map(|(trial, detail)| Row { trial, void: trial.void(), detail })
                .collect(),
            gates: r.trials.iter().flat_map(|(t, _)| gated(t)).collect(),
            events: &r.events,
            analysis: self.analysis.as_deref().ok(),
            judged_now: self.judged_now(),
            no_verdict: self.analysis.as_ref().err().map(String::as_str),
            confirmation: self.confirmation.as_ref(),
            summary: r.summary.as_ref(),
        }
    }
}

fn gated(t: &Trial) -> impl Iterator<Item = Gated<'_>> {
    t.findings.iter().map(|f| Gated { trial: t.plan.number, gate: f.gate, voids: f.voids, text: &f.text })
}
