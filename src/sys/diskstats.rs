//! `/proc/diskstats`: one line to counters. A bad line never costs the others.
//!
//! Fields as in `Documentation/admin-guide/iostats.rst`: 11 statistics up to Linux 4.17, 15 (discard) from 4.18, 17
//! (flush) from 5.5. Missing ones are None, surplus ones ignored. Millisecond fields are 32-bit and wrap.

use super::attr;
use super::device::DevNum;
use super::name::KernelName;
use super::root::SysRoot;
use crate::units::Sectors;

/// Completed I/O of one direction since the device appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounters {
    /// Completed requests.
    pub ios: u64,
    /// I/Os folded into a queued request.
    pub merges: u64,
    /// Data moved.
    pub sectors: Sectors,
    /// Sum of the times of completed requests, ms, modulo 2^32.
    pub ms: u32,
}

/// Completed flush requests; the kernel counts neither merges nor data for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushCounters {
    /// Completed flushes, after coalescing.
    pub ios: u64,
    /// Sum of their times, ms, modulo 2^32.
    pub ms: u32,
}

/// One line of `/proc/diskstats`: raw totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads.
    pub read: DirectionCounters,
    /// Writes.
    pub write: DirectionCounters,
    /// Requests at the driver right now: a gauge, not a total.
    pub in_flight: u32,
    /// Time with at least one request in flight, ms, sampled by the kernel, modulo 2^32.
    pub busy_ms: u32,
    /// Sum over all requests of their time, ms, modulo 2^32: it wraps in hours at high depth.
    pub weighted_ms: u32,
    /// Discards; None before Linux 4.18.
    pub discard: Option<DirectionCounters>,
    /// Flushes; None before Linux 5.5.
    pub flush: Option<FlushCounters>,
}

/// One device's or partition's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Device number; `0:0` for the hidden paths of NVMe multipath, so never a key by itself.
    pub devnum: DevNum,
    /// Name in the spelling of the file (`cciss/c0d0`).
    pub name: KernelName,
    /// The totals.
    pub counters: Counters,
}

/// Parses one line with procfs. None for a line that is not a row (too short, not numbers, an unsafe name).
///
/// The millisecond fields and in-flight are printed as 32-bit numbers by the kernel but parsed wider, so that a
/// surprising value is cut to 32 bits as a wrap would be, not an error.
#[must_use]
pub fn parse_line(line: &str) -> Option<Row> {
    let s = procfs::DiskStat::from_line(line).ok()?;
    let direction = |ios: u64, merges: u64, sectors: u64, ms: u64| DirectionCounters {
        ios,
        merges,
        sectors: Sectors(sectors),
        ms: wrapped(ms),
    };
    let discard = match (s.discards, s.discards_merged, s.sectors_discarded, s.time_discarding) {
        (Some(ios), Some(merges), Some(sectors), Some(ms)) => Some(direction(ios, merges, sectors, ms)),
        _ => None,
    };
    let flush = match (s.flushes, s.time_flushing) {
        (Some(ios), Some(ms)) => Some(FlushCounters { ios, ms: wrapped(ms) }),
        _ => None,
    };
    Some(Row {
        devnum: DevNum { major: u32::try_from(s.major).ok()?, minor: u32::try_from(s.minor).ok()? },
        name: KernelName::new(&s.name)?,
        counters: Counters {
            read: direction(s.reads, s.merged, s.sectors_read, s.time_reading),
            write: direction(s.writes, s.writes_merged, s.sectors_written, s.time_writing),
            in_flight: wrapped(s.in_progress),
            busy_ms: wrapped(s.time_in_progress),
            weighted_ms: wrapped(s.weighted_time_in_progress),
            discard,
            flush,
        },
    })
}

/// Reads the text of `/proc/diskstats`, so that the caller can stamp the time around it.
///
/// # Errors
/// The file can not be read: `/proc` is not mounted, or a captured tree lacks it.
pub fn read_text(root: &SysRoot) -> std::io::Result<String> {
    std::fs::read(root.proc("diskstats")).map(|b| String::from_utf8_lossy(&b).into_owned())
}

/// The counters of one device or partition, from its own `stat` file, which is exact where rows of the whole table are
/// not taken at one instant. None if it is gone.
#[must_use]
pub fn counters_of(root: &SysRoot, name: &KernelName) -> Option<Counters> {
    // The columns of /proc/diskstats without number and name.
    let columns = attr::read_opt(&root.class_block(name).join("stat"))?;
    parse_line(&format!("0 0 row {columns}")).map(|row| row.counters)
}

/// Parses the whole text, skipping lines that are not rows.
#[must_use]
pub fn parse(text: &str) -> Vec<Row> {
    text.lines().filter_map(parse_line).collect()
}

#[allow(clippy::cast_possible_truncation)] // modulo 2^32 is what the kernel's own printing does
const fn wrapped(v: u64) -> u32 {
    v as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_three_widths_are_read() {
        let old = parse_line("   8       0 sda 10 1 80 5 20 2 160 7 3 11 12").unwrap();
        assert_eq!(old.counters.discard, None);
        assert_eq!((old.counters.in_flight, old.counters.busy_ms, old.counters.weighted_ms), (3, 11, 12));
        let mid = parse_line("8 0 sda 10 1 80 5 20 2 160 7 3 11 12 4 0 32 1").unwrap();
        assert_eq!(mid.counters.discard.unwrap().sectors, Sectors(32));
        assert_eq!(mid.counters.flush, None);
        let new = parse_line("8 0 sda 10 1 80 5 20 2 160 7 3 11 12 4 0 32 1 6 9 77 88").unwrap();
        assert_eq!(new.counters.flush, Some(FlushCounters { ios: 6, ms: 9 }));
    }

    #[test]
    fn a_bad_line_costs_only_itself() {
        let rows = parse(
            "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\nnonsense\n8 16 ../x 1 0 8 0 0 0 0 0 0 0 0\n104 0 cciss/c0d0 2 0 8 0 0 0 0 0 0 0 0\n",
        );
        let names: Vec<String> = rows.iter().map(|r| r.name.kernel()).collect();
        assert_eq!(names, ["sda", "cciss/c0d0"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(s in ".*") {
            let _ = parse(&s);
        }

        #[test]
        fn every_number_lands_in_its_field(v in proptest::collection::vec(0u32.., 17)) {
            let line = format!("8 0 sda {}", v.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
            let c = parse_line(&line).unwrap().counters;
            let d = c.discard.unwrap();
            let f = c.flush.unwrap();
            let back = [
                c.read.ios, c.read.merges, c.read.sectors.0, c.read.ms.into(),
                c.write.ios, c.write.merges, c.write.sectors.0, c.write.ms.into(),
                c.in_flight.into(), c.busy_ms.into(), c.weighted_ms.into(),
                d.ios, d.merges, d.sectors.0, d.ms.into(), f.ios, f.ms.into(),
            ];
            prop_assert_eq!(back.to_vec(), v.into_iter().map(u64::from).collect::<Vec<_>>());
        }
    }
}
