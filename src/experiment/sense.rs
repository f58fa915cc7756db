//! Factors that should make no difference with this workload: their cells are greyed with the reason, and run only as a
//! control (`--control`). Each reason is a fact of the kernel's source or was seen on Linux 6.18.

use crate::sys::queue::QueueState;
use crate::units::{Bytes, Kib};
use crate::workload::job::Job;

use super::cells::{self, CellsError};
use super::design::{Cell, Factor, FactorKind, Workload};

/// Why two cells should not differ, or why a level of theirs does not take hold; None if the comparison makes sense. One
/// factor that can make a difference is enough.
///
/// # Errors
/// What the workload does not take.
pub fn greyed(
    factors: &[Factor],
    cells: &[Cell],
    workload: &Workload,
    state: &QueueState,
) -> Result<Option<String>, CellsError> {
    let mut jobs = Vec::new();
    for cell in cells {
        jobs.extend(cells::jobs(factors, cell, workload)?);
    }
    let mut reasons = Vec::new();
    for factor in factors {
        match why_not(factor, factors, &jobs, state) {
            Some(why) => reasons.push(format!("{}: {why}", factor.name)),
            None => return Ok(None),
        }
    }
    Ok((!reasons.is_empty()).then(|| reasons.join("; ")))
}

/// Why a factor should make no difference to these jobs, all of which run in one cell or the other. None if it can.
#[must_use]
pub fn why_not(factor: &Factor, factors: &[Factor], jobs: &[Job], state: &QueueState) -> Option<String> {
    match (factor.kind, factor.name.as_str()) {
        (FactorKind::Setting, "read_ahead_kb") => read_ahead(factor, jobs, state),
        (FactorKind::Setting, "wbt_lat_usec") => writeback(jobs),
        (FactorKind::Setting, "nr_requests") => requests(factor, factors, jobs, state),
        (FactorKind::Setting, "discard_max_bytes" | "write_zeroes_unmap_max_bytes") => {
            Some("the workload discards and zeroes nothing".to_owned())
        }
        (FactorKind::Workload, name) if name.rsplit('.').next() == Some("iodepth") => depth(name, jobs),
        _ => None,
    }
}

fn numbers(factor: &Factor) -> Option<Vec<u64>> {
    factor.levels.iter().map(|l| l.parse().ok()).collect()
}

/// Read-ahead acts on buffered reads (`mm/readahead.c`), and not on direct I/O. Of reads at random offsets
/// `page_cache_sync_ra` reads what was asked and no more. A read larger than read-ahead is sent in requests of its own size,
/// up to `max_sectors_kb`: seen with dd bs=1M, which sends 1 MiB at a read-ahead of 4 KiB and at 128 KiB. 0 is
/// another thing: nothing is then asked for before it is needed, however large the reads.
fn read_ahead(factor: &Factor, jobs: &[Job], state: &QueueState) -> Option<String> {
    if jobs.iter().all(|j| j.direct) {
        return Some("every I/O is direct, and read-ahead acts on buffered reads alone".to_owned());
    }
    let mut buffered = jobs.iter().filter(|j| !j.direct && j.reads()).peekable();
    if buffered.peek().is_none() {
        return Some(
            "nothing is read through the page cache, and read-ahead acts on such reads alone".to_owned(),
        );
    }
    let levels: Vec<Bytes> =
        numbers(factor)?.iter().map(|kib| Bytes(Kib(*kib).sectors().bytes().0)).collect();
    let least = buffered.clone().map(|j| j.bs).min()?;
    let most = buffered.clone().map(|j| j.bs).max()?;
    if buffered.clone().all(|j| j.rw.random()) && levels.iter().all(|l| *l >= most) {
        return Some(
            "the reads are at random offsets, and the kernel then reads what is asked and no more".to_owned(),
        );
    }
    // Larger ones are split there, whatever asked for them.
    let split = state.number("max_sectors_kb").map_or(Bytes(u64::MAX), |kib| Kib(kib).sectors().bytes());
    let held = |l: &&Bytes| l.0 > 0 && **l < least.min(split);
    let without = levels.iter().find(held)?;
    Some(format!(
        "a read-ahead of {without} does not take hold: the reads are larger, {least}, and the kernel then sends them as they are; --set bs=4k lets read-ahead decide"
    ))
}

/// `wbt_should_throttle` in `block/blk-wbt.c`: writes that are not direct. Reads are never slowed.
fn writeback(jobs: &[Job]) -> Option<String> {
    let passes = |j: &Job| j.direct || !j.rw.writes();
    jobs.iter()
        .all(passes)
        .then(|| "writeback throttling slows buffered writes alone, and the workload makes none".to_owned())
}

