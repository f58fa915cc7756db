//! Who uses a device: mounts, swap, backing files of loop devices. Read from `/proc`, matched by device number and,
//! where a file system hides it (btrfs mounts carry an anonymous number), by the node that was mounted.

use std::path::{Path, PathBuf};

use procfs::process::MountInfo;

use super::attr::clean;
use super::device::{DevNum, Usage, UsageKind};
use super::root::SysRoot;

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    devnum: DevNum,
    /// What was mounted, as text: a node, or a word such as `tmpfs`.
    source: String,
    point: PathBuf,
}

/// One swap area.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Swap {
    path: PathBuf,
    is_file: bool,
}

/// What `/proc` says about users of block devices, at one moment and in this mount namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
}

impl Users {
    /// Reads mountinfo and swaps. What can not be read is taken as empty: the list is for showing, never a licence
    /// to write.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let text = |file| std::fs::read(root.proc(file)).unwrap_or_default();
        Self::parse(&text("self/mountinfo"), &text("swaps"))
    }

    /// From the texts of mountinfo and swaps; lines that can not be parsed are skipped.
    #[must_use]
    pub fn parse(mountinfo: &[u8], swaps: &[u8]) -> Self {
        let mounts = String::from_utf8_lossy(mountinfo)
            .lines()
            .filter_map(|line| MountInfo::from_line(line).ok())
            .filter_map(|m| {
                Some(Mount {
                    devnum: DevNum::parse(&m.majmin)?,
                    source: unescape(m.mount_source.as_deref().unwrap_or_default()),
                    point: PathBuf::from(unescape(&m.mount_point.to_string_lossy())),
                })
            })
            .collect();
        let swaps = String::from_utf8_lossy(swaps)
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split_ascii_whitespace();
                let path = PathBuf::from(unescape(fields.next()?));
                Some(Swap { path, is_file: fields.next()? == "file" })
            })
            .collect();
        Self { mounts, swaps }
    }

    /// Mounts and swap on the device or partition of this number and these nodes.
    #[must_use]
    pub fn of(&self, devnum: Option<DevNum>, nodes: &[&Path]) -> Vec<Usage> {
        let mut found = Vec::new();
        for m in &self.mounts {
            if Some(m.devnum) == devnum || nodes.iter().any(|n| Path::new(&m.source) == *n) {
                push_unique(&mut found, UsageKind::Mount, show(&m.point));
            }
        }
        for s in &self.swaps {
            let here =
                if s.is_file { self.holding(&s.path) == devnum } else { nodes.contains(&s.path.as_path()) };
            if here && (devnum.is_some() || !s.is_file) {
                let what = if s.is_file { show(&s.path) } else { "swap".to_owned() };
                push_unique(&mut found, UsageKind::Swap, what);
            }
        }
        found
    }

    /// The device number of the file system that an absolute path is on, by the longest mount point above it.
    #[must_use]
    pub fn holding(&self, path: &Path) -> Option<DevNum> {
        // The last of equal length wins: later mounts cover earlier ones.
        self.mounts
            .iter()
            .filter(|m| path.starts_with(&m.point))
            .max_by_key(|m| m.point.components().count())
            .map(|m| m.devnum)
    }
}

fn push_unique(list: &mut Vec<Usage>, kind: UsageKind, what: String) {
    let usage = Usage { kind, what };
    if !list.contains(&usage) {
        list.push(usage);
    }
}

fn show(path: &Path) -> String {
    clean(path.as_os_str().as_encoded_bytes())
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

    const MOUNTS: &[u8] = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        bad line\n\
        33 1 0:26 / /mnt/btrfs rw,relatime - btrfs /dev/pmem0 rw\n\
        34 1 259:8 / /mnt/a\\040b\\134c ro - ext4 /dev/loop1p1 ro\n";
    const SWAPS: &[u8] =
        b"Filename Type Size Used Priority\n/swap\\040file file 4088 0 -2\n/dev/sda2 partition 1 0 5\n";

    fn words(u: &[Usage]) -> Vec<&str> {
        u.iter().map(|u| u.what.as_str()).collect()
    }

    #[test]
    fn mounts_match_by_number_or_by_node() {
        let users = Users::parse(MOUNTS, SWAPS);
        let n = |major, minor| Some(DevNum { major, minor });
        assert_eq!(words(&users.of(n(8, 1), &[Path::new("/dev/sda1")])), ["/", "/swap file"]);
        assert_eq!(words(&users.of(n(259, 7), &[Path::new("/dev/pmem0")])), ["/mnt/btrfs"]);
        assert_eq!(words(&users.of(n(259, 8), &[])), ["/mnt/a b\\c"]);
        assert_eq!(words(&users.of(n(8, 2), &[Path::new("/dev/sda2")])), ["swap"]);
        assert!(users.of(n(8, 16), &[Path::new("/dev/sdb")]).is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(m: Vec<u8>, s: Vec<u8>) {
            let _ = Users::parse(&m, &s).of(None, &[]);
        }

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
