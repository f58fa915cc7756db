//! What a key press, a sample and an inventory cost the screen with 10 and with 10,000 devices, from the message to the drawn
//! frame. Run with `cargo bench --bench scale`; it prints figures beside their goals and fails nothing, since machines are
//! noisy.

// Figures and numbers are made up here, and small.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]

use std::time::{Duration, Instant};

use blktune::app::key::Key;
use blktune::app::message::{Message, When};
use blktune::app::model::{Model, Options};
use blktune::app::update::update;
use blktune::config::theme::Theme;
use blktune::sys::device::{DevNum, Device, DeviceId, Kind, Partition, QueueSummary, Reading};
use blktune::sys::name::KernelName;
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::RowKey;
use blktune::ui;
use blktune::units::{Bytes, Kib, Nanos};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

type Error = Box<dyn std::error::Error>;

/// From the key to the frame.
const GOAL: Duration = Duration::from_millis(50);
const REPEATS: usize = 15;

fn main() -> Result<(), Error> {
    // `cargo test --benches` runs this with --test: measuring there would only slow the tests.
    if std::env::args().any(|a| a == "--test") {
        return Ok(());
    }
    for count in [10, 1_000, 10_000] {
        println!("{count} devices, from the message to the frame, median and worst of {REPEATS}:");
        let mut bench = Bench::new(count)?;
        bench.all()?;
    }
    Ok(())
}

struct Bench {
    count: usize,
    model: Model,
    terminal: Terminal<TestBackend>,
    theme: Theme,
    now: u64,
}

impl Bench {
    fn new(count: usize) -> Result<Self, Error> {
        let terminal = Terminal::new(TestBackend::new(120, 40))?;
        let model = Model::new(Options::default());
        let mut bench = Self { count, model, terminal, theme: Theme::default(), now: 0 };
        bench.send(Message::Resize { width: 120, height: 40 })?;
        bench.send(Message::Inventory(fleet(count)))?;
        Ok(bench)
    }

    fn send(&mut self, message: Message) -> Result<Duration, Error> {
        let begin = Instant::now();
        drop(update(&mut self.model, message));
        if self.model.take_dirty() {
            self.terminal.draw(|frame| ui::render(&self.model, &self.theme, frame))?;
        }
        Ok(begin.elapsed())
    }

    fn all(&mut self) -> Result<(), Error> {
        let key = |c| Message::Key(Key::Char(c));
        self.repeat("sample", Self::sample)?;
        self.repeat("inventory, one device more size", |b| Message::Inventory(grown(b.count, b.now)))?;
        self.repeat("key: down", |_| Message::Key(Key::Down))?;
        self.repeat("key: page down", |_| Message::Key(Key::PageDown))?;
        self.repeat("key: last, first", |b| key(if b.now.is_multiple_of(2) { 'G' } else { 'g' }))?;
        self.repeat("key: sort, then Enter", |b| {
            if b.model.dialogs.is_empty() { key('s') } else { Message::Key(Key::Enter) }
        })?;
        self.send(Message::Key(Key::Esc))?;
        self.keys("/")?;
        let mut letters = "nvme99999999999".chars();
        self.repeat("key: a letter of the filter", move |_| key(letters.next().unwrap_or('x')))?;
        self.send(Message::Key(Key::Esc))?;
        self.keys("/busy>50 kind:nvme")?;
        self.repeat("sample, filtered by a number", Self::sample)?;
        self.send(Message::Key(Key::Esc))?;
        // Of the columns by default busy is the tenth behind the name.
        self.keys("sgjjjjjjjjjjf")?;
        self.repeat("sample, rows follow it", Self::sample)
    }

    fn keys(&mut self, keys: &str) -> Result<(), Error> {
        for c in keys.chars() {
            self.send(Message::Key(Key::Char(c)))?;
        }
        Ok(())
    }

