//! Samples in, rates out: remembers the last sample, and which instance of a name it belonged to.

use std::collections::HashMap;

use super::delta::{Delta, gauge};
use super::note::Note;
use super::paths::Heads;
use super::rates::{Rates, SHORTEST_INTERVAL};
use super::sample::{RowKey, Sample};
use crate::sys::diskstats::Counters;
use crate::sys::name::KernelName;
use crate::units::Nanos;

/// The two clocks are read one after the other, so they never agree to the last; a sleep is longer than this.
const SHORTEST_SLEEP: Nanos = Nanos(100_000_000);

/// One row of a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRates {
    /// Whose.
    pub key: RowKey,
    /// Counts the devices that had this name since the tracker began, from 1.
    pub instance: u32,
    /// Nothing earlier of this instance can be compared with, so all rates are unknown.
    pub new: bool,
    /// The figures.
    pub rates: Rates,
    /// What they were made of, for sums; None where the rates are unknown.
    pub delta: Option<Delta>,
}

/// All rows of one sample against the one before.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The sample's time.
    pub monotonic: Nanos,
    /// Since the sample before; None for the first, and where time went back.
    pub interval: Option<Nanos>,
    /// Rows in the order of the file. Heads of NVMe multipath devices that the file lacks come last.
    pub devices: Vec<DeviceRates>,
    /// Heads of NVMe multipath devices with the hidden paths that have a row.
    pub paths: Vec<(KernelName, Vec<KernelName>)>,
}

/// What is kept of a row.
#[derive(Debug)]
struct Known {
    key: RowKey,
    counters: Counters,
    diskseq: Option<u64>,
    iostats_off: bool,
    instance: u32,
    at: Nanos,
}

/// How a sample's time is related to the one before.
#[derive(Clone, Copy)]
enum Step {
    First,
    Forward { interval: Nanos, suspended: Option<Nanos> },
    Back,
}

/// Turns a succession of samples into frames of rates. Knows no clock: time comes from the samples.
#[derive(Debug, Default)]
pub struct RateTracker {
    last: Option<(Nanos, Option<Nanos>)>,
    /// The rows of the last sample, in its order.
    rows: Vec<Known>,
    /// Room for the next ones, kept so that 10,000 rows need no new memory each time.
    spare: Vec<Known>,
    /// Rows that are gone. The kernel gives the lowest free name to what comes, so that these are no more than the
    /// most devices there ever were at once.
    gone: HashMap<KernelName, Known>,
    heads: Heads,
}

impl RateTracker {
    /// The next frame. None if the sample is too close to the one before to say anything (see
    /// [`SHORTEST_INTERVAL`]): the caller keeps the former frame.
    pub fn next(&mut self, sample: &Sample) -> Option<Frame> {
        let step = self.step(sample)?;
        if matches!(step, Step::Back) {
            // Times and sequence numbers of before mean nothing now; instances go on counting.
            for known in self.gone.values_mut() {
                known.diskseq = None;
            }
        }
        let before = std::mem::take(&mut self.rows);
        let mut rows = std::mem::take(&mut self.spare);
        rows.clear();
        let mut finder = Finder::new(&before);
        let mut whole: Option<Whole<'_>> = None;
        let mut devices = Vec::with_capacity(sample.rows.len());
        for (key, counters) in &sample.rows {
            let owner = Whole::of(key, sample, whole);
            whole = Some(owner);
            let last = finder.find(key);
            let returned = if last.is_none() { self.gone.remove(&key.name) } else { None };
            let now = Known {
                key: key.clone(),
                counters: *counters,
                diskseq: owner.diskseq,
                iostats_off: owner.iostats_off,
                instance: 1,
                at: sample.monotonic,
            };
            let (known, device) = compare(last.or(returned.as_ref()), returned.is_some(), now, step);
            rows.push(known);
            devices.push(device);
        }
        let seen = finder.seen;
        let mut before = before;
        let missing = before.drain(..).zip(seen).filter(|(_, seen)| !seen);
        self.gone.extend(missing.map(|(known, _)| (known.key.name.clone(), known)));
        (self.rows, self.spare) = (rows, before);
        let interval = match step {
            Step::Forward { interval, .. } => Some(interval),
            Step::First | Step::Back => None,
        };
        let mut frame = Frame { monotonic: sample.monotonic, interval, devices, paths: Vec::new() };
        self.heads.fold(&mut frame);
        self.last = Some((sample.monotonic, sample.boot));
        Some(frame)
    }

