//! One sysfs attribute: read it, write it, know whether it can be written. No meaning is attached here.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Attributes are one page at most (`Documentation/filesystems/sysfs.rst`); anything longer is not one.
const PAGE: u64 = 4096;

/// Why an attribute could not be read or written: the file, the value, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}{}", path.display(), value.as_ref().map(|v| format!("writing {v:?}: ")).unwrap_or_default(), explain(source))]
pub struct AttrError {
    /// The file.
    pub path: PathBuf,
    /// What was to be written; None when reading.
    pub value: Option<String>,
    /// The kernel's answer.
    pub source: io::Error,
}

impl AttrError {
    /// The errno, where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

/// Reads an attribute: trailing blanks and newline removed, control characters replaced (see [`clean`]).
///
/// # Errors
/// Whatever open and read answer: ENOENT for an attribute this device lacks, EINVAL for one that is not set up
/// (`wbt_lat_usec` of a bio-based device), ENODEV after the device went.
pub fn read(path: &Path) -> Result<String, AttrError> {
    let bytes =
        read_bytes(path).map_err(|source| AttrError { path: path.to_path_buf(), value: None, source })?;
    Ok(clean(&bytes).trim_end().to_owned())
}

/// Reads a binary attribute, such as a page of vital product data.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Non-blocking, so that a hostile tree's fifo can not hold the program.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)?;
    let mut bytes = Vec::with_capacity(64);
    file.take(PAGE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads an attribute that may be missing: None for any error.
#[must_use]
pub fn read_opt(path: &Path) -> Option<String> {
    read(path).ok()
}

/// Reads a number; None if missing or not a number.
#[must_use]
pub fn read_u64(path: &Path) -> Option<u64> {
    read(path).ok()?.trim().parse().ok()
}

/// Reads a flag: `0` is false, another number true; None if missing or not a number.
#[must_use]
pub fn read_flag(path: &Path) -> Option<bool> {
    read_u64(path).map(|v| v != 0)
}

/// Writes an attribute, in one `write` as sysfs wants it. Opens for writing only and never creates or truncates: on
/// sysfs a creating open of a missing file answers EACCES, which would hide the ENOENT.
///
/// # Errors
/// The kernel's refusal (EINVAL, EBUSY...) or the lack of rights (EACCES, EPERM, EROFS).
pub fn write(path: &Path, value: &str) -> Result<(), AttrError> {
    let fail = |source| AttrError { path: path.to_path_buf(), value: Some(value.to_owned()), source };
    let mut file: File =
        OpenOptions::new().write(true).custom_flags(libc::O_CLOEXEC).open(path).map_err(fail)?;
    let n = file.write(value.as_bytes()).map_err(fail)?;
    if n == value.len() {
        Ok(())
    } else {
        Err(fail(io::Error::other(format!("only {n} of {} bytes were taken", value.len()))))
    }
}

/// Whether the file's mode lets its owner write: what the kernel says of the attribute, whoever asks. Rights of this
/// process are another question, answered by [`may_write`].
#[must_use]
pub fn writable_by_mode(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o200 != 0)
}

/// Whether this process may write the file, found by opening it for writing.
///
/// # Errors
/// The answer of open: EACCES, EPERM, EROFS (`/sys` mounted read-only, as in containers).
pub fn may_write(path: &Path) -> Result<(), AttrError> {
    match OpenOptions::new().write(true).custom_flags(libc::O_CLOEXEC).open(path) {
        Ok(_) => Ok(()),
        Err(source) => Err(AttrError { path: path.to_path_buf(), value: None, source }),
    }
}

/// Text from a device or the kernel, made safe to show: invalid UTF-8 and control characters become U+FFFD (escape
/// sequences must never reach the terminal), line ends and tabs become blanks.
#[must_use]
pub fn clean(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| match c {
            '\n' | '\t' | '\r' => ' ',
            c if is_unsafe(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// Control characters (C0, DEL, C1) and the bidirectional and invisible format characters that can make a line
/// read as something else.
pub(super) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}

/// An I/O error of sysfs in plain words, with what to do about it.
#[must_use]
pub fn explain(e: &io::Error) -> String {
    let words = match e.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => "not permitted; run as root (sudo, doas or run0)",
        Some(libc::EROFS) => "mounted read-only, as in a container; change it from the host",
        Some(libc::EINVAL) => "the kernel does not take this value",
        Some(libc::ENOENT) => "no such attribute; this device does not have it, or is gone",
        Some(libc::ENODEV | libc::ENXIO) => "the device or its scheduler is gone",
        Some(libc::EBUSY) => "busy; the device is being reconfigured, try again",
        Some(libc::ECANCELED) => "not written: waiting for the queue was given up",
        Some(libc::ENOMEM) => "no memory for that many requests; ask for fewer",
        _ => return e.to_string(),
    };
    let code = e.to_string();
    format!("{words} ({})", code.split(" (os error").next().unwrap_or(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn device_text_never_carries_an_escape() {
        assert_eq!(clean(b"\x48\x38\x47\x34\x61\x92\n"), "H8G4a\u{fffd} ");
        assert_eq!(clean(b"DISK\x1b[2J"), "DISK\u{fffd}[2J");
    }

    #[test]
    fn a_missing_attribute_is_enoent_for_a_write() {
        let dir = tempfile::tempdir().unwrap();
        let e = write(&dir.path().join("nothing"), "1").unwrap_err();
        assert_eq!(e.errno(), Some(libc::ENOENT));
        assert!(e.to_string().contains("nothing") && e.to_string().contains("\"1\""), "{e}");
        assert!(!dir.path().join("nothing").exists(), "a write created the file");
    }

    #[test]
    fn a_fifo_in_a_captured_tree_does_not_hold_the_reader() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &p, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(read(&p).unwrap(), "");
    }

    proptest! {
        #[test]
        fn clean_leaves_nothing_a_terminal_would_obey(bytes: Vec<u8>) {
            prop_assert!(clean(&bytes).chars().all(|c| !c.is_control()));
        }

        #[test]
        fn clean_keeps_printable_text(s in "[ -~]*") {
            prop_assert_eq!(clean(s.as_bytes()), s);
        }
    }
}
