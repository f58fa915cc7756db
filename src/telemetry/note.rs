//! What should be known about a row's figures, beside them.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::units::{Nanos, three_digits};

/// One remark. Shown in few words, in text and in JSON alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The name belongs to another device than before, or was not there before: nothing to compare with.
    NewDevice,
    /// The same device counts from the start again.
    CountersReset,
    /// The row was missing for a while and is the same device's: figures are over all of that time.
    BackAfter(Nanos),
    /// The sample is older than the one before it, or of another boot: nothing to compare with.
    TimeWentBack,
    /// The host slept between the samples; figures are over the time it was awake.
    Suspended(Nanos),
    /// Busy is above 100 %: the kernel samples it once a tick (`update_io_ticks` in `block/blk-core.c`).
    BusySampled,
    /// `queue/iostats` is 0 and the counters stood still: what the device did is not known.
    IostatsOff,
    /// `queue/iostats` was switched in this interval, so that only a part of it was counted.
    IostatsSwitched,
    /// An NVMe multipath head that counts nothing itself: the sum of its hidden paths.
    FromPaths,
    /// The head has no row in the file.
    NoRow,
    /// A path has nothing to be compared with yet, so that the head's figures are without it.
    PathNew,
    /// A path went: what it did last is not in the head's figures.
    PathGone,
    /// The slice of a head whose I/O is counted on the paths, where slices are not told apart.
    CountedOnPaths,
    /// So many devices are not in the total, since what they did is not known.
    Without(usize),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::NewDevice => f.write_str("new device"),
            Note::CountersReset => f.write_str("counters reset"),
            Note::BackAfter(t) => write!(f, "back after {} s", seconds(*t)),
            Note::TimeWentBack => f.write_str("time went back"),
            Note::Suspended(t) => write!(f, "suspended {} s", seconds(*t)),
            Note::BusySampled => f.write_str("busy is sampled by the kernel"),
            Note::IostatsOff => f.write_str("iostats off"),
            Note::IostatsSwitched => f.write_str("iostats switched meanwhile"),
            Note::FromPaths => f.write_str("from paths"),
            Note::NoRow => f.write_str("no row of its own"),
            Note::PathNew => f.write_str("without a new path"),
            Note::PathGone => f.write_str("a path went"),
            Note::CountedOnPaths => f.write_str("counted on the paths only"),
            Note::Without(n) => write!(f, "without {n} unknown"),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// Whole seconds from ten on.
fn seconds(t: Nanos) -> String {
    if t.0 >= 10 * Nanos::SECOND.0 { format!("{:.0}", t.seconds()) } else { three_digits(t.seconds()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(Note::Suspended(Nanos(3_600_400_000_000)).to_string(), "suspended 3600 s");
        assert_eq!(Note::BackAfter(Nanos(3_000_000_000)).to_string(), "back after 3.00 s");
    }
}
