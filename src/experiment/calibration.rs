//! What a calibration (the same cell twice) leaves: how quiet a device was under a workload, which margins that allows, and what
//! it says of later experiments.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::analysis::Analysis;
use super::design::{Blocks, Design, FactorKind};
use super::estimate::looks_of;
use super::jobs::jobs_of;
use super::metric::Metric;
use super::verdict::Verdict;
use crate::stats::looks::{FIXED, PER_LOOK};
use crate::stats::planning::{detectable, margin_floor};
use crate::stats::summary::deviation;
use crate::sys::device::DeviceId;
use crate::sys::queue::QueueState;
use crate::units::Bytes;

/// Days after which it is taken anew: firmware, filling and neighbours change a device.
pub const GOOD_FOR_DAYS: u64 = 7;
const DAY_S: u64 = 24 * 60 * 60;

/// What was run, and so what a calibration is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// The jobs in full, but for the places that a seed gives them.
    pub jobs: Vec<Value>,
    /// What they used, if not the device itself.
    pub target: Option<PathBuf>,
    /// What decided.
    pub metric: Metric,
    /// Whether each block had its lead-in.
    pub lead_ins: bool,
}

impl Shape {
    /// That of a design's cell. None if its jobs can not be made.
    #[must_use]
    pub fn of(design: &Design, cell: usize) -> Option<Self> {
        let mut jobs = jobs_of(design, cell, 0).ok()?;
        for job in &mut jobs {
            job.seed = 0;
        }
        let jobs = jobs.iter().map(serde_json::to_value).collect::<Result<_, _>>().ok()?;
        Some(Self { jobs, target: design.target.clone(), metric: design.metric, lead_ins: design.lead_ins })
    }
}

/// The device and the host as they are now.
#[derive(Clone, Debug)]
pub struct Here<'a> {
    /// The device, by kernel name.
    pub device: String,
    /// Who it is; see [`identity`].
    pub identity: String,
    /// The kernel's release.
    pub kernel: String,
    /// Seconds since 1970.
    pub now_s: u64,
    /// Its queue as it was found.
    pub found: &'a QueueState,
}

/// A calibration, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The device, by kernel name.
    pub device: String,
    /// Who it is beyond that, in words that another device does not have: its sequence number, id and size.
    pub identity: String,
    /// The kernel's release.
    pub kernel: String,
    /// When it ended, seconds since 1970.
    pub at_s: u64,
    /// What was run.
    pub shape: Shape,
    /// The settings that could be written, as they were in the cell.
    pub settings: BTreeMap<String, String>,
    /// Standard deviation of the blocks' differences, log units.
    pub spread: f64,
    /// Blocks it was taken from.
    pub blocks: usize,
    /// What came out; a quiet machine gives "equivalent".
    pub verdict: Verdict,
    /// The same in a sentence.
    pub sentence: String,
}

/// What a calibration says of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// When it was taken, seconds since 1970.
    pub at_s: u64,
    /// What came out of it.
    pub verdict: Verdict,
    /// Standard deviation of its blocks' differences, log units.
    pub spread: f64,
    /// The smallest effect, as a share, that the experiment finds four times in five. None if unknown.
    pub detectable: Option<f64>,
    /// The smallest margin, as a share, that the experiment could show to be kept. None if unknown.
    pub floor: Option<f64>,
    /// Why it says nothing of the device as it is now; None if it does.
    pub stale: Option<String>,
    /// All of it in a sentence.
    pub text: String,
    /// Why the experiment's margin is too small; None if it is not.
    pub refusal: Option<String>,
}

impl Said {
    /// Whether what is found must be doubted: it holds, and the same did not come out the same.
    #[must_use]
    pub fn loud(&self) -> bool {
        self.stale.is_none() && self.verdict != Verdict::Equivalent
    }
}

/// Who a device is, in words that hold across a reboot where it has an id of its own; else until its next start. `boot` is
/// the boot's id.
#[must_use]
pub fn identity(id: &DeviceId, size: Bytes, boot: Option<&str>) -> String {
    let boot = boot.unwrap_or("unknown");
    let who = match (&id.wwid, &id.serial, id.diskseq) {
        (Some(wwid), ..) => format!("wwid {wwid}"),
        (None, Some(serial), _) => format!("serial {serial}"),
        (None, None, Some(seq)) => format!("sequence number {seq} of boot {boot}"),
        (None, None, None) => format!("name {} of boot {boot}", id.name),
    };
    format!("{who}, {} bytes", size.0)
}

