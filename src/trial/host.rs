//! What of the host bears on a trial's figures, without its name. Unknown is None.

use std::ffi::CStr;

use serde::Serialize;

use crate::sys::attr;
use crate::sys::cgroup::GroupLimits;
use crate::sys::cpu::{self, CpuPace};
use crate::sys::link::{Attachment, PcieLink, SataLink};
use crate::sys::md::{self, ArrayWork};
use crate::sys::memory::{DirtyLimits, Memory};
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::sys::stack;
use crate::sys::temperature::Temperature;
use crate::units::Bytes;

/// The host's facts, as they were before the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostFacts {
    /// Kernel release.
    pub kernel: Option<String>,
    /// Kernel build.
    pub build: Option<String>,
    /// Machine architecture.
    pub machine: Option<String>,
    /// Size of a page.
    pub page_size: Option<Bytes>,
    /// CPUs that this process may use.
    pub cpus: Option<usize>,
    /// A virtual machine, where the CPU says so.
    pub virtualised: Option<bool>,
    /// Memory and swap.
    pub memory: Memory,
    /// When written data is brought to devices.
    pub dirty_limits: DirtyLimits,
    /// What rules the pace of the CPUs.
    pub cpu_pace: CpuPace,
    /// NUMA nodes of the CPUs that the workers may use; empty if the host does not say.
    pub cpu_nodes: Vec<u32>,
    /// Limits of the own control group.
    pub cgroup: GroupLimits,
    /// The devices at the bottom of what is measured.
    pub devices: Vec<DeviceFacts>,
    /// md arrays in the same stack.
    pub arrays: Vec<ArrayWork>,
}

/// One device at the bottom of the stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceFacts {
    /// The device.
    pub name: KernelName,
    /// How it is reached.
    #[serde(flatten)]
    pub attachment: Attachment,
    /// A loop device whose file is read and written through the page cache (`loop/dio` is 0); None for other devices.
    pub file_cached: Option<bool>,
    /// Temperature before the run.
    pub temperature: Option<Temperature>,
    /// What was read again after the run.
    pub after: DeviceAfter,
}

/// What may have changed meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DeviceAfter {
    /// Temperature.
    pub temperature: Option<Temperature>,
    /// PCIe link.
    pub pcie: Option<PcieLink>,
    /// SATA link.
    pub sata: Option<SataLink>,
}

impl HostFacts {
    /// Reads them. `whole` is the device that is measured; `cpus` are those that the workers are kept on, None for all.
    #[must_use]
    pub fn read(root: &SysRoot, whole: Option<&KernelName>, cpus: Option<&[u32]>) -> Self {
        let uname = rustix::system::uname();
        let text = |s: &CStr| Some(attr::clean(s.to_bytes()));
        let leaves = whole.map(|w| stack::leaves(root, w)).unwrap_or_default();
        // A limit on a device in the middle of a stack holds, too.
        let mut limited: Vec<KernelName> = whole.cloned().into_iter().collect();
        limited.extend(leaves.iter().filter(|l| Some(*l) != whole).cloned());
        Self {
            kernel: text(uname.release()),
            build: text(uname.version()),
            machine: text(uname.machine()),
            page_size: u64::try_from(rustix::param::page_size()).ok().map(Bytes),
            cpus: std::thread::available_parallelism().ok().map(std::num::NonZero::get),
            virtualised: cpu::virtualised(root),
            memory: Memory::read(root),
            dirty_limits: DirtyLimits::read(root),
            cpu_pace: CpuPace::read(root),
            cpu_nodes: cpu::nodes_of(root, cpus),
            cgroup: GroupLimits::read(root, &limited),
            devices: leaves.into_iter().map(|name| DeviceFacts::read(root, name)).collect(),
            arrays: whole.map(|w| md::around(root, w)).unwrap_or_default(),
        }
    }

    /// Reads again what may have changed.
    pub fn read_after(&mut self, root: &SysRoot) {
        for device in &mut self.devices {
            let now = Attachment::read(root, &device.name);
            device.after = DeviceAfter {
                temperature: Temperature::read(root, &device.name),
                pcie: now.pcie,
                sata: now.sata,
            };
        }
    }
}

impl DeviceFacts {
    fn read(root: &SysRoot, name: KernelName) -> Self {
        Self {
            attachment: Attachment::read(root, &name),
            file_cached: attr::read_flag(&root.block(&name).join("loop/dio")).map(|direct| !direct),
            temperature: Temperature::read(root, &name),
            after: DeviceAfter::default(),
            name,
        }
    }
}
