//! A screen to test: devices, rates, queues and messages made up for the purpose, and what was drawn as text.

// Each test binary uses its own part of it, and fails where it can not set up what it needs.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::time::Duration;

use blktune::app::effect::Effect;
use blktune::app::key::Key;
use blktune::app::message::{HostLine, Message, When};
use blktune::app::model::{Model, Options, PresetRow};
use blktune::app::update::update;
use blktune::config::theme::Theme;
use blktune::sys::device::{
    DevNum, Device, DeviceId, Kind, Partition, QueueSummary, Reading, Usage, UsageKind,
};
use blktune::sys::name::KernelName;
use blktune::sys::queue::{Attribute, QueueState, SchedulerList};
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::RowKey;
use blktune::units::{Bytes, Kib, Nanos};
use blktune::workload::job::{Job, Rw};
use blktune::workload::preset;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

pub const GIB: u64 = 1 << 30;

pub fn name(text: &str) -> KernelName {
    KernelName::new(text).unwrap()
}

/// A device that is nothing in particular yet.
pub fn device(text: &str, minor: u32) -> Device {
    Device {
        id: DeviceId {
            name: name(text),
            devnum: Some(DevNum { major: 8, minor }),
            diskseq: Some(u64::from(minor) + 1),
            wwid: None,
            serial: None,
        },
        path: Some(PathBuf::from(format!("/dev/{text}"))),
        dm_name: None,
        kind: Kind::Ssd,
        kind_evidence: String::new(),
        layer: None,
        backing_file: None,
        reading: Reading::Whole,
        used_by_complete: true,
        size: Bytes(GIB),
        model: None,
        removable: false,
        read_only: false,
        hidden: false,
        queue: QueueSummary::default(),
        used_by: Vec::new(),
        built_on: Vec::new(),
        partitions: Vec::new(),
    }
}

pub fn summary(active: &str, rotational: bool, read_ahead: u64, requests: u64) -> QueueSummary {
    let available = ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec();
    QueueSummary {
        scheduler: Some(SchedulerList { active: active.to_owned(), available, changeable: true }),
        rotational: Some(rotational),
        read_ahead: Some(Kib(read_ahead)),
        nr_requests: Some(requests),
        logical_block: Some(Bytes(512)),
        iostats: Some(true),
        zoned: None,
    }
}

pub fn partition(of: &Device, number: u32, size: u64, used_by: Vec<Usage>) -> Partition {
    let stem = of.name().kernel();
    let sep = if stem.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
    let text = format!("{stem}{sep}{number}");
    let minor = of.id.devnum.unwrap().minor + number;
    Partition {
        name: name(&text),
        path: PathBuf::from(format!("/dev/{text}")),
        devnum: Some(DevNum { major: 8, minor }),
        number: u64::from(number),
        size: Bytes(size),
        used_by,
    }
}

pub fn used(kind: UsageKind, what: &str) -> Usage {
    Usage::new(kind, what)
}

/// A host with an NVMe device with partitions and device mapper on it, a disk, a USB disk and unused loop devices.
pub fn fleet() -> Vec<Device> {
    let mut nvme = device("nvme0n1", 0);
    nvme.kind = Kind::Nvme;
    nvme.size = Bytes(1_900_000_000_000);
    nvme.model = Some("Example NVMe 2TB".to_owned());
    nvme.queue = summary("none", false, 128, 1023);
    nvme.partitions = vec![
        partition(&nvme, 1, GIB, vec![used(UsageKind::Mount, "/boot")]),
        partition(&nvme, 2, 1_898_000_000_000, vec![used(UsageKind::Holder, "dm-0")]),
    ];
    let mut crypt = device("dm-0", 40);
    crypt.kind = Kind::Dm;
    crypt.dm_name = Some("vg0-root".to_owned());
    crypt.size = Bytes(1_898_000_000_000);
    crypt.queue = QueueSummary { read_ahead: Some(Kib(128)), ..QueueSummary::default() };
    crypt.built_on = vec![name("nvme0n1p2")];
    crypt.used_by = vec![used(UsageKind::Mount, "/")];
    let mut disk = device("sda", 48);
    disk.kind = Kind::Hdd;
    disk.size = Bytes(14_600_000_000_000);
    disk.model = Some("EXAMPLE HUH721414".to_owned());
    disk.queue = summary("mq-deadline", true, 4096, 256);
    disk.used_by = vec![used(UsageKind::Mount, "/srv/archive")];
    let mut usb = device("sdb", 64);
    usb.kind = Kind::Usb;
    usb.size = Bytes(478_000_000_000);
    usb.model = Some("Bridge 3000".to_owned());
    usb.queue = summary("bfq", true, 128, 256);
    let mut all = vec![disk, usb, nvme, crypt];
    for i in 0..8 {
        let mut unused = device(&format!("loop{i}"), 100 + i);
        unused.kind = Kind::Loop;
        unused.size = Bytes(0);
        all.push(unused);
    }
    all
}

