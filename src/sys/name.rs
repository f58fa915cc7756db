//! The kernel name of a block device, checked before any path is built of it.

use std::fmt;

use serde::{Serialize, Serializer};

use super::attr::is_unsafe;

/// A block device's kernel name (`sda`, `nvme0n1`, `cciss/c0d0`).
///
/// Kept in the spelling of sysfs, where the kernel writes `!` for `/`; shown in the spelling of
/// `/proc/diskstats` and `/dev`. A value of this type is a single safe path component: not empty, not `.` or
/// `..`, no `/`, no NUL, no control characters, none that make a line read as something else.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelName(String);

impl KernelName {
    /// Takes either spelling. None if the text can not be the name of a block device.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let sysfs = text.replace('/', "!");
        let parts_ok = text.split('/').all(|p| !p.is_empty() && p != "." && p != "..");
        let chars_ok = sysfs.chars().all(|c| !is_unsafe(c));
        // DISK_NAME_LEN is 32; partitions and hostile trees may be longer, but never than a file name.
        let length_ok = (1..=255).contains(&sysfs.len());
        (parts_ok && chars_ok && length_ok && sysfs != "." && sysfs != "..").then_some(Self(sysfs))
    }

    /// The name of the directory in `/sys/block`: `cciss!c0d0`.
    #[must_use]
    pub fn sysfs(&self) -> &str {
        &self.0
    }

    /// The name as `/dev` and `/proc/diskstats` spell it: `cciss/c0d0`.
    #[must_use]
    pub fn kernel(&self) -> String {
        self.0.replace('!', "/")
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.kernel())
    }
}

impl fmt::Debug for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelName({})", self.0)
    }
}

impl Serialize for KernelName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.kernel())
    }
}

/// Order of names as a person expects it: runs of digits compare as numbers (`sd2` before `sd10`), and letters
/// behind a common stem first by length (`sdz` before `sdaa`).
#[must_use]
pub fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    let mut a = runs(a);
    let mut b = runs(b);
    loop {
        match (a.next(), b.next()) {
            (None, None) => return std::cmp::Ordering::Equal,
            (None, Some(_)) => return std::cmp::Ordering::Less,
            (Some(_), None) => return std::cmp::Ordering::Greater,
            (Some(x), Some(y)) => {
                let order = if is_number(x) && is_number(y) {
                    let (nx, ny) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
                    nx.len().cmp(&ny.len()).then_with(|| nx.cmp(ny)).then_with(|| x.len().cmp(&y.len()))
                } else {
                    letters(x).cmp(&letters(y))
                };
                if order.is_ne() {
                    return order;
                }
            }
        }
    }
}

/// A run that is no number, as it sorts: by its stem, then by how many letters follow, then by those. Drivers that
/// count in letters (`sda` to `sdzzz`, `vda`, `xvda`) have a stem; any other run is a stem of its own. One key for
/// both, or the order would not be transitive.
fn letters(s: &str) -> (&str, usize, &str) {
    let stem = ["sd", "vd", "hd", "xvd"].into_iter().find(|stem| s.starts_with(stem));
    let (stem, rest) = s.split_at(stem.map_or(s.len(), str::len));
    (stem, rest.len(), rest)
}

fn is_number(s: &str) -> bool {
    s.as_bytes().first().is_some_and(u8::is_ascii_digit)
}

fn runs(mut s: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let first = s.as_bytes().first()?.is_ascii_digit();
        let end = s.bytes().position(|b| b.is_ascii_digit() != first).unwrap_or(s.len());
        let (run, rest) = s.split_at(end);
        s = rest;
        Some(run)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn either_spelling_is_one_name() {
        let a = KernelName::new("cciss/c0d0").unwrap();
        let b = KernelName::new("cciss!c0d0").unwrap();
        assert_eq!(a, b);
        assert_eq!(a.sysfs(), "cciss!c0d0");
        assert_eq!(a.to_string(), "cciss/c0d0");
    }

    #[test]
    fn what_could_leave_the_directory_is_no_name() {
        for bad in ["", ".", "..", "/", "../sda", "sda/..", "a//b", "sd\u{1b}[2J", "sd\0a", "sd\u{202e}a"] {
            assert!(KernelName::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn order_is_natural() {
        let mut names =
            ["sdaa", "sdb", "nvme10n1", "nvme2n1", "sda10", "sda2", "sda", "loop1", "loop10", "loop2"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["loop1", "loop2", "loop10", "nvme2n1", "nvme10n1", "sda", "sda2", "sda10", "sdb", "sdaa"]
        );
    }

    proptest! {
        #[test]
        fn any_accepted_name_is_one_path_component(s in ".*") {
            if let Some(n) = KernelName::new(&s) {
                let p = std::path::Path::new(n.sysfs());
                prop_assert_eq!(p.components().count(), 1);
                prop_assert!(matches!(p.components().next(), Some(std::path::Component::Normal(_))));
            }
        }

        #[test]
        fn natural_order_is_antisymmetric(a in "[a-z0-9]{0,8}", b in "[a-z0-9]{0,8}") {
            prop_assert_eq!(natural_order(&a, &b), natural_order(&b, &a).reverse());
        }

        #[test]
        fn natural_order_is_transitive(mut v in proptest::collection::vec("(sd|vd|a)?[a-z]{0,2}[0-9]{0,3}", 3)) {
            v.sort_by(|a, b| natural_order(a, b));
            prop_assert!(natural_order(&v[0], &v[2]).is_le());
        }
    }
}
