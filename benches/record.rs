//! What a record takes: bytes of a day of 20 devices at one sample a second, and CPU for each sample. Run with
//! `cargo bench --bench record`; it prints figures beside their goal and fails nothing.
//!
//! The counters are made up, but move as those of real devices do: in the scale of a host that has been up for months,
//! a transfer counted on the device and on one of its partitions, flushes only on the device.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use blktune::runtime::record_reader::RecordReader;
use blktune::runtime::recorder::Recorder;
use blktune::sys::name::KernelName;
use blktune::telemetry::recording::Line;
use blktune::units::Nanos;

type Error = Box<dyn std::error::Error>;

const DEVICES: usize = 20;
const DAY: u64 = 24 * 60 * 60;
const GOAL_MB: f64 = 40.0;

/// How a device is used.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Reads, writes and flushes in every second.
    Database,
    /// Appends in every second.
    Log,
    /// Reads in every second.
    Scan,
    /// As a database for a tenth of the time.
    Bursty,
    /// A journal's commit now and then.
    Idle,
}

/// Hosts: a name, and how many devices of each use.
const HOSTS: [(&str, [(Use, usize); 5]); 3] = [
    (
        "3 busy, 6 bursty, 11 idle",
        [(Use::Database, 1), (Use::Log, 1), (Use::Scan, 1), (Use::Bursty, 6), (Use::Idle, 11)],
    ),
    (
        "6 busy, 6 bursty, 8 idle",
        [(Use::Database, 2), (Use::Log, 2), (Use::Scan, 2), (Use::Bursty, 6), (Use::Idle, 8)],
    ),
    (
        "all 20 databases",
        [(Use::Database, 20), (Use::Log, 0), (Use::Scan, 0), (Use::Bursty, 0), (Use::Idle, 0)],
    ),
];

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    for (name, uses) in HOSTS {
        let gz = day(&uses)?;
        let met = if gz.megabytes() <= GOAL_MB { "met" } else { "not met" };
        println!("{name}: {:.1} of {:.0} rows move in a second", gz.moved_rows, gz.rows);
        println!("  compressed {:.1} MB a day (goal: {GOAL_MB:.0} MB)  {met}", gz.megabytes());
        println!("             {:.0} bytes and {:.0?} a sample", gz.per_sample(), gz.write_per_sample);
        println!("  plain      {:.0} MB a day", gz.plain_bytes / 1e6);
        println!("  read back  {:.0?} a sample", gz.read_per_sample);
    }
    Ok(())
}

struct Day {
    bytes: usize,
    plain_bytes: f64,
    write_per_sample: Duration,
    read_per_sample: Duration,
    rows: f64,
    moved_rows: f64,
}

impl Day {
    #[allow(clippy::cast_precision_loss)] // figures for people
    fn megabytes(&self) -> f64 {
        self.bytes as f64 / 1e6
    }

    #[allow(clippy::cast_precision_loss)] // as above
    fn per_sample(&self) -> f64 {
        self.bytes as f64 / DAY as f64
    }
}

/// Writes a day through the recorder that ships.
#[allow(clippy::cast_precision_loss)] // as above
fn day(uses: &[(Use, usize)]) -> Result<Day, Error> {
    let mut host = Host::new(uses);
    let diskseq = (9..).zip(&host.devices).filter_map(|(n, d)| Some((KernelName::new(&d.rows[0].name)?, n)));
    let mut line = Line { diskseq: diskseq.collect(), ..Line::default() };
    let mut recorder = Recorder::new(Vec::new(), true, Nanos::SECOND);
    let (mut took, mut moved, mut plain) = (Duration::ZERO, 0, 0);
    for i in 0..DAY {
        moved += host.second();
        // 40 days after boot, and never quite on time.
        line.monotonic = Nanos((3_456_000 + i) * Nanos::SECOND.0 + host.random.below(300_000));
        line.boot = Some(Nanos(line.monotonic.0 + 12_345_678_901_234));
        line.wall = Some(format!("2026-12-02T{:02}:{:02}:{:02}+01:00", i / 3600, i / 60 % 60, i % 60));
        line.diskstats.clear();
        host.write(&mut line.diskstats)?;
        let begin = Instant::now();
        recorder.write(&line)?;
        took += begin.elapsed();
        if i == DAY / 2 {
            plain = line.to_json()?.len() + 1;
        }
    }
    let bytes = recorder.into_inner()?;
    let len = bytes.len();
    let begin = Instant::now();
    let mut reader = RecordReader::new(io::Cursor::new(bytes))?;
    while let Some(line) = reader.next_line()? {
        std::hint::black_box(line.sample());
    }
    if reader.findings().samples != DAY {
        return Err(format!("only {} samples were read back", reader.findings().samples).into());
    }
    Ok(Day {
        bytes: len,
        plain_bytes: plain as f64 * DAY as f64,
        write_per_sample: took / u32::try_from(DAY)?,
        read_per_sample: begin.elapsed() / u32::try_from(DAY)?,
        rows: host.devices.iter().map(|d| d.rows.len()).sum::<usize>() as f64,
        moved_rows: moved as f64 / DAY as f64,
    })
}

