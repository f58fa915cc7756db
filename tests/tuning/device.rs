//! Real loop devices: what the kernel answers, and undo of it.

use blktune::sys::attr;
use blktune::sys::device::{DevNum, DeviceId};
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::tuning::apply::{Applied, Cause};
use blktune::tuning::change::Outcome::{self, Applied as Done, Clamped, Refused, Unchanged};
use blktune::tuning::control::{QueueControl, SysfsQueue};
use blktune::tuning::journal::Journal;
use blktune::tuning::keep::apply_and_keep;
use blktune::tuning::undo::{Undone, latest, undo};

use super::support::{LoopDevice, loop_device};
use super::{carry_out, of, only, set};

/// A loop device, its queue, and a journal of the test's own.
pub(crate) struct Bench {
    pub(crate) device: LoopDevice,
    pub(crate) queue: SysfsQueue,
    dir: tempfile::TempDir,
}

impl Bench {
    /// None, and said why, where there is no right to make one.
    pub(crate) fn new() -> Option<Self> {
        let device = loop_device(4)?;
        let root = SysRoot::host();
        let block = root.block(device.name());
        let id = DeviceId {
            name: device.name().clone(),
            devnum: attr::read_opt(&block.join("dev")).and_then(|t| DevNum::parse(&t)),
            diskseq: attr::read_u64(&block.join("diskseq")),
            wwid: None,
            serial: None,
        };
        let queue = SysfsQueue::new(root, id);
        Some(Self { device, queue, dir: tempfile::tempdir().unwrap() })
    }

    fn journal(&self) -> Journal {
        Journal::new(&self.dir.path().join("blktune"), "a boot")
    }

    pub(crate) fn set(&self, text: &str) -> Applied {
        apply_and_keep(&self.journal(), &self.queue, self.queue.id(), &set(text), 1).applied
    }

    pub(crate) fn undo(&self) -> Option<Undone> {
        let entries = self.journal().entries().unwrap();
        latest(&entries, |id| id.same_device(self.queue.id())).map(|e| undo(&self.journal(), &self.queue, e))
    }

    pub(crate) fn state(&self) -> QueueState {
        self.queue.read()
    }

    pub(crate) fn offers(&self, scheduler: &str) -> bool {
        self.state().schedulers().is_some_and(|s| s.available.iter().any(|a| a == scheduler))
    }
}

#[test]
fn outcomes_are_the_kernels() {
    let Some(b) = Bench::new() else { return };
    assert!(b.offers("mq-deadline"), "this kernel has no mq-deadline to switch to");
    b.device.put("read_ahead_kb", "128");
    let cases: &[(&str, Outcome, Option<&str>)] = &[
        ("scheduler=mq-deadline", Done, Some("mq-deadline")),
        ("scheduler=mq-deadline", Unchanged, Some("mq-deadline")),
        ("scheduler=nonsense", Refused, Some("mq-deadline")),
        ("scheduler=[none]", Refused, Some("mq-deadline")),
        ("scheduler=none-such", Refused, Some("mq-deadline")),
        ("scheduler=none", Done, Some("none")),
        ("read_ahead_kb=1001", Clamped, Some("1000")),
        ("read_ahead_kb=1001", Clamped, Some("1000")),
        ("read_ahead_kb=4096", Done, Some("4096")),
        ("read_ahead_kb=4096", Unchanged, Some("4096")),
        ("read_ahead_kb=-1", Refused, Some("4096")),
        ("read_ahead_kb=4k", Refused, Some("4096")),
        ("read_ahead_kb=4294967296", Refused, Some("4096")),
        ("read_ahead_kb=3", Clamped, Some("0")),
        ("nr_requests=1", Clamped, Some("4")),
        ("nr_requests=64", Done, Some("64")),
        ("nr_requests=64", Unchanged, Some("64")),
        ("nr_requests=100000", Refused, Some("64")),
        ("rotational=1", Done, Some("1")),
        ("rotational=1", Unchanged, Some("1")),
        ("rotational=2", Clamped, Some("1")),
        ("rotational=x", Refused, Some("1")),
        ("rotational=0", Done, Some("0")),
        ("logical_block_size=4096", Refused, Some("512")),
        ("no_such_setting=1", Refused, None),
    ];
    b.device.put("rotational", "0");
    for (text, outcome, effective) in cases {
        let a = carry_out(&b.queue, text);
        let c = &a.report.changes[0];
        assert_eq!((c.outcome, c.effective.as_deref()), (*outcome, *effective), "{text}: {:?}", c.message);
        let reads = b.state().effective(&c.name);
        assert_eq!(reads.as_deref(), *effective, "{text}: the kernel");
        assert_eq!(c.message.is_none(), *outcome == Done, "{text}: {:?}", c.message);
        assert_eq!(a.report.rolled_back, *outcome == Refused, "{text}");
    }
}

