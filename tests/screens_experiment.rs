//! Screen 4: what is chosen is what is designed, what makes no sense says why, and a picture of each state.

// A test's helper fails the test by panicking.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use blktune::app::dialogs::Dialog;
use blktune::app::effect::{Effect, ExperimentOrder};
use blktune::app::message::{Message, NotBegun};
use blktune::app::screens::experiment::{self, Kind};
use blktune::experiment::design::Isolation;
use blktune::experiment::limits;
use proptest::prelude::*;
use support::model::{Screen, name, queue};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];

/// The form for the disk, whose queue was read.
fn form(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sda<Enter>4");
    s.send(Message::Queue { device: name("sda"), state: queue("mq-deadline", 4096) });
    s
}

/// Two schedulers are on.
fn two(width: u16, height: u16) -> Screen {
    let mut s = form(width, height);
    s.keys(" l ");
    s
}

fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

fn words(s: &Screen) -> String {
    s.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn two_levels_make_two_cells_and_the_present_one_is_the_baseline() {
    pictures("experiment", two);
    let s = two(120, 40);
    assert!(s.text().contains("[x] none") && s.text().contains("[x] mq-deadline"), "{}", s.text());
    let text = words(&s);
    assert!(text.contains("2 cells: mq-deadline against none; 6.6 to 19.4 min"), "{text}");
    let third = {
        let mut s = two(120, 40);
        s.keys("l ");
        s
    };
    assert!(words(&third).contains("two levels are compared"), "{}", third.text());
    assert_eq!(experiment::designed(&third.model, Kind::Levels).unwrap().design.cells.len(), 2);
}

#[test]
fn nothing_chosen_says_what_to_do() {
    pictures("experiment-empty", form);
    assert!(words(&form(120, 40)).contains("switch on two levels"));
    let mut s = form(120, 40);
    s.keys("<Enter>");
    assert!(s.model.dialogs.is_empty(), "there is no plan to read");
}

#[test]
fn read_ahead_under_direct_io_is_greyed_with_the_reason() {
    let make = |width, height| {
        let mut s = form(width, height);
        s.keys("jj l ");
        s
    };
    pictures("experiment-greyed", make);
    let text = words(&make(120, 40));
    assert!(text.contains("should make no difference") && text.contains("every I/O is direct"), "{text}");
}

#[test]
fn a_typed_level_is_judged_and_switched_on() {
    let mut s = form(120, 40);
    s.keys("jje12x<Enter>");
    assert!(words(&s).contains("not a whole number"), "{}", s.text());
    s.keys("<Backspace>9<Enter>");
    assert!(s.text().contains("[x] 128"), "129 KiB are 128: {}", s.text());
}

#[test]
fn the_plan_says_what_the_command_line_says() {
    let make = |width, height| {
        let mut s = two(width, height);
        s.keys("<Enter>");
        s
    };
    pictures("experiment-plan", make);
    let s = make(120, 40);
    let Some(Dialog::Plan(plan)) = s.model.dialogs.last() else { panic!("no plan: {}", s.text()) };
    let text = plan.text.paragraphs.join(" ");
    for part in [
        "baseline mq-deadline against candidate none",
        "held",
        "blktune ab sda --factor scheduler=mq-deadline,none",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // On low screens too the foot says what Enter does, and all of it is within reach.
    for (width, height) in SIZES {
        let mut s = make(width, height);
        assert!(s.text().contains("Enter starts it: 6.6 to 19.4 min"), "{}", s.text());
        s.keys("<End>");
        assert!(s.text().contains("--seed"), "{}", s.text());
    }
}

/// The order of the last start.
fn ordered(s: &Screen) -> Option<&ExperimentOrder> {
    s.effects.iter().rev().find_map(|e| match e {
        Effect::StartExperiment(order) => Some(&**order),
        _ => None,
    })
}

/// The same form for the USB disk, which nobody uses.
fn quiet(width: u16, height: u16) -> Screen {
    let mut s = Screen::live(width, height);
    s.keys("/sdb<Enter>4");
    s.send(Message::Queue { device: name("sdb"), state: queue("bfq", 128) });
    s.keys(" lll ");
    s
}

#[test]
fn enter_in_the_plan_starts_what_it_shows_and_nothing_else_does() {
    let mut s = quiet(80, 24);
    s.keys("<Enter>");
    assert!(matches!(s.model.dialogs.last(), Some(Dialog::Plan(_))), "{}", s.text());
    s.keys("jkhl a4cnyx<Esc>");
    assert_eq!(ordered(&s), None);
    s.keys("<Enter><Enter>");
    let order = ordered(&s).unwrap();
    assert_eq!((order.device.clone(), order.row.clone(), order.busy_ok), (s.id("sdb"), name("sdb"), false));
    let d = &order.designed.design;
    assert_eq!((d.cells[0].name.as_str(), d.cells[1].name.as_str()), ("bfq", "none"));
    // What the command line makes of the words is the very design.
    assert_eq!(order.command[..4], ["ab", "sdb", "--factor", "scheduler=bfq,none"].map(str::to_owned));
    assert!(order.command.contains(&d.seed.to_string()), "{:?}", order.command);
    assert!(s.model.course.as_ref().is_some_and(|c| c.going()));
}

#[test]
fn a_busy_device_is_asked_about_before_an_experiment() {
    let mut s = two(80, 24);
    s.keys("<Enter><Enter>");
    assert!(words(&s).contains("sda is doing 61 I/O per second for others"), "{}", s.text());
    s.keys("<Enter>");
    assert_eq!(ordered(&s), None, "the harmless answer comes first");
    s.keys("<Enter><Enter><Tab><Enter>");
    let order = ordered(&s).unwrap();
    assert!(order.busy_ok && order.command.contains(&"--busy-ok".to_owned()));
}

#[test]
fn the_runtime_may_find_it_busy_and_is_asked_the_same_way() {
    let mut s = quiet(80, 24);
    s.keys("<Enter><Enter>");
    s.send(Message::ExperimentEnded(Err(NotBegun::Busy("sdb is doing 9 I/O per second".to_owned()))));
    assert!(s.text().contains("The device is busy"), "{}", s.text());
    s.keys("<Tab><Enter>");
    assert!(ordered(&s).unwrap().busy_ok);
}

#[test]
fn greyed_cells_do_not_start() {
    let mut s = form(80, 24);
    s.keys("jj l <Enter>");
    assert!(words(&s).contains("control: yes"), "{}", s.text());
    s.keys("<Enter>");
    assert_eq!(ordered(&s), None);
    assert!(s.model.course.is_none());
}

#[test]
fn a_calibration_is_one_key_and_its_plan() {
    let mut s = quiet(80, 24);
    s.keys("a");
    assert!(s.text().contains("sdb is compared with itself"), "{}", s.text());
    s.keys("<Enter>");
    let order = ordered(&s).unwrap();
    assert!(order.designed.design.calibration && order.command.contains(&"--calibrate".to_owned()));
}

#[test]
fn a_workload_that_writes_needs_a_directory() {
    let mut s = quiet(120, 40);
    let at = s.model.workload.presets.iter().position(|p| p.name == "randwrite-4k").unwrap();
    s.model.experiment.preset = at;
    assert!(words(&s).contains("sdb itself is only read here"), "{}", s.text());
    s.keys("<Enter>");
    assert!(s.model.dialogs.is_empty(), "there is no plan to read");
    s.keys("G");
    while !s.line_with(">").starts_with(">target") {
        s.keys("k");
    }
    s.keys("esrv<Enter>");
    assert!(s.text().contains("a path begins with /"), "{}", s.text());
    s.keys("<Backspace><Backspace><Backspace><Backspace>/srv<Enter>");
    s.keys("<Enter><Enter>");
    let order = ordered(&s).unwrap();
    assert_eq!(order.designed.design.target.as_deref(), Some(std::path::Path::new("/srv")));
}

#[test]
fn a_partition_is_what_the_trials_read() {
    let mut s = Screen::live(120, 40);
    s.keys("/nvme<Enter>jj4");
    s.send(Message::Queue { device: name("nvme0n1"), state: queue("none", 128) });
    assert!(s.text().contains("ON nvme0n1, READING nvme0n1p2"), "{}", s.text());
    s.keys(" l <Enter>");
    let Some(Dialog::Plan(plan)) = s.model.dialogs.last() else { panic!("no plan: {}", s.text()) };
    assert_eq!((plan.order.row.clone(), plan.order.command[1].as_str()), (name("nvme0n1p2"), "nvme0n1p2"));
    assert_eq!(plan.order.designed.design.device, "nvme0n1");
}

/// Goes to a row of the form by its name.
fn go_to(s: &mut Screen, row: &str) {
    s.keys("g");
    for _ in 0..30 {
        if s.line_with(">").trim_start_matches('>').starts_with(row) {
            return;
        }
        s.keys("j");
    }
    panic!("no row {row} in\n{}", s.text());
}

#[test]
fn every_row_says_what_it_is_about_and_can_be_reached() {
    for (width, height) in SIZES {
        let mut s = quiet(width, height);
        for row in [
            "scheduler",
            "wbt_lat_usec",
            "workload",
            "set",
            "target",
            "metric",
            "margin",
            "trial",
            "blocks",
            "lead-ins",
            "side effects",
            "control",
        ] {
            go_to(&mut s, row);
            assert!(
                s.lines()[usize::from(height) - 3].starts_with(&format!(" {row}: ")),
                "{row}: {}",
                s.text()
            );
        }
    }
}

#[test]
fn every_margin_of_the_form_is_the_very_same_in_its_command() {
    let mut seen = std::collections::BTreeSet::new();
    for steps in 0..12 {
        let mut s = quiet(120, 40);
        s.keys("gl ");
        go_to(&mut s, "margin");
        s.keys(&"h".repeat(12));
        s.keys(&"l".repeat(steps));
        s.keys("<Enter><Enter>");
        let order = ordered(&s).unwrap_or_else(|| panic!("not started:\n{}", s.text()));
        let said = order.command.iter().skip_while(|w| *w != "--margin").nth(1);
        let margin = said.map_or(limits::MARGIN, |text| limits::parse_margin(text).unwrap());
        assert!((margin - order.designed.design.margin).abs() < f64::EPSILON * margin, "{:?}", order.command);
        assert!(said.is_none_or(|text| text.len() <= 5), "{said:?}");
        seen.insert(said.cloned());
    }
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn the_level_under_the_cursor_is_in_sight() {
    let mut s = quiet(60, 16);
    s.keys("gllllllll");
    assert!(s.line_with(">scheduler").contains("[x] bfq now"), "{}", s.text());
    s.keys("hhhhhhhh");
    assert!(s.line_with(">scheduler").contains("[x] none"), "{}", s.text());
}

#[test]
fn what_a_write_moves_besides_is_brought_back_or_left_as_it_is_asked() {
    let mut s = quiet(120, 40);
    let asks = |s: &mut Screen| {
        s.keys("<Enter>");
        let Some(Dialog::Plan(plan)) = s.model.dialogs.last() else { panic!("no plan: {}", s.text()) };
        let (isolation, words) = (plan.order.designed.design.isolation, plan.order.command.join(" "));
        s.keys("<Esc>");
        (isolation, words)
    };
    let (isolation, words) = asks(&mut s);
    assert!(isolation == Isolation::Isolated && !words.contains("side-effects"), "{words}");
    go_to(&mut s, "side effects");
    s.keys("l");
    let (isolation, words) = asks(&mut s);
    assert!(isolation == Isolation::SideEffects && words.contains("--side-effects"), "{words}");
    s.keys("l");
    let (isolation, words) = asks(&mut s);
    assert!(isolation == Isolation::Sequence && words.contains("--side-effects=sequence"), "{words}");
}

proptest! {
    #[test]
    fn whatever_is_pressed_nothing_is_written_and_a_design_has_two_cells(keys in "[ hjklegGx]{0,80}") {
        let mut s = form(80, 24);
        s.keys(&keys.replace('e', "e64<Enter><Esc>"));
        prop_assert!(!s.text().is_empty());
        if let Ok(d) = experiment::designed(&s.model, Kind::Levels) {
            prop_assert_eq!(d.design.cells.len(), 2);
        }
        let quiet = s.effects.iter().all(|e| {
            let text = format!("{e:?}");
            ["ReadQueue", "ReadBoot", "PlanUndo", "PlanRedo", "Watch", "SaveView", "Quit"].iter().any(|k| text.starts_with(k))
        });
        prop_assert!(quiet, "{:?}", s.effects);
    }
}
