//! Screen 1: the devices as a tree, chosen by identity.

use std::collections::HashMap;

use crate::sys::device::{DeviceId, Partition};
use crate::sys::name::KernelName;

use crate::app::columns::{self, ColumnId, Subject, window};
use crate::app::filter::Filter;
use crate::app::fleet::{Entry, Fleet};
use crate::app::model::Model;

pub use crate::app::columns::used_by_words;

/// What is chosen. Rows move, identities do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A whole device.
    Device(DeviceId),
    /// A partition of a device.
    Partition(DeviceId, KernelName),
    /// The line that stands for unused devices.
    Unused,
}

impl Chosen {
    /// Whether both mean the same thing, even if more is known of it by now.
    #[must_use]
    pub fn same(&self, other: &Chosen) -> bool {
        match (self, other) {
            (Chosen::Device(a), Chosen::Device(b)) => a.same_device(b),
            (Chosen::Partition(a, p), Chosen::Partition(b, q)) => a.same_device(b) && p == q,
            (Chosen::Unused, Chosen::Unused) => true,
            _ => false,
        }
    }
}

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct DevicesScreen {
    /// What is chosen; None only while there is nothing to choose.
    pub chosen: Option<Chosen>,
    /// First row shown.
    pub top: usize,
    /// The filter's text; empty for none.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// Unused devices are listed too.
    pub unfolded: bool,
    /// Chosen as soon as it appears.
    pub choose: Option<KernelName>,
    /// The columns behind the name, in order; None: the default ones.
    pub columns: Option<Vec<ColumnId>>,
    /// So many of them are scrolled out at the left.
    pub scrolled: usize,
    /// Devices that the filter leaves out.
    pub hidden: usize,
    pub(crate) row: usize,
}

impl DevicesScreen {
    /// The columns behind the name in a terminal of this width, in order.
    #[must_use]
    pub fn columns(&self, width: u16) -> &[ColumnId] {
        match &self.columns {
            Some(chosen) => chosen,
            None if width < 80 => columns::DEFAULT_NARROW,
            None => columns::DEFAULT,
        }
    }
}

/// A row of the list.
#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// A whole device.
    Device {
        /// The device.
        entry: &'a Entry,
        /// How deep in the tree.
        depth: usize,
    },
    /// A partition.
    Partition {
        /// Its device.
        entry: &'a Entry,
        /// The partition.
        partition: &'a Partition,
        /// How deep in the tree.
        depth: usize,
    },
    /// The line that stands for unused devices, or heads them when unfolded.
    Unused {
        /// How many.
        count: usize,
        /// `loop devices`, or `devices` if of several kinds.
        noun: &'static str,
    },
}

impl Row<'_> {
    /// What choosing it chooses.
    #[must_use]
    pub fn chosen(&self) -> Chosen {
        match self {
            Row::Device { entry, .. } => Chosen::Device(entry.device.id.clone()),
            Row::Partition { entry, partition, .. } => {
                Chosen::Partition(entry.device.id.clone(), partition.name.clone())
            }
            Row::Unused { .. } => Chosen::Unused,
        }
    }

    /// Whether it is this choice; compares without copying.
    #[must_use]
    pub fn is(&self, chosen: &Chosen) -> bool {
        match (self, chosen) {
            (Row::Device { entry, .. }, Chosen::Device(id)) => entry.device.id.same_device(id),
            (Row::Partition { entry, partition, .. }, Chosen::Partition(id, name)) => {
                entry.device.id.same_device(id) && partition.name == *name
            }
            (Row::Unused { .. }, Chosen::Unused) => true,
            _ => false,
        }
    }

    /// What its columns are about; None for the line that stands for others.
    #[must_use]
    pub const fn subject(&self) -> Option<Subject<'_>> {
        match self {
            Row::Device { entry, .. } => Some(Subject::Device(entry)),
            Row::Partition { entry, partition, .. } => Some(Subject::Partition(entry, partition)),
            Row::Unused { .. } => None,
        }
    }

    const fn depth(&self) -> usize {
        match self {
            Row::Device { depth, .. } | Row::Partition { depth, .. } => *depth,
            Row::Unused { .. } => 0,
        }
    }
}

