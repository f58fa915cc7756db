//! Experiments for the screen: started there, conducted by the real conductor on the made-up bench, and told as the runtime
//! tells them.

use blktune::app::effect::{Effect, ExperimentOrder};
use blktune::app::message::{ExperimentBeginning, ExperimentEnd, Message};
use blktune::experiment::analysis::{Analysis, analyse};
use blktune::experiment::bench::BenchError;
use blktune::experiment::design::Design;
use blktune::experiment::estimate::block_time;
use blktune::experiment::event::{Event, Phase};
use blktune::experiment::metric::Metric;
use blktune::experiment::observation::{Question, from_trials};
use blktune::experiment::so_far::SoFar;
use blktune::experiment::weak::{self, Surroundings};
use blktune::tuning::control::QueueControl as _;
use blktune::units::{Bytes, Nanos};
use blktune::workload::live::{self as running, Progress};

use super::made::{Made, Nature, run};
use super::support::model::{Screen, name};

pub(crate) const QUIET: Nature = Nature { noise: 0.01, ..Nature::SAME };

/// What happens in an experiment.
#[derive(Default)]
pub(crate) struct Plot {
    pub(crate) nature: Nature,
    /// How much more the candidate's 99th percentile is, log units.
    pub(crate) tail: f64,
    /// Trials that others spoil with their I/O.
    pub(crate) spoiled: Vec<usize>,
    /// The trial that can not be measured, and why.
    pub(crate) breaks: Option<(usize, BenchError)>,
    /// The event at which it is told to stop.
    pub(crate) stop_at: Option<usize>,
    /// What could not be put back.
    pub(crate) not_restored: Vec<String>,
}

/// An experiment that was conducted and is yet to be told.
pub(crate) struct Told {
    design: Design,
    pub(crate) events: Vec<Event>,
    pub(crate) end: ExperimentEnd,
    beginning: ExperimentBeginning,
}

/// The form for the USB disk, whose queue is that of the made-up bench.
pub(crate) fn form(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sdb<Enter>4");
    let state = Made::new(QUIET, 1).start;
    s.send(Message::Queue { device: name("sdb"), state });
    s
}

/// What was ordered last.
pub(crate) fn ordered(s: &Screen) -> Option<ExperimentOrder> {
    s.effects.iter().rev().find_map(|e| match e {
        Effect::StartExperiment(order) => Some((**order).clone()),
        _ => None,
    })
}

/// `none` against `bfq`, started.
pub(crate) fn started(width: u16, height: u16) -> Screen {
    let mut s = form(width, height);
    s.keys(" lll <Enter><Enter>");
    assert!(ordered(&s).is_some(), "{}", s.text());
    s
}

/// Conducts what was ordered.
pub(crate) fn conducted(s: &Screen, plot: Plot) -> Told {
    let order = ordered(s).unwrap();
    let design = order.designed.design.clone();
    let mut bench = Made::new(plot.nature, 7);
    let tail = plot.tail;
    let (spoiled, mut breaks) = (plot.spoiled, plot.breaks);
    bench.spoil = Some(Box::new(move |n, queue, m| {
        if breaks.as_ref().is_some_and(|(at, _)| *at == n) {
            return Err(breaks.take().unwrap().1);
        }
        let candidate = queue.read().effective("scheduler").as_deref() == Some("bfq");
        let rate = m.readings[&Metric::Iops];
        let slow = if candidate { tail.exp() } else { 1.0 };
        m.readings.extend([
            (Metric::Mean, 6e10 / rate),
            (Metric::P99, 9e10 / rate * slow),
            (Metric::P999, 2e11 / rate * slow),
            (Metric::CpuPerGib, 0.42 + f64::from(u8::try_from(n * 7 % 5).unwrap()) / 1000.0),
        ]);
        if spoiled.contains(&n) {
            m.device = m.device.map(|mut d| {
                d.read = Bytes(d.read.0 + d.read.0 / 10);
                d
            });
        }
        Ok(())
    }));
    let (conductor, done, events) = run(design.clone(), &mut bench, plot.stop_at);
    let question = Question::of(&design, Some(block_time(&design).as_secs_f64()));
    let observations = from_trials(&question, conductor.trials());
    let analysis = analyse(&question, &observations, &conductor.circumstances());
    let jobs = blktune::experiment::jobs::jobs_of(&design, 0, 1).unwrap();
    let weak = weak::named(&jobs, design.trial, &Surroundings::default());
    let record = Some("/var/lib/blktune/experiments/20261202-1042-sdb".into());
    Told {
        design,
        events,
        end: ExperimentEnd {
            ending: done.ending,
            reason: done.reason,
            analysis,
            not_restored: plot.not_restored,
            notes: Vec::new(),
            record: record.clone(),
        },
        beginning: ExperimentBeginning { device: order.device, record, weak, notes: Vec::new() },
    }
}

impl Told {
    /// Tells the beginning and what happened until an event, that included; progress of the trial it ends in, too.
    pub(crate) fn until(&self, s: &mut Screen, mut last: impl FnMut(&Event) -> bool) {
        s.send(self.began());
        let mut so_far = SoFar::new(&self.design, Vec::new());
        for event in &self.events {
            s.send(Message::Experiment(Box::new(event.clone())));
            if so_far.take(event) {
                s.send(Message::ExperimentAnalysis(Box::new(so_far.analysis())));
            }
            if last(event) {
                break;
            }
        }
    }

    /// That it begins.
    pub(crate) fn began(&self) -> Message {
        Message::ExperimentBegan(Box::new(self.beginning.clone()))
    }

    /// What follows after each of its blocks.
    pub(crate) fn analyses(&self) -> Vec<Analysis> {
        let mut so_far = SoFar::new(&self.design, Vec::new());
        let after = |e: &Event| so_far.take(e).then(|| so_far.analysis());
        self.events.iter().filter_map(after).collect()
    }

    /// Tells all of it.
    pub(crate) fn whole(&self, s: &mut Screen) {
        self.until(s, |_| false);
        s.send(Message::ExperimentEnded(Ok(Box::new(self.end.clone()))));
    }
}

/// Whether this is the trial of that block and place being measured, at its event.
pub(crate) fn measuring(block: u32, position: u8) -> impl FnMut(&Event) -> bool {
    let mut here = false;
    move |event| {
        if let Event::TrialStarted { plan } = event {
            here = plan.block == Some(block) && plan.position == Some(position);
        }
        here && matches!(event, Event::Phase { phase: Phase::Measuring })
    }
}

/// So far into the measured time.
pub(crate) fn progress(seconds: u64) -> Message {
    Message::ExperimentProgress(Box::new(Progress {
        phase: running::Phase::Measuring,
        elapsed: Nanos(seconds * Nanos::SECOND.0),
        planned: Some(Nanos(8 * Nanos::SECOND.0)),
        written: None,
        ios: 0,
        bytes: Bytes(0),
        iops: None,
        bytes_per_s: None,
        clat: running::LivePercentiles::default(),
        errors: 0,
        jobs: Vec::new(),
        histogram: Vec::new(),
    }))
}
