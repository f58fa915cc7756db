//! The devices the screen knows, each with what was learnt of it since the start.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::sys::chain;
use crate::sys::device::{DevNum, Device, DeviceId};
use crate::sys::name::KernelName;
use crate::sys::queue::QueueState;
use crate::telemetry::note::Note;
use crate::telemetry::rates::Rates;
use crate::telemetry::sample::RowKey;
use crate::telemetry::series::Series;
use crate::tuning::change::{ApplyReport, Outcome};
use crate::units::{Kib, Nanos};

use super::columns::{Cell, Subject};
use super::look::Then;
use super::mark::{Mark, Marks, What};
use super::order::Order;
use super::past::Moment;
use super::purpose::Purpose;

/// How long a device that went stays in the list, struck out.
pub const GONE_STAYS: Nanos = Nanos(10_000_000_000);

/// With more devices in use than this, only those that were looked at keep their past, and of them the last so many.
const PAST_FOR_ALL: usize = 64;

/// What this program left in a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) value: Option<String>,
    pub(super) before: Option<String>,
    pub(super) asked: bool,
    /// It is put back unless it is confirmed.
    pub(super) held: bool,
    /// It was held, and what it reads next tells whether it was put back.
    pub(super) over: bool,
}

/// Who changed a setting since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// This program, because it was asked to.
    Us,
    /// This program, and it is put back unless it is confirmed.
    Held,
    /// The kernel, as a side effect of a change made here.
    SideEffect,
    /// An experiment of this program, which puts it back.
    Experiment,
    /// Something else.
    Other,
}

/// A queue that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// When it began.
    pub since: Nanos,
    /// What for.
    pub purpose: Purpose,
    /// After this time it is put back unless it is confirmed; None if it is kept.
    pub revert_after: Option<Nanos>,
    /// The person no longer waits; it ends when the kernel lets go of it, with everything put back.
    pub given_up: bool,
}

/// One device with what was learnt of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The device as last seen.
    pub device: Device,
    /// When it was first missing; None while it is there.
    pub gone_since: Option<Nanos>,
    /// Rates of the newest sample; None before the first.
    pub rates: Option<Rates>,
    /// The same for its partitions.
    pub partition_rates: HashMap<KernelName, Rates>,
    /// The past, where it is kept.
    pub history: Option<Box<Series>>,
    /// The figures at the moment that is looked back to; None while there is no such moment.
    pub then: Option<Box<Then>>,
    /// What happened to it.
    pub marks: Marks,
    /// The queue as last read.
    pub queue: Option<QueueState>,
    /// The queue as first read: what `changed` is measured against.
    pub first_queue: Option<QueueState>,
    /// Values chosen and not written, by setting.
    pub staged: BTreeMap<String, String>,
    /// Being written right now.
    pub work: Option<Work>,
    /// When what was changed is put back unless it is confirmed, on `CLOCK_MONOTONIC`; None if all is kept.
    pub held: Option<Nanos>,
    /// An experiment of this program goes on with it.
    pub experimented: bool,
    pub(super) left: BTreeMap<String, Left>,
    /// The queue before the changes that are being written, read while they are: whose they are is known after it.
    /// Of an experiment, what it began with.
    pub(super) before_work: Option<QueueState>,
    /// Who finally uses it, in few words: `crypt > vg0 > /`.
    users: String,
    /// The same of its partitions, in their order.
    partition_users: Vec<String>,
    /// It came with the last inventory, and is not marked as new yet.
    came: bool,
    /// What the last sample noted.
    pub(super) noted: Vec<Note>,
}

impl Entry {
    fn new(device: Device) -> Self {
        Self {
            device,
            gone_since: None,
            rates: None,
            partition_rates: HashMap::new(),
            history: None,
            then: None,
            marks: Marks::default(),
            queue: None,
            first_queue: None,
            staged: BTreeMap::new(),
            work: None,
            held: None,
            experimented: false,
            left: BTreeMap::new(),
            before_work: None,
            users: String::new(),
            partition_users: Vec::new(),
            came: true,
            noted: Vec::new(),
        }
    }

