//! From what is asked, on the command line or on the screen, to a design.

use std::path::PathBuf;
use std::time::Duration;

use crate::sys::queue::QueueState;

use super::cells::{self, CellsError};
use super::design::{Blocks, Design, FactorKind, Isolation, Workload};
use super::factor::{self, FactorError};
use super::limits;
use super::metric::Metric;
use super::sense;

/// What is asked; what is None has its default.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // the switches of the command line, each independent of the others
pub struct Asked {
    /// The device, by its kernel name.
    pub device: String,
    /// What the workload uses, if not the device itself.
    pub target: Option<PathBuf>,
    /// `NAME=VALUE,VALUE` each.
    pub factors: Vec<String>,
    /// All factors are varied at once.
    pub together: bool,
    /// The preset.
    pub job: String,
    /// `--set`, in the order given.
    pub set: Vec<String>,
    /// What decides.
    pub metric: Option<Metric>,
    /// Smallest difference that matters, as a share.
    pub margin: Option<f64>,
    /// Measured part of a trial.
    pub trial: Option<Duration>,
    /// Discarded part before it.
    pub ramp: Option<Duration>,
    /// Pause after settings were changed.
    pub settle: Option<Duration>,
    /// How many blocks.
    pub blocks: Blocks,
    /// Whether each block has its lead-in.
    pub lead_ins: bool,
    /// What a trial starts from.
    pub isolation: Isolation,
    /// Also cells that should make no difference.
    pub control: bool,
    /// The same cell twice.
    pub calibrate: bool,
    /// The seed.
    pub seed: u64,
}

impl Asked {
    /// Of a device and a preset, and of nothing else: all defaults, and no factor.
    #[must_use]
    pub fn new(device: &str, job: &str, seed: u64) -> Self {
        Self {
            device: device.to_owned(),
            target: None,
            factors: Vec::new(),
            together: false,
            job: job.to_owned(),
            set: Vec::new(),
            metric: None,
            margin: None,
            trial: None,
            ramp: None,
            settle: None,
            blocks: Blocks::Adaptive,
            lead_ins: true,
            isolation: Isolation::Isolated,
            control: false,
            calibrate: false,
            seed,
        }
    }
}

/// A design, and what is to be said before it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Designed {
    /// The design.
    pub design: Design,
    /// Why its cells should not differ; it starts only as a control. None if they can, and of a calibration.
    pub greyed: Option<String>,
    /// Factors that are the same in both cells, in sentences.
    pub merged: Vec<String>,
}

impl Designed {
    /// What keeps it from starting as it is.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let why = self.greyed.as_ref().filter(|_| !self.design.control)?;
        Some(format!("these cells should make no difference: {why} (--control runs them all the same)"))
    }
}

/// What is wrong with what is asked. All of it is usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskedError {
    /// A factor.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// The cells.
    #[error(transparent)]
    Cells(#[from] CellsError),
    /// A value out of its limits, or things that do not go together.
    #[error("{0}")]
    Limits(String),
}

