//! What a change is known to move besides, and what it puts at risk.

use crate::sys::queue::QueueState;
use crate::tuning::change::Change;
use crate::tuning::plan;

/// What `write through` means on a device with a volatile cache, for the diff and for the report.
pub(in crate::tuning) const FLUSHES_STOP: &str = "data safety: with write through the kernel sends no more flushes, while the cache of the device stays on; what programs have synced can be lost in a power cut unless that cache is protected";

/// What a set of changes is known to move or to put at risk, in sentences, for the operator to read before it is written;
/// data safety first. Changes that ask for the present value move nothing, since they are not written.
#[must_use]
pub fn known_side_effects(changes: &[Change], state: &QueueState) -> Vec<String> {
    let set = Set { changes, state };
    let mut told = Vec::new();
    set.data_safety(&mut told);
    set.limits(&mut told);
    set.scheduler(&mut told);
    set.requests(&mut told);
    set.tunables(&mut told);
    set.read_ahead(&mut told);
    told
}

struct Set<'a> {
    changes: &'a [Change],
    state: &'a QueueState,
}

impl Set<'_> {
    /// The value asked for, whether it differs or not.
    fn wanted(&self, name: &str) -> Option<&str> {
        self.changes.iter().find(|c| c.name == name).map(|c| c.requested.as_str())
    }

    /// The value asked for, if the queue has the attribute and reads another.
    fn differing(&self, name: &str) -> Option<&str> {
        let wanted = self.wanted(name)?;
        self.state.attributes.get(name)?;
        let now = self.state.effective(name);
        (!now.is_some_and(|now| plan::same_value(name, wanted, &now))).then_some(wanted)
    }

    fn data_safety(&self, told: &mut Vec<String>) {
        match self.differing("write_cache") {
            Some("write back") => told.push(
                "write_cache: the kernel sends flushes again; it refuses if the driver told of no cache"
                    .to_owned(),
            ),
            Some(_) => told.push(format!("write_cache: {FLUSHES_STOP}")),
            None => {}
        }
        if self.differing("stable_writes").is_some_and(is_zero) {
            told.push(
                "stable_writes: data safety: with 0 pages can change while they are written, which breaks checksums \
                 of devices and filesystems that rely on it"
                    .to_owned(),
            );
        }
    }

    fn limits(&self, told: &mut Vec<String>) {
        let moved: Vec<&str> =
            plan::LIMITS.into_iter().filter(|name| self.differing(name).is_some()).collect();
        if !moved.is_empty() {
            self.ratchet(&moved, told);
        }
        if self.differing("rotational").is_some()
            && self.state.effective("scheduler").as_deref() == Some("bfq")
        {
            told.push("rotational: bfq changes its idling with it at once".to_owned());
        }
        if self.differing("iostats").is_some_and(is_zero) {
            told.push(
                "iostats: with 0 the counters stand still, so rates stop and nothing can be measured"
                    .to_owned(),
            );
        }
        if self.differing("discard_max_bytes").is_some_and(is_zero) {
            told.push(
                "discard_max_bytes: some kernels (6.12 and 6.18 among them) do not take 0 back until the device is \
                 attached anew"
                    .to_owned(),
            );
        }
    }

    /// What the kernel does to read-ahead when a limit is written: since 6.11 at least the default of 128 KiB or twice
    /// the optimal size; since 6.17 also twice `max_sectors_kb` if rotational and no optimal size is told
    /// (`blk_apply_bdi_limits` in `block/blk-settings.c`).
    fn ratchet(&self, limits: &[&str], told: &mut Vec<String>) {
        let names = limits.join(", ");
        if self.wanted("read_ahead_kb").is_some() {
            told.push(format!(
                "{names}: writing it can raise read_ahead_kb, so blktune writes read_ahead_kb after it"
            ));
            return;
        }
        let number = |name: &str| {
            let asked = self.wanted(name).and_then(|w| w.parse().ok());
            asked.or_else(|| self.state.number(name))
        };
        let optimal_kib = self.state.number("optimal_io_size").unwrap_or(0) / 1024;
        let floor = match (optimal_kib, number("rotational")) {
            (0, Some(0) | None) => 0,
            (0, Some(_)) => number("max_sectors_kb").unwrap_or(0).saturating_mul(2),
            (n, _) => n.saturating_mul(2),
        }
        .max(128);
        match self.state.number("read_ahead_kb") {
            // Said of the one setting that is known for it; of the others only where it will happen.
            Some(now) if now >= floor && limits == ["rotational"] => told.push(format!(
                "{names}: writing it can raise read_ahead_kb, not expected here ({now} KiB is above the floor)"
            )),
            Some(now) if now >= floor => {}
            Some(now) => told.push(format!(
                "{names}: current kernels raise read_ahead_kb with it (now {now}, up to {floor} KiB) and never lower it again"
            )),
            None => told.push(format!(
                "{names}: current kernels may raise read-ahead with it and never lower it again"
            )),
        }
    }

    fn scheduler(&self, told: &mut Vec<String>) {
        let Some(to) = self.differing("scheduler") else { return };
        let state = self.state;
        told.push(
            "scheduler: the queue is drained first; I/O waits until what is in flight is done".to_owned(),
        );
        let from = state.effective("scheduler").unwrap_or_default();
        if state.effective("zoned").as_deref() == Some("host-managed")
            && to != "mq-deadline"
            && to != "deadline"
        {
            told.push(
                "scheduler: before Linux 6.10 only mq-deadline keeps writes to a zone in order; others make them fail"
                    .to_owned(),
            );
        }
        if let Some(n) = state.effective("nr_requests") {
            told.push(if self.wanted("nr_requests").is_some() {
                "scheduler: a switch resets nr_requests, so blktune writes it after the switch".to_owned()
            } else if to == "none" {
                format!(
                    "scheduler: nr_requests (now {n}) goes to what the driver offers, and blktune writes that anew: the \
                     switch alone leaves the driver's tags at an earlier number"
                )
            } else {
                format!("scheduler: nr_requests (now {n}) goes to the default of {to}")
            });
        }
        if state.attributes.keys().any(|k| k.starts_with("iosched/")) {
            told.push(format!("scheduler: the tunables of {from} are lost; {to} starts with its defaults"));
        }
        if state.attributes.contains_key("wbt_lat_usec") {
            if to == "bfq" {
                told.push("scheduler: bfq turns wbt_lat_usec off while it is active".to_owned());
            } else if from == "bfq" {
                told.push("scheduler: wbt_lat_usec, which bfq turned off, comes back".to_owned());
            }
        }
    }

    fn requests(&self, told: &mut Vec<String>) {
        if self.differing("nr_requests").is_none() {
            return;
        }
        told.push("nr_requests: the queue stops for a moment while it is resized".to_owned());
        let depth = ["iosched/async_depth", "async_depth"]
            .into_iter()
            .find(|name| self.state.attributes.contains_key(*name));
        if let Some(depth) =
            depth.filter(|d| self.differing("scheduler").is_none() && self.wanted(d).is_none())
        {
            told.push(format!("nr_requests: the scheduler sets {depth} anew"));
        }
    }

    fn tunables(&self, told: &mut Vec<String>) {
        let one = ["iosched/slice_idle", "iosched/slice_idle_us"];
        if let Some(name) = one.into_iter().find(|n| self.differing(n).is_some()) {
            if one.iter().any(|n| self.wanted(n).is_none()) {
                let other = if name.ends_with("_us") { one[0] } else { one[1] };
                told.push(format!("{name}: {other} moves with it, the two are one setting"));
            }
        } else if self.differing("iosched/strict_guarantees").is_some_and(|v| !is_zero(v)) {
            told.push(
                "iosched/strict_guarantees: bfq sets slice_idle to its default with it if that is 0"
                    .to_owned(),
            );
        }
        if self.differing("wbt_lat_usec").is_some() {
            told.push(
                "wbt_lat_usec: a value set by hand stays marked as such until the device is attached anew: bfq then no \
                 longer turns it off"
                    .to_owned(),
            );
        }
        for (name, what) in
            [("io_poll", "most kernels ignore it"), ("io_poll_delay", "current kernels ignore it")]
        {
            if self.differing(name).is_some() {
                told.push(format!("{name}: {what}; blktune refuses it then"));
            }
        }
    }

    fn read_ahead(&self, told: &mut Vec<String>) {
        if self.differing("read_ahead_kb").is_none() {
            return;
        }
        told.push(
            "read_ahead_kb: files that are open already keep the value they were opened with".to_owned(),
        );
        if self.changes.len() > 1 {
            told.push("read_ahead_kb is written last, so that no other change moves it".to_owned());
        }
    }
}

fn is_zero(value: &str) -> bool {
    value.parse() == Ok(0u64)
}
