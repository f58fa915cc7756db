//! The one table of the list's columns. Drawing, sorting, filtering and the dialog that chooses them are all made of it.

use std::borrow::Cow;

use crate::sys::device::{Device, Partition};
use crate::telemetry::rates::Rates;
use crate::units::{Bytes, events, mib_per_s, percent, three_digits, whole};

use super::fleet::Entry;

mod table;
pub mod window;

pub use table::{DEFAULT, DEFAULT_NARROW, TABLE, on};

/// A column, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the table below says of each what it shows
pub enum ColumnId {
    Name,
    Size,
    Scheduler,
    Rotational,
    ReadAhead,
    Requests,
    ReadIops,
    WriteIops,
    DiscardIops,
    FlushIops,
    Bytes,
    ReadBytes,
    WriteBytes,
    DiscardBytes,
    Await,
    ReadAwait,
    WriteAwait,
    DiscardAwait,
    FlushAwait,
    ReadSize,
    WriteSize,
    DiscardSize,
    ReadMerged,
    WriteMerged,
    DiscardMerged,
    QueueLength,
    InFlight,
    Busy,
    BusyRaw,
    UsedBy,
    Model,
    Kind,
    DmName,
    Serial,
    Wwid,
    DevNum,
}

/// What is in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A text; empty where there is nothing to be said.
    Text(Cow<'a, str>),
    /// A number, in the unit of its column's measure.
    Number(f64),
    /// Not known. Shown as a dash, sorted last, matched by no comparison.
    Unknown,
    /// There is no such thing for this row: a partition has no queue.
    Absent,
}

/// What a column's numbers count, which is also how they are shown and typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// No number at all.
    Text,
    /// A whole number.
    Whole,
    /// A mean number.
    Mean,
    /// Events per second.
    PerSecond,
    /// Bytes per second, shown in MiB/s.
    MibPerSecond,
    /// Bytes.
    Bytes,
    /// KiB.
    Kib,
    /// Milliseconds.
    Millis,
    /// Percent.
    Percent,
}

impl Measure {
    /// A number as its column shows it, at most three significant digits where it is measured.
    #[must_use]
    pub fn shown(self, v: f64) -> String {
        match self {
            Measure::Text | Measure::Whole | Measure::Kib => whole(v),
            Measure::Mean | Measure::Millis => three_digits(v),
            Measure::PerSecond => events(v),
            Measure::MibPerSecond => mib_per_s(v),
            Measure::Bytes => Bytes::rounded(v).short(),
            Measure::Percent => percent(v),
        }
    }

    /// The unit in words; empty for texts and bare numbers.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Measure::Text | Measure::Whole | Measure::Mean => "",
            Measure::PerSecond => "per second",
            Measure::MibPerSecond => "MiB/s",
            Measure::Bytes => "bytes",
            Measure::Kib => "KiB",
            Measure::Millis => "ms",
            Measure::Percent => "percent",
        }
    }
}

/// What a row is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// A whole device.
    Device(&'a Entry),
    /// A partition of a device.
    Partition(&'a Entry, &'a Partition),
}

/// Where a column's values come from.
#[derive(Clone, Copy)]
enum Source {
    /// The sample that is shown.
    Rates(fn(&Rates) -> Option<f64>),
    /// The queue, which partitions do not have.
    Queue(for<'a> fn(&'a Device) -> Cell<'a>),
    /// Something that only whole devices have.
    Device(for<'a> fn(&'a Device) -> Cell<'a>),
    /// Something that both have.
    Either(for<'a> fn(Subject<'a>) -> Cell<'a>),
}

/// A row of the table.
pub struct Column {
    /// Which.
    pub id: ColumnId,
    /// Its word in files and filters; it does not change from version to version.
    pub word: &'static str,
    /// Its heading.
    pub head: &'static str,
    /// Cells it takes, without the blank before it.
    pub width: usize,
    /// Cells it takes where there is room for more.
    pub most: usize,
    /// What its numbers count.
    pub measure: Measure,
    /// What it shows, in one line.
    pub about: &'static str,
    source: Source,
}