/// Makes the design. Greyed cells are no error: see [`Designed::refusal`].
///
/// # Errors
/// Factors, levels, a workload or values that there can not be; each names what to write.
pub fn design(asked: &Asked, state: &QueueState) -> Result<Designed, AskedError> {
    let limits = |r: Result<(), String>| r.map_err(AskedError::Limits);
    if let Some(wrong) = asked.set.iter().find_map(|s| factor::not_to_be_set(s)) {
        return Err(AskedError::Limits(wrong));
    }
    let factors = asked.factors.iter().map(|t| factor::parse(t, state)).collect::<Result<Vec<_>, _>>()?;
    let cells =
        if asked.calibrate { cells::calibration(&factors)? } else { cells::cells(&factors, asked.together)? };
    let workload = Workload { preset: asked.job.clone(), set: asked.set.clone() };
    let judged = if asked.calibrate { &cells[..1] } else { &cells[..] };
    let merged = cells::judge(&factors, judged, &workload, state)?;
    let greyed = if asked.calibrate { None } else { sense::greyed(&factors, &cells, &workload, state)? };
    let (trial, ramp) = (asked.trial.unwrap_or(limits::TRIAL), asked.ramp.unwrap_or(limits::RAMP));
    let (settle, margin) = (asked.settle.unwrap_or(limits::SETTLE), asked.margin.unwrap_or(limits::MARGIN));
    limits(limits::check_trial(trial).map(drop))?;
    limits(limits::pause("--ramp", ramp).map(drop))?;
    limits(limits::pause("--settle", settle).map(drop))?;
    limits(limits::check_margin(margin).map(drop))?;
    limits(limits::check_blocks(asked.blocks).map(drop))?;
    let settings = factors.iter().any(|f| f.kind == FactorKind::Setting);
    if asked.isolation != Isolation::Isolated && !settings {
        return Err(AskedError::Limits(
            "--side-effects is about what a setting moves, and no setting varies here".to_owned(),
        ));
    }
    let blocks = if asked.calibrate { Blocks::Fixed(limits::CALIBRATION_BLOCKS) } else { asked.blocks };
    let jobs = cells::jobs(&factors, &cells[0], &workload)?;
    let design = Design {
        device: asked.device.clone(),
        target: asked.target.clone(),
        metric: asked.metric.unwrap_or_else(|| limits::metric_for(&jobs)),
        factors,
        cells,
        workload,
        margin,
        trial,
        ramp,
        settle,
        blocks,
        lead_ins: asked.lead_ins,
        isolation: asked.isolation,
        control: asked.control,
        calibration: asked.calibrate,
        seed: asked.seed,
    };
    Ok(Designed { design, greyed, merged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::cells::tests::queue;
    use proptest::prelude::*;

    fn asked(factors: &[&str], job: &str) -> Asked {
        Asked { factors: factors.iter().map(|f| (*f).to_owned()).collect(), ..Asked::new("vdb", job, 7) }
    }

    #[test]
    fn what_is_not_said_has_the_documented_default() {
        let d = design(&asked(&["scheduler=none,bfq"], "randread-4k-qd32"), &queue()).unwrap();
        assert_eq!((d.greyed, d.merged), (None, vec![]));
        let d = d.design;
        let times = (d.trial.as_secs(), d.ramp.as_secs(), d.settle.as_secs());
        assert_eq!((times, d.margin, d.metric), ((8, 2, 1), 0.03, Metric::Iops));
        assert!(d.lead_ins && d.blocks == Blocks::Adaptive && d.isolation == Isolation::Isolated);
        assert_eq!(d.cells[0].name, "none");
    }

    #[test]
    fn greyed_cells_start_as_a_control_alone() {
        let mut a = asked(&["read_ahead_kb=4,4096"], "seqread-1m");
        let why = design(&a, &queue()).unwrap().refusal().unwrap();
        assert!(why.contains("direct") && why.contains("--control"), "{why}");
        a.control = true;
        let d = design(&a, &queue()).unwrap();
        assert!(d.refusal().is_none() && d.greyed.is_some());
    }

    #[test]
    fn a_calibration_is_six_blocks_of_the_same_cell() {
        let a = Asked { calibrate: true, ..asked(&[], "randread-4k") };
        let d = design(&a, &queue()).unwrap();
        assert_eq!((d.design.blocks, d.greyed), (Blocks::Fixed(6), None));
        assert_eq!(d.design.cells[0].levels, d.design.cells[1].levels);
        let bad = Asked { calibrate: true, ..asked(&["scheduler=none,bfq"], "randread-4k") };
        assert!(design(&bad, &queue()).unwrap_err().to_string().contains("one level"));
    }

    #[test]
    fn what_there_can_not_be_is_an_error_with_its_flag() {
        let plain = asked(&["bs=4k,64k"], "randread-4k");
        for (a, part) in [
            (Asked { trial: Some(Duration::from_secs(1)), ..plain.clone() }, "--trial"),
            (Asked { ramp: Some(Duration::from_secs(99)), ..plain.clone() }, "--ramp"),
            (Asked { settle: Some(Duration::from_secs(99)), ..plain.clone() }, "--settle"),
            (Asked { margin: Some(0.9), ..plain.clone() }, "--margin"),
            (Asked { blocks: Blocks::Fixed(3), ..plain.clone() }, "--blocks"),
            (Asked { isolation: Isolation::Sequence, ..plain.clone() }, "--side-effects"),
            (Asked { set: vec!["runtime=9s".to_owned()], ..plain.clone() }, "--set runtime: --trial"),
            (Asked { set: vec!["randread-4k.number_ios=9".to_owned()], ..plain.clone() }, "--trial"),
            (Asked { set: vec!["seed=9".to_owned()], ..plain.clone() }, "--seed"),
            (Asked { job: "nope".to_owned(), ..plain }, "no job called"),
        ] {
            let said = design(&a, &queue()).unwrap_err().to_string();
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_asked_a_design_has_two_cells_that_can_be_run(
            texts in proptest::collection::vec("(scheduler|read_ahead_kb|bs|iodepth|nr_requests)=(none|bfq|4|64|5|4k),(none|bfq|4|64|1m)|.*", 0..3),
            together: bool,
            calibrate: bool,
        ) {
            let a = Asked { factors: texts, together, calibrate, ..Asked::new("vdb", "randread-4k-qd32", 1) };
            if let Ok(d) = design(&a, &queue()) {
                prop_assert_eq!(d.design.cells.len(), 2);
                for cell in 0..2 {
                    prop_assert!(crate::experiment::jobs::jobs_of(&d.design, cell, 1).is_ok());
                }
            }
        }
    }
}
