//! Held settings and what puts them back, over the fake queue: who answers for what, and what is never written.

use std::path::Path;
use std::process::{Command, Stdio};

use blktune::sys::device::DeviceId;
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::tuning::apply::Cause;
use blktune::tuning::control::QueueControl;
use blktune::tuning::held::hold;
use blktune::tuning::journal::{Entry, Intent, Journal, JournalError, Mode, Owner, Stage};
use blktune::tuning::keep::apply_and_keep;
use blktune::tuning::restore::{End, foresee, owned_by, pending, put_back, restore_all};
use blktune::tuning::snapshot;
use blktune::tuning::undo::{latest, latest_undone, redo, undo};

use super::bench::Bench;
use super::fake::FakeQueue;
use super::set;
use super::support::loopdev::within_seconds;

impl Bench {
    fn entries(&self) -> Vec<Entry> {
        self.journal().entries().unwrap()
    }

    /// Holds, and goes without a word.
    fn abandon(&self, text: &str) {
        let held = hold(&self.journal(), &self.queue, &self.id, &set(text), 1);
        assert_eq!(held.applied().cause, None);
        held.leave();
    }

    /// Rewrites the journal as if another process had written it.
    fn as_if_by(&self, owner: Owner) {
        let us = Owner::this();
        let text = std::fs::read_to_string(self.file()).unwrap();
        let (from, to) = [us, owner].map(|o| format!("\"pid\":{},\"started\":{}", o.pid, o.started)).into();
        assert!(text.contains(&from));
        std::fs::write(self.file(), text.replace(&from, &to)).unwrap();
    }
}

fn dead() -> Owner {
    // The same number, another start: a reused one.
    Owner { started: Owner::this().started + 1, ..Owner::this() }
}

#[test]
fn a_hold_goes_back_when_it_is_released_and_when_it_is_dropped() {
    let b = Bench::new();
    let before = b.queue.read();
    let held = hold(&b.journal(), &b.queue, &b.id, &set("scheduler=bfq read_ahead_kb=512"), 1);
    assert_eq!((b.entries()[0].stage, b.entries()[0].mode), (Stage::Held, Mode::Held));
    let back = held.release().unwrap();
    assert_eq!((back.end, back.not_restored.len(), back.foreign.len()), (End::Done, 0, 0));
    assert_eq!(before.differences(&b.queue.read()), []);
    drop(hold(&b.journal(), &b.queue, &b.id, &set("rotational=1"), 1));
    assert_eq!(before.differences(&b.queue.read()), []);
    assert!(b.entries().iter().all(|e| e.stage == Stage::PutBack));
    assert!(latest(&b.entries(), |_| true).is_none(), "nothing held is for undo to take back");
}

#[test]
fn a_confirmed_hold_stays_and_is_undone_like_any_other() {
    let b = Bench::new();
    let before = b.queue.read();
    hold(&b.journal(), &b.queue, &b.id, &set("scheduler=bfq"), 1).confirm().unwrap();
    assert_eq!((b.queue.get("scheduler").as_str(), b.entries()[0].stage), ("bfq", Stage::Kept));
    assert!(pending(&b.entries(), |_| false).is_empty());
    let entries = b.entries();
    assert_eq!(undo(&b.journal(), &b.queue, latest(&entries, |_| true).unwrap()).cause, None);
    assert_eq!(before.differences(&b.queue.read()), []);
    assert!(matches!(b.journal().confirm(&entries[0]), Err(JournalError::Settled(_))));
}

#[test]
fn holds_that_lie_over_one_another_unwind_newest_first() {
    let b = Bench::new();
    let before = b.queue.read();
    for text in
        ["read_ahead_kb=512 scheduler=bfq", "read_ahead_kb=1024", "scheduler=kyber read_ahead_kb=2048"]
    {
        b.abandon(text);
    }
    b.as_if_by(dead());
    let entries = b.entries();
    let due = pending(&entries, Owner::alive);
    assert_eq!(due.len(), 3);
    for entry in due {
        assert_eq!(put_back(&b.journal(), &b.queue, entry, None).end, End::Done);
    }
    assert_eq!(before.differences(&b.queue.read()), []);
}

#[test]
fn an_owner_that_lives_is_left_alone_and_a_reused_number_is_dead() {
    let b = Bench::new();
    b.abandon("read_ahead_kb=512");
    assert!(pending(&b.entries(), Owner::alive).is_empty());
    assert_eq!(owned_by(&b.entries(), Owner::this()).len(), 1);
    b.as_if_by(dead());
    assert_eq!(pending(&b.entries(), Owner::alive).len(), 1);
    assert!(owned_by(&b.entries(), Owner::this()).is_empty());
}

