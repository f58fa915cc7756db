//! Processors: how fast they may run, where they are, and how busy all of them were.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;

use super::attr;
use super::root::SysRoot;

/// What rules the pace of the CPUs. In virtual machines there is usually nothing to read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuPace {
    /// The frequency governors in use, each once; empty without cpufreq.
    pub governors: Vec<String>,
    /// Their driver (`scaling_driver`): with `intel_pstate` and `amd-pstate-epp` even `powersave` follows the load.
    pub driver: Option<String>,
    /// Whether CPUs may run faster than their nominal frequency for a while.
    pub turbo: Option<bool>,
}

impl CpuPace {
    /// Reads it.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let dir = root.cpu_dir();
        let mut pace = Self::default();
        let mut governors = BTreeSet::new();
        for (_, cpu) in cpus(root) {
            governors.extend(attr::read_opt(&cpu.join("cpufreq/scaling_governor")));
            pace.driver = pace.driver.take().or_else(|| attr::read_opt(&cpu.join("cpufreq/scaling_driver")));
        }
        pace.governors = governors.into_iter().filter(|g| !g.is_empty()).collect();
        let boost = attr::read_flag(&dir.join("cpufreq/boost"));
        pace.turbo = boost.or_else(|| attr::read_flag(&dir.join("intel_pstate/no_turbo")).map(|off| !off));
        pace
    }

    /// Whether `powersave` means the lowest frequency, whatever there is to do, and not a preference.
    #[must_use]
    pub fn held_low(&self) -> bool {
        let follows = matches!(self.driver.as_deref(), Some("intel_pstate" | "amd-pstate-epp"));
        !follows && self.governors.iter().any(|g| g == "powersave")
    }
}

/// NUMA nodes of CPUs, each once; of those in `only`, or of all. Empty on hosts that do not say.
#[must_use]
pub fn nodes_of(root: &SysRoot, only: Option<&[u32]>) -> Vec<u32> {
    let mut nodes = BTreeSet::new();
    for (number, dir) in cpus(root) {
        if only.is_some_and(|only| !only.contains(&number)) {
            continue;
        }
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        nodes.extend(entries.filter_map(|e| numbered(e.file_name().to_str()?, "node")));
    }
    nodes.into_iter().collect()
}

/// Whether this is a virtual machine: the CPU says so itself (`hypervisor` among its flags), on x86. None elsewhere.
#[must_use]
pub fn virtualised(root: &SysRoot) -> Option<bool> {
    let text = std::fs::read_to_string(root.proc("cpuinfo")).ok()?;
    let flags = text.lines().find(|l| l.starts_with("flags"))?;
    Some(flags.split_ascii_whitespace().any(|f| f == "hypervisor"))
}

fn cpus(root: &SysRoot) -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir(root.cpu_dir()).into_iter().flatten().flatten();
    entries.filter_map(|e| Some((numbered(e.file_name().to_str()?, "cpu")?, e.path()))).collect()
}

fn numbered(name: &str, stem: &str) -> Option<u32> {
    name.strip_prefix(stem)?.parse().ok()
}

/// What all CPUs of the host did since boot, in clock ticks (`/proc/stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostTicks {
    /// All time there was.
    pub all: u64,
    /// Of it, without work, waiting for I/O included.
    pub idle: u64,
    /// Of it, given to other machines by the hypervisor.
    pub stolen: u64,
}

impl HostTicks {
    /// Reads them. None without `/proc/stat`.
    #[must_use]
    pub fn read(root: &SysRoot) -> Option<Self> {
        Self::parse(&attr::read_opt(&root.proc("stat"))?)
    }

