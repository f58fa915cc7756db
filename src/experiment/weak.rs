//! Workloads on which a verdict rests badly. Named before the start and beside the result; nothing is refused for them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sys::name::KernelName;
use crate::units::{Bytes, Nanos};
use crate::workload::job::Job;

/// A depth that a device answers better than one I/O at a time: what tools commonly try.
const DEEP: u64 = 32;
/// Shorter trials say little of a device.
const SHORT: Duration = Duration::from_secs(3);

/// What makes a workload weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weakness {
    /// It goes through the page cache.
    Buffered,
    /// One thread.
    OneThread,
    /// One pattern.
    OnePattern,
    /// Trials under 3 s.
    Short,
    /// What it uses fits into the page cache.
    SmallerThanCache,
    /// One I/O in flight on a device that takes many.
    OneInFlight,
    /// What it uses does not lie on the device that is tuned.
    OtherDevice,
    /// What it uses lies on something that is built on the device that is tuned.
    AboveDevice,
}

/// A weakness and its sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weak {
    /// Which.
    pub weakness: Weakness,
    /// What it means for the verdict, and what to do.
    pub text: String,
}

/// What the workload runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Memory of the host: the most that the page cache can hold. None if not known.
    pub memory: Option<Bytes>,
    /// How much of the target there is to use. None if not known.
    pub span: Option<Bytes>,
    /// How many I/Os the device takes at once: its own depth, else `nr_requests`. None if not known.
    pub depth: Option<u64>,
    /// The device whose settings are varied.
    pub tuned: Option<KernelName>,
    /// The whole device that what is used lies on. None if not known, or on none.
    pub used: Option<KernelName>,
    /// What that one is built on, down to the bottom.
    pub below: Vec<KernelName>,
}

/// What is weak about these jobs, all of one cell, measured for `trial`.
#[must_use]
pub fn named(jobs: &[Job], trial: Duration, on: &Surroundings) -> Vec<Weak> {
    let mut all = Vec::new();
    let mut say = |weakness, text: String| all.push(Weak { weakness, text });
    let buffered: Vec<&Job> = jobs.iter().filter(|j| !j.direct).collect();
    if !buffered.is_empty() {
        say(
            Weakness::Buffered,
            "it goes through the page cache, so memory and CPU are measured with the device; --set direct=1 measures the device"
                .to_owned(),
        );
    }
    let threads: u64 = jobs.iter().map(|j| u64::from(j.numjobs)).sum();
    if threads == 1 {
        say(
            Weakness::OneThread,
            "one thread: what several programs do to one another is not in it; --set numjobs=4, or readers-vs-writer"
                .to_owned(),
        );
    }
    if let Some((first, rest)) = jobs.split_first()
        && rest.iter().all(|j| (j.rw, j.bs) == (first.rw, first.bs))
    {
        say(
            Weakness::OnePattern,
            format!(
                "one pattern: the verdict is on {} at {}, and another may turn out the other way",
                first.rw.word(),
                first.bs
            ),
        );
    }
    if trial < SHORT {
        say(
            Weakness::Short,
            format!(
                "trials of {:.1} s are short: caches and the scheduler's learning are in them",
                Nanos::from(trial).seconds()
            ),
        );
    }
    if let (Some(memory), Some(span)) = (on.memory, on.span) {
        let used = buffered.iter().map(|j| j.size.map_or(span, |s| s.min(span))).max();
        if let Some(used) = used.filter(|used| *used <= memory) {
            say(
                Weakness::SmallerThanCache,
                format!(
                    "the {used} that are used fit into memory ({memory}), so a later trial may not reach the device; --set size= takes more"
                ),
            );
        }
    }
    let in_flight: u64 = jobs.iter().map(|j| u64::from(j.numjobs) * u64::from(j.depth_in_use())).sum();
    if in_flight == 1 && buffered.is_empty() && on.depth.is_some_and(|d| d >= DEEP) {
        say(
            Weakness::OneInFlight,
            "one I/O in flight on a device that takes 32 and more: the queue is empty, so its settings have little to decide; --set iodepth=32 --set engine=io_uring"
                .to_owned(),
        );
    }
    if let (Some(tuned), Some(used)) = (&on.tuned, &on.used)
        && tuned != used
    {
        let through = format!(
            "what it uses lies on {used}, which is built on {tuned}: its I/O passes {used} before it reaches {tuned}, and {used} may \
             merge it, split it, or share it out among several devices"
        );
        let elsewhere = format!(
            "what it uses lies on {used}, and the settings are those of {tuned}: name a target on {tuned}"
        );
        if on.below.contains(tuned) {
            say(Weakness::AboveDevice, through);
        } else {
            say(Weakness::OtherDevice, elsewhere);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::assemble::assemble;
    use Weakness::*;

    fn found(preset: &str, set: &[&str], trial_s: u64, on: &Surroundings) -> Vec<Weakness> {
        let jobs = assemble(preset, set).unwrap();
        named(&jobs, Duration::from_secs(trial_s), on).into_iter().map(|w| w.weakness).collect()
    }

    fn on() -> Surroundings {
        Surroundings {
            memory: Some(Bytes(8 << 30)),
            span: Some(Bytes(100 << 30)),
            depth: Some(64),
            tuned: KernelName::new("sda"),
            used: KernelName::new("sda"),
            below: Vec::new(),
        }
    }

    #[test]
    fn each_weakness_is_named_where_it_is_and_only_there() {
        assert_eq!(found("readers-vs-writer", &[], 8, &on()), []);
        assert_eq!(found("dd-1m", &[], 8, &on()), [Buffered, OneThread, OnePattern]);
        assert_eq!(
            found("dd-1m", &["size=1g"], 8, &on()),
            [Buffered, OneThread, OnePattern, SmallerThanCache]
        );
        assert_eq!(found("randread-4k", &[], 8, &on()), [OneThread, OnePattern, OneInFlight]);
        assert_eq!(found("randread-4k-qd32", &["size=1g"], 2, &on()), [OneThread, OnePattern, Short]);
        let shallow = Surroundings { depth: Some(31), ..on() };
        assert_eq!(found("randread-4k", &[], 8, &shallow), [OneThread, OnePattern]);
        let elsewhere = Surroundings { used: KernelName::new("sdb"), ..on() };
        assert_eq!(found("readers-32", &[], 8, &elsewhere), [OnePattern, OtherDevice]);
        let below = ["md0", "sda", "sdc"].into_iter().filter_map(KernelName::new).collect();
        let above = Surroundings { used: KernelName::new("dm-0"), below, ..on() };
        assert_eq!(found("readers-32", &[], 8, &above), [OnePattern, AboveDevice]);
    }

    #[test]
    fn what_is_not_known_is_not_held_against_it() {
        assert_eq!(found("readers-vs-writer", &["direct=0"], 8, &Surroundings::default()), [Buffered]);
    }
}
