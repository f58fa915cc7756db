//! The ring against files whose content is known, and devices that hang.

use super::super::{DriveError, FlushCall, IoEngine, Pace, now};
use super::*;
use crate::workload::arrivals::{Arrivals, RateProcess};

use crate::workload::engine::Flush;
use crate::workload::engine::testing::{Content, block_at, content_file, feed, source_of};
use crate::workload::ledger::{PATIENCE, WorkerEnd, alone};
use crate::workload::pattern::Region;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Every setup this kernel takes; empty, and said so, where there is no io_uring.
fn setups() -> Vec<Setup> {
    match probe() {
        Ok(_) => [Setup::Deferred, Setup::Cooperative, Setup::Plain]
            .into_iter()
            .filter(|s| s.build(2, false).is_ok())
            .collect(),
        Err(e) => {
            eprintln!("not run: io_uring is not available ({e})");
            Vec::new()
        }
    }
}

fn drive(
    file: &Content,
    depth: u32,
    quota: u64,
    change: impl Fn(&mut Uring),
    setup: Setup,
) -> (Uring, WorkerEnd) {
    let region = Region { offset: 0, blocks: file.blocks, bs: 4096 };
    let mut engine = Uring::new(file.source(), depth, setup, false).unwrap();
    change(&mut engine);
    let (mut ledger, ..) = alone(Nanos(u64::MAX), quota, PATIENCE);
    let closed = engine.drive(&mut feed(region, &["seed=3"]), &mut ledger).unwrap();
    (engine, ledger.close(closed, None))
}

