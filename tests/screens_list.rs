//! The list of devices as a person arranges it: its columns, its order, its filter, and what of it is remembered.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used)]

mod support;

use blktune::app::columns::{ColumnId, TABLE};
use blktune::app::effect::Effect;
use blktune::app::key::Key;
use blktune::app::message::{Message, When};
use blktune::app::model::{Model, Options};
use blktune::app::past::ChartSpan;
use blktune::app::screens::devices::{Row, rows};
use blktune::config::view::{SortWords, View};
use blktune::sys::device::{DevNum, Device};
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::RowKey;
use blktune::units::Nanos;
use support::model::{Screen, device, fleet, name, sample};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];

fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

fn keyed(keys: &'static str) -> impl Fn(u16, u16) -> Screen {
    move |width, height| {
        let mut s = Screen::live(width, height);
        s.keys(keys);
        s
    }
}

/// A sample in which these devices are so busy and all others idle.
fn busy(all: &[Device], figures: &[(&str, f64)]) -> Message {
    let row = |d: &Device| {
        let pct = figures.iter().find(|(n, _)| *n == d.name().kernel()).map_or(0.0, |f| f.1);
        let rates = Rates { busy_pct: Some(pct), busy_raw_pct: Some(pct), ..Rates::default() };
        (RowKey { devnum: d.id.devnum.unwrap(), name: d.name().clone() }, rates)
    };
    Message::Rates { at: Nanos(0), when: When::default(), rows: all.iter().map(row).collect(), total: None }
}

/// The names in the list, in order, folded ones left out.
fn names(s: &Screen) -> Vec<String> {
    let rows = rows(&s.model.fleet, &s.model.devices);
    rows.iter()
        .filter_map(Row::subject)
        .map(|of| {
            let name = ColumnId::Name.column();
            name.shown(name.value(of)).into_owned()
        })
        .collect()
}

fn marked(s: &Screen) -> String {
    s.lines().into_iter().find(|l| l.starts_with('>')).unwrap_or_default()
}

fn saved(s: &Screen) -> Option<View> {
    s.effects.iter().rev().find_map(|e| match e {
        Effect::SaveView(view) => Some(view.clone()),
        _ => None,
    })
}

/// Four plain disks.
fn disks() -> Vec<Device> {
    ["sda", "sdb", "sdc", "sdd"].into_iter().zip([0, 16, 32, 48]).map(|(n, minor)| device(n, minor)).collect()
}

fn screen_of(all: &[Device]) -> Screen {
    let mut s = Screen::bare(80, 24, false);
    s.send(Message::Inventory(all.to_vec()));
    s
}

#[test]
fn columns_scroll_sideways_one_at_a_time_behind_the_name() {
    pictures("list-sideways", keyed("lll"));
    let mut s = Screen::live(80, 24);
    let head = |s: &Screen| s.lines()[1].clone();
    assert!(head(&s).starts_with(" NAME             SIZE") && head(&s).ends_with("busy>"), "{}", head(&s));
    s.keys("l");
    assert!(head(&s).starts_with(" NAME           <SCHED "), "{}", head(&s));
    assert!(marked(&s).starts_with(">nvme0n1         none "), "{}", marked(&s));
    // At the end, and no further.
    s.keys("<Right><Right><Right><Right><Right><Right><Right><Right><Right><Right><Right><Right>");
    assert!(head(&s).contains('<') && head(&s).contains("MODEL") && !head(&s).ends_with('>'), "{}", head(&s));
    assert!(marked(&s).contains("Example NVMe"), "{}", marked(&s));
    let end = head(&s);
    s.keys("<Left>");
    assert_ne!(head(&s), end, "one step back is one step");
    s.keys("hhhhhhhhhhhh");
    assert!(head(&s).starts_with(" NAME             SIZE"), "{}", head(&s));
    // A wide terminal has nothing to scroll, and a screen that grew shows no empty room.
    s.keys("lll");
    s.send(Message::Resize { width: 160, height: 24 });
    assert!(head(&s).starts_with(" NAME             SIZE") && head(&s).ends_with("MODEL"), "{}", head(&s));
    s.keys("l");
    assert!(head(&s).starts_with(" NAME             SIZE"), "{}", head(&s));
}

#[test]
fn partitions_show_their_users_wherever_there_is_room_for_them() {
    let mut s = Screen::live(80, 24);
    let row = |s: &Screen| s.line_with("nvme0n1p1");
    assert!(row(&s).contains("1.00G /boot "), "{}", row(&s));
    // Without the columns of the queue they are in the column of the users.
    s.keys("llllll");
    assert_eq!(row(&s).matches("/boot").count(), 1, "{}", row(&s));
    s.send(Message::Resize { width: 200, height: 24 });
    assert_eq!(row(&s).matches("/boot").count(), 1, "{}", row(&s));
}

