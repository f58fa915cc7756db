//! The rows of the list, kept from message to message: a tree of thousands of devices is not built anew for every key.

use std::collections::{HashMap, HashSet};

use super::filter::Filter;
use super::fleet::{Entry, Fleet};
use super::screens::devices::Row;
use crate::sys::device::Kind;
use crate::sys::name::KernelName;

/// A row, by places in the fleet.
#[derive(Clone, Copy, Debug)]
enum Place {
    Device { entry: usize, depth: usize },
    Partition { entry: usize, partition: usize, depth: usize },
    Unused { count: usize, noun: &'static str },
}

impl Place {
    /// The row; None only if the fleet is another than the one it was made of.
    fn row(self, fleet: &Fleet) -> Option<Row<'_>> {
        Some(match self {
            Place::Device { entry, depth } => Row::Device { entry: fleet.entries().get(entry)?, depth },
            Place::Partition { entry, partition, depth } => {
                let entry = fleet.entries().get(entry)?;
                Row::Partition { entry, partition: entry.device.partitions.get(partition)?, depth }
            }
            Place::Unused { count, noun } => Row::Unused { count, noun },
        })
    }

    const fn depth(self) -> usize {
        match self {
            Place::Device { depth, .. } | Place::Partition { depth, .. } => depth,
            Place::Unused { .. } => 0,
        }
    }
}

/// What is listed besides what always is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folds {
    /// Unused devices are.
    pub unused: bool,
    /// The paths of multipath heads are.
    pub paths: bool,
}

/// The rows as they are listed, and the tree that they are taken from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    /// Which devices in which order the tree is of.
    revision: u64,
    tree: Vec<Place>,
    /// Devices that are folded into one line.
    unused: Vec<usize>,
    /// The hidden paths of a multipath head, by the head.
    paths: HashMap<usize, Vec<usize>>,
    filter: String,
    folds: Folds,
    rows: Vec<Place>,
}

impl Listing {
    /// The rows, in order.
    pub(super) fn rows<'a>(&self, fleet: &'a Fleet) -> Vec<Row<'a>> {
        self.rows.iter().filter_map(|p| p.row(fleet)).collect()
    }

    /// Brings the rows up to date.
    pub(super) fn refresh(&mut self, fleet: &Fleet, filter: &str, folds: Folds) {
        let moved = self.revision != fleet.revision();
        if moved {
            self.revision = fleet.revision();
            self.plant(fleet);
        }
        // What a filter lets through may change with every figure and setting.
        if moved || !filter.is_empty() || self.filter != filter || self.folds != folds {
            filter.clone_into(&mut self.filter);
            self.folds = folds;
            self.list(fleet);
        }
    }

    fn plant(&mut self, fleet: &Fleet) {
        // One that went is not worth a struck-out row if it was not worth one while it was there.
        let unused = |e: &Entry| e.device.unused_or_uninteresting();
        let all = fleet.entries().iter().enumerate();
        let shown: Vec<(usize, &Entry)> = all.clone().filter(|(_, e)| !unused(e)).collect();
        self.tree = tree(&shown);
        let live: HashMap<&KernelName, usize> =
            all.clone().filter(|(_, e)| e.live()).map(|(i, e)| (e.device.name(), i)).collect();
        let hidden = |i: &usize| fleet.entries().get(*i).is_some_and(|e| e.device.hidden);
        self.paths = shown
            .iter()
            .filter(|(_, e)| e.live())
            .map(|(i, e)| {
                (*i, e.device.built_on.iter().filter_map(|n| live.get(n).copied()).filter(hidden).collect())
            })
            .filter(|(_, paths): &(usize, Vec<usize>)| !paths.is_empty())
            .collect();
        let of_a_head: HashSet<usize> = self.paths.values().flatten().copied().collect();
        let folded = |i: usize, e: &Entry| unused(e) && e.live() && !of_a_head.contains(&i);
        self.unused = all.filter(|(i, e)| folded(*i, e)).map(|(i, _)| i).collect();
    }

    /// The tree, the paths of each head behind it.
    fn with_paths(&self) -> Vec<Place> {
        let mut out = Vec::with_capacity(self.tree.len());
        for place in &self.tree {
            out.push(*place);
            if let Place::Device { entry, depth } = place
                && let Some(paths) = self.paths.get(entry)
            {
                let depth = (depth + 1).min(DEEPEST);
                out.extend(paths.iter().map(|&entry| Place::Device { entry, depth }));
            }
        }
        out
    }

    fn list(&mut self, fleet: &Fleet) {
        let filter = Filter::parse(&self.filter);
        let unused = |depth| self.unused.iter().map(move |&entry| Place::Device { entry, depth });
        if !self.filter.is_empty() {
            let all: Vec<Place> = self.with_paths().into_iter().chain(unused(0)).collect();
            self.rows = filtered(&all, fleet, &filter);
            return;
        }
        let mut rows = if self.folds.paths { self.with_paths() } else { self.tree.clone() };
        if let Some(noun) = noun_of(&self.unused, fleet) {
            rows.push(Place::Unused { count: self.unused.len(), noun });
            if self.folds.unused {
                rows.extend(unused(1));
            }
        }
        self.rows = rows;
    }
}