    /// Whether it is there.
    #[must_use]
    pub fn live(&self) -> bool {
        self.gone_since.is_none()
    }

    /// It went: nothing of it moves any more, and nothing can be done to it.
    fn leave(&mut self, now: Nanos) {
        self.gone_since = Some(now);
        self.rates = None;
        self.partition_rates.clear();
        self.staged.clear();
        self.work = None;
        self.hold(None);
    }

    /// The figures to be shown: those of the newest sample, or of the moment that is looked back to.
    #[must_use]
    pub fn shown_rates(&self) -> Option<&Rates> {
        match &self.then {
            Some(then) => then.rates.as_ref(),
            None => self.rates.as_ref(),
        }
    }

    /// The same of one of its partitions.
    #[must_use]
    pub fn shown_partition_rates(&self, name: &KernelName) -> Option<&Rates> {
        self.then.as_ref().map_or(&self.partition_rates, |t| &t.partition_rates).get(name)
    }

    /// Who finally uses it, through everything that is stacked on it, in few words: `crypt > vg0 > /`.
    #[must_use]
    pub fn users(&self) -> &str {
        &self.users
    }

    /// The same of one of its partitions.
    #[must_use]
    pub fn partition_users(&self, name: &KernelName) -> &str {
        let place = self.device.partitions.iter().position(|p| p.name == *name);
        place.and_then(|i| self.partition_users.get(i)).map_or("", String::as_str)
    }

    /// Keeps the past from now on.
    pub fn keep_history(&mut self) {
        self.history.get_or_insert_default();
    }

    /// Takes in a reading of the queue. Staged values that the queue has by now are staged no longer.
    pub fn read_queue(&mut self, state: QueueState) {
        if self.first_queue.is_none() && !state.attributes.is_empty() {
            self.first_queue = Some(state.clone());
        }
        // The list shows four settings; a reading of the whole queue is newer than the inventory's.
        let list = &mut self.device.queue;
        list.scheduler = state.schedulers().or(list.scheduler.take());
        list.rotational = state.number("rotational").map(|v| v != 0).or(list.rotational);
        list.read_ahead = state.number("read_ahead_kb").map(Kib).or(list.read_ahead);
        list.nr_requests = state.number("nr_requests").or(list.nr_requests);
        self.queue = Some(state);
        // A level of an experiment is nobody's choice.
        if !self.experimented {
            self.settle_staged();
        }
    }

    /// Drops what is staged and need not be, or can not be any more. A tunable that is not there stays as long as a
    /// scheduler is staged that may bring it, and one that is there is made anew by a switch, whatever it reads now.
    fn settle_staged(&mut self) {
        let Some(state) = &self.queue else { return };
        let differs = |name: &str, value: &str| state.effective(name).as_deref() != Some(value);
        let switches = self.staged.get("scheduler").is_some_and(|s| differs("scheduler", s));
        self.staged.retain(|name, value| {
            (switches && name.starts_with("iosched/"))
                || (state.attributes.contains_key(name) && differs(name, value))
        });
    }

    /// Stages a value, or drops what is staged. With another scheduler go the tunables staged for the one before.
    pub fn stage(&mut self, name: &str, value: Option<String>) {
        if name == "scheduler"
            && let Some(state) = &self.queue
        {
            self.staged.retain(|n, _| state.attributes.contains_key(n));
        }
        match value {
            Some(value) => drop(self.staged.insert(name.to_owned(), value)),
            None => drop(self.staged.remove(name)),
        }
        self.settle_staged();
    }

    /// Changes are held until then; None: they were confirmed or put back.
    pub fn hold(&mut self, until: Option<Nanos>) {
        self.held = until;
        if until.is_none() {
            for left in self.left.values_mut() {
                left.over = left.held;
                left.held = false;
            }
        }
    }