impl Calibration {
    /// What an experiment that has ended leaves. None if it was no calibration, or one that was not judged.
    #[must_use]
    pub fn of(design: &Design, here: &Here<'_>, analysis: &Analysis) -> Option<Self> {
        let c = analysis.primary().next().filter(|c| c.verdict != Verdict::Preliminary)?;
        let d: Vec<f64> = c.d.iter().copied().flatten().collect();
        let made = Self {
            device: here.device.clone(),
            identity: here.identity.clone(),
            kernel: here.kernel.clone(),
            at_s: here.now_s,
            shape: Shape::of(design, 0)?,
            settings: settings(design, here.found),
            spread: deviation(&d)?,
            blocks: d.len(),
            verdict: c.verdict,
            sentence: c.sentence.clone(),
        };
        (design.calibration && made.makes_sense()).then_some(made)
    }

    /// Whether its figures can be those of a calibration: it is read from a file.
    #[must_use]
    pub fn makes_sense(&self) -> bool {
        self.spread.is_finite() && self.spread >= 0.0 && self.blocks >= 2
    }

    /// Whether it ran what one of the design's cells runs.
    #[must_use]
    pub fn is_about(&self, design: &Design) -> bool {
        (0..design.cells.len()).filter_map(|c| Shape::of(design, c)).any(|s| s == self.shape)
    }

    /// Why it says nothing of the device as it is now; None if it does.
    #[must_use]
    pub fn stale(&self, design: &Design, here: &Here<'_>) -> Option<String> {
        if self.identity != here.identity {
            return Some(format!("{} was another device then", self.device));
        }
        if self.kernel != here.kernel {
            return Some(format!("it was under Linux {} then, and this is {}", self.kernel, here.kernel));
        }
        let days = days(self.at_s, here.now_s);
        if days >= GOOD_FOR_DAYS {
            return Some(format!("that was {days} days ago"));
        }
        self.settings.iter().find_map(|(name, then)| {
            let now = here.found.effective(name);
            let level = design.factors.iter().find(|f| f.kind == FactorKind::Setting && f.name == *name);
            let same = now.as_ref() == Some(then) || level.is_some_and(|f| f.levels.contains(then));
            let now = now.unwrap_or_else(|| "not there".to_owned());
            (!same).then(|| format!("{name} was {then} then, and is {now}"))
        })
    }

    /// What it says of an experiment.
    #[must_use]
    pub fn says(&self, design: &Design, here: &Here<'_>) -> Said {
        let blocks = looks_of(design).last().copied().unwrap_or_default();
        let alpha = if design.blocks == Blocks::Adaptive { PER_LOOK } else { FIXED };
        let share = |log: Option<f64>| log.map(f64::exp_m1).filter(|s| s.is_finite());
        let stale = self.stale(design, here);
        let mut said = Said {
            at_s: self.at_s,
            verdict: self.verdict,
            spread: self.spread,
            detectable: share(detectable(self.spread, blocks, alpha)),
            floor: share(margin_floor(self.spread, blocks)),
            text: String::new(),
            refusal: None,
            stale,
        };
        said.text = self.text(&said, blocks, here.now_s);
        let floor = said.floor.filter(|floor| design.margin < *floor && said.stale.is_none());
        said.refusal = floor.map(|floor| {
            format!(
                "a margin of {} is below what {blocks} blocks can show on {} with this workload: when it was calibrated, blocks of the same cell differed by {}, so {} is the least",
                percent(design.margin),
                self.device,
                percent(self.spread.exp_m1()),
                percent(floor)
            )
        });
        said
    }

    fn text(&self, said: &Said, blocks: usize, now_s: u64) -> String {
        let ago = match days(self.at_s, now_s) {
            0 => "today".to_owned(),
            1 => "a day ago".to_owned(),
            n => format!("{n} days ago"),
        };
        if let Some(why) = &said.stale {
            return format!(
                "calibrated {ago}, which says nothing of it now: {why}; --calibrate does it again"
            );
        }
        match self.verdict {
            Verdict::Equivalent => format!(
                "calibrated {ago}: with {blocks} blocks, differences under {} are lost in the noise of this device under this workload",
                said.detectable.map_or_else(|| "an unknown size".to_owned(), percent)
            ),
            Verdict::Better | Verdict::Worse => format!(
                "Warning – calibrated {ago}, and the same cell twice did not come out the same ({}): what is found now need not come from what is varied",
                self.sentence.trim_end_matches('.')
            ),
            Verdict::Inconclusive | Verdict::Preliminary | Verdict::Invalid => format!(
                "Warning – calibrated {ago}, and the same cell twice did not come out equivalent ({}): the machine is not quiet enough",
                self.sentence.trim_end_matches('.')
            ),
        }
    }
}