#[test]
fn columns_are_chosen_ordered_and_remembered() {
    pictures("list-columns", keyed("ojj J"));
    let mut s = Screen::live(80, 24);
    s.keys("o");
    assert!(s.text().contains("Columns: the default ones") && s.line_with("> [x] SIZE").contains("bytes"));
    assert!(s.text().contains("size; K M G T are powers of 1024"), "{}", s.text());
    // SIZE off, SCHED one to the right, and the list behind follows at once.
    s.keys(" jJ");
    assert!(s.lines()[1].starts_with(" NAME            R SCHED "), "{}", s.text());
    s.keys("<Esc>");
    assert!(s.lines()[1].starts_with(" NAME             SIZE SCHED"), "left as it was: {}", s.text());
    assert_eq!(saved(&s), None);
    s.keys("o jJ<Enter>");
    assert!(s.lines()[1].starts_with(" NAME            R SCHED "), "{}", s.text());
    let columns = saved(&s).unwrap().columns.unwrap();
    assert_eq!(columns[..3], ["rotational", "sched", "read_ahead"]);
    // The last of all columns is in reach, and hidden ones join at their place.
    s.keys("oG <Enter>");
    assert_eq!(saved(&s).unwrap().columns.unwrap().last().unwrap(), "devnum");
    s.keys("od<Enter>");
    assert_eq!(saved(&s).unwrap().columns, None);
    assert!(s.lines()[1].starts_with(" NAME             SIZE SCHED"), "{}", s.text());
}

#[test]
fn a_list_without_any_column_keeps_its_names() {
    let mut s = Screen::live(80, 24);
    s.keys("o");
    for _ in 0..12 {
        s.keys(" j");
    }
    s.keys("<Enter>lh");
    assert_eq!(s.lines()[1], " NAME");
    assert_eq!(marked(&s), ">nvme0n1");
    s.keys("s<Enter>");
}

#[test]
fn every_column_can_be_shown_at_every_size() {
    for (width, height) in [(60, 16), (80, 24), (200, 60)] {
        let mut s = Screen::live(width, height);
        s.keys("o");
        for _ in TABLE.iter().skip(1) {
            s.keys(" j");
        }
        // The default ones were on.
        s.keys("<Enter>o");
        assert!(s.text().contains("d/s"), "{}", s.text());
        s.keys("<Esc>");
        let mut seen = String::new();
        for _ in TABLE {
            seen.push_str(&s.lines()[1]);
            s.keys("l");
        }
        for column in TABLE.iter().filter(|c| !blktune::app::columns::DEFAULT.contains(&c.id)) {
            assert!(seen.contains(column.head), "{} at {width}", column.head);
        }
    }
}

#[test]
fn sorted_once_no_row_moves_with_any_sample() {
    pictures("list-sort", keyed("sG"));
    let all = disks();
    let mut s = screen_of(&all);
    s.send(busy(&all, &[("sdc", 90.0), ("sda", 10.0)]));
    assert_eq!(names(&s), ["sda", "sdb", "sdc", "sdd"]);
    s.keys("s");
    assert!(s.line_with("> NAME").contains("now") && s.text().contains("Sort by, A to Z"), "{}", s.text());
    // The tenth column behind the name is busy.
    s.keys("jjjjjjjjjj");
    assert!(s.text().contains("> busy") && s.text().contains("greatest first"), "{}", s.text());
    s.keys("<Enter>");
    assert_eq!(names(&s), ["sdc", "sda", "sdb", "sdd"], "greatest first, equals by name");
    for figures in [[("sdd", 99.0), ("sdb", 50.0)], [("sda", 1.0), ("sdd", 2.0)]] {
        s.send(busy(&all, &figures));
        assert_eq!(names(&s), ["sdc", "sda", "sdb", "sdd"]);
    }
    assert!(!s.lines()[1].contains("busy^"), "{}", s.text());
    s.keys("s<Enter>");
    assert_eq!(names(&s), ["sdd", "sda", "sdb", "sdc"], "asked for again");
    assert_eq!(
        saved(&s).unwrap().sort,
        Some(SortWords { column: "busy".to_owned(), reversed: false, follow: false })
    );
}

