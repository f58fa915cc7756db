//! The rules that look at every trial, without a look at which cell is ahead: those that void it, and with it its block, and
//! those that are only counted. `docs/statistics.md` says why a trial that merely went badly is never thrown away.

use crate::stats::mser::mser5;
use crate::stats::steady::Window;
use crate::stats::summary::mean;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::units::{Bytes, percent};

use super::bench::Measured;
use super::cell_state::{Mismatch, mismatches};
use super::design::Cell;
use super::metric::Metric;
use super::trial::{Finding, Gate, Role, Trial};

/// Parts of the measured time that are compared with one another.
const PARTS: usize = 5;
/// The engine's workers are busy from here on.
const BUSY: f64 = 0.95;
/// More than this of the time went to other machines.
const STOLEN: f64 = 0.01;
/// Longer than this asleep, seconds.
const ASLEEP_S: f64 = 0.1;
/// Flagged in more than this share of a cell's trials, a flag is said of the cell.
const OFTEN: f64 = 0.25;
/// What is found where MSER-5 sees no end of the warm-up.
const WARMING: &str = "no end of the warm-up was seen in the measured time";

/// What a trial should find.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The queue as it read after the cell's settings were written.
    pub settings: QueueState,
    /// The device; None on a bench that has none.
    pub id: Option<DeviceId>,
    /// Its size; None if it does not say.
    pub size: Option<Bytes>,
}

/// What the gates find of a trial, in their order. `metric` is the one that decides.
#[must_use]
pub fn judge(measured: &Measured, expected: &Expected, metric: Metric) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut voids = |gate, text: Option<String>| {
        found.extend(text.map(|text| Finding { gate, voids: true, text }));
    };
    voids(Gate::G1, settings(measured, &expected.settings));
    voids(Gate::G3, failures(measured, metric));
    voids(Gate::G7, asleep(measured.asleep_s));
    voids(
        Gate::G7,
        measured.halted.then(|| "this program was stopped (SIGSTOP) and went on later".to_owned()),
    );
    voids(Gate::G8, another_device(measured, expected));
    found.extend(bytes(measured).map(|(voids, text)| Finding { gate: Gate::G4, voids, text }));
    let mut flags = |gate, text: Option<String>| {
        found.extend(text.map(|text| Finding { gate, voids: false, text }));
    };
    flags(Gate::G2, unsteady(&measured.slices));
    flags(Gate::G2, warming(&measured.slices));
    flags(Gate::G5, host_bound(measured));
    flags(Gate::G6, measured.heat.clone());
    found.sort_by_key(|f| f.gate);
    found
}

/// Settings that are not as they were written, in words.
#[must_use]
pub fn strays(of: &[Mismatch], when: &str) -> Option<String> {
    let each: Vec<String> = of
        .iter()
        .map(|(name, should, reads)| {
            let shown = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_owned());
            format!("{name} changed from {} to {}", shown(should), shown(reads))
        })
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "{} {when} by another program \u{2013} is tuned, a udev rule or a power tool active?",
            each.join(", ")
        )
    })
}

fn settings(measured: &Measured, should: &QueueState) -> Option<String> {
    let (before, after) = &measured.settings;
    strays(&mismatches(should, before), "before the trial")
        .or_else(|| strays(&mismatches(before, after), "during the trial"))
}

fn failures(measured: &Measured, metric: Metric) -> Option<String> {
    if measured.errors > 0 {
        return Some(match measured.errors {
            1 => "one I/O failed or was short".to_owned(),
            n => format!("{n} I/Os failed or were short"),
        });
    }
    if measured.ios == 0 {
        return Some("no I/O was completed in the measured time, so there is no reading".to_owned());
    }
    let reading = measured.readings.get(&metric).filter(|v| v.is_finite() && **v > 0.0);
    reading
        .is_none()
        .then(|| format!("{} I/Os give no reading of {}: a longer --trial does", measured.ios, metric.word()))
}

/// What is amiss with the bytes that moved, and whether it voids. Of others who were there before it is only told.
fn bytes(measured: &Measured) -> Option<(bool, String)> {
    let (text, more) = measured.passage.amiss(measured.engine, measured.device?)?;
    Some((!(more && measured.passage.shared), text))
}

#[allow(clippy::cast_precision_loss)] // a share
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn asleep(s: f64) -> Option<String> {
    (s.abs() > ASLEEP_S).then(|| format!("the host slept, or its clock jumped, for {s:.1} s"))
}

fn another_device(measured: &Measured, expected: &Expected) -> Option<String> {
    match (&expected.id, &measured.id) {
        (Some(was), Some(is)) if !was.same_device(is) => {
            return Some(format!("{} is another device now", was.name));
        }
        (Some(was), None) => return Some(format!("{} is gone", was.name)),
        _ => {}
    }
    match (expected.size, measured.size) {
        (Some(was), Some(is)) if was != is => Some(format!("its size changed from {was} to {is}")),
        _ => None,
    }
}

fn unsteady(slices: &[f64]) -> Option<String> {
    let each = slices.len() / PARTS;
    if each == 0 {
        return None;
    }
    let parts: Vec<f64> = slices.chunks_exact(each).take(PARTS).filter_map(mean).collect();
    let window = Window::of(&parts)?;
    (!window.steady()).then(|| {
        format!(
            "not steady: over fifths of the measured time it ranged by {} of its mean and its trend came to {} (limits 20% and 10%)",
            percent(window.range * 100.0),
            percent(window.excursion * 100.0)
        )
    })
}

fn warming(slices: &[f64]) -> Option<String> {
    // Samples of 0.2 s.
    let samples: Vec<f64> = slices.chunks_exact(2).filter_map(mean).collect();
    mser5(&samples).filter(|t| t.at_limit).map(|_| WARMING.to_owned())
}

fn host_bound(measured: &Measured) -> Option<String> {
    if let Some(share) = measured.engine_cpu.filter(|s| *s >= BUSY) {
        return Some(format!(
            "the workers used {} of the CPU time they could have: the host may be the limit",
            percent(share * 100.0)
        ));
    }
    let stolen = measured.stolen.filter(|s| *s > STOLEN)?;
    Some(format!("other machines took {} of the CPU time", percent(stolen * 100.0)))
}

/// What the flags say of each cell, and of all: sentences that go with the verdict and do not change it.
#[must_use]
pub fn remarks(trials: &[Trial], cells: &[Cell]) -> Vec<String> {
    let mut said = Vec::new();
    let used: Vec<&Trial> = trials.iter().filter(|t| t.plan.role == Role::Trial && !t.void()).collect();
    let often = |part: usize, whole: usize, limit: f64| {
        ratio(part as u64, whole as u64).is_some_and(|share| share > limit)
    };
    for (i, cell) in cells.iter().enumerate() {
        let of_cell: Vec<&&Trial> = used.iter().filter(|t| t.plan.cell == Some(i)).collect();
        for (gate, words) in [(Gate::G2, "unsteady"), (Gate::G5, "host-bound"), (Gate::G6, "hot")] {
            let flagged =
                |t: &&&&Trial| t.findings.iter().any(|f| f.gate == gate && !f.voids && f.text != WARMING);
            let n = of_cell.iter().filter(flagged).count();
            if often(n, of_cell.len(), OFTEN) {
                said.push(format!("{}: {words} in {n} of {} trials", cell.name, of_cell.len()));
            }
        }
    }
    let warming = used.iter().filter(|t| t.findings.iter().any(|f| f.text == WARMING)).count();
    if often(warming, used.len(), 0.5) {
        said.push(format!("in {warming} of {} trials {WARMING}: a longer --ramp may help", used.len()));
    }
    said
}
