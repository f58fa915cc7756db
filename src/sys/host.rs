//! What host this is: name, kernel, processors, memory, and how long tasks wait for I/O.

use procfs::{FromRead, IoPressure};
use serde::Serialize;
use sysinfo::System;

use super::attr::clean;
use super::root::SysRoot;
use crate::units::Bytes;

/// The host line. None is what the host, or a captured tree, does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// Host name.
    pub name: Option<String>,
    /// Kernel release: `6.18.4`.
    pub kernel: Option<String>,
    /// Logical processors.
    pub cpus: Option<usize>,
    /// Memory in all.
    #[serde(rename = "memory_bytes")]
    pub memory: Option<Bytes>,
    /// Share of the last ten seconds in which some task waited for I/O, percent (`/proc/pressure/io`, "some avg10").
    pub io_pressure_pct: Option<f32>,
}

impl Host {
    /// Reads all of it. For a captured tree only what the tree holds, nothing of this host.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let mut host = if root.is_live() { Self::live() } else { Self::captured(root) };
        host.refresh(root);
        host
    }

    /// Reads again what changes from second to second.
    pub fn refresh(&mut self, root: &SysRoot) {
        self.io_pressure_pct = IoPressure::from_file(root.proc("pressure/io"))
            .ok()
            .map(|p| p.some.avg10)
            .filter(|v| v.is_finite());
    }

    fn live() -> Self {
        let (cpus, memory) = match System::new() {
            Ok(mut system) => {
                system.refresh_memory();
                system.refresh_cpu_list(sysinfo::CpuRefreshKind::nothing());
                (system.cpus().len(), system.total_memory())
            }
            Err(_) => (0, 0),
        };
        Self {
            name: System::host_name().ok().map(|s| clean(s.as_bytes())),
            kernel: System::kernel_version().ok().map(|s| clean(s.as_bytes())),
            cpus: Some(cpus).filter(|n| *n > 0),
            memory: Some(Bytes(memory)).filter(|b| b.0 > 0),
            io_pressure_pct: None,
        }
    }

    fn captured(root: &SysRoot) -> Self {
        let version = std::fs::read(root.proc("version")).map(|b| clean(&b)).unwrap_or_default();
        let kernel =
            version.strip_prefix("Linux version ").and_then(|v| v.split(' ').next()).map(str::to_owned);
        Self { kernel, ..Self::default() }
    }
}
