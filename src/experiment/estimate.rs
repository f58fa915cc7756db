//! How long an experiment takes, and the sentences of what will happen.

use std::time::Duration;

use crate::stats::looks::looks;
use crate::stats::steady::WINDOW;

use super::design::{Blocks, Design, FactorKind, Isolation};
use super::jobs::jobs_of;
use super::schedule::{BASELINE_TRIALS, MOST_ROUNDS};

/// Time from the first trial to the last, if no block is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// If the first look decides, or the number is fixed.
    pub least: Duration,
    /// If the last look is needed.
    pub most: Duration,
}

/// The numbers of blocks at which it is judged.
#[must_use]
pub fn looks_of(design: &Design) -> Vec<usize> {
    match design.blocks {
        Blocks::Fixed(n) => vec![n],
        Blocks::Adaptive => looks(design.cells.len()).to_vec(),
    }
}

/// One trial with its ramp and its pause.
#[must_use]
pub fn trial_time(design: &Design) -> Duration {
    design.trial.saturating_add(design.ramp).saturating_add(design.settle)
}

/// Trials of a block, its lead-in included.
#[must_use]
pub const fn in_block(design: &Design) -> usize {
    if design.lead_ins { 5 } else { 4 }
}

/// Whether a cell's workload writes: it is then run until it is steady before the first block.
#[must_use]
pub fn writes(design: &Design) -> bool {
    (0..design.cells.len()).filter_map(|c| jobs_of(design, c, 0).ok()).flatten().any(|j| j.rw.writes())
}

/// The rounds before the first block, at least and at most.
#[must_use]
pub fn rounds(design: &Design) -> (usize, usize) {
    if writes(design) { (WINDOW, usize::try_from(MOST_ROUNDS).unwrap_or(usize::MAX)) } else { (0, 0) }
}

/// One block.
#[must_use]
pub fn block_time(design: &Design) -> Duration {
    trial_time(design).saturating_mul(u32::try_from(in_block(design)).unwrap_or(u32::MAX))
}

/// The time it takes, rounds of a workload that writes included. A scratch file and draining come on top: how long they take
/// is the device's to say.
#[must_use]
pub fn estimate(design: &Design) -> Estimate {
    let (fewest, most) = rounds(design);
    let of = |blocks: Option<&usize>, rounds: usize| {
        let trials = blocks.map_or(0, |blocks| blocks.saturating_mul(in_block(design)));
        // Before the first block and after the last.
        let trials = trials.saturating_add(2 * BASELINE_TRIALS).saturating_add(rounds);
        trial_time(design).saturating_mul(u32::try_from(trials).unwrap_or(u32::MAX))
    };
    let looks = looks_of(design);
    Estimate { least: of(looks.first(), fewest), most: of(looks.last(), most) }
}

impl Estimate {
    /// `6.6 to 19.4 min`, or `90 s`.
    #[must_use]
    pub fn words(&self) -> String {
        let minutes = |d: Duration| format!("{:.1}", d.as_secs_f64() / 60.0);
        match (self.least, self.most) {
            (a, b) if a == b && b < Duration::from_mins(2) => format!("{:.0} s", b.as_secs_f64()),
            (a, b) if a == b => format!("{} min", minutes(b)),
            (a, b) => format!("{} to {} min", minutes(a), minutes(b)),
        }
    }
}

