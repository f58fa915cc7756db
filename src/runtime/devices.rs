//! How much is read of which device at each poll: all of every device on an ordinary host; with thousands names at once,
//! what is shown each time, and the rest in turn within a share of a core.

use std::io;
use std::time::{Duration, Instant};

use crate::app::message::Message;
use crate::sys::device::Device;
use crate::sys::elsewhere::Elsewhere;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::staged::Inventory;
use crate::sys::usage::{self, Users};

/// Up to this many devices are read whole at every poll: 200 cost some 30 ms.
const FEW: usize = 200;
/// With more, re-reading what is not shown takes this share of a core at most.
const SHARE: f64 = 0.01;
/// Until every device was read once.
const FIRST_SHARE: f64 = 0.05;
/// A device takes about this long, until it was measured.
const USUAL: Duration = Duration::from_micros(150);

/// What is known before anything is drawn: everything of few devices, names and sizes of many. What other processes do
/// with them is seen later.
///
/// # Errors
/// `/sys/block` can not be read.
pub(super) fn first_look(root: &SysRoot) -> io::Result<Vec<Device>> {
    let names = inventory::names(root)?;
    if names.len() > FEW {
        return inventory::sketch(root);
    }
    let users = Users::with(root, &Elsewhere::default(), &usage::loop_files(root));
    inventory::scan_with(root, &users)
}

/// Devices and users as last read.
pub(super) struct DeviceWatch {
    root: SysRoot,
    inventory: Inventory,
    elsewhere: Elsewhere,
    users: Users,
    /// What one device takes to be read, on average of late.
    cost: Duration,
    /// When the last poll ended.
    polled: Instant,
}

/// What a poll found.
#[derive(Default)]
pub(super) struct Found {
    /// What the screen has to know.
    pub(super) news: Option<Message>,
    /// Devices came or went.
    pub(super) moved: bool,
    /// Names that another device bears than before.
    pub(super) renewed: Vec<KernelName>,
}

impl DeviceWatch {
    /// Goes on from the devices already shown.
    pub(super) fn new(root: SysRoot, devices: Vec<Device>) -> Self {
        let inventory = Inventory::of(root.clone(), devices);
        Self {
            root,
            inventory,
            elsewhere: Elsewhere::default(),
            users: Users::default(),
            cost: USUAL,
            polled: Instant::now(),
        }
    }

    /// Takes in what other processes were seen to do.
    pub(super) fn take(&mut self, elsewhere: Elsewhere) {
        self.elsewhere = elsewhere;
    }

    /// Reads those of which no more than a sketch is known, since they are shown from now on.
    pub(super) fn show(&mut self, names: &[KernelName]) -> Option<Message> {
        if self.inventory.unread() == 0 {
            return None;
        }
        let read = self.inventory.read_sketches(names, &self.users);
        (!read.is_empty()).then_some(Message::Readings(read))
    }

    /// Reads what is due; `shown` is read whole in any case.
    pub(super) fn poll(&mut self, shown: &[KernelName]) -> Found {
        let begin = Instant::now();
        // A tree that can not be read has no devices.
        let moved = match self.inventory.refresh_names() {
            Ok(moved) => !moved.is_empty(),
            Err(_) => !std::mem::replace(&mut self.inventory, Inventory::of(self.root.clone(), Vec::new()))
                .devices()
                .is_empty(),
        };
        let mut found = if self.inventory.devices().len() <= FEW {
            self.poll_all(moved)
        } else {
            self.poll_some(shown, moved, begin)
        };
        found.renewed = self.inventory.take_renewed();
        self.polled = Instant::now();
        found
    }

    fn poll_all(&mut self, moved: bool) -> Found {
        self.users = Users::with(&self.root, &self.elsewhere, &usage::loop_files(&self.root));
        let changed = self.inventory.read_all(&self.users);
        let news = (moved || changed).then(|| Message::Inventory(self.inventory.devices().to_vec()));
        Found { news, moved, ..Found::default() }
    }

    fn poll_some(&mut self, shown: &[KernelName], moved: bool, begin: Instant) -> Found {
        self.users = Users::with(&self.root, &self.elsewhere, &self.inventory.loop_files());
        let share = if self.inventory.unread() > 0 { FIRST_SHARE } else { SHARE };
        // What names and users took counts, what is shown does not.
        let budget = (begin - self.polled).mul_f64(share).saturating_sub(begin.elapsed());
        let mut changed = self.inventory.read(shown, &self.users);
        let count = budget.as_nanos() / self.cost.as_nanos().max(1);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.inventory.devices().len());
        let reading = Instant::now();
        changed.extend(self.inventory.read_next(count, &self.users));
        if let Ok(n @ 1..) = u32::try_from(count) {
            // A quarter of what was just seen: one slow read is not the rule.
            self.cost = (self.cost * 3 + reading.elapsed() / n) / 4;
        }
        let news = if moved {
            Some(Message::Inventory(self.inventory.devices().to_vec()))
        } else if changed.is_empty() {
            None
        } else {
            Some(Message::Readings(changed))
        };
        Found { news, moved, ..Found::default() }
    }
}
