//! Samples in, rates out: remembers the last sample, and which instance of a name it belonged to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::delta::{Delta, gauge};
use super::note::Note;
use super::paths::Heads;
use super::rates::{Rates, SHORTEST_INTERVAL};
use super::sample::{RowKey, Sample};
use crate::sys::device::DevNum;
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
    state: State,
}

/// What was last seen of it.
#[derive(Clone, Copy, Debug)]
struct State {
    counters: Counters,
    diskseq: Option<u64>,
    iostats_off: bool,
    instance: u32,
    at: Nanos,
}

type Facts = (Arc<HashMap<KernelName, u64>>, Arc<HashSet<KernelName>>);

/// What a row is compared with.
#[derive(Clone, Copy)]
struct Last<'a> {
    devnum: DevNum,
    state: &'a State,
    /// It was missing from the last sample.
    returned: bool,
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
    /// What the last sample said of its devices: while it is the same, it need not be looked up for each row.
    facts: Option<Facts>,
    /// The rows of the last sample, in its order.
    rows: Vec<Known>,
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
        let same_rows = self.rows.len() == sample.rows.len()
            && self.rows.iter().zip(&sample.rows).all(|(known, (key, _))| same_name(&known.key, key));
        let devices =
            if same_rows { self.in_place(sample, step) } else { self.with_changed_rows(sample, step) };
        if matches!(step, Step::Back) {
            // Of what is not there, times and sequence numbers of before mean nothing now; instances go on counting.
            for known in self.gone.values_mut() {
                known.state.diskseq = None;
            }
        }
        let interval = match step {
            Step::Forward { interval, .. } => Some(interval),
            Step::First | Step::Back => None,
        };
        let mut frame = Frame { monotonic: sample.monotonic, interval, devices, paths: Vec::new() };
        let gone = &self.gone;
        self.heads.fold(&mut frame, |head| gone.get(head).map_or(1, |known| known.state.instance));
        self.last = Some((sample.monotonic, sample.boot));
        self.facts = Some((Arc::clone(&sample.diskseq), Arc::clone(&sample.iostats_off)));
        Some(frame)
    }

    /// Where each row is where it was: nearly always.
    fn in_place(&mut self, sample: &Sample, step: Step) -> Vec<DeviceRates> {
        let same_facts = self.facts.as_ref().is_some_and(|(diskseq, iostats_off)| {
            Arc::ptr_eq(diskseq, &sample.diskseq) && Arc::ptr_eq(iostats_off, &sample.iostats_off)
        });
        let mut whole: Option<Whole<'_>> = None;
        let mut devices = Vec::with_capacity(sample.rows.len());
        for ((key, counters), known) in sample.rows.iter().zip(&mut self.rows) {
            let before = same_facts.then_some((known.state.diskseq, known.state.iostats_off));
            let owner = Whole::of(key, whole, || before.unwrap_or_else(|| facts_of(sample, &key.name)));
            whole = Some(owner);
            let mut now = owner.state(counters, sample.monotonic);
            let last = Last { devnum: known.key.devnum, state: &known.state, returned: false };
            devices.push(compare(key, Some(last), &mut now, step));
            known.state = now;
            if !known.key.name.shares_text(&key.name) || known.key.devnum != key.devnum {
                known.key = key.clone();
            }
        }
        devices
    }

    /// Where rows came, went or moved.
    fn with_changed_rows(&mut self, sample: &Sample, step: Step) -> Vec<DeviceRates> {
        let before = std::mem::take(&mut self.rows);
        let mut finder = Finder::new(&before);
        let mut whole: Option<Whole<'_>> = None;
        let mut devices = Vec::with_capacity(sample.rows.len());
        self.rows.reserve(sample.rows.len());
        for (key, counters) in &sample.rows {
            let owner = Whole::of(key, whole, || facts_of(sample, &key.name));
            whole = Some(owner);
            let mut now = owner.state(counters, sample.monotonic);
            let there = finder.find(key);
            let away = if there.is_none() { self.gone.remove(&key.name) } else { None };
            let last = there.or(away.as_ref()).map(|k| Last {
                devnum: k.key.devnum,
                state: &k.state,
                returned: away.is_some(),
            });
            devices.push(compare(key, last, &mut now, step));
            self.rows.push(Known { key: key.clone(), state: now });
        }
        let seen = finder.seen;
        let missing = before.into_iter().zip(seen).filter(|(_, seen)| !seen);
        self.gone.extend(missing.map(|(known, _)| (known.key.name.clone(), known)));
        devices
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
    /// The row in hand is one of its partitions, not itself.
    partition: bool,
    diskseq: Option<u64>,
    iostats_off: bool,
}

