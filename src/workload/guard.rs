//! What stands between a job that writes and a whole device.
//!
//! A device is written only if the command line names it, nothing uses it, and nothing known lies on it unless that is
//! named, too. One exclusive descriptor is held from the first look to the end of the run: no mount, swap, RAID or mapper
//! gets the device meanwhile, and every worker's descriptor is made from it, never from the path again. Right before the
//! first write everything is looked at once more.
//!
//! The guard itself reads only. Workers write, and when the last writable descriptor of a node is closed, udev has its
//! rules run for the device as if it had changed, which may put its settings back to those of the rules. A lock on the
//! node (`flock`), held for the run, makes udev wait until the guard is gone; it does not make it forget.

mod refusal;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Advice, FileType, Mode, OFlags, SeekFrom};
use rustix::io::Errno;

pub use refusal::Refusal;

use super::target::backing;
use crate::sys::attr::clean;
use crate::sys::device::{DevNum, Device, DeviceId, UsageKind};
use crate::sys::elsewhere::FIRST_PROCESS;
use crate::sys::flock::lock_within;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::signature::{self, Content, Opened};
use crate::sys::usage::{self, Users};
use crate::sys::{attr, inventory, loopdev, syscall};
use crate::units::Bytes;

/// How long a node that is merely open, or locked, is waited for: whoever reacts to a device that has come or changed
/// (udev) has it open for some milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks.
const POLL: Duration = Duration::from_millis(20);
/// Words of partition tables.
const TABLES: [&str; 9] = ["gpt", "dos", "PMBR", "sun", "sgi", "aix", "mac", "bsd", "amiga"];
/// The word for partitions that the kernel has without a table on the device (`addpart`).
const PARTITIONS: &str = "partitions";

/// Leave to write to one device, as the command line gives it. Nothing else makes one: no job, no configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arming {
    /// The kernel name that was typed.
    pub device: String,
    /// The signatures that may be destroyed, by word.
    pub destroy: Vec<String>,
}

/// Looks at who uses devices. The host's own in the program; tests have others.
type Look = fn(&SysRoot) -> Users;

/// A device that may be written to, as it was when that was found.
#[derive(Debug)]
pub struct Guard {
    root: SysRoot,
    users: Look,
    node: PathBuf,
    given: PathBuf,
    id: DeviceId,
    devnum: DevNum,
    size: Bytes,
    words: Vec<&'static str>,
    blank: bool,
    unseen: Vec<String>,
}

impl Guard {
    /// Judges the device behind `path`, a node or a link to one, and opens it for reading, exclusively.
    ///
    /// # Errors
    /// Why it may not be written to, and what to do.
    pub fn arm(root: &SysRoot, path: &Path, arming: &Arming) -> Result<(OwnedFd, Self), Refusal> {
        Self::arm_with(root, path, arming, Users::read)
    }

    fn arm_with(
        root: &SysRoot,
        path: &Path,
        arming: &Arming,
        users: Look,
    ) -> Result<(OwnedFd, Self), Refusal> {
        let given = show(path);
        let node = std::fs::canonicalize(path).map_err(|e| Refusal::Open(given.clone(), e))?;
        let shown = show(&node);
        let devnum = number_of(&node)
            .map_err(|e| Refusal::Open(shown.clone(), e))?
            .ok_or_else(|| Refusal::NoDevice(shown.clone(), arming.device.clone()))?;
        let name = whole_device(root, &node, devnum)?;
        if !name.is_spelled(&arming.device) {
            return Err(Refusal::OtherName { asked: clean(arming.device.as_bytes()), node: shown, name });
        }
        let id = inventory::identify(root, &name)
            .filter(|id| id.devnum == Some(devnum))
            .ok_or_else(|| Refusal::Disagree(shown.clone(), devnum))?;
        let mut guard = Self {
            root: root.clone(),
            users,
            node,
            given: path.to_path_buf(),
            id,
            devnum,
            size: Bytes(0),
            words: Vec::new(),
            blank: true,
            unseen: Vec::new(),
        };
        let device = guard.unused()?;
        let fd = guard.open()?;
        guard.size = size_of(&fd).map_err(|e| guard.unreadable(e))?;
        let content = guard.content(&fd)?;
        guard.words = words(&content, &device);
        guard.blank = content.blank;
        guard.may_be_destroyed(&arming.destroy, &device)?;
        Ok((fd, guard))
    }

    /// The device's kernel name.
    #[must_use]
    pub fn name(&self) -> &KernelName {
        &self.id.name
    }

