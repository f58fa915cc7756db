//! The kernel name of a block device, checked before any path is built of it.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::attr::is_unsafe;

/// A block device's kernel name (`sda`, `nvme0n1`, `cciss/c0d0`).
///
/// Kept in the spelling of sysfs, where the kernel writes `!` for `/`; shown in the spelling of
/// `/proc/diskstats` and `/dev`. A value of this type is a single safe path component: not empty, not `.` or
/// `..`, no `/`, no NUL, no control characters, none that make a line read as something else. A copy shares the text:
/// names are kept for every row of every sample.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelName(Arc<str>);

impl KernelName {
    /// Takes either spelling. None if the text can not be the name of a block device.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let sysfs = text.replace('/', "!");
        let parts_ok = text.split('/').all(|p| !p.is_empty() && p != "." && p != "..");
        let chars_ok = sysfs.chars().all(|c| !is_unsafe(c));
        // DISK_NAME_LEN is 32; partitions and hostile trees may be longer, but never than a file name.
        let length_ok = (1..=255).contains(&sysfs.len());
        (parts_ok && chars_ok && length_ok && sysfs != "." && sysfs != "..").then(|| Self(sysfs.into()))
    }

    /// Whether this is the name that the text spells, in either spelling. Makes nothing, unlike a comparison with
    /// [`KernelName::new`].
    #[must_use]
    pub fn is_spelled(&self, text: &str) -> bool {
        let as_sysfs = text.bytes().map(|b| if b == b'/' { b'!' } else { b });
        self.0.len() == text.len() && self.0.bytes().eq(as_sysfs)
    }

    /// Whether both are one piece of text in memory: equal without a look at the letters. False says nothing.
    #[must_use]
    pub fn shares_text(&self, other: &KernelName) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether this would be the name of a partition of `whole`: the number behind the name, with a `p` between where
    /// the name ends with a digit (`bdev_name` in `block/genhd.c`). Only a guess (`xvda1` may be a whole device) unless
    /// the row of `whole` is right before it in `/proc/diskstats`, where the kernel lists partitions behind their device.
    #[must_use]
    pub fn could_be_partition_of(&self, whole: &KernelName) -> bool {
        let Some(rest) = self.0.strip_prefix(&*whole.0) else { return false };
        let number =
            if whole.0.ends_with(|c: char| c.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The head of an NVMe multipath device whose hidden path has this name: `nvme3n1` of `nvme3c2n1`
    /// (`nvme_mpath_set_disk_name` in `drivers/nvme/host/multipath.c`). None for any other name.
    #[must_use]
    pub fn multipath_head(&self) -> Option<KernelName> {
        let rest = self.0.strip_prefix("nvme")?;
        let (subsystem, rest) = rest.split_once('c')?;
        let (controller, namespace) = rest.split_once('n')?;
        let numbers = [subsystem, controller, namespace];
        let all = numbers.iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        all.then(|| KernelName(format!("nvme{subsystem}n{namespace}").into()))
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
        if self.0.contains('!') { f.pad(&self.kernel()) } else { f.pad(&self.0) }
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
    fn a_name_is_known_by_either_spelling_and_by_nothing_else() {
        let n = KernelName::new("cciss/c0d0").unwrap();
        assert!(n.is_spelled("cciss/c0d0") && n.is_spelled("cciss!c0d0"));
        assert!(!n.is_spelled("cciss/c0d") && !n.is_spelled("cciss/c0d00") && !n.is_spelled("cciss.c0d0"));
    }

    #[test]
    fn a_partition_is_told_from_a_longer_name() {
        let name = |t| KernelName::new(t).unwrap();
        for (whole, part) in
            [("sda", "sda1"), ("nvme0n1", "nvme0n1p12"), ("cciss/c0d0", "cciss/c0d0p1"), ("loop1", "loop1p1")]
        {
            assert!(name(part).could_be_partition_of(&name(whole)), "{part}");
        }
        for (whole, other) in [
            ("loop1", "loop10"),
            ("sda", "sdaa"),
            ("sda", "sda"),
            ("nvme0n1", "nvme0n10"),
            ("mmcblk0", "mmcblk0boot0"),
            ("dm-1", "dm-1p"),
            ("xvdb", "xvda1"),
        ] {
            assert!(!name(other).could_be_partition_of(&name(whole)), "{other}");
        }
    }

    #[test]
    fn a_hidden_path_knows_its_head() {
        let head = |t| KernelName::new(t).unwrap().multipath_head().map(|h| h.kernel());
        assert_eq!(head("nvme3c2n1").as_deref(), Some("nvme3n1"));
        assert_eq!(head("nvme10c12n4").as_deref(), Some("nvme10n4"));
        for other in ["nvme0n1", "nvme0n1p1", "sdc1n2", "nvme0c0", "nvmecn", "nvme0c0n1p1"] {
            assert_eq!(head(other), None, "{other}");
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
