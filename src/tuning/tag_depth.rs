//! How many I/Os a device without a scheduler takes at once, made to be what `nr_requests` reads.
//!
//! Under `none` a write of `nr_requests` resizes the driver's tags (`blk_mq_update_nr_requests` in `block/blk-mq.c`). A
//! switch to `none` only sets the number to what the driver offers and leaves the tags as an earlier write made them,
//! and a write of the number that reads does nothing (`queue_requests_store` in `block/blk-sysfs.c`). So after
//! `nr_requests=4`, `scheduler=kyber` and `scheduler=none` the attribute reads 128, and the device takes 4 at a time, with
//! nothing in sysfs to show it.

use super::apply::write_patiently;
use super::control::QueueControl;
use super::journal::Entry;
use crate::sys::attr::AttrError;
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;

/// The kernel raises smaller numbers to this (`BLKDEV_MIN_RQ`).
const LEAST: u64 = 4;

/// What is wrong and how to mend it, where a queue that reads `none` has fewer `tags` in use than `nr_requests` reads; None if
/// it has as many. Under a scheduler the driver's tags do not have to follow.
#[must_use]
pub fn shortfall(name: &KernelName, tags: u32, state: &QueueState) -> Option<String> {
    let reads = state.number("nr_requests").filter(|n| u64::from(tags) < *n)?;
    (state.effective("scheduler").as_deref() == Some("none")).then(|| {
        format!(
            "{name} takes {tags} I/Os at once in a hardware queue, though nr_requests reads {reads}: a smaller number was written \
             before the scheduler became none, which leaves that; write another number and then this one (blktune set \
             {name} nr_requests={other}, blktune set {name} nr_requests={reads})",
            other = reads - 1,
        )
    })
}

/// Whether the tags may not be what `nr_requests` reads, after these attributes were written in the safe order: the
/// scheduler was, and the number was not written after it.
pub(super) fn in_doubt<S: AsRef<str>>(written: &[S]) -> bool {
    let wrote = |name: &str| written.iter().any(|w| w.as_ref() == name);
    wrote("scheduler") && !wrote("nr_requests")
}

/// Whether what the entry did, or what was done since, can have left the tags behind.
pub(super) fn concerns(entry: &Entry) -> bool {
    let mut names = entry.planned.iter().map(|c| &c.name).chain(entry.moved.iter().map(|m| &m.name));
    names.any(|name| name == "scheduler" || name == "nr_requests")
}

/// Makes the tags of a queue that reads `none` what its `nr_requests` reads: another number first, as the one that reads
/// would not be taken for a change. Nothing is written under a scheduler, which has tags of its own.
///
/// # Errors
/// The second write was refused: the number is then one less than it was. If the first one is, nothing has changed.
pub(super) fn renew(queue: &dyn QueueControl) -> Result<(), AttrError> {
    let state = queue.read();
    if state.effective("scheduler").as_deref() != Some("none") {
        return Ok(());
    }
    let Some(number) = state.number("nr_requests").filter(|n| *n > LEAST) else { return Ok(()) };
    match write_patiently(queue, "nr_requests", &(number - 1).to_string()) {
        Ok(()) => write_patiently(queue, "nr_requests", &number.to_string()),
        Err(_) => Ok(()),
    }
}
