//! Mounts and swap areas, as the kernel lists them in `/proc`.

use std::path::{Path, PathBuf};

use procfs::process::MountInfo;

use super::device::DevNum;

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The file system's number: the device's, or one that the file system made up (btrfs).
    pub(super) devnum: DevNum,
    /// What was mounted, as text: a node, or a word such as `tmpfs`.
    pub(super) source: String,
    /// Where.
    pub(super) point: PathBuf,
    /// All of the file system, not a directory of it (a bind mount).
    pub(super) whole: bool,
}

impl Mount {
    /// The node that was mounted.
    pub(super) fn node(&self) -> Option<&Path> {
        Some(Path::new(&self.source)).filter(|p| p.is_absolute())
    }
}

/// One swap area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Swap {
    pub(super) path: PathBuf,
    pub(super) is_file: bool,
}

/// Parses mountinfo; lines that can not be parsed are skipped.
pub(super) fn mounts(mountinfo: &[u8]) -> Vec<Mount> {
    String::from_utf8_lossy(mountinfo)
        .lines()
        .filter_map(|line| MountInfo::from_line(line).ok())
        .filter_map(|m| {
            Some(Mount {
                devnum: DevNum::parse(&m.majmin)?,
                source: unescape(m.mount_source.as_deref().unwrap_or_default()),
                point: PathBuf::from(unescape(&m.mount_point.to_string_lossy())),
                whole: m.root == "/",
            })
        })
        .collect()
}

/// Parses `/proc/swaps`.
pub(super) fn swaps(text: &[u8]) -> Vec<Swap> {
    String::from_utf8_lossy(text)
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let path = PathBuf::from(unescape(fields.next()?));
            Some(Swap { path, is_file: fields.next()? == "file" })
        })
        .collect()
}

/// Undoes the kernel's octal escapes of blank, tab, newline and backslash (`\040`) in `/proc` files.
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let octal = bytes.get(i + 1..i + 4).filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match (bytes[i], octal) {
            (b'\\', Some(d)) if d[0] <= b'3' => {
                out.push((d[0] - b'0') * 64 + (d[1] - b'0') * 8 + (d[2] - b'0'));
                i += 4;
            }
            (b, _) => {
                out.push(b);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escapes_of_the_kernel_come_back(s in "[ -~]{0,20}") {
            let escaped: String = s.chars().map(|c| match c {
                ' ' => "\\040".to_owned(),
                '\\' => "\\134".to_owned(),
                c => c.to_string(),
            }).collect();
            prop_assert_eq!(unescape(&escaped), s);
        }
    }
}
