//! Gate G4: the bytes that the device moved beside those of the workload. Which of them may differ, and by how much, follows
//! from how the workload's jobs pass them on.

use crate::trial;
use crate::trial::result::TrialResult;
use crate::units::{Bytes, percent};
use crate::workload::durability::Sync;
use crate::workload::job::{EngineKind, Job};
use crate::workload::result::JobResult;

use super::bench::Moved;

/// Bytes of the device may differ from those of the workload by this share, past the page cache.
const DIRECT_LIMIT: f64 = 0.02;
/// The same where the page cache lies between: read-ahead counts, and pages are whole.
const CACHED_LIMIT: f64 = 0.10;

/// One direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Way {
    /// Share of the workload's bytes by which the device's may differ; None: they are not compared, since writes through the
    /// page cache arrive some time.
    pub limit: Option<f64>,
    /// What the device may move besides: what a file system writes of its own, what was in flight at the start, what was
    /// read ahead at the end.
    pub more: Bytes,
}

/// How the workload's bytes pass to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passage {
    /// What is read.
    pub read: Way,
    /// What is written.
    pub written: Way,
    /// Others were at work on the device before the start, and it was started all the same: what they move voids nothing.
    pub shared: bool,
}

/// What a passage depends on beside the trial's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Below {
    /// How far the kernel reads ahead of a sequential reader.
    pub read_ahead: Bytes,
    /// Others were at work on the device before the start.
    pub shared: bool,
}

impl Passage {
    /// Byte for byte, past the page cache.
    pub const DIRECT: Self = {
        let way = Way { limit: Some(DIRECT_LIMIT), more: Bytes(0) };
        Self { read: way, written: way, shared: false }
    };
    /// Reads through the page cache.
    pub const BUFFERED_READS: Self = {
        let way = Way { limit: Some(CACHED_LIMIT), more: Bytes(0) };
        Self { read: way, written: way, shared: false }
    };

    /// That of a trial: in each direction as loose as the loosest of its jobs.
    #[must_use]
    pub fn of(result: &TrialResult, below: Below) -> Self {
        let mut this = Self { shared: below.shared, ..Self::DIRECT };
        let edges = trial::at_edges(&result.asked);
        this.read.more = Bytes(edges);
        this.written.more = Bytes(edges);
        let nothing = JobResult::default();
        for (i, job) in result.asked.iter().enumerate() {
            this.add(job, result.jobs.get(i).unwrap_or(&nothing), below);
        }
        this.written.more_by(result.others.as_ref().map_or(0, |o| o.file_system_bytes.0));
        this
    }

    fn add(&mut self, job: &Job, did: &JobResult, below: Below) {
        if job.engine == EngineKind::Null {
            (self.read.limit, self.written.limit) = (None, None);
            return;
        }
        let writes = job.rw.writes();
        if job.direct {
            return;
        }
        let arrives = job.end_fsync || job.sync != Sync::None || job.fsync == 1 || job.fdatasync == 1;
        if writes && !arrives {
            self.written.limit = None;
            if job.reads() {
                self.read.limit = None;
            }
        } else {
            self.read.loosen();
            self.written.loosen();
        }
        if writes {
            // Of a page that is written in part the rest is read first, and all of it is written.
            let page = rustix::param::page_size() as u64;
            let parts = if job.bs.0.is_multiple_of(page) { 0 } else { 2 * page };
            self.read.more_by(parts.saturating_mul(did.write.ios));
            self.written.more_by(parts.saturating_mul(did.write.ios));
        }
        if job.reads() && !job.rw.random() {
            // One window that is used, and one that is under way.
            let ahead = below.read_ahead.0.saturating_mul(2).saturating_mul(u64::from(job.numjobs));
            self.read.more_by(ahead);
        }
    }

