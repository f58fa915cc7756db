//! Each screen in each of its states at three sizes: what a person must be able to read there, and a picture of it.

mod support;

use blktune::app::effect::{Effect, RunTarget};
use blktune::app::message::{Level, Message, UndoStep, When};
use blktune::config::color::ColorDepth;
use blktune::config::theme::Theme;
use blktune::sys::name::KernelName;
use blktune::sys::queue::{Attribute, QueueState};
use blktune::telemetry::rates::Rates;
use blktune::telemetry::sample::RowKey;
use blktune::tuning::change::{ApplyReport, Change, Outcome};
use blktune::units::Nanos;
use support::model::{Screen, fleet, name, queue, sample};
use support::runs::running;
use support::scenes::{outcome, report, settings, staged};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

#[test]
fn devices_of_several_kinds() {
    pictures("devices", Screen::live);
    for (width, height) in SIZES {
        let s = Screen::live(width, height);
        let nvme = s.line_with("nvme0n1 ");
        for part in ["1.73T", "none", "1023", "8421", "34%"] {
            assert!(nvme.contains(part), "{part} in {nvme}");
        }
        // What goes through the stack is in the total once: the disk's 61 and the NVMe device's 32.9 MiB/s.
        assert!(s.line_with("─ nvme0n1").contains("  93.9 w"), "{}", s.line_with("─ nvme0n1"));
        assert!(s.line_with("sda ").contains("mq-deadline"));
        assert!(s.line_with("sdb ").contains("bfq"));
        assert!(s.line_with("nvme0n1p1").contains("/boot"));
        // The stack is below the partition that carries it.
        let at = |t: &str| s.lines().iter().position(|l| l.contains(t)).unwrap();
        assert_eq!(at("   dm-0") - at("nvme0n1p2"), 1);
        assert!(s.text().contains("8 unused loop devices"));
        // The chosen row is marked, and only that one.
        let marked: Vec<String> = s.lines().into_iter().filter(|l| l.starts_with('>')).collect();
        assert_eq!(marked.len(), 1);
        assert!(marked[0].starts_with(">nvme0n1 "), "{}", marked[0]);
        // Reads and writes have their own numbers: 8421 times 4 KiB, 300 times 16 KiB.
        let (read, write) = (s.text().find(" 32.9 MiB/s"), s.text().find(" 4.69 MiB/s"));
        assert!(read.is_some() && write.is_some(), "{}", s.text());
    }
}

#[test]
fn the_selection_follows_the_device_not_the_row() {
    let mut s = Screen::live(80, 24);
    s.keys("/sdb<Enter><Esc>");
    assert!(s.lines().iter().any(|l| l.starts_with(">sdb ")), "{}", s.text());
    let mut fewer = fleet();
    fewer.retain(|d| d.name().kernel() != "sda");
    s.send(Message::Inventory(fewer.clone()));
    let mut more = fewer;
    more.insert(0, support::model::device("sdaa", 200));
    more.push(support::model::device("nvme00n1", 210));
    s.send(Message::Inventory(more));
    assert!(s.lines().iter().any(|l| l.starts_with(">sdb ")), "{}", s.text());
}

#[test]
fn a_device_that_went_is_struck_out_for_ten_seconds() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        let mut fewer = fleet();
        fewer.retain(|d| d.name().kernel() != "sda");
        s.send(Message::Inventory(fewer));
        s
    };
    pictures("devices-gone", make);
    let mut s = make(80, 24);
    assert!(s.line_with("sda ").contains("gone"));
    let buffer = s.buffer();
    let y = u16::try_from(s.lines().iter().position(|l| l.contains("sda ")).unwrap()).unwrap();
    assert!(buffer[(1, y)].modifier.contains(ratatui::style::Modifier::CROSSED_OUT));
    s.seconds(9);
    assert!(s.text().contains("sda "));
    s.seconds(1);
    assert!(!s.text().contains("sda "));
}

