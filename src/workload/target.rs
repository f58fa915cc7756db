//! What is read or written: a block device, a file, or a scratch file of our own. Checked first, and opened for reading
//! only, unless it was made for the run or is under a guard.

use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{Advice, AtFlags, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use rustix::io::Errno;

use super::buffer::{ALIGN, Arena};
use super::durability::Sync;
use super::engine::{Flush, FlushCall, Source};
use super::guard::{Arming, Guard, Refusal};
use super::job::Job;
use super::pattern::Region;
use super::polling::Polling;
use super::priority::Priority;
use crate::sys::attr::clean;
use crate::sys::device::DevNum;
use crate::sys::file_system;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::Bytes;

/// What sort of thing is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A block device or partition.
    Device,
    /// A file that was there before.
    File,
    /// A file of our own, without a name, gone when it is closed.
    Scratch,
}

/// The row of `/proc/diskstats` that counts a target's I/O, and the device whose settings rule it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backing {
    /// The device or partition that the I/O goes to.
    pub row: KernelName,
    /// The whole device.
    pub whole: KernelName,
}

/// Why a target can not be used: what it is, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// No such file or device.
    #[error("{0}: {1}; give a block device, a file, or a directory for a scratch file")]
    Open(String, io::Error),
    /// Rights are missing.
    #[error("{0}: not permitted to read; run as root (sudo, doas or run0) or give a file of your own")]
    NotPermitted(String),
    /// A path of an NVMe multipath head, which has no node.
    #[error("{0}: a path of a multipath device, which can not be opened by itself; give the head ({1})")]
    Hidden(KernelName, KernelName),
    /// Neither file nor block device.
    #[error("{0}: {1}; only block devices, files and directories can be measured")]
    WrongType(String, &'static str),
    /// The file system or device has no direct I/O.
    #[error("{0}: this file system has no direct I/O; use --set direct=false or another place")]
    NoDirect(String),
    /// Block size or offset off the step of direct I/O.
    #[error(
        "{shown}: {what}={value} is not a multiple of {step}, the step of direct I/O here; use a multiple, or --set direct=false"
    )]
    Misaligned {
        /// The target.
        shown: String,
        /// `bs`, `offset` or `align`.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The step.
        step: u32,
    },
    /// Polling was asked for where it can not be had.
    #[error("{0}")]
    NotPolled(String),
    /// Direct I/O wants buffers aligned to more than a page.
    #[error(
        "{0}: direct I/O wants memory aligned to {1} bytes here, and buffers are to {ALIGN}; use --set direct=false"
    )]
    Memory(String, u32),
    /// A device that may not be written to.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing to read.
    #[error(
        "{shown}: {size} from offset {offset} holds not one block of {bs}; use a smaller bs, size or offset, or a larger target"
    )]
    Empty {
        /// The target.
        shown: String,
        /// What it holds or was limited to.
        size: Bytes,
        /// Where reading would begin.
        offset: Bytes,
        /// The block size.
        bs: Bytes,
    },
    /// A scratch file can not be made, or there is no room for it.
    #[error("{0}")]
    NoScratch(String),
    /// A system call failed on the opened target.
    #[error("{0}: {1}: {2}")]
    Io(String, &'static str, io::Error),
    /// Writes that were buffered could not be brought to the medium.
    #[error("{0}: what was written could not be brought to the medium: {1}")]
    Unwritten(String, io::Error),
    /// The medium was full before the scratch file was.
    #[error(
        "{0}: the scratch file could not be written in full: {1}; free some space, or ask for less (--set size=)"
    )]
    Full(String, io::Error),
    /// Stopped while the scratch file was written.
    #[error("stopped while the scratch file was written")]
    Stopped,
}

/// An opened target.
#[derive(Debug)]
pub struct Target {
    /// What results call it.
    pub shown: String,
    /// What it is.
    pub kind: TargetKind,
    /// Its size when it was opened.
    pub size: Bytes,
    /// The row that counts its I/O; None where the file system has no device of its own (tmpfs, btrfs, overlay, network).
    pub backing: Option<Backing>,
    /// What offsets and lengths of direct I/O have to be multiples of.
    pub step: u32,
    /// What memory has to be aligned to under direct I/O, where the kernel says it.
    memory: Option<u32>,
    polling: Polling,
    fd: OwnedFd,
    reopen: PathBuf,
    writable: bool,
    guard: Option<Guard>,
}

