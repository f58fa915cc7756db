//! What a device did between two rows: whole numbers, from which rates are made and which add up across devices.

use crate::sys::diskstats::{Counters, DirectionCounters, FlushCounters};

/// A 32-bit difference of this or more is a counter that stepped back, not one that moved forward: a glitch of a
/// kernel that counted the time in flight instead of summing it up at completion. In one second a sum moves by 1,000
/// a request in flight, so that this is far out of reach.
const HALF_RANGE: u32 = 1 << 31;

/// What one direction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionDelta {
    /// Completed requests.
    pub ios: u64,
    /// I/Os folded into a queued request.
    pub merges: u64,
    /// Data, in sectors of 512 bytes.
    pub sectors: u64,
    /// Time of the completed requests, ms; None if the counter stepped back.
    pub ms: Option<u64>,
}

/// What flushes did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushDelta {
    /// Completed flushes.
    pub ios: u64,
    /// Their time, ms; None if the counter stepped back.
    pub ms: Option<u64>,
}

/// What a device, or several at once, did between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Reads.
    pub read: DirectionDelta,
    /// Writes.
    pub write: DirectionDelta,
    /// Discards; None where the kernel does not count them.
    pub discard: Option<DirectionDelta>,
    /// Flushes; None where the kernel does not count them.
    pub flush: Option<FlushDelta>,
    /// Requests at the driver at the end; None for a value that can only be a glitch (below zero, printed unsigned).
    pub in_flight: Option<u32>,
    /// Time with something in flight, ms; None if the counter stepped back. Of several devices: that of the busiest,
    /// since how far they were busy at the same time is not known.
    pub busy_ms: Option<u64>,
    /// Sum of the time of all requests, ms; None if the counter stepped back.
    pub weighted_ms: Option<u64>,
}

impl Delta {
    /// From two rows of the same device instance. None if a count or an amount of data fell, which only another device
    /// or a reset does. Milliseconds may wrap and are taken modulo 2^32; the sum over all requests does so within hours
    /// at high depth, so that a smaller one never means another device.
    ///
    /// On 32-bit kernels counts wrap too. That is not told from a reset, and costs one interval.
    #[must_use]
    pub fn between(before: &Counters, after: &Counters) -> Option<Self> {
        Some(Self {
            read: direction(&before.read, &after.read)?,
            write: direction(&before.write, &after.write)?,
            discard: match (&before.discard, &after.discard) {
                (Some(b), Some(a)) => Some(direction(b, a)?),
                _ => None,
            },
            flush: match (&before.flush, &after.flush) {
                (Some(b), Some(a)) => Some(flush(*b, *a)?),
                _ => None,
            },
            in_flight: gauge(after.in_flight),
            busy_ms: ms_between(before.busy_ms, after.busy_ms),
            weighted_ms: ms_between(before.weighted_ms, after.weighted_ms),
        })
    }

    /// Whether nothing was completed.
    #[must_use]
    pub fn stands_still(&self) -> bool {
        let still = |d: &DirectionDelta| d.ios == 0 && d.merges == 0 && d.sectors == 0;
        still(&self.read)
            && still(&self.write)
            && self.discard.as_ref().is_none_or(still)
            && self.flush.is_none_or(|f| f.ios == 0)
    }

    /// Both at once: two devices over the same interval. What is unknown of one is unknown of both.
    #[must_use]
    pub fn beside(&self, other: &Delta) -> Delta {
        Delta {
            read: self.read.beside(&other.read),
            write: self.write.beside(&other.write),
            discard: both(self.discard, other.discard, |a, b| a.beside(&b)),
            flush: both(self.flush, other.flush, |a, b| FlushDelta {
                ios: a.ios.saturating_add(b.ios),
                ms: sum(a.ms, b.ms),
            }),
            in_flight: both(self.in_flight, other.in_flight, u32::saturating_add),
            busy_ms: both(self.busy_ms, other.busy_ms, u64::max),
            weighted_ms: sum(self.weighted_ms, other.weighted_ms),
        }
    }
}

