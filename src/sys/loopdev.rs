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
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, FlockOperation, fadvise, flock};

use super::attr;
use super::name::KernelName;
use super::root::SysRoot;
use super::syscall::{LoopFlags, loop_add, loop_configure, loop_remove};
use crate::units::Bytes;

/// The numbers used here: above what `losetup -f` reaches on any host seen, and within the 4096 that the driver has
/// with `loop.max_part=255`. An unbound device in this range is taken for a left-over and removed.
pub const NUMBERS: Range<u32> = 3072..4096;

/// How long a node may take to appear, an unbound device to be let go by whoever still has it open.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long others may hold the lock: several of them may be removing busy devices one after another.
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks at something that has not happened yet.
const POLL: Duration = Duration::from_millis(2);
/// What is written at once while filling.
const CHUNK: usize = 1 << 20;
/// Chunks between two syncs while filling, so that progress is of the medium and not of the page cache.
const CHUNKS_PER_SYNC: usize = 64;

/// Where the search for a free number goes on. Not always from the first: a number that comes back at once is easily
/// taken for the device before it.
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);
/// Makes the short-lived names of scratch files differ.
static NEXT_FILE: AtomicU32 = AtomicU32::new(0);

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

/// What a new device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros, as holes: the file has no blocks, and reads do not touch the medium below.
    Zero,
    /// The bytes of [`content`], written in full, synced and dropped from the page cache: incompressible, so that
    /// reads hit real blocks, and known, so that a reader can check them.
    Random,
}

/// What to make.
#[derive(Clone, Copy, Debug)]
pub struct LoopOptions<'a> {
    /// Size of the device; a multiple of its logical block.
    pub size: Bytes,
    /// The directory on whose file system the backing file lies.
    pub dir: &'a Path,
    /// Logical block in bytes: a power of two from 512 to a page. None for the kernel's choice.
    pub logical_block: Option<u32>,
    /// Whether the driver goes past the page cache of the backing file; without effect where its file system can
    /// not (see [`LoopDevice::direct_io`]).
    pub direct_io: bool,
    /// Whether writes are refused.
    pub read_only: bool,
    /// What it holds.
    pub fill: Fill,
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
    /// Makes a device, telling `progress` how much of it is filled.
    ///
    /// # Errors
    /// The file or node, what was being done, and the kernel's answer: EACCES or EPERM without root, ENOSPC, EINVAL
    /// for a block size the kernel does not take.
    pub fn create(options: &LoopOptions<'_>, progress: &mut dyn FnMut(Bytes)) -> Result<Self, LoopError> {
        available()?;
        let backing = scratch_file(options.dir)?;
        fill(&backing, options.size, options.fill, progress)
            .map_err(at(options.dir, "writing a scratch file"))?;
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
        // Not a blocking flock: a holder that hangs must not make us hang.
        poll(LOCK_PATIENCE, || match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => None,
            done => Some(done.map_err(io::Error::from)),
        })
        .unwrap_or_else(|| Err(io::Error::from_raw_os_error(libc::EBUSY)))
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

/// The byte stream of [`Fill::Random`] at `offset`, which is a multiple of 8: incompressible, and the same for
/// every device, so that any part of it can be checked alone.
pub fn content(offset: u64, out: &mut [u8]) {
    let first = offset / 8;
    for (index, word) in (first..).zip(out.chunks_mut(8)) {
        // The mixing function of SplitMix64 over the word's index: a full-period generator with random access.
        let mut z = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        word.copy_from_slice(&z.to_le_bytes()[..word.len()]);
    }
}

/// A new file in `dir` that has no name, open for reading and writing.
///
/// # Errors
/// The directory and the answer of open.
pub fn scratch_file(dir: &Path) -> Result<File, LoopError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    // O_EXCL with O_TMPFILE: can never be given a name later either.
    let nameless = options.clone().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(dir);
    match nameless {
        // File systems without O_TMPFILE; an old kernel takes the flag for O_DIRECTORY and says EISDIR.
        Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) => {
            let n = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!(".blktune-{}-{n}", std::process::id()));
            let file = options.create_new(true).open(&path).map_err(at(&path, "making a scratch file"))?;
            std::fs::remove_file(&path).map_err(at(&path, "taking the scratch file's name away"))?;
            Ok(file)
        }
        done => done.map_err(at(dir, "making a scratch file")),
    }
}

/// Gives a scratch file its size and content.
///
/// # Errors
/// ENOSPC, EFBIG, EIO: the answers of write and sync.
pub fn fill(mut file: &File, size: Bytes, what: Fill, progress: &mut dyn FnMut(Bytes)) -> io::Result<()> {
    if what == Fill::Zero {
        file.set_len(size.0)?;
        progress(size);
        return Ok(());
    }
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    for chunk in 1.. {
        let n = usize::try_from(size.0 - done).unwrap_or(CHUNK).min(CHUNK);
        if n == 0 {
            break;
        }
        content(done, &mut buffer[..n]);
        file.write_all(&buffer[..n])?;
        done += n as u64;
        if chunk % CHUNKS_PER_SYNC == 0 {
            file.sync_data()?;
            progress(Bytes(done));
        }
    }
    file.sync_all()?;
    // Otherwise the first reads would be of memory. Only clean pages can be dropped, hence after the sync.
    fadvise(file, 0, None, Advice::DontNeed)?;
    progress(size);
    Ok(())
}

/// Opens a number's node and binds it to the file.
fn bind(number: u32, backing: &File, options: &LoopOptions<'_>) -> Result<(KernelName, File), LoopError> {
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
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn content_is_the_same_from_any_start() {
        let mut whole = vec![0; 4096];
        content(0, &mut whole);
        let mut part = vec![0; 100];
        content(1024, &mut part);
        assert_eq!(part, whole[1024..1124]);
        let distinct: std::collections::HashSet<&[u8]> = whole.chunks(8).collect();
        assert_eq!(distinct.len(), 512, "words repeat: a file system could compress it");
    }

    #[test]
    fn a_filled_scratch_file_is_whole_nameless_and_on_the_medium() {
        let dir = tempfile::tempdir().unwrap();
        let file = scratch_file(dir.path()).unwrap();
        let size = Bytes(70 * (1 << 20) + 512);
        let mut seen = Vec::new();
        fill(&file, size, Fill::Random, &mut |done| seen.push(done)).unwrap();
        assert_eq!(seen, [Bytes(64 << 20), size]);
        let meta = file.metadata().unwrap();
        assert_eq!((meta.len(), meta.nlink()), (size.0, 0));
        assert!(meta.blocks() * 512 >= size.0, "not all of it has blocks");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let (mut read, mut expected) = (vec![0; 512], vec![0; 512]);
        file.read_exact_at(&mut read, size.0 - 512).unwrap();
        content(size.0 - 512, &mut expected);
        assert_eq!(read, expected);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let e = scratch_file(Path::new("not/there")).unwrap_err();
        assert_eq!(e.errno(), Some(libc::ENOENT));
        assert!(e.to_string().contains("not/there"), "{e}");
    }

    #[test]
    fn only_plain_loop_devices_have_a_number() {
        let number = |s| number_of(&KernelName::new(s).unwrap());
        assert_eq!(number("loop3100"), Some(3100));
        for other in ["loop", "loop-control", "loop3100p1", "loop+1", "sda", "xloop1"] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