impl<'a> Whole<'a> {
    /// Of a row, `last` being that of the row before: the kernel lists a device's partitions right behind it.
    fn of(key: &'a RowKey, last: Option<Whole<'a>>, facts: impl FnOnce() -> (Option<u64>, bool)) -> Self {
        match last {
            Some(w) if key.name.could_be_partition_of(w.name) => Whole { partition: true, ..w },
            _ => {
                let (diskseq, iostats_off) = facts();
                Whole { name: &key.name, partition: false, diskseq, iostats_off }
            }
        }
    }

    /// What is seen of the row now. A partition's row has zeros for flushes, which are not counted for partitions
    /// (`Documentation/admin-guide/iostats.rst`, field 16).
    fn state(&self, counters: &Counters, at: Nanos) -> State {
        let flush = counters.flush.filter(|_| !self.partition);
        State {
            counters: Counters { flush, ..*counters },
            diskseq: self.diskseq,
            iostats_off: self.iostats_off,
            instance: 1,
            at,
        }
    }
}

/// The sequence number of a whole device, and whether its counters may stand still.
fn facts_of(sample: &Sample, name: &KernelName) -> (Option<u64>, bool) {
    (sample.diskseq.get(name).copied(), sample.iostats_off.contains(name))
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
fn compare(key: &RowKey, last: Option<Last<'_>>, now: &mut State, step: Step) -> DeviceRates {
    let Some(Last { devnum, state: last, returned }) = last else {
        let notes = if matches!(step, Step::First) { Vec::new() } else { vec![Note::NewDevice] };
        return unknown(key, now, notes);
    };
    let both_known = last.diskseq.is_some() && now.diskseq.is_some();
    let replaced = devnum != key.devnum || (both_known && last.diskseq != now.diskseq);
    // Of a row that was away, only the sequence number can say that it is still the same device's.
    let other = replaced || (returned && !both_known);
    let delta = if other { None } else { Delta::between(&last.counters, &now.counters) };
    let Some(delta) = delta else {
        now.instance = last.instance.saturating_add(1);
        let back = matches!(step, Step::Back).then_some(Note::TimeWentBack);
        let why = if both_known && !other { Note::CountersReset } else { Note::NewDevice };
        return unknown(key, now, back.into_iter().chain([why]).collect());
    };
    now.instance = last.instance;
    // What is not read at every sample stays as it was.
    now.diskseq = now.diskseq.or(last.diskseq);
    let suspended = match step {
        Step::Back => return unknown(key, now, vec![Note::TimeWentBack]),
        Step::Forward { suspended, .. } => suspended,
        Step::First => None,
    };
    let interval = now.at.since(last.at);
    let mut notes = Vec::new();
    if returned {
        notes.push(Note::BackAfter(interval));
    }
    notes.extend(suspended.map(Note::Suspended));
    if last.iostats_off != now.iostats_off {
        notes.push(Note::IostatsSwitched);
    }
    // With the flag off some drivers without a request queue count all the same (`bio_start_io_acct` in
    // `block/blk-core.c` does not ask), others do not: counters that move are believed, those that stand still are not.
    let known = !(last.iostats_off || now.iostats_off) || !delta.stands_still();
    if !known && now.iostats_off {
        notes.push(Note::IostatsOff);
    }
    let mut device = DeviceRates {
        key: key.clone(),
        instance: now.instance,
        new: false,
        rates: if known { Rates::of(&delta, interval) } else { Rates::unknown(interval, Vec::new()) },
        delta: known.then_some(delta),
    };
    if !notes.is_empty() {
        notes.append(&mut device.rates.notes);
        device.rates.notes = notes;
    }
    device
}

/// A row that nothing earlier can be compared with: without figures but what is in flight.
fn unknown(key: &RowKey, now: &State, notes: Vec<Note>) -> DeviceRates {
    let rates = Rates { in_flight: gauge(now.counters.in_flight), notes, ..Rates::default() };
    DeviceRates { key: key.clone(), instance: now.instance, new: true, rates, delta: None }
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
