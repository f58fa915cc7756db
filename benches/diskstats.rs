//! What a sample costs: reading, parsing and rating a `/proc/diskstats` of 10 to 10,000 devices. Run with
//! `cargo bench --bench diskstats`; it prints figures beside their goals and fails nothing, since machines are noisy.
//!
//! The text lies in a file on a file system in memory where there is one: the kernel's own making of the text, which
//! no reader can speed up, is not part of it. Sizes take turns, so that a disturbance hits all of them. Nothing here
//! waits, so times are of the processor: what others run meanwhile does not count.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use blktune::sys::diskstats;
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::telemetry::sample::Sample;
use blktune::telemetry::total::{Leaves, total};
use blktune::telemetry::tracker::RateTracker;
use blktune::units::Nanos;
use rustix::time::{ClockId, clock_gettime};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const ROUNDS: usize = 101;
/// Small sizes are done so often in a round that the clock is fine enough.
const ROWS_A_ROUND: usize = 10_000;
const GOAL: Duration = Duration::from_millis(5);
/// A row of 10,000 may cost this many times what a row of 10 does, to be called linear: caches end somewhere.
const LINEAR: f64 = 3.0;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
    let mut benches = Vec::new();
    for size in SIZES {
        benches.push(Bench::new(dir.path(), size)?);
    }
    for _ in 0..ROUNDS {
        for bench in &mut benches {
            bench.round()?;
        }
    }
    println!(
        "{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10}",
        "devices", "read", "parse", "rate", "all three", "total, drop", "a row"
    );
    let mut rows = Vec::new();
    for bench in &mut benches {
        let [read, parse, rate, after, all] = bench.medians();
        let row = all.as_secs_f64() * 1e9 / f64::from(u32::try_from(bench.size)?);
        rows.push(row);
        let size = bench.size;
        println!("{size:>8}{read:>12.1?}{parse:>12.1?}{rate:>12.1?}{all:>12.1?}{after:>12.1?}{row:>7.0} ns");
    }
    let (Some(first), Some(last), Some(biggest)) = (rows.first(), rows.last(), benches.last_mut()) else {
        return Err("no sizes".into());
    };
    let ratio = last / first;
    let ([.., all], (low, high)) = (biggest.medians(), biggest.quartiles());
    println!(
        "{} devices: median {all:.2?}, quartiles {low:.2?} to {high:.2?} (goal: {GOAL:?})  {}",
        biggest.size,
        {
            // The middle half of the rounds on both sides of the goal says nothing.
            if low <= GOAL && high > GOAL { "too noisy" } else { word(all <= GOAL) }
        }
    );
    println!(
        "a row of {} costs {ratio:.2} times a row of {} (goal: {LINEAR})  {}",
        biggest.size,
        SIZES[0],
        word(ratio <= LINEAR)
    );
    Ok(())
}

/// Processor time of this thread.
fn used() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.cast_unsigned(), u32::try_from(t.tv_nsec).unwrap_or(0))
}

fn word(met: bool) -> &'static str {
    if met { "met" } else { "not met" }
}

/// One size, and what a sampler and a tracker keep between samples.
struct Bench {
    size: usize,
    root: SysRoot,
    file: PathBuf,
    bytes: Vec<u8>,
    now: Sample,
    before: Sample,
    tracker: RateTracker,
    taken: u64,
    /// Of one sample: read, parse, rate, then adding up and dropping the frame; and the first three together.
    times: [Vec<Duration>; 5],
}

impl Bench {
    fn new(dir: &Path, size: usize) -> Result<Self, Error> {
        let base = dir.join(size.to_string());
        std::fs::create_dir_all(base.join("proc"))?;
        // As the sampler has them: each device's sequence number is known.
        let names = (0..size).filter_map(|i| KernelName::new(&format!("sd{}", letters(i))));
        let diskseq: Arc<HashMap<_, _>> = Arc::new(names.zip(1..).collect());
        let sample = Sample { diskseq, ..Sample::default() };
        Ok(Self {
            size,
            root: SysRoot::captured(&base),
            file: base.join("proc/diskstats"),
            bytes: Vec::new(),
            now: sample.clone(),
            before: sample,
            tracker: RateTracker::default(),
            taken: 0,
            times: Default::default(),
        })
    }

    fn round(&mut self) -> Result<(), Error> {
        let samples = ROWS_A_ROUND / self.size;
        let mut sums = [Duration::ZERO; 4];
        for _ in 0..samples {
            for (sum, took) in sums.iter_mut().zip(self.sample()?) {
                *sum += took;
            }
        }
        let each = |d: Duration| d / u32::try_from(samples).unwrap_or(1);
        for (times, sum) in self.times.iter_mut().zip(sums.into_iter().chain([sums.iter().take(3).sum()])) {
            times.push(each(sum));
        }
        Ok(())
    }

    /// One sample as the program takes it, in its three parts.
    fn sample(&mut self) -> Result<[Duration; 4], Error> {
        self.taken += 1;
        std::fs::write(&self.file, text(self.size, self.taken))?;
        let start = used();
        diskstats::read_into(&self.root, &mut self.bytes)?;
        let read = used();
        std::mem::swap(&mut self.now, &mut self.before);
        self.now.monotonic = Nanos(self.taken * Nanos::SECOND.0);
        self.now.read_rows(&diskstats::text_of(&self.bytes), &self.before.rows);
        let parsed = used();
        let frame = self.tracker.next(&self.now).ok_or("no frame")?;
        let rated = used();
        let sum = total(&frame, &Leaves::default());
        let (devices, leaves) = (frame.devices.len(), sum.leaves);
        drop(frame);
        let added = used();
        if self.taken > 1 && sum.rates.read_iops.is_none_or(|v| v < 1.0) {
            return Err("no rates".into());
        }
        if devices != self.size || leaves != self.size {
            return Err(format!("{devices} rows, {leaves} leaves of {}", self.size).into());
        }
        let took = |from: Duration, to: Duration| to.saturating_sub(from);
        Ok([took(start, read), took(read, parsed), took(parsed, rated), took(rated, added)])
    }

    fn medians(&mut self) -> [Duration; 5] {
        self.times.each_mut().map(|times| {
            times.sort();
            times[times.len() / 2]
        })
    }

    /// Of the three together.
    fn quartiles(&mut self) -> (Duration, Duration) {
        let all = &mut self.times[4];
        all.sort();
        (all[all.len() / 4], all[all.len() * 3 / 4])
    }
}

/// A text of so many whole devices that have been busy for years and go on.
fn text(size: usize, step: u64) -> String {
    let mut text = String::new();
    for i in 0..size {
        let n = 7_000_000 + (i as u64) * 977 + step * 120;
        let _ = writeln!(
            text,
            "{:>4} {:>7} sd{} {n} 4021 {} 88120 {n} 77 {} 991234 3 4410021 {} 1200 0 99012 441 55120 7712",
            8 + i / 256,
            i % 256 * 16,
            letters(i),
            n * 8,
            n * 32,
            n / 3,
        );
    }
    text
}

/// `a` to `z`, `aa`...: as the kernel counts disks.
fn letters(mut i: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + u8::try_from(i % 26).unwrap_or(0));
        if i < 26 {
            break;
        }
        i = i / 26 - 1;
    }
    name.iter().rev().map(|b| char::from(*b)).collect()
}
