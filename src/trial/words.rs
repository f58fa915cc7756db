//! What is said of the host, of the device's surroundings, of CPU time and of a foreground job, on the command line and on
//! the screen alike: only what is known.

use super::foreground::Inflation;
use super::host::DeviceFacts;
use super::result::TrialResult;
use crate::sys::cgroup::IoLimit;
use crate::units::{Nanos, events, latency, mib_per_s, percent, three_digits};

/// Lines, each with its label.
pub type Labelled = Vec<(&'static str, String)>;

/// What the others cost the foreground jobs, and how it went for them.
#[must_use]
pub fn beside(rows: &[Inflation]) -> Labelled {
    let mut out = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let first = i == 0 || (&rows[i - 1].job, rows[i - 1].direction) != (&row.job, row.direction);
        // One job mixes two directions seldom.
        let mixed = rows.iter().any(|r| r.job == row.job && r.direction != row.direction);
        let whose = if mixed { format!("{} {}", row.job, row.direction) } else { row.job.clone() };
        if first {
            let text = format!(
                "{whose}: {} IOPS alone, {} beside the others",
                events(row.iops_alone),
                events(row.iops_loaded)
            );
            out.push(("beside", text));
        }
        if let (Some(alone), Some(loaded), Some(ratio)) = (row.alone_ns, row.loaded_ns, row.ratio) {
            let text = format!(
                "{whose}: {} {} alone, {} beside the others: {}x",
                row.metric,
                ns(alone),
                ns(loaded),
                three_digits(ratio)
            );
            out.push(("beside", text));
        }
    }
    out
}

/// CPU time of the workers, and of the host.
#[must_use]
pub fn cpu(r: &TrialResult) -> Labelled {
    let c = &r.cpu;
    let mut per = Vec::new();
    if let (Some(u), Some(s)) = (c.user_ns_per_io, c.system_ns_per_io) {
        per.push(format!("{u:.0} ns + {s:.0} ns an I/O"));
    }
    if let (Some(u), Some(s)) = (c.user_s_per_gib, c.system_s_per_gib) {
        per.push(format!("{} s a GiB", three_digits(u + s)));
    }
    let per = if per.is_empty() { String::new() } else { format!(" ({})", per.join(", ")) };
    let mut out = vec![("cpu", format!("{:.2} s user, {:.2} s system{per}", c.user_s, c.system_s))];
    if let (Some(busy), Some(cpus)) = (c.host_busy_pct, r.host.cpus) {
        let cpus = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        let stolen = c
            .host_stolen_pct
            .filter(|s| *s >= 0.5)
            .map_or_else(String::new, |s| format!(", {} stolen", percent(s)));
        out.push((
            "host",
            format!("{} of {cpus} busy, kernel threads and other programs included{stolen}", percent(busy)),
        ));
    }
    out
}

/// How the devices are reached, and what limits the own control group sets.
#[must_use]
pub fn surroundings(r: &TrialResult) -> Labelled {
    let mut out: Labelled = r
        .host
        .devices
        .iter()
        .map(|d| (d, attached(d)))
        .filter(|(_, facts)| !facts.is_empty())
        .map(|(d, facts)| ("attached", format!("{}: {}", d.name, facts.join(", "))))
        .collect();
    let group = &r.host.cgroup;
    let mut limits: Vec<String> = group.io.iter().map(limit).collect();
    limits.extend(group.cpus.map(|c| format!("{} CPUs", three_digits(c))));
    if !limits.is_empty() {
        out.push(("group", format!("at most {}", limits.join("; "))));
    }
    out
}

fn attached(d: &DeviceFacts) -> Vec<String> {
    let a = &d.attachment;
    let mut out = Vec::new();
    out.extend(a.pcie.map(|l| format!("PCIe {} GT/s x{}", l.speed_gt_s, l.width)));
    out.extend(a.sata.map(|l| format!("SATA {} Gbit/s", l.speed_gbps)));
    out.extend(a.numa_node.map(|n| format!("NUMA node {n}")));
    out.extend(a.queue_depth.map(|n| format!("queue_depth {n}")));
    out.extend(a.hw_queues.filter(|n| *n > 1).map(|n| format!("{n} hardware queues")));
    out.extend(a.tags.map(|n| format!("{n} tags")));
    if let (Some(before), Some(after)) = (d.temperature, d.after.temperature) {
        out.push(format!("{:.0} C before, {:.0} C after", before.now_c, after.now_c));
    }
    out
}

fn limit(l: &IoLimit) -> String {
    #[allow(clippy::cast_precision_loss)] // to be shown
    let rate = |what: &str, v: Option<u64>| v.map(|v| format!("{what} {} MiB/s", mib_per_s(v as f64)));
    let iops = |what: &str, v: Option<u64>| v.map(|v| format!("{v} {what} a second"));
    let parts = [
        rate("reads", l.read_bytes_per_s),
        rate("writes", l.write_bytes_per_s),
        iops("reads", l.read_iops),
        iops("writes", l.write_iops),
    ];
    format!("{}: {}", l.device, parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a time, to be shown
fn ns(v: f64) -> String {
    latency(Nanos(v as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreground_reads_as_a_sentence() {
        let row = |metric, alone: f64, loaded: f64| Inflation {
            job: "readers".to_owned(),
            direction: "read",
            metric,
            alone_ns: Some(alone),
            loaded_ns: Some(loaded),
            ratio: Some(loaded / alone),
            iops_alone: 9000.0,
            iops_loaded: 310.0,
        };
        let lines = beside(&[row("p50", 4e5, 4e5), row("p99", 4e5, 12e6)]);
        let texts: Vec<&str> = lines.iter().map(|(_, t)| t.as_str()).collect();
        assert_eq!(
            texts,
            [
                "readers: 9000 IOPS alone, 310 beside the others",
                "readers: p50 400 us alone, 400 us beside the others: 1.00x",
                "readers: p99 400 us alone, 12.0 ms beside the others: 30.0x"
            ]
        );
    }
}
