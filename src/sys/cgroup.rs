//! The limits that this process's own control group, and the groups above it, set to its I/O and CPU time.
//!
//! Version 1 (`Documentation/admin-guide/cgroup-v1/blkio-controller.rst`: `blkio.throttle.*`; `cpu.cfs_*`) and version
//! 2 (`Documentation/admin-guide/cgroup-v2.rst`: `io.max`, `cpu.max`), also side by side, as systemd's hybrid has them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::attr;
use super::device::DevNum;
use super::name::KernelName;
use super::root::SysRoot;

/// What a process may do to one device; the tightest of all its groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IoLimit {
    /// The device.
    pub device: KernelName,
    /// Bytes read a second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written a second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads a second.
    pub read_iops: Option<u64>,
    /// Writes a second.
    pub write_iops: Option<u64>,
}

/// What the own group is limited to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupLimits {
    /// CPUs' worth of time; None without a limit.
    pub cpus: Option<f64>,
    /// Limits of the devices asked about.
    pub io: Vec<IoLimit>,
}

impl GroupLimits {
    /// Reads them for these whole devices. No groups, no limits.
    #[must_use]
    pub fn read(root: &SysRoot, devices: &[KernelName]) -> Self {
        let cgroup = attr_text(&root.proc("self/cgroup"));
        let mountinfo = attr_text(&root.proc("self/mountinfo"));
        let mut limits = Self::default();
        let numbered: Vec<(DevNum, &KernelName)> = devices
            .iter()
            .filter_map(|n| Some((DevNum::parse(&attr::read_opt(&root.block(n).join("dev"))?)?, n)))
            .collect();
        for own in own_groups(&cgroup, &mountinfo) {
            for dir in own.dirs(root) {
                limits.add_cpus(&dir);
                for (number, name) in &numbered {
                    limits.add_io(&dir, *number, name);
                }
            }
        }
        limits
    }

    fn add_cpus(&mut self, dir: &Path) {
        let v2 = attr::read_opt(&dir.join("cpu.max")).and_then(|t| {
            let (quota, period) = t.split_once(' ')?;
            Some((quota.parse().ok()?, period.trim().parse().ok()?))
        });
        let v1 = || {
            // -1 without a limit.
            attr::read_u64(&dir.join("cpu.cfs_quota_us")).zip(attr::read_u64(&dir.join("cpu.cfs_period_us")))
        };
        let quota: Option<(u64, u64)> = v2.or_else(v1);
        #[allow(clippy::cast_precision_loss)] // a share
        let cpus =
            quota.filter(|(_, period)| *period > 0).map(|(quota, period)| quota as f64 / period as f64);
        self.cpus = match (self.cpus, cpus) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }

    fn add_io(&mut self, dir: &Path, number: DevNum, name: &KernelName) {
        let throttle = |file: &str| {
            v1_limit(&attr::read_opt(&dir.join(format!("blkio.throttle.{file}_device")))?, number)
        };
        let mut found = IoLimit {
            device: name.clone(),
            read_bytes_per_s: throttle("read_bps"),
            write_bytes_per_s: throttle("write_bps"),
            read_iops: throttle("read_iops"),
            write_iops: throttle("write_iops"),
        };
        if let Ok(text) = std::fs::read_to_string(dir.join("io.max")) {
            v2_limits(&text, number, &mut found);
        }
        let none = IoLimit {
            device: name.clone(),
            read_bytes_per_s: None,
            write_bytes_per_s: None,
            read_iops: None,
            write_iops: None,
        };
        if found == none {
            return;
        }
        match self.io.iter_mut().find(|l| l.device == *name) {
            Some(known) => known.tighten(&found),
            None => self.io.push(found),
        }
    }
}

impl IoLimit {
    fn tighten(&mut self, other: &IoLimit) {
        for (mine, theirs) in [
            (&mut self.read_bytes_per_s, other.read_bytes_per_s),
            (&mut self.write_bytes_per_s, other.write_bytes_per_s),
            (&mut self.read_iops, other.read_iops),
            (&mut self.write_iops, other.write_iops),
        ] {
            lower(mine, theirs);
        }
    }
}

fn lower(mine: &mut Option<u64>, theirs: Option<u64>) {
    *mine = match (*mine, theirs) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

/// `8:0 1048576`, a line a device.
fn v1_limit(text: &str, number: DevNum) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    while let (Some(device), Some(limit)) = (words.next(), words.next()) {
        if DevNum::parse(device) == Some(number) {
            return limit.parse().ok().filter(|n| *n > 0);
        }
    }
    None
}

/// `8:16 rbps=2097152 wbps=max riops=max wiops=120`, a line a device.
fn v2_limits(text: &str, number: DevNum, limit: &mut IoLimit) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        if words.next().and_then(DevNum::parse) != Some(number) {
            continue;
        }
        for (key, value) in words.filter_map(|w| w.split_once('=')) {
            let field = match key {
                "rbps" => &mut limit.read_bytes_per_s,
                "wbps" => &mut limit.write_bytes_per_s,
                "riops" => &mut limit.read_iops,
                "wiops" => &mut limit.write_iops,
                _ => continue,
            };
            // `max` is no number, and no limit.
            lower(field, value.parse().ok());
        }
    }
}

/// One hierarchy: where it is mounted, and the own group in it.
#[derive(Debug, PartialEq, Eq)]
struct OwnGroup {
    mount: PathBuf,
    /// Below the mount, without a leading slash.
    below: PathBuf,
}

