//! Screen 4: what is chosen is what is designed, what makes no sense says why, and a picture of each state.

mod support;

use blktune::app::dialogs::Dialog;
use blktune::app::message::Message;
use blktune::app::screens::experiment;
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
    assert_eq!(experiment::designed(&third.model).unwrap().design.cells.len(), 2);
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
    let Some(Dialog::Explain(plan)) = s.model.dialogs.last() else { panic!("no plan: {}", s.text()) };
    let text = plan.paragraphs.join(" ");
    for part in [
        "baseline mq-deadline against candidate none",
        "held",
        "blktune ab sda --factor scheduler=mq-deadline,none",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

proptest! {
    #[test]
    fn whatever_is_pressed_nothing_is_written_and_a_design_has_two_cells(keys in "[ hjklegGx]{0,80}") {
        let mut s = form(80, 24);
        s.keys(&keys.replace('e', "e64<Enter><Esc>"));
        prop_assert!(!s.text().is_empty());
        if let Ok(d) = experiment::designed(&s.model) {
            prop_assert_eq!(d.design.cells.len(), 2);
        }
        let quiet = s.effects.iter().all(|e| {
            let text = format!("{e:?}");
            ["ReadQueue", "ReadBoot", "PlanUndo", "PlanRedo", "Watch", "SaveView", "Quit"].iter().any(|k| text.starts_with(k))
        });
        prop_assert!(quiet, "{:?}", s.effects);
    }
}