    /// Seconds until what is held is put back, the one that has begun included; None if nothing is held.
    #[must_use]
    pub fn held_for(&self, now: Nanos) -> Option<u64> {
        Some(self.held?.since(now).0.div_ceil(Nanos::SECOND.0))
    }

    /// Whether this program was asked to write a setting and did.
    #[must_use]
    pub fn wrote(&self, name: &str) -> bool {
        self.left.get(name).is_some_and(|l| l.asked)
    }

    /// Takes in what became of a set of changes; `held` if they are put back unless confirmed.
    pub fn took(&mut self, report: &ApplyReport, held: bool) {
        for c in &report.changes {
            self.staged.remove(&c.name);
            if matches!(c.outcome, Outcome::Applied | Outcome::Clamped) && !report.rolled_back {
                let (value, before) = (c.effective.clone(), c.before.clone());
                self.left.insert(c.name.clone(), Left { value, before, asked: true, held, over: false });
            }
        }
        for s in &report.side_effects {
            let (value, before) = (s.after.clone(), s.before.clone());
            self.left.insert(s.name.clone(), Left { value, before, asked: false, held, over: false });
        }
    }

    /// Who changed a setting since the start and what it read then; None if it reads what it read. A setting that
    /// came with another scheduler is new, not changed.
    #[must_use]
    pub fn changed(&self, name: &str) -> Option<(ChangedBy, String)> {
        let before = self.first_queue.as_ref()?.effective(name)?;
        let now = self.queue.as_ref()?.effective(name);
        if now.as_ref() == Some(&before) {
            return None;
        }
        let by = match self.left.get(name) {
            Some(left) if left.value == now && left.held && self.held.is_some() => ChangedBy::Held,
            Some(left) if left.value == now && left.asked => ChangedBy::Us,
            Some(left) if left.value == now => ChangedBy::SideEffect,
            _ if self.experimented => ChangedBy::Experiment,
            _ => ChangedBy::Other,
        };
        Some((by, before))
    }
}

/// All known devices, in the order of the list.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    known: bool,
    entries: Vec<Entry>,
    order: Order,
    /// The order is of figures that were not known yet when it was asked for.
    due: bool,
    revision: u64,
    /// The last that were looked at, the newest at the end.
    looked_at: VecDeque<DeviceId>,
}

impl Fleet {
    /// All, in the order of the list; those that just went included.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// Whether an inventory has come.
    #[must_use]
    pub const fn known(&self) -> bool {
        self.known
    }

    /// The order in force.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// Another one whenever there may be other devices, other facts about them, or another order. Figures and settings are
    /// no such facts.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// The device of this identity.
    #[must_use]
    pub fn get(&self, id: &DeviceId) -> Option<&Entry> {
        self.position(id).map(|i| &self.entries[i])
    }

    /// The device of this identity, to be changed.
    pub fn get_mut(&mut self, id: &DeviceId) -> Option<&mut Entry> {
        self.position(id).map(|i| &mut self.entries[i])
    }

    fn position(&self, id: &DeviceId) -> Option<usize> {
        // The live one first: after a replug without sequence numbers both could be meant.
        self.entries
            .iter()
            .position(|e| e.live() && e.device.id.same_device(id))
            .or_else(|| self.entries.iter().position(|e| e.device.id.same_device(id)))
    }