impl DirectionDelta {
    fn beside(&self, other: &Self) -> Self {
        Self {
            ios: self.ios.saturating_add(other.ios),
            merges: self.merges.saturating_add(other.merges),
            sectors: self.sectors.saturating_add(other.sectors),
            ms: sum(self.ms, other.ms),
        }
    }
}

/// The gauge of requests in flight, unless it is a glitch: per-CPU counts that add up to less than zero.
#[must_use]
pub fn gauge(in_flight: u32) -> Option<u32> {
    (in_flight < HALF_RANGE).then_some(in_flight)
}

fn both<T>(a: Option<T>, b: Option<T>, f: impl FnOnce(T, T) -> T) -> Option<T> {
    a.zip(b).map(|(a, b)| f(a, b))
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    both(a, b, u64::saturating_add)
}

fn direction(before: &DirectionCounters, after: &DirectionCounters) -> Option<DirectionDelta> {
    Some(DirectionDelta {
        ios: after.ios.checked_sub(before.ios)?,
        merges: after.merges.checked_sub(before.merges)?,
        sectors: after.sectors.0.checked_sub(before.sectors.0)?,
        ms: ms_between(before.ms, after.ms),
    })
}

fn flush(before: FlushCounters, after: FlushCounters) -> Option<FlushDelta> {
    Some(FlushDelta { ios: after.ios.checked_sub(before.ios)?, ms: ms_between(before.ms, after.ms) })
}

/// A 32-bit millisecond counter's way forward; None if it stepped back.
fn ms_between(before: u32, after: u32) -> Option<u64> {
    Some(after.wrapping_sub(before)).filter(|d| *d < HALF_RANGE).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_direction() -> impl Strategy<Value = DirectionDelta> {
        (any::<u32>(), any::<u32>(), any::<u32>(), proptest::option::of(any::<u32>())).prop_map(
            |(i, m, s, ms)| DirectionDelta {
                ios: i.into(),
                merges: m.into(),
                sectors: s.into(),
                ms: ms.map(u64::from),
            },
        )
    }

    fn any_delta() -> impl Strategy<Value = Delta> {
        let parts = (any_direction(), any_direction(), proptest::option::of(any_direction()));
        let ms = proptest::collection::vec(proptest::option::of(any::<u32>()), 4);
        (parts, ms).prop_map(|((read, write, discard), ms)| Delta {
            read,
            write,
            discard,
            flush: ms[0].map(|ios| FlushDelta { ios: ios.into(), ms: ms[1].map(u64::from) }),
            in_flight: ms[1],
            busy_ms: ms[2].map(u64::from),
            weighted_ms: ms[3].map(u64::from),
        })
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_the_order(a in any_delta(), b in any_delta(), c in any_delta()) {
            prop_assert_eq!(a.beside(&b), b.beside(&a));
            prop_assert_eq!(a.beside(&b).beside(&c), a.beside(&b.beside(&c)));
            prop_assert_eq!(a.beside(&b).read.sectors, a.read.sectors + b.read.sectors);
        }
    }

    #[test]
    fn a_glitch_of_the_gauge_is_unknown() {
        assert_eq!((gauge(7), gauge(u32::MAX)), (Some(7), None));
    }

    #[test]
    fn anything_that_was_completed_is_no_standstill() {
        let read = DirectionDelta { ios: 1, ..DirectionDelta::default() };
        let still = Delta { discard: Some(DirectionDelta::default()), busy_ms: Some(4), ..Delta::default() };
        assert!(still.stands_still());
        for moved in [
            Delta { read, ..still },
            Delta { write: read, ..still },
            Delta { discard: Some(read), ..still },
            Delta { flush: Some(FlushDelta { ios: 1, ms: None }), ..still },
        ] {
            assert!(!moved.stands_still());
        }
    }
}
