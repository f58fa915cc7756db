//! Loop devices of our own: made over a file that has no name, gone when we are.
//!
//! Three things leave nothing behind, whatever ends the program:
//! * The backing file never has a name (`O_TMPFILE`), or loses it before it is filled.
//! * `LO_FLAGS_AUTOCLEAR`: the kernel unbinds the device when the last descriptor is closed, kill -9 included.
//! * What then remains of a killed program is an unbound number in [`NUMBERS`]; the next creation removes it.
//!
//! Every device is a number of its own (`LOOP_CTL_ADD`), never one that `losetup -f` would hand out: a used number
//! keeps the last user's queue settings and counters, a new one has the driver's defaults.
//!
//! An added number is unbound until it is configured, so another process tidying up could take it for a left-over.
//! Adding with configuring, tidying, and unbinding with removing therefore each happen under an exclusive `flock` of
//! the loop control node, which the kernel releases with the process. systemd's loop code locks the same node. A process
//! that does not lock (another mount of devtmpfs, another program) can cost us the number at worst, and creation
//! then goes on with the next.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::attr;
use super::device::DevNum;
use super::flock::lock_within;
use super::name::KernelName;
use super::root::SysRoot;
use super::syscall::{LoopFlags, loop_add, loop_backing_rdev, loop_configure, loop_remove};

/// The numbers used here: above what `losetup -f` reaches on any host seen, and within the 4096 that the driver has
/// with `loop.max_part=255`. An unbound device in this range is taken for a left-over and removed.
pub const NUMBERS: Range<u32> = 3072..4096;

/// How long a node may take to appear, an unbound device to be let go by whoever still has it open.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long others may hold the lock: several of them may be removing busy devices one after another.
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks at something that has not happened yet.
const POLL: Duration = Duration::from_millis(2);
/// Where the search for a free number goes on. Not always from the first: a number that comes back at once is easily
/// taken for the device before it.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Why a loop device could not be made or removed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {doing}: {source}", path.display())]
pub struct LoopError {
    /// The file or node it is about.
    pub path: PathBuf,
    /// What was being done.
    pub doing: &'static str,
    /// The kernel's answer.
    pub source: io::Error,
}

impl LoopError {
    /// The errno, where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

/// What to make of a backing file.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopOptions {
    /// Logical block in bytes: a power of two from 512 to a page. None for the kernel's choice.
    pub logical_block: Option<u32>,
    /// Whether the driver goes past the page cache of the backing file; without effect where its file system can
    /// not (see [`LoopDevice::direct_io`]).
    pub direct_io: bool,
    /// Whether writes are refused.
    pub read_only: bool,
}

/// A loop device of our own. Dropped: unbound and removed, as far as others let go of it within two seconds.
#[derive(Debug)]
pub struct LoopDevice {
    number: u32,
    name: KernelName,
    backing: File,
    /// The descriptor that keeps the device bound; None once it is being removed. For reading only, so that our own
    /// guard does not look like somebody who writes to the device.
    held: Option<File>,
}

impl LoopDevice {
    /// Makes a device over a file, which it owns from now on (see [`super::scratch`] for one without a name).
    ///
    /// # Errors
    /// The file or node, what was being done, and the kernel's answer: EACCES or EPERM without root, ENOSPC, EINVAL
    /// for a block size the kernel does not take.
    pub fn over(backing: File, options: LoopOptions) -> Result<Self, LoopError> {
        let control = Control::lock()?;
        control.remove_left_overs();
        let count = NUMBERS.end - NUMBERS.start;
        for _ in 0..count {
            let step = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
            let number = NUMBERS.start + std::process::id().wrapping_mul(61).wrapping_add(step) % count;
            match loop_add(control.file.as_fd(), number) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => continue,
                added => added.map_err(at(&SysRoot::loop_control(), "adding a loop device"))?,
            }
            match bind(number, &backing, options) {
                Ok((name, held)) => return Ok(Self { number, name, backing, held: Some(held) }),
                Err(e) => {
                    // What is not removed now is so by a later creation; the first error is the one to tell.
                    let _ = control.remove(number);
                    // Somebody else bound or removed the number meanwhile: theirs now, the next one is ours.
                    if !matches!(e.errno(), Some(libc::EBUSY | libc::ENODEV | libc::ENXIO)) {
                        return Err(e);
                    }
                }
            }
        }
        Err(LoopError {
            path: SysRoot::loop_control(),
            doing: "looking for a free number for a loop device",
            source: io::Error::from_raw_os_error(libc::EBUSY),
        })
    }

    /// The kernel's name.
    #[must_use]
    pub fn name(&self) -> &KernelName {
        &self.name
    }

    /// The node to open.
    #[must_use]
    pub fn node(&self) -> PathBuf {
        SysRoot::node(&self.name)
    }

    /// The unnamed backing file. Truncating it makes I/O past its end fail with EIO.
    #[must_use]
    pub fn backing_file(&self) -> &File {
        &self.backing
    }

    /// Whether the driver does go past the page cache of the backing file. None if the kernel does not say.
    #[must_use]
    pub fn direct_io(&self) -> Option<bool> {
        attr::read_flag(&SysRoot::host().block(&self.name).join("loop/dio"))
    }

    /// Unbinds and removes the device, waiting up to two seconds for others who have it open.
    ///
    /// # Errors
    /// EBUSY with the node if somebody still has it open; the device is then removed by a later creation.
    pub fn remove(mut self) -> Result<(), LoopError> {
        self.unbind_and_remove()
    }

    fn unbind_and_remove(&mut self) -> Result<(), LoopError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let control = Control::lock();
        drop(held);
        control?.remove(self.number)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // There is nobody to tell; `remove` is for those who want to know. A later creation tidies up.
        let _ = self.unbind_and_remove();
    }
}