impl OwnGroup {
    /// The own group and all above it.
    fn dirs(&self, root: &SysRoot) -> Vec<PathBuf> {
        let points = self.below.ancestors().map(|p| self.mount.join(p));
        points.filter_map(|p| root.mounted(&p)).collect()
    }
}

/// Brings `/proc/self/cgroup` and the mount table together. Groups outside of what is mounted here (in a container that
/// sees only its own part) are taken to be the mount's root.
fn own_groups(cgroup: &str, mountinfo: &str) -> Vec<OwnGroup> {
    let mut groups = Vec::new();
    for line in cgroup.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if !controllers.is_empty() && !controllers.split(',').any(|c| matches!(c, "blkio" | "cpu")) {
            continue;
        }
        let first = controllers.split(',').next().unwrap_or_default();
        let Some((root, mount)) = mountinfo.lines().find_map(|l| mounted(l, first)) else { continue };
        let path = Path::new(path);
        let below = path.strip_prefix(&root).or_else(|_| path.strip_prefix("/")).unwrap_or(Path::new(""));
        groups.push(OwnGroup { mount, below: below.to_path_buf() });
    }
    groups
}

/// Root and mount point of the hierarchy of this controller (the unified one for none), from a line of mountinfo.
fn mounted(line: &str, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let (fields, rest) = line.split_once(" - ")?;
    let mut rest = rest.split(' ');
    let (kind, options) = (rest.next()?, rest.nth(1)?);
    let right = if controller.is_empty() {
        kind == "cgroup2"
    } else {
        kind == "cgroup" && options.split(',').any(|o| o == controller)
    };
    let mut fields = fields.split(' ').skip(3);
    right.then_some(())?;
    Some((PathBuf::from(fields.next()?), PathBuf::from(fields.next()?)))
}

fn attr_text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, SysRoot) {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = SysRoot::captured(dir.path());
        (dir, root)
    }

    fn sda() -> KernelName {
        KernelName::new("sda").unwrap()
    }

    #[test]
    fn version_one_below_the_mounts_of_its_controllers() {
        let (_dir, root) = tree(&[
            ("sys/block/sda/dev", "8:0\n"),
            ("proc/self/cgroup", "5:blkio:/job/a\n4:cpu,cpuacct:/quota\n3:memory:/job\n"),
            (
                "proc/self/mountinfo",
                "39 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n40 31 0:36 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
            ),
            ("sys/fs/cgroup/blkio/job/a/blkio.throttle.read_bps_device", "8:16 5\n8:0 10485760\n"),
            // The group above is tighter in one, and limits another.
            ("sys/fs/cgroup/blkio/job/blkio.throttle.read_bps_device", "8:0 1048576\n"),
            ("sys/fs/cgroup/blkio/job/blkio.throttle.write_iops_device", "8:0 500\n"),
            ("sys/fs/cgroup/cpu,cpuacct/quota/cpu.cfs_quota_us", "150000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/quota/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ]);
        let limits = GroupLimits::read(&root, &[sda()]);
        assert_eq!(limits.cpus, Some(1.5));
        let want = IoLimit {
            device: sda(),
            read_bytes_per_s: Some(1 << 20),
            write_bytes_per_s: None,
            read_iops: None,
            write_iops: Some(500),
        };
        assert_eq!(limits.io, [want]);
    }

    #[test]
    fn version_two_also_from_within_a_container() {
        let files = |cgroup: &'static str, root: &str| {
            tree(&[
                ("sys/block/sda/dev", "8:0\n"),
                ("proc/self/cgroup", cgroup),
                (
                    "proc/self/mountinfo",
                    &format!(
                        "31 23 0:27 {root} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
                    ),
                ),
                (
                    "sys/fs/cgroup/a/io.max",
                    "8:16 rbps=1 wbps=1 riops=1 wiops=1\n8:0 rbps=2097152 wbps=max riops=max wiops=120\n",
                ),
                ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ])
        };
        for (cgroup, root) in [("0::/a/b\n", "/"), ("0::/docker/1/a\n", "/docker/1")] {
            let (_dir, root) = files(cgroup, root);
            let limits = GroupLimits::read(&root, &[sda()]);
            assert_eq!(limits.cpus, Some(0.5), "{cgroup}");
            let [io] = limits.io.as_slice() else { panic!("{limits:?}") };
            assert_eq!((io.read_bytes_per_s, io.write_bytes_per_s), (Some(2 << 20), None), "{cgroup}");
            assert_eq!((io.read_iops, io.write_iops), (None, Some(120)), "{cgroup}");
        }
    }

    #[test]
    fn a_path_that_leads_out_of_the_tree_is_not_followed() {
        let (_dir, root) = tree(&[
            ("sys/block/sda/dev", "8:0\n"),
            ("proc/self/cgroup", "0::/../../..\n"),
            ("proc/self/mountinfo", "31 23 0:27 / /../sys rw - cgroup2 cgroup2 rw\n"),
        ]);
        assert_eq!(GroupLimits::read(&root, &[sda()]), GroupLimits::default());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(a in ".*", b in ".*", c in "([0-9]{1,3}:[0-9]{1,3}( [a-z]{1,5}=?[0-9a-z]{0,5}){0,5}\n){0,3}") {
            let _ = own_groups(&a, &b);
            let _ = mounted(&b, "blkio");
            let mut limit = IoLimit { device: sda(), read_bytes_per_s: None, write_bytes_per_s: None, read_iops: None, write_iops: None };
            v2_limits(&c, DevNum { major: 8, minor: 0 }, &mut limit);
            let _ = v1_limit(&c, DevNum { major: 8, minor: 0 });
        }
    }
}