#[test]
fn followed_rows_move_and_the_choice_moves_along() {
    let all = disks();
    let mut s = screen_of(&all);
    s.keys("jsjjjjjjjjjjf");
    assert!(marked(&s).starts_with(">sdb "));
    assert!(s.lines()[1].ends_with("busy^>"), "{}", s.text());
    for (figures, order) in [
        ([("sdb", 90.0), ("sdd", 10.0)], ["sdb", "sdd", "sda", "sdc"]),
        ([("sdc", 90.0), ("sda", 10.0)], ["sdc", "sda", "sdb", "sdd"]),
        ([("sdb", 1.0), ("sdd", 10.0)], ["sdd", "sdb", "sda", "sdc"]),
    ] {
        s.send(busy(&all, &figures));
        assert_eq!(names(&s), order);
        assert!(marked(&s).starts_with(">sdb "), "{}", s.text());
    }
    // The other way round; the unknown is last both ways.
    s.keys("srf");
    assert!(s.lines()[1].ends_with("busyv>"), "{}", s.text());
    let three: Vec<Device> = all.iter().filter(|d| d.name().kernel() != "sda").cloned().collect();
    s.send(busy(&three, &[("sdb", 5.0), ("sdc", 1.0), ("sdd", 3.0)]));
    assert_eq!(names(&s), ["sdc", "sdd", "sdb", "sda"]);
    s.keys("srf");
    assert_eq!(names(&s), ["sdb", "sdd", "sdc", "sda"]);
}

#[test]
fn what_is_built_on_a_device_stays_below_it() {
    let mut s = Screen::live(80, 24);
    let stack = ["nvme0n1", "nvme0n1p1", "nvme0n1p2", "dm-0"];
    let of = |s: &Screen, r: std::ops::Range<usize>| names(s)[r].to_vec();
    assert_eq!(of(&s, 0..4), stack);
    s.keys("sjjjjjjjjjjf");
    assert_eq!(of(&s, 0..6), ["sda", "nvme0n1", "nvme0n1p1", "nvme0n1p2", "dm-0", "sdb"]);
    s.send(busy(&fleet(), &[("dm-0", 100.0), ("sdb", 50.0)]));
    assert_eq!(of(&s, 0..3), ["sdb", "nvme0n1", "nvme0n1p1"], "roots move by their own figures");
}

#[test]
fn newcomers_join_where_they_belong_and_move_nobody() {
    let mut all = disks();
    for (d, gib) in all.iter_mut().zip([40, 10, 30, 20]) {
        d.size.0 = gib << 30;
    }
    let mut s = screen_of(&all);
    s.keys("sj<Enter>");
    assert_eq!(names(&s), ["sda", "sdc", "sdd", "sdb"]);
    let mut new = device("sdaa", 200);
    new.size.0 = 25 << 30;
    all.push(new);
    s.send(Message::Inventory(all.clone()));
    assert_eq!(names(&s), ["sda", "sdc", "sdaa", "sdd", "sdb"]);
    // A figure that is not known yet comes last.
    s.keys("sjjjjjjjjj");
    s.send(busy(&all, &[("sdb", 9.0)]));
    s.keys("<Enter>");
    assert_eq!(names(&s), ["sdb", "sda", "sdc", "sdd", "sdaa"].map(str::to_owned).to_vec());
    all.push(device("sdab", 216));
    s.send(Message::Inventory(all));
    assert_eq!(names(&s).last().unwrap(), "sdab");
}

#[test]
fn a_filter_compares_numbers_and_looks_into_columns() {
    pictures("list-filter-number", keyed("/busy>50 kind:hdd<Enter>"));
    let mut s = Screen::live(120, 40);
    let shown = |s: &mut Screen, filter: &str| {
        s.keys("<Esc>/");
        filter.chars().for_each(|c| s.send(Message::Key(Key::Char(c))));
        s.keys("<Enter>");
        names(s)
    };
    assert_eq!(shown(&mut s, "busy>50"), ["sda"]);
    assert!(s.text().contains("filter: busy>50   11 hidden, Esc clears"), "{}", s.text());
    assert_eq!(shown(&mut s, "sched:bfq"), ["sdb"]);
    assert_eq!(shown(&mut s, "SCHED:BFQ usb"), ["sdb"]);
    assert_eq!(shown(&mut s, "sched:bfq nvme"), [""; 0]);
    assert_eq!(shown(&mut s, "size>10T"), ["sda"]);
    assert_eq!(shown(&mut s, "size<500G kind=usb"), ["sdb"]);
    assert_eq!(shown(&mut s, "r/s>=61"), ["nvme0n1", "nvme0n1p2", "dm-0", "sda"]);
    assert_eq!(shown(&mut s, "used:archive"), ["sda"]);
    assert_eq!(shown(&mut s, "r_await>1s"), [""; 0]);
    // Rows come and go with the samples.
    assert_eq!(shown(&mut s, "busy>98"), [""; 0]);
    s.send(busy(&fleet(), &[("sdb", 99.0)]));
    assert_eq!(names(&s), ["sdb"]);
}

