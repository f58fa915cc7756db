//! Where the kernel's files are: this host, or a captured tree. The only place that knows "/sys", "/proc", "/dev".

use std::path::{Component, Path, PathBuf};

use super::name::KernelName;

/// The roots of everything that is read: `/` for this host, or the directory of `--sysroot`, which holds `sys`,
/// `proc` and perhaps `dev`, `etc` and `run`.
///
/// Every path below a kernel root is joined here, so that a captured tree can never leak into the host's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SysRoot {
    base: PathBuf,
    live: bool,
}

impl SysRoot {
    /// This host.
    #[must_use]
    pub fn host() -> Self {
        Self { base: PathBuf::from("/"), live: true }
    }

    /// A captured tree: everything can be looked at, nothing changed or run.
    #[must_use]
    pub fn captured(dir: &Path) -> Self {
        Self { base: dir.to_path_buf(), live: false }
    }

    /// Whether this is the running host, where settings can be changed and workloads run.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// The directory all others are below.
    #[must_use]
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// `/sys/block`: one entry a whole device.
    #[must_use]
    pub fn block_dir(&self) -> PathBuf {
        self.base.join("sys/block")
    }

    /// `/sys/block/NAME`.
    #[must_use]
    pub fn block(&self, name: &KernelName) -> PathBuf {
        self.base.join("sys/block").join(name.sysfs())
    }

    /// `/sys/class/block/NAME`: devices and partitions.
    #[must_use]
    pub fn class_block(&self, name: &KernelName) -> PathBuf {
        self.base.join("sys/class/block").join(name.sysfs())
    }

    /// `/sys/block/NAME/queue`.
    #[must_use]
    pub fn queue(&self, name: &KernelName) -> PathBuf {
        self.block(name).join("queue")
    }

    /// `/sys/kernel/debug/block/NAME`: what debugfs tells of a queue, where it is mounted and this process may look.
    #[must_use]
    pub fn debug_block(&self, name: &KernelName) -> PathBuf {
        self.base.join("sys/kernel/debug/block").join(name.sysfs())
    }

    /// `/sys/dev/block/MAJ:MIN`, a link to the device or partition of that number.
    #[must_use]
    pub fn dev_block(&self, major: u32, minor: u32) -> PathBuf {
        self.base.join(format!("sys/dev/block/{major}:{minor}"))
    }

    /// `/sys/devices/virtual/bdi/MAJ:MIN`: read-ahead of devices that have no queue directory.
    #[must_use]
    pub fn bdi(&self, major: u32, minor: u32) -> PathBuf {
        self.base.join(format!("sys/devices/virtual/bdi/{major}:{minor}"))
    }

    /// `/sys/devices`: every device at its place on its bus.
    #[must_use]
    pub fn devices_dir(&self) -> PathBuf {
        self.base.join("sys/devices")
    }

    /// `/sys/devices/system/cpu`: one entry a CPU, and what rules them all.
    #[must_use]
    pub fn cpu_dir(&self) -> PathBuf {
        self.base.join("sys/devices/system/cpu")
    }

    /// A directory that the host's own mount table names, where this tree has it. None for a path that leads out of it.
    #[must_use]
    pub fn mounted(&self, point: &Path) -> Option<PathBuf> {
        let below = point.strip_prefix("/").ok()?;
        below.components().all(|c| matches!(c, Component::Normal(_))).then(|| self.base.join(below))
    }

    /// A file below `/proc`, named by the caller's constant.
    #[must_use]
    pub fn proc(&self, file: &'static str) -> PathBuf {
        self.base.join("proc").join(file)
    }

    /// `/proc`: one entry a process, and more.
    #[must_use]
    pub fn proc_dir(&self) -> PathBuf {
        self.base.join("proc")
    }

    /// A file or directory of a process, `/proc/PID/FILE`, named by the caller's constant.
    #[must_use]
    pub fn of_process(&self, pid: u32, file: &'static str) -> PathBuf {
        self.base.join("proc").join(pid.to_string()).join(file)
    }

    /// `/dev/tty`: the terminal this process is controlled by, whatever its descriptors are.
    #[must_use]
    pub fn own_terminal() -> PathBuf {
        PathBuf::from("/dev/tty")
    }

    /// `/dev`.
    #[must_use]
    pub fn dev_dir(&self) -> PathBuf {
        self.base.join("dev")
    }

    /// `/dev/block`: a link `MAJ:MIN` to each block device, which udev makes and removes. None elsewhere.
    #[must_use]
    pub fn block_links_dir(&self) -> PathBuf {
        self.base.join("dev/block")
    }

    /// The device's node as a program on that host would open it: `/dev/cciss/c0d0`. Text to show and to give to
    /// `open`; always in terms of that host, so without the captured tree's directory in front.
    #[must_use]
    pub fn node(name: &KernelName) -> PathBuf {
        let mut p = PathBuf::from("/dev");
        p.extend(name.kernel().split('/'));
        p
    }

    /// `/dev/mapper/NAME`, the node that people know a device-mapper device by.
    #[must_use]
    pub fn mapper_node(dm_name: &str) -> PathBuf {
        Path::new("/dev/mapper").join(dm_name.replace('/', "!"))
    }

    /// `/run/blktune`, where what was changed since boot is written down: a reboot forgets settings and journal alike.
    #[must_use]
    pub fn run_dir(&self) -> PathBuf {
        self.base.join("run/blktune")
    }

    /// `/run/udev`, which is there where udev runs; `queue` in it while it has events to work on.
    #[must_use]
    pub fn udev_dir(&self) -> PathBuf {
        self.base.join("run/udev")
    }

    /// The host's own node for `name`, to be opened.
    #[must_use]
    pub fn loop_control() -> PathBuf {
        PathBuf::from("/dev/loop-control")
    }

    /// What a person typed, as a path on that host without its `/dev/` prefix; None if it is not below `/dev`.
    #[must_use]
    pub fn below_dev(path: &Path) -> Option<String> {
        let rest = path.strip_prefix("/dev").ok()?;
        let mut parts = Vec::new();
        for c in rest.components() {
            match c {
                Component::Normal(p) => parts.push(p.to_str()?),
                _ => return None,
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}
