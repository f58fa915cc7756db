//! What samples need to know of whole devices beside their counters, read at a bounded cost: three small files a
//! device, of which a host may have 10,000.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sys::attr;
use crate::sys::diskstats::Counters;
use crate::sys::leaf;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::sample::RowKey;
use crate::telemetry::total::Leaves;

/// So many devices are all read for every sample.
const ALL: usize = 64;
/// Beyond that: so many of the rows that are new or moved,
const MOVED: usize = 256;
/// and so many of all, in turn.
const IN_TURN: usize = 64;

type Rows = [(RowKey, Counters)];

/// The facts, as of when each was last read.
#[derive(Debug, Default)]
pub(super) struct DeviceFacts {
    diskseq: Arc<HashMap<KernelName, u64>>,
    iostats_off: Arc<HashSet<KernelName>>,
    leaves: Leaves,
    turn: usize,
}

impl DeviceFacts {
    /// Sequence numbers.
    pub(super) fn diskseq(&self) -> Arc<HashMap<KernelName, u64>> {
        Arc::clone(&self.diskseq)
    }

    /// Devices whose `queue/iostats` is 0.
    pub(super) fn iostats_off(&self) -> Arc<HashSet<KernelName>> {
        Arc::clone(&self.iostats_off)
    }

    /// Which devices have bytes of their own.
    pub(super) fn leaves(&self) -> &Leaves {
        &self.leaves
    }

    /// Reads what is due, for the rows of a sample and of the one before.
    pub(super) fn refresh(&mut self, root: &SysRoot, rows: &Rows, before: &Rows) {
        self.forget_what_is_gone(rows);
        for i in due(rows, before, &mut self.turn) {
            if let Some((key, _)) = rows.get(i) {
                self.read(root, &key.name);
            }
        }
    }

    fn read(&mut self, root: &SysRoot, name: &KernelName) {
        let diskseq = attr::read_u64(&root.block(name).join("diskseq"));
        if self.diskseq.get(name).copied() != diskseq {
            let all = Arc::make_mut(&mut self.diskseq);
            match diskseq {
                Some(n) => all.insert(name.clone(), n),
                None => all.remove(name),
            };
        }
        let off = attr::read_flag(&root.queue(name).join("iostats")) == Some(false);
        if self.iostats_off.contains(name) != off {
            let all = Arc::make_mut(&mut self.iostats_off);
            if off {
                all.insert(name.clone())
            } else {
                all.remove(name)
            };
        }
        if let Some(leaf) = leaf::is_leaf(root, name) {
            self.leaves.learn(name, leaf);
        }
    }

    /// Names come and go; what was known of them must not pile up.
    fn forget_what_is_gone(&mut self, rows: &Rows) {
        if self.diskseq.len().max(self.iostats_off.len()) <= rows.len() {
            return;
        }
        let now: HashSet<&KernelName> = rows.iter().map(|(key, _)| &key.name).collect();
        Arc::make_mut(&mut self.diskseq).retain(|name, _| now.contains(name));
        Arc::make_mut(&mut self.iostats_off).retain(|name| now.contains(name));
        self.leaves.retain(|name| now.contains(name));
    }
}

/// Which rows are to be read now. Partitions never are: they have no such files.
fn due(rows: &Rows, before: &Rows, turn: &mut usize) -> Vec<usize> {
    let wholes = wholes(rows);
    if wholes.len() <= ALL {
        return wholes;
    }
    let moved = |i: &usize| match (rows.get(*i), before.get(*i)) {
        // Keys of rows that were there before share their text with them.
        (Some((key, now)), Some((old, then))) => !key.name.shares_text(&old.name) || now != then,
        _ => true,
    };
    let mut due: Vec<usize> = wholes.iter().copied().filter(moved).take(MOVED).collect();
    let start = *turn % wholes.len();
    due.extend(wholes.iter().cycle().skip(start).take(IN_TURN));
    *turn = start + IN_TURN;
    due
}

/// The places of whole devices: partitions come right behind theirs.
fn wholes(rows: &Rows) -> Vec<usize> {
    let mut last: Option<&KernelName> = None;
    let mut found = Vec::new();
    for (i, (key, _)) in rows.iter().enumerate() {
        if last.is_none_or(|w| !key.name.could_be_partition_of(w)) {
            last = Some(&key.name);
            found.push(i);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::sample::Sample;
    use crate::units::Nanos;

    fn sample(count: usize, moved: &[usize], before: &Sample) -> Sample {
        let line = |i: usize| format!("8 {i} sd{i}x {} 0 8 0 0 0 0 0 0 0 0", u8::from(moved.contains(&i)));
        let mut sample = Sample { monotonic: Nanos(0), ..Sample::default() };
        sample.read_rows(&(0..count).map(line).collect::<Vec<_>>().join("\n"), &before.rows);
        sample
    }

    #[test]
    fn few_devices_are_all_read_and_partitions_never() {
        let mut s = Sample::default();
        s.read_rows(
            "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 8 0 0 0 0 0 0 0 0\n8 16 sdb 1 0 8 0 0 0 0 0 0 0 0\n",
            &[],
        );
        assert_eq!(due(&s.rows, &s.rows, &mut 0), [0, 2]);
    }

    #[test]
    fn of_many_devices_those_that_moved_are_read_and_the_rest_in_turn() {
        let first = sample(1000, &[], &Sample::default());
        let mut turn = 0;
        let at_start = due(&first.rows, &[], &mut turn);
        assert_eq!(at_start.len(), MOVED + IN_TURN);
        let second = sample(1000, &[700, 900], &first);
        let mut seen: Vec<usize> = Vec::new();
        for _ in 0..16 {
            let due = due(&second.rows, &first.rows, &mut turn);
            assert_eq!((due.len(), &due[..2]), (IN_TURN + 2, &[700, 900][..]));
            seen.extend(due);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000, "after 16 samples of 64 each had its turn");
    }
}