/// The device that a bound loop device has as its backing file, by number, whatever node it was opened by; None if that is
/// a plain file, or if the loop device is no longer bound.
///
/// # Errors
/// The loop device can not be opened or asked.
pub fn backing_device(root: &SysRoot, name: &KernelName) -> io::Result<Option<DevNum>> {
    let node = root.dev_dir().join(name.kernel());
    let device = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(node)?;
    match loop_backing_rdev(device.as_fd()) {
        Ok(0) => Ok(None),
        Ok(rdev) => Ok(Some(DevNum::of_rdev(rdev))),
        Err(e) if e.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The loop control node, locked against the others who add and remove here.
struct Control {
    file: File,
}

impl Control {
    fn open() -> Result<File, LoopError> {
        let path = SysRoot::loop_control();
        let file = OpenOptions::new().read(true).write(true).open(&path);
        file.map_err(at(&path, "opening it to make loop devices"))
    }

    fn lock() -> Result<Self, LoopError> {
        let path = SysRoot::loop_control();
        let file = Self::open()?;
        lock_within(&file, LOCK_PATIENCE)
            .map_err(|e| match e {
                Errno::WOULDBLOCK | Errno::INTR => Errno::BUSY.into(),
                e => e.into(),
            })
            .map_err(at(&path, "waiting for others who make loop devices"))?;
        Ok(Self { file })
    }

    /// Removes a number, waiting for whoever still has it open. One that is gone is as good as removed.
    fn remove(&self, number: u32) -> Result<(), LoopError> {
        poll(PATIENCE, || match loop_remove(self.file.as_fd(), number) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => None,
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Some(Ok(())),
            done => Some(done),
        })
        .unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::EBUSY)))
        .map_err(|source| LoopError { path: node_of(number), doing: "removing it", source })
    }

    /// Removes what killed programs left: numbers of our range that are not bound. The kernel refuses those in use.
    fn remove_left_overs(&self) {
        let root = SysRoot::host();
        let Ok(entries) = std::fs::read_dir(root.block_dir()) else { return };
        for entry in entries.flatten() {
            let Some(name) = entry.file_name().to_str().and_then(KernelName::new) else { continue };
            let Some(number) = number_of(&name).filter(|n| NUMBERS.contains(n)) else { continue };
            if attr::read_opt(&root.block(&name).join("loop/backing_file")).is_none() {
                // Refused if it is in use after all.
                let _ = loop_remove(self.file.as_fd(), number);
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Said, not left to closing: a child forked by another thread may share the descriptor until it execs.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Whether loop devices can be made here at all.
///
/// # Errors
/// The loop control node and why it can not be opened: EACCES or EPERM without root, ENOENT or ENXIO without the
/// driver (as in most containers).
pub fn available() -> Result<(), LoopError> {
    Control::open().map(drop)
}

/// Opens a number's node and binds it to the file.
fn bind(number: u32, backing: &File, options: LoopOptions) -> Result<(KernelName, File), LoopError> {
    let node = node_of(number);
    let name = KernelName::new(&format!("loop{number}")).ok_or_else(|| LoopError {
        path: node.clone(),
        doing: "naming it",
        source: io::Error::from(io::ErrorKind::InvalidInput),
    })?;
    let open = |write: bool| OpenOptions::new().read(true).write(write).open(&node);
    // devtmpfs makes the node before LOOP_CTL_ADD returns; a udev that makes it itself takes a moment.
    let device = poll(PATIENCE, || match open(true) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        done => Some(done),
    })
    .unwrap_or_else(|| open(true))
    .map_err(at(&node, "opening the new loop device"))?;
    let flags = LoopFlags::AUTOCLEAR
        .with(LoopFlags::READ_ONLY, options.read_only)
        .with(LoopFlags::DIRECT_IO, options.direct_io);
    loop_configure(device.as_fd(), backing.as_fd(), options.logical_block, flags)
        .map_err(at(&node, "binding it to a scratch file (LOOP_CONFIGURE, Linux 5.8)"))?;
    let held = open(false).map_err(at(&node, "holding the new loop device"))?;
    Ok((name, held))
}

fn node_of(number: u32) -> PathBuf {
    SysRoot::host().dev_dir().join(format!("loop{number}"))
}

fn number_of(name: &KernelName) -> Option<u32> {
    let digits = name.sysfs().strip_prefix("loop")?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Asks until there is an answer or time is up.
fn poll<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + patience;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= end {
            return answer;
        }
        sleep(POLL);
    }
}

fn at(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> LoopError {
    let path = path.to_path_buf();
    move |source| LoopError { path, doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_loop_devices_have_a_number() {
        let number = |s| number_of(&KernelName::new(s).unwrap());
        assert_eq!(number("loop3100"), Some(3100));
        for other in ["loop", "loop-control", "loop3100p1", "loop+1", "sda", "xloop1"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
