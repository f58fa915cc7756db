//! The journal and undo over the fake queue.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use blktune::sys::device::DeviceId;
use blktune::tuning::change::Outcome;
use blktune::tuning::control::QueueControl;
use blktune::tuning::journal::{Journal, JournalError, Stage};
use blktune::tuning::keep::{Kept, apply_and_keep, take_back_kept};
use blktune::tuning::undo::{Undone, latest, preview, undo};
use proptest::prelude::*;

use super::bench::{BOOT, Bench};
use super::fake::{FakeQueue, Fault};
use super::set;

impl Bench {
    fn set(&self, text: &str) -> Kept {
        apply_and_keep(&self.journal(), &self.queue, &self.id, &set(text), 1_700_000_000)
    }

    /// None if there is nothing to undo.
    fn undo(&self) -> Option<Undone> {
        let entries = self.journal().entries().unwrap();
        let entry = latest(&entries, |id| id.same_device(&self.id))?;
        Some(undo(&self.journal(), &self.queue, entry))
    }
}

fn done(u: Option<Undone>) -> Undone {
    let u = u.expect("something to undo");
    assert_eq!((u.cause, u.warning.as_deref()), (None, None), "{:?}", u.report);
    u
}

#[test]
fn undo_brings_back_every_attribute_level_by_level() {
    let b = Bench::new();
    let mut states = vec![b.queue.read()];
    for text in [
        "rotational=1",
        "scheduler=bfq",
        "nr_requests=64 read_ahead_kb=512",
        "scheduler=mq-deadline rotational=0",
        "scheduler=none nr_requests=16 read_ahead_kb=1001",
    ] {
        assert_eq!(b.set(text).applied.cause, None);
        states.push(b.queue.read());
    }
    states.pop();
    while let Some(state) = states.pop() {
        done(b.undo());
        assert_eq!(state.differences(&b.queue.read()), []);
    }
    assert!(b.undo().is_none());
}

#[test]
fn undo_puts_back_the_tunables_that_a_switch_lost() {
    let b = Bench::new();
    b.queue.foreign("scheduler", "mq-deadline");
    b.queue.foreign("nr_requests", "32");
    b.queue.foreign("iosched/read_expire", "124");
    let before = b.queue.read();
    b.set("scheduler=kyber");
    done(b.undo());
    assert_eq!(b.queue.read(), before);
}

#[test]
fn undo_keeps_a_number_of_requests_that_only_looked_like_the_default() {
    let b = Bench::new();
    b.queue.foreign("scheduler", "bfq");
    b.queue.foreign("nr_requests", "128");
    let before = b.queue.read();
    b.set("scheduler=none");
    done(b.undo());
    assert_eq!(b.queue.read(), before);
}

#[test]
fn a_value_that_the_kernel_takes_from_nobody_is_said_to_be_lost() {
    let b = Bench::new();
    b.queue.driver_chose("nr_requests", 2);
    b.set("nr_requests=64");
    let u = b.undo().unwrap();
    assert_eq!(b.queue.get("nr_requests"), "4");
    assert!(u.report.not_restored[0].contains("nr_requests was 2 and is 4"), "{:?}", u.report.not_restored);
}

