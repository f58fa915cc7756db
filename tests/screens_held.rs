//! Held and kept on the screen: changes that are put back unless confirmed, redo, and the ways back.

// A test that can not set up what it needs fails there and then.
#![allow(clippy::unwrap_used)]

mod support;

use blktune::app::back::differences;
use blktune::app::effect::Effect;
use blktune::app::fleet::{Entry, Fleet};
use blktune::app::key::Key;
use blktune::app::message::{Message, UndoStep};
use blktune::app::parting::{left_changed, left_held};
use blktune::sys::queue::{Attribute, QueueState};
use blktune::tuning::change::{ApplyReport, Change, Outcome};
use blktune::units::Nanos;
use support::model::{Screen, device, name, queue};
use support::scenes::{report, settings, staged};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

/// The diff with the switch thrown that puts it back by itself.
fn toggled(width: u16, height: u16) -> Screen {
    let mut s = staged(width, height);
    s.keys("cr");
    s
}

/// Both changes written and held for a minute from now.
fn held(width: u16, height: u16) -> Screen {
    let mut s = toggled(width, height);
    s.keys("<Enter>");
    let device = s.id("sda");
    let result = ApplyReport {
        changes: vec![
            report("scheduler", "bfq", "mq-deadline", "bfq", Outcome::Applied),
            report("read_ahead_kb", "2048", "4096", "2048", Outcome::Applied),
        ],
        ..ApplyReport::default()
    };
    let until = Some(Nanos(s.model.now.0 + 60_000_000_000));
    s.send(Message::Held { device: device.clone(), until });
    s.send(Message::Queue { device: name("sda"), state: queue("bfq", 2048) });
    s.send(Message::Applied { device, result: Ok(result) });
    s
}

/// The same with the outcome closed and 19 s gone.
fn counting(width: u16, height: u16) -> Screen {
    let mut s = held(width, height);
    s.keys("<Enter>");
    s.seconds(19);
    s
}

fn applies(s: &Screen) -> Vec<Option<Nanos>> {
    let all = s.effects.iter();
    all.filter_map(|e| match e {
        Effect::Apply { revert_after, .. } => Some(*revert_after),
        _ => None,
    })
    .collect()
}

#[test]
fn changes_are_kept_unless_the_diff_says_that_they_are_put_back() {
    pictures("toggled", toggled);
    let mut s = staged(80, 24);
    s.keys("c");
    assert!(s.text().contains("r    [ ] put back after 60 s unless confirmed"), "{}", s.text());
    s.keys("r");
    assert!(s.text().contains("r    [x] put back after 60 s unless confirmed"), "{}", s.text());
    assert!(s.text().contains("Enter writes this"), "{}", s.text());
    s.keys("rr<Enter>");
    assert_eq!(applies(&s), [Some(Nanos(60_000_000_000))]);
    // What was chosen for one set of changes is no choice for the next.
    let mut s = staged(80, 24);
    s.keys("cr<Esc>c<Enter>");
    assert_eq!(applies(&s), [None]);
}

#[test]
fn the_foot_of_a_long_diff_stays_in_sight() {
    let mut s = settings(80, 24);
    s.send(Message::Queue { device: name("sda"), state: queue("none", 128) });
    for setting in ["nr_requests", "read_ahead_kb", "max_sectors_kb", "nomerges", "rq_affinity", "iostats"] {
        let id = s.id("sda");
        s.model.fleet.get_mut(&id).unwrap().stage(setting, Some("7".to_owned()));
    }
    s.keys("g c");
    for keys in ["", "G", "gjjj"] {
        s.keys(keys);
        let text = s.text();
        assert!(text.contains("[ ] put back") && text.contains("Enter writes this"), "{text}");
    }
}

#[test]
fn what_is_held_counts_down_until_it_is_kept() {
    pictures("held", counting);
    pictures("held-outcome", held);
    let mut s = counting(120, 40);
    assert!(s.text().contains("sda: put back in 41 s; y keeps the changes"), "{}", s.text());
    assert!(s.line_with(" y keep  ").contains("q quit"), "{}", s.text());
    assert!(s.line_with("hscheduler ").contains("was mq-deadline, held"), "{}", s.text());
    assert!(s.line_with("hread_ahead_kb").contains("was 4096, held"), "{}", s.text());
    let _ = s.model.take_dirty();
    s.seconds(1);
    assert!(s.model.take_dirty() && s.text().contains("put back in 40 s"), "{}", s.text());
    s.keys("y");
    let device = s.id("sda");
    assert_eq!(s.effects.last(), Some(&Effect::Confirm { device: device.clone() }));
    assert!(s.text().contains("put back in 40 s"), "it is not over before that is said");
    s.send(Message::Held { device, until: None });
    assert!(!s.text().contains("put back"), "{}", s.text());
    assert!(s.line_with("*scheduler ").contains("was mq-deadline, here"), "{}", s.text());
    // Time alone draws nothing any more, and there is nothing left to confirm.
    s.seconds(10);
    let _ = s.model.take_dirty();
    s.seconds(1);
    assert!(!s.model.take_dirty());
    s.keys("y");
    assert_eq!(s.effects.iter().filter(|e| matches!(e, Effect::Confirm { .. })).count(), 1);
    assert!(s.text().contains("sda: nothing waits to be put back"), "{}", s.text());
}