    /// From the first line: `cpu user nice system idle iowait irq softirq steal guest guest_nice`. Guests' time is in
    /// user and nice already.
    fn parse(text: &str) -> Option<Self> {
        let line = text.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|t| t.parse().ok()).take(8).collect();
        let [_, _, _, idle, iowait, ..] = ticks.as_slice() else { return None };
        Some(Self {
            all: ticks.iter().fold(0, |sum, t| sum.saturating_add(*t)),
            idle: idle.saturating_add(*iowait),
            stolen: ticks.get(7).copied().unwrap_or(0),
        })
    }

    /// Shares of the time since `earlier`, percent: busy (what was stolen is neither busy nor idle), and stolen. None if no
    /// time went by, or it went back.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // shares
    pub fn shares_since(self, earlier: HostTicks) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(earlier.all).filter(|t| *t > 0)? as f64;
        // The kernel's idle time may step back by a tick.
        let idle = self.idle.saturating_sub(earlier.idle) as f64;
        let stolen = self.stolen.saturating_sub(earlier.stolen) as f64;
        Some(((all - idle - stolen).max(0.0) / all * 100.0, stolen / all * 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn governors_are_named_once_and_powersave_depends_on_the_driver() {
        let cpu = "sys/devices/system/cpu";
        let dir = tree(&[
            (&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/cpu0/cpufreq/scaling_driver"), "acpi-cpufreq\n"),
            (&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "powersave\n"),
            (&format!("{cpu}/cpu0/node0/x"), ""),
            (&format!("{cpu}/cpu1/node1/x"), ""),
            (&format!("{cpu}/cpufreq/boost"), "0\n"),
        ]);
        let root = SysRoot::captured(dir.path());
        let pace = CpuPace::read(&root);
        assert_eq!((pace.governors.as_slice(), pace.turbo), (&["powersave".to_owned()][..], Some(false)));
        assert!(pace.held_low());
        assert!(!CpuPace { driver: Some("intel_pstate".to_owned()), ..pace }.held_low());
        assert_eq!((nodes_of(&root, None), nodes_of(&root, Some(&[1]))), (vec![0, 1], vec![1]));
        let intel = tree(&[(&format!("{cpu}/intel_pstate/no_turbo"), "0\n")]);
        assert_eq!(CpuPace::read(&SysRoot::captured(intel.path())).turbo, Some(true));
        let nothing = tree(&[]);
        assert_eq!(CpuPace::read(&SysRoot::captured(nothing.path())), CpuPace::default());
    }

    #[test]
    fn a_hypervisor_is_told_by_the_cpus_flags() {
        let said = |text| {
            let dir = tree(&[("proc/cpuinfo", text)]);
            virtualised(&SysRoot::captured(dir.path()))
        };
        assert_eq!(said("processor : 0\nflags\t\t: fpu sse hypervisor lahf_lm\n"), Some(true));
        assert_eq!(said("flags : fpu sse\n"), Some(false));
        assert_eq!(said("Features : fp asimd\n"), None, "arm says nothing of it");
    }

    #[test]
    fn busy_is_neither_idle_nor_waiting_nor_stolen() {
        let at = |text| HostTicks::parse(text).unwrap();
        let before = at("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3 4");
        let after = at("cpu  130 0 110 740 110 0 0 10 60 0\n");
        let (busy, stolen) = after.shares_since(before).unwrap();
        assert!((busy - 40.0).abs() < 1e-9 && (stolen - 10.0).abs() < 1e-9, "{busy} {stolen}");
        assert_eq!(before.shares_since(after), None);
        assert_eq!(before.shares_since(before), None);
        assert_eq!(HostTicks::parse("intr 1 2 3"), None);
        assert_eq!(HostTicks::parse("cpu 1 2 3"), None);
    }

    proptest! {
        #[test]
        fn any_ticks_are_survived(a in "cpu ( [0-9]{0,20}){0,12}", b in "cpu ( [0-9]{0,20}){0,12}") {
            if let (Some(a), Some(b)) = (HostTicks::parse(&a), HostTicks::parse(&b)) {
                let _ = a.shares_since(b);
            }
        }
    }
}
