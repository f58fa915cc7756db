//! Whatever happens in whatever order: the screen never panics, the choice is always a row, and nothing is ever
//! written without Enter in a diff that shows it.

// A test that can not set up what it needs fails there and then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::cell::Cell;
use std::collections::BTreeMap;

use blktune::app::actions::{Place, place};
use blktune::app::dialogs::Dialog;
use blktune::app::effect::Effect;
use blktune::app::key::Key;
use blktune::app::message::{HostLine, KernelFigures, Level, Message, UndoStep, When};
use blktune::app::model::{Model, Options};
use blktune::app::purpose::Purpose;
use blktune::app::replay::ReplayState;
use blktune::app::screens::devices::rows;
use blktune::app::update::update;
use blktune::config::theme::Theme;
use blktune::sys::device::{DevNum, Device, DeviceId};
use blktune::sys::queue::{Attribute, QueueState};
use blktune::telemetry::note::Note;
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::RowKey;
use blktune::trial::host::HostFacts;
use blktune::trial::result::{CpuUse, TrialResult};
use blktune::tuning::change::{ApplyReport, Change, ChangeReport, Outcome, SideEffect};
use blktune::units::{Bytes, Nanos};
use blktune::workload::fairness::{Fairness, Portion};
use blktune::workload::live::{JobProgress, LatencyStep, LivePercentiles, Phase, Progress, SideProgress};
use blktune::workload::result::{DirectionResult, FlushResult, JobResult, LatencySummary, OverLimit};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use support::chance::until_seen;
use support::model::{device, name, partition, presets, queue, rates};

const NAMES: [&str; 6] = ["sda", "sdb", "nvme0n1", "dm-0", "md127", "loop7"];

/// The number of a device: with the same number and sequence number two names would be one device that was renamed.
fn minor(text: &str) -> u32 {
    let at = NAMES.iter().position(|n| *n == text).unwrap();
    16 * (1 + u32::try_from(at).unwrap())
}

fn key() -> impl Strategy<Value = Key> {
    // The keys that lead somewhere more often than the others.
    let useful: Vec<Key> = "1237/?scuqexighjklG 4byrooJKdf<>:pp[[]{}t+-".chars().map(Key::Char).collect();
    prop_oneof![
        6 => prop::sample::select(useful),
        4 => Just(Key::Enter),
        2 => Just(Key::Esc),
        2 => prop::sample::select(vec![Key::Up, Key::Down, Key::Left, Key::Right, Key::Tab, Key::BackTab]),
        1 => prop::sample::select(vec![Key::PageUp, Key::PageDown, Key::Home, Key::End, Key::Backspace, Key::Delete]),
        1 => any::<char>().prop_map(Key::Char),
        1 => Just(Key::Ctrl('r')),
        1 => any::<char>().prop_map(Key::Ctrl),
    ]
}

fn some_device() -> impl Strategy<Value = Device> {
    let text = prop_oneof!["\\PC{0,40}".prop_map(Some), Just(None)];
    let base = prop::collection::vec(prop::sample::select(NAMES.to_vec()), 0..3);
    (prop::sample::select(NAMES.to_vec()), 0u32..3, any::<u64>(), text, base, 0u32..3).prop_map(
        |(text, generation, size, model, base, parts)| {
            let mut d = device(text, minor(text));
            d.id.diskseq = (generation > 0).then_some(u64::from(generation));
            d.size = Bytes(if generation == 2 { 0 } else { size });
            d.model = model;
            d.built_on = base.into_iter().map(name).collect();
            d.partitions = (1..=parts).map(|n| partition(&d, n, size, Vec::new())).collect();
            d
        },
    )
}