/// The rows of the list, in order: each device followed by its partitions and by what is built on them.
#[must_use]
pub fn rows<'a>(fleet: &'a Fleet, screen: &DevicesScreen) -> Vec<Row<'a>> {
    let filter = Filter::parse(&screen.filter);
    // One that went is not worth a struck-out row if it was not worth one while it was there.
    let unused = |e: &Entry| e.device.unused_or_uninteresting();
    let shown: Vec<&Entry> = fleet.entries().iter().filter(|e| !unused(e)).collect();
    let mut out = tree(&shown);
    if !filter.is_empty() {
        out.extend(
            fleet
                .entries()
                .iter()
                .filter(|e| unused(e) && e.live())
                .map(|entry| Row::Device { entry, depth: 0 }),
        );
        return filtered(out, &filter);
    }
    let folded: Vec<&Entry> = fleet.entries().iter().filter(|e| unused(e) && e.live()).collect();
    if let Some(first) = folded.first() {
        let noun = noun_of(&folded, first);
        out.push(Row::Unused { count: folded.len(), noun });
        if screen.unfolded {
            out.extend(folded.into_iter().map(|entry| Row::Device { entry, depth: 1 }));
        }
    }
    out
}

fn noun_of(folded: &[&Entry], first: &Entry) -> &'static str {
    use crate::sys::device::Kind;
    let many = folded.len() > 1;
    if folded.iter().any(|e| e.device.kind != first.device.kind) {
        return "devices";
    }
    match (first.device.kind, many) {
        (Kind::Loop, true) => "loop devices",
        (Kind::Loop, false) => "loop device",
        (Kind::Zram, true) => "zram devices",
        (Kind::Zram, false) => "zram device",
        (Kind::Nbd, true) => "nbd devices",
        (Kind::Nbd, false) => "nbd device",
        (_, true) => "devices",
        (_, false) => "device",
    }
}

fn tree<'a>(shown: &[&'a Entry]) -> Vec<Row<'a>> {
    let mut owner: HashMap<&KernelName, usize> = HashMap::new();
    for (i, e) in shown.iter().enumerate().filter(|(_, e)| e.live()) {
        owner.insert(e.device.name(), i);
        for p in &e.device.partitions {
            owner.insert(&p.name, i);
        }
    }
    // What sits on a name, under the first of what it is built on.
    let mut above: HashMap<&KernelName, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (i, e) in shown.iter().enumerate() {
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

struct Walk<'a, 'b> {
    shown: &'b [&'a Entry],
    above: HashMap<&'a KernelName, Vec<usize>>,
    placed: Vec<bool>,
    out: Vec<Row<'a>>,
}

/// Deeper stacks are shown flat from here on: the kernel allows few levels, a captured tree any number.
const DEEPEST: usize = 8;

impl Walk<'_, '_> {
    fn place(&mut self, first: usize, depth: usize) {
        // An explicit stack, since the depth is data.
        let mut todo = vec![(Step::Device(first), depth)];
        while let Some((step, depth)) = todo.pop() {
            match step {
                Step::Device(i) => {
                    if std::mem::replace(&mut self.placed[i], true) {
                        continue;
                    }
                    let entry = self.shown[i];
                    self.out.push(Row::Device { entry, depth });
                    let below = (depth + 1).min(DEEPEST);
                    // Pushed in reverse, since the last pushed comes first.
                    todo.extend(self.on(entry.device.name()).map(|h| (Step::Device(h), below)));
                    if entry.live() {
                        todo.extend(
                            (0..entry.device.partitions.len()).rev().map(|p| (Step::Partition(i, p), below)),
                        );
                    }
                }
                Step::Partition(i, p) => {
                    let entry = self.shown[i];
                    let partition = &entry.device.partitions[p];
                    self.out.push(Row::Partition { entry, partition, depth });
                    let below = (depth + 1).min(DEEPEST);
                    todo.extend(self.on(&partition.name).map(|h| (Step::Device(h), below)));
                }
            }
        }
    }