    fn step(&self, sample: &Sample) -> Option<Step> {
        let Some((monotonic, boot)) = self.last else { return Some(Step::First) };
        if sample.monotonic < monotonic {
            return Some(Step::Back);
        }
        let interval = sample.monotonic.since(monotonic);
        // Time asleep since boot: it never shrinks, but with another boot.
        let asleep = |boot: Nanos, monotonic: Nanos| i128::from(boot.0) - i128::from(monotonic.0);
        let slept = boot
            .zip(sample.boot)
            .map(|(before, after)| asleep(after, sample.monotonic) - asleep(before, monotonic));
        let shortest = i128::from(SHORTEST_SLEEP.0);
        if slept.is_some_and(|t| t <= -shortest) {
            return Some(Step::Back);
        }
        if interval < SHORTEST_INTERVAL {
            return None;
        }
        let suspended = slept.filter(|t| *t >= shortest).and_then(|t| u64::try_from(t).ok()).map(Nanos);
        Some(Step::Forward { interval, suspended })
    }
}

/// The whole device of a row, and what is known of it.
#[derive(Clone, Copy)]
struct Whole<'a> {
    name: &'a KernelName,
    diskseq: Option<u64>,
    iostats_off: bool,
}

impl<'a> Whole<'a> {
    /// Of a row, `last` being that of the row before: the kernel lists a device's partitions right behind it.
    fn of(key: &'a RowKey, sample: &'a Sample, last: Option<Whole<'a>>) -> Self {
        last.filter(|w| key.name.could_be_partition_of(w.name)).unwrap_or_else(|| Whole {
            name: &key.name,
            diskseq: sample.diskseq.get(&key.name).copied(),
            iostats_off: sample.iostats_off.contains(&key.name),
        })
    }
}

/// Looks rows up among those of the last sample, walking along with them: most often each is where it was.
struct Finder<'a> {
    before: &'a [Known],
    seen: Vec<bool>,
    next: usize,
    places: Option<HashMap<&'a KernelName, usize>>,
}

impl<'a> Finder<'a> {
    fn new(before: &'a [Known]) -> Self {
        Self { before, seen: vec![false; before.len()], next: 0, places: None }
    }

    fn find(&mut self, key: &RowKey) -> Option<&'a Known> {
        let before = self.before;
        let here = before.get(self.next).filter(|k| same_name(&k.key, key)).map(|_| self.next);
        let place = here.or_else(|| {
            let table = || before.iter().enumerate().map(|(i, k)| (&k.key.name, i)).collect();
            self.places.get_or_insert_with(table).get(&key.name).copied()
        })?;
        self.next = place + 1;
        *self.seen.get_mut(place)? = true;
        before.get(place)
    }
}

fn same_name(a: &RowKey, b: &RowKey) -> bool {
    a.name.shares_text(&b.name) || a.name == b.name
}