#[test]
fn the_first_sample_knows_nothing_yet() {
    let make = |width, height| {
        let mut s = Screen::bare(width, height, false);
        s.send(Message::Rights(Ok(())));
        s.send(Message::Inventory(fleet()));
        let rows = fleet()
            .iter()
            .map(|d| (RowKey { devnum: d.id.devnum.unwrap(), name: d.name().clone() }, Rates::default()))
            .collect();
        s.send(Message::Rates { at: Nanos(0), when: When::default(), rows, total: None });
        s
    };
    pictures("devices-first", make);
    let row = make(80, 24).line_with("sda ");
    assert_eq!(row.matches(" -").count(), 5, "{row}");
    assert!(!row.contains(" 0"), "{row}");
}

#[test]
fn a_filter_that_hides_all_says_how_to_clear_it() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        s.keys("/nothing-like-it<Enter>");
        s
    };
    pictures("devices-filtered", make);
    let mut s = make(80, 24);
    assert!(s.text().contains("12 hidden, Esc clears"), "{}", s.text());
    s.keys("<Esc>");
    assert!(s.text().contains("nvme0n1"));
}

#[test]
fn a_filter_keeps_what_matches_and_what_it_sits_on() {
    let mut s = Screen::live(80, 24);
    s.keys("/vg0");
    let text = s.text();
    assert!(
        text.contains("filter: vg0_")
            && text.contains("NAME")
            && text.contains("dm-0")
            && text.contains("nvme0n1p2"),
        "{text}"
    );
    assert!(!text.contains("sda "), "{text}");
}

#[test]
fn unused_devices_unfold() {
    let mut s = Screen::live(80, 24);
    assert!(!s.text().contains("loop3"));
    s.keys("G<Enter>");
    s.keys("jjjj");
    assert!(s.text().contains("loop3"), "{}", s.text());
}

#[test]
fn no_devices_and_not_yet_devices_are_told_apart() {
    let mut s = Screen::bare(80, 24, false);
    assert!(s.text().contains("looking for devices"));
    s.send(Message::Inventory(Vec::new()));
    assert!(s.text().contains("no block devices here"));
}

#[test]
fn read_only_says_why() {
    let why = "not permitted; run as root (sudo, doas or run0)";
    let make = |width, height| {
        let mut s = Screen::bare(width, height, false);
        s.send(Message::Rights(Err(why.to_owned())));
        s.fill();
        s
    };
    pictures("devices-read-only", make);
    let mut s = make(120, 40);
    assert!(s.lines()[0].contains(&format!("read only: {why}")), "{}", s.lines()[0]);
    s.keys("/sda<Enter><Enter>");
    s.send(Message::Queue { device: name("sda"), state: queue("mq-deadline", 4096) });
    s.keys(" ");
    assert!(s.lines()[38].contains(why), "{}", s.lines()[38]);
    s.keys("c<Enter>u<Enter>");
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::Apply { .. } | Effect::Undo { .. })));
    // Reading a scratch file works without rights.
    s.keys("<Esc>3<Enter>g G<Enter>");
    assert!(s.effects.iter().any(|e| matches!(e, Effect::StartRun { target: RunTarget::Scratch, .. })));
    // And until it ends the process is not stopped.
    s.send(Message::Suspend);
    assert!(s.lines()[38].contains("no Ctrl-Z: a run goes on"), "{}", s.lines()[38]);
    s.send(Message::RunFinished(Err("stopped".to_owned())));
    assert!(!s.effects.contains(&Effect::Suspend));
    s.send(Message::Suspend);
    assert!(s.effects.contains(&Effect::Suspend));
}

#[test]
fn settings_show_values_and_what_is_staged() {
    pictures("settings-staged", staged);
    let s = staged(120, 40);
    let row = s.line_with("read_ahead_kb ");
    assert!(row.contains("4096 KiB (8192 sectors)") && row.contains("→ 2048"), "{row}");
    assert!(s.line_with(" scheduler ").contains("none mq-deadline kyber bfq"), "{}", s.text());
    assert!(s.text().contains("2 staged, c reviews"));
}

