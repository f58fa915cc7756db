//! The past on the screen: frozen, looked back to, over an hour, with marks; and the screen on a record.

// A test that can not set up what it needs fails there and then.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use blktune::app::effect::Effect;
use blktune::app::message::{HostLine, Message, When};
use blktune::app::replay::{ReplayOrder, ReplayState};
use blktune::sys::queue::QueueState;
use blktune::telemetry::sample::RowKey;
use blktune::units::Nanos;
use support::model::{Screen, device, fleet, name, queue, sample};
use support::scenes::report;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

fn head(s: &Screen) -> String {
    s.lines()[0].clone()
}

/// The reads per second in a row.
fn reads(s: &Screen, device: &str) -> String {
    let row = s.line_with(&format!("{device} "));
    row.split_whitespace().nth(6).unwrap().to_owned()
}

/// The line with the axis of time.
fn axis(s: &Screen) -> String {
    s.lines().into_iter().find(|l| [" 2 min ", " 10 min ", " 1 h "].iter().any(|t| l.contains(t))).unwrap()
}

#[test]
fn frozen_figures_stand_still_while_samples_go_on() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        s.keys("p");
        s.load(55, |_| 0.1);
        s
    };
    pictures("frozen", make);
    for (width, height) in SIZES {
        let mut s = make(width, height);
        assert!(head(&s).contains("frozen 10:42:21  -0:55"), "{}", head(&s));
        assert_eq!(reads(&s, "nvme0n1"), "8421");
        assert!(s.line_with("nvme0n1p2").contains("8421"));
        assert!(s.text().contains("32.9 MiB/s"), "{}", s.text());
        // What came since is not on the chart, which ends where it was frozen.
        assert!(axis(&s).contains(" 10:42:21"), "{}", axis(&s));
        let frozen = s.lines();
        s.load(1, |_| 0.5);
        assert_eq!(frozen[1..], s.lines()[1..]);
        // And it was taken nevertheless.
        s.keys("p");
        assert_eq!(reads(&s, "nvme0n1"), "4210");
        assert!(axis(&s).contains(" now") && !head(&s).contains("frozen"), "{}", s.text());
        s.keys("p");
        assert!(head(&s).contains("frozen"));
        s.keys("<Esc>");
        assert!(!head(&s).contains("frozen"));
    }
}

#[test]
fn the_head_says_everywhere_that_something_is_frozen_and_settings_are_live() {
    let mut s = Screen::live(80, 24);
    s.keys("/sda<Enter>p2");
    assert!(head(&s).contains("frozen 10:42:21"), "{}", head(&s));
    s.send(Message::Queue { device: name("sda"), state: queue("bfq", 4096) });
    assert!(s.line_with("> scheduler").contains("bfq"));
    // A filter stays while Esc leads back to what is.
    s.keys("<Esc><Esc>");
    assert!(!head(&s).contains("frozen") && s.text().contains("filter: sda"), "{}", s.text());
}

#[test]
fn a_sample_back_and_forward() {
    let mut s = Screen::live(120, 40);
    // The last load was all, the one before 8.2 ninths of it.
    s.keys("[");
    assert!(head(&s).contains("frozen 10:42:20  -0:01"), "{}", head(&s));
    assert_eq!(reads(&s, "nvme0n1"), "7672");
    // What is not kept is not known.
    assert!(s.line_with("nvme0n1p2").ends_with('-'), "{}", s.line_with("nvme0n1p2"));
    // One of the cells of the chart is marked, and the axis below it.
    let column = axis(&s).chars().position(|c| c == '┃').unwrap();
    s.keys("[[[[[");
    let moved = axis(&s).chars().position(|c| c == '┃').unwrap();
    assert!(moved < column, "{moved} {column}");
    s.keys("]]]]]");
    assert_eq!(axis(&s).chars().position(|c| c == '┃'), Some(column));
    s.keys("]");
    assert!(head(&s).contains("-0:00"), "{}", head(&s));
    s.keys("]");
    assert!(!head(&s).contains("frozen"));
    s.keys("]");
    assert!(s.text().contains("this is live; [ looks back"), "{}", s.text());
}