pub fn rates(
    read_iops: f64,
    read_size: f64,
    write_iops: f64,
    write_size: f64,
    wait: f64,
    busy: f64,
) -> Rates {
    let when = |iops: f64, v: f64| (iops > 0.0).then_some(v);
    Rates {
        read_iops: Some(read_iops),
        write_iops: Some(write_iops),
        discard_iops: Some(0.0),
        flush_iops: Some(0.0),
        read_bytes_per_s: Some(read_iops * read_size),
        write_bytes_per_s: Some(write_iops * write_size),
        discard_bytes_per_s: Some(0.0),
        read_await_ms: when(read_iops, wait),
        write_await_ms: when(write_iops, wait),
        read_size_bytes: when(read_iops, read_size),
        write_size_bytes: when(write_iops, write_size),
        aqu_sz: Some((read_iops + write_iops) * wait / 1000.0),
        in_flight: Some(1),
        busy_pct: Some(busy),
        busy_raw_pct: Some(busy),
        interval: Nanos::SECOND,
        ..Rates::default()
    }
}

/// A sample's rates: the NVMe device and what is on it busy with `load` of its most, the disk reading on, the rest idle.
pub fn sample(devices: &[Device], load: f64) -> Message {
    let mut rows = Vec::new();
    let (mut read, mut written) = (0.0, 0.0);
    for d in devices {
        let figures = match d.name().kernel().as_str() {
            "nvme0n1" | "dm-0" => rates(8421.0 * load, 4096.0, 300.0 * load, 16384.0, 0.11, 34.0),
            "sda" => rates(61.0, 1_048_576.0, 0.0, 0.0, 16.2, 97.0),
            _ => rates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        };
        for p in &d.partitions {
            let busy = p.number == 2;
            let own = if busy { figures.clone() } else { rates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0) };
            rows.push((RowKey { devnum: p.devnum.unwrap(), name: p.name.clone() }, own));
        }
        if d.built_on.is_empty() {
            read += figures.read_bytes_per_s.unwrap();
            written += figures.write_bytes_per_s.unwrap();
        }
        rows.push((RowKey { devnum: d.id.devnum.unwrap(), name: d.name().clone() }, figures));
    }
    let total = Rates { read_bytes_per_s: Some(read), write_bytes_per_s: Some(written), ..Rates::default() };
    Message::Rates { at: Nanos(0), when: When::default(), rows, total: Some(Box::new(total)) }
}

/// A queue with the given scheduler and what goes with it.
pub fn queue(active: &str, read_ahead: u64) -> QueueState {
    let list: Vec<String> = ["none", "mq-deadline", "kyber", "bfq"]
        .iter()
        .map(|s| if *s == active { format!("[{s}]") } else { (*s).to_owned() })
        .collect();
    let mut attributes = vec![
        ("scheduler", list.join(" "), true),
        ("rotational", "1".to_owned(), true),
        ("nr_requests", "256".to_owned(), true),
        ("read_ahead_kb", read_ahead.to_string(), true),
        ("wbt_lat_usec", "75000".to_owned(), true),
        ("nomerges", "0".to_owned(), true),
        ("rq_affinity", "1".to_owned(), true),
        ("iostats", "1".to_owned(), true),
        ("max_sectors_kb", "1280".to_owned(), true),
        ("max_hw_sectors_kb", "32767".to_owned(), false),
        ("logical_block_size", "512".to_owned(), false),
        ("physical_block_size", "4096".to_owned(), false),
        ("optimal_io_size", "0".to_owned(), false),
    ];
    if active == "bfq" {
        attributes.push(("iosched/slice_idle", "8".to_owned(), true));
        attributes.push(("iosched/low_latency", "1".to_owned(), true));
    }
    if active == "mq-deadline" {
        attributes.push(("iosched/read_expire", "500".to_owned(), true));
        attributes.push(("iosched/fifo_batch", "16".to_owned(), true));
    }
    QueueState {
        attributes: attributes
            .into_iter()
            .map(|(n, v, writable)| (n.to_owned(), Attribute { value: Some(v), writable }))
            .collect(),
    }
}

pub fn job(name: &str, rw: Rw, bs: u64, iodepth: u32) -> Job {
    let mut job = preset::find("randread-4k-qd32").unwrap().jobs().remove(0);
    (job.name, job.rw) = (name.to_owned(), rw);
    (job.bs, job.iodepth) = (Bytes(bs), iodepth);
    job
}