impl Target {
    /// Opens what the operator named: a kernel name, or a path to a block device or file. A directory is not opened here
    /// but answered with `Ok(None)`, since a scratch file has to be made in it (see [`super::scratch`]).
    ///
    /// # Errors
    /// Nothing there, a hidden path, no rights, or something that is neither file nor device. A fifo or terminal is not waited for.
    pub fn open(root: &SysRoot, text: &Path) -> Result<Option<Self>, TargetError> {
        if let Some(name) = device_name(text)
            && let Some(head) = inventory::head_of_hidden(root, &name)
        {
            return Err(TargetError::Hidden(name, head));
        }
        let path = device_node(root, text).unwrap_or_else(|| text.to_path_buf());
        let shown = clean(path.to_string_lossy().as_bytes());
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let fd = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::ACCESS | Errno::PERM) => return Err(TargetError::NotPermitted(shown)),
            Err(Errno::NXIO) => {
                return Err(TargetError::WrongType(shown, "a socket, or a device without a driver"));
            }
            Err(e) => return Err(TargetError::Open(shown, e.into())),
        };
        let stat =
            rustix::fs::fstat(&fd).map_err(|e| TargetError::Io(shown.clone(), "looking at it", e.into()))?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => TargetKind::Device,
            FileType::RegularFile => TargetKind::File,
            FileType::Directory => return Ok(None),
            FileType::Fifo => return Err(TargetError::WrongType(shown, "a fifo")),
            FileType::CharacterDevice => return Err(TargetError::WrongType(shown, "a character device")),
            FileType::Socket => return Err(TargetError::WrongType(shown, "a socket")),
            _ => return Err(TargetError::WrongType(shown, "neither file nor block device")),
        };
        Self::of(root, fd, kind, shown).map(Some)
    }

    /// A whole device that may be written to: judged, and held exclusively from now on until this is dropped.
    ///
    /// # Errors
    /// Every [`Refusal`]; what the kernel answers.
    pub fn armed(root: &SysRoot, text: &Path, arming: &Arming) -> Result<Self, TargetError> {
        if let Some(name) = device_name(text)
            && let Some(head) = inventory::head_of_hidden(root, &name)
        {
            return Err(Refusal::Hidden(name, head).into());
        }
        let path = device_node(root, text).unwrap_or_else(|| text.to_path_buf());
        let (fd, guard) = Guard::arm(root, &path, arming)?;
        Self::guarded(root, fd, guard)
    }

    /// From what a guard has opened.
    pub(super) fn guarded(root: &SysRoot, fd: OwnedFd, guard: Guard) -> Result<Self, TargetError> {
        let shown = clean(guard.node().as_os_str().as_encoded_bytes());
        let mut target = Self::of(root, fd, TargetKind::Device, shown)?;
        target.writable = true;
        target.guard = Some(guard);
        Ok(target)
    }

    /// Takes a file that was made for the run, and has no name, for a scratch file.
    #[must_use]
    pub fn made_for_the_run(mut self) -> Self {
        if self.kind == TargetKind::File {
            self.kind = TargetKind::Scratch;
            self.writable = true;
        }
        self
    }

    /// What stands guard over a device that is written to.
    #[must_use]
    pub fn guard(&self) -> Option<&Guard> {
        self.guard.as_ref()
    }

    /// Whether everything is still as it was when the device was armed. Called when the workers are ready, right before
    /// the first write.
    ///
    /// # Errors
    /// What has changed.
    pub(super) fn check_again(&self) -> Result<(), TargetError> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard.check_again(&self.fd))?;
        Ok(())
    }

    /// Brings what was written to the medium. An error of a write that was only buffered shows here, even if another
    /// descriptor wrote it: this one was open before.
    ///
    /// # Errors
    /// ENOSPC, EIO, EDQUOT: what became of the writes.
    pub fn sync(&self) -> Result<(), TargetError> {
        rustix::fs::fsync(&self.fd).map_err(|e| TargetError::Unwritten(self.shown.clone(), e.into()))
    }

    /// From an open descriptor of a file or block device.
    pub(super) fn of(
        root: &SysRoot,
        fd: OwnedFd,
        kind: TargetKind,
        shown: String,
    ) -> Result<Self, TargetError> {
        let io = |what: &'static str| {
            let shown = shown.clone();
            move |e: Errno| TargetError::Io(shown, what, e.into())
        };
        let stat = rustix::fs::fstat(&fd).map_err(io("looking at it"))?;
        let number = if kind == TargetKind::Device { stat.st_rdev } else { stat.st_dev };
        let alignment = direct_alignment(&fd);
        let step = if kind == TargetKind::Device {
            let block = rustix::fs::ioctl_blksszget(&fd).map_err(io("asking for its block size"))?.max(1);
            // Never finer than the logical block, whatever is said.
            alignment.map_or(block, |a| a.offset.max(block))
        } else {
            alignment.map_or(512, |a| a.offset)
        };
        let size = Bytes(rustix::fs::seek(&fd, SeekFrom::End(0)).map_err(io("asking for its size"))?);
        let reopen = root.proc("self/fd").join(fd.as_raw_fd().to_string());
        let backing = backing(root, DevNum::of_rdev(number));
        Ok(Self {
            polling: Polling::read(root, backing.as_ref()),
            backing,
            shown,
            kind,
            size,
            step,
            memory: alignment.map(|a| a.memory),
            fd,
            reopen,
            writable: kind == TargetKind::Scratch,
            guard: None,
        })
    }

    /// The part of the target that a job uses, in whole blocks.
    ///
    /// # Errors
    /// Under direct I/O, a block size or offset off the device's step; polling that can not be had; no room for a single
    /// block.
    pub fn region(&self, job: &Job) -> Result<Region, TargetError> {
        self.polling.check(job, &self.shown)?;
        if job.direct {
            if self.step == 0 {
                return Err(TargetError::NoDirect(self.shown.clone()));
            }
            if let Some(memory) = self.memory.filter(|m| *m as usize > ALIGN) {
                return Err(TargetError::Memory(self.shown.clone(), memory));
            }
            let align = job.align.map_or(job.bs.0, |a| a.0);
            for (what, value) in [("bs", job.bs.0), ("offset", job.offset.0), ("align", align)] {
                if !value.is_multiple_of(u64::from(self.step)) {
                    return Err(TargetError::Misaligned {
                        shown: self.shown.clone(),
                        what,
                        value,
                        step: self.step,
                    });
                }
            }
        }
        u32::try_from(job.bs.0)
            .ok()
            .and_then(|bs| Region::within(self.size, job.offset, job.size, bs))
            .ok_or_else(|| TargetError::Empty {
                shown: self.shown.clone(),
                size: job.size.map_or(self.size, |s| s.min(self.size)),
                offset: job.offset,
                bs: job.bs,
            })
    }

    /// The most that one sync makes its file system write, besides the data; None of a device, which has none.
    #[must_use]
    pub fn per_sync(&self) -> Option<Bytes> {
        (self.kind != TargetKind::Device).then(|| file_system::per_sync(&self.fd))
    }

    /// Whether a job may write to it: only to what was made for the run.
    #[must_use]
    pub const fn may_write(&self) -> bool {
        self.writable
    }

    /// A descriptor for one worker: the very file that was checked, opened once more.
    ///
    /// # Errors
    /// A file system without direct I/O; no more descriptors.
    pub fn source(&self, job: &Job) -> Result<Source, TargetError> {
        let mut flags = if job.rw.writes() && self.writable { OFlags::RDWR } else { OFlags::RDONLY };
        if job.direct {
            flags |= OFlags::DIRECT;
        }
        flags |= match job.sync {
            Sync::None => OFlags::empty(),
            Sync::Dsync => OFlags::DSYNC,
            Sync::Sync => OFlags::SYNC,
        };
        // Without O_NONBLOCK: io_uring would answer EAGAIN instead of waiting.
        let fd = match rustix::fs::open(&self.reopen, flags | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::INVAL) if job.direct => return Err(TargetError::NoDirect(self.shown.clone())),
            // Some drivers tell it to those alone who open for writing: a DVD.
            Err(Errno::ROFS) if self.guard.is_some() => {
                return Err(Refusal::ReadOnly(self.shown.clone()).into());
            }
            Err(e) => return Err(TargetError::Open(self.shown.clone(), e.into())),
        };
        // The number may be another device's by now.
        if let Some(guard) = &self.guard {
            guard.is_of_this_device(&fd)?;
        }
        let (call, every) = match job.fdatasync {
            0 => (FlushCall::Fsync, job.fsync),
            n => (FlushCall::Fdatasync, n),
        };
        Ok(Source {
            fd,
            bs: u32::try_from(job.bs.0).unwrap_or(u32::MAX),
            step: if job.direct { self.step.max(1) } else { 1 },
            flush: Flush { call, every },
            end_fsync: job.end_fsync,
            ioprio: job.prio.map_or(0, Priority::value),
        })
    }

    /// Tries one direct read, before anything is counted: some file systems take the flag and refuse the read. Other
    /// failures are left to the run, which counts them.
    ///
    /// # Errors
    /// No direct I/O here.
    pub fn try_direct(&self, source: &Source, offset: u64) -> Result<(), TargetError> {
        let size = usize::try_from(source.step).unwrap_or(4096);
        let Some(mut arena) = Arena::new(size, 1) else { return Ok(()) };
        match rustix::io::pread(&source.fd, arena.slice_mut(0), offset) {
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Err(TargetError::NoDirect(self.shown.clone())),
            _ => Ok(()),
        }
    }

    /// Drops the target's clean pages from the page cache: what is read next comes from the device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn drop_cache(&self) -> Result<(), TargetError> {
        rustix::fs::fadvise(&self.fd, 0, None::<NonZeroU64>, Advice::DontNeed)
            .map_err(|e| TargetError::Io(self.shown.clone(), "dropping it from the page cache", e.into()))
    }
}