#[test]
fn minutes_lead_to_the_oldest_and_no_further_and_back_to_live() {
    let mut s = Screen::live(80, 24);
    s.load(4000, |_| 0.5);
    s.keys("{");
    assert!(head(&s).contains("-1:00"), "{}", head(&s));
    s.keys("}");
    assert!(head(&s).contains("-0:00"), "{}", head(&s));
    s.keys("}");
    assert!(!head(&s).contains("frozen"), "{}", head(&s));
    for _ in 0..80 {
        s.keys("{");
    }
    let oldest = head(&s);
    assert!(oldest.contains("-59:4"), "{oldest}");
    assert!(s.text().contains("nothing older is kept"), "{}", s.text());
    assert_eq!(reads(&s, "nvme0n1"), "4210");
    s.keys("[[{");
    assert_eq!(head(&s), oldest);
    // While it is looked at it is forgotten, and still shown.
    s.load(300, |_| 0.1);
    assert_eq!(reads(&s, "nvme0n1"), "4210");
    assert!(head(&s).contains("-1:04:4"), "{}", head(&s));
    for _ in 0..80 {
        s.keys("}");
    }
    assert!(!head(&s).contains("frozen"));
}

#[test]
fn samples_closer_than_a_second_are_told_apart_in_the_head() {
    let mut s = Screen::live(80, 24);
    let interval = std::time::Duration::from_millis(200);
    s.send(Message::Host(HostLine { interval, ..s.model.host.clone() }));
    s.send(Message::Rates {
        at: Nanos(21_400_000_000),
        when: When::default(),
        rows: Vec::new(),
        total: None,
    });
    s.keys("[");
    assert!(head(&s).contains("-0:00.4"), "{}", head(&s));
}

#[test]
fn what_is_looked_at_survives_lost_devices_and_new_sizes() {
    let mut s = Screen::live(120, 40);
    s.keys("/sda<Enter>[[");
    let mut fewer = fleet();
    fewer.retain(|d| d.name().kernel() != "sda");
    s.send(Message::Inventory(fewer.clone()));
    assert!(s.line_with(" sda").contains("gone") || s.line_with(">sda").contains("gone"));
    s.seconds(11);
    fewer.push(device("sdz", 240));
    s.send(Message::Inventory(fewer));
    s.keys("<Esc>");
    assert!(!head(&s).contains("frozen"));
    s.keys("<Esc>[");
    assert!(head(&s).contains("frozen"), "{}", head(&s));
    // It was not there then.
    let row = s.line_with(" sdz ");
    assert!(!row.contains('0') || row.contains(" - "), "{row}");
    for (width, height) in [(60, 16), (200, 60), (20, 5), (80, 24)] {
        s.send(Message::Resize { width, height });
        let _ = s.buffer();
    }
    assert!(head(&s).contains("frozen"), "{}", head(&s));
}

#[test]
fn an_hour_keeps_every_extreme() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        // Quiet, but for a second in each ten minutes.
        s.load(3600, |i| if i % 600 == 300 { 2.0 } else { 0.1 });
        s.keys("tt");
        s
    };
    pictures("hour", make);
    for (width, height) in SIZES {
        let mut s = make(width, height);
        assert!(axis(&s).contains(" 1 h ") && axis(&s).contains(" now"), "{}", axis(&s));
        // Shaded up to each of the six, solid where all of the time was.
        let rows: Vec<String> = s.lines().into_iter().filter(|l| l.contains('░')).collect();
        let plot = usize::from(if width < 120 { width } else { width * 2 / 3 });
        let shaded = |l: &String| l.chars().take(plot).filter(|c| *c == '░').count();
        assert_eq!(shaded(&rows[0]), 6, "{}", s.text());
        // 8421 times 4 KiB, twice.
        assert!(s.text().contains("65.8 peak"), "{}", s.text());
        s.keys("t");
        assert!(axis(&s).contains(" 2 min ") && !s.text().contains("65.8 peak"), "{}", s.text());
    }
}

#[test]
fn a_sleep_is_a_gap_of_its_width_on_the_chart() {
    let mut s = Screen::live(80, 24);
    let rows = |busy: f64| {
        let disk = fleet().into_iter().find(|d| d.name().kernel() == "sda").unwrap();
        let rates = support::model::rates(busy, 1_048_576.0, busy, 4096.0, 1.0, 50.0);
        vec![(RowKey { devnum: disk.id.devnum.unwrap(), name: disk.name().clone() }, rates)]
    };
    s.keys("/sda<Enter>");
    for i in 0..60u64 {
        // A minute in the middle was slept through: the clock that measures stood still.
        let at = Nanos((100 + i) * Nanos::SECOND.0);
        let boot = Nanos(at.0 + if i < 30 { 0 } else { 60 * Nanos::SECOND.0 });
        let when = When { boot: Some(boot), wall: None };
        s.send(Message::Rates { at, when, rows: rows(50.0), total: None });
    }
    let line = s.line_with("  write ");
    let chart: String = line.chars().skip(8).take(52).collect();
    let gap = chart.trim_end().chars().rev().skip_while(|c| *c != ' ').take_while(|c| *c == ' ').count();
    // 60 s of 120 in 52 columns.
    assert!((25..=26).contains(&gap), "{gap} in {line}");
}