    fn repeat(&mut self, what: &str, mut message: impl FnMut(&Self) -> Message) -> Result<(), Error> {
        let mut took = Vec::new();
        for _ in 0..REPEATS {
            self.now += 1;
            let message = message(self);
            took.push(self.send(message)?);
        }
        took.sort();
        let (median, worst) = (took[REPEATS / 2], took[REPEATS - 1]);
        let word = if median <= GOAL { "met" } else { "not met" };
        println!("  {what:32} {median:>9.1?} {worst:>9.1?}  (goal: {GOAL:?}) {word}");
        Ok(())
    }

    fn sample(&self) -> Message {
        let rows = self.model.fleet.entries().iter().enumerate().flat_map(|(i, e)| {
            let key = |name: &KernelName, devnum: Option<DevNum>| RowKey {
                name: name.clone(),
                devnum: devnum.unwrap_or(DevNum { major: 0, minor: 0 }),
            };
            let d = &e.device;
            let own = key(&d.id.name, d.id.devnum);
            let parts = d.partitions.iter().map(move |p| key(&p.name, p.devnum));
            std::iter::once(own).chain(parts).map(move |key| (key, rates(i as u64 + self.now)))
        });
        let at = Nanos(self.now * 1_000_000_000);
        Message::Rates { at, when: When::default(), rows: rows.collect(), total: None }
    }
}

fn rates(seed: u64) -> Rates {
    let below = |most: u64, n: u64| {
        let figure = u32::try_from(seed.wrapping_mul(2_654_435_761) / n % most).unwrap_or(0);
        Some(f64::from(figure))
    };
    let figure = |n: u64| below(10_000, n);
    Rates {
        read_iops: figure(1),
        write_iops: figure(2),
        read_bytes_per_s: figure(3),
        write_bytes_per_s: figure(4),
        read_await_ms: figure(5),
        write_await_ms: figure(6),
        busy_pct: below(100, 8),
        busy_raw_pct: below(100, 8),
        aqu_sz: figure(7),
        in_flight: Some(3),
        interval: Nanos::SECOND,
        ..Rates::default()
    }
}

/// Disks with two partitions each, every fourth with a stacked device on its second.
fn fleet(count: usize) -> Vec<Device> {
    (0u32..)
        .take(count)
        .map(|i| {
            let minor = 16 * i;
            if i % 4 == 3 {
                let mut dm = device(&format!("dm-{}", i / 4), 253, i / 4);
                dm.kind = Kind::Dm;
                dm.built_on = KernelName::new(&format!("nvme{}n1p2", i - 1)).into_iter().collect();
                return dm;
            }
            let mut disk = device(&format!("nvme{i}n1"), 259, minor);
            disk.partitions = (1..=2).filter_map(|n| partition(i, n, minor)).collect();
            disk
        })
        .collect()
}

fn grown(count: usize, by: u64) -> Vec<Device> {
    let mut all = fleet(count);
    all[0].size = Bytes(all[0].size.0 + by);
    all
}

fn partition(of: u32, number: u32, minor: u32) -> Option<Partition> {
    let name = KernelName::new(&format!("nvme{of}n1p{number}"))?;
    Some(Partition {
        path: format!("/dev/{name}").into(),
        name,
        devnum: Some(DevNum { major: 259, minor: minor + number }),
        number: number.into(),
        size: Bytes(1 << 30),
        used_by: Vec::new(),
    })
}

fn device(name: &str, major: u32, minor: u32) -> Device {
    // The names above are plain.
    let name = KernelName::new(name).unwrap_or_else(|| unreachable!("a plain name"));
    Device {
        path: Some(format!("/dev/{name}").into()),
        id: DeviceId {
            name: name.clone(),
            devnum: Some(DevNum { major, minor }),
            diskseq: Some(u64::from(minor) + 1),
            wwid: Some(format!("eui.{minor:016x}")),
            serial: None,
        },
        kind: Kind::Nvme,
        kind_evidence: "NVMe namespace".to_owned(),
        size: Bytes(1 << 40),
        model: Some("Example NVMe 1TB".to_owned()),
        queue: QueueSummary {
            read_ahead: Some(Kib(128)),
            nr_requests: Some(1023),
            ..QueueSummary::default()
        },
        reading: Reading::Whole,
        ..Device::sketch(name)
    }
}