/// The presets of the program.
pub fn presets() -> Vec<PresetRow> {
    let row = |p: &preset::Preset| PresetRow {
        name: p.name.to_owned(),
        question: p.question.to_owned(),
        not_for: p.not_for.to_owned(),
        jobs: p.jobs(),
    };
    preset::PRESETS.iter().map(row).collect()
}

/// A screen under test.
pub struct Screen {
    pub model: Model,
    pub theme: Theme,
    /// Every effect so far.
    pub effects: Vec<Effect>,
    now: u64,
}

impl Screen {
    /// A screen of this size on which nothing happened yet.
    pub fn bare(width: u16, height: u16, ascii: bool) -> Self {
        let options = Options { ascii, presets: presets(), ..Options::default() };
        let mut s = Self {
            model: Model::new(options),
            theme: Theme::default(),
            effects: Vec::new(),
            now: 1_000_000_000,
        };
        s.send(Message::Resize { width, height });
        s.send(Message::Host(HostLine {
            hostname: "db7".to_owned(),
            kernel: "6.18.4".to_owned(),
            cpus: 8,
            user: "root".to_owned(),
            io_pressure_pct: Some(2.1),
            interval: Duration::from_secs(1),
            place: None,
        }));
        s.seconds(0);
        s
    }

    /// A screen with devices, rights and some samples.
    pub fn live(width: u16, height: u16) -> Self {
        let mut s = Self::bare(width, height, false);
        s.send(Message::Rights(Ok(())));
        s.fill();
        s
    }

    /// Devices, and twenty samples of a load that goes up and down.
    pub fn fill(&mut self) {
        let devices = fleet();
        self.send(Message::Inventory(devices.clone()));
        for i in 0..20u32 {
            self.seconds(1);
            let load = 0.2 + 0.8 * (f64::from(i % 10) / 9.0);
            self.send(sample(&devices, load));
        }
    }

    /// Takes in a message. A sample that does not say when it was taken is taken now.
    pub fn send(&mut self, mut message: Message) {
        if let Message::Rates { at, when, .. } = &mut message
            && at.0 == 0
        {
            *at = Nanos(self.now);
            let start = jiff::civil::date(2026, 12, 2).at(10, 42, 0, 0);
            when.wall = start.checked_add(jiff::SignedDuration::from_nanos(self.now.cast_signed())).ok();
        }
        let effects = update(&mut self.model, message);
        self.effects.extend(effects);
    }

    /// Time goes on.
    pub fn seconds(&mut self, n: u64) {
        self.now += n * 1_000_000_000;
        let now = Nanos(self.now);
        self.send(Message::Tick { now, wall: "10:42".to_owned() });
    }

    /// A sample a second for so long; the load of each from its number.
    pub fn load(&mut self, seconds: u64, load: impl Fn(u64) -> f64) {
        let devices = fleet();
        for i in 0..seconds {
            self.seconds(1);
            self.send(sample(&devices, load(i)));
        }
    }

    /// Presses keys, written as they are read: letters stand for themselves, `<Enter>` and the like for keys.
    pub fn keys(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (key, len) = match rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
                Some((word, _)) => (key_named(word), word.len() + 2),
                None => (Key::Char(c), c.len_utf8()),
            };
            self.send(Message::Key(key));
            rest = &rest[len..];
        }
    }

    /// What is drawn, with its styles.
    pub fn buffer(&self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.model.width, self.model.height)).unwrap();
        terminal.draw(|frame| blktune::ui::render(&self.model, &self.theme, frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// What is drawn, as lines without trailing blanks.
    pub fn lines(&self) -> Vec<String> {
        let buffer = self.buffer();
        let area = buffer.area;
        (0..area.height)
            .map(|y| {
                let line: String = (0..area.width).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
                line.trim_end().to_owned()
            })
            .collect()
    }

    /// The same as one text.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// The first line that contains a text.
    pub fn line_with(&self, text: &str) -> String {
        let lines = self.lines();
        lines
            .iter()
            .find(|l| l.contains(text))
            .unwrap_or_else(|| panic!("no {text:?} in\n{}", self.text()))
            .clone()
    }

    /// The identity of a device on the screen.
    pub fn id(&self, text: &str) -> DeviceId {
        let entries = self.model.fleet.entries();
        entries.iter().find(|e| e.device.name().kernel() == text).unwrap().device.id.clone()
    }
}

fn key_named(word: &str) -> Key {
    match word {
        "Enter" => Key::Enter,
        "Esc" => Key::Esc,
        "Tab" => Key::Tab,
        "Backspace" => Key::Backspace,
        "Up" => Key::Up,
        "Down" => Key::Down,
        "Left" => Key::Left,
        "Right" => Key::Right,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "Home" => Key::Home,
        "End" => Key::End,
        "Ctrl-c" => Key::Ctrl('c'),
        other => panic!("no key {other:?}"),
    }
}