#[test]
fn every_setting_of_a_real_queue_is_somewhere_on_the_screen() {
    let tree = support::fixtures::sysroot("linux-6.12-qemu");
    for device in ["sdd", "nvme0n1", "vda"] {
        let state = QueueState::read(&tree.root, &KernelName::new(device).unwrap());
        assert!(state.attributes.len() > 30, "{device} has {}", state.attributes.len());
        let mut s = Screen::bare(80, 24, false);
        s.send(Message::Inventory(vec![support::model::device(device, 1)]));
        s.keys("g<Enter>");
        s.send(Message::Queue { device: name(device), state: state.clone() });
        let mut seen = s.text();
        for _ in 0..state.attributes.len() {
            s.keys("j");
            seen.push_str(&s.text());
        }
        for attribute in state.attributes.keys() {
            // A long name ends in an ellipsis in the list and is written out when it is chosen.
            assert!(seen.contains(attribute.as_str()), "{device}: {attribute} is nowhere");
        }
    }
}

#[test]
fn a_change_from_outside_is_marked_and_ours_is_told_apart() {
    let mut s = outcome(120, 40);
    s.keys("<Enter>");
    let mut now = queue("bfq", 512);
    now.attributes.get_mut("wbt_lat_usec").unwrap().value = Some("0".to_owned());
    s.send(Message::Queue { device: name("sda"), state: now });
    let row = s.line_with("*scheduler ");
    assert!(row.contains("was mq-deadline, here"), "{row}");
    let row = s.line_with("~wbt_lat_usec");
    assert!(row.contains("was 75000, side effect"), "{row}");
    let row = s.line_with("!read_ahead_kb");
    assert!(row.contains("512 KiB (1024 sectors)") && row.contains("was 4096, outside"), "{row}");
}

#[test]
fn a_partition_leads_to_the_settings_of_its_device() {
    let mut s = Screen::live(80, 24);
    s.keys("j<Enter>");
    s.send(Message::Queue { device: name("nvme0n1"), state: queue("none", 128) });
    assert!(s.text().contains("nvme0n1p1 is a partition; these belong to its whole device"), "{}", s.text());
    assert!(s.effects.contains(&Effect::ReadQueue(name("nvme0n1"))));
}

#[test]
fn only_enter_in_the_diff_writes_and_it_writes_what_the_diff_shows() {
    let make = |width, height| {
        let mut s = staged(width, height);
        s.keys("c");
        s
    };
    pictures("changes", make);
    let mut s = make(80, 24);
    let row = s.line_with("read_ahead_kb ");
    assert!(row.contains("4096 KiB (8192 sectors)") && row.contains("→ 2048 KiB (4096 sectors)"), "{row}");
    assert!(s.text().contains("What else happens") && s.text().contains("drained"), "{}", s.text());
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::Apply { .. })));
    s.keys("<Enter>");
    let device = s.id("sda");
    let change = |n: &str, v: &str| Change { name: n.to_owned(), requested: v.to_owned() };
    let applied: Vec<&Effect> = s.effects.iter().filter(|e| matches!(e, Effect::Apply { .. })).collect();
    let changes = vec![change("scheduler", "bfq"), change("read_ahead_kb", "2048")];
    assert_eq!(applied, [&Effect::Apply { device, changes, revert_after: None }]);
    // A second Enter does not write again, and the screen stays usable meanwhile.
    s.keys("<Enter>c<Enter>");
    assert_eq!(s.effects.iter().filter(|e| matches!(e, Effect::Apply { .. })).count(), 1);
    s.seconds(2);
    let waiting = s.line_with("sda: waiting for");
    assert!(waiting.contains(" I/O, 2 s"), "{}", s.text());
}

#[test]
fn the_outcome_shows_what_was_clamped_and_what_moved() {
    pictures("outcome", outcome);
    let s = outcome(80, 24);
    assert!(s.line_with("applied").contains("mq-deadline → bfq"));
    let row = s.line_with("clamped");
    assert!(row.contains("256 → 2048") && row.contains("asked for 5000"), "{row}");
    assert!(s.line_with("also moved").contains("75000 → 0"));
    assert!(s.text().contains("at most 2048 requests"));
}

#[test]
fn an_outcome_whose_window_was_closed_comes_back_below_what_is_open() {
    let mut s = staged(80, 24);
    s.keys("c<Enter><Enter>?");
    let device = s.id("sda");
    let result = ApplyReport {
        changes: vec![report("scheduler", "bfq", "none", "none", Outcome::Refused)],
        rolled_back: true,
        ..ApplyReport::default()
    };
    s.send(Message::Applied { device, result: Ok(result) });
    assert!(s.text().contains("Keys"), "the help stays on top");
    s.keys("<Esc>");
    assert!(s.text().contains("rolled back"), "{}", s.text());
}

