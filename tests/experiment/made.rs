//! A made-up bench: a queue that behaves as the kernel's, under the real writing of settings, and a device with noise, drift,
//! carry-over, a latch and stalls. Time is a manual clock.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use blktune::clock::ManualClock;
use blktune::experiment::asked::{Asked, design};
use blktune::experiment::bench::{Bench, BenchError, Found, Measured, Moved};
use blktune::experiment::conductor::Conductor;
use blktune::experiment::design::{Design, Isolation};
use blktune::experiment::drive::{Conducted, conduct};
use blktune::experiment::event::Event;
use blktune::experiment::metric::Metric;
use blktune::experiment::passage::Passage;
use blktune::experiment::schedule::order_of;
use blktune::stats::block::Order;
use blktune::stats::splitmix64::SplitMix64;
use blktune::sys::device::{DevNum, DeviceId};
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::tuning::apply::apply;
use blktune::tuning::change::Change;
use blktune::tuning::control::QueueControl as _;
use blktune::units::{Bytes, Nanos};
use blktune::workload::job::Job;

use super::fake::FakeQueue;

/// How the device behaves; shares in log units.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Nature {
    /// Of a trial.
    pub(crate) noise: f64,
    /// Of the candidate.
    pub(crate) effect: f64,
    /// Of each trial upon the last.
    pub(crate) drift: f64,
    /// From the first trial of the candidate on.
    pub(crate) latch: f64,
    /// Of a trial right after one of the candidate.
    pub(crate) carry: f64,
    /// Of the very first trial.
    pub(crate) first: f64,
    /// Of each doubling of read-ahead, from what is found.
    pub(crate) read_ahead: f64,
}

impl Nature {
    /// Nothing moves a reading.
    pub(crate) const SAME: Self =
        Self { noise: 0.0, effect: 0.0, drift: 0.0, latch: 0.0, carry: 0.0, first: 0.0, read_ahead: 0.0 };
}

pub(crate) type Spoil = Box<dyn FnMut(usize, &FakeQueue, &mut Measured) -> Result<(), BenchError>>;

pub(crate) struct Made {
    pub(crate) queue: FakeQueue,
    pub(crate) start: QueueState,
    pub(crate) id: DeviceId,
    pub(crate) size: Bytes,
    pub(crate) clock: ManualClock,
    pub(crate) spoil: Option<Spoil>,
    pub(crate) put_back: usize,
    nature: Nature,
    chance: SplitMix64,
    trials: usize,
    latched: bool,
    after_candidate: bool,
}

impl Made {
    pub(crate) fn new(nature: Nature, seed: u64) -> Self {
        let queue = FakeQueue::new();
        let start = queue.read();
        let chance = SplitMix64::new(seed ^ 0x5eed);
        let clock = ManualClock::default();
        Self {
            queue,
            start,
            id: DeviceId {
                name: vdb(),
                devnum: Some(DevNum { major: 252, minor: 16 }),
                diskseq: Some(7),
                wwid: None,
                serial: None,
            },
            size: Bytes(1 << 30),
            clock,
            spoil: None,
            put_back: 0,
            nature,
            chance,
            trials: 0,
            latched: false,
            after_candidate: false,
        }
    }

    pub(crate) fn found(&self) -> Found {
        Found { settings: self.start.clone(), id: Some(self.id.clone()), size: Some(self.size) }
    }