/// A queue that something else changes, ten seconds and thirty samples ago.
fn marked(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sda<Enter>");
    s.send(Message::Queue { device: name("sda"), state: queue("none", 128) });
    s.load(10, |_| 0.5);
    s.send(Message::Queue { device: name("sda"), state: queue("bfq", 128) });
    s.load(30, |_| 0.5);
    s
}

#[test]
fn a_changed_setting_is_marked_and_told_where_it_is_looked_at() {
    let make = |width, height| {
        let mut s = marked(width, height);
        s.keys(&"[".repeat(29));
        s
    };
    pictures("mark", make);
    for (width, height) in SIZES {
        let mut s = marked(width, height);
        // Once on each of the charts.
        assert_eq!(axis(&s).matches('▲').count(), axis(&s).matches(" now").count(), "{}", s.text());
        assert!(!s.text().contains("none -> bfq"));
        // 30 samples since, of which the first saw it.
        s.keys(&"[".repeat(29));
        assert!(s.text().contains("10:42:31 scheduler none -> bfq (by something else)"), "{}", s.text());
        s.keys(&"[".repeat(10));
        assert!(!s.text().contains("none -> bfq"), "{}", s.text());
    }
}

/// The words of all marks of a device.
fn marks(s: &Screen, device: &str) -> Vec<String> {
    let entry = s.model.fleet.get(&s.id(device)).unwrap();
    entry.marks.iter().map(|m| blktune::app::mark::words(&[m])).collect()
}

#[test]
fn a_mark_says_whose_the_change_was() {
    use blktune::tuning::change::{ApplyReport, Outcome, SideEffect};
    let read = |s: &mut Screen, state: QueueState| s.send(Message::Queue { device: name("sda"), state });
    let with = |scheduler: &str, wbt: &str| {
        let mut state = queue(scheduler, 128);
        state.attributes.get_mut("wbt_lat_usec").unwrap().value = Some(wbt.to_owned());
        state
    };
    let write = |s: &mut Screen, hold: &str, before: &str, after: &str| {
        let device = s.id("sda");
        s.keys("2");
        while s.model.settings.setting.as_deref() != Some("scheduler") {
            s.keys("k");
        }
        while s.model.fleet.get(&device).unwrap().staged.get("scheduler").map(String::as_str) != Some(after) {
            s.keys(" ");
        }
        s.keys(&format!("c{hold}<Enter>"));
        // Read while it is written: whose it is is not known yet.
        read(s, with(after, "0"));
        let result = ApplyReport {
            changes: vec![report("scheduler", after, before, after, Outcome::Applied)],
            side_effects: vec![SideEffect {
                device: name("sda"),
                name: "wbt_lat_usec".to_owned(),
                before: Some("75000".to_owned()),
                after: Some("0".to_owned()),
            }],
            ..ApplyReport::default()
        };
        s.send(Message::Applied { device, result: Ok(result) });
        s.keys("<Esc>");
        read(s, with(after, "0"));
    };
    let mut s = Screen::live(80, 24);
    s.keys("/sda<Enter>");
    read(&mut s, with("none", "75000"));
    write(&mut s, "", "none", "bfq");
    let ours = ["scheduler none -> bfq (by this program)", "wbt_lat_usec 75000 -> 0 (side effect)"];
    let all = marks(&s, "sda");
    assert!(all.len() == 2 && all.iter().zip(ours).all(|(m, w)| m == &format!("10:42:21 {w}")), "{all:?}");
    // Held, then put back because nobody confirmed it.
    let mut s = Screen::live(80, 24);
    s.keys("/sda<Enter>");
    read(&mut s, with("none", "75000"));
    write(&mut s, "r", "none", "bfq");
    assert!(marks(&s, "sda")[0].ends_with("none -> bfq (by this program, held)"), "{:?}", marks(&s, "sda"));
    let device = s.id("sda");
    s.send(Message::Held { device, until: None });
    read(&mut s, with("none", "75000"));
    let all = marks(&s, "sda");
    assert!(all[2].ends_with("bfq -> none (put back by this program)"), "{all:?}");
    // What happens later is somebody else's.
    read(&mut s, with("bfq", "75000"));
    read(&mut s, with("none", "75000"));
    let all = marks(&s, "sda");
    assert!(all[5].ends_with("bfq -> none (by something else)"), "{all:?}");
}

