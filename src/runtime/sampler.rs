//! Takes samples of `/proc/diskstats`: the edge where the kernel and the clock are read for telemetry.

use std::collections::HashMap;

use crate::clock::Clock;
use crate::sys::attr;
use crate::sys::diskstats;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::telemetry::sample::Sample;

/// Reads one sample: the counters of every row, stamped between the two ends of the read, and the sequence numbers
/// of whole devices, which tell a device from its namesake.
///
/// # Errors
/// `/proc/diskstats` can not be read.
pub fn take(root: &SysRoot, clock: &dyn Clock) -> std::io::Result<Sample> {
    let before = clock.monotonic();
    let text = diskstats::read_text(root)?;
    let after = clock.monotonic();
    let middle = crate::units::Nanos(before.0 + after.since(before).0 / 2);
    let mut sample = Sample::parse(middle, Some(clock.boot()), &text, HashMap::new());
    sample.diskseq = sequence_numbers(root, sample.rows.iter().map(|(key, _)| &key.name));
    Ok(sample)
}

fn sequence_numbers<'a>(
    root: &SysRoot,
    names: impl Iterator<Item = &'a KernelName>,
) -> HashMap<KernelName, u64> {
    names.filter_map(|n| Some((n.clone(), attr::read_u64(&root.block(n).join("diskseq"))?))).collect()
}