/// A row against what was known of its name.
fn compare(last: Option<&Known>, returned: bool, mut now: Known, step: Step) -> (Known, DeviceRates) {
    let Some(last) = last else {
        let notes = if matches!(step, Step::First) { Vec::new() } else { vec![Note::NewDevice] };
        return unknown(now, true, notes);
    };
    let both_known = last.diskseq.is_some() && now.diskseq.is_some();
    let replaced = last.key.devnum != now.key.devnum || (both_known && last.diskseq != now.diskseq);
    // Of a row that was away, only the sequence number can say that it is still the same device's.
    let other = replaced || (returned && !both_known);
    let delta = if other { None } else { Delta::between(&last.counters, &now.counters) };
    now.instance = if delta.is_some() { last.instance } else { last.instance.saturating_add(1) };
    let changed = || if both_known && !other { Note::CountersReset } else { Note::NewDevice };
    let suspended = match (step, delta.is_some()) {
        (Step::Back, true) => return unknown(now, true, vec![Note::TimeWentBack]),
        (Step::Back, false) => return unknown(now, true, vec![Note::TimeWentBack, changed()]),
        (Step::Forward { suspended, .. }, _) => suspended,
        (Step::First, _) => None,
    };
    let Some(delta) = delta else {
        let note = changed();
        return unknown(now, true, vec![note]);
    };
    // What is not read at every sample stays as it was.
    now.diskseq = now.diskseq.or(last.diskseq);
    let interval = now.at.since(last.at);
    let mut notes = Vec::new();
    if returned {
        notes.push(Note::BackAfter(interval));
    }
    notes.extend(suspended.map(Note::Suspended));
    let off = (last.iostats_off, now.iostats_off);
    if off.0 != off.1 {
        notes.push(Note::IostatsSwitched);
    }
    // With the flag off some drivers without a request queue count all the same (`bio_start_io_acct` in
    // `block/blk-core.c` does not ask), others do not: counters that move are believed, those that stand still are not.
    if (off.0 || off.1) && delta.stands_still() {
        if off.1 {
            notes.push(Note::IostatsOff);
        }
        let mut row = unknown(now, false, Vec::new());
        row.1.rates = Rates::unknown(interval, notes);
        return row;
    }
    let mut rates = Rates::of(&delta, interval);
    if !notes.is_empty() {
        notes.append(&mut rates.notes);
        rates.notes = notes;
    }
    let device =
        DeviceRates { key: now.key.clone(), instance: now.instance, new: false, rates, delta: Some(delta) };
    (now, device)
}

/// A row without figures but what is in flight.
fn unknown(known: Known, new: bool, notes: Vec<Note>) -> (Known, DeviceRates) {
    let rates = Rates { in_flight: gauge(known.counters.in_flight), notes, ..Rates::default() };
    let device = DeviceRates { key: known.key.clone(), instance: known.instance, new, rates, delta: None };
    (known, device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, text: &str, diskseq: Option<u64>) -> Sample {
        let seqs =
            diskseq.map(|d| (crate::sys::name::KernelName::new("dm-3").unwrap(), d)).into_iter().collect();
        Sample::parse(Nanos(at * 1_000_000), None, text, seqs)
    }

    #[test]
    fn the_first_sample_is_unknown_not_zero() {
        let mut t = RateTracker::default();
        let f = t.next(&sample(0, "253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7", None)).unwrap();
        assert_eq!((f.interval, f.devices[0].new, f.devices[0].rates.read_iops), (None, true, None));
    }

    #[test]
    fn a_device_made_again_under_its_name_starts_anew() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 4210 0 336800 5120 9000 0 720000 8800 0 9100 13920 0 0 0 0 0 0", None))
            .unwrap();
        let f = t.next(&sample(1000, "253 3 dm-3 12 0 96 4 1 0 2048 3 0 6 7 0 0 0 0 0 0", None)).unwrap();
        assert_eq!((f.devices[0].new, f.devices[0].instance, f.devices[0].rates.read_iops), (true, 2, None));
        assert_eq!(f.devices[0].rates.notes, [Note::NewDevice]);
        let f =
            t.next(&sample(2000, "253 3 dm-3 112 0 25696 44 1 0 2048 3 0 56 47 0 0 0 0 0 0", None)).unwrap();
        let r = &f.devices[0].rates;
        assert_eq!((r.read_iops, r.read_bytes_per_s), (Some(100.0), Some(12.5 * 1_048_576.0)));
    }

    #[test]
    fn a_new_diskseq_is_a_new_device_even_if_its_counters_went_on() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 10 0 80 0 0 0 0 0 0 0 0", Some(15))).unwrap();
        let f = t.next(&sample(1000, "253 3 dm-3 20 0 160 0 0 0 0 0 0 0 0", Some(16))).unwrap();
        assert!(f.devices[0].new && f.devices[0].instance == 2);
    }

    #[test]
    fn a_zero_interval_computes_nothing_and_keeps_its_base() {
        let mut t = RateTracker::default();
        t.next(&sample(0, "253 3 dm-3 10 0 80 0 0 0 0 0 0 0 0", None)).unwrap();
        assert_eq!(t.next(&sample(0, "253 3 dm-3 11 0 88 0 0 0 0 0 0 0 0", None)), None);
        let f = t.next(&sample(1000, "253 3 dm-3 20 0 160 0 0 0 0 0 0 0 0", None)).unwrap();
        assert_eq!(f.devices[0].rates.read_iops, Some(10.0));
    }
}