/// The word for folded devices; None if there are none.
fn noun_of(unused: &[usize], fleet: &Fleet) -> Option<&'static str> {
    let mut kinds = unused.iter().filter_map(|&i| fleet.entries().get(i)).map(|e| e.device.kind);
    let first = kinds.next()?;
    let many = unused.len() > 1;
    Some(match (first, many) {
        _ if kinds.any(|kind| kind != first) => "devices",
        (Kind::Loop, true) => "loop devices",
        (Kind::Loop, false) => "loop device",
        (Kind::Zram, true) => "zram devices",
        (Kind::Zram, false) => "zram device",
        (Kind::Nbd, true) => "nbd devices",
        (Kind::Nbd, false) => "nbd device",
        (_, true) => "devices",
        (_, false) => "device",
    })
}

/// Each device followed by its partitions and by what is built on them.
fn tree(shown: &[(usize, &Entry)]) -> Vec<Place> {
    let mut owner: HashMap<&KernelName, usize> = HashMap::with_capacity(2 * shown.len());
    for (i, (_, e)) in shown.iter().enumerate().filter(|(_, (_, e))| e.live()) {
        owner.insert(e.device.name(), i);
        for p in &e.device.partitions {
            owner.insert(&p.name, i);
        }
    }
    // What sits on a name, under the first of what it is built on.
    let mut above: HashMap<&KernelName, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (i, (_, e)) in shown.iter().enumerate() {
        let base = e.device.built_on.iter().find(|n| owner.get(n).is_some_and(|&o| o != i));
        match base {
            Some(base) if e.live() => above.entry(base).or_default().push(i),
            _ => roots.push(i),
        }
    }
    let mut walk = Walk { shown, above, placed: vec![false; shown.len()], out: Vec::new() };
    for i in roots {
        walk.place(i, 0);
    }
    // Devices in a ring, which no kernel makes but a captured tree might, are not under any root.
    for i in 0..shown.len() {
        walk.place(i, 0);
    }
    walk.out
}

struct Walk<'a> {
    shown: &'a [(usize, &'a Entry)],
    above: HashMap<&'a KernelName, Vec<usize>>,
    placed: Vec<bool>,
    out: Vec<Place>,
}

/// Deeper stacks are shown flat from here on: the kernel allows few levels, a captured tree any number.
const DEEPEST: usize = 8;

impl Walk<'_> {
    fn place(&mut self, first: usize, depth: usize) {
        // An explicit stack, since the depth is data.
        let mut todo = vec![(Step::Device(first), depth)];
        while let Some((step, depth)) = todo.pop() {
            let below = (depth + 1).min(DEEPEST);
            match step {
                Step::Device(i) => {
                    if std::mem::replace(&mut self.placed[i], true) {
                        continue;
                    }
                    let (place, entry) = self.shown[i];
                    self.out.push(Place::Device { entry: place, depth });
                    // Pushed in reverse, since the last pushed comes first.
                    todo.extend(self.on(entry.device.name()).map(|h| (Step::Device(h), below)));
                    if entry.live() {
                        todo.extend(
                            (0..entry.device.partitions.len()).rev().map(|p| (Step::Partition(i, p), below)),
                        );
                    }
                }
                Step::Partition(i, partition) => {
                    let (place, entry) = self.shown[i];
                    self.out.push(Place::Partition { entry: place, partition, depth });
                    let name = &entry.device.partitions[partition].name;
                    todo.extend(self.on(name).map(|h| (Step::Device(h), below)));
                }
            }
        }
    }

    fn on(&self, name: &KernelName) -> impl Iterator<Item = usize> {
        self.above.get(name).into_iter().flatten().copied().rev()
    }
}