    /// The node, links resolved.
    #[must_use]
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// What is about to happen to the device, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let node = show(&self.node);
        let link = if self.given == self.node { String::new() } else { format!(" ({})", show(&self.given)) };
        let what = match (self.words.as_slice(), self.blank) {
            ([], true) => "it is blank".to_owned(),
            ([], false) => "what it holds, data of no known kind, is destroyed".to_owned(),
            (words, _) => format!("its {} is destroyed", words.join(", ")),
        };
        let unseen = match self.unseen.as_slice() {
            [] => String::new(),
            who => format!("; {} can not be looked into, and is taken not to have it open", who.join(", ")),
        };
        format!("armed: {node}{link}, {} of {}, will be written to; {what}{unseen}", self.size, self.id.name)
    }

    /// Looks at everything again, through the descriptor that [`Guard::arm`] gave.
    ///
    /// # Errors
    /// What has changed, or come into use.
    pub fn check_again(&self, fd: &OwnedFd) -> Result<(), Refusal> {
        let changed = |what: &str| Refusal::Changed(show(&self.node), what.to_owned());
        match number_of(&self.node) {
            Ok(Some(number)) if number == self.devnum => {}
            Ok(Some(number)) => return Err(changed(&format!("its number is {number} now"))),
            Ok(None) => return Err(changed("it is no block device any more")),
            Err(e) => return Err(changed(&e.to_string())),
        }
        match inventory::identify(&self.root, &self.id.name) {
            Some(now) if now == self.id => {}
            Some(_) => return Err(changed("another device has its name now")),
            None => return Err(changed("it is gone")),
        }
        self.is_of_this_device(fd)?;
        if size_of(fd).map_err(|e| self.unreadable(e))? != self.size {
            return Err(changed("its size is another now"));
        }
        let device = self.unused()?;
        let content = self.content(fd)?;
        // What was armed may be gone: jobs that are measured alone first have written already.
        let new: Vec<&str> =
            words(&content, &device).into_iter().filter(|w| !self.words.contains(w)).collect();
        if !new.is_empty() {
            return Err(changed(&format!("{} is on it now", new.join(", "))));
        }
        Ok(())
    }

    /// Whether a descriptor is open on the very device that was judged: a number alone is used again.
    ///
    /// # Errors
    /// It is another one, or can not be asked.
    pub fn is_of_this_device(&self, fd: &OwnedFd) -> Result<(), Refusal> {
        let number = rustix::fs::fstat(fd).map_err(|e| self.unreadable(e))?.st_rdev;
        // Before Linux 5.15 there is no sequence number, in sysfs neither.
        let sequence = syscall::disk_sequence(fd.as_fd()).ok();
        let other = matches!((sequence, self.id.diskseq), (Some(a), Some(b)) if a != b);
        if DevNum::of_rdev(number) == self.devnum && !other {
            return Ok(());
        }
        Err(Refusal::Changed(show(&self.node), "another device has its place now".to_owned()))
    }

    /// Opens the node: exclusively, so that neither mount nor swap, RAID or mapper has or gets it, and no link.
    fn open(&self) -> Result<OwnedFd, Refusal> {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let shown = show(&self.node);
        let fd = match rustix::fs::open(&self.node, flags | OFlags::NOCTTY, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::BUSY) => return Err(Refusal::Exclusive(shown)),
            Err(e) => return Err(Refusal::Open(shown, e.into())),
        };
        self.is_of_this_device(&fd)?;
        match lock_within(&fd, PATIENCE) {
            Ok(()) => Ok(fd),
            Err(Errno::WOULDBLOCK) => Err(Refusal::Locked(shown)),
            Err(e) => Err(self.unreadable(e)),
        }
    }

    /// The device, if it may be written and nothing uses it or any of its partitions.
    fn unused(&self) -> Result<Device, Refusal> {
        let end = Instant::now() + PATIENCE;
        loop {
            let users = (self.users)(&self.root);
            let device = inventory::read(&self.root, &self.id.name, &users)
                .ok_or_else(|| Refusal::Changed(show(&self.node), "it is gone".to_owned()))?;
            if device.read_only {
                return Err(Refusal::ReadOnly(show(&self.node)));
            }
            let (found, only_open) = self.uses(&device);
            if found.is_empty() {
                self.in_reach(&users)?;
                return Ok(device);
            }
            if !only_open || Instant::now() >= end {
                return Err(Refusal::InUse { name: self.id.name.clone(), uses: found });
            }
            std::thread::sleep(POLL);
        }
    }

    /// Every use in words, and whether all of them are open descriptors.
    fn uses(&self, device: &Device) -> (Vec<String>, bool) {
        let name = &self.id.name;
        let mut only_open = true;
        let mut words = Vec::new();
        let of_parts = device.partitions.iter().map(|p| (&p.name, &p.used_by));
        for (of, used_by) in std::iter::once((name, &device.used_by)).chain(of_parts) {
            for u in used_by {
                only_open &= u.kind == UsageKind::Open;
                words.push(match u.kind {
                    UsageKind::Mount => format!("{of} is mounted at {u}"),
                    UsageKind::Holder => format!("{of} is held by {u}"),
                    UsageKind::Loop => format!("{of} {u}"),
                    UsageKind::Swap | UsageKind::Open => format!("{of} is {u}"),
                });
            }
        }
        let numbers: Vec<(&KernelName, DevNum)> = std::iter::once((name, self.devnum))
            .chain(device.partitions.iter().filter_map(|p| Some((&p.name, p.devnum?))))
            .collect();
        for (of, loop_name) in self.loops_over(&numbers) {
            let text = format!("{of} backs {loop_name}");
            if !words.iter().any(|w| w.starts_with(&text)) {
                only_open = false;
                words.push(text);
            }
        }
        (words, only_open)
    }

    /// Loop devices whose backing file is one of these devices, by whatever node it was opened.
    fn loops_over<'a>(&self, numbers: &[(&'a KernelName, DevNum)]) -> Vec<(&'a KernelName, KernelName)> {
        if !self.root.is_live() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (name, file) in usage::loop_files(&self.root) {
            // Most have a plain file, which need not be asked.
            let plain = rustix::fs::lstat(&file)
                .is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile);
            if name == self.id.name || plain {
                continue;
            }
            if let Ok(Some(number)) = loopdev::backing_device(&self.root, &name)
                && let Some((of, _)) = numbers.iter().find(|(_, n)| *n == number)
            {
                found.push((*of, name));
            }
        }
        found
    }

    /// What can not be looked at counts as use, but for the first process.
    fn in_reach(&self, users: &Users) -> Result<(), Refusal> {
        if users.complete() {
            return Ok(());
        }
        let others = users.out_of_reach().iter().filter(|(pid, _)| *pid != FIRST_PROCESS);
        Err(Refusal::OutOfReach { name: self.id.name.clone(), who: others.map(process).collect() })
    }

    fn content(&self, fd: &OwnedFd) -> Result<Content, Refusal> {
        // What is in memory may be older than what another host wrote.
        let _ = rustix::fs::fadvise(fd, 0, None, Advice::DontNeed);
        signature::look(&Opened { fd: fd.as_fd(), size: self.size.0 })
            .map_err(|e| Refusal::Unreadable(show(&self.node), e))
    }

    /// What is on it has to be named, all of it and nothing else.
    fn may_be_destroyed(&mut self, destroy: &[String], device: &Device) -> Result<(), Refusal> {
        let node = show(&self.node);
        if let Some(absent) = destroy.iter().find(|d| !self.words.contains(&d.as_str())) {
            return Err(Refusal::NotThere {
                node,
                asked: clean(absent.as_bytes()),
                found: self.words.clone(),
            });
        }
        if !self.words.iter().all(|w| destroy.iter().any(|d| d == w)) {
            let partitions = device.partitions.iter().map(|p| p.name.clone()).collect();
            let name = self.id.name.clone();
            return Err(Refusal::Signature { node, name, words: self.words.clone(), partitions });
        }
        self.unseen = (self.users)(&self.root).out_of_reach().iter().map(process).collect();
        Ok(())
    }

    fn unreadable(&self, e: Errno) -> Refusal {
        Refusal::Unreadable(show(&self.node), e.into())
    }
}