/// The kernel name that a relative text or a path below `/dev` may mean.
fn device_name(text: &Path) -> Option<KernelName> {
    if text.is_absolute() {
        return KernelName::new(&SysRoot::below_dev(text)?);
    }
    KernelName::new(text.to_str()?)
}

/// The node of a kernel name (`sda`, `cciss/c0d0`); None if there is no such device. A file of the same name is reached
/// as `./sda`.
fn device_node(root: &SysRoot, text: &Path) -> Option<PathBuf> {
    if text.is_absolute() {
        return None;
    }
    let name = device_name(text)?;
    root.class_block(&name).exists().then(|| SysRoot::node(&name))
}

/// What direct I/O has to be aligned to.
#[derive(Clone, Copy, Debug)]
struct Alignment {
    /// Offsets and lengths; 0 if there is no direct I/O.
    offset: u32,
    /// Memory.
    memory: u32,
}

/// What the kernel says of direct I/O on this file or device (Linux 6.1). None if it says nothing.
fn direct_alignment(fd: &OwnedFd) -> Option<Alignment> {
    let s = rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let told = s.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    told.then_some(Alignment { offset: s.stx_dio_offset_align, memory: s.stx_dio_mem_align })
}

/// The device or partition of this number, through `/sys/dev/block`. None for numbers that file systems make up.
pub(super) fn backing(root: &SysRoot, number: DevNum) -> Option<Backing> {
    let dir = std::fs::canonicalize(root.dev_block(number.major, number.minor)).ok()?;
    let name = |p: &Path| KernelName::new(p.file_name()?.to_str()?);
    let row = name(&dir)?;
    let whole = if dir.join("partition").exists() { name(dir.parent()?)? } else { row.clone() };
    Some(Backing { row, whole })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn memory_that_has_to_be_aligned_to_more_than_a_page_is_refused_under_direct_io() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let mut target =
            Target::of(&SysRoot::host(), file.into(), TargetKind::File, "file".to_owned()).unwrap();
        target.step = 512;
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        for (memory, fits) in [(None, true), (Some(4), true), (Some(4096), true), (Some(8192), false)] {
            target.memory = memory;
            assert_eq!(target.region(&job).is_ok(), fits, "{memory:?}");
        }
        let e = target.region(&job).unwrap_err().to_string();
        assert!(e.contains("8192") && e.contains("--set direct=false"), "{e}");
        job.set("direct=false").unwrap();
        assert!(target.region(&job).is_ok());
    }
}