    /// What is amiss with the bytes that moved, in words, and whether the device moved more than it should; None if nothing is.
    #[must_use]
    pub fn amiss(&self, engine: Moved, device: Moved) -> Option<(String, bool)> {
        let read = self.read.compare(engine.read, device.read);
        let written = self.written.compare(engine.written, device.written);
        let compared: Vec<Difference> = [read, written].into_iter().flatten().collect();
        let sum = |of: fn(&Difference) -> u64| compared.iter().map(of).fold(0, u64::saturating_add);
        let total = sum(|d| d.engine);
        let off: f64 = compared.iter().map(|d| figure(d.short.max(d.over)) / d.limit).sum();
        if total == 0 || off <= figure(total) {
            return None;
        }
        let limit = compared.iter().map(|d| d.limit).fold(0.0, f64::max);
        let more = Bytes(sum(|d| d.more));
        let (moved, whole) = (Bytes(sum(|d| d.device)), Bytes(total));
        let text = format!("the device moved {moved} and the workload {whole}");
        let limit = percent(limit * 100.0);
        if sum(|d| d.over) > sum(|d| d.short) {
            let besides = if more.0 == 0 {
                String::new()
            } else {
                format!(", and {more} of the file system's own and of what was in flight")
            };
            return Some((format!("{text}: others used it (limit {limit}{besides})"), true));
        }
        let short = |d: Option<Difference>| d.map_or(0, |d| d.short);
        let (came, what) = if short(read) >= short(written) {
            ("came from a cache", "--set direct=1 or a larger --set size= reaches the device")
        } else {
            ("stayed in a cache", "--set direct=1 writes past it")
        };
        Some((format!("{text}: the rest {came} (limit {limit}); {what}"), false))
    }
}

/// One direction of both sides.
#[derive(Clone, Copy)]
struct Difference {
    engine: u64,
    device: u64,
    limit: f64,
    more: u64,
    /// The device moved so much less.
    short: u64,
    /// It moved so much more, beyond what it may.
    over: u64,
}

impl Way {
    fn loosen(&mut self) {
        self.limit = self.limit.map(|l| l.max(CACHED_LIMIT));
    }

    fn more_by(&mut self, bytes: u64) {
        self.more.0 = self.more.0.saturating_add(bytes);
    }

    fn compare(&self, engine: Bytes, device: Bytes) -> Option<Difference> {
        let over = device.0.saturating_sub(engine.0).saturating_sub(self.more.0);
        let short = engine.0.saturating_sub(device.0);
        let of =
            |limit| Difference { engine: engine.0, device: device.0, limit, more: self.more.0, short, over };
        self.limit.map(of)
    }
}

