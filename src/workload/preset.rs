//! The presets: jobs by name, each with the question it answers and what it must not be used for.

use std::time::Duration;

use serde::Serialize;

use super::job::{EngineKind, Job, Rw};
use crate::units::Bytes;

/// A job with a name and a purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// What `run` and `ab` call it.
    pub name: &'static str,
    /// The question it answers.
    pub question: &'static str,
    /// What it must not be used for.
    pub not_for: &'static str,
    rw: Rw,
    bs: u64,
    iodepth: u32,
    numjobs: u32,
    engine: EngineKind,
    direct: bool,
}

/// Every preset, reads first.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "seqread-1m",
        question: "how fast can large pieces be read one after the other, with the next ones always asked for?",
        not_for: "judging read-ahead (direct I/O goes past it) or what a database or many users would feel",
        rw: Rw::Read,
        bs: 1 << 20,
        iodepth: 8,
        numjobs: 1,
        engine: EngineKind::IoUring,
        direct: true,
    },
    Preset {
        name: "randread-4k",
        question: "how long does one small read take when nothing else is asked for?",
        not_for: "the most reads a device can do: one at a time leaves it idle most of the time",
        rw: Rw::RandRead,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        engine: EngineKind::Psync,
        direct: true,
    },
    Preset {
        name: "randread-4k-qd32",
        question: "how many small reads a second with 32 always in flight, and how long does each then take?",
        not_for: "latency as one user feels it: most of the time shown is waiting behind the other 31",
        rw: Rw::RandRead,
        bs: 4096,
        iodepth: 32,
        numjobs: 1,
        engine: EngineKind::IoUring,
        direct: true,
    },
    Preset {
        name: "readers-32",
        question: "how do 32 programs share the device when each reads at random, one read at a time?",
        not_for: "the device's own limit where there are few CPUs: 32 threads also measure the process scheduler",
        rw: Rw::RandRead,
        bs: 4096,
        iodepth: 1,
        numjobs: 32,
        engine: EngineKind::Psync,
        direct: true,
    },
    Preset {
        name: "dd-1m",
        question: "what would dd bs=1M show: one reader through the page cache, from a cold cache?",
        not_for: "a decision by itself: one buffered thread measures the page cache, read-ahead and one CPU as much as the device",
        rw: Rw::Read,
        bs: 1 << 20,
        iodepth: 1,
        numjobs: 1,
        engine: EngineKind::Psync,
        direct: false,
    },
    Preset {
        name: "seqwrite-1m",
        question: "how fast can large pieces be written one after the other?",
        not_for: "how soon data is safe: without a flush it may still be in the device's cache",
        rw: Rw::Write,
        bs: 1 << 20,
        iodepth: 8,
        numjobs: 1,
        engine: EngineKind::IoUring,
        direct: true,
    },
    Preset {
        name: "randwrite-4k",
        question: "how many small writes to random places does the device take a second?",
        not_for: "an SSD that was just emptied: it is slower once its spare blocks are used up",
        rw: Rw::RandWrite,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        engine: EngineKind::Psync,
        direct: true,
    },
    Preset {
        name: "randrw-4k-70",
        question: "what do small random reads and writes, 70 to 30, do to each other?",
        not_for: "one figure for everything: look at reads and writes apart",
        rw: Rw::RandRw,
        bs: 4096,
        iodepth: 16,
        numjobs: 1,
        engine: EngineKind::IoUring,
        direct: true,
    },
    Preset {
        name: "commit-4k-dsync",
        question: "how many small commits a second are on stable media, as a database's log needs them?",
        not_for: "throughput: every write waits for the one before to be safe",
        rw: Rw::Write,
        bs: 4096,
        iodepth: 1,
        numjobs: 1,
        engine: EngineKind::Psync,
        direct: true,
    },
    Preset {
        name: "readers-vs-writer",
        question: "how much do random readers suffer from one sequential writer beside them?",
        not_for: "the total: a scheduler may raise it by starving one side",
        rw: Rw::Rw,
        bs: 4096,
        iodepth: 1,
        numjobs: 5,
        engine: EngineKind::Psync,
        direct: true,
    },
    Preset {
        name: "tiotest-4",
        question: "what would tiotest with 4 threads show, writing a file and reading it back?",
        not_for: "the device where the file fits into memory: most of it is the page cache",
        rw: Rw::Rw,
        bs: 4096,
        iodepth: 1,
        numjobs: 4,
        engine: EngineKind::Psync,
        direct: false,
    },
];

/// The preset of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

impl Preset {
    /// Whether it changes its target.
    #[must_use]
    pub const fn writes(&self) -> bool {
        self.rw.writes()
    }

    /// Whether it goes past the page cache.
    #[must_use]
    pub const fn direct(&self) -> bool {
        self.direct
    }

    /// The job: ten seconds, after one second that is not counted. The seed is always the same, so that two runs ask
    /// for the same blocks.
    #[must_use]
    pub fn job(&self) -> Job {
        Job {
            name: self.name.to_owned(),
            rw: self.rw,
            bs: Bytes(self.bs),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            engine: self.engine,
            engine_required: false,
            direct: self.direct,
            size: None,
            offset: Bytes(0),
            runtime: Duration::from_secs(10),
            number_ios: None,
            // A cold cache is what a buffered preset is about; a ramp would warm it.
            ramp: if self.direct { Duration::from_secs(1) } else { Duration::ZERO },
            seed: 1,
            drop_caches: !self.direct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_names_are_there_and_say_what_they_are_for() {
        for name in [
            "seqread-1m",
            "seqwrite-1m",
            "randread-4k",
            "randread-4k-qd32",
            "randwrite-4k",
            "randrw-4k-70",
            "commit-4k-dsync",
            "readers-vs-writer",
            "readers-32",
            "tiotest-4",
            "dd-1m",
        ] {
            let p = find(name).unwrap();
            assert!(p.question.ends_with('?') && !p.not_for.is_empty(), "{name}");
            assert_eq!(p.job().check(), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_preset_that_writes_says_so() {
        let writing: Vec<&str> = PRESETS.iter().filter(|p| p.writes()).map(|p| p.name).collect();
        assert_eq!(
            writing,
            [
                "seqwrite-1m",
                "randwrite-4k",
                "randrw-4k-70",
                "commit-4k-dsync",
                "readers-vs-writer",
                "tiotest-4"
            ]
        );
    }
}