/// The whole device of a node, by number.
fn whole_device(root: &SysRoot, node: &Path, devnum: DevNum) -> Result<KernelName, Refusal> {
    let shown = show(node);
    let dev = std::fs::canonicalize(root.dev_dir()).unwrap_or_else(|_| root.dev_dir());
    let Ok(below) = node.strip_prefix(&dev) else { return Err(Refusal::Elsewhere(shown)) };
    let found = backing(root, devnum).ok_or_else(|| Refusal::Disagree(shown.clone(), devnum))?;
    // A node that bears the name of one device and the number of another.
    let named = below.to_str().and_then(KernelName::new).filter(|n| root.class_block(n).exists());
    if named.is_some_and(|n| n != found.row) {
        return Err(Refusal::Disagree(shown, devnum));
    }
    if let Some(head) = inventory::head_of_hidden(root, &found.whole) {
        return Err(Refusal::Hidden(found.whole, head));
    }
    if found.row != found.whole {
        return Err(Refusal::Partition(found.row, found.whole));
    }
    Ok(found.whole)
}

/// The number of a node, links not followed; None if it is no block device.
fn number_of(node: &Path) -> std::io::Result<Option<DevNum>> {
    let stat = rustix::fs::lstat(node)?;
    let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
    Ok(is_device.then(|| DevNum::of_rdev(stat.st_rdev)))
}

fn size_of(fd: &OwnedFd) -> Result<Bytes, Errno> {
    rustix::fs::seek(fd, SeekFrom::End(0)).map(Bytes)
}

/// The words of what is on a device; partitions that the kernel has count even if no table is found.
fn words(content: &Content, device: &Device) -> Vec<&'static str> {
    let mut words = content.words();
    if !device.partitions.is_empty() && !words.iter().any(|w| TABLES.contains(w)) {
        words.push(PARTITIONS);
    }
    words
}

fn process((pid, name): &(u32, String)) -> String {
    format!("process {pid} ({name})")
}

fn show(path: &Path) -> String {
    attr::clean(path.as_os_str().as_encoded_bytes())
}