    fn on(&self, name: &KernelName) -> impl Iterator<Item = usize> + use<> {
        self.above.get(name).cloned().unwrap_or_default().into_iter().rev()
    }
}

enum Step {
    Device(usize),
    Partition(usize, usize),
}

/// Rows that have what is asked for, and what they sit on.
fn filtered<'a>(rows: Vec<Row<'a>>, filter: &Filter) -> Vec<Row<'a>> {
    let mut out = Vec::new();
    let mut wanted_depth = None;
    for row in rows.into_iter().rev() {
        let wanted = wanted_depth == Some(row.depth());
        if wanted || row.subject().is_some_and(|of| filter.matches(of)) {
            wanted_depth = row.depth().checked_sub(1);
            out.push(row);
        }
    }
    out.reverse();
    out
}

/// The device that is meant by the choice: a partition's settings are its device's.
#[must_use]
pub fn chosen_device(model: &Model) -> Option<&Entry> {
    match model.devices.chosen.as_ref()? {
        Chosen::Device(id) | Chosen::Partition(id, _) => model.fleet.get(id),
        Chosen::Unused => None,
    }
}

/// Whether Enter leads somewhere from the choice.
///
/// # Errors
/// Why not.
pub fn can_open(model: &Model) -> Result<(), String> {
    match model.devices.chosen.as_ref() {
        None => Err("there is no device to open".to_owned()),
        Some(Chosen::Unused) if model.screen == crate::app::model::Screen::Devices => Ok(()),
        Some(Chosen::Unused) => Err("choose a device first".to_owned()),
        Some(Chosen::Device(id) | Chosen::Partition(id, _)) => match model.fleet.get(id) {
            Some(e) if e.live() => Ok(()),
            _ => Err(format!("{} is gone", id.name)),
        },
    }
}

/// How far the columns can be scrolled.
fn furthest(model: &Model) -> usize {
    let columns = model.devices.columns(model.width);
    window::furthest(columns, usize::from(model.width), model.fleet.order().followed())
}

/// Scrolls the columns by one.
pub fn scroll_sideways(model: &mut Model, right: bool) {
    let furthest = furthest(model);
    let screen = &mut model.devices;
    screen.scrolled =
        if right { screen.scrolled.saturating_add(1) } else { screen.scrolled.saturating_sub(1) };
    screen.scrolled = screen.scrolled.min(furthest);
}

/// Moves the choice by some rows.
pub fn move_by(model: &mut Model, by: isize) {
    let rows = rows(&model.fleet, &model.devices);
    let Some(last) = rows.len().checked_sub(1) else { return };
    let row = model.devices.row.saturating_add_signed(by).min(last);
    let chosen = rows[row].chosen();
    model.devices.row = row;
    model.devices.chosen = Some(chosen);
}

/// Puts the choice on a row that exists: the same thing if it is still listed, else what is near. Scrolls to it.
pub fn settle(model: &mut Model, height: usize) {
    let screen = &model.devices;
    let rows = rows(&model.fleet, screen);
    let wished = screen.choose.as_ref().and_then(|name| {
        rows.iter().position(|r| match r {
            Row::Device { entry, .. } => entry.device.name() == name,
            Row::Partition { partition, .. } => partition.name == *name,
            Row::Unused { .. } => false,
        })
    });
    let kept = screen.chosen.as_ref().and_then(|c| rows.iter().position(|r| r.is(c)));
    let row = wished.or(kept).unwrap_or(screen.row).min(rows.len().saturating_sub(1));
    let chosen = rows.get(row).map(Row::chosen);
    let count = rows.len();
    let listed = rows.iter().filter(|r| matches!(r, Row::Device { .. })).count();
    let hidden = if screen.filter.is_empty() { 0 } else { model.fleet.entries().len() - listed };
    let furthest = furthest(model);
    let screen = &mut model.devices;
    screen.hidden = hidden;
    screen.scrolled = screen.scrolled.min(furthest);
    if wished.is_some() {
        screen.choose = None;
    }
    screen.row = row;
    screen.chosen = chosen;
    screen.top = super::scrolled(screen.top, row, count, height);
}
