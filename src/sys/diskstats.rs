//! `/proc/diskstats`: one line to counters. A bad line never costs the others.
//!
//! Fields as in `Documentation/admin-guide/iostats.rst`: 11 statistics up to Linux 4.17, 15 (discard) from 4.18, 17
//! (flush) from 5.5. Missing ones are None, surplus ones ignored. Millisecond fields are 32-bit and wrap; counts are
//! `unsigned long`. A sector here is 512 bytes whatever the device's block size.

use std::borrow::Cow;
use std::io::Read as _;

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

/// One line of the file, its name still a piece of it: reading 10,000 rows a second makes no 10,000 names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Device number.
    pub devnum: DevNum,
    /// The name as it stands there, not checked.
    pub name: &'a str,
    /// The totals.
    pub counters: Counters,
}

impl<'a> Line<'a> {
    /// Parses a line. None for one that is no row: too short, or not numbers.
    ///
    /// The millisecond fields and in-flight are printed as 32-bit numbers by the kernel but read wider, so that a
    /// surprising value is cut to 32 bits as a wrap would be, not an error. The rows of partitions in Linux 2.6.0 to
    /// 2.6.24, with 4 statistics of another meaning, are none.
    #[must_use]
    pub fn parse(line: &'a str) -> Option<Self> {
        let mut fields = Fields { text: line, at: 0 };
        let devnum = DevNum { major: fields.number32()?, minor: fields.number32()? };
        let name = fields.word()?;
        Some(Self { devnum, name, counters: fields.counters()? })
    }

    /// The row, if its name can be the name of a device.
    #[must_use]
    pub fn row(&self) -> Option<Row> {
        Some(Row { devnum: self.devnum, name: KernelName::new(self.name)?, counters: self.counters })
    }
}

/// So many digits always fit in 64 bits.
const SAFE_DIGITS: usize = 19;

/// What stands between blanks, one after the other.
struct Fields<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Fields<'a> {
    /// What is left behind the blanks.
    fn rest(&mut self) -> &'a [u8] {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        self.at += blanks;
        rest.get(blanks..).unwrap_or_default()
    }

    fn word(&mut self) -> Option<&'a str> {
        let length = self.rest().iter().take_while(|b| !b.is_ascii_whitespace()).count();
        let word = self.text.get(self.at..self.at + length).filter(|w| !w.is_empty())?;
        self.at += length;
        Some(word)
    }

    fn number(&mut self) -> Option<u64> {
        let rest = self.rest();
        let mut value: u64 = 0;
        let mut length = 0;
        for b in rest {
            let digit = b.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            length += 1;
        }
        if length == 0 || rest.get(length).is_some_and(|b| !b.is_ascii_whitespace()) {
            return None;
        }
        if length > SAFE_DIGITS {
            value = self.text.get(self.at..self.at + length)?.parse().ok()?;
        }
        self.at += length;
        Some(value)
    }

    fn number32(&mut self) -> Option<u32> {
        self.number().and_then(|v| u32::try_from(v).ok())
    }

    fn direction(&mut self) -> Option<DirectionCounters> {
        Some(DirectionCounters {
            ios: self.number()?,
            merges: self.number()?,
            sectors: Sectors(self.number()?),
            ms: wrapped(self.number()?),
        })
    }

    /// Everything behind the name.
    fn counters(&mut self) -> Option<Counters> {
        let read = self.direction()?;
        let write = self.direction()?;
        let in_flight = wrapped(self.number()?);
        let busy_ms = wrapped(self.number()?);
        let weighted_ms = wrapped(self.number()?);
        let discard = self.direction();
        let flush =
            discard.and_then(|_| Some(FlushCounters { ios: self.number()?, ms: wrapped(self.number()?) }));
        Some(Counters { read, write, in_flight, busy_ms, weighted_ms, discard, flush })
    }
}

/// Parses one line to a row. None for a line that is not one (see [`Line::parse`]), or whose name is unsafe.
#[must_use]
pub fn parse_line(line: &str) -> Option<Row> {
    Line::parse(line)?.row()
}

/// Reads the bytes of `/proc/diskstats` into a buffer that keeps its size, so that the caller can stamp the time
/// around it. The text is [`text_of`] them.
///
/// # Errors
/// The file can not be read: `/proc` is not mounted, or a captured tree lacks it.
pub fn read_into(root: &SysRoot, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    bytes.clear();
    std::fs::File::open(root.proc("diskstats"))?.read_to_end(bytes).map(drop)
}

