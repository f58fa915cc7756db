//! What has to be known before a trial's figures are believed: each sentence from a fact that was measured.

use super::result::DeviceWindow;
use crate::units::{Bytes, Nanos};
use crate::workload::job::Job;
use crate::workload::outcome::RunOutcome;

/// Shorter windows say little: a device's own caches and the scheduler's learning are in them.
const SHORT: Nanos = Nanos(3_000_000_000);
/// Of a core, per worker: above it the CPU is measured, not the device.
const CPU_BOUND: f64 = 0.9;
/// Bytes of engine and device that differ by more than this share have another reason than the edges of the window.
const SHARE: f64 = 0.02;

/// The facts.
pub(super) struct Facts<'a> {
    pub(super) jobs: &'a [Job],
    pub(super) outcome: &'a RunOutcome,
    pub(super) device: Option<&'a DeviceWindow>,
    pub(super) has_device: bool,
    pub(super) iostats: bool,
    pub(super) changed: Vec<(String, Option<String>, Option<String>)>,
}

impl Facts<'_> {
    /// The sentences; those of the run itself first.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut out = self.outcome.warnings.clone();
        out.extend(
            [self.interrupted(), self.short(), self.settings(), self.account(), self.cpu()]
                .into_iter()
                .flatten(),
        );
        out
    }

    fn interrupted(&self) -> Option<String> {
        let s = self.outcome.window.seconds();
        self.outcome
            .interrupted
            .then(|| format!("stopped by hand after {s:.1} s: fewer I/Os were measured than asked for"))
    }

    fn short(&self) -> Option<String> {
        let w = self.outcome.window;
        (w < SHORT).then(|| {
            format!("measured for {:.2} s only: too short to tell a device's pace from its caches; 10 s or more are better", w.seconds())
        })
    }

    fn settings(&self) -> Option<String> {
        if self.changed.is_empty() {
            return None;
        }
        let word = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_owned());
        let list: Vec<String> =
            self.changed.iter().map(|(name, a, b)| format!("{name} {} -> {}", word(a), word(b))).collect();
        Some(format!(
            "settings of the device changed during the run: {}; the figures belong to neither state",
            list.join(", ")
        ))
    }

    /// The engine's bytes beside the device's.
    fn account(&self) -> Option<String> {
        if !self.iostats {
            return Some(
                "the device counts nothing (queue/iostats is 0): what it did is not known".to_owned(),
            );
        }
        let Some(device) = self.device else {
            return Some(if self.has_device {
                "the device's counters could not be read at both ends: what it did is not known".to_owned()
            } else {
                "the target lies on no block device of its own (memory, network, btrfs, overlay): what a device did is not known".to_owned()
            });
        };
        let (read, written) = (self.outcome.total.read.bytes, self.outcome.total.write.bytes);
        let moved = Bytes(device.read_bytes.0 + device.write_bytes.0);
        let direct = self.jobs.iter().all(|j| j.direct);
        let in_flight = |j: &Job| j.bs.0 * u64::from(j.depth_in_use()) * u64::from(j.numjobs);
        let ramp = self.jobs.iter().any(|j| !j.ramp.is_zero());
        let at_edges = if ramp { self.jobs.iter().map(in_flight).sum() } else { 0 };
        if beyond(read.0, device.read_bytes.0, at_edges) {
            let why = if direct {
                "below it something answers from memory"
            } else {
                "the rest was served from the page cache"
            };
            return Some(format!("the engine read {read} and the device only {}: {why}", device.read_bytes));
        }
        if beyond(written.0, device.write_bytes.0, at_edges) {
            let why = if direct {
                "below it something keeps them in memory"
            } else {
                "the rest is still in the page cache, or was overwritten there"
            };
            return Some(format!(
                "the engine wrote {written} and the device only {}: {why}",
                device.write_bytes
            ));
        }
        let engine = Bytes(read.0 + written.0);
        if direct && beyond(moved.0, engine.0, at_edges) {
            return Some(format!(
                "other I/O on {}: it moved {moved} while the engine moved {engine}; the figures include the wait for it",
                device.name
            ));
        }
        None
    }

    fn cpu(&self) -> Option<String> {
        let used = self.outcome.cpu.user.seconds() + self.outcome.cpu.system.seconds();
        let share = used
            / (self.outcome.window.seconds() * f64::from(self.jobs.iter().map(|j| j.numjobs).sum::<u32>()))
                .max(1e-9);
        (share > CPU_BOUND).then(|| {
            format!("{:.0}% of a CPU per worker was used: this measures the CPU, not the device; use a larger bs, or more workers (numjobs)", share * 100.0)
        })
    }
}