#[test]
fn a_filter_that_is_not_understood_says_so_while_it_is_typed() {
    let mut s = Screen::live(100, 24);
    s.keys("/speed>5");
    let status = s.lines()[22].clone();
    assert!(
        status.contains("filter: speed>5_   12 hidden   no column \"speed\"; looking for the text"),
        "{status}"
    );
    s.keys("<Esc>/busy>x");
    assert!(
        s.lines()[22].contains("\"x\" is no number of percent; looking for the text"),
        "{}",
        s.lines()[22]
    );
    s.keys("<Backspace>9");
    assert!(!s.lines()[22].contains("looking"), "{}", s.lines()[22]);
    assert!(s.text().contains("sda "));
    // However much is typed, and whatever is pasted.
    s.keys(&"x".repeat(300));
    s.keys("\u{202e}\u{7}");
    assert_eq!(s.model.devices.filter.chars().count(), 80);
    assert!(s.model.devices.filter.is_ascii());
}

fn remembered(view: View) -> Screen {
    let mut s = Screen::bare(80, 24, false);
    s.model = Model::new(Options { view, ..Options::default() });
    s.send(Message::Resize { width: 80, height: 24 });
    s
}

#[test]
fn what_was_chosen_comes_back_and_words_of_other_versions_stay_in_the_file() {
    let mut s = Screen::live(80, 24);
    s.keys("o j jj <Enter>sjjjjjjjrft");
    let view = saved(&s).unwrap();
    let mut file = view.clone();
    file.columns.as_mut().unwrap().extend(["size_of_moon".to_owned(), "busy".to_owned()]);
    file.other.insert("later".to_owned(), 1.into());
    let mut t = remembered(file);
    t.send(Message::Inventory(fleet()));
    t.send(sample(&fleet(), 1.0));
    let head = |s: &Screen| s.lines()[1].clone();
    assert_eq!(head(&t), head(&s));
    assert!(head(&t).contains("busyv"), "{}", head(&t));
    assert_eq!(t.model.fleet.order(), s.model.fleet.order());
    assert_eq!(t.model.chart_span, ChartSpan::TenMinutes);
    t.keys("o<Enter>");
    assert_eq!(saved(&t), None, "nothing was changed");
    t.keys("oj <Enter>");
    let again = saved(&t).unwrap();
    assert_eq!(again.columns.unwrap().last().unwrap(), "size_of_moon");
    assert_eq!(again.other.get("later"), Some(&1.into()));
    // A file in which nothing is known is no wish for a bare list.
    let strange = View { columns: Some(vec!["size_of_moon".to_owned()]), ..View::default() };
    assert!(head(&remembered(strange)).contains("SCHED"));
}

#[test]
fn an_order_by_figures_waits_for_the_first_of_them_and_then_stays() {
    let sort = SortWords { column: "busy".to_owned(), reversed: false, follow: false };
    let mut s = remembered(View { sort: Some(sort), ..View::default() });
    let all = disks();
    s.send(Message::Inventory(all.clone()));
    let none = all
        .iter()
        .map(|d| (RowKey { devnum: d.id.devnum.unwrap(), name: d.name().clone() }, Rates::default()));
    s.send(Message::Rates { at: Nanos(0), when: When::default(), rows: none.collect(), total: None });
    assert_eq!(names(&s), ["sda", "sdb", "sdc", "sdd"]);
    s.send(busy(&all, &[("sdc", 5.0)]));
    assert_eq!(names(&s), ["sdc", "sda", "sdb", "sdd"]);
    s.send(busy(&all, &[("sdd", 5.0)]));
    assert_eq!(names(&s), ["sdc", "sda", "sdb", "sdd"]);
}

#[test]
fn a_device_that_the_file_has_no_row_of_is_found_by_its_name() {
    let mut s = remembered(View::default());
    let all = disks();
    s.send(Message::Inventory(all.clone()));
    // What is made of other rows, as the head of a multipath device is of its paths, carries no number.
    let made = |n: &str| {
        let rates = Rates { read_iops: Some(4321.0), ..Rates::default() };
        (RowKey { devnum: DevNum::NONE, name: name(n) }, rates)
    };
    s.send(Message::Rates {
        at: Nanos(0),
        when: When::default(),
        rows: vec![made("sdb"), made("sdx")],
        total: None,
    });
    assert!(s.line_with("sdb ").contains("4321"), "{}", s.text());
}