#[test]
fn what_is_read_is_what_is_at_the_offset_however_it_is_set_up() {
    let file = content_file(256);
    for setup in setups() {
        for (buffers, registered) in [(true, true), (true, false), (false, true), (false, false)] {
            for (depth, quota) in [(1, 1), (8, 8), (32, 100)] {
                let change = |e: &mut Uring| {
                    e.flight.registered.buffers &= buffers;
                    e.flight.registered.file &= registered;
                    let count = e.flight.slots.len();
                    e.flight.prepare(count);
                };
                let (mut engine, end) = drive(&file, depth, quota, change, setup);
                assert_eq!((end.figures.ios(), end.figures.bytes()), (quota, quota * 4096));
                assert_eq!((engine.flight.count, end.failure), (0, None));
                for i in 0..usize::try_from(depth).unwrap() {
                    let offset = engine.flight.slots[i].io.offset;
                    assert_eq!(
                        engine.flight.arena.slice_mut(i),
                        block_at(offset),
                        "{setup:?} depth {depth} slot {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn both_engines_ask_for_the_same_blocks() {
    let file = content_file(256);
    for setup in setups() {
        let (engine, _) = drive(&file, 16, 16, |_| {}, setup);
        let mut same = feed(Region { offset: 0, blocks: file.blocks, bs: 4096 }, &["seed=3"]);
        let want: Vec<Io> = (0..16).map(|_| same.pattern.next_io()).collect();
        assert_eq!(engine.flight.slots.iter().map(|s| s.io).collect::<Vec<_>>(), want);
    }
}

#[test]
fn a_block_that_ends_early_is_the_end_of_the_file() {
    let file = content_file(1);
    file.cut(1904);
    for setup in setups() {
        let (_, end) = drive(&file, 2, 3, |_| {}, setup);
        assert_eq!(
            end.failure,
            Some(IoFailure { io: Io { offset: 0, direction: Direction::Read }, errno: None })
        );
        assert_eq!((end.figures.errors(), end.figures.ios()), (3, 0));
    }
}

/// An empty pipe answers no read: a device that hangs.
fn hanging(setup: Setup) -> (Uring, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    (Uring::new(source_of(reader.into(), 1), 4, setup, false).unwrap(), writer)
}

#[test]
fn a_device_that_hangs_is_given_up_and_its_memory_kept() {
    use std::io::Write;
    for setup in setups() {
        let (mut engine, mut writer) = hanging(setup);
        let soon = Nanos(now().0 + 50_000_000);
        let (mut ledger, ..) = alone(soon, u64::MAX, Nanos(100_000_000));
        let mut ios = feed(Region { offset: 0, blocks: 1, bs: 4096 }, &["rw=read"]);
        let began = Instant::now();
        let e = engine.drive(&mut ios, &mut ledger).unwrap_err();
        assert!(matches!(e, DriveError::Stuck { in_flight: 4, .. }), "{e}");
        assert!(began.elapsed() < Duration::from_secs(20));
        drop(engine);
        // A late answer lands in memory that nobody else was given.
        writer.write_all(&[1; 16_384]).unwrap();
    }
}

#[test]
fn a_stop_is_seen_while_the_device_hangs() {
    for setup in setups() {
        let (mut engine, _writer) = hanging(setup);
        let (mut ledger, reports, spares, halt) = alone(Nanos(u64::MAX), u64::MAX, Nanos(50_000_000));
        let mut ios = feed(Region { offset: 0, blocks: 1, bs: 4096 }, &["rw=read"]);
        spares.send(Box::default()).unwrap();
        // The first report proves that the thread wakes up although nothing completes.
        let stopper = std::thread::spawn(move || {
            let report = reports.recv_timeout(Duration::from_secs(20));
            halt.store(true, Ordering::Relaxed);
            report.is_ok()
        });
        assert!(matches!(engine.drive(&mut ios, &mut ledger), Err(DriveError::Stuck { .. })));
        assert!(stopper.join().unwrap(), "nothing was reported while the device hung");
    }
}

#[test]
fn what_is_written_lands_at_its_offset_and_nowhere_else() {
    for setup in setups() {
        let file = content_file(64);
        let before = file.read_back();
        let region = Region { offset: 4096, blocks: 60, bs: 4096 };
        let mut ios = feed(region, &["rw=randrw", "seed=9"]);
        let mut same = ios.clone();
        let mut engine = Uring::new(file.source(), 8, setup, false).unwrap();
        let (mut ledger, ..) = alone(Nanos(u64::MAX), 50, PATIENCE);
        engine.drive(&mut ios, &mut ledger).unwrap();
        let written: std::collections::BTreeSet<u64> = (0..50)
            .map(|_| same.pattern.next_io())
            .filter(|io| io.direction == Direction::Write)
            .map(|io| io.offset)
            .collect();
        let after = file.read_back();
        assert_eq!(after.len(), before.len(), "a write went beyond the end");
        for (i, (a, b)) in before.chunks(4096).zip(after.chunks(4096)).enumerate() {
            let offset = i as u64 * 4096;
            assert_eq!(a != b, written.contains(&offset), "{setup:?}: block at {offset}");
        }
    }
}

#[test]
fn a_flush_waits_for_the_writes_before_it_and_the_count_is_exact() {
    let file = content_file(64);
    for setup in setups() {
        for (depth, every, quota) in [(1, 1, 10), (8, 4, 40), (16, 5, 33), (4, 100, 20)] {
            let flush = Flush { call: FlushCall::Fdatasync, every };
            let mut engine =
                Uring::new(Source { flush, end_fsync: true, ..file.source() }, depth, setup, false).unwrap();
            let (mut ledger, ..) = alone(Nanos(u64::MAX), quota, PATIENCE);
            let region = Region { offset: 0, blocks: 64, bs: 4096 };
            let closed = engine.drive(&mut feed(region, &["rw=randwrite"]), &mut ledger).unwrap();
            let end = ledger.close(closed, None);
            let flushes = quota / u64::from(every) + 1;
            assert_eq!((end.figures.ios(), end.figures.flush.count()), (quota, flushes), "{setup:?} {depth}");
        }
    }
}

#[test]
fn an_open_loop_issues_when_due_whatever_was_answered() {
    let file = content_file(64);
    for setup in setups() {
        let mut ios = feed(Region { offset: 0, blocks: 64, bs: 4096 }, &[]);
        ios.pace = Pace::Open(Arrivals::new(RateProcess::Poisson, 1000.0, 1, 0, 1));
        let mut engine = Uring::new(file.source(), 4, setup, false).unwrap();
        let (mut ledger, ..) = alone(Nanos(u64::MAX), 100, PATIENCE);
        let closed = engine.drive(&mut ios, &mut ledger).unwrap();
        let end = ledger.close(closed, None);
        let waits = end.figures.waits(Direction::Read).unwrap();
        assert_eq!((end.figures.ios(), waits.lat.count(), waits.slat.count()), (100, 100, 100));
    }
}

#[test]
fn what_was_due_while_the_device_hung_is_told() {
    for setup in setups() {
        let (mut engine, _writer) = hanging(setup);
        let mut ios = feed(Region { offset: 0, blocks: 1, bs: 4096 }, &[]);
        ios.pace = Pace::Open(Arrivals::new(RateProcess::Fixed, 1000.0, 1, 0, 1));
        let soon = Nanos(now().0 + 50_000_000);
        let (mut ledger, ..) = alone(soon, u64::MAX, Nanos(50_000_000));
        assert!(matches!(engine.drive(&mut ios, &mut ledger), Err(DriveError::Stuck { in_flight: 4, .. })));
    }
}

#[test]
fn thinking_takes_its_time_for_each_slot() {
    let file = content_file(64);
    for setup in setups() {
        let mut ios = feed(Region { offset: 0, blocks: 64, bs: 4096 }, &[]);
        ios.pace = Pace::Think(Nanos(5_000_000));
        let mut engine = Uring::new(file.source(), 4, setup, false).unwrap();
        let (mut ledger, ..) = alone(Nanos(u64::MAX), 20, PATIENCE);
        let began = now();
        let closed = engine.drive(&mut ios, &mut ledger).unwrap();
        // Four at a time, so five rounds with four pauses between them.
        assert!(now().since(began).0 >= 4 * 5_000_000);
        assert_eq!(ledger.close(closed, None).figures.ios(), 20);
    }
}