/// Whether `a` is above `b` by more than the share, `slack` aside.
#[allow(clippy::cast_precision_loss)] // a comparison of shares
fn beyond(a: u64, b: u64, slack: u64) -> bool {
    a.saturating_sub(slack) as f64 > b as f64 * (1.0 + SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::name::KernelName;
    use crate::sys::syscall::ThreadCpu;
    use crate::workload::preset;
    use crate::workload::result::{DirectionResult, JobResult};

    fn outcome(bytes: u64) -> RunOutcome {
        let read = DirectionResult { ios: bytes / 4096, bytes: Bytes(bytes), ..DirectionResult::default() };
        RunOutcome {
            jobs: Vec::new(),
            total: JobResult { read, ..JobResult::default() },
            window: Nanos(10_000_000_000),
            engine: String::new(),
            cpu: ThreadCpu::default(),
            fairness: None,
            promises: Vec::new(),
            failure: None,
            interrupted: false,
            warnings: Vec::new(),
        }
    }

    fn device(read: u64, written: u64) -> DeviceWindow {
        DeviceWindow {
            name: KernelName::new("sda").unwrap(),
            read_ios: 1,
            read_bytes: Bytes(read),
            write_ios: 0,
            write_bytes: Bytes(written),
            read_size_bytes: None,
            write_size_bytes: None,
            merged: 0,
            engine_share: None,
        }
    }

    fn said(change: impl Fn(&mut Job, &mut RunOutcome, &mut DeviceWindow)) -> Vec<String> {
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        let (mut o, mut d) = (outcome(1 << 30), device(1 << 30, 0));
        change(&mut job, &mut o, &mut d);
        Facts {
            jobs: std::slice::from_ref(&job),
            outcome: &o,
            device: Some(&d),
            has_device: true,
            iostats: true,
            changed: Vec::new(),
        }
        .warnings()
    }

    #[test]
    fn a_clean_trial_says_nothing() {
        assert_eq!(said(|_, _, _| {}), Vec::<String>::new());
        // What was in flight when the ramp ended is no reason for a warning.
        assert_eq!(
            said(|_, o, d| (o.total.read.bytes, d.read_bytes) = (Bytes(8192), Bytes(4096))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_fact_has_its_sentence() {
        let one = |part: &str, got: Vec<String>| {
            assert!(got.len() == 1 && got[0].contains(part), "{part}: {got:?}");
        };
        one("page cache", said(|j, _, d| (j.direct, d.read_bytes) = (false, Bytes(1 << 20))));
        one("answers from memory", said(|_, _, d| d.read_bytes = Bytes(1 << 20)));
        one("other I/O on sda", said(|_, _, d| d.write_bytes = Bytes(1 << 28)));
        one("stopped by hand", said(|_, o, _| o.interrupted = true));
        one("too short", said(|_, o, _| o.window = Nanos(2_000_000_000)));
        one("of a CPU per worker", said(|_, o, _| o.cpu.system = Nanos(9_500_000_000)));
        let (job, o) = (preset::find("dd-1m").unwrap().jobs().remove(0), outcome(1 << 30));
        let facts = |has_device, iostats, changed| Facts {
            jobs: std::slice::from_ref(&job),
            outcome: &o,
            device: None,
            has_device,
            iostats,
            changed,
        };
        one("iostats is 0", facts(true, false, Vec::new()).warnings());
        one("no block device of its own", facts(false, true, Vec::new()).warnings());
        let changed = vec![("scheduler".to_owned(), Some("none".to_owned()), Some("bfq".to_owned()))];
        let f = Facts { device: Some(&device(1 << 30, 0)), ..facts(true, true, changed) };
        one("scheduler none -> bfq", f.warnings());
    }
}
