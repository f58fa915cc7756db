//! Files that only this user may have written: what is read from them is later written to the kernel.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::journal::JournalError;
use crate::sys::private::owned_by_us;

/// Makes the directory for this user alone; one that exists must belong to this user and be closed to others' writes.
pub(super) fn make_dir(dir: &Path) -> Result<(), JournalError> {
    match DirBuilder::new().recursive(false).mode(0o700).create(dir) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(source) => return Err(JournalError::Io { path: dir.to_path_buf(), source }),
    }
    check_dir(dir)
}

/// Whether the directory belongs to this user and others may not write to it.
pub(super) fn check_dir(dir: &Path) -> Result<(), JournalError> {
    let meta = std::fs::symlink_metadata(dir)
        .map_err(|source| JournalError::Io { path: dir.to_path_buf(), source })?;
    let distrust = |what| JournalError::NotTrusted { path: dir.to_path_buf(), what };
    if !meta.is_dir() {
        return Err(distrust("not a directory"));
    }
    owned_by_us(&meta).map_err(distrust)
}

/// Opens a regular file of this user's. Links are not followed.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> Result<File, JournalError> {
    let fail = |source| JournalError::Io { path: path.to_path_buf(), source };
    let file = options
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK)
        .open(path)
        .map_err(fail)?;
    let meta = file.metadata().map_err(fail)?;
    let distrust = |what| JournalError::NotTrusted { path: path.to_path_buf(), what };
    if !meta.is_file() {
        return Err(distrust("not a regular file"));
    }
    owned_by_us(&meta).map_err(distrust)?;
    Ok(file)
}

/// Replaces a file as a whole: written beside it, on disk, then renamed. The new file is open and, on request of
/// `before_rename`, locked by then.
pub(super) fn replace(
    path: &Path,
    bytes: &[u8],
    before_rename: impl FnOnce(&File) -> io::Result<()>,
) -> Result<File, JournalError> {
    use std::io::Write as _;
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // A name of its own, since two may replace the same file at once.
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{n}.new", std::process::id()));
    let fail = |source| JournalError::Io { path: beside.clone(), source };
    // Of a program of the same number that was interrupted here.
    let _ = std::fs::remove_file(&beside);
    let mut file = open(&beside, OpenOptions::new().read(true).append(true).create_new(true).mode(0o600))?;
    file.write_all(bytes).map_err(fail)?;
    file.sync_all().map_err(fail)?;
    before_rename(&file).map_err(fail)?;
    std::fs::rename(&beside, path).map_err(fail)?;
    if let Some(dir) = path.parent() {
        sync_dir(dir)?;
    }
    Ok(file)
}

/// Brings a directory's names to disk.
pub(super) fn sync_dir(dir: &Path) -> Result<(), JournalError> {
    File::open(dir)
        .and_then(|d| d.sync_all())
        .map_err(|source| JournalError::Io { path: dir.to_path_buf(), source })
}