#[test]
fn a_derived_value_is_never_written() {
    let b = Bench::new();
    b.set("scheduler=bfq");
    b.set("scheduler=kyber");
    done(b.undo());
    done(b.undo());
    let writes = b.queue.writes();
    let (switches, renewal) = writes.split_at(4);
    assert!(switches.iter().all(|(n, _)| n == "scheduler"), "{writes:?}");
    let renewed = [("nr_requests", "127"), ("nr_requests", "128")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    assert_eq!(renewal, renewed, "only to make the tags what the switch made the number");
}

#[test]
fn what_somebody_else_changed_since_is_left_alone() {
    let b = Bench::new();
    b.set("scheduler=bfq read_ahead_kb=512");
    b.queue.foreign("read_ahead_kb", "4096");
    let u = done(b.undo());
    assert_eq!((b.queue.get("scheduler").as_str(), b.queue.get("read_ahead_kb").as_str()), ("none", "4096"));
    let ra = u.report.changes.iter().find(|c| c.name == "read_ahead_kb").unwrap();
    assert_eq!(ra.outcome, Outcome::Refused);
    assert!(ra.message.as_deref().unwrap().contains("is 4096 now, not the 512 that blktune left"));
}

#[test]
fn undo_that_finds_nothing_of_its_own_changes_nothing_and_stays_due() {
    let b = Bench::new();
    b.set("scheduler=bfq");
    b.queue.foreign("scheduler", "kyber");
    let before = b.queue.read();
    let (back, foreign) = preview(&b.journal().entries().unwrap()[0], &before);
    assert_eq!((back.len(), foreign.len()), (0, 1));
    let u = b.undo().unwrap();
    assert!(u.cause.is_some() && u.why.unwrap().contains("scheduler is kyber now, not the bfq"));
    assert_eq!(b.queue.read(), before, "nr_requests was kyber's, not ours");
    b.queue.foreign("scheduler", "bfq");
    done(b.undo());
    assert_eq!(b.queue.get("scheduler"), "none");
}

#[test]
fn undo_of_what_was_put_back_by_hand_does_nothing() {
    let b = Bench::new();
    b.set("read_ahead_kb=512");
    b.queue.foreign("read_ahead_kb", "64");
    let n = b.queue.writes().len();
    assert!(done(b.undo()).report.changes.is_empty());
    assert_eq!(b.queue.writes().len(), n);
    assert!(b.undo().is_none());
}

#[test]
fn undo_of_a_limit_does_not_move_read_ahead_that_others_set_since() {
    let b = Bench::new();
    b.queue.foreign("rotational", "1");
    b.set("rotational=0");
    b.queue.foreign("read_ahead_kb", "32");
    done(b.undo());
    assert_eq!((b.queue.get("rotational").as_str(), b.queue.get("read_ahead_kb").as_str()), ("1", "32"));
}

#[test]
fn a_refused_undo_leaves_all_as_it_was_and_can_be_tried_again() {
    let b = Bench::new();
    b.set("scheduler=bfq read_ahead_kb=512");
    let before = b.queue.read();
    let (back, _) = preview(&b.journal().entries().unwrap()[0], &before);
    assert_eq!(back.iter().map(|c| c.requested.as_str()).collect::<Vec<_>>(), ["128", "64", "none"]);
    b.queue.fail(1, Fault::Refuse(libc::EIO));
    let u = b.undo().unwrap();
    assert!(u.cause.is_some() && u.report.rolled_back);
    assert_eq!(b.queue.read(), before);
    done(b.undo());
    assert_eq!(b.queue.get("read_ahead_kb"), "64");
}

#[test]
fn refused_and_unchanged_sets_leave_nothing_to_undo() {
    let b = Bench::new();
    b.set("read_ahead_kb=64");
    assert!(!b.file().exists(), "nothing was written, so nothing is noted");
    b.set("scheduler=bfq2 read_ahead_kb=512");
    b.set("read_ahead_kb=4k");
    let mut kept = b.set("scheduler=bfq");
    take_back_kept(&b.journal(), &b.queue, &b.id, &mut kept, "loop4 refused its part");
    assert!(b.undo().is_none());
}

#[test]
fn the_intent_is_on_disk_before_the_first_write() {
    struct Watching<'a>(&'a Bench);
    impl QueueControl for Watching<'_> {
        fn read(&self) -> blktune::sys::queue::QueueState {
            self.0.queue.read()
        }
        fn write(&self, name: &str, value: &str) -> Result<(), blktune::sys::attr::AttrError> {
            let entries = self.0.journal().entries().unwrap();
            assert_eq!(entries.len(), 1);
            assert_eq!(entries[0].stage, Stage::Open);
            assert_eq!(entries[0].before["read_ahead_kb"], "64");
            assert!(entries[0].owner.alive());
            self.0.queue.write(name, value)
        }
    }
    let b = Bench::new();
    let k = apply_and_keep(&b.journal(), &Watching(&b), &b.id, &set("read_ahead_kb=512"), 1);
    assert_eq!(k.applied.cause, None);
    let e = &b.journal().entries().unwrap()[0];
    assert_eq!((e.stage, e.moved.len()), (Stage::Kept, 1));
}

#[test]
fn undo_leaves_nothing_moved_that_only_its_own_writes_move() {
    let b = Bench::new();
    b.queue.late_depth();
    b.set("scheduler=mq-deadline");
    let before = b.queue.read();
    assert_eq!(b.set("nr_requests=133").applied.report.side_effects, []);
    done(b.undo());
    assert_eq!(before.differences(&b.queue.read()), []);
}