enum Step {
    Device(usize),
    Partition(usize, usize),
}

/// Rows that have what is asked for, and what they sit on.
fn filtered(all: &[Place], fleet: &Fleet, filter: &Filter) -> Vec<Place> {
    let mut out = Vec::new();
    let mut wanted_depth = None;
    for place in all.iter().rev() {
        let matches = || {
            let row = place.row(fleet);
            row.and_then(|r| r.subject().map(|of| filter.matches(of))).unwrap_or(false)
        };
        if wanted_depth == Some(place.depth()) || matches() {
            wanted_depth = place.depth().checked_sub(1);
            out.push(*place);
        }
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::key::Key;
    use crate::app::message::{Message, When};
    use crate::app::model::{Model, Options};
    use crate::app::update::update;
    use crate::sys::device::{DevNum, Device, Partition, Usage};
    use crate::telemetry::rates::Rates;
    use crate::telemetry::sample::RowKey;
    use crate::units::{Bytes, Nanos};
    use proptest::prelude::*;

    fn number(minor: u32) -> DevNum {
        DevNum { major: 8, minor }
    }

    fn device(n: u32, (size, parts, on): (u64, u32, u32)) -> Device {
        let name = |text: String| KernelName::new(&text).unwrap();
        let partition = |p: u32| Partition {
            name: name(format!("d{n}p{p}")),
            path: String::new().into(),
            devnum: Some(number(16 * n + p)),
            number: p.into(),
            size: Bytes(size),
            used_by: Vec::<Usage>::new(),
        };
        let mut device = Device::sketch(name(format!("d{n}")));
        device.id.devnum = Some(number(16 * n));
        device.kind = if n.is_multiple_of(2) { Kind::Loop } else { Kind::Ssd };
        device.size = Bytes(size);
        device.built_on = if on == n { Vec::new() } else { vec![name(format!("d{on}"))] };
        device.partitions = (1..=parts).map(partition).collect();
        device
    }

    fn message() -> impl Strategy<Value = Vec<Message>> {
        let facts = || (0u64..3, 0u32..3, 0u32..8);
        let inventory = prop::collection::btree_map(0u32..8, facts(), 0..6)
            .prop_map(|all| vec![Message::Inventory(all.into_iter().map(|(n, f)| device(n, f)).collect())]);
        let readings = prop::collection::btree_map(0u32..8, facts(), 0..3)
            .prop_map(|all| vec![Message::Readings(all.into_iter().map(|(n, f)| device(n, f)).collect())]);
        let rates = prop::collection::vec(0.0..100.0, 8).prop_map(|all| {
            let row = |(n, v): (u32, f64)| {
                let key = RowKey { devnum: number(16 * n), name: KernelName::new(&format!("d{n}")).unwrap() };
                (key, Rates { busy_pct: Some(v), ..Rates::default() })
            };
            vec![Message::Rates {
                at: Nanos(0),
                when: When::default(),
                rows: (0..8).zip(all).map(row).collect(),
                total: None,
            }]
        });
        let tick = (0u64..60)
            .prop_map(|s| vec![Message::Tick { now: Nanos(s * 1_000_000_000), wall: String::new() }]);
        let words = prop::sample::select(vec![
            "/busy>50\n",
            "/d1\n",
            "\u{1b}",
            "\n",
            "G\n",
            "sf",
            "sjr\n",
            "sGkkf",
            "j",
        ]);
        let keys = words.prop_map(|text| {
            let key = |c| match c {
                '\n' => Key::Enter,
                '\u{1b}' => Key::Esc,
                c => Key::Char(c),
            };
            text.chars().map(|c| Message::Key(key(c))).collect()
        });
        prop_oneof![2 => inventory, 1 => readings, 2 => rates, 1 => tick, 3 => keys]
    }

    proptest! {
        #[test]
        fn the_rows_that_are_kept_are_those_that_would_be_made_now(all in prop::collection::vec(message(), 1..40)) {
            let mut model = Model::new(Options::default());
            for message in all.concat() {
                let _ = update(&mut model, message);
                let mut fresh = Listing { revision: u64::MAX, ..Listing::default() };
                fresh.refresh(&model.fleet, &model.devices.filter, model.devices.folds);
                let names = |listing: &Listing| format!("{:?}", listing.rows);
                prop_assert_eq!(names(&model.devices.listing), names(&fresh));
                prop_assert_eq!(fresh.rows(&model.fleet).len(), fresh.rows.len());
            }
        }
    }
}