#[test]
fn the_list_marks_what_is_held_and_says_how_to_keep_it() {
    let make = |width, height| {
        let mut s = counting(width, height);
        s.keys("1<Esc>");
        s
    };
    pictures("held-list", make);
    let mut s = make(80, 24);
    assert!(s.line_with("sda held").contains("bfq"), "{}", s.text());
    assert!(s.text().contains("y keeps the changes"), "{}", s.text());
    s.keys("g");
    assert!(s.line_with("put back in").contains("choose it and press y"), "{}", s.text());
    s.keys("y");
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::Confirm { .. })), "another device is chosen");
    s.seconds(60);
    assert!(s.text().contains("sda: the changes are being put back"), "{}", s.text());
}

#[test]
fn the_shell_is_told_of_held_and_kept_apart() {
    let mut s = counting(80, 24);
    assert_eq!(left_changed(&s.model), Vec::<String>::new());
    let line = "sda scheduler mq-deadline -> bfq, read_ahead_kb 4096 -> 2048 is put back in 41 s unless confirmed \
                (blktune set --confirm sda)";
    assert_eq!(left_held(&s.model), [line]);
    let device = s.id("sda");
    s.send(Message::Held { device, until: None });
    assert_eq!(left_held(&s.model), Vec::<String>::new());
    let line = "sda scheduler mq-deadline -> bfq, read_ahead_kb 4096 -> 2048 (blktune undo sda)";
    assert_eq!(left_changed(&s.model), [line]);
    // Put back, there is nothing to be said.
    s.send(Message::Queue { device: name("sda"), state: queue("mq-deadline", 4096) });
    assert_eq!(left_changed(&s.model), Vec::<String>::new());
}

#[test]
fn redo_shows_what_it_does_again_before_it_does() {
    let step = || UndoStep {
        name: "scheduler".to_owned(),
        now: Some("mq-deadline".to_owned()),
        back_to: "bfq".to_owned(),
    };
    let make = |width, height| {
        let mut s = settings(width, height);
        s.send(Message::Key(Key::Ctrl('r')));
        let device = s.id("sda");
        s.send(Message::RedoPlan { device, plan: Ok(vec![step()]) });
        s
    };
    pictures("redo", make);
    let mut s = make(80, 24);
    let device = s.id("sda");
    assert!(s.effects.contains(&Effect::PlanRedo { device: device.clone() }));
    assert!(s.line_with("→ bfq").contains("scheduler  mq-deadline"), "{}", s.text());
    assert!(!s.text().contains("put back after"), "a redo is kept");
    s.keys("r<Enter>");
    assert_eq!(s.effects.last(), Some(&Effect::Redo { device: device.clone() }));
    s.send(Message::RedoDone { device: device.clone(), result: Ok(ApplyReport::default()) });
    assert!(s.text().contains("what became of the redo"), "{}", s.text());
    // The plan of an undo is no plan of a redo.
    s.keys("<Enter>");
    s.send(Message::Key(Key::Ctrl('r')));
    s.send(Message::UndoPlan { device: device.clone(), plan: Ok(vec![step()]) });
    s.keys("<Enter>");
    assert_eq!(
        s.effects.iter().filter(|e| matches!(e, Effect::Redo { .. } | Effect::Undo { .. })).count(),
        1
    );
    // One after the other can be taken back: each is looked up anew.
    for _ in 0..2 {
        s.keys("u");
        s.send(Message::UndoPlan { device: device.clone(), plan: Ok(vec![step()]) });
        s.keys("<Enter>");
        s.send(Message::UndoDone { device: device.clone(), result: Ok(ApplyReport::default()) });
        s.keys("<Enter>");
    }
    assert_eq!(s.effects.iter().filter(|e| matches!(e, Effect::Undo { .. })).count(), 2);
    s.send(Message::Key(Key::Ctrl('r')));
    s.send(Message::RedoPlan { device, plan: Ok(Vec::new()) });
    assert!(s.text().contains("sda: there is nothing to redo"), "{}", s.text());
}

/// The disk with another scheduler and read-ahead than at the start, and something else staged.
fn strayed(width: u16, height: u16) -> Screen {
    let mut s = settings(width, height);
    s.send(Message::Queue { device: name("sda"), state: queue("none", 128) });
    s.keys("g ");
    s
}

