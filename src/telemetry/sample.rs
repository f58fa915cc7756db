//! Everything `/proc/diskstats` said at one instant.

use std::collections::HashMap;

use crate::sys::device::DevNum;
use crate::sys::diskstats::{Counters, Row, parse};
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

/// Raw totals of every row at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `CLOCK_MONOTONIC` around the read.
    pub monotonic: Nanos,
    /// `CLOCK_BOOTTIME`; None if the source has none.
    pub boot: Option<Nanos>,
    /// Rows in the order of the file.
    pub rows: Vec<(RowKey, Counters)>,
    /// Sequence numbers of whole devices, where known.
    pub diskseq: HashMap<KernelName, u64>,
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
        let rows = parse(text)
            .into_iter()
            .map(|Row { devnum, name, counters }| (RowKey { devnum, name }, counters))
            .collect();
        Self { monotonic, boot, rows, diskseq }
    }
}