/// The bytes as text. What is no UTF-8 is replaced, which spoils the name of its row and nothing else.
#[must_use]
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The counters of one device or partition, from its own `stat` file, which is exact where rows of the whole table are
/// not taken at one instant. None if it is gone.
#[must_use]
pub fn counters_of(root: &SysRoot, name: &KernelName) -> Option<Counters> {
    // The columns of /proc/diskstats without number and name.
    let columns = attr::read_opt(&root.class_block(name).join("stat"))?;
    Fields { text: &columns, at: 0 }.counters()
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

    #[test]
    fn missing_columns_are_none_and_odd_values_are_cut_as_the_kernel_prints_them() {
        let eleven = "1 2 3 4 5 6 7 8 9 10 11";
        assert_eq!(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10"), None);
        for partial in [format!("8 0 sda {eleven} 12 13 14"), format!("8 0 sda {eleven} 12 13 14 x 16 17")] {
            let c = parse_line(&partial).unwrap().counters;
            assert_eq!((c.discard, c.flush), (None, None), "{partial}");
        }
        let c = parse_line(&format!("8 0 sda {eleven} 12 13 14 15 16")).unwrap().counters;
        assert!(c.discard.is_some() && c.flush.is_none());
        // 2^32 + 7 in a field of 32 bits.
        let c = parse_line("8 0 sda 1 2 3 4294967303 5 6 7 8 4294967303 4294967303 11").unwrap().counters;
        assert_eq!((c.read.ms, c.in_flight, c.busy_ms), (7, 7, 7));
        // The greatest unsigned long is a count; one more is none.
        let c = parse_line("8 0 sda 18446744073709551615 2 3 4 5 6 7 8 9 10 11").unwrap().counters;
        assert_eq!(c.read.ios, u64::MAX);
        assert_eq!(parse_line("8 0 sda 18446744073709551616 2 3 4 5 6 7 8 9 10 11"), None);
        assert_eq!(parse_line("8 0 sda -1 2 3 4 5 6 7 8 9 10 11"), None);
        assert_eq!(parse_line("3 1 hda1 446 11000 1 8"), None, "a partition's row of Linux 2.6.0 to 2.6.24");
    }

    proptest! {
        #[test]
        fn any_text_is_survived(s in ".*") {
            let _ = parse(&s);
        }

        #[test]
        fn any_fields_are_survived(s in "[0-9]{1,3} [0-9]{1,3} [a-z/!.]{1,6}( [0-9-]{0,22}){0,24}") {
            let _ = parse(&s);
        }

        #[test]
        fn valid_lines_read_as_another_parser_reads_them(
            numbers in (0i32..4096, 0i32..1_048_576),
            name in "[a-z]{2,4}(/[a-z]{1,3})?[0-9]{0,3}",
            values in proptest::collection::vec(any::<u64>(), 11..22),
            gap in "[ \t]{1,3}",
        ) {
            let columns = values.iter().map(u64::to_string).collect::<Vec<_>>().join(&gap);
            let line = format!("{gap}{}{gap}{}{gap}{name}{gap}{columns}", numbers.0, numbers.1);
            let theirs = procfs::DiskStat::from_line(&line).unwrap();
            let ours = Line::parse(&line).unwrap();
            prop_assert_eq!(i64::from(ours.devnum.major), i64::from(theirs.major));
            prop_assert_eq!(i64::from(ours.devnum.minor), i64::from(theirs.minor));
            prop_assert_eq!(ours.name, &theirs.name);
            let c = ours.counters;
            let direction = |d: DirectionCounters| [d.ios, d.merges, d.sectors.0, u64::from(d.ms)];
            let cut = |ms: u64| ms % (1 << 32);
            prop_assert_eq!(direction(c.read), [theirs.reads, theirs.merged, theirs.sectors_read, cut(theirs.time_reading)]);
            prop_assert_eq!(
                direction(c.write),
                [theirs.writes, theirs.writes_merged, theirs.sectors_written, cut(theirs.time_writing)]
            );
            prop_assert_eq!(
                [c.in_flight, c.busy_ms, c.weighted_ms].map(u64::from),
                [theirs.in_progress, theirs.time_in_progress, theirs.weighted_time_in_progress].map(cut)
            );
            // Theirs takes each column by itself, ours a group only as a whole.
            let discards = theirs.time_discarding.map(|ms| {
                [theirs.discards.unwrap(), theirs.discards_merged.unwrap(), theirs.sectors_discarded.unwrap(), cut(ms)]
            });
            prop_assert_eq!(c.discard.map(direction), discards);
            let flushes = theirs.time_flushing.map(|ms| (theirs.flushes.unwrap(), cut(ms)));
            prop_assert_eq!(c.flush.map(|f| (f.ios, u64::from(f.ms))), flushes);
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
