//! Whether the processors were measured, and not the device.

use super::Facts;

/// Of a core, per worker: above it the CPU is measured, not the device.
const CPU_BOUND: f64 = 0.9;
/// Of all cores of the host, percent.
const HOST_BUSY: f64 = 90.0;
/// Given to other machines, percent.
const STOLEN: f64 = 5.0;
/// Of the time that the own control group gives.
const QUOTA: f64 = 0.9;

impl Facts<'_> {
    pub(super) fn on_cpu(&self) -> Vec<String> {
        let bound = self.bound();
        let busy = if bound.is_none() { self.host_busy() } else { None };
        [bound, busy, self.quota(), self.stolen(), self.governor(), self.nodes()]
            .into_iter()
            .flatten()
            .collect()
    }

    /// CPUs' worth of time that the workers used.
    fn used(&self) -> f64 {
        let cpu = self.outcome.cpu;
        (cpu.user.seconds() + cpu.system.seconds()) / self.outcome.window.seconds().max(1e-9)
    }

    fn bound(&self) -> Option<String> {
        // Whoever polls uses all of a CPU, however slow the device is.
        if self.jobs.iter().any(|j| j.hipri) {
            return None;
        }
        let workers: u32 = self.jobs.iter().map(|j| j.numjobs).sum();
        let share = self.used() / f64::from(workers.max(1));
        (share > CPU_BOUND).then(|| {
            format!("{:.0}% of a CPU per worker was used: this measures the CPU, not the device; use a larger bs, or more workers (numjobs)", share * 100.0)
        })
    }

    fn host_busy(&self) -> Option<String> {
        let busy = self.cpu.host_busy_pct.filter(|b| *b > HOST_BUSY)?;
        Some(format!(
            "{busy:.0}% of all CPUs of the host was used, {:.1} CPUs of it by the workers themselves: the rest are other programs and the kernel's threads, which the workers had to share with; run again when it is quiet, or ask for less",
            self.used()
        ))
    }

    fn quota(&self) -> Option<String> {
        let cpus = self.host.cgroup.cpus.filter(|c| self.used() > c * QUOTA)?;
        Some(format!(
            "throttled: the control group may use {cpus:.2} CPUs and {:.2} were used: this measures that limit; raise it (cpu.max, cpu.cfs_quota_us) or run outside of the group",
            self.used()
        ))
    }

    fn stolen(&self) -> Option<String> {
        let stolen = self.cpu.host_stolen_pct.filter(|s| *s > STOLEN)?;
        Some(format!(
            "the hypervisor gave {stolen:.0}% of the CPUs' time to other machines: latencies include those pauses; run again when its host is quiet"
        ))
    }

    fn governor(&self) -> Option<String> {
        let pace = &self.host.cpu_pace;
        pace.held_low().then(|| {
            format!(
                "the CPU governor is powersave (driver {}): CPUs run at their lowest frequency, and small I/Os are slower than the device; use performance or schedutil while measuring",
                pace.driver.as_deref().unwrap_or("unknown")
            )
        })
    }

    fn nodes(&self) -> Option<String> {
        let [device] = self.host.devices.as_slice() else { return None };
        let node = device.attachment.numa_node?;
        let workers = &self.host.cpu_nodes;
        (!workers.is_empty() && !workers.contains(&node)).then(|| {
            let list: Vec<String> = workers.iter().map(u32::to_string).collect();
            format!(
                "{} is attached to NUMA node {node} and the workers ran on node {}: each I/O crosses between them; choose CPUs of node {node} (cpus_allowed)",
                device.name,
                list.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{one, said};
    use crate::sys::cpu::CpuPace;
    use crate::units::Nanos;

    #[test]
    fn a_worker_that_used_a_whole_cpu_measured_it() {
        one("95% of a CPU per worker", &said(|m| m.outcome.cpu.system = Nanos(9_500_000_000)));
    }

    #[test]
    fn a_busy_host_is_told_also_where_its_workers_are_idle() {
        let got = said(|m| {
            m.cpu.host_busy_pct = Some(97.0);
            m.outcome.cpu.user = Nanos(1_000_000_000);
        });
        one("97% of all CPUs", &got);
        assert!(got[0].contains("0.1 CPUs of it"), "{got:?}");
        one("gave 12%", &said(|m| m.cpu.host_stolen_pct = Some(12.0)));
    }

    #[test]
    fn a_quota_that_was_used_up_is_what_was_measured() {
        let used = |quota| {
            said(|m| {
                m.host.cgroup.cpus = Some(quota);
                m.outcome.cpu.user = Nanos(4_800_000_000);
            })
        };
        one("may use 0.50 CPUs and 0.48 were used", &used(0.5));
        assert_eq!(used(2.0), Vec::<String>::new());
    }

    #[test]
    fn powersave_counts_where_it_means_the_lowest_frequency() {
        let governor = |driver: &str| {
            let pace = CpuPace {
                governors: vec!["powersave".to_owned()],
                driver: Some(driver.to_owned()),
                turbo: None,
            };
            said(|m| m.host.cpu_pace = pace)
        };
        one("powersave (driver acpi-cpufreq)", &governor("acpi-cpufreq"));
        assert_eq!(governor("intel_pstate"), Vec::<String>::new());
    }

    #[test]
    fn another_numa_node_than_the_devices() {
        let got = said(|m| {
            m.host.devices[0].attachment.numa_node = Some(1);
            m.host.cpu_nodes = vec![0];
        });
        one("sda is attached to NUMA node 1", &got);
    }
}