fn some_queue() -> impl Strategy<Value = QueueState> {
    let odd = prop::collection::btree_map(
        "(iosched/)?[a-z_]{1,30}",
        (prop_oneof!["\\PC{0,60}".prop_map(Some), Just(None)], any::<bool>())
            .prop_map(|(value, writable)| Attribute { value, writable }),
        0..6,
    );
    (prop::sample::select(vec!["none", "mq-deadline", "bfq"]), any::<u32>(), odd, any::<bool>()).prop_map(
        |(active, read_ahead, odd, empty)| {
            let mut state = if empty { QueueState::default() } else { queue(active, read_ahead.into()) };
            state.attributes.extend(odd);
            state
        },
    )
}

fn figure() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![Just(None), any::<f64>().prop_map(Some), (0.0..1e10).prop_map(Some)]
}

fn some_rates() -> impl Strategy<Value = Message> {
    let row = (prop::sample::select(NAMES.to_vec()), figure(), figure(), any::<u32>());
    let seconds = prop_oneof![3 => 0u64..100, 1 => 0u64..10_000].prop_map(|s| Nanos(s * 1_000_000_000));
    let boot = prop_oneof![2 => Just(None), 1 => any::<u64>().prop_map(|n| Some(Nanos(n))), 3 => (0u64..10_000).prop_map(|s| Some(Nanos(s * 1_000_000_000)))];
    let wall = prop_oneof![
        Just(None),
        Just(Some(jiff::civil::DateTime::MAX)),
        Just(Some(jiff::civil::date(2026, 12, 2).at(10, 42, 7, 0)))
    ];
    (prop::collection::vec(row, 0..6), seconds, boot, wall).prop_map(|(rows, at, boot, wall)| {
        let rows = rows.into_iter().map(|(text, a, b, n)| {
            let rates = Rates {
                read_iops: a,
                write_bytes_per_s: b,
                read_bytes_per_s: a,
                read_await_ms: b,
                busy_pct: b,
                in_flight: Some(n),
                notes: vec![Note::CountersReset],
                ..rates(f64::from(n), 4096.0, 1.0, 512.0, 0.1, 5.0)
            };
            let minor = minor(text);
            (RowKey { devnum: DevNum { major: 8, minor }, name: name(text) }, rates)
        });
        Message::Rates { at, when: When { boot, wall }, rows: rows.collect(), total: None }
    })
}

fn some_replay() -> impl Strategy<Value = Message> {
    ("\\PC{0,60}", any::<u64>(), any::<(bool, bool)>(), figure()).prop_map(
        |(record, at, (playing, ended), v)| {
            let speed = v.unwrap_or(1.0);
            Message::Replay(ReplayState { record, at: Nanos(at), playing, speed, ended })
        },
    )
}

fn some_report() -> impl Strategy<Value = Result<ApplyReport, String>> {
    let outcome =
        prop::sample::select(vec![Outcome::Applied, Outcome::Clamped, Outcome::Refused, Outcome::Unchanged]);
    let one = (prop::sample::select(vec!["scheduler", "read_ahead_kb", "x"]), "\\PC{0,30}", outcome);
    prop_oneof![
        Just(Err("the device is gone".to_owned())),
        (prop::collection::vec(one, 0..4), any::<bool>(), any::<u8>()).prop_map(|(all, rolled_back, n)| {
            let changes = all.iter().map(|(setting, text, outcome)| ChangeReport {
                device: name("sda"),
                name: (*setting).to_owned(),
                requested: text.clone(),
                before: None,
                effective: Some(text.clone()),
                outcome: *outcome,
                message: Some(text.repeat(usize::from(n % 8))),
            });
            let side_effects = (0..n % 40).map(|i| SideEffect {
                device: name("sda"),
                name: format!("iosched/t{i}"),
                before: None,
                after: Some(i.to_string()),
            });
            Ok(ApplyReport {
                changes: changes.collect(),
                side_effects: side_effects.collect(),
                rolled_back,
                not_restored: Vec::new(),
            })
        }),
    ]
}

