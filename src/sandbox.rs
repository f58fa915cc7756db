//! L3: a harmless place to try things, for `--sandbox`: a loop device over a scratch file, or, where loop devices can
//! not be made, the scratch file alone.
//!
//! The scratch file has no name and is written in full with incompressible data before it is used: blocks that were
//! never written read at memory speed and say nothing about the medium. Device and file go with the value, and after
//! kill -9 the kernel lets both go (see [`loopdev`]).
//!
//! It lies in the directory given, else in `$TMPDIR`, else in `/var/tmp`, which is to survive a reboot and so is on a
//! medium. A `$TMPDIR` in memory (tmpfs) is passed over while there is a directory that is not: reads of it would
//! measure memory.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;

use crate::sys::loopdev::{self, LoopDevice, LoopError, LoopOptions};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::scratch::{self, ScratchError};
use crate::units::Bytes;

/// The least that is worth a run, and the step in which the largest size is told.
const MIB: Bytes = Bytes(1 << 20);
/// Sizes are rounded up to whole pages, which every logical block divides.
const GRAIN: u64 = 4096;
/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `linux/magic.h`: file systems in memory.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is too little space.
    #[error("{}", no_room(dir, *asked, *free))]
    NoRoom {
        /// The directory whose file system is too full.
        dir: PathBuf,
        /// What was asked for.
        asked: Bytes,
        /// What is free there.
        free: Bytes,
    },
    /// Less was asked for than any job could use.
    #[error("a sandbox of {0} is too small; ask for {MIB} or more, such as --sandbox=1G")]
    TooSmall(Bytes),
    /// The directory can not be asked for its free space.
    #[error("{}: no scratch file can be made there: {source}; set TMPDIR to a directory that can be written", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The scratch file could not be made or written.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The loop device could not be made or removed.
    #[error(transparent)]
    Loop(#[from] LoopError),
    /// Stopped while the scratch file was written.
    #[error("stopped while the scratch file was written")]
    Stopped,
}

/// A place to try things that is gone when this is dropped.
#[derive(Debug)]
pub enum Sandbox {
    /// A loop device with a queue of its own: everything can be tried.
    Device(LoopDevice),
    /// A file for read tests, where loop devices can not be made.
    ScratchFile(ScratchFile),
}

/// A scratch file without a name, and why it is not a device.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    size: Bytes,
    reason: LoopError,
}

impl ScratchFile {
    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A path that opens the file anew, with an own position and flags, within this process and while this lives. It
    /// is a link that only `open` can follow: the file has no name, so the link must not be resolved to one.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        SysRoot::host().proc("self/fd").join(self.file.as_raw_fd().to_string())
    }

    /// Its size.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Why there is no device: rights or the driver are missing.
    #[must_use]
    pub fn reason(&self) -> &LoopError {
        &self.reason
    }
}