#[test]
fn a_zombie_is_dead() {
    let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let owner = Owner::of(child.id()).unwrap();
    assert!(owner.alive());
    child.kill().unwrap();
    assert!(within_seconds(20, || !owner.alive()), "not waited for, it is a zombie, and counts as alive");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", owner.pid)).unwrap();
    assert!(stat.contains(") Z "), "{stat}");
    child.wait().unwrap();
}

#[test]
fn a_device_that_another_living_process_holds_is_refused_by_name_and_number() {
    let b = Bench::new();
    let mut other = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    b.abandon("read_ahead_kb=512");
    b.as_if_by(Owner::of(other.id()).unwrap());
    let kept = apply_and_keep(&b.journal(), &b.queue, &b.id, &set("nr_requests=64"), 1);
    assert_eq!(kept.applied.cause, Some(Cause::Gone));
    assert!(kept.applied.why.unwrap().contains(&format!("loop3 is held by process {}", other.id())));
    assert_eq!(b.queue.get("nr_requests"), "128");
    let elsewhere = DeviceId { name: KernelName::new("loop4").unwrap(), devnum: None, ..b.id.clone() };
    assert_eq!(
        apply_and_keep(&b.journal(), &FakeQueue::new(), &elsewhere, &set("nr_requests=64"), 1).applied.cause,
        None
    );
    // A supervisor acts for one that is alive and stuck.
    let owner = Owner::of(other.id()).unwrap();
    let entries = b.entries();
    assert_eq!(put_back(&b.journal(), &b.queue, &entries[0], None).end, End::Busy(other.id()));
    assert_eq!(put_back(&b.journal(), &b.queue, &entries[0], Some(owner)).end, End::Done);
    assert_eq!(b.queue.get("read_ahead_kb"), "64");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn entries_of_another_boot_and_of_a_device_that_is_gone_are_closed_and_never_written() {
    let b = Bench::new();
    b.abandon("read_ahead_kb=512");
    b.as_if_by(dead());
    let writes = b.queue.writes().len();
    let rebooted = Journal::new(&b.dir.path().join("blktune"), "99999999-2222-3333-4444-555555555555");
    let root = SysRoot::host();
    assert_eq!(foresee(&rebooted, &root).unwrap().closed.len(), 1);
    let report = restore_all(&rebooted, &root).unwrap();
    assert!(report.restored.is_empty() && report.closed[0].message.contains("another boot"), "{report:?}");
    assert_eq!(restore_all(&rebooted, &root).unwrap().closed, [], "told once");
    // No device of this host has that number and sequence: it was replaced.
    let replaced = Bench::new();
    replaced.abandon("read_ahead_kb=512");
    replaced.as_if_by(dead());
    let text = std::fs::read_to_string(replaced.file())
        .unwrap()
        .replace("\"diskseq\":41", "\"diskseq\":18446744073709551615");
    std::fs::write(replaced.file(), text).unwrap();
    let report = restore_all(&replaced.journal(), &root).unwrap();
    assert!(report.restored.is_empty() && report.closed[0].message.contains("gone"), "{report:?}");
    assert_eq!(replaced.entries()[0].stage, Stage::Closed);
    assert_eq!(b.queue.writes().len(), writes);
}

#[test]
fn what_cannot_be_put_back_stays_due_and_the_rest_goes_back_all_the_same() {
    let b = Bench::new();
    let before = b.queue.read();
    b.abandon("scheduler=bfq read_ahead_kb=512 nr_requests=64");
    b.as_if_by(dead());
    b.queue.break_from(0);
    let entries = b.entries();
    let first = put_back(&b.journal(), &b.queue, &entries[0], None);
    assert_eq!(first.end, End::Partly);
    assert!(first.not_restored.iter().any(|w| w.contains("could not be put back to none")), "{first:?}");
    b.queue.mend();
    let entries = b.entries();
    assert!(entries[0].unsettled());
    assert_eq!(put_back(&b.journal(), &b.queue, &entries[0], None).end, End::Done);
    assert_eq!(before.differences(&b.queue.read()), []);
}

#[test]
fn an_attempt_that_was_cut_off_is_finished_by_the_next() {
    let b = Bench::new();
    let before = b.queue.read();
    b.abandon("scheduler=bfq rotational=1 read_ahead_kb=512");
    b.as_if_by(dead());
    // Claimed, one limit written back, which moves read-ahead; then dead.
    b.journal().claim(&b.entries()[0], None).unwrap();
    b.as_if_by(dead());
    b.queue.foreign("rotational", "0");
    b.queue.foreign("rotational", "1");
    b.queue.foreign("rotational", "0");
    let entries = b.entries();
    let done = put_back(&b.journal(), &b.queue, pending(&entries, Owner::alive)[0], None);
    assert_eq!((done.end, done.foreign.len()), (End::Done, 0));
    assert_eq!(before.differences(&b.queue.read()), []);
}

#[test]
fn an_interrupted_set_does_not_take_along_what_others_changed_elsewhere() {
    let b = Bench::new();
    let (device, before) = (&b.id, b.queue.read());
    let planned = set("read_ahead_kb=512");
    let intent = Intent {
        device,
        planned: &planned,
        before: &before,
        time: 1,
        mode: Mode::Kept,
        owner: dead(),
        reverts_at: None,
        redo_of: None,
    };
    b.journal().intend(intent).unwrap();
    b.queue.foreign("read_ahead_kb", "512");
    b.queue.foreign("scheduler", "bfq");
    let entries = b.entries();
    assert_eq!(put_back(&b.journal(), &b.queue, pending(&entries, Owner::alive)[0], None).end, End::Done);
    assert_eq!((b.queue.get("read_ahead_kb").as_str(), b.queue.get("scheduler").as_str()), ("64", "bfq"));
}

#[test]
fn only_one_of_many_puts_an_entry_back() {
    let b = Bench::new();
    b.abandon("read_ahead_kb=512");
    b.as_if_by(dead());
    let entries = b.entries();
    assert_eq!(put_back(&b.journal(), &b.queue, &entries[0], None).end, End::Done);
    let writes = b.queue.writes().len();
    assert_eq!(put_back(&b.journal(), &b.queue, &entries[0], None).end, End::Settled);
    assert_eq!(b.queue.writes().len(), writes);
}

#[test]
fn redo_goes_forward_as_far_as_undo_went_back_and_not_past_a_new_change() {
    let b = Bench::new();
    for text in ["scheduler=bfq", "read_ahead_kb=512", "rotational=1"] {
        apply_and_keep(&b.journal(), &b.queue, &b.id, &set(text), 1);
    }
    let back = || {
        let entries = b.entries();
        assert_eq!(undo(&b.journal(), &b.queue, latest(&entries, |_| true).unwrap()).cause, None);
    };
    let forward = || {
        let entries = b.entries();
        let found = latest_undone(&entries, |_| true);
        found.map(|e| redo(&b.journal(), &b.queue, e, 1).applied.cause)
    };
    let last = b.queue.read();
    for _ in 0..2 {
        for _ in 0..3 {
            back();
        }
        assert_eq!(b.queue.get("scheduler"), "none");
        assert_eq!([forward(), forward(), forward(), forward()], [Some(None), Some(None), Some(None), None]);
        assert_eq!(last.differences(&b.queue.read()), []);
    }
    back();
    apply_and_keep(&b.journal(), &b.queue, &b.id, &set("nr_requests=64"), 1);
    assert!(forward().is_none(), "a new change ends what could be redone");
}

#[test]
fn back_to_boot_is_where_it_was_before_the_first_change() {
    let b = Bench::new();
    b.queue.foreign("scheduler", "mq-deadline");
    b.queue.foreign("iosched/read_expire", "77");
    let boot = b.queue.read();
    for text in ["scheduler=bfq", "read_ahead_kb=512 rotational=1", "scheduler=none"] {
        apply_and_keep(&b.journal(), &b.queue, &b.id, &set(text), 1);
    }
    let then = snapshot::load(&b.journal(), &b.id).unwrap().unwrap();
    assert_eq!(snapshot::back_to(&b.journal(), &b.queue, &then, 1).applied.cause, None);
    assert_eq!(boot.differences(&b.queue.read()), []);
    let replaced = DeviceId { diskseq: Some(42), ..b.id.clone() };
    assert_eq!(snapshot::load(&b.journal(), &replaced).unwrap(), None);
    let rebooted = Journal::new(&b.dir.path().join("blktune"), "99999999-2222-3333-4444-555555555555");
    assert_eq!(snapshot::load(&rebooted, &b.id).unwrap(), None);
}

#[test]
fn a_large_journal_is_made_anew_with_what_is_still_needed() {
    let b = Bench::new();
    b.abandon("read_ahead_kb=512");
    let old = std::fs::metadata(b.file()).unwrap().len();
    let mut text = std::fs::read_to_string(b.file()).unwrap();
    text.push_str(&"{\"v\":0}\n".repeat(200_000));
    std::fs::write(b.file(), text).unwrap();
    apply_and_keep(&b.journal(), &b.queue, &b.id, &set("nr_requests=64"), 1);
    assert!(std::fs::metadata(b.file()).unwrap().len() < 4 * old);
    let stages: Vec<Stage> = b.entries().iter().map(|e| e.stage).collect();
    assert_eq!(stages, [Stage::Held, Stage::Kept]);
    let left: Vec<_> =
        std::fs::read_dir(b.file().parent().unwrap()).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.iter().all(|p| p.extension() != Some(Path::new("new").as_os_str())), "{left:?}");
}