/// A submitter waits when all requests of the queue are taken. Direct reads no larger than a request take one each, and
/// neither mq-deadline nor kyber reserves any against them; bfq does (`bfq_limit_depth`).
fn requests(factor: &Factor, factors: &[Factor], jobs: &[Job], state: &QueueState) -> Option<String> {
    let other = factors.iter().any(|f| matches!(f.name.as_str(), "scheduler" | "max_sectors_kb"));
    let known = matches!(state.effective("scheduler")?.as_str(), "none" | "mq-deadline" | "kyber");
    let largest = Kib(state.number("max_sectors_kb")?).sectors().bytes();
    let plain = |j: &Job| j.direct && !j.rw.writes() && j.bs <= largest;
    if other || !known || !jobs.iter().all(plain) {
        return None;
    }
    // Both cells' jobs are among these, so this is at least what is ever in flight.
    let in_flight: u64 = jobs.iter().map(|j| u64::from(j.numjobs) * u64::from(j.depth_in_use())).sum();
    let least = numbers(factor)?.into_iter().min()?;
    let words = if in_flight == 1 { "I/O is" } else { "I/Os are" };
    (in_flight < least).then(|| format!("at most {in_flight} {words} in flight, and no level is that small"))
}

fn depth(name: &str, jobs: &[Job]) -> Option<String> {
    let of = name.rsplit_once('.').map(|(job, _)| job);
    let mut concerned = jobs.iter().filter(|j| of.is_none_or(|of| j.name == of)).peekable();
    concerned.peek()?;
    concerned.all(|j| j.depth_in_use() == 1).then(|| {
        "one I/O is in flight whatever iodepth says; only --set engine=io_uring keeps more".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::cells::tests::{factors, queue, workload};

    fn said(texts: &[&str], preset: &str, set: &[&str]) -> String {
        let state = queue();
        let f = factors(texts, &state);
        let c = cells::cells(&f, true).unwrap();
        greyed(&f, &c, &workload(preset, set), &state).unwrap().unwrap_or_default()
    }

    #[test]
    fn read_ahead_does_nothing_to_direct_io_or_to_writes() {
        assert!(said(&["read_ahead_kb=4,4096"], "seqread-1m", &[]).contains("direct"));
        assert!(said(&["read_ahead_kb=4,4096"], "seqwrite-1m", &["direct=0"]).contains("nothing is read"));
        assert_eq!(said(&["read_ahead_kb=4,4096"], "dd-1m", &["bs=4k"]), "");
    }

    #[test]
    fn a_read_larger_than_read_ahead_is_sent_as_it_is() {
        let text = said(&["read_ahead_kb=4,4096"], "dd-1m", &[]);
        assert!(text.contains("4.00 KiB does not take hold") && text.contains("1.00 MiB"), "{text}");
        assert!(said(&["read_ahead_kb=4,128"], "dd-1m", &[]).contains("does not take hold"));
        assert_eq!(said(&["read_ahead_kb=1024,4096"], "dd-1m", &[]), "");
        // 0 is no smaller read-ahead but none.
        assert_eq!(said(&["read_ahead_kb=0,4096"], "dd-1m", &[]), "");
    }

    #[test]
    fn reads_at_random_are_not_run_ahead_of() {
        assert!(said(&["read_ahead_kb=4,4096"], "randread-4k", &["direct=0"]).contains("random"));
        assert_eq!(said(&["read_ahead_kb=4,4096"], "tiotest-4", &[]), "");
    }

    #[test]
    fn writeback_throttling_is_about_buffered_writes() {
        for (preset, set, greyed) in [
            ("randread-4k", &[][..], true),
            ("seqwrite-1m", &[], true),
            ("seqwrite-1m", &["direct=0"], false),
        ] {
            assert_eq!(!said(&["wbt_lat_usec=0,2000"], preset, set).is_empty(), greyed, "{preset} {set:?}");
        }
    }

    #[test]
    fn more_requests_than_are_in_flight_make_no_difference() {
        for (texts, preset, set, greyed) in [
            (&["nr_requests=128,256"][..], "randread-4k-qd32", &[][..], true),
            (&["nr_requests=16,256"], "randread-4k-qd32", &[], false),
            (&["nr_requests=128,256", "scheduler=none,bfq"], "randread-4k-qd32", &[], false),
            (&["nr_requests=128,256"], "randread-4k-qd32", &["bs=2m"], false),
            (&["nr_requests=128,256"], "seqwrite-1m", &[], false),
            (&["nr_requests=128,256"], "readers-32", &["numjobs=200"], false),
        ] {
            assert_eq!(!said(texts, preset, set).is_empty(), greyed, "{texts:?} {preset} {set:?}");
        }
    }

    #[test]
    fn depth_is_nothing_to_an_engine_that_waits() {
        assert!(said(&["iodepth=1,32"], "randread-4k", &[]).contains("io_uring"));
        assert_eq!(said(&["iodepth=1,32"], "randread-4k-qd32", &[]), "");
    }

    #[test]
    fn one_factor_that_can_matter_is_enough() {
        assert!(said(&["discard_max_bytes=0,4096"], "randread-4k", &[]).contains("discards"));
        assert_eq!(said(&["discard_max_bytes=0,4096", "scheduler=none,bfq"], "randread-4k", &[]), "");
        let both = said(&["read_ahead_kb=4,8", "wbt_lat_usec=0,1"], "randread-4k", &[]);
        assert!(both.contains("read_ahead_kb: ") && both.contains("wbt_lat_usec: "), "{both}");
    }
}