#[test]
fn a_new_device_is_marked() {
    let mut s = Screen::live(80, 24);
    assert_eq!(marks(&s, "sda"), Vec::<String>::new());
    let mut more = fleet();
    more.push(device("sdz", 240));
    s.send(Message::Inventory(more.clone()));
    s.send(Message::Inventory(more));
    assert_eq!(marks(&s, "sdz"), ["10:42:21 new device"]);
}

fn replay(playing: bool, speed: f64, ended: bool) -> Message {
    let at = Nanos(21 * Nanos::SECOND.0);
    Message::Replay(ReplayState { record: "day.jsonl.gz".to_owned(), at, playing, speed, ended })
}

#[test]
fn a_record_is_paused_stepped_skipped_and_looked_back_in() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        s.send(replay(false, 4.0, false));
        s.keys("[");
        s
    };
    pictures("replay-paused", make);
    let s = make(80, 24);
    assert!(head(&s).contains("replay day.jsonl.gz  2026-12-02 10:42:20  -0:01  paused"), "{}", head(&s));
    let orders = |s: &mut Screen, keys: &str| {
        s.effects.clear();
        s.keys(keys);
        let orders = s.effects.iter().filter_map(|e| match e {
            Effect::Replay(order) => Some(*order),
            _ => None,
        });
        orders.collect::<Vec<_>>()
    };
    let mut s = Screen::live(80, 24);
    s.send(replay(true, 4.0, false));
    assert!(head(&s).contains("2026-12-02 10:42:21  playing 4x"), "{}", head(&s));
    assert_eq!(orders(&mut s, "p"), [ReplayOrder::Pause]);
    // Looking back stands still first.
    assert_eq!(orders(&mut s, "["), [ReplayOrder::Pause]);
    s.send(replay(false, 4.0, false));
    assert_eq!(orders(&mut s, "["), []);
    assert_eq!(reads(&s, "nvme0n1"), "6924");
    // Forward in what is kept, then new samples.
    assert_eq!(orders(&mut s, "]]]"), []);
    assert_eq!(orders(&mut s, "]"), [ReplayOrder::Step]);
    assert_eq!(orders(&mut s, "}"), [ReplayOrder::Skip(Nanos(60 * Nanos::SECOND.0))]);
    assert_eq!(orders(&mut s, "+-"), [ReplayOrder::Speed(10.0), ReplayOrder::Speed(2.0)]);
    assert_eq!(orders(&mut s, "p"), [ReplayOrder::Play]);
    s.send(replay(false, 600.0, true));
    assert!(head(&s).contains("  end"), "{}", head(&s));
    assert_eq!(orders(&mut s, "]p}+"), []);
    assert!(s.text().contains("it goes no faster"), "{}", s.text());
    // Without a record there is no speed.
    let mut s = Screen::live(80, 24);
    assert_eq!(orders(&mut s, "+-"), []);
    assert!(s.text().contains("not a record"), "{}", s.text());
}

#[test]
fn an_idle_screen_sends_nothing_as_its_axis_goes_on() {
    for span in ["", "t", "tt"] {
        let mut s = Screen::live(120, 40);
        s.keys(span);
        s.load(4000, |_| 0.0);
        let mut cells = 0;
        for _ in 0..200 {
            let before = s.buffer();
            s.load(1, |_| 0.0);
            cells += before.diff(&s.buffer()).len();
        }
        assert_eq!(cells, 0, "span {span:?}");
    }
}

#[test]
fn beyond_sixty_four_devices_only_the_last_that_were_looked_at_have_a_past() {
    let mut s = Screen::bare(80, 24, false);
    let devices: Vec<_> = (0..200).map(|i| device(&format!("vd{i}"), i)).collect();
    s.send(Message::Inventory(devices.clone()));
    let with = |s: &Screen| {
        let entries = s.model.fleet.entries().iter();
        entries.filter(|e| e.history.is_some()).map(|e| e.device.name().kernel()).collect::<Vec<_>>()
    };
    for seen in 0..150 {
        s.seconds(1);
        s.send(sample(&devices, 0.5));
        assert_eq!(with(&s).len(), (seen + 1).min(64));
        s.keys("j");
    }
    let last: Vec<String> = (86..150).map(|i| format!("vd{i}")).collect();
    assert_eq!(with(&s), last);
    // Down to few, all have one, and what there was is kept.
    s.send(Message::Inventory(devices[60..120].to_vec()));
    s.send(sample(&devices, 0.5));
    assert_eq!(with(&s).iter().filter(|n| s.model.fleet.get(&s.id(n)).unwrap().live()).count(), 60);
}