#[test]
fn undo_shows_what_it_puts_back_before_it_does() {
    let make = |width, height| {
        let mut s = settings(width, height);
        s.keys("u");
        let device = s.id("sda");
        let step = UndoStep {
            name: "scheduler".to_owned(),
            now: Some("mq-deadline".to_owned()),
            back_to: "none".to_owned(),
        };
        s.send(Message::UndoPlan { device, plan: Ok(vec![step]) });
        s
    };
    pictures("undo", make);
    let mut s = make(80, 24);
    let device = s.id("sda");
    assert!(s.effects.contains(&Effect::PlanUndo { device: device.clone() }));
    assert!(s.line_with("→ none").contains("scheduler  mq-deadline"), "{}", s.text());
    assert!(!s.effects.contains(&Effect::Undo { device: device.clone() }));
    // An Enter that comes before the answer closes the window, and a late answer opens none.
    let mut early = settings(80, 24);
    early.keys("u<Enter>");
    let step = UndoStep { name: "scheduler".to_owned(), now: None, back_to: "none".to_owned() };
    early.send(Message::UndoPlan { device: device.clone(), plan: Ok(vec![step]) });
    early.keys("<Enter>");
    assert!(!early.effects.iter().any(|e| matches!(e, Effect::Undo { .. })));
    s.keys("<Enter>");
    assert!(s.effects.contains(&Effect::Undo { device: device.clone() }));
    s.send(Message::UndoDone { device, result: Ok(ApplyReport::default()) });
    assert!(s.text().contains("what became of the undo"));
}

#[test]
fn any_setting_can_be_typed_and_write_through_is_warned_of_before_it_is_written() {
    let mut s = Screen::live(120, 40);
    let mut state = queue("mq-deadline", 4096);
    for (name, value) in [("write_cache", "write back"), ("new_in_linux_9", "17")] {
        let attribute = Attribute { value: Some(value.to_owned()), writable: true };
        state.attributes.insert(name.to_owned(), attribute);
    }
    s.keys("/sda<Enter><Enter>");
    s.send(Message::Queue { device: name("sda"), state });
    s.keys("g");
    let type_value = |s: &mut Screen, setting: &str, value: &str| {
        s.keys("g");
        while s.model.settings.setting.as_deref() != Some(setting) {
            s.keys("j");
        }
        s.keys(" ");
        s.keys("e");
        for _ in 0..20 {
            s.keys("<Backspace>");
        }
        s.keys(value);
        s.keys("<Enter>");
    };
    type_value(&mut s, "write_cache", "write through");
    type_value(&mut s, "new_in_linux_9", "two words");
    type_value(&mut s, "wbt_lat_usec", "-2");
    assert!(s.text().contains("-2 is below -1"), "{}", s.text());
    s.keys("<Backspace>1<Enter>c");
    let text = s.text();
    for (setting, value) in
        [("write_cache", "write through"), ("new_in_linux_9", "two words"), ("wbt_lat_usec", "-1")]
    {
        assert!(
            text.lines().any(|l| l.contains(setting) && l.contains(&format!("→ {value}"))),
            "{setting}: {text}"
        );
    }
    assert!(text.contains("data safety") && text.contains("power cut"), "{text}");
    s.keys("<Enter>");
    let written = s.effects.iter().any(|e| matches!(e, Effect::Apply { changes, .. } if changes.len() == 3));
    assert!(written, "{:?}", s.effects);
}

#[test]
fn space_never_stages_write_through() {
    let mut s = Screen::live(120, 40);
    let mut state = queue("none", 128);
    let cache = Attribute { value: Some("write back".to_owned()), writable: true };
    state.attributes.insert("write_cache".to_owned(), cache);
    s.keys("/sda<Enter><Enter>");
    s.send(Message::Queue { device: name("sda"), state });
    s.keys("g");
    while s.model.settings.setting.as_deref() != Some("write_cache") {
        s.keys("j");
    }
    s.keys("  lh ");
    assert!(!s.text().contains("staged, c reviews"), "{}", s.text());
    assert!(s.text().contains("e types one"), "{}", s.text());
}

