//! The engine's bytes beside the device's, and whose the rest was.

use super::Facts;
use crate::trial::window::at_edges;
use crate::units::Bytes;
use crate::workload::job::EngineKind;

/// Bytes of engine and device that differ by more than this share have another reason than the edges of the window.
const SHARE: f64 = 0.02;
/// So many processes are named.
const NAMED: usize = 3;

impl Facts<'_> {
    pub(super) fn account(&self) -> Vec<String> {
        if self.jobs.iter().any(|j| j.engine == EngineKind::Null) {
            // Bytes that were only drawn are no bytes that a device could have moved.
            return Vec::new();
        }
        if !self.iostats {
            return vec![
                "the device counts nothing (queue/iostats is 0): what it did is not known; write 1 there"
                    .to_owned(),
            ];
        }
        let Some(device) = self.device else {
            return vec![if self.has_device {
                "the device's counters could not be read at both ends: what it did is not known".to_owned()
            } else {
                "the target lies on no block device of its own (memory, network, btrfs, overlay): what a device did is not known".to_owned()
            }];
        };
        let total = &self.outcome.total;
        let (read, written) = (total.read.bytes, total.write.bytes);
        let direct = self.jobs.iter().all(|j| j.direct);
        let slack = at_edges(self.jobs);
        let mut out = Vec::new();
        if beyond(read.0, device.read_bytes.0, slack) {
            let why = if direct {
                "below it something answers from memory, and that was measured"
            } else {
                "the rest was served from the page cache; use --set direct=true, or a larger span, to measure the device"
            };
            out.push(format!("the engine read {read} and the device only {}: {why}", device.read_bytes));
        }
        if beyond(written.0, device.write_bytes.0, slack) {
            let why = if direct {
                "below it something keeps them in memory, and that was measured"
            } else {
                "the rest is still in the page cache, or was overwritten there; --set end_fsync=1 counts the time until it is on the device"
            };
            out.push(format!("the engine wrote {written} and the device only {}: {why}", device.write_bytes));
        }
        out.extend(self.other_io());
        out
    }

    fn other_io(&self) -> Option<String> {
        let others = self.others?;
        // What the file system writes of its own is no other's.
        let written = others.write_bytes?.0.saturating_sub(others.file_system_bytes.0);
        let sum = Bytes(others.read_bytes?.0.saturating_add(written));
        if !beyond(sum.0 + self.outcome.total.bytes().0, self.outcome.total.bytes().0, 0) {
            return None;
        }
        // The kernel's workers carry the I/O of this very run to what lies below a loop device or a file system.
        let whose: Vec<String> = others
            .processes
            .iter()
            .filter(|p| !(p.kernel && p.name.starts_with("kworker")))
            .take(NAMED)
            .map(|p| format!("{} ({}) {}", p.name, p.pid, p.bytes()))
            .collect();
        let whose = if whose.is_empty() {
            if others.processes_complete {
                "no process that lives accounts for it"
            } else {
                "whose is not known"
            }
            .to_owned()
        } else {
            format!("most active meanwhile: {}", whose.join(", "))
        };
        Some(format!(
            "other I/O on {}: {sum}; {whose}; the figures include the wait for it, so run again when it is quiet",
            others.device
        ))
    }
}

/// Whether `a` is above `b` by more than the share, `slack` aside.
#[allow(clippy::cast_precision_loss)] // a comparison of shares
fn beyond(a: u64, b: u64, slack: u64) -> bool {
    a.saturating_sub(slack) as f64 > b as f64 * (1.0 + SHARE)
}

#[cfg(test)]
mod tests {
    use super::super::made::{Made, one, said};
    use super::*;
    use crate::sys::process_io::Mover;

    fn device(m: &mut Made) -> &mut crate::trial::result::DeviceWindow {
        m.device.as_mut().unwrap()
    }

    #[test]
    fn what_memory_answered_or_kept_is_told_from_the_device() {
        let cached = said(|m| {
            m.job.direct = false;
            device(m).read_bytes = Bytes(1 << 20);
        });
        one("served from the page cache", &cached);
        one("answers from memory", &said(|m| device(m).read_bytes = Bytes(1 << 20)));
        let kept = said(|m| {
            m.job.direct = false;
            m.outcome.total.write.bytes = Bytes(1 << 30);
            device(m).write_bytes = Bytes(1 << 28);
        });
        one(
            "the engine wrote 1.00 GiB and the device only 256 MiB: the rest is still in the page cache",
            &kept,
        );
        // What was in flight when the ramp ended is no reason for a warning.
        let at_the_edge = said(|m| {
            m.outcome.total.read.bytes = Bytes(8192);
            device(m).read_bytes = Bytes(4096);
        });
        assert_eq!(at_the_edge, Vec::<String>::new());
    }

    #[test]
    fn other_io_is_told_with_whose_it_may_be() {
        let mover = |pid, name: &str, mib: u64, kernel| Mover {
            pid,
            name: name.to_owned(),
            kernel,
            read_bytes: Bytes(0),
            write_bytes: Bytes(mib << 20),
        };
        let others = |m: &mut Made| {
            let o = m.others.as_mut().unwrap();
            o.write_bytes = Some(Bytes(140 << 20));
            o.processes =
                vec![mover(9, "kworker/u4:1-loop7", 900, true), mover(1234, "postgres", 130, false)];
        };
        let got = said(others);
        one("other I/O on sda: 140 MiB; most active meanwhile: postgres (1234) 130 MiB; ", &got);
        assert!(!got[0].contains("kworker"), "{got:?}");
        let nobody = said(|m| {
            others(m);
            m.others.as_mut().unwrap().processes.clear();
        });
        one("no process that lives", &nobody);
        let hidden = said(|m| {
            others(m);
            let o = m.others.as_mut().unwrap();
            o.processes.clear();
            o.processes_complete = false;
        });
        one("whose is not known", &hidden);
        assert_eq!(
            said(|m| m.others.as_mut().unwrap().write_bytes = Some(Bytes(1 << 20))),
            Vec::<String>::new()
        );
        let journal = |most| {
            said(move |m| {
                others(m);
                m.others.as_mut().unwrap().file_system_bytes = Bytes(most);
            })
        };
        assert_eq!(journal(140 << 20), Vec::<String>::new(), "its journal");
        one("other I/O on sda: 40.0 MiB; ", &journal(100 << 20));
    }

    #[test]
    fn the_null_engine_is_not_held_against_the_device() {
        let null = said(|m| {
            m.job.set("engine=null").unwrap();
            device(m).read_bytes = Bytes(0);
        });
        assert_eq!(null, Vec::<String>::new());
    }

    #[test]
    fn a_device_that_was_not_counted_is_no_device_that_did_nothing() {
        one("iostats is 0", &said(|m| m.iostats = false));
        one("at both ends", &said(|m| m.device = None));
        let nowhere = said(|m| {
            m.device = None;
            m.has_device = false;
        });
        one("no block device of its own", &nowhere);
    }
}