/// The settings of the first cell that can be written. Of a scheduler that is only set by the cell nothing is known before.
fn settings(design: &Design, found: &QueueState) -> BTreeMap<String, String> {
    let writable = found.attributes.iter().filter(|(_, a)| a.writable);
    let mut all: BTreeMap<String, String> =
        writable.filter_map(|(n, _)| Some((n.clone(), found.effective(n)?))).collect();
    let levels = design.cells.first().map(|c| c.levels.as_slice()).unwrap_or_default();
    for (factor, level) in design.factors.iter().zip(levels).filter(|(f, _)| f.kind == FactorKind::Setting) {
        let before = all.insert(factor.name.clone(), level.clone());
        if factor.name == "scheduler" && before.as_ref() != Some(level) {
            all.retain(|n, _| !n.starts_with("iosched/") || design.factors.iter().any(|f| f.name == *n));
        }
    }
    all
}

const fn days(then_s: u64, now_s: u64) -> u64 {
    now_s.saturating_sub(then_s) / DAY_S
}

/// A share as a percentage of at most two decimals: `1.2 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::asked::{Asked, design};
    use crate::experiment::cells::tests::queue;
    use crate::sys::name::KernelName;

    fn asked(factors: &[&str], change: impl FnOnce(&mut Asked)) -> Design {
        let factors = factors.iter().map(|f| (*f).to_owned()).collect();
        let mut asked = Asked { factors, ..Asked::new("vdb", "randread-4k", 7) };
        change(&mut asked);
        design(&asked, &queue()).unwrap().design
    }

    fn experiment() -> Design {
        asked(&["scheduler=none,bfq"], |_| {})
    }

    fn here(found: &QueueState) -> Here<'_> {
        let of = |s: &str| s.to_owned();
        Here { device: of("vdb"), identity: of("serial 4"), kernel: of("6.18.4"), now_s: 1_000_000, found }
    }

    fn taken() -> Calibration {
        let (design, found) = (asked(&[], |a| a.calibrate = true), queue());
        Calibration {
            device: "vdb".to_owned(),
            identity: "serial 4".to_owned(),
            kernel: "6.18.4".to_owned(),
            at_s: 1_000_000,
            shape: Shape::of(&design, 0).unwrap(),
            settings: settings(&design, &found),
            spread: 0.02,
            blocks: 6,
            verdict: Verdict::Equivalent,
            sentence: "Equivalent within ±3 %: B +0.1 % (90 % CI −0.2…+0.4 %, 6 blocks).".to_owned(),
        }
    }

    /// t of 95 % at 19 degrees is 1.7291: 1.7291 * 0.02 / sqrt(20) = 0.7733 %. To find an effect with alpha 0.017 and a
    /// power of 80 %: (2.6168 + 0.8610) * 0.02 / sqrt(20) = 1.5553 %.
    #[test]
    fn a_margin_below_the_floor_is_refused_with_the_least() {
        let found = queue();
        let said = taken().says(&experiment(), &here(&found));
        assert!((said.floor.unwrap() - 0.007_733_f64.exp_m1()).abs() < 1e-6, "{said:?}");
        assert!((said.detectable.unwrap() - 0.015_553_f64.exp_m1()).abs() < 2e-5, "{said:?}");
        assert_eq!((said.refusal.as_ref(), said.loud()), (None, false));
        assert_eq!(
            said.text,
            "calibrated today: with 20 blocks, differences under 1.57 % are lost in the noise of this device under this workload"
        );
        let fine = asked(&["scheduler=none,bfq"], |a| a.margin = Some(0.005));
        let refusal = taken().says(&fine, &here(&found)).refusal.unwrap();
        assert!(refusal.contains("0.5 %") && refusal.contains("0.78 % is the least"), "{refusal}");
        let old = Calibration { at_s: 0, ..taken() };
        assert_eq!(old.says(&fine, &here(&found)).refusal, None, "a stale one refuses nothing");
    }

    #[test]
    fn it_is_about_one_workload_in_one_way() {
        assert!(taken().is_about(&experiment()));
        assert!(taken().is_about(&asked(&["bs=4k,64k"], |_| {})), "one of its cells");
        for other in [
            asked(&["bs=8k,64k"], |_| {}),
            asked(&["scheduler=none,bfq"], |a| a.job = "randread-4k-qd32".to_owned()),
            asked(&["scheduler=none,bfq"], |a| {
                a.set = vec!["iodepth=2".to_owned(), "engine=io_uring".to_owned()];
            }),
            asked(&["scheduler=none,bfq"], |a| a.trial = Some(std::time::Duration::from_secs(9))),
            asked(&["scheduler=none,bfq"], |a| a.metric = Some(Metric::P99)),
            asked(&["scheduler=none,bfq"], |a| a.target = Some("/srv".into())),
            asked(&["scheduler=none,bfq"], |a| a.lead_ins = false),
        ] {
            assert!(!taken().is_about(&other), "{other:?}");
        }
        assert!(taken().is_about(&asked(&["scheduler=none,bfq"], |a| a.seed = 99)), "whatever the seed");
    }

    #[test]
    fn it_holds_for_a_week_one_kernel_one_device_and_its_settings() {
        let (c, found, d) = (taken(), queue(), experiment());
        let stale = |c: &Calibration, here: &Here<'_>| c.stale(&d, here);
        assert_eq!(stale(&c, &here(&found)), None);
        let later = |days: u64| Here { now_s: c.at_s + days * DAY_S, ..here(&found) };
        assert_eq!(stale(&c, &Here { now_s: c.at_s + 7 * DAY_S - 1, ..here(&found) }), None);
        assert!(stale(&c, &later(7)).unwrap().contains("7 days ago"));
        assert_eq!(c.says(&d, &later(3)).text.split(':').next(), Some("calibrated 3 days ago"));
        assert_eq!(c.says(&d, &later(1)).text.split(':').next(), Some("calibrated a day ago"));
        let other = Here { identity: "serial 5".to_owned(), ..here(&found) };
        assert!(stale(&c, &other).unwrap().contains("another device"));
        let kernel = Here { kernel: "6.19.0".to_owned(), ..here(&found) };
        assert!(stale(&c, &kernel).unwrap().contains("6.18.4"));
        let mut changed = queue();
        changed.attributes.get_mut("nr_requests").unwrap().value = Some("32".to_owned());
        assert_eq!(stale(&c, &here(&changed)).unwrap(), "nr_requests was 256 then, and is 32");
        // What is varied has the calibration's value in one of its cells.
        changed = queue();
        changed.attributes.get_mut("scheduler").unwrap().value =
            Some("none [mq-deadline] kyber bfq".to_owned());
        assert_eq!(stale(&c, &here(&changed)), None);
        assert!(c.stale(&asked(&["read_ahead_kb=4,8"], |a| a.control = true), &here(&changed)).is_some());
        let said = Calibration { at_s: 0, ..c }.says(&d, &here(&found));
        assert!(said.text.contains("says nothing of it now: that was 11 days ago"), "{}", said.text);
    }

    #[test]
    fn a_machine_that_was_not_quiet_is_said_aloud() {
        let (found, d) = (queue(), experiment());
        for (verdict, part) in [
            (Verdict::Better, "did not come out the same"),
            (Verdict::Inconclusive, "not quiet enough"),
            (Verdict::Invalid, "not quiet enough"),
        ] {
            let said = Calibration { verdict, ..taken() }.says(&d, &here(&found));
            assert!(
                said.loud() && said.text.starts_with("Warning – ") && said.text.contains(part),
                "{said:?}"
            );
        }
        let old = Calibration { verdict: Verdict::Worse, at_s: 0, ..taken() };
        assert!(!old.says(&d, &here(&found)).loud());
    }

    #[test]
    fn the_settings_are_those_of_the_cell() {
        let bfq = asked(&["scheduler=bfq", "nr_requests=32"], |a| a.calibrate = true);
        let mut found = queue();
        let tunable = found.attributes["nr_requests"].clone();
        found.attributes.insert("iosched/low_latency".to_owned(), tunable);
        let all = settings(&bfq, &found);
        assert_eq!((all["scheduler"].as_str(), all["nr_requests"].as_str()), ("bfq", "32"));
        assert!(!all.contains_key("iosched/low_latency") && !all.contains_key("max_hw_sectors_kb"));
        let as_found = settings(&asked(&[], |a| a.calibrate = true), &found);
        assert!(as_found.contains_key("iosched/low_latency"));
    }

    #[test]
    fn a_device_is_known_by_what_outlives_a_reboot() {
        let mut id = DeviceId {
            name: KernelName::new("sda").unwrap(),
            devnum: None,
            diskseq: Some(4),
            wwid: Some("naa.5".to_owned()),
            serial: Some("S1".to_owned()),
        };
        let of = |id: &DeviceId| identity(id, Bytes(512), Some("b1"));
        assert_eq!(of(&id), "wwid naa.5, 512 bytes");
        let boot = DeviceId { diskseq: Some(9), ..id.clone() };
        assert_eq!(identity(&boot, Bytes(512), Some("b2")), of(&id));
        id.wwid = None;
        assert_eq!(of(&id), "serial S1, 512 bytes");
        id.serial = None;
        assert_eq!(of(&id), "sequence number 4 of boot b1, 512 bytes");
        id.diskseq = None;
        assert_eq!(of(&id), "name sda of boot b1, 512 bytes");
    }
}
