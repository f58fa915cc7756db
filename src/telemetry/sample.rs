//! Everything `/proc/diskstats` said at one instant.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sys::device::DevNum;
use crate::sys::diskstats::{Counters, Line};
use crate::sys::name::KernelName;
use crate::units::Nanos;

/// Which row is whose: a name is not enough (reused within seconds), a number neither (`0:0` of hidden paths).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// Device number.
    pub devnum: DevNum,
    /// Kernel name.
    pub name: KernelName,
}

impl RowKey {
    fn is_of(&self, line: &Line<'_>) -> bool {
        self.devnum == line.devnum && self.name.is_spelled(line.name)
    }
}

/// Raw totals of every row at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// `CLOCK_MONOTONIC` around the read.
    pub monotonic: Nanos,
    /// `CLOCK_BOOTTIME`; None if the source has none.
    pub boot: Option<Nanos>,
    /// Rows in the order of the file.
    pub rows: Vec<(RowKey, Counters)>,
    /// Sequence numbers of whole devices, where known. Shared, since they seldom change.
    pub diskseq: Arc<HashMap<KernelName, u64>>,
    /// Whole devices that are known to have `queue/iostats` 0; their partitions go with them.
    pub iostats_off: Arc<HashSet<KernelName>>,
}

impl Sample {
    /// From the text of `/proc/diskstats`.
    #[must_use]
    pub fn parse(
        monotonic: Nanos,
        boot: Option<Nanos>,
        text: &str,
        diskseq: HashMap<KernelName, u64>,
    ) -> Self {
        let mut sample = Self { monotonic, boot, diskseq: Arc::new(diskseq), ..Self::default() };
        sample.read_rows(text, &[]);
        sample
    }

    /// Replaces the rows by those of another text. A row that `before` has too, and most often at the same place, takes
    /// its key from there, so that nothing is made for it.
    pub fn read_rows(&mut self, text: &str, before: &[(RowKey, Counters)]) {
        self.rows.clear();
        let mut keys = Keys { before, next: 0, places: None };
        self.rows.extend(text.lines().filter_map(|line| {
            let line = Line::parse(line)?;
            Some((keys.of(&line)?, line.counters))
        }));
    }
}

/// The keys of the sample before, walked along with the lines. A line that is not where it is looked for is found
/// through a table of all keys, made once: a change in many places costs no more than reading all anew.
struct Keys<'a> {
    before: &'a [(RowKey, Counters)],
    next: usize,
    places: Option<HashMap<&'a str, usize>>,
}

impl Keys<'_> {
    fn of(&mut self, line: &Line<'_>) -> Option<RowKey> {
        if let Some((key, _)) = self.before.get(self.next).filter(|(key, _)| key.is_of(line)) {
            self.next += 1;
            return Some(key.clone());
        }
        let name = KernelName::new(line.name)?;
        let before = self.before;
        let places = self.places.get_or_insert_with(|| {
            before.iter().enumerate().map(|(i, (key, _))| (key.name.sysfs(), i)).collect()
        });
        if let Some(i) = places.get(name.sysfs()).copied() {
            self.next = i + 1;
            if let Some((key, _)) = before.get(i).filter(|(key, _)| key.is_of(line)) {
                return Some(key.clone());
            }
        }
        Some(RowKey { devnum: line.devnum, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(names: &[(u32, &str)]) -> String {
        names
            .iter()
            .map(|(minor, n)| format!("8 {minor} {n} 1 0 8 0 0 0 0 0 0 0 0"))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn keys_are_shared_with_the_sample_before_wherever_their_rows_went() {
        let all = [(0, "sda"), (1, "sda1"), (16, "sdb"), (32, "sdc"), (48, "cciss/c0d0")];
        let before = Sample::parse(Nanos(0), None, &text(&all), HashMap::new());
        // One gone, one new, one moved, one that is another device by its number.
        let now = [(48, "cciss/c0d0"), (0, "sda"), (1, "sda1"), (64, "sdd"), (17, "sdb")];
        let mut after = Sample::default();
        after.read_rows(&text(&now), &before.rows);
        let plain = Sample::parse(Nanos(0), None, &text(&now), HashMap::new());
        assert_eq!(after.rows, plain.rows);
        let shared = |i: usize, j: usize| after.rows[i].0.name.shares_text(&before.rows[j].0.name);
        assert!(shared(0, 4) && shared(1, 0) && shared(2, 1));
        assert!(!shared(4, 2), "sdb has another number");
    }
}