#[test]
fn bfq_is_applied_and_its_wake_is_told() {
    let Some(b) = Bench::new() else { return };
    if !b.offers("bfq") {
        println!("this kernel has no bfq; not tested");
        return;
    }
    let a = carry_out(&b.queue, "scheduler=bfq");
    assert_eq!(only(&a), (Done, "bfq"));
    assert!(a.report.side_effects.iter().any(|s| s.name == "iosched/slice_idle" && s.before.is_none()));
    let told = a.report.side_effects.iter().any(|s| s.name == "nr_requests");
    assert_eq!(told, a.before.effective("nr_requests") != a.after.effective("nr_requests"));
}

#[test]
fn read_ahead_moved_by_rotational_is_told_and_undone() {
    let Some(b) = Bench::new() else { return };
    b.device.put("rotational", "0");
    b.device.put("read_ahead_kb", "64");
    let before = b.state();
    let a = b.set("rotational=1");
    assert_eq!(only(&a), (Done, "1"));
    let now = b.device.get("read_ahead_kb");
    let told = a.report.side_effects.iter().find(|s| s.name == "read_ahead_kb");
    assert_eq!(told.and_then(|s| s.after.as_deref()), (now != "64").then_some(now.as_str()));
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(before.differences(&b.state()), []);
}

#[test]
fn a_set_of_four_ends_as_asked_and_undo_brings_every_attribute_back() {
    let Some(b) = Bench::new() else { return };
    b.device.put("rotational", "0");
    b.device.put("read_ahead_kb", "64");
    b.device.put("nr_requests", "32");
    let start = b.state();
    let a = b.set("read_ahead_kb=256 nr_requests=64 scheduler=mq-deadline rotational=1");
    assert_eq!(a.cause, None);
    for (name, value) in
        [("read_ahead_kb", "256"), ("nr_requests", "64"), ("scheduler", "mq-deadline"), ("rotational", "1")]
    {
        assert_eq!((of(&a, name).outcome, b.state().effective(name).as_deref()), (Done, Some(value)));
    }
    let second = b.state();
    assert_eq!(b.set("scheduler=none read_ahead_kb=1024").cause, None);
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(second.differences(&b.state()), [], "one level back");
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(start.differences(&b.state()), [], "both levels back");
    assert!(b.undo().is_none());
}

#[test]
fn hand_set_tunables_survive_a_switch_and_its_undo() {
    let Some(b) = Bench::new() else { return };
    b.device.put("scheduler", "mq-deadline");
    b.device.put("nr_requests", "100");
    b.device.put("iosched/read_expire", "124");
    b.device.put("iosched/async_depth", "20");
    let before = b.state();
    b.set("scheduler=none");
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(before.differences(&b.state()), []);
    b.set("nr_requests=200");
    assert_eq!(b.undo().unwrap().cause, None);
    assert_eq!(before.differences(&b.state()), []);
}

#[test]
fn a_set_that_the_kernel_refuses_half_way_leaves_the_queue_as_it_was() {
    let Some(b) = Bench::new() else { return };
    b.device.put("rotational", "0");
    b.device.put("read_ahead_kb", "64");
    b.device.put("scheduler", "mq-deadline");
    b.device.put("iosched/async_depth", "20");
    let before = b.state();
    let a = b.set("rotational=1 scheduler=none nr_requests=100000 read_ahead_kb=512");
    assert_eq!(a.cause, Some(Cause::Value));
    assert!(a.report.rolled_back && a.report.not_restored.is_empty(), "{:?}", a.report);
    assert_eq!(before.differences(&b.state()), []);
    assert!(b.undo().is_none());
}

#[test]
fn a_change_by_somebody_else_in_between_is_left_alone() {
    let Some(b) = Bench::new() else { return };
    b.set("read_ahead_kb=512");
    b.device.put("read_ahead_kb", "2048");
    let u = b.undo().unwrap();
    assert_eq!(u.cause, Some(Cause::Value));
    assert_eq!((u.report.changes[0].outcome, b.device.get("read_ahead_kb").as_str()), (Refused, "2048"));
}

#[test]
fn a_queue_of_a_device_that_was_replaced_is_neither_read_nor_written() {
    let Some(b) = Bench::new() else { return };
    let before = b.device.get("read_ahead_kb");
    let stale = DeviceId { diskseq: b.queue.id().diskseq.map(|n| n + 1), ..b.queue.id().clone() };
    let queue = SysfsQueue::new(SysRoot::host(), stale);
    assert!(queue.read().attributes.is_empty());
    assert_eq!(queue.write("read_ahead_kb", "4").unwrap_err().errno(), Some(libc::ENODEV));
    let a = carry_out(&queue, "read_ahead_kb=4");
    assert_eq!(a.cause, Some(Cause::Gone));
    assert_eq!(b.device.get("read_ahead_kb"), before);
}

#[test]
fn only_settings_names_become_a_path() {
    let Some(b) = Bench::new() else { return };
    for name in [
        "../queue/read_ahead_kb",
        "iosched/../read_ahead_kb",
        "iosched/",
        "iosched",
        "no_such_thing",
        "/tmp/x",
    ] {
        assert_eq!(b.queue.write(name, "4").unwrap_err().errno(), Some(libc::ENOENT), "{name}");
    }
    assert_eq!(b.queue.rights(), None);
}