#[allow(clippy::cast_precision_loss)] // a share
fn figure(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measured::tests::{job, others, result};
    use crate::workload::result::DirectionResult;

    const MIB: u64 = 1 << 20;

    /// One job of a preset on a file, whose file system may have written so much of its own.
    fn on_file(preset: &str, keys: &[&str], ios: u64, own: u64) -> Passage {
        let mut r = result(vec![job(preset, keys)]);
        let write = DirectionResult { ios, ..DirectionResult::default() };
        r.jobs = vec![JobResult { write, ..JobResult::default() }];
        let moved = Moved { read: Bytes(0), written: Bytes(0) };
        r.others = Some(others(moved, Bytes(own)));
        Passage::of(&r, Below { read_ahead: Bytes(128 << 10), ..Below::default() })
    }

    fn on_device(jobs: Vec<Job>) -> Passage {
        Passage::of(&result(jobs), Below { read_ahead: Bytes(128 << 10), ..Below::default() })
    }

    fn wrote(passage: &Passage, engine: u64, device: u64) -> Option<(String, bool)> {
        let moved = |n| Moved { read: Bytes(0), written: Bytes(n) };
        passage.amiss(moved(engine), moved(device))
    }

    #[test]
    fn each_way_has_its_limits() {
        let (direct, cached) = (Some(DIRECT_LIMIT), Some(CACHED_LIMIT));
        for (jobs, read, written) in [
            (vec![job("randread-4k", &[])], direct, direct),
            (vec![job("randread-4k", &["direct=0"])], cached, cached),
            (vec![job("seqwrite-1m", &["direct=0", "end_fsync=0"])], direct, None),
            (vec![job("tiotest-4", &[])], None, None),
            (vec![job("seqwrite-1m", &["direct=0", "end_fsync=1"])], cached, cached),
            (vec![job("seqwrite-1m", &["direct=0", "fsync=1"])], cached, cached),
            (vec![job("seqwrite-1m", &["direct=0", "fsync=9"])], direct, None),
            (vec![job("seqwrite-1m", &["direct=0", "fdatasync=1"])], cached, cached),
            (vec![job("commit-4k-dsync", &["direct=0"])], cached, cached),
            (vec![job("randread-4k", &["engine=null"])], None, None),
            (vec![job("randread-4k", &[]), job("seqwrite-1m", &["direct=0"])], direct, None),
            (vec![job("randread-4k", &[]), job("randread-4k", &["direct=0"])], cached, cached),
        ] {
            let p = on_device(jobs.clone());
            assert_eq!((p.read.limit, p.written.limit), (read, written), "{jobs:?}");
        }
    }

    /// As was seen on ext4: 4 KiB that are synced one by one come with 8 to 10 KiB of the journal's, and four blocks are allowed.
    #[test]
    fn a_journal_is_no_foreign_io() {
        for (preset, keys) in [
            ("commit-4k-dsync", &["ramp=0s"][..]),
            ("randwrite-4k", &["fsync=1", "ramp=0s"]),
            ("randwrite-4k", &["direct=0", "fsync=1"]),
        ] {
            let p = on_file(preset, keys, 1000, 16_384_000);
            assert_eq!(wrote(&p, 4_096_000, 4_096_000 + 10_240_000), None, "{preset} {keys:?}");
            let (text, more) = wrote(&p, 4_096_000, 40 * MIB).unwrap();
            assert!(more && text.contains("others used it") && text.contains("file system's own"), "{text}");
            assert!(!wrote(&p, 4_096_000, 3_000_000).unwrap().1, "{preset} {keys:?}: in a cache");
        }
        // A device has none.
        let device = on_device(vec![job("commit-4k-dsync", &["ramp=0s"])]);
        assert!(wrote(&device, 4_096_000, 4_096_000 + 100_000).unwrap().1);
    }

    #[test]
    fn what_was_in_flight_at_the_end_of_the_ramp_is_the_devices_alone() {
        let read = |p: &Passage, engine, device| {
            let moved = |n| Moved { read: Bytes(n), written: Bytes(0) };
            p.amiss(moved(engine), moved(device))
        };
        let deep = |ramp| on_device(vec![job("seqread-1m", &[ramp])]);
        assert_eq!(read(&deep("ramp=1s"), 100 * MIB, 109 * MIB), None);
        assert!(read(&deep("ramp=1s"), 100 * MIB, 111 * MIB).unwrap().1);
        assert!(read(&deep("ramp=0s"), 100 * MIB, 103 * MIB).unwrap().1);
        assert!(!read(&deep("ramp=1s"), 100 * MIB, 97 * MIB).unwrap().1, "less is never excused");
    }

    #[test]
    fn pages_and_read_ahead_belong_to_who_reads_and_writes_through_them() {
        let page = rustix::param::page_size() as u64;
        let parts = on_file("commit-4k-dsync", &["direct=0", "bs=512"], 1000, 0);
        let moved = |read, written| Moved { read: Bytes(read), written: Bytes(written) };
        assert_eq!(parts.amiss(moved(0, 512_000), moved(1000 * page, 1000 * page)), None);
        let ahead = on_device(vec![job("dd-1m", &["numjobs=4"])]);
        assert_eq!(ahead.read.more, Bytes(8 * (128 << 10)));
        assert_eq!(on_device(vec![job("randread-4k", &["direct=0", "ramp=0s"])]).read.more, Bytes(0));
    }

    #[test]
    fn reads_that_are_not_there_and_writes_that_are_too_many_are_no_balance() {
        let both = |read, written| Moved { read: Bytes(read), written: Bytes(written) };
        let p = Passage::DIRECT;
        assert!(p.amiss(both(100, 100), both(50, 150)).is_some());
        assert_eq!(p.amiss(both(100, 100), both(98, 102)), None);
        assert!(p.amiss(both(100, 100), both(97, 102)).is_some());
        let (text, more) = p.amiss(both(100, 100), both(100, 0)).unwrap();
        assert!(!more && text.contains("stayed in a cache"), "{text}");
    }
}
