//! Scratch files: without a name, so that they go with their last descriptor however the program ends, and written in
//! full with data that can not be compressed. A file that was only allocated would be read as zeroes from memory,
//! without touching the device (the file system knows that it was never written).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{Advice, fadvise, statvfs};

use crate::units::Bytes;

/// At most one part in this many of the free space is taken.
const SHARE_OF_FREE: u64 = 10;
/// This much is always left.
pub const ALWAYS_LEFT: Bytes = Bytes(1 << 30);
/// The step in which the largest size is told.
const MIB: u64 = 1 << 20;
/// What is written at once while filling.
const CHUNK: usize = 1 << 20;
/// Chunks between two syncs while filling, so that progress is of the medium and not of the page cache.
const CHUNKS_PER_SYNC: usize = 16;

/// What the short-lived names of scratch files begin with; the process and a number follow.
const STEM: &str = ".blktune-";
/// Makes the short-lived names of scratch files differ.
static NEXT_FILE: AtomicU32 = AtomicU32::new(0);

/// Why there is no scratch file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {doing}: {source}", path.display())]
pub struct ScratchError {
    /// The directory, or the file while it has a name.
    pub path: PathBuf,
    /// What was being done.
    pub doing: &'static str,
    /// The kernel's answer.
    pub source: io::Error,
}

/// What an unprivileged user may take in the file system of `dir`, also for root: its reserve stays a reserve.
///
/// # Errors
/// The answer of statvfs.
pub fn free_space(dir: &Path) -> io::Result<Bytes> {
    let s = statvfs(dir)?;
    Ok(Bytes(s.f_bavail.saturating_mul(s.f_frsize)))
}

/// The largest scratch file for that much free space: a tenth of it at most and a GiB always left, in whole MiB.
#[must_use]
pub fn largest(free: Bytes) -> Bytes {
    let most = (free.0 / SHARE_OF_FREE).min(free.0.saturating_sub(ALWAYS_LEFT.0));
    Bytes(most / MIB * MIB)
}

/// The byte stream that scratch files are filled with at `offset`, which is a multiple of 8: incompressible, and the same for
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
pub fn nameless(dir: &Path) -> Result<File, ScratchError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    // O_EXCL with O_TMPFILE: can never be given a name later either.
    let nameless = options.clone().custom_flags(libc::O_TMPFILE | libc::O_EXCL).open(dir);
    match nameless {
        // File systems without O_TMPFILE; an old kernel takes the flag for O_DIRECTORY and says EISDIR.
        Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) => {
            let made = named_for_a_moment(dir, &options);
            // After ours, so that nothing goes where nothing may be made.
            remove_left_overs(dir);
            made
        }
        done => done.map_err(at(dir, "making a scratch file")),
    }
}

/// A file that has a name until it is open: file systems without `O_TMPFILE` (vfat, NFS, many of FUSE). A kill within that
/// moment leaves an empty file, which [`remove_left_overs`] takes.
fn named_for_a_moment(dir: &Path, options: &OpenOptions) -> Result<File, ScratchError> {
    let n = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
    let path = dir.join(format!("{STEM}{}-{n}", std::process::id()));
    let mut options = options.clone();
    // `create_new` follows no link and takes no file that is there.
    let file = options.create_new(true).open(&path).map_err(at(&path, "making a scratch file"))?;
    std::fs::remove_file(&path).map_err(at(&path, "taking the scratch file's name away"))?;
    // Some file systems over a network lose a file with its name; better told now than as a failed run.
    let mut read = [0; 1];
    file.write_all_at(b"x", 0)
        .and_then(|()| file.read_exact_at(&mut read, 0))
        .and_then(|()| file.set_len(0))
        .map_err(at(dir, "keeping a file open without a name, which this file system can not do"))?;
    Ok(file)
}

