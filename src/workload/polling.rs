//! Whether the answers of a target's device can be polled for. A kernel that is asked to poll a device without such queues
//! waits for its interrupts and says nothing, so this is looked at before the start.

use super::job::Job;
use super::target::{Backing, TargetError};
use crate::sys::attr;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::units::Bytes;

/// What the device below a target says of polling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Polling {
    device: Option<KernelName>,
    /// `queue/io_poll`; writing does nothing, the driver decides (Documentation/ABI/stable/sysfs-block).
    queues: bool,
    /// Larger I/Os are split, and what is split is not polled (`bio_clear_polled` in block/blk-merge.c).
    largest: Option<Bytes>,
}

impl Polling {
    pub(super) fn read(root: &SysRoot, backing: Option<&Backing>) -> Self {
        let Some(whole) = backing.map(|b| &b.whole) else { return Self::default() };
        let queue = root.queue(whole);
        Self {
            queues: attr::read_flag(&queue.join("io_poll")) == Some(true),
            largest: attr::read_u64(&queue.join("max_sectors_kb")).map(|kib| Bytes(kib.saturating_mul(1024))),
            device: Some(whole.clone()),
        }
    }

    /// Whether every I/O of the job would be polled.
    pub(super) fn check(&self, job: &Job, shown: &str) -> Result<(), TargetError> {
        if !job.hipri {
            return Ok(());
        }
        let refused = |text: String| Err(TargetError::NotPolled(text));
        let Some(device) = &self.device else {
            return refused(format!(
                "{shown}: hipri polls a device, and none was found behind this; name the device, or leave hipri out"
            ));
        };
        if !self.queues {
            return refused(format!(
                "{shown}: {device} has no queues that can be polled (queue/io_poll is not 1), so hipri would do nothing; drivers make them when they are loaded, if they are told to (nvme.poll_queues=2 on the kernel's command line); or leave hipri out"
            ));
        }
        match self.largest {
            Some(largest) if job.bs > largest => refused(format!(
                "{shown}: I/Os of more than {largest} are split for {device} (queue/max_sectors_kb), and what is split is not polled; use a smaller bs than {}, or leave hipri out",
                job.bs
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_job_is_polled_whole_or_refused_with_what_to_do() {
        let mut job = preset::find("randread-4k").unwrap().jobs().remove(0);
        let able = Polling { device: KernelName::new("nvme0n1"), queues: true, largest: Some(Bytes(8192)) };
        let unable = Polling { queues: false, ..able.clone() };
        for polling in [&able, &unable, &Polling::default()] {
            assert!(polling.check(&job, "it").is_ok(), "nobody asked for it");
        }
        job.set("hipri=1").unwrap();
        assert!(able.check(&job, "it").is_ok());
        let said = |p: &Polling, j: &Job| p.check(j, "it").unwrap_err().to_string();
        assert!(said(&unable, &job).contains("nvme0n1 has no queues that can be polled"));
        assert!(said(&unable, &job).contains("leave hipri out"));
        assert!(said(&Polling::default(), &job).contains("none was found behind"));
        job.set("bs=16k").unwrap();
        assert!(said(&able, &job).contains("use a smaller bs"));
    }
}
