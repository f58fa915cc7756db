//! Screen 1: the devices as a tree, chosen by identity.

use crate::sys::device::{DeviceId, Partition};
use crate::sys::name::KernelName;

use crate::app::columns::{self, ColumnId, Subject, window};
use crate::app::fleet::{Entry, Fleet};
use crate::app::listing::{Folds, Listing};
use crate::app::model::Model;

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
    /// What is listed besides what always is.
    pub folds: Folds,
    /// Chosen as soon as it appears.
    pub choose: Option<KernelName>,
    /// The columns behind the name, in order; None: the default ones.
    pub columns: Option<Vec<ColumnId>>,
    /// So many of them are scrolled out at the left.
    pub scrolled: usize,
    /// Devices that the filter leaves out.
    pub hidden: usize,
    pub(crate) listing: Listing,
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

impl<'a> Row<'a> {
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
    pub const fn subject(&self) -> Option<Subject<'a>> {
        match self {
            Row::Device { entry, .. } => Some(Subject::Device(entry)),
            Row::Partition { entry, partition, .. } => Some(Subject::Partition(entry, partition)),
            Row::Unused { .. } => None,
        }
    }
}

/// The rows of the list, in order: each device followed by its partitions and by what is built on them. As of the last
/// message.
#[must_use]
pub fn rows<'a>(fleet: &'a Fleet, screen: &DevicesScreen) -> Vec<Row<'a>> {
    screen.listing.rows(fleet)
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

/// Whether there are paths to be shown.
///
/// # Errors
/// That there are none.
pub fn can_show_paths(model: &Model) -> Result<(), String> {
    let multipath = model.fleet.entries().iter().any(|e| e.live() && e.device.hidden);
    multipath.then_some(()).ok_or_else(|| "no device here has hidden paths".to_owned())
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
    let screen = &mut model.devices;
    screen.listing.refresh(&model.fleet, &screen.filter, screen.folds);
    let screen = &model.devices;
    let rows = rows(&model.fleet, screen);
    let wished = screen.choose.as_ref().and_then(|name| {
        rows.iter().position(|r| match r {
            Row::Device { entry, .. } => entry.device.name() == name,
            Row::Partition { partition, .. } => partition.name == *name,
            Row::Unused { .. } => false,
        })
    });
    // Mostly it is where it was.
    let kept = screen.chosen.as_ref().and_then(|c| match rows.get(screen.row) {
        Some(row) if row.is(c) => Some(screen.row),
        _ => rows.iter().position(|r| r.is(c)),
    });
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