impl Sandbox {
    /// Makes a sandbox of `size`, rounded up to whole pages, in `dir` or where the head of this module says. Writing
    /// it takes as long as the medium takes; `progress` hears how much is done, and of how
    /// much, and may stop it.
    ///
    /// # Errors
    /// Too little space, with the largest size that would do; a directory that can not be written; what the kernel
    /// answers while the device is made. Missing rights are no error: they give a [`Sandbox::ScratchFile`].
    pub fn create(
        size: Bytes,
        dir: Option<&Path>,
        progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<Self, SandboxError> {
        if size < MIB {
            return Err(SandboxError::TooSmall(size));
        }
        let dir = dir.map_or_else(default_dir, Path::to_path_buf);
        let free = scratch::free_space(&dir)
            .map_err(|source| SandboxError::Directory { dir: dir.clone(), source })?;
        if size > scratch::largest(free) {
            return Err(SandboxError::NoRoom { dir, asked: size, free });
        }
        let size = Bytes(size.0.next_multiple_of(GRAIN));
        // Asked first, so that nobody waits for a file that can not become a device.
        let able = loopdev::available();
        let file = scratch::nameless(&dir)?;
        if progress(Bytes(0), size).is_break() {
            return Err(SandboxError::Stopped);
        }
        scratch::fill(&file, size, &mut |done| progress(done, size)).map_err(|source| {
            match source.kind() {
                io::ErrorKind::Interrupted => SandboxError::Stopped,
                _ => ScratchError { path: dir, doing: "writing a scratch file", source }.into(),
            }
        })?;
        match able {
            Ok(()) => {
                let options = LoopOptions { direct_io: true, ..LoopOptions::default() };
                Ok(Self::Device(LoopDevice::over(file, options)?))
            }
            Err(reason) => Ok(Self::ScratchFile(ScratchFile { file, size, reason })),
        }
    }

    /// The kernel name of the device; None for a file.
    #[must_use]
    pub fn name(&self) -> Option<&KernelName> {
        match self {
            Self::Device(device) => Some(device.name()),
            Self::ScratchFile(_) => None,
        }
    }

    /// What a job opens: the device's node, or [`ScratchFile::path`].
    #[must_use]
    pub fn node(&self) -> PathBuf {
        match self {
            Self::Device(device) => device.node(),
            Self::ScratchFile(scratch) => scratch.path(),
        }
    }

    /// Removes it, as dropping does, and says if that was not possible.
    ///
    /// # Errors
    /// EBUSY with the node if another program still has the device open.
    pub fn remove(self) -> Result<(), SandboxError> {
        match self {
            Self::Device(device) => Ok(device.remove()?),
            Self::ScratchFile(_) => Ok(()),
        }
    }
}

fn no_room(dir: &Path, asked: Bytes, free: Bytes) -> String {
    let at = dir.display();
    let left = scratch::ALWAYS_LEFT;
    let rule = format!("a sandbox takes a tenth of the free space at most and leaves {left}");
    let most = scratch::largest(free);
    if most < MIB {
        return format!(
            "{at}: no room for a sandbox of {asked}: {free} are free and {rule}; set TMPDIR to another file system"
        );
    }
    let mib = most.0 / MIB.0;
    format!(
        "{at}: no room for a sandbox of {asked}: {free} are free and {rule}; ask for {most} or less (--sandbox={mib}M), or set TMPDIR to another file system"
    )
}

fn default_dir() -> PathBuf {
    let given = std::env::var_os("TMPDIR").filter(|d| !d.is_empty()).map(PathBuf::from);
    let candidates: Vec<PathBuf> =
        given.into_iter().chain([PathBuf::from("/var/tmp"), std::env::temp_dir()]).collect();
    choose(&candidates)
}

/// The first that is on a medium, else the first there is.
fn choose(candidates: &[PathBuf]) -> PathBuf {
    let on_medium = candidates.iter().find(|d| in_memory(d) == Some(false));
    on_medium
        .or_else(|| candidates.iter().find(|d| in_memory(d).is_some()))
        .or_else(|| candidates.first())
        .cloned()
        .unwrap_or_default()
}

/// Whether a directory lies in memory; None if it can not be asked.
fn in_memory(dir: &Path) -> Option<bool> {
    // The field is signed on some architectures, the constants are 32 bits wide.
    let magic = u64::try_from(statfs(dir).ok()?.f_type & 0xffff_ffff).ok()?;
    Some(IN_MEMORY.contains(&magic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::MetadataExt;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_refusal_names_the_directory_the_space_and_what_would_do() {
        let dir = tempfile::tempdir().unwrap();
        let e = Sandbox::create(Bytes(1 << 60), Some(dir.path()), &mut |_, _| ControlFlow::Continue(()))
            .unwrap_err();
        let free = scratch::free_space(dir.path()).unwrap();
        let text = e.to_string();
        assert!(text.starts_with(&dir.path().display().to_string()), "{text}");
        assert!(text.contains("1.00 EiB") && text.contains(" are free"), "{text}");
        assert!(text.contains("--sandbox=") || free.0 < 10 << 20, "{text}");

        let text = no_room(Path::new("/here"), Bytes(GIB), Bytes(2 * GIB));
        assert!(text.contains("2.00 GiB are free") && text.contains("--sandbox=204M"), "{text}");
        let text = no_room(Path::new("/here"), Bytes(GIB), Bytes(GIB));
        assert!(!text.contains("--sandbox="), "{text}");
    }

    #[test]
    fn a_missing_directory_and_a_tiny_size_are_refused() {
        let e = Sandbox::create(MIB, Some(Path::new("not/there")), &mut |_, _| ControlFlow::Continue(()))
            .unwrap_err();
        assert!(matches!(&e, SandboxError::Directory { .. }) && e.to_string().contains("not/there"), "{e}");
        let e = Sandbox::create(Bytes(512), None, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert!(e.to_string().contains("512 B"), "{e}");
    }

    #[test]
    fn a_directory_on_a_medium_is_preferred() {
        let memory = PathBuf::from("/dev/shm");
        let (medium, missing) = (PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from("/not/there"));
        if in_memory(&memory) == Some(true) && in_memory(&medium) == Some(false) {
            assert_eq!(choose(&[memory.clone(), missing.clone(), medium.clone()]), medium);
            assert_eq!(choose(&[missing.clone(), memory.clone()]), memory);
        }
        assert_eq!(choose(std::slice::from_ref(&missing)), missing);
    }

    #[test]
    fn without_loop_devices_there_is_a_file_to_read() {
        let dir = tempfile::tempdir().unwrap();
        let reason = LoopError {
            path: SysRoot::loop_control(),
            doing: "opening it",
            source: io::Error::from_raw_os_error(libc::EACCES),
        };
        let file = scratch::nameless(dir.path()).unwrap();
        scratch::fill(&file, MIB, &mut |_| ControlFlow::Continue(())).unwrap();
        let sandbox = Sandbox::ScratchFile(ScratchFile { file, size: MIB, reason });
        assert_eq!(sandbox.name(), None);
        let mut again = File::open(sandbox.node()).unwrap();
        let (mut read, mut expected) = (Vec::new(), vec![0; 1 << 20]);
        again.read_to_end(&mut read).unwrap();
        scratch::content(0, &mut expected);
        assert!(read == expected, "the path opens something else");
        assert_eq!(again.metadata().unwrap().nlink(), 0);
        sandbox.remove().unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