#[test]
fn the_way_back_to_the_start_is_staged_and_shown() {
    let make = |width, height| {
        let mut s = strayed(width, height);
        s.keys("b");
        s
    };
    pictures("back", make);
    let mut s = make(80, 24);
    assert!(s.text().contains("> stay <") && s.text().contains("the 1 staged now"), "{}", s.text());
    s.keys("<Enter>");
    assert!(s.text().contains("1 staged, c reviews"), "the harmless answer comes first: {}", s.text());
    s.keys("bj");
    assert!(s.text().contains("> back to start <"), "{}", s.text());
    s.keys("<Enter>");
    assert!(s.line_with("→ mq-deadline").contains("scheduler"), "{}", s.text());
    assert!(s.line_with("→ 4096 KiB").contains("read_ahead_kb"), "{}", s.text());
    assert!(applies(&s).is_empty());
    s.keys("<Enter>");
    let change = |n: &str, v: &str| Change { name: n.to_owned(), requested: v.to_owned() };
    let changes = vec![
        change("scheduler", "mq-deadline"),
        change("iosched/fifo_batch", "16"),
        change("iosched/read_expire", "500"),
        change("read_ahead_kb", "4096"),
    ];
    assert_eq!(s.effects.last(), Some(&Effect::Apply { device: s.id("sda"), changes, revert_after: None }));
    let mut s = settings(80, 24);
    s.keys("bj<Enter>");
    assert!(s.text().contains("sda is what it was at the start already"), "{}", s.text());
}

#[test]
fn the_way_back_to_boot_is_asked_for() {
    let device = strayed(80, 24).id("sda");
    let asked = || {
        let mut s = strayed(80, 24);
        s.keys("bk<Enter>");
        assert_eq!(s.effects.last(), Some(&Effect::ReadBoot { device: device.clone() }));
        s
    };
    let mut s = asked();
    s.send(Message::BootState { device: device.clone(), state: Ok(queue("none", 64)) });
    assert!(s.line_with("→ 64 KiB").contains("read_ahead_kb"), "{}", s.text());
    s.keys("<Enter>");
    // The scheduler is none already, and what was staged went.
    let changes = vec![Change { name: "read_ahead_kb".to_owned(), requested: "64".to_owned() }];
    let apply = Effect::Apply { device: device.clone(), changes, revert_after: None };
    assert_eq!(s.effects.last(), Some(&apply));
    let why = "blktune has changed nothing on sda since boot, so there is nothing to go back to";
    let mut s = asked();
    s.send(Message::BootState { device: device.clone(), state: Err(why.to_owned()) });
    assert!(s.text().contains("sda: back to boot") && s.text().contains("so there is"), "{}", s.text());
    s.keys("<Enter>");
    assert!(s.model.dialogs.is_empty() && applies(&s).is_empty());
    // An Enter that comes before the answer closes the window, and a late answer opens none.
    let mut s = asked();
    s.keys("<Enter>");
    s.send(Message::BootState { device, state: Ok(queue("none", 64)) });
    s.keys("<Enter>");
    assert!(applies(&s).is_empty());
    assert!(s.text().contains("1 staged"), "{}", s.text());
}

#[test]
fn tunables_to_come_go_with_the_scheduler_that_would_bring_them() {
    let mut s = strayed(80, 24);
    s.keys("bj<Enter><Esc>");
    assert!(s.text().contains("4 staged, c reviews"), "{}", s.text());
    s.keys("gx");
    assert!(s.text().contains("1 staged, c reviews"), "only the read-ahead: {}", s.text());
}

fn state(attributes: &[(&str, &str)]) -> QueueState {
    let one = |(n, v): &(&str, &str)| {
        ((*n).to_owned(), Attribute { value: Some((*v).to_owned()), writable: *n != "logical_block_size" })
    };
    QueueState { attributes: attributes.iter().map(one).collect() }
}

/// The way from one state to another: names and values.
fn way(now: &QueueState, goal: &QueueState) -> Vec<(String, String)> {
    let mut fleet = Fleet::default();
    let disk = device("sda", 48);
    fleet.take_inventory(vec![disk.clone()], Nanos(0));
    let entry: &mut Entry = fleet.get_mut(&disk.id).unwrap();
    entry.read_queue(now.clone());
    differences(entry, goal).into_iter().collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn the_way_back_has_only_what_differs_and_can_be_changed() {
    let goal = state(&[("read_ahead_kb", "128"), ("nomerges", "0"), ("logical_block_size", "512")]);
    let now = state(&[("read_ahead_kb", "512"), ("nomerges", "0"), ("logical_block_size", "4096")]);
    assert_eq!(way(&now, &goal), pairs(&[("read_ahead_kb", "128")]));
    assert_eq!(way(&goal, &goal), []);
    // One setting under two names, and a value that follows the scheduler by itself.
    let goal = state(&[
        ("scheduler", "none [bfq]"),
        ("iosched/slice_idle", "0"),
        ("iosched/slice_idle_us", "500"),
        ("iosched/low_latency", "1"),
        ("wbt_lat_usec", "0"),
    ]);
    let now = state(&[("scheduler", "[none] bfq"), ("wbt_lat_usec", "75000")]);
    let expected = [("iosched/low_latency", "1"), ("iosched/slice_idle_us", "500"), ("scheduler", "bfq")];
    assert_eq!(way(&now, &goal), pairs(&expected));
    assert_eq!(way(&goal, &now), pairs(&[("scheduler", "none")]));
}
