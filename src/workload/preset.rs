//! The presets: jobs by name, each with the question it answers and what it must not be used for.

use std::time::Duration;

use serde::Serialize;

use super::arrivals::RateProcess;
use super::durability::{DropCaches, Sync};
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
    jobs: &'static [Stream],
}

/// One job of a preset; what is not said here is the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Stream {
    /// What results call it; empty for the preset's name.
    name: &'static str,
    rw: Rw,
    bs: u64,
    iodepth: u32,
    numjobs: u32,
    engine: EngineKind,
    direct: bool,
    sync: Sync,
    rwmixread: u8,
    foreground: bool,
}

/// What most streams are: one thread, 4 KiB at a time, past the page cache.
const PLAIN: Stream = Stream {
    name: "",
    rw: Rw::RandRead,
    bs: 4096,
    iodepth: 1,
    numjobs: 1,
    engine: EngineKind::Psync,
    direct: true,
    sync: Sync::None,
    rwmixread: 50,
    foreground: false,
};

/// Every preset, reads first.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "seqread-1m",
        question: "how fast can large pieces be read one after the other, with the next ones always asked for?",
        not_for: "judging read-ahead (direct I/O goes past it) or what a database or many users would feel",
        jobs: &[Stream { rw: Rw::Read, bs: 1 << 20, iodepth: 8, engine: EngineKind::IoUring, ..PLAIN }],
    },
    Preset {
        name: "randread-4k",
        question: "how long does one small read take when nothing else is asked for?",
        not_for: "the most reads a device can do: one at a time leaves it idle most of the time",
        jobs: &[PLAIN],
    },
    Preset {
        name: "randread-4k-qd32",
        question: "how many small reads a second with 32 always in flight, and how long does each then take?",
        not_for: "latency as one user feels it: most of the time shown is waiting behind the other 31",
        jobs: &[Stream { iodepth: 32, engine: EngineKind::IoUring, ..PLAIN }],
    },
    Preset {
        name: "readers-32",
        question: "how do 32 programs share the device when each reads at random, one read at a time?",
        not_for: "the device's own limit where there are few CPUs: 32 threads also measure the process scheduler",
        jobs: &[Stream { numjobs: 32, ..PLAIN }],
    },
    Preset {
        name: "dd-1m",
        question: "what would dd bs=1M show: one reader through the page cache, from a cold cache?",
        not_for: "a decision by itself: one buffered thread measures the page cache, read-ahead and one CPU as much as the device",
        jobs: &[Stream { rw: Rw::Read, bs: 1 << 20, direct: false, ..PLAIN }],
    },
    Preset {
        name: "seqwrite-1m",
        question: "how fast can large pieces be written one after the other?",
        not_for: "how soon data is safe: without a flush it may still be in the device's cache",
        jobs: &[Stream { rw: Rw::Write, bs: 1 << 20, iodepth: 8, engine: EngineKind::IoUring, ..PLAIN }],
    },
    Preset {
        name: "randwrite-4k",
        question: "how many small writes to random places does the device take a second?",
        not_for: "an SSD that was just emptied: it is slower once its spare blocks are used up",
        jobs: &[Stream { rw: Rw::RandWrite, ..PLAIN }],
    },
    Preset {
        name: "randrw-4k-70",
        question: "what do small random reads and writes, 70 to 30, do to each other?",
        not_for: "one figure for everything: look at reads and writes apart",
        jobs: &[Stream { rw: Rw::RandRw, rwmixread: 70, iodepth: 16, engine: EngineKind::IoUring, ..PLAIN }],
    },
    Preset {
        name: "commit-4k-dsync",
        question: "how many small commits a second are on stable media, as a database's log needs them?",
        not_for: "throughput: every write waits for the one before to be safe",
        jobs: &[Stream { rw: Rw::Write, sync: Sync::Dsync, ..PLAIN }],
    },
    Preset {
        name: "readers-vs-writer",
        question: "how much do random readers suffer from one sequential writer beside them?",
        not_for: "the total: a scheduler may raise it by starving one side",
        jobs: &[
            Stream { name: "readers", numjobs: 4, foreground: true, ..PLAIN },
            Stream {
                name: "writer",
                rw: Rw::Write,
                bs: 1 << 20,
                iodepth: 4,
                engine: EngineKind::IoUring,
                ..PLAIN
            },
        ],
    },
    Preset {
        name: "tiotest-4",
        question: "what would tiotest with 4 threads show, writing a file and reading it back?",
        not_for: "the device where the file fits into memory: most of it is the page cache",
        jobs: &[Stream { rw: Rw::Rw, numjobs: 4, direct: false, ..PLAIN }],
    },
];

/// The preset of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|p| p.name == name)
}

impl Preset {
    /// Whether any job of it changes its target.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|j| j.rw.writes())
    }

    /// Whether all of it goes past the page cache.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.jobs.iter().all(|j| j.direct)
    }

    /// The jobs, which run at the same time: ten seconds, after one second that is not counted. The seed is always the
    /// same, so that two runs ask for the same blocks.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        self.jobs.iter().map(|j| j.job(self.name)).collect()
    }
}

impl Stream {
    fn job(&self, preset: &str) -> Job {
        Job {
            name: if self.name.is_empty() { preset } else { self.name }.to_owned(),
            rw: self.rw,
            bs: Bytes(self.bs),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            rwmixread: self.rwmixread,
            norandommap: true,
            align: None,
            engine: self.engine,
            engine_required: false,
            direct: self.direct,
            hipri: false,
            sync: self.sync,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            size: None,
            offset: Bytes(0),
            runtime: Duration::from_secs(10),
            number_ios: None,
            // A cold cache is what a buffered preset is about; a ramp would warm it.
            ramp: if self.direct { Duration::from_secs(1) } else { Duration::ZERO },
            rate: None,
            rate_iops: None,
            rate_process: RateProcess::Fixed,
            thinktime: Duration::ZERO,
            startdelay: Duration::ZERO,
            prio: None,
            cpus_allowed: None,
            limits_ms: Vec::new(),
            seed: 1,
            drop_caches: if self.direct { DropCaches::None } else { DropCaches::Target },
            foreground: self.foreground,
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
            assert!(p.jobs().iter().all(|j| j.check() == Ok(())), "{name}");
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