/// What will happen, in sentences, each an entry.
#[must_use]
pub fn what_will_happen(design: &Design) -> Vec<String> {
    let device = &design.device;
    let percent = format!("{}%", trimmed(design.margin * 100.0));
    let mut said = Vec::new();
    let of = |i: usize| design.cells.get(i).map_or("", |c| c.name.as_str());
    said.push(if design.calibration {
        format!(
            "{device} is compared with itself, to learn how small a difference this machine can show: a quiet one gives \"equivalent within {percent}\"."
        )
    } else {
        let names: Vec<&str> = design.factors.iter().map(|f| f.name.as_str()).collect();
        format!(
            "On {device}, {} is compared: baseline {} against candidate {}, by {}; a difference below {percent} does not matter.",
            names.join(" with "),
            of(0),
            of(1),
            design.metric.word()
        )
    });
    let order = if design.lead_ins {
        "each led in by a discarded trial of its first cell"
    } else {
        "without lead-ins"
    };
    let looks: Vec<String> = looks_of(design).iter().map(usize::to_string).collect();
    let judged = match design.blocks {
        Blocks::Fixed(n) => format!("{n} blocks, judged once at the end"),
        Blocks::Adaptive => format!("blocks until a look decides, at {} blocks", looks.join(", ")),
    };
    said.push(format!(
        "{judged}; a block is four trials, ABBA or BAAB by seed {}, {order}; three trials of the settings that were found come before and after.",
        design.seed
    ));
    if let (fewest @ 1.., most) = rounds(design) {
        said.push(format!(
            "The workload writes: before all that it is run again and again until {fewest} rounds in a row are steady, {most} rounds at most."
        ));
    }
    if design.factors.iter().any(|f| f.kind == FactorKind::Setting) {
        said.push(match design.isolation {
            Isolation::Isolated => "Before each trial every setting is brought to its cell's value, so nothing but the factors differs.".to_owned(),
            Isolation::SideEffects => "Each trial starts from the settings that were found and writes its cell's levels bare: what they move besides stays moved.".to_owned(),
            Isolation::Sequence => "Each trial writes its cell's levels bare upon what the trial before left: nothing is put back between.".to_owned(),
        });
        said.push("All settings are held: they go back to what was found, however it ends.".to_owned());
    }
    said.push(format!("It takes {}, more if blocks have to be repeated.", estimate(design).words()));
    said
}

/// A percentage without zeros at its end.
fn trimmed(v: f64) -> String {
    format!("{v:.2}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::cells::tests::queue;
    use crate::experiment::schedule;

    fn of(change: impl FnOnce(&mut Asked)) -> Design {
        let factors = vec!["scheduler=none,bfq".to_owned()];
        let mut asked = Asked { factors, ..Asked::new("vdb", "randread-4k-qd32", 42) };
        change(&mut asked);
        design(&asked, &queue()).unwrap().design
    }

    /// The figures of the specification: (2 + 8 + 1) s a trial, 55 s a block, 66 s of baseline.
    #[test]
    fn the_time_is_that_of_all_trials() {
        let e = estimate(&of(|_| {}));
        assert_eq!((e.least.as_secs(), e.most.as_secs()), (6 * 55 + 66, 20 * 55 + 66));
        assert_eq!(e.words(), "6.6 to 19.4 min");
        let bare = of(|a| (a.lead_ins, a.blocks) = (false, Blocks::Fixed(8)));
        assert_eq!(estimate(&bare).most.as_secs(), 8 * 44 + 66);
        assert_eq!(estimate(&bare).words(), "7.0 min");
    }

    #[test]
    fn rounds_of_a_workload_that_writes_are_in_the_time_and_said() {
        let write = |a: &mut Asked| (a.job, a.blocks) = ("randwrite-4k".to_owned(), Blocks::Fixed(6));
        let (e, said) = (estimate(&of(write)), what_will_happen(&of(write)).join(" "));
        assert_eq!((e.least.as_secs(), e.most.as_secs()), (6 * 55 + 66 + 55, 6 * 55 + 66 + 275));
        assert!(said.contains("5 rounds in a row") && said.contains("25 rounds at most"), "{said}");
        let read = what_will_happen(&of(|_| {})).join(" ");
        assert!(!read.contains("writes"), "{read}");
        // In one cell is enough.
        assert!(writes(&of(|a| a.factors = vec!["rw=randread,randwrite".to_owned()])));
    }

    #[test]
    fn the_schedule_has_as_many_trials_as_are_estimated() {
        for d in [of(|_| {}), of(|a| a.lead_ins = false), of(|a| a.blocks = Blocks::Fixed(8))] {
            let trials = u32::try_from(schedule::whole(&d).len()).unwrap();
            assert_eq!(estimate(&d).most, trial_time(&d) * trials);
        }
    }

    #[test]
    fn what_is_said_is_what_is_designed() {
        let said = what_will_happen(&of(|_| {})).join(" ");
        for part in [
            "baseline none against candidate bfq",
            "by iops",
            "3%",
            "6, 10, 14, 20",
            "seed 42",
            "held",
            "19.4 min",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let bare = what_will_happen(&of(|a| a.isolation = Isolation::Sequence)).join(" ");
        assert!(bare.contains("nothing is put back between"), "{bare}");
        let quiet = what_will_happen(&of(|a| {
            a.calibrate = true;
            a.factors.clear();
        }));
        assert!(quiet[0].contains("compared with itself") && !quiet.join(" ").contains("held"), "{quiet:?}");
    }
}