#[test]
fn the_help_has_the_keys_of_the_place() {
    let make = |width, height| {
        let mut s = settings(width, height);
        s.keys("?");
        s
    };
    pictures("help", make);
    let text = make(120, 40).text();
    for part in
        ["stage the next legal value", "review what is staged; Enter there writes", "Everywhere", "PgUp"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn messages_keep_what_was_said() {
    let make = |width, height| {
        let mut s = outcome(width, height);
        s.keys("<Enter>");
        s.send(Message::Notice(Level::Warning, "sdb: rotational is 1 behind a USB bridge".to_owned()));
        s.send(Message::Notice(Level::Error, "reading the queue of dm-0 failed".to_owned()));
        s.keys("7");
        s
    };
    pictures("messages", make);
    let s = make(80, 24);
    assert!(s.line_with("USB bridge").contains("10:42") && s.line_with("USB bridge").contains("warning"));
    assert!(s.text().contains("scheduler mq-deadline -> bfq"), "{}", s.text());
}

#[test]
fn too_small_is_one_honest_line() {
    for (width, height) in [(20, 5), (59, 40), (80, 15)] {
        let s = Screen::live(width, height);
        let line = format!("terminal too small: {width}x{height}, need 60x16");
        let shown: String = s.lines().concat();
        assert_eq!(shown, line.chars().take(usize::from(width)).collect::<String>().trim_end());
    }
    insta::assert_snapshot!("too-small-40x10", Screen::live(40, 10).text());
}

#[test]
fn ascii_and_mono_use_neither_boxes_nor_colours() {
    let ascii = |mut s: Screen| {
        s.model.ascii = true;
        s.theme = Theme::built_in("mono");
        s
    };
    pictures("ascii", |w, h| ascii(Screen::live(w, h)));
    let mut help = Screen::live(80, 24);
    help.keys("?");
    let mut diff = staged(80, 24);
    diff.keys("c");
    for s in
        [Screen::live(80, 24), settings(80, 24), staged(80, 24), diff, outcome(80, 24), running(80, 24), help]
    {
        let s = ascii(s);
        assert!(s.text().is_ascii(), "{}", s.text());
        for cell in s.buffer().content {
            assert_eq!((cell.fg, cell.bg), (ratatui::style::Color::Reset, ratatui::style::Color::Reset));
        }
    }
}

#[test]
fn no_colour_still_shows_what_is_chosen_and_staged() {
    let mut s = staged(80, 24);
    s.theme = Theme::default().at_depth(ColorDepth::None);
    let buffer = s.buffer();
    let y = u16::try_from(s.lines().iter().position(|l| l.starts_with('>')).unwrap()).unwrap();
    assert!(buffer[(5, y)].modifier.contains(ratatui::style::Modifier::REVERSED));
    let x = u16::try_from(s.lines()[usize::from(y)].chars().position(|c| c == '→').unwrap()).unwrap();
    assert!(buffer[(x, y)].modifier.contains(ratatui::style::Modifier::UNDERLINED));
}

#[test]
fn a_quiet_second_changes_nothing_on_the_screen() {
    let mut s = Screen::live(120, 40);
    let quiet = fleet();
    for _ in 0..400 {
        s.seconds(1);
        s.send(sample(&quiet, 0.0));
    }
    let before = s.buffer();
    s.seconds(1);
    s.send(sample(&quiet, 0.0));
    assert_eq!(before.diff(&s.buffer()).len(), 0);
    // Time alone does not even draw.
    let _ = s.model.take_dirty();
    s.seconds(1);
    assert!(!s.model.take_dirty());
}

#[test]
fn what_is_not_built_is_not_offered() {
    let s = Screen::live(200, 60);
    let foot = s.lines()[59].clone();
    for there in ["1 devices", "2 settings", "3 workload", "4 A/B", "7 messages", "? help", "q quit"] {
        assert!(foot.contains(there), "{there} in {foot}");
    }
    for missing in ["5 ", "6 "] {
        assert!(!foot.contains(missing), "{missing} in {foot}");
    }
}