#[test]
fn an_interrupted_set_is_undone_from_what_was_noted_before() {
    let b = Bench::new();
    let before = b.queue.read();
    b.set("scheduler=bfq rotational=1");
    // As if the program had died before it could note the end.
    let text = std::fs::read_to_string(b.file()).unwrap();
    let intent = text.lines().next().unwrap().to_owned() + "\n";
    std::fs::write(b.file(), intent).unwrap();
    done(b.undo());
    assert_eq!(before.differences(&b.queue.read()), []);
}

#[test]
fn a_torn_line_costs_only_itself() {
    let b = Bench::new();
    b.set("read_ahead_kb=512");
    let mut f = std::fs::OpenOptions::new().append(true).open(b.file()).unwrap();
    f.write_all(br#"{"v":2,"boot":"11111111-2222"#).unwrap();
    b.set("nr_requests=64");
    assert_eq!(b.journal().entries().unwrap().len(), 2);
    done(b.undo());
    done(b.undo());
    assert_eq!((b.queue.get("nr_requests").as_str(), b.queue.get("read_ahead_kb").as_str()), ("128", "64"));
}

#[test]
fn entries_of_another_boot_format_or_device_are_never_acted_upon() {
    let b = Bench::new();
    b.set("read_ahead_kb=512");
    let other_boot = Journal::new(&b.dir.path().join("blktune"), "99999999-2222-3333-4444-555555555555");
    assert_eq!(other_boot.entries().unwrap(), []);
    let replaced = DeviceId { diskseq: Some(42), ..b.id.clone() };
    assert!(latest(&b.journal().entries().unwrap(), |id| id.same_device(&replaced)).is_none());
    let text = std::fs::read_to_string(b.file()).unwrap().replace("\"v\":2", "\"v\":1");
    std::fs::write(b.file(), text).unwrap();
    assert_eq!(b.journal().entries().unwrap(), []);
}

#[test]
fn the_journal_is_this_users_alone() {
    let b = Bench::new();
    b.set("read_ahead_kb=512");
    let mode = |p: &std::path::Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(b.file().parent().unwrap()), mode(&b.file())), (0o700, 0o600));
    std::fs::set_permissions(b.file(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(b.journal().entries(), Err(JournalError::NotTrusted { .. })));
    let k = b.set("read_ahead_kb=1024");
    assert!(k.applied.cause.is_some() && b.queue.get("read_ahead_kb") == "512", "changed without a note");
}

#[test]
fn a_link_in_the_journals_place_is_not_followed() {
    let b = Bench::new();
    let target = b.dir.path().join("victim");
    std::fs::write(&target, "precious").unwrap();
    std::fs::create_dir(b.file().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&target, b.file()).unwrap();
    assert!(b.set("read_ahead_kb=512").applied.cause.is_some());
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn two_writers_at_once_lose_nothing() {
    let b = Bench::new();
    let dir = b.dir.path().join("blktune");
    std::thread::scope(|s| {
        for t in 0..4 {
            let (dir, id) = (dir.clone(), b.id.clone());
            s.spawn(move || {
                let (q, journal) = (FakeQueue::new(), Journal::new(&dir, BOOT));
                for k in 0..10 {
                    let text = format!("read_ahead_kb={}", 128 + 4 * (t * 10 + k));
                    assert_eq!(apply_and_keep(&journal, &q, &id, &set(&text), 1).warning, None);
                }
            });
        }
    });
    let entries = b.journal().entries().unwrap();
    assert_eq!(entries.len(), 40);
    assert!(entries.iter().all(|e| e.stage == Stage::Kept));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
        prop_assert!(Journal::new(std::path::Path::new("nowhere"), BOOT).parse(&bytes).is_empty());
    }

    #[test]
    fn a_journal_cut_anywhere_yields_a_beginning_of_its_entries(cut in 0usize..2000) {
        let b = Bench::new();
        b.set("read_ahead_kb=512");
        b.set("scheduler=bfq");
        let bytes = std::fs::read(b.file()).unwrap();
        let whole = b.journal().parse(&bytes);
        let part = b.journal().parse(&bytes[..cut.min(bytes.len())]);
        prop_assert!(part.len() <= whole.len());
        for (p, w) in part.iter().zip(&whole) {
            prop_assert_eq!((&p.id, &p.before, &p.device), (&w.id, &w.before, &w.device));
            prop_assert!(p.stage == w.stage || p.stage == Stage::Open);
        }
    }
}