struct Row {
    numbers: (u32, u32),
    name: String,
    counters: [u64; 17],
}

struct Device {
    used: Use,
    /// Seconds that a burst still lasts.
    burst: u64,
    rows: Vec<Row>,
}

struct Host {
    random: Random,
    devices: Vec<Device>,
}

impl Host {
    fn new(uses: &[(Use, usize)]) -> Self {
        let mut random = Random(0x2545_F491_4F6C_DD1D);
        let uses = uses.iter().flat_map(|(used, n)| std::iter::repeat_n(*used, *n)).take(DEVICES);
        let devices = uses.zip(0u32..).map(|(used, i)| Device { used, burst: 0, rows: rows(i, &mut random) });
        let devices = devices.collect();
        Self { random, devices }
    }

    /// Lets a second pass; how many rows moved.
    fn second(&mut self) -> usize {
        self.devices.iter_mut().map(|d| d.second(&mut self.random)).sum()
    }

    /// As `diskstats_show` in `block/genhd.c` prints it.
    fn write(&self, text: &mut String) -> std::fmt::Result {
        for row in self.devices.iter().flat_map(|d| &d.rows) {
            write!(text, "{:4} {:7} {}", row.numbers.0, row.numbers.1, row.name)?;
            for counter in row.counters {
                write!(text, " {counter}")?;
            }
            text.push('\n');
        }
        Ok(())
    }
}

/// A device with two or three partitions: NVMe for the first eight, SCSI for the rest.
fn rows(i: u32, random: &mut Random) -> Vec<Row> {
    let letter = char::from(b'a' + u8::try_from(i).unwrap_or_default());
    let (whole, between, major) =
        if i < 8 { (format!("nvme{i}n1"), "p", 259) } else { (format!("sd{letter}"), "", 8) };
    let name = |part: u32| if part == 0 { whole.clone() } else { format!("{whole}{between}{part}") };
    (0..=2 + i % 2)
        .map(|part| Row {
            numbers: (major, 16 * i + part),
            name: name(part),
            counters: std::array::from_fn(|field| match field {
                0 | 4 => 1_000_000_000 + random.below(9_000_000_000),
                2 | 6 => 100_000_000_000 + random.below(800_000_000_000),
                1 | 5 | 15 => random.below(1_000_000_000),
                3 | 7 | 9 | 10 | 16 => random.below(1 << 32),
                11 => random.below(10_000_000),
                13 => random.below(100_000_000_000),
                14 => random.below(1_000_000),
                _ => 0,
            }),
        })
        .collect()
}

impl Device {
    fn second(&mut self, random: &mut Random) -> usize {
        for row in &mut self.rows {
            row.counters[8] = 0;
        }
        let bursts = self.used == Use::Bursty && self.in_burst(random);
        let (reads, writes) = match self.used {
            Use::Database => (random.below(4000), 1 + random.below(3000)),
            Use::Scan => (400 + random.below(200), 0),
            Use::Log => (0, 20 + random.below(200)),
            Use::Bursty if bursts => (random.below(3000), 1 + random.below(2000)),
            Use::Idle if random.below(30) == 0 => (0, 1 + random.below(4)),
            Use::Bursty | Use::Idle => return 0,
        };
        let mut more = [0; 17];
        more[0] = reads;
        more[1] = if self.used == Use::Scan { reads / 8 } else { 0 };
        more[2] = reads * if self.used == Use::Scan { 1024 } else { 8 } + 8 * random.below(1 + reads);
        more[3] = reads / 3 + random.below(1 + reads / 4);
        more[4] = writes;
        more[5] = writes / 4;
        more[6] = 16 * writes + 8 * random.below(1 + writes);
        more[7] = writes / 2 + random.below(1 + writes / 4);
        more[9] = (reads + writes).min(900) + random.below(100);
        more[15] = writes / 30;
        more[16] = more[15] / 2;
        more[10] = more[3] + more[7] + more[16];
        let in_flight = random.below(1 + (reads + writes) / 500);
        for part in [0, 1] {
            let counters = &mut self.rows[part].counters;
            for (field, (counter, more)) in counters.iter_mut().zip(more).enumerate() {
                if part == 0 || field < 15 {
                    *counter += more;
                }
                if matches!(field, 3 | 7 | 9 | 10 | 16) {
                    *counter %= 1 << 32;
                }
            }
            counters[8] = in_flight;
        }
        2
    }

    /// Bursts of 15 s on average, so far apart that they are a tenth of the time.
    fn in_burst(&mut self, random: &mut Random) -> bool {
        if self.burst == 0 && random.below(135) == 0 {
            self.burst = 5 + random.below(20);
        }
        self.burst = self.burst.saturating_sub(1);
        self.burst > 0
    }
}

/// Marsaglia's xorshift: the same day at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n.max(1)
    }
}