fn some_progress() -> impl Strategy<Value = Message> {
    let phase = prop::sample::select(vec![Phase::Preparing, Phase::Ramp, Phase::Measuring, Phase::Draining]);
    let step = (any::<u64>(), any::<u32>()).prop_map(|(t, n)| LatencyStep { up_to: Nanos(t), ios: n.into() });
    let side = (figure(), any::<Option<u64>>(), any::<u32>())
        .prop_map(|(v, t, n)| SideProgress {
            ios: n.into(),
            bytes: Bytes(n.into()),
            iops: v,
            bytes_per_s: v,
            latency: LivePercentiles { p99: t.map(Nanos), ..LivePercentiles::default() },
            errors: u64::from(n % 3),
        })
        .boxed();
    let name =
        prop::sample::select(vec!["seqread-1m", "randread-4k", "readers", "writer"]).prop_map(str::to_owned);
    let job = (name, side.clone(), side).prop_map(|(name, read, write)| JobProgress { name, read, write });
    let lists = (prop::collection::vec(job, 0..4), prop::collection::vec(step, 0..30));
    (phase, any::<u64>(), figure(), any::<Option<u64>>(), any::<u64>(), lists).prop_map(
        |(phase, t, v, planned, n, (jobs, histogram))| {
            Message::RunProgress(Progress {
                phase,
                elapsed: Nanos(t),
                planned: planned.map(Nanos),
                written: planned.map(|p| (Bytes(n), Bytes(p))),
                ios: n,
                bytes: Bytes(n),
                iops: v,
                bytes_per_s: v,
                clat: LivePercentiles { p50: planned.map(Nanos), ..LivePercentiles::default() },
                errors: n % 3,
                jobs,
                histogram,
            })
        },
    )
}

fn some_direction() -> impl Strategy<Value = DirectionResult> {
    (figure(), any::<Option<u64>>(), any::<u32>(), any::<bool>()).prop_map(|(v, t, n, open)| {
        let latency =
            LatencySummary { mean: v, p99: t.map(Nanos), max: t.map(Nanos), ..LatencySummary::default() };
        DirectionResult {
            ios: n.into(),
            iops: v.unwrap_or_default(),
            clat_ns: t.map(|_| latency),
            lat_ns: open.then_some(latency),
            over_limit: vec![OverLimit { limit_ns: Nanos(1_000_000), share: v }],
            errors: u64::from(n % 5),
            ..DirectionResult::default()
        }
    })
}

fn some_result() -> impl Strategy<Value = Message> {
    let job = (some_direction(), some_direction(), any::<u32>(), "\\PC{0,30}")
        .prop_map(|(read, write, n, name)| {
            let flush = (n % 2 == 0).then(|| FlushResult { calls: n.into(), time_ns: read.clat_ns });
            JobResult { name, read, write, flush, not_started: u64::from(n % 7), ..JobResult::default() }
        })
        .boxed();
    let portion = (figure(), "\\PC{0,30}").prop_map(|(v, name)| {
        let share = v.unwrap_or_default();
        Portion { name, share, fair_share: share, starved: share < 0.0 }
    });
    let fairness = (prop::collection::vec(portion, 0..3), figure()).prop_map(|(jobs, v)| Fairness {
        starved_workers: jobs.iter().map(|p| p.name.clone()).collect(),
        jobs,
        worker_index: v.unwrap_or_default(),
    });
    let texts = || prop::collection::vec("\\PC{0,200}", 0..5);
    let lists = (prop::collection::vec(job.clone(), 0..4), prop::option::of(fairness), texts());
    prop_oneof![
        "\\PC{0,200}".prop_map(|why| Message::RunFinished(Err(why))),
        (figure(), job, texts(), lists).prop_map(|(v, total, warnings, (jobs, fairness, promises))| {
            Message::RunFinished(Ok(Box::new(TrialResult {
                target: "x".to_owned(),
                asked: Vec::new(),
                engine: String::new(),
                window_s: v.unwrap_or_default(),
                jobs,
                total,
                fairness,
                promises,
                device: None,
                cpu: CpuUse::default(),
                settings_before: BTreeMap::new(),
                settings_after: BTreeMap::new(),
                alone: None,
                inflation: Vec::new(),
                stopped_for: None,
                others: None,
                host: HostFacts::default(),
                interrupted: warnings.is_empty(),
                warnings,
            })))
        }),
    ]
}

