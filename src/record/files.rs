//! Files in a record's directory: found from the directory itself, never through a link, for this user alone.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::RecordError;
use crate::sys::flock::lock_within;
use crate::sys::private::owned_by_us;

/// For this user alone.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
/// How long to wait for a lock. A program that is being started has what it inherits for a moment, locks included; one
/// that writes a record has it for as long as the experiment takes.
const PATIENCE: Duration = Duration::from_millis(500);

/// A record's directory, held open: what replaces it under its name changes nothing here.
#[derive(Debug)]
pub(super) struct Dir {
    path: PathBuf,
    at: OwnedFd,
}

impl Dir {
    /// Makes it, and what it lies in. One that exists must be empty, this user's, and no link.
    pub(super) fn create(path: &Path) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io { path: path.to_path_buf(), source };
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(io)?;
        }
        match DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(io(e)),
            _ => {}
        }
        let dir = Self::ours(path)?;
        let entries = rustix::fs::Dir::read_from(&dir.at).map_err(|e| io(e.into()))?;
        for entry in entries {
            let entry = entry.map_err(|e| io(e.into()))?;
            if ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()) {
                return Err(RecordError::NotEmpty(path.to_path_buf()));
            }
        }
        // The name of the directory is to outlive a crash, too.
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent).and_then(|d| d.sync_all()).map_err(io)?;
        Ok(dir)
    }

    /// Opens one that is there, to read it: anybody's, but no files that are links.
    pub(super) fn open(path: &Path) -> Result<Self, RecordError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self::with(path, flags)
    }

    /// Opens one that is there, to write to it: this user's, and no link. Locked while it is open.
    pub(super) fn ours(path: &Path) -> Result<Self, RecordError> {
        let distrust = |what| RecordError::NotTrusted { path: path.to_path_buf(), what };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = Self::with(path, flags).map_err(|e| match e {
            RecordError::Io { source, .. }
                if matches!(source.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) =>
            {
                distrust("a link, or not a directory")
            }
            e => e,
        })?;
        let held = File::from(dir.at.try_clone().map_err(|source| dir.io_at("", source))?);
        let meta = held.metadata().map_err(|source| dir.io_at("", source))?;
        owned_by_us(&meta).map_err(distrust)?;
        match lock_within(&dir.at, PATIENCE) {
            Ok(()) => Ok(dir),
            Err(Errno::WOULDBLOCK) => Err(RecordError::Busy(path.to_path_buf())),
            Err(e) => Err(dir.io_at("", e.into())),
        }
    }

    fn with(path: &Path, flags: OFlags) -> Result<Self, RecordError> {
        let at = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|e| RecordError::Io { path: path.to_path_buf(), source: e.into() })?;
        Ok(Self { path: path.to_path_buf(), at })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file's place, for messages.
    pub(super) fn place(&self, file: &str) -> PathBuf {
        if file.is_empty() { self.path.clone() } else { self.path.join(file) }
    }

    pub(super) fn io_at(&self, file: &str, source: io::Error) -> RecordError {
        RecordError::Io { path: self.place(file), source }
    }

    /// A new file to append to.
    pub(super) fn create_file(&self, file: &str) -> Result<File, RecordError> {
        self.open_at(file, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// A file to append to, made if it is missing. It must be this user's.
    pub(super) fn append_to(&self, file: &str) -> Result<File, RecordError> {
        let opened = self.open_at(file, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let meta = opened.metadata().map_err(|e| self.io_at(file, e))?;
        owned_by_us(&meta).map_err(|what| RecordError::NotTrusted { path: self.place(file), what })?;
        Ok(opened)
    }

    fn open_at(&self, file: &str, flags: OFlags) -> Result<File, RecordError> {
        let distrust = |what| RecordError::NotTrusted { path: self.place(file), what };
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened: File = match rustix::fs::openat(&self.at, file, flags, PRIVATE) {
            Ok(fd) => fd.into(),
            Err(rustix::io::Errno::LOOP) => return Err(distrust("a link")),
            // A fifo that nobody reads.
            Err(rustix::io::Errno::NXIO) => return Err(distrust("not a regular file")),
            Err(e) => return Err(self.io_at(file, e.into())),
        };
        if !opened.metadata().map_err(|e| self.io_at(file, e))?.is_file() {
            return Err(distrust("not a regular file"));
        }
        Ok(opened)
    }

    /// At most so many bytes of a file, and whether that is all of it; None if there is no such file.
    pub(super) fn read(&self, file: &str, most: u64) -> Result<Option<(Vec<u8>, bool)>, RecordError> {
        let opened = match self.open_at(file, OFlags::RDONLY) {
            Err(RecordError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            other => other?,
        };
        let mut bytes = Vec::new();
        opened.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| self.io_at(file, e))?;
        let whole = bytes.len() as u64 <= most;
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(Some((bytes, whole)))
    }

    /// Writes a file as a whole: under another name, onto the disk, then renamed.
    pub(super) fn replace(&self, file: &str, bytes: &[u8]) -> Result<(), RecordError> {
        let fail = |e: rustix::io::Errno| self.io_at(file, e.into());
        let beside = format!("{file}.new");
        // Of a program that was interrupted here.
        let _ = rustix::fs::unlinkat(&self.at, &beside, AtFlags::empty());
        let mut new = self.create_file(&beside)?;
        let written = new.write_all(bytes).and_then(|()| new.sync_all()).map_err(|e| self.io_at(file, e));
        let renamed =
            written.and_then(|()| rustix::fs::renameat(&self.at, &beside, &self.at, file).map_err(fail));
        if renamed.is_err() {
            let _ = rustix::fs::unlinkat(&self.at, &beside, AtFlags::empty());
        }
        renamed?;
        self.sync()
    }

    /// Removes a file that may be there.
    pub(super) fn remove(&self, file: &str) -> Result<(), RecordError> {
        match rustix::fs::unlinkat(&self.at, file, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => self.sync(),
            Err(e) => Err(self.io_at(file, e.into())),
        }
    }

    /// Brings its names to disk.
    pub(super) fn sync(&self) -> Result<(), RecordError> {
        rustix::fs::fsync(&self.at).map_err(|e| self.io_at("", e.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_had_for_a_moment_is_waited_for_and_another_not() {
        let path = tempfile::tempdir().unwrap();
        // As a child has it between fork and exec: the same open directory, closed a little later.
        let inherited = Dir::ours(path.path()).unwrap().at.try_clone().unwrap();
        let closed = std::thread::spawn(move || {
            std::thread::sleep(PATIENCE / 5);
            drop(inherited);
        });
        let dir = Dir::ours(path.path()).unwrap();
        closed.join().unwrap();
        assert!(matches!(Dir::ours(path.path()), Err(RecordError::Busy(_))));
        drop(dir);
    }
}
