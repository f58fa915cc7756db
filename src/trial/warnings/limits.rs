//! Limits that were set, here or by the kernel: the control group's, the queue's, and priorities that nobody heeds.

use super::Facts;
use crate::tuning::tag_depth;
use crate::units::{events, mib_per_s};
use crate::workload::job::Job;

/// From this share of a limit on, the limit is what was measured.
const REACHED: f64 = 0.9;
/// The level of best effort that programs have that ask for nothing.
const USUAL: u8 = 4;

impl Facts<'_> {
    pub(super) fn on_limits(&self) -> Vec<String> {
        let mut out = self.throttled();
        out.extend(self.jobs.iter().filter_map(|j| self.priority(j)));
        out.extend(self.depth());
        out.extend(self.tags());
        out
    }

    fn throttled(&self) -> Vec<String> {
        let total = &self.outcome.total;
        let mut out = Vec::new();
        for limit in &self.host.cgroup.io {
            #[allow(clippy::cast_precision_loss)] // a comparison of rates
            let reached =
                |limit: Option<u64>, got: f64| limit.map(|l| l as f64).filter(|l| got > l * REACHED);
            for (what, limit_of, got) in [
                ("reads", limit.read_bytes_per_s, total.read.bytes_per_s),
                ("writes", limit.write_bytes_per_s, total.write.bytes_per_s),
            ] {
                if let Some(l) = reached(limit_of, got) {
                    out.push(throttled(
                        what,
                        &limit.device,
                        &format!("{} MiB/s and {}", mib_per_s(l), mib_per_s(got)),
                    ));
                }
            }
            for (what, limit_of, got) in
                [("reads", limit.read_iops, total.read.iops), ("writes", limit.write_iops, total.write.iops)]
            {
                if let Some(l) = reached(limit_of, got) {
                    out.push(throttled(
                        what,
                        &limit.device,
                        &format!("{} IOPS and {}", events(l), events(got)),
                    ));
                }
            }
        }
        out
    }

    /// What the scheduler makes of a priority (`block/bfq-iosched.c` and `block/mq-deadline.c` look at it, no other).
    fn priority(&self, job: &Job) -> Option<String> {
        let prio = job.prio?;
        let scheduler = self.before.effective("scheduler").unwrap_or_else(|| "none".to_owned());
        if !self.has_device {
            return None;
        }
        let buffered = job.rw.writes() && !job.direct && job.sync == crate::workload::durability::Sync::None;
        if buffered {
            return Some(format!(
                "{}: prio {prio} has no effect on buffered writes: the kernel's own threads bring them to the device; use direct=true",
                job.name
            ));
        }
        match scheduler.as_str() {
            "bfq" => None,
            "mq-deadline" => {
                (prio.class == crate::workload::priority::PriorityClass::BestEffort && prio.level != USUAL).then(|| {
                    format!(
                        "{}: prio {prio}: mq-deadline looks at the class only, so the level has no effect; use rt or idle, or bfq",
                        job.name
                    )
                })
            }
            other => Some(format!("{}: prio {prio} has no effect: the scheduler {other} ignores it; use bfq, or mq-deadline for classes", job.name)),
        }
    }

    fn depth(&self) -> Option<String> {
        let asked: u64 = self
            .jobs
            .iter()
            .filter(|j| j.direct)
            .map(|j| u64::from(j.depth_in_use()) * u64::from(j.numjobs))
            .sum();
        let [device] = self.host.devices.as_slice() else { return None };
        let at_device = device.attachment.queue_depth.map(|d| ("device/queue_depth", u64::from(d)));
        let queues = u64::from(device.attachment.hw_queues.unwrap_or(1));
        let in_queue = self
            .before
            .number("nr_requests")
            .map(|n| ("nr_requests of all hardware queues", n.saturating_mul(queues)));
        let (what, most) = [at_device, in_queue].into_iter().flatten().min_by_key(|(_, n)| *n)?;
        (asked > most).then(|| {
            format!(
                "{asked} I/Os in flight were asked for and {} takes {most} ({what}): the others wait in the kernel, which their latency includes; ask for less (iodepth, numjobs)",
                device.name
            )
        })
    }

    /// A queue without a scheduler whose driver uses fewer tags than `nr_requests` reads.
    fn tags(&self) -> Option<String> {
        let [device] = self.host.devices.as_slice() else { return None };
        tag_depth::shortfall(&device.name, device.attachment.tags?, self.before)
    }
}