    #[allow(clippy::cast_precision_loss)] // made-up figures, far below the limits of either type
    fn uniform(&mut self) -> f64 {
        ((self.chance.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn write(&self, changes: &[Change]) -> Result<QueueState, BenchError> {
        let done = apply(&self.queue, &vdb(), changes, &mut |_, _| Ok(()));
        done.why.map_or(Ok(done.after), |why| Err(BenchError::Refused(why)))
    }
}

impl Bench for Made {
    fn settings(&mut self) -> QueueState {
        self.queue.read()
    }

    fn drain(&mut self, _: &AtomicBool) -> Result<(), BenchError> {
        Ok(())
    }

    fn apply(&mut self, changes: &[Change]) -> Result<QueueState, BenchError> {
        self.write(changes)
    }

    fn write_bare(&mut self, changes: &[Change]) -> Result<QueueState, BenchError> {
        for c in changes {
            self.queue.write(&c.name, &c.requested).map_err(|e| BenchError::Refused(e.to_string()))?;
        }
        Ok(self.queue.read())
    }

    fn settle(&mut self, time: Duration, _: &AtomicBool) -> Result<(), BenchError> {
        self.clock.advance(time.into());
        Ok(())
    }

    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // made-up figures, far below the limits of either type
    fn measure(&mut self, _: &[Job], _: &AtomicBool) -> Result<Measured, BenchError> {
        let before = self.queue.read();
        let reads = |name: &str, value: &str| before.effective(name).as_deref() == Some(value);
        let candidate = reads("scheduler", "bfq") || reads("rotational", "1");
        let doublings =
            |state: &QueueState| (state.number("read_ahead_kb").unwrap_or_default().max(1) as f64).log2();
        self.latched |= candidate;
        let n = self.nature;
        let of = |yes: bool, share: f64| if yes { share } else { 0.0 };
        let log = n.noise * self.normal()
            + of(candidate, n.effect)
            + of(self.latched, n.latch)
            + of(self.after_candidate, n.carry)
            + of(self.trials == 0, n.first)
            + n.drift * self.trials as f64
            + n.read_ahead * (doublings(&before) - doublings(&self.start));
        let bytes_per_s = 500e6 * log.exp();
        let moved = Moved { read: Bytes((bytes_per_s * 8.0) as u64), written: Bytes(0) };
        self.clock.advance(Nanos(10 * Nanos::SECOND.0));
        let mut measured = Measured {
            window_s: 8.0,
            ios: moved.read.0 / 4096,
            readings: [(Metric::Throughput, bytes_per_s), (Metric::Iops, bytes_per_s / 4096.0)].into(),
            engine: moved,
            device: Some(moved),
            passage: Passage::DIRECT,
            errors: 0,
            slices: vec![bytes_per_s; 80],
            engine_cpu: Some(0.4),
            stolen: Some(0.0),
            heat: None,
            asleep_s: 0.0,
            halted: false,
            settings: (before.clone(), before),
            id: Some(self.id.clone()),
            size: Some(self.size),
            warnings: Vec::new(),
            detail: serde_json::Value::Null,
        };
        self.trials += 1;
        self.after_candidate = candidate;
        if let Some(mut spoil) = self.spoil.take() {
            let spoiled = spoil(self.trials, &self.queue, &mut measured);
            self.spoil = Some(spoil);
            spoiled?;
            measured.settings.1 = self.queue.read();
        }
        Ok(measured)
    }

    fn put_back(&mut self) -> Vec<String> {
        self.put_back += 1;
        let wanted: Vec<Change> = ["rotational", "scheduler", "nr_requests", "read_ahead_kb"]
            .map(|n| Change { name: n.to_owned(), requested: self.start.effective(n).unwrap() })
            .to_vec();
        self.write(&wanted).map_or_else(|e| vec![e.to_string()], |_| Vec::new())
    }
}

fn vdb() -> KernelName {
    KernelName::new("vdb").unwrap()
}

pub(crate) fn question(job: &str, seed: u64, change: impl FnOnce(&mut Asked)) -> Design {
    let factors = vec!["scheduler=none,bfq".to_owned()];
    let mut asked = Asked { factors, ..Asked::new("vdb", job, seed) };
    change(&mut asked);
    design(&asked, &FakeQueue::new().read()).unwrap().design
}

/// A seed whose first block is of that order.
pub(crate) fn first_block(order: Order) -> u64 {
    (0..64).find(|seed| order_of(*seed, 1) == order).unwrap()
}

/// A flag that by itself changes nothing, under reads for which read-ahead is everything.
pub(crate) fn rotational(seed: u64, isolation: Isolation) -> Design {
    question("seqread-1m", seed, |a| {
        a.factors = vec!["rotational=0,1".to_owned()];
        a.set = vec!["direct=false".to_owned(), "bs=4k".to_owned()];
        a.isolation = isolation;
    })
}

/// Conducts to the end. `stop_at` is the event, counted from 0, at which it is told to stop.
pub(crate) fn run(
    design: Design,
    bench: &mut Made,
    stop_at: Option<usize>,
) -> (Conductor, Conducted, Vec<Event>) {
    let mut conductor = Conductor::new(design, bench.found());
    let (conducted, events) = go_on(&mut conductor, bench, stop_at);
    (conductor, conducted, events)
}

pub(crate) fn go_on(
    conductor: &mut Conductor,
    bench: &mut Made,
    stop_at: Option<usize>,
) -> (Conducted, Vec<Event>) {
    let stop = AtomicBool::new(false);
    let mut events = Vec::new();
    let clock = std::mem::take(&mut bench.clock);
    let conducted = conduct(conductor, bench, &clock, &stop, &mut |e| {
        stop.fetch_or(stop_at == Some(events.len()), std::sync::atomic::Ordering::Relaxed);
        events.push(e.clone());
    });
    (conducted, events)
}