/// Removes what killed programs left in `dir`: plain files of ours by that name, of this user, whose process is gone.
fn remove_left_overs(dir: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let parts = name.to_str().and_then(|n| n.strip_prefix(STEM)?.split_once('-'));
        let Some((Ok(pid), Ok(_))) = parts.map(|(p, n)| (p.parse::<i32>(), n.parse::<u32>())) else {
            continue;
        };
        let Some(pid) = rustix::process::Pid::from_raw(pid) else { continue };
        let gone = rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH);
        // Of the entry itself: a link is none of ours.
        let ours = entry.metadata().is_ok_and(|m| m.is_file() && m.uid() == me);
        if gone && ours {
            // What can not be removed stays for the next.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Writes all of a scratch file, brings it to the medium and drops it from the page cache, so that reads are of the
/// medium. `progress` hears how much is done, and may stop it.
///
/// # Errors
/// ENOSPC, EFBIG, EIO: the answers of write and sync. [`io::ErrorKind::Interrupted`] if it was stopped.
pub fn fill(
    mut file: &File,
    size: Bytes,
    progress: &mut dyn FnMut(Bytes) -> ControlFlow<()>,
) -> io::Result<()> {
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
            if progress(Bytes(done)).is_break() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }
    file.sync_all()?;
    // Otherwise the first reads would be of memory. Only clean pages can be dropped, hence after the sync.
    fadvise(file, 0, None, Advice::DontNeed)?;
    if progress(size).is_break() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

fn at(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> ScratchError {
    let path = path.to_path_buf();
    move |source| ScratchError { path, doing, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_o_tmpfile_the_name_is_gone_before_the_file_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        let file = named_for_a_moment(dir.path(), &options).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let meta = file.metadata().unwrap();
        assert_eq!((meta.nlink(), meta.len(), meta.mode() & 0o777), (0, 0, 0o600));
    }

    #[test]
    fn what_a_killed_program_left_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let (gone, here) = (ended.id(), std::process::id());
        let left = format!("{STEM}{gone}-0");
        let stay = [
            format!("{STEM}{here}-0"),
            format!("{STEM}{gone}"),
            format!("{STEM}{gone}-x"),
            format!("{STEM}x-0"),
            format!("{STEM}-1-0"),
            format!("x{STEM}{gone}-0"),
        ];
        for name in stay.iter().chain([&left]) {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let target = dir.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join(format!("{STEM}{gone}-1"))).unwrap();
        std::fs::create_dir(dir.path().join(format!("{STEM}{gone}-2"))).unwrap();
        remove_left_overs(dir.path());
        assert!(!dir.path().join(&left).exists());
        assert!(stay.iter().all(|name| dir.path().join(name).exists()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), stay.len() + 3);
        assert_eq!(std::fs::read_to_string(target).unwrap(), "kept");
    }

    #[test]
    fn a_tenth_at_most_and_a_gibibyte_left() {
        const GIB: u64 = 1 << 30;
        let cases = [
            (100 * GIB, 10 * GIB),
            (11 * GIB, (11 * GIB / 10) >> 20 << 20),
            (GIB + (64 << 20), 64 << 20),
            (GIB, 0),
            (0, 0),
        ];
        for (free, most) in cases {
            assert_eq!(largest(Bytes(free)), Bytes(most), "{free}");
        }
    }

    #[test]
    fn filling_stops_when_it_is_told_to() {
        let dir = tempfile::tempdir().unwrap();
        let file = nameless(dir.path()).unwrap();
        let e = fill(&file, Bytes(64 << 20), &mut |_| ControlFlow::Break(())).unwrap_err();
        assert_eq!(e.kind(), io::ErrorKind::Interrupted);
        assert_eq!(file.metadata().unwrap().len(), 16 << 20);
    }

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
        let file = nameless(dir.path()).unwrap();
        let size = Bytes(20 * (1 << 20) + 512);
        let mut seen = Vec::new();
        fill(&file, size, &mut |done| {
            seen.push(done);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen, [Bytes(16 << 20), size]);
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
        let e = nameless(Path::new("not/there")).unwrap_err();
        assert_eq!(e.source.raw_os_error(), Some(libc::ENOENT));
        assert!(e.to_string().contains("not/there"), "{e}");
    }
}
