//! An inventory that is kept and brought up to date in parts: names at once, whole readings of those asked for, the rest in
//! turn. With thousands of devices reading everything takes seconds; names alone take milliseconds.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;

use super::device::{Device, Reading};
use super::inventory::{self, PathsByHead};
use super::name::{KernelName, natural_order};
use super::root::SysRoot;
use super::usage::{LoopFile, Users};

/// The devices known, in natural order, each as last read.
#[derive(Clone, Debug)]
pub struct Inventory {
    root: SysRoot,
    devices: Vec<Device>,
    at: HashMap<KernelName, usize>,
    paths: PathsByHead,
    /// Those of which no more than a sketch is known; some may be gone by now.
    unread: VecDeque<KernelName>,
    /// Where the round of re-reading goes on.
    turn: usize,
    /// Names that another device bears than before, or that are new.
    renewed: Vec<KernelName>,
}

/// What a look at the names found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Names that were not there before, as sketches now.
    pub joined: Vec<KernelName>,
    /// Names that are there no more.
    pub left: Vec<KernelName>,
}

impl Moved {
    /// Whether nothing came or went.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.left.is_empty()
    }
}

impl Inventory {
    /// Goes on from devices that were read or sketched before.
    #[must_use]
    pub fn of(root: SysRoot, devices: Vec<Device>) -> Self {
        let mut new = Self {
            root,
            devices,
            at: HashMap::new(),
            paths: PathsByHead::new(),
            unread: VecDeque::new(),
            turn: 0,
            renewed: Vec::new(),
        };
        new.put_in_order();
        new
    }

    /// All devices, in natural order.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// How many devices are known by their sketch alone.
    #[must_use]
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Looks at the names: one read of a directory, and of the newcomers what a sketch needs.
    ///
    /// # Errors
    /// `/sys/block` can not be read; then nothing is changed.
    pub fn refresh_names(&mut self) -> io::Result<Moved> {
        let now = inventory::unordered_names(&self.root)?;
        let joined = now.iter().filter(|n| !self.at.contains_key(*n)).cloned().collect();
        let mut moved = Moved { joined, left: Vec::new() };
        if now.len() != self.devices.len() + moved.joined.len() {
            let there: HashSet<&KernelName> = now.iter().collect();
            moved.left = self.at.keys().filter(|n| !there.contains(n)).cloned().collect();
        }
        if moved.is_empty() {
            return Ok(moved);
        }
        self.renewed.extend(moved.joined.iter().cloned());
        let left: HashSet<&KernelName> = moved.left.iter().collect();
        self.devices.retain(|d| !left.contains(d.name()));
        if !moved.joined.is_empty() {
            let listed = inventory::listed(&self.root);
            let new = moved.joined.iter().map(|n| inventory::sketch_of(&self.root, n.clone(), &listed));
            self.devices.extend(new);
        }
        self.put_in_order();
        Ok(moved)
    }

    /// Order, index and what follows from the names.
    fn put_in_order(&mut self) {
        // A few newcomers at the end of a list in order: the sort looks at each about once.
        self.devices.sort_by(|a, b| natural_order(a.name().sysfs(), b.name().sysfs()));
        self.at = self.devices.iter().enumerate().map(|(i, d)| (d.name().clone(), i)).collect();
        self.paths = inventory::paths_by_head(self.devices.iter().map(Device::name));
        let sketches = self.devices.iter().filter(|d| d.reading == Reading::Sketch);
        self.unread = sketches.map(|d| d.name().clone()).collect();
    }

    /// Reads these whole and gives those that are not as they were.
    pub fn read<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a KernelName>,
        users: &Users,
    ) -> Vec<Device> {
        names.into_iter().filter_map(|name| self.read_one(name, users)).collect()
    }

    /// The same for those of which there is no more than a sketch.
    pub fn read_sketches(&mut self, names: &[KernelName], users: &Users) -> Vec<Device> {
        let sketch =
            |n: &&KernelName| self.at.get(*n).is_some_and(|&i| self.devices[i].reading == Reading::Sketch);
        let names: Vec<&KernelName> = names.iter().filter(sketch).collect();
        self.read(names, users)
    }

    /// Reads everything whole; true if anything is not as it was. Devices that can not be read any more stay as they were
    /// until the next look at the names.
    pub fn read_all(&mut self, users: &Users) -> bool {
        let mut changed = false;
        for known in &mut self.devices {
            let read = inventory::read_device(&self.root, known.name(), users, &self.paths);
            if let Some(read) = read.filter(|read| read != known) {
                if !known.id.same_device(&read.id) {
                    self.renewed.push(read.name().clone());
                }
                *known = read;
                changed = true;
            }
        }
        self.unread.clear();
        changed
    }

    /// Reads as many as that whole, first those of which there is no more than a sketch, then the others in turn; gives
    /// those that are not as they were.
    pub fn read_next(&mut self, count: usize, users: &Users) -> Vec<Device> {
        let mut changed = Vec::new();
        for _ in 0..count.min(self.devices.len()) {
            let name = self.unread.pop_front().or_else(|| {
                self.turn = (self.turn + 1) % self.devices.len();
                Some(self.devices[self.turn].name().clone())
            });
            changed.extend(name.and_then(|name| self.read_one(&name, users)));
        }
        changed
    }

    fn read_one(&mut self, name: &KernelName, users: &Users) -> Option<Device> {
        let known = self.devices.get_mut(*self.at.get(name)?)?;
        let read = inventory::read_device(&self.root, name, users, &self.paths)?;
        if *known == read {
            return None;
        }
        if !known.id.same_device(&read.id) {
            self.renewed.push(name.clone());
        }
        known.clone_from(&read);
        Some(read)
    }

    /// The names that another device bears than before, or that are new, since this was last asked: what is remembered by
    /// name is no longer true of them.
    pub fn take_renewed(&mut self) -> Vec<KernelName> {
        std::mem::take(&mut self.renewed)
    }

    /// The bound loop devices that were read, with their files.
    #[must_use]
    pub fn loop_files(&self) -> Vec<LoopFile> {
        let file = |d: &Device| Some((d.name().clone(), d.backing_file.clone()?));
        self.devices.iter().filter_map(file).collect()
    }
}
