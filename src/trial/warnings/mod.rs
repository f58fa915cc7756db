//! What has to be known before a trial's figures are believed: each sentence from a fact that was measured, with the
//! number, what it means and what to do.

mod account;
mod cpu;
mod limits;
pub(super) mod link;
#[cfg(test)]
mod made;
mod span;

use super::host::HostFacts;
use super::result::{CpuUse, DeviceWindow, OtherIo};
use crate::sys::queue::QueueState;
use crate::units::{Bytes, Nanos};
use crate::workload::durability::DropCaches;
use crate::workload::job::Job;
use crate::workload::outcome::RunOutcome;

/// Shorter windows say little: a device's own caches and the scheduler's learning are in them.
const SHORT: Nanos = Nanos(3_000_000_000);

/// The facts.
pub(super) struct Facts<'a> {
    pub(super) jobs: &'a [Job],
    pub(super) outcome: &'a RunOutcome,
    pub(super) device: Option<&'a DeviceWindow>,
    pub(super) others: Option<&'a OtherIo>,
    pub(super) cpu: &'a CpuUse,
    pub(super) host: &'a HostFacts,
    pub(super) has_device: bool,
    pub(super) iostats: bool,
    pub(super) before: &'a QueueState,
    pub(super) after: &'a QueueState,
    /// Size of the target.
    pub(super) target: Bytes,
    /// Why it was ended before its time, if not by hand.
    pub(super) stopped_for: Option<&'a str>,
}

impl Facts<'_> {
    /// The sentences; those of the run itself first.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut out = self.outcome.warnings.clone();
        out.extend([self.interrupted(), self.short(), self.settings(), self.dropped()].into_iter().flatten());
        out.extend(self.account());
        out.extend(self.on_cpu());
        out.extend(self.on_limits());
        out.extend(self.on_span());
        out.extend(self.on_link());
        out
    }

    fn interrupted(&self) -> Option<String> {
        let s = self.outcome.window.seconds();
        self.outcome.interrupted.then(|| match self.stopped_for {
            Some(why) => format!("stopped by itself after {s:.1} s: {why}"),
            None => format!("stopped by hand after {s:.1} s: fewer I/Os were measured than asked for"),
        })
    }

    fn short(&self) -> Option<String> {
        let w = self.outcome.window;
        (w < SHORT).then(|| {
            format!("measured for {:.2} s only: too short to tell a device's pace from its caches; 10 s or more are better", w.seconds())
        })
    }

    fn settings(&self) -> Option<String> {
        let changed = self.before.differences(self.after);
        if changed.is_empty() {
            return None;
        }
        let word = |v: &Option<String>| v.clone().unwrap_or_else(|| "absent".to_owned());
        let list: Vec<String> =
            changed.iter().map(|(name, a, b)| format!("{name} {} -> {}", word(a), word(b))).collect();
        Some(format!(
            "settings of the device changed during the run: {}; the figures belong to neither state",
            list.join(", ")
        ))
    }

    fn dropped(&self) -> Option<String> {
        self.jobs.iter().any(|j| j.drop_caches == DropCaches::System).then(|| {
            "drop_caches=system: the whole host's page cache was dropped before the start, so every program on it reads from its devices again; ask for it only where nobody waits".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::made::{Made, one, said};
    use super::*;
    use crate::sys::queue::Attribute;

    #[test]
    fn a_clean_trial_says_nothing() {
        assert_eq!(said(|_| {}), Vec::<String>::new());
    }

    #[test]
    fn how_it_ended_is_said() {
        one("stopped by hand", &said(|m| m.outcome.interrupted = true));
        one("too short", &said(|m| m.outcome.window = Nanos(2_000_000_000)));
        let own = said(|m| {
            m.outcome.interrupted = true;
            m.stopped_for = Some("others wait");
        });
        one("stopped by itself after 10.0 s: others wait", &own);
    }

    #[test]
    fn what_was_done_to_the_host_and_by_it_is_said() {
        one("every program on it", &said(|m| m.job.drop_caches = DropCaches::System));
        let put = |state: &mut QueueState, value: &str| {
            let value = Some(value.to_owned());
            state.attributes.insert("nr_requests".to_owned(), Attribute { value, writable: true });
        };
        let changed = said(|m: &mut Made| {
            put(&mut m.before, "256");
            put(&mut m.after, "64");
        });
        one("nr_requests 256 -> 64", &changed);
    }
}
