//! What the target's file system writes of its own while a workload writes to a file: its journal, and metadata from time to
//! time. It is nobody else's I/O.

use crate::units::Bytes;
use crate::workload::durability::Sync;
use crate::workload::job::Job;
use crate::workload::result::JobResult;

/// A file system brings its metadata to the medium about this often by itself, seconds (ext4's `commit=`).
const COMMITS_EVERY_S: f64 = 5.0;
/// What it then writes for a file that is only overwritten: the file's times, and what shares a block with them.
const COMMIT: u64 = 64 << 10;

/// The most that it may have written in a window. `per_sync` is what one sync may cost; None of a device, which has no file
/// system between.
pub(super) fn at_most(jobs: &[Job], did: &[JobResult], per_sync: Option<Bytes>, window_s: f64) -> Bytes {
    let Some(per_sync) = per_sync.filter(|_| jobs.iter().any(|j| j.rw.writes())) else { return Bytes(0) };
    let of_one = |(job, did): (&Job, &JobResult)| {
        let waiting = if job.sync == Sync::None { 0 } else { did.write.ios };
        waiting.saturating_add(did.flush.map_or(0, |f| f.calls))
    };
    let syncs = jobs.iter().zip(did).map(of_one).fold(0, u64::saturating_add);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating is what is wanted
    let commits = (window_s / COMMITS_EVERY_S).ceil() as u64 + 1;
    Bytes(syncs.saturating_mul(per_sync.0).saturating_add(commits.saturating_mul(COMMIT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::assemble::assemble;
    use crate::workload::result::{DirectionResult, FlushResult};

    fn most(preset: &str, set: &[&str], ios: u64, calls: u64, per_sync: Option<u64>) -> u64 {
        let write = DirectionResult { ios, ..DirectionResult::default() };
        let flush = (calls > 0).then_some(FlushResult { calls, time_ns: None });
        let did = [JobResult { write, flush, ..JobResult::default() }];
        at_most(&assemble(preset, set).unwrap(), &did, per_sync.map(Bytes), 8.0).0
    }

    #[test]
    fn each_sync_has_its_share_and_what_comes_by_itself_is_added() {
        let by_itself = 3 * COMMIT;
        for (preset, set, calls, syncs) in [
            ("randwrite-4k", &[][..], 0, 0),
            ("commit-4k-dsync", &[], 0, 1000),
            ("randwrite-4k", &["fsync=10"], 100, 100),
            ("commit-4k-dsync", &["fsync=10"], 100, 1100),
        ] {
            let got = most(preset, set, 1000, calls, Some(1 << 14));
            assert_eq!(got, (syncs << 14) + by_itself, "{preset} {set:?}");
        }
        assert_eq!(most("randread-4k", &[], 0, 0, Some(1 << 14)), 0, "nothing is written");
        assert_eq!(most("commit-4k-dsync", &[], 1000, 0, None), 0, "a device");
    }
}
