//! NVMe multipath: the head that is shown and used may count nothing, its hidden paths do (`drivers/nvme/host/multipath.c`).
//!
//! A head that counts is believed alone; newer kernels account there (`nvme_mpath_start_request`), and then both have
//! the same I/O. One that stands still while its paths move gets their sum. It is judged anew in each interval, since
//! accounting on the head can be switched.

use std::collections::HashMap;

use super::delta::Delta;
use super::note::Note;
use super::rates::Rates;
use super::sample::RowKey;
use super::tracker::{DeviceRates, Frame};
use crate::sys::device::DevNum;
use crate::sys::name::KernelName;

/// The heads and their paths as of the last frame.
#[derive(Debug, Default)]
pub(super) struct Heads {
    paths: HashMap<KernelName, Vec<KernelName>>,
}

/// The rows of one head, as places in a frame.
#[derive(Debug, Default)]
struct Rows {
    head: Option<usize>,
    paths: Vec<usize>,
}

impl Heads {
    /// Gives each head of the frame its figures, and lists the paths. `instance` is that of a head without a row.
    pub(super) fn fold(&mut self, frame: &mut Frame, instance: impl Fn(&KernelName) -> u32) {
        let mut heads: Vec<(KernelName, Rows)> = Vec::new();
        let mut places: HashMap<KernelName, usize> = HashMap::new();
        for (i, d) in frame.devices.iter().enumerate() {
            let Some(head) = d.key.name.multipath_head() else { continue };
            let place = *places.entry(head.clone()).or_insert(heads.len());
            if place == heads.len() {
                heads.push((head, Rows::default()));
            }
            if let Some((_, rows)) = heads.get_mut(place) {
                rows.paths.push(i);
            }
        }
        if heads.is_empty() {
            self.paths.clear();
            return;
        }
        for (i, d) in frame.devices.iter().enumerate() {
            if let Some((_, rows)) = places.get(&d.key.name).and_then(|p| heads.get_mut(*p)) {
                rows.head.get_or_insert(i);
            }
        }
        let mut now = HashMap::new();
        for (head, rows) in heads {
            let names: Vec<KernelName> =
                rows.paths.iter().filter_map(|i| Some(frame.devices.get(*i)?.key.name.clone())).collect();
            let gone = self.paths.get(&head).is_some_and(|old| old.iter().any(|p| !names.contains(p)));
            give_figures(frame, &head, &rows, gone, &instance);
            frame.paths.push((head.clone(), names.clone()));
            now.insert(head, names);
        }
        self.paths = now;
    }
}

fn give_figures(
    frame: &mut Frame,
    head: &KernelName,
    rows: &Rows,
    path_gone: bool,
    instance: &dyn Fn(&KernelName) -> u32,
) {
    // A path that was away for a while has figures over another time than the rest.
    let paths = || rows.paths.iter().filter_map(|i| frame.devices.get(*i));
    let known = |d: &DeviceRates| d.delta.filter(|_| Some(d.rates.interval) == frame.interval);
    let sum: Option<Delta> = paths().filter_map(known).reduce(|a, b| a.beside(&b));
    let part = frame.interval.is_some() && paths().any(|d| known(d).is_none());
    let Some(place) = rows.head else {
        let made = without_row(frame, head, sum, part, path_gone);
        frame.devices.push(DeviceRates { instance: instance(head), ..made });
        return;
    };
    let Some(d) = frame.devices.get(place) else { return };
    // New, or first, or time went back: whether it counts is not known.
    let counts = d.new || d.delta.is_some_and(|own| !own.stands_still());
    if counts {
        return;
    }
    let moved = sum.filter(|s| !s.stands_still());
    if moved.is_none() && !part {
        return;
    }
    let Some(d) = frame.devices.get_mut(place) else { return };
    let Some((sum, interval)) = moved.zip(frame.interval) else {
        // Its own standstill says nothing, and what the new path did is not known.
        let mut notes = std::mem::take(&mut d.rates.notes);
        notes.push(Note::PathNew);
        d.rates = Rates::unknown(d.rates.interval, notes);
        d.delta = None;
        return;
    };
    let mut rates = Rates::of(&sum, interval);
    let mut notes = vec![Note::FromPaths];
    notes.extend(d.rates.notes.drain(..).filter(|n| matches!(n, Note::Suspended(_))));
    notes.append(&mut rates.notes);
    notes.extend(part.then_some(Note::PathNew));
    notes.extend(path_gone.then_some(Note::PathGone));
    d.rates = Rates { notes, ..rates };
    d.delta = Some(sum);
    forget_slices(frame, head, place);
}

/// The partitions of a head whose I/O is counted on paths stand still whatever is done to them.
fn forget_slices(frame: &mut Frame, head: &KernelName, place: usize) {
    let slices = frame.devices.iter_mut().skip(place + 1);
    for slice in slices.take_while(|d| d.key.name.could_be_partition_of(head)) {
        if slice.delta.is_some_and(|own| own.stands_still()) {
            slice.delta = None;
            slice.rates = Rates::unknown(slice.rates.interval, vec![Note::CountedOnPaths]);
        }
    }
}

/// A head that the file lacks, made of its paths. Its number is not in the file either; 0:0 is nobody's.
fn without_row(
    frame: &Frame,
    head: &KernelName,
    sum: Option<Delta>,
    part: bool,
    path_gone: bool,
) -> DeviceRates {
    let (rates, delta) = match (sum, frame.interval) {
        (Some(sum), Some(interval)) => (Rates::of(&sum, interval), Some(sum)),
        _ => (Rates::default(), None),
    };
    let notes = [
        Some(Note::FromPaths),
        Some(Note::NoRow),
        (part && delta.is_some()).then_some(Note::PathNew),
        path_gone.then_some(Note::PathGone),
    ];
    let mut all: Vec<Note> = notes.into_iter().flatten().collect();
    all.extend(rates.notes.iter().copied());
    DeviceRates {
        key: RowKey { devnum: DevNum::NONE, name: head.clone() },
        instance: 1,
        new: delta.is_none(),
        rates: Rates { notes: all, ..rates },
        delta,
    }
}