fn throttled(what: &str, device: &crate::sys::name::KernelName, numbers: &str) -> String {
    format!(
        "throttled: the control group limits {what} of {device} to {numbers} were done: this measures the limit, not the device; raise it or run outside of the group"
    )
}

#[cfg(test)]
mod tests {
    use super::super::made::{Made, one, said};
    use crate::sys::cgroup::IoLimit;
    use crate::sys::name::KernelName;
    use crate::workload::priority::Priority;

    #[test]
    fn a_limit_that_was_reached_is_what_was_measured() {
        let limited = |bytes: Option<u64>, iops: Option<u64>| {
            said(|m| {
                m.host.cgroup.io = vec![IoLimit {
                    device: KernelName::new("sda").unwrap(),
                    read_bytes_per_s: bytes,
                    write_bytes_per_s: Some(1),
                    read_iops: iops,
                    write_iops: None,
                }];
                m.outcome.total.write.bytes_per_s = 0.0;
            })
        };
        // It read 102 MiB/s, 26214 IOPS.
        one("limits reads of sda to 105 MiB/s and 102 were done", &limited(Some(110_000_000), None));
        one("to 27000 IOPS and 26214 were done", &limited(None, Some(27_000)));
        assert_eq!(limited(Some(1 << 30), Some(1_000_000)), Vec::<String>::new());
    }

    #[test]
    fn a_priority_that_the_scheduler_ignores() {
        let with = |scheduler: &str, prio: &str| {
            said(|m: &mut Made| {
                m.job.prio = Some(Priority::parse(prio).unwrap());
                for state in [&mut m.before, &mut m.after] {
                    let a = state.attributes.get_mut("scheduler").unwrap();
                    a.value = Some(format!("[{scheduler}]"));
                }
            })
        };
        one("prio be/7 has no effect: the scheduler none", &with("none", "be/7"));
        one("kyber ignores it", &with("kyber", "idle"));
        one("the class only", &with("mq-deadline", "be/0"));
        assert_eq!(with("mq-deadline", "idle"), Vec::<String>::new());
        assert_eq!(with("bfq", "be/7"), Vec::<String>::new());
    }

    #[test]
    fn more_in_flight_than_the_device_or_its_queue_takes() {
        let deep = |depth: Option<u32>, queues: Option<u32>| {
            said(|m| {
                m.job.set("engine=io_uring").unwrap();
                m.job.set("iodepth=512").unwrap();
                m.host.devices[0].attachment.queue_depth = depth;
                m.host.devices[0].attachment.hw_queues = queues;
            })
        };
        one("512 I/Os in flight were asked for and sda takes 32 (device/queue_depth)", &deep(Some(32), None));
        one("sda takes 256 (nr_requests", &deep(None, None));
        assert_eq!(deep(None, Some(2)), Vec::<String>::new());
    }

    #[test]
    fn fewer_tags_than_the_queue_says() {
        let with = |scheduler: &str, tags: Option<u32>| {
            said(|m| {
                m.host.devices[0].attachment.tags = tags;
                for state in [&mut m.before, &mut m.after] {
                    state.attributes.get_mut("scheduler").unwrap().value = Some(format!("[{scheduler}]"));
                }
            })
        };
        one(
            "sda takes 4 I/Os at once in a hardware queue, though nr_requests reads 256",
            &with("none", Some(4)),
        );
        for (scheduler, tags) in [("none", None), ("none", Some(256)), ("kyber", Some(64))] {
            assert_eq!(with(scheduler, tags), Vec::<String>::new(), "{scheduler}, {tags:?}");
        }
    }
}
