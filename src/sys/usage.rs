//! Who uses a device: mounts, swap, backing files of loop devices, processes that have it open. Read from `/proc`,
//! matched by device number and, where a file system hides it (btrfs mounts carry an anonymous number), by the node.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::attr::{self, clean};
use super::device::{DevNum, Usage, UsageKind};
use super::elsewhere::Elsewhere;
use super::mounts::{self, Mount};
use super::name::{KernelName, natural_order};
use super::root::SysRoot;

/// Everything that was seen to use block devices at one moment, found by number or node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// In the order in which they are shown.
    all: Vec<Usage>,
    by_number: HashMap<DevNum, Vec<usize>>,
    by_node: HashMap<PathBuf, Vec<usize>>,
    all_in_sight: bool,
    out_of_reach: Vec<(u32, String)>,
}

/// A loop device and the file behind it, as the kernel names it.
pub type LoopFile = (KernelName, String);

impl Users {
    /// Reads everything. What can not be read is left out, see [`Users::complete`].
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        Self::with(root, &Elsewhere::read(root), &loop_files(root))
    }

    /// Reads the cheap part, own mounts and swap, and joins to it what was seen of other processes and of loop devices.
    #[must_use]
    pub fn with(root: &SysRoot, elsewhere: &Elsewhere, loops: &[LoopFile]) -> Self {
        let text = |file| std::fs::read(root.proc(file)).unwrap_or_default();
        Self::parse(&text("self/mountinfo"), &text("swaps"), elsewhere, loops)
    }

    /// The same from the texts of mountinfo and swaps; lines that can not be parsed are skipped.
    #[must_use]
    pub fn parse(mountinfo: &[u8], swaps: &[u8], elsewhere: &Elsewhere, loops: &[LoopFile]) -> Self {
        let own = mounts::mounts(mountinfo);
        let mut users = Self {
            all_in_sight: elsewhere.all_in_sight,
            out_of_reach: elsewhere.out_of_reach.clone(),
            ..Self::default()
        };
        // The last at a point covers those before it.
        let at: HashMap<&Path, &Mount> = own.iter().map(|m| (m.point.as_path(), m)).collect();
        let below = |path: &Path| path.ancestors().find_map(|dir| at.get(dir).copied());
        for m in &own {
            users.add_on(m, Usage::new(UsageKind::Mount, show(&m.point)));
        }
        for s in mounts::swaps(swaps) {
            if !s.is_file {
                users.add(None, Some(&s.path), Usage::new(UsageKind::Swap, "swap"));
            } else if let Some(m) = below(&s.path) {
                users.add_on(m, Usage::new(UsageKind::Swap, show(&s.path)));
            }
        }
        for (name, file) in loops {
            let usage = Usage::new(UsageKind::Loop, name.kernel()).with(clean(file.as_bytes()));
            let path = Path::new(file);
            if SysRoot::below_dev(path).is_some() {
                users.add(None, Some(path), usage);
            } else if let Some(m) = below(path) {
                users.add_on(m, usage);
            }
        }
        users.add_mounts_of_others(&own, elsewhere);
        for o in &elsewhere.opened {
            let usage = Usage::new(UsageKind::Open, o.who.clone());
            let usage = match o.writes {
                Some(true) => usage.with("for writing"),
                Some(false) => usage.with("for reading"),
                None => usage,
            };
            let node = if o.devnum.is_none() { Some(o.node.as_path()) } else { None };
            users.add(o.devnum, node, usage);
        }
        users
    }

    /// A namespace begins as a copy of another one, and containers mount files and directories of the host's disks: what
    /// is mounted at the same place already, and directories of what is mounted whole, are not said again.
    fn add_mounts_of_others(&mut self, own: &[Mount], elsewhere: &Elsewhere) {
        let mut at: HashSet<(DevNum, &Path)> = own.iter().map(|m| (m.devnum, m.point.as_path())).collect();
        let everyone = own.iter().chain(elsewhere.mounts.iter().map(|(_, m)| m));
        let mounted: HashSet<DevNum> = everyone.filter(|m| m.whole).map(|m| m.devnum).collect();
        for (who, m) in &elsewhere.mounts {
            if (m.whole || !mounted.contains(&m.devnum)) && at.insert((m.devnum, m.point.as_path())) {
                let usage = Usage::new(UsageKind::Mount, show(&m.point));
                self.add_on(m, usage.with(format!("in the namespace of {who}")));
            }
        }
    }

    fn add_on(&mut self, mount: &Mount, usage: Usage) {
        self.add(Some(mount.devnum), mount.node(), usage);
    }

    fn add(&mut self, devnum: Option<DevNum>, node: Option<&Path>, usage: Usage) {
        let i = self.all.len();
        self.all.push(usage);
        if let Some(devnum) = devnum {
            self.by_number.entry(devnum).or_default().push(i);
        }
        if let Some(node) = node {
            self.by_node.entry(node.to_path_buf()).or_default().push(i);
        }
    }

    /// Users of the device or partition of this number and these nodes.
    #[must_use]
    pub fn of(&self, devnum: Option<DevNum>, nodes: &[&Path]) -> Vec<Usage> {
        let numbered = devnum.and_then(|n| self.by_number.get(&n));
        let mut found: Vec<usize> =
            nodes.iter().filter_map(|n| self.by_node.get(*n)).chain(numbered).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        let mut users: Vec<Usage> = Vec::with_capacity(found.len());
        for i in found {
            if !users.contains(&self.all[i]) {
                users.push(self.all[i].clone());
            }
        }
        users
    }

    /// A host on which everything was looked at and nobody uses anything.
    #[cfg(test)]
    pub(crate) fn of_nobody() -> Self {
        Self { all_in_sight: true, ..Self::default() }
    }

    /// The same with processes that may not be looked into.
    #[cfg(test)]
    pub(crate) fn beside(mut self, processes: &[(u32, &str)]) -> Self {
        self.out_of_reach = processes.iter().map(|(pid, name)| (*pid, (*name).to_owned())).collect();
        self
    }

    /// Whether everything that could use a device was looked at: false without the right to look into other users'
    /// processes, in a container, in a captured tree, and where other processes were not looked at to save time.
    #[must_use]
    pub const fn complete(&self) -> bool {
        self.all_in_sight && self.out_of_reach.is_empty()
    }

    /// Whether `/proc` shows every process of the host: not in a container, and not where it hides other users'.
    #[must_use]
    pub const fn all_in_sight(&self) -> bool {
        self.all_in_sight
    }

    /// Processes that may not be looked into, number and name: what they have open is not known.
    #[must_use]
    pub fn out_of_reach(&self) -> &[(u32, String)] {
        &self.out_of_reach
    }
}