fn some_id() -> impl Strategy<Value = DeviceId> {
    some_device().prop_map(|d| d.id)
}

fn boot_state() -> impl Strategy<Value = Result<QueueState, String>> {
    prop_oneof![some_queue().prop_map(Ok), "\\PC{0,60}".prop_map(Err)]
}

fn some_deadline() -> impl Strategy<Value = Option<Nanos>> {
    prop_oneof![
        Just(None),
        any::<u64>().prop_map(|n| Some(Nanos(n))),
        (0u64..100_000_000_000).prop_map(|n| Some(Nanos(n)))
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let step =
        ("[a-z_]{1,20}", "\\PC{0,20}").prop_map(|(name, back_to)| UndoStep { name, now: None, back_to });
    let plan = prop_oneof![
        Just(Err("nothing was changed here".to_owned())),
        prop::collection::vec(step, 0..3).prop_map(Ok),
    ]
    .boxed();
    let size = prop_oneof![(0u16..300, 0u16..90), (60u16..130, 16u16..50)];
    prop_oneof![
        40 => key().prop_map(Message::Key),
        4 => size.prop_map(|(width, height)| Message::Resize { width, height }),
        3 => (0u64..100, "[0-9:]{0,8}").prop_map(|(s, wall)| Message::Tick { now: Nanos(s * 1_000_000_000), wall }),
        1 => "\\PC{0,30}".prop_map(|hostname| Message::Host(HostLine { hostname, ..HostLine::default() })),
        4 => prop::collection::vec(some_device(), 0..8).prop_map(Message::Inventory),
        2 => prop::collection::vec(some_device(), 0..4).prop_map(Message::Readings),
        3 => some_rates(),
        6 => (prop::sample::select(NAMES.to_vec()), some_queue())
            .prop_map(|(d, state)| Message::Queue { device: name(d), state }),
        1 => prop_oneof![Just(Ok(())), "\\PC{0,90}".prop_map(Err)].prop_map(Message::Rights),
        2 => (some_id(), some_report()).prop_map(|(device, result)| Message::Applied { device, result }),
        1 => (some_id(), some_report()).prop_map(|(device, result)| Message::UndoDone { device, result }),
        1 => (some_id(), some_report()).prop_map(|(device, result)| Message::RedoDone { device, result }),
        2 => (some_id(), plan.clone()).prop_map(|(device, plan)| Message::UndoPlan { device, plan }),
        2 => (some_id(), plan).prop_map(|(device, plan)| Message::RedoPlan { device, plan }),
        1 => (some_id(), boot_state()).prop_map(|(device, state)| Message::BootState { device, state }),
        2 => (some_id(), some_deadline()).prop_map(|(device, until)| Message::Held { device, until }),
        3 => some_progress(),
        1 => (figure(), figure())
            .prop_map(|(a, b)| Message::RunKernel(KernelFigures { bytes_per_s: a, read_size: b, write_size: a, cpus: b })),
        1 => some_result(),
        1 => some_replay(),
        1 => "\\PC{0,120}".prop_map(|t| Message::Notice(Level::Warning, t)),
    ]
}

/// What a diff on top of the screen would do if Enter were pressed now.
#[derive(Clone, Debug, PartialEq)]
struct Offer {
    device: DeviceId,
    purpose: Purpose,
    changes: Vec<Change>,
    /// The switch that puts them back is shown as thrown.
    thrown: bool,
}

fn offered(model: &Model) -> Option<Offer> {
    match model.dialogs.last() {
        Some(Dialog::Changes(c)) if place(model) == Place::Changes => {
            let lines = c.lines(&model.fleet);
            let changes = lines.into_iter().map(|l| Change { name: l.name, requested: l.to }).collect();
            let thrown = c.revert_after.is_some();
            Some(Offer { device: c.device.clone(), purpose: c.purpose, changes, thrown })
        }
        _ => None,
    }
}

/// What happens to a person who stages and reviews, and rarely does anything else. Some of it is what belongs together,
/// so that many runs come to a write of every sort.
fn beside_the_settings() -> impl Strategy<Value = Vec<Message>> {
    let sdb = || device("sdb", minor("sdb")).id;
    let keys: Vec<Key> = " lhjkcxuccebbyrj".chars().map(Key::Char).collect();
    let press = |text: &str| -> Vec<Message> {
        let key = |c| if c == '\n' { Key::Enter } else { Key::Char(c) };
        text.chars().map(|c| Message::Key(key(c))).collect()
    };
    let step = || vec![UndoStep { name: "nomerges".to_owned(), now: None, back_to: "1".to_owned() }];
    let mut habits = [" c\n", " cr\n", "bj\n\n", "bk\n", "y"].map(press).to_vec();
    for (key, answer) in [
        (Key::Char('u'), Message::UndoPlan { device: sdb(), plan: Ok(step()) }),
        (Key::Ctrl('r'), Message::RedoPlan { device: sdb(), plan: Ok(step()) }),
    ] {
        habits.push(vec![Message::Key(key), answer, Message::Key(Key::Enter)]);
    }
    let one = prop_oneof![
        20 => prop::sample::select(keys).prop_map(Message::Key),
        6 => Just(Message::Key(Key::Enter)),
        2 => Just(Message::Key(Key::Esc)),
        1 => Just(Message::Key(Key::Ctrl('r'))),
        1 => Just(Message::UndoPlan { device: sdb(), plan: Ok(step()) }),
        1 => Just(Message::RedoPlan { device: sdb(), plan: Ok(step()) }),
        1 => some_deadline().prop_map(move |until| Message::Held { device: sdb(), until }),
        1 => boot_state().prop_map(move |state| Message::BootState { device: sdb(), state }),
        1 => some_queue().prop_map(|state| Message::Queue { device: name("sdb"), state }),
        1 => some_report().prop_map(move |result| Message::Applied { device: sdb(), result }),
        1 => message(),
    ];
    prop_oneof![6 => one.prop_map(|m| vec![m]), 1 => prop::sample::select(habits)]
}

/// A person looking at the settings of a device, so that random keys soon stage something.
fn at_the_settings(model: &mut Model) {
    let opened = [
        Message::Resize { width: 80, height: 24 },
        Message::Rights(Ok(())),
        Message::Inventory(["sda", "sdb"].map(|n| device(n, minor(n))).to_vec()),
        Message::Key(Key::Char('2')),
        Message::Queue { device: name("sdb"), state: queue("bfq", 128) },
    ];
    for message in opened {
        let _ = update(model, message);
    }
}

/// Messages, sizes to draw at, and whether it is in ASCII and at the settings.
type Happening = (Vec<Message>, Vec<(u16, u16)>, (bool, bool));

#[test]
fn nothing_that_happens_breaks_the_screen() {
    let [writes, thrown, again, confirmed, looked] = [const { Cell::new(0u32) }; 5];
    let all = (
        prop_oneof![
            prop::collection::vec(message(), 1..120),
            prop::collection::vec(beside_the_settings(), 1..120).prop_map(|all| all.concat()),
        ],
        prop::collection::vec((1u16..220, 1u16..70), 4),
        any::<(bool, bool)>(),
    );
    let try_it = |(messages, sizes, (ascii, open)): Happening| {
        let mut model = Model::new(Options {
            ascii,
            presets: presets(),
            choose: Some(name("sdb")),
            ..Options::default()
        });
        if open {
            at_the_settings(&mut model);
        }
        let theme = Theme::default();
        for (i, message) in messages.into_iter().enumerate() {
            let offer = offered(&model);
            let enter = matches!(message, Message::Key(Key::Enter));
            let yes = matches!(message, Message::Key(Key::Char('y')));
            let held: Vec<DeviceId> = held(&model);
            for effect in update(&mut model, message) {
                let seen = match effect {
                    Effect::Apply { device, changes, revert_after } => {
                        writes.set(writes.get() + 1);
                        thrown.set(thrown.get() + u32::from(revert_after.is_some()));
                        prop_assert!(!changes.is_empty());
                        prop_assert!(revert_after.is_none_or(|t| t == Nanos(60 * Nanos::SECOND.0)));
                        Offer { device, purpose: Purpose::Apply, changes, thrown: revert_after.is_some() }
                    }
                    Effect::Undo { device } => offer_of(device, Purpose::Undo, offer.as_ref()),
                    Effect::Redo { device } => offer_of(device, Purpose::Redo, offer.as_ref()),
                    Effect::Confirm { device } => {
                        confirmed.set(confirmed.get() + 1);
                        prop_assert!(yes && held.contains(&device));
                        continue;
                    }
                    _ => continue,
                };
                again.set(again.get() + u32::from(seen.purpose != Purpose::Apply));
                prop_assert!(enter && model.read_only().is_none());
                prop_assert_eq!(Some(seen), offer.clone());
            }
            let rows = rows(&model.fleet, &model.devices);
            prop_assert!(model.devices.filter.chars().count() <= 80);
            match &model.devices.chosen {
                Some(chosen) => prop_assert!(rows.iter().any(|r| r.is(chosen))),
                None => prop_assert!(rows.is_empty()),
            }
            let columns = model.devices.columns(model.width);
            prop_assert!(model.devices.scrolled <= columns.len().saturating_sub(1));
            // Every device is at the moment that is looked at, or none is.
            prop_assert!(model.fleet.entries().iter().all(|e| e.then.is_some() == model.look.is_some()));
            looked.set(looked.get() + u32::from(model.look.is_some()));
            if i % 8 == 0 {
                draw(&model, &theme, (model.width.max(1), model.height.max(1)));
            }
        }
        for size in sizes {
            draw(&model, &theme, size);
        }
        Ok(())
    };
    let sought = [
        (&writes, 1, "a write"),
        (&thrown, 1, "a held write"),
        (&again, 1, "an undo or redo"),
        (&confirmed, 1, "a confirmation"),
        (&looked, 1, "a look back"),
    ];
    until_seen(256, file!(), &all, &sought, try_it);
}

/// An undo or redo says only its device; what it writes is what its diff showed.
fn offer_of(device: DeviceId, purpose: Purpose, offer: Option<&Offer>) -> Offer {
    let changes = offer.map(|o| o.changes.clone()).unwrap_or_default();
    Offer { device, purpose, changes, thrown: false }
}

/// The devices whose changes are put back unless confirmed.
fn held(model: &Model) -> Vec<DeviceId> {
    let all = model.fleet.entries().iter();
    all.filter(|e| e.held.is_some()).map(|e| e.device.id.clone()).collect()
}

/// Draws at a size that may be another than the model was told, as happens while a window is dragged.
fn draw(model: &Model, theme: &Theme, (width, height): (u16, u16)) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| blktune::ui::render(model, theme, frame)).unwrap();
}

#[test]
fn every_dialog_survives_every_odd_size() {
    let sizes = [(1, 1), (20, 5), (10, 4), (60, 16), (61, 17), (80, 3), (3, 80), (500, 200)];
    for keys in [
        "?",
        "u",
        "b",
        "c",
        "cr",
        "3<Enter>jj<Enter>",
        "3<Enter>G<Enter>q",
        "<Enter>g<Enter>",
        "/x",
        "/busy>5 x:y<Enter>llll",
        "oj Jjjjj ",
        "sjjr",
        "sjjf",
        "7",
        "3",
    ] {
        for size in sizes {
            let mut s = support::model::Screen::live(120, 40);
            s.keys("/sdb<Enter><Enter>");
            s.send(Message::Queue { device: name("sdb"), state: queue("bfq", 128) });
            s.keys("  <Esc>");
            s.keys(keys);
            s.send(Message::Resize { width: size.0, height: size.1 });
            draw(&s.model, &s.theme, size);
        }
    }
}