impl Column {
    /// What the column says of a row.
    #[must_use]
    pub fn value<'a>(&self, of: Subject<'a>) -> Cell<'a> {
        match (self.source, of) {
            (Source::Rates(figure), of) => {
                let rates = match of {
                    Subject::Device(e) => e.shown_rates(),
                    Subject::Partition(e, p) => e.shown_partition_rates(&p.name),
                };
                rates.and_then(figure).map_or(Cell::Unknown, Cell::Number)
            }
            (Source::Queue(value) | Source::Device(value), Subject::Device(e)) => value(&e.device),
            (Source::Queue(_) | Source::Device(_), Subject::Partition(..)) => Cell::Absent,
            (Source::Either(value), of) => value(of),
        }
    }

    /// A cell's text.
    #[must_use]
    pub fn shown<'a>(&self, cell: Cell<'a>) -> Cow<'a, str> {
        match cell {
            Cell::Text(text) => text,
            Cell::Number(v) => Cow::Owned(self.measure.shown(v)),
            Cell::Unknown => Cow::Borrowed("-"),
            Cell::Absent => Cow::Borrowed(""),
        }
    }

    /// Whether it is a fact of the queue. A partition has none, so that its users are shown there.
    #[must_use]
    pub const fn of_queue(&self) -> bool {
        matches!(self.source, Source::Queue(_))
    }

    /// Whether a partition's own users are what it shows.
    #[must_use]
    pub fn of_users(&self) -> bool {
        self.id == ColumnId::UsedBy
    }

    /// Whether it does not change from sample to sample.
    #[must_use]
    pub const fn constant(&self) -> bool {
        !matches!(self.source, Source::Rates(_))
    }

    /// Whether its cells stand at the right.
    #[must_use]
    pub fn numeric(&self) -> bool {
        self.measure != Measure::Text
    }
}

impl ColumnId {
    /// Its row of the table.
    #[must_use]
    pub fn column(self) -> &'static Column {
        // A test holds both in the same order, so that thousands of rows need no search.
        TABLE.get(self as usize).unwrap_or(&TABLE[0])
    }
}

/// The column of a word as it is in files.
#[must_use]
pub fn of_word(word: &str) -> Option<&'static Column> {
    TABLE.iter().find(|c| c.word == word)
}

/// The column that a person means: its heading or its word, in any case, or the first word of its heading.
#[must_use]
pub fn named(text: &str) -> Option<&'static Column> {
    let exact = |c: &&Column| c.word.eq_ignore_ascii_case(text) || c.head.eq_ignore_ascii_case(text);
    let first = |c: &&Column| c.head.split(' ').next().is_some_and(|w| w.eq_ignore_ascii_case(text));
    TABLE.iter().find(exact).or_else(|| TABLE.iter().find(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_found_by_its_word_its_heading_and_its_id() {
        for (i, c) in TABLE.iter().enumerate() {
            assert_eq!((c.id as usize, c.id.column().word), (i, c.word));
            assert_eq!(of_word(c.word).map(|c| c.id), Some(c.id));
            assert_eq!(named(c.head).map(|c| c.id), Some(c.id), "{}", c.head);
            assert_eq!(named(&c.word.to_uppercase()).map(|c| c.id), Some(c.id), "{}", c.word);
            let twice = TABLE[i + 1..].iter().find(|d| {
                [d.word, d.head]
                    .iter()
                    .any(|w| w.eq_ignore_ascii_case(c.word) || w.eq_ignore_ascii_case(c.head))
            });
            assert!(twice.is_none(), "{} is two columns", c.word);
        }
        assert_eq!(named("used").map(|c| c.id), Some(ColumnId::UsedBy));
        assert_eq!(named("%util").map(|c| c.id), None);
    }

    #[test]
    fn headings_fit_and_the_lines_of_explanation_too() {
        for c in TABLE {
            assert!(c.head.len() <= c.width && c.width <= c.most, "{}", c.word);
            assert!((10..=90).contains(&c.about.len()), "{}: {}", c.word, c.about.len());
        }
    }

    #[test]
    fn the_default_fits_80_columns_and_leaves_one_for_the_mark() {
        let taken = |all: &[ColumnId]| {
            1 + ColumnId::Name.column().width + all.iter().map(|c| 1 + c.column().width).sum::<usize>()
        };
        assert_eq!(taken(&DEFAULT[..10]), 79);
        assert_eq!(taken(&DEFAULT_NARROW[..6]), 59);
        let mut both = [DEFAULT.to_vec(), DEFAULT_NARROW.to_vec()];
        for all in &mut both {
            all.sort_by_key(|c| *c as usize);
        }
        assert_eq!(both[0], both[1]);
    }

    #[test]
    fn figures_stay_in_their_columns() {
        for c in TABLE.iter().filter(|c| c.numeric() && !c.constant()) {
            let greatest = match c.measure {
                Measure::Percent => 999.0,
                Measure::PerSecond => 1e9,
                Measure::MibPerSecond => 999_999.0 * 1_048_576.0,
                Measure::Bytes => 1e15,
                _ => 99_999.0,
            };
            for v in
                [0.0_f64, 0.004, 0.06, 9.995, 99.95, 999.6, 1023.6, 99_999.4, 99_999.6, 999_949.0, greatest]
            {
                let text = c.measure.shown(v.min(greatest));
                assert!(text.len() <= c.width, "{}: {text}", c.word);
            }
        }
    }
}
