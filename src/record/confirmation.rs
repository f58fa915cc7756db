//! Whether another experiment came to the same: on the same device, started anew, with the other cell first. What the very first
//! trial did to a device can not be seen within one experiment. Trials of two are never put together.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::fit::differences;
use super::manifest::Manifest;
use super::reader::ends;
use super::shown;
use super::summary::{Ended, Summary};
use crate::experiment::analysis::Analysis;
use crate::experiment::schedule::order_of;
use crate::experiment::verdict::Comparison;

/// So many records are looked at, the newest by name.
const MOST_LOOKED_AT: usize = 200;
/// More names in a directory are not read.
const MOST_NAMES: usize = 10_000;

/// What other records say of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confirmation {
    /// Another experiment came to the same.
    pub confirmed: bool,
    /// Where the record of that experiment is, or of one that came to something else; None if there is neither.
    pub record: Option<String>,
    /// When that began, as it has it.
    pub started: Option<String>,
    /// All of it in a sentence.
    pub text: String,
}

/// What the records in these directories say of the verdict of the record in `own`. None if it has no verdict to be confirmed.
#[must_use]
pub fn of(own: &Path, manifest: &Manifest, summary: &Summary, among: &[PathBuf]) -> Option<Confirmation> {
    let verdict = finished(summary).filter(|_| !manifest.design.calibration)?;
    let mut others: Vec<(PathBuf, Manifest, Summary)> = candidates(own, among)
        .into_iter()
        .filter_map(|dir| {
            let (m, s) = ends(&dir)?;
            let counts =
                same_question(&m, manifest) && started_anew(&m, manifest) && other_first(&m, manifest);
            (counts && finished(&s).is_some()).then_some((dir, m, s))
        })
        .collect();
    others.sort_by_key(|(_, m, _)| m.started_wall_ns);
    let Some((dir, m, s)) = others.pop() else {
        return Some(Confirmation { confirmed: false, record: None, started: None, text: alone(manifest) });
    };
    let (record, started) = (shown(&dir), m.started);
    let other = finished(&s)?;
    let confirmed = other.verdict == verdict.verdict && overlap(other.ci, verdict.ci);
    let text = if confirmed {
        format!("Confirmed by an experiment of {started} ({record}): {}", other.sentence)
    } else {
        format!(
            "Not confirmed: an experiment of {started} ({record}) came to something else: {}",
            other.sentence
        )
    };
    Some(Confirmation { confirmed, record: Some(record), started: Some(started), text })
}

/// The verdict of an experiment that came to its end, if it has one.
fn finished(summary: &Summary) -> Option<&Comparison> {
    let said: &Analysis = summary.analysis.as_ref().filter(|_| summary.ended == Ended::Finished)?;
    said.primary().next().filter(|c| c.verdict.decided())
}

/// That it is one experiment, and how to confirm it, if it can be.
fn alone(m: &Manifest) -> String {
    if !told_apart(m) {
        return "One experiment: nothing can confirm it, since the device has no id by which it could be known again after it was \
                started anew"
            .to_owned();
    }
    let d = &m.design;
    let other = (1..=64).map(|n| d.seed.wrapping_add(n)).find(|s| order_of(*s, 1) != order_of(d.seed, 1));
    let seed =
        other.map_or_else(String::new, |s| format!(" with --seed {s}, which begins with the other cell"));
    format!(
        "One experiment: it is confirmed by another one{seed}, after the device was started anew (a reboot, its driver bound again)"
    )
}

/// The records beside one another in these directories, without `own`: the newest by name.
fn candidates(own: &Path, among: &[PathBuf]) -> Vec<PathBuf> {
    let real = |p: &Path| std::fs::canonicalize(p).unwrap_or_else(|_| p.to_path_buf());
    let own = real(own);
    let mut dirs: Vec<PathBuf> = among.iter().map(|d| real(d)).collect();
    dirs.sort();
    dirs.dedup();
    let entries = dirs.iter().filter_map(|d| std::fs::read_dir(d).ok()).flatten().flatten().take(MOST_NAMES);
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| *p != own && p.is_dir()).collect();
    all.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    all.truncate(MOST_LOOKED_AT);
    all
}

/// Whether a device can be known again after it was started anew.
fn told_apart(m: &Manifest) -> bool {
    let d = &m.device;
    d.serial.is_some() || d.wwid.is_some() || d.backing_file.is_some()
}

/// The same device, kernel and settings, and the same asked of it but for the seed.
fn same_question(then: &Manifest, now: &Manifest) -> bool {
    let mut then = then.clone();
    // Not of the same boot, for what follows: names and numbers are given anew, and say nothing.
    then.host.boot_id = None;
    then.device.name.clone_from(&now.device.name);
    then.design.device.clone_from(&now.design.device);
    then.design.seed = now.design.seed;
    let mut now = now.clone();
    for m in [&mut then, &mut now] {
        for job in m.workload.jobs.iter_mut().filter_map(Value::as_object_mut) {
            job.remove("seed");
        }
    }
    told_apart(&now) && differences(&then, &now).iter().all(|d| !d.grave)
}

fn started_anew(a: &Manifest, b: &Manifest) -> bool {
    let differ = |x: Option<String>, y: Option<String>| x.is_some() && y.is_some() && x != y;
    let number = |m: &Manifest| m.device.diskseq.map(|n| n.to_string());
    differ(a.host.boot_id.clone(), b.host.boot_id.clone()) || differ(number(a), number(b))
}

fn other_first(a: &Manifest, b: &Manifest) -> bool {
    order_of(a.design.seed, 1) != order_of(b.design.seed, 1)
}

fn overlap(a: Option<[f64; 2]>, b: Option<[f64; 2]>) -> bool {
    matches!((a, b), (Some([a_lo, a_hi]), Some([b_lo, b_hi])) if a_lo <= b_hi && b_lo <= a_hi)
}