    /// The device that bears this name now.
    pub fn named_mut(&mut self, name: &KernelName) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.live() && e.device.name() == name)
    }

    /// Takes in a new inventory: known devices are brought up to date, new ones join, missing ones count as gone.
    /// The order on the screen does not change, but for newcomers.
    pub fn take_inventory(&mut self, devices: Vec<Device>, now: Nanos) {
        self.known = true;
        self.revision += 1;
        let same = self.known_as(&devices);
        let mut found = vec![false; self.entries.len()];
        let mut newcomers = Vec::new();
        for (device, same) in devices.into_iter().zip(same) {
            if let Some(i) = same {
                found[i] = true;
                self.entries[i].gone_since = None;
                self.entries[i].device = device;
            } else {
                newcomers.push(Entry::new(device));
            }
        }
        for (entry, found) in self.entries.iter_mut().zip(found) {
            if !found && entry.gone_since.is_none() {
                entry.leave(now);
            }
        }
        self.let_in(newcomers);
    }

    /// New devices join, and rows that follow a fact find their places.
    fn let_in(&mut self, newcomers: Vec<Entry>) {
        self.order.let_in(&mut self.entries, newcomers);
        if self.order.follow && self.order.column.column().constant() {
            self.order.sort(&mut self.entries);
        }
        self.follow_users();
    }

    /// Follows who uses each device and partition to the end of what is stacked on it.
    fn follow_users(&mut self) {
        let by_name: HashMap<&KernelName, &Device> =
            self.entries.iter().filter(|e| e.live()).map(|e| (e.device.name(), &e.device)).collect();
        let find = |name: &KernelName| by_name.get(name).copied();
        let users: Vec<(String, Vec<String>)> = self
            .entries
            .iter()
            .map(|e| {
                let of_partitions = e.device.partitions.iter().map(|p| chain::words(&p.used_by, &find));
                (chain::words(&e.device.used_by, &find), of_partitions.collect())
            })
            .collect();
        for (entry, (own, of_partitions)) in self.entries.iter_mut().zip(users) {
            (entry.users, entry.partition_users) = (own, of_partitions);
        }
    }

    /// The place of each of these devices, where it is known; none is two of them.
    fn known_as(&self, devices: &[Device]) -> Vec<Option<usize>> {
        let mut at: HashMap<&KernelName, Vec<usize>> = HashMap::with_capacity(self.entries.len());
        for (i, e) in self.entries.iter().enumerate() {
            at.entry(e.device.name()).or_default().push(i);
        }
        // One that was renamed keeps number and sequence number.
        let instance = |id: &DeviceId| Some((id.diskseq?, id.devnum?));
        let numbered: HashMap<(u64, DevNum), usize> =
            self.entries.iter().enumerate().filter_map(|(i, e)| Some((instance(&e.device.id)?, i))).collect();
        let mut taken = vec![false; self.entries.len()];
        let place = |device: &Device| {
            let renamed = instance(&device.id).and_then(|n| numbered.get(&n));
            let named = at.get(device.name()).into_iter().flatten();
            let found = named
                .chain(renamed)
                .copied()
                .find(|&i| !taken[i] && self.entries[i].device.id.same_device(&device.id))?;
            taken[found] = true;
            Some(found)
        };
        devices.iter().map(place).collect()
    }

    /// Marks the devices that came with the last inventory or reading as new; not those of the first.
    pub fn mark_newcomers(&mut self, seen: Option<Moment>) {
        for entry in self.entries.iter_mut().filter(|e| e.came) {
            entry.came = false;
            if let Some(seen) = seen {
                entry.marks.push(Mark { seen, what: What::Note(Note::NewDevice.to_string()) });
            }
        }
    }

    /// Takes in newer readings of some devices; the others are as they were. One of another identity under a known name
    /// has taken its place.
    pub fn take_readings(&mut self, devices: Vec<Device>, now: Nanos) {
        let mut by_name: HashMap<KernelName, Device> =
            devices.into_iter().map(|d| (d.name().clone(), d)).collect();
        let mut newcomers = Vec::new();
        for entry in self.entries.iter_mut().filter(|e| e.live()) {
            let Some(device) = by_name.remove(entry.device.name()) else { continue };
            if entry.device.id.same_device(&device.id) {
                entry.device = device;
            } else {
                entry.leave(now);
                newcomers.push(Entry::new(device));
            }
        }
        self.revision += 1;
        self.let_in(newcomers);
    }

    /// Drops devices that have been gone long enough; true if there were any.
    pub fn forget_gone(&mut self, now: Nanos) -> bool {
        let before = self.entries.len();
        self.entries.retain(|e| e.gone_since.is_none_or(|at| now.since(at) < GONE_STAYS));
        let forgot = self.entries.len() != before;
        self.revision += u64::from(forgot);
        forgot
    }

    /// A device is looked at: it keeps its past, also where there are too many for all to do so.
    pub fn look_at(&mut self, id: &DeviceId) {
        if self.looked_at.back() == Some(id) {
            return;
        }
        self.looked_at.retain(|known| known != id);
        self.looked_at.push_back(id.clone());
        if self.looked_at.len() > PAST_FOR_ALL
            && let Some(least) = self.looked_at.pop_front()
            && let Some(entry) = self.get_mut(&least)
        {
            entry.history = None;
        }
    }

    /// Starts the past of every device that is to have one.
    fn keep_pasts(&mut self) {
        // An unused device has no past worth the memory, unless somebody looks at it.
        let in_use = |e: &Entry| e.live() && !e.device.unused_or_uninteresting();
        if self.entries.iter().filter(|e| in_use(e)).count() <= PAST_FOR_ALL {
            self.entries.iter_mut().filter(|e| in_use(e)).for_each(Entry::keep_history);
        }
        if let Some(id) = self.looked_at.back().cloned()
            && let Some(entry) = self.get_mut(&id)
        {
            entry.keep_history();
        }
    }

    /// Takes in a sample's rates. Rows of devices that the inventory does not know yet are left out. `seen` is None for a
    /// sample that is no later than the one before: it is shown, and no part of the past.
    pub fn take_rates(&mut self, rows: Vec<(RowKey, Rates)>, seen: Option<Moment>) {
        self.keep_pasts();
        let (keys, mut rates): (Vec<RowKey>, Vec<_>) = rows.into_iter().map(|(k, r)| (k, Some(r))).unzip();
        let mut at: HashMap<&KernelName, Vec<usize>> = HashMap::with_capacity(keys.len());
        for (i, key) in keys.iter().enumerate() {
            at.entry(&key.name).or_default().push(i);
        }
        let mut of = |name: &KernelName, devnum: Option<DevNum>| {
            let mut places = at.get(name)?.iter();
            let fits = |n: DevNum| devnum.is_none_or(|d| d == n) || n == DevNum::NONE;
            let i = places.find(|&&i| rates[i].is_some() && fits(keys[i].devnum))?;
            rates[*i].take()
        };
        for entry in self.entries.iter_mut().filter(|e| e.live()) {
            let rates = of(entry.device.name(), entry.device.id.devnum);
            if let Some(seen) = seen {
                entry.mark_notes(rates.as_ref(), seen);
                if let Some(history) = &mut entry.history {
                    history.push(seen.at, rates.as_ref().unwrap_or(&Rates::default()));
                }
            }
            entry.rates = rates;
            entry.partition_rates.clear();
            for p in &entry.device.partitions {
                if let Some(rates) = of(&p.name, p.devnum) {
                    entry.partition_rates.insert(p.name.clone(), rates);
                }
            }
        }
        let column = self.order.column.column();
        let known = |e: &Entry| matches!(column.value(Subject::Device(e)), Cell::Number(_));
        if self.order.moves() || (self.due && self.entries.iter().any(known)) {
            self.put_in_order(self.order);
        }
    }

    /// Puts the list into an order. Later samples move rows only if they are to be followed.
    pub fn put_in_order(&mut self, order: Order) {
        self.order = order;
        self.order.sort(&mut self.entries);
        self.due = false;
        self.revision += 1;
    }

    /// The order of the last time, before anything is known: figures come with the samples.
    pub(super) fn order_at_start(&mut self, order: Order) {
        self.order = order;
        self.due = !order.column.column().constant();
    }
}