/// The bound loop devices with their files.
#[must_use]
pub fn loop_files(root: &SysRoot) -> Vec<LoopFile> {
    let entries = std::fs::read_dir(root.block_dir()).into_iter().flatten().flatten();
    let loops =
        entries.filter_map(|e| KernelName::new(e.file_name().to_str().filter(|n| n.starts_with("loop"))?));
    let mut files: Vec<LoopFile> = loops
        .filter_map(|name| Some((backing_file(root, &name)?, name)))
        .map(|(file, name)| (name, file))
        .collect();
    files.sort_by(|a, b| natural_order(a.0.sysfs(), b.0.sysfs()));
    files
}

/// The file behind a loop device; None if it is none or not bound.
pub(super) fn backing_file(root: &SysRoot, name: &KernelName) -> Option<String> {
    attr::read_opt(&root.block(name).join("loop/backing_file")).filter(|f| !f.is_empty())
}

fn show(path: &Path) -> String {
    clean(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::elsewhere::Opened;
    use proptest::prelude::*;

    const MOUNTS: &[u8] = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        bad line\n\
        33 1 0:26 / /mnt/btrfs rw,relatime - btrfs /dev/pmem0 rw\n\
        34 1 259:8 / /mnt/a\\040b\\134c ro - ext4 /dev/loop1p1 ro\n";
    const SWAPS: &[u8] =
        b"Filename Type Size Used Priority\n/swap\\040file file 4088 0 -2\n/dev/sda2 partition 1 0 5\n/mnt/btrfs/swap file 1 0 6\n";

    fn words(u: &[Usage]) -> Vec<String> {
        u.iter().map(Usage::to_string).collect()
    }

    fn loop_file(name: &str, file: &str) -> LoopFile {
        (KernelName::new(name).unwrap(), file.to_owned())
    }

    const fn number(major: u32, minor: u32) -> DevNum {
        DevNum { major, minor }
    }

    #[test]
    fn users_match_by_number_or_by_node() {
        let loops = [
            loop_file("loop1", "/srv/a.img"),
            loop_file("loop2", "/mnt/btrfs/b.img (deleted)"),
            loop_file("loop3", "/dev/sdb"),
        ];
        let users = Users::parse(MOUNTS, SWAPS, &Elsewhere::default(), &loops);
        let of = |n, node: &str| words(&users.of(Some(n), &[Path::new(node)]));
        assert_eq!(of(number(8, 1), "/dev/sda1"), ["/", "swap /swap file", "backs loop1 (/srv/a.img)"]);
        assert_eq!(
            of(number(259, 7), "/dev/pmem0"),
            ["/mnt/btrfs", "swap /mnt/btrfs/swap", "backs loop2 (/mnt/btrfs/b.img (deleted))"]
        );
        assert_eq!(of(number(259, 8), "/dev/x"), ["/mnt/a b\\c"]);
        assert_eq!(of(number(8, 2), "/dev/sda2"), ["swap"]);
        assert_eq!(of(number(8, 16), "/dev/sdb"), ["backs loop3 (/dev/sdb)"]);
        assert!(!users.complete(), "other processes were not looked at");
    }

    #[test]
    fn of_other_namespaces_only_what_is_news_is_said() {
        let theirs = mounts::mounts(
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 8:1 /var/lib/x/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n\
            3 1 8:33 / /data rw - xfs /dev/sdc1 rw\n\
            4 1 8:33 /sub /sub rw - xfs /dev/sdc1 rw\n\
            5 1 8:49 /vol /only/a/part rw - xfs /dev/sdd1 rw\n",
        );
        let theirs = theirs.into_iter().map(|m| ("1234 containerd".to_owned(), m)).collect();
        let elsewhere = Elsewhere { mounts: theirs, all_in_sight: true, ..Elsewhere::default() };
        let users = Users::parse(MOUNTS, b"", &elsewhere, &[]);
        let of = |n| words(&users.of(Some(n), &[]));
        assert_eq!(of(number(8, 1)), ["/"]);
        assert_eq!(of(number(8, 33)), ["/data (in the namespace of 1234 containerd)"]);
        assert_eq!(of(number(8, 49)), ["/only/a/part (in the namespace of 1234 containerd)"]);
        assert!(users.complete());
    }

    #[test]
    fn who_has_it_open_is_said_with_the_purpose() {
        let opened = |writes| Opened {
            devnum: Some(number(8, 16)),
            node: PathBuf::from("/dev/sdb"),
            who: "qemu (7)".to_owned(),
            writes,
        };
        for (writes, expected) in [
            (Some(true), "open by qemu (7) for writing"),
            (Some(false), "open by qemu (7) for reading"),
            (None, "open by qemu (7)"),
        ] {
            let elsewhere = Elsewhere { opened: vec![opened(writes)], ..Elsewhere::default() };
            let users = Users::parse(b"", b"", &elsewhere, &[]);
            assert_eq!(words(&users.of(Some(number(8, 16)), &[])), [expected]);
            assert!(users.of(Some(number(8, 17)), &[Path::new("/dev/sdb")]).is_empty(), "the number decides");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(m: Vec<u8>, s: Vec<u8>) {
            let _ = Users::parse(&m, &s, &Elsewhere::default(), &[]).of(None, &[]);
        }
    }
}
