//! Screen 4 while an experiment goes on and after it, each state conducted by the real conductor: what a person must be able
//! to read there, and a picture of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "tuning/fake.rs"]
#[allow(dead_code)] // faults that only the tests of settings need
mod fake;
#[path = "experiment/made.rs"]
#[allow(dead_code)] // what only the tests of the conductor need
mod made;
mod support;
#[path = "experiment/told.rs"]
#[allow(dead_code)] // what only the tests of what holds in any order need
mod told;

use blktune::app::dialogs::Dialog;
use blktune::app::effect::Effect;
use blktune::app::message::{Message, NotBegun};
use blktune::experiment::bench::BenchError;
use blktune::experiment::event::{Ending, Event};
use blktune::experiment::order::Light;
use blktune::experiment::verdict::Verdict;
use made::Nature;
use support::model::{Screen, name};
use told::{Plot, QUIET, Told, conducted, form, measuring, ordered, progress, started};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];
/// Natural logarithm of 1.05.
const FIVE: f64 = 0.048_790_164;

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

/// All text of the screen as one line, for sentences that are wrapped.
fn flat(s: &Screen) -> String {
    s.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All that can be scrolled to, as one line.
fn everything(s: &mut Screen) -> String {
    s.keys("<Home>");
    let mut seen = flat(s);
    for _ in 0..60 {
        s.keys("j");
        seen.push_str(&flat(s));
    }
    s.keys("<Home>");
    seen
}

fn faster() -> Plot {
    Plot { nature: Nature { effect: FIVE, ..QUIET }, ..Plot::default() }
}

fn same() -> Plot {
    Plot { nature: QUIET, ..Plot::default() }
}

/// Neither sure, with two trials that others spoil.
fn unsure() -> Plot {
    Plot { nature: Nature { noise: 0.05, effect: 0.03, ..QUIET }, spoiled: vec![9, 13], ..Plot::default() }
}

/// The whole of an experiment told, and what it was.
fn ended(plot: Plot, width: u16, height: u16) -> (Screen, Told) {
    let mut s = started(width, height);
    let told = conducted(&s, plot);
    told.whole(&mut s);
    (s, told)
}

fn ended_pictures(picture: &str, plot: impl Fn() -> Plot) -> (Screen, Told) {
    pictures(picture, |width, height| ended(plot(), width, height).0);
    ended(plot(), 80, 24)
}

#[test]
fn before_anything_is_measured_it_says_what_it_waits_for() {
    pictures("compared-starting", started);
    let mut s = started(80, 24);
    assert!(s.text().contains("starting: looking at the device"), "{}", s.text());
    let told = conducted(&s, faster());
    told.until(&mut s, |e| matches!(e, Event::Phase { .. }));
    let text = flat(&s);
    for part in [
        "before the first block trial 1 of 106 as found: draining",
        "6:03 to the look at 6 blocks; at most 19:26 left",
        "Nothing to compare before the first block is complete.",
        "no trial was measured yet",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn before_the_first_look_figures_are_preliminary_and_grey() {
    let make = |width, height| {
        let mut s = started(width, height);
        conducted(&s, faster()).until(&mut s, measuring(5, 2));
        s.send(progress(4));
        s
    };
    pictures("compared-going", make);
    let s = make(80, 24);
    let text = flat(&s);
    for part in [
        "scheduler: none against bfq, by throughput",
        "block 5 of 6..20 trial 26 of 106 bfq: measuring 4 of 8 s",
        // Three trials of this block and five of the next of 11 s each, less 7 s of this one.
        "1:21 to the look at 6 blocks; at most 14:44 left",
        "Preliminary (4 of 6 blocks). Between looks: not a decision point.",
        "order green",
        "drift",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(s.line_with("bfq   ").ends_with("preliminary") && s.line_with("none  ").ends_with("baseline"));
    // The whisker is right of the zero and beyond the margin; its marks are grey as the words are.
    let line = s.line_with("throughput   +");
    assert!(line.find('│').unwrap() < line.find('├').unwrap(), "{line}");
    let (point, word) = (style_at(&s, &line, "●"), style_at(&s, &line, "preliminary"));
    assert_eq!(point, word);
    let s = ended(faster(), 80, 24).0;
    let line = s.line_with("throughput   +");
    assert_ne!(style_at(&s, &line, "●"), point, "a decided interval looks like a preliminary one");
}

/// How the first cell of a text in this line looks.
fn style_at(s: &Screen, line: &str, text: &str) -> ratatui::style::Style {
    let y = u16::try_from(s.lines().iter().position(|l| l == line).unwrap()).unwrap();
    let x = u16::try_from(line[..line.find(text).unwrap()].chars().count()).unwrap();
    s.buffer()[(x, y)].style()
}

#[test]
fn at_a_look_that_decides_nothing_it_goes_on_and_void_blocks_have_their_reasons() {
    let make = |width, height| {
        let mut s = started(width, height);
        conducted(&s, unsure()).until(&mut s, |e| matches!(e, Event::Look { blocks: 6, .. }));
        s
    };
    pictures("compared-look", make);
    for (width, height) in SIZES {
        let mut s = make(width, height);
        let text = everything(&mut s);
        for part in [
            "look at 10 blocks; at most",
            "Continuing to 10 blocks: bfq",
            "void: 2 blocks were run again; 1 more may be",
            "! void: block 2: trial 9: the device moved",
            "! void: block 2, attempt 2: trial 13: the device moved",
            "others used it (limit 2%)",
            "weak: one thread",
        ] {
            assert!(text.contains(part), "{width}x{height}: {part:?} is nowhere");
        }
    }
    // Blocks that were run again stand among the trials as void ones, other than all others.
    let s = make(120, 40);
    let plot: String = s.lines()[19..36].concat();
    assert!(plot.matches('×').count() >= 4, "{}", s.text());
}

#[test]
fn between_looks_nothing_is_decided() {
    let make = |width, height| {
        let mut s = started(width, height);
        conducted(&s, unsure()).until(&mut s, measuring(9, 1));
        s
    };
    pictures("compared-between", make);
    let text = flat(&make(80, 24));
    assert!(text.contains("Continuing to 10 blocks") && text.contains("not a decision point"), "{text}");
}

#[test]
fn after_the_decision_it_says_what_is_still_measured() {
    let make = |width, height| {
        let mut s = started(width, height);
        let told = conducted(&s, faster());
        let mut decided = false;
        told.until(&mut s, |e| {
            decided |= matches!(e, Event::Look { .. });
            decided && matches!(e, Event::Phase { phase: blktune::experiment::event::Phase::Measuring })
        });
        s
    };
    pictures("compared-after", make);
    let text = flat(&make(80, 24));
    assert!(text.contains("judged at 6 blocks; 0:32 left: does it read as before?"), "{text}");
    assert!(text.contains("after the last block trial 34"), "{text}");
}

#[test]
fn a_winner_is_faster_in_the_words_of_the_command() {
    let (s, told) = ended_pictures("compared-faster", faster);
    let a = &told.end.analysis;
    assert_eq!((told.end.ending, a.primary().next().unwrap().verdict), (Ending::Decided, Verdict::Better));
    let text = flat(&s);
    let sentence = a.sentence().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&sentence), "{sentence} in {text}");
    assert!(text.contains("Ended: decided at 6 blocks. Settings are as they were found."), "{text}");
    assert!(s.line_with("throughput  ").ends_with("faster"));
    for (width, height) in SIZES {
        let text = everything(&mut ended(faster(), width, height).0);
        for part in [
            "p99.9",
            "CPU/GiB",
            "Record: /var/lib/blktune/experiments/20261202-1042-sdb",
            "Report: blktune report /var/lib/blktune",
            "Again: blktune ab sdb --factor scheduler=none,bfq --job seqread-1m --seed",
            "by trial",
        ] {
            assert!(text.contains(part), "{width}x{height}: {part:?} is nowhere");
        }
    }
}

#[test]
fn a_loser_is_slower() {
    let slower = || Plot { nature: Nature { effect: -FIVE, ..QUIET }, ..Plot::default() };
    let (s, told) = ended_pictures("compared-slower", slower);
    assert_eq!(told.end.analysis.primary().next().unwrap().verdict, Verdict::Worse);
    assert!(s.line_with("throughput  ").ends_with("slower"));
    let line = s.line_with("throughput  ");
    assert!(line.find('┤').unwrap() < line.find('│').unwrap(), "{line}");
}

#[test]
fn cells_that_are_the_same_are_equivalent_and_the_interval_is_within_the_margin() {
    let (s, told) = ended_pictures("compared-equivalent", same);
    assert_eq!(told.end.analysis.primary().next().unwrap().verdict, Verdict::Equivalent);
    let line = s.line_with("throughput  ");
    assert!(line.ends_with("equivalent"), "{line}");
    let ends = ["├", "┤"].map(|c| line.find(c).unwrap());
    assert!(line.find('░').unwrap() < ends[0] && ends[1] < line.rfind('░').unwrap(), "{line}");
}

#[test]
fn what_stays_open_says_what_a_new_experiment_would_need() {
    let open = || Plot { nature: Nature { noise: 0.08, effect: 0.02, ..QUIET }, ..Plot::default() };
    let (s, told) = ended_pictures("compared-inconclusive", open);
    assert_eq!(told.end.ending, Ending::Finished);
    assert_eq!(told.end.analysis.primary().next().unwrap().verdict, Verdict::Inconclusive);
    let text = flat(&s);
    assert!(text.contains("Inconclusive: bfq") && text.contains("if mean and spread stay"), "{text}");
}

#[test]
fn faster_on_average_and_worse_in_the_tail_is_said_aloud() {
    let (s, told) = ended_pictures("compared-trade-off", || Plot { tail: 0.2, ..faster() });
    assert_eq!(told.end.analysis.trade_offs.len(), 1);
    let text = flat(&s);
    assert!(text.contains("Trade-off: bfq is faster on average, worse in the tail: p99"), "{text}");
    assert!(s.line_with(" p99.9   ").ends_with("worse") && s.line_with("throughput  ").ends_with("faster"));
}

#[test]
fn a_device_that_did_not_come_back_makes_it_invalid() {
    let latched = || Plot { nature: Nature { latch: 0.08, ..QUIET }, ..Plot::default() };
    let (s, told) = ended_pictures("compared-invalid", latched);
    assert!(told.end.analysis.invalid() && told.end.analysis.order.light == Light::Red);
    let text = flat(&s);
    assert!(text.contains("Not valid: the device did not come back to its starting performance"), "{text}");
    assert!(text.contains("order red: "), "{text}");
    assert!(s.line_with("throughput  ").ends_with("not valid"));
}

#[test]
fn stopped_by_the_person_it_is_judged_by_the_last_look_and_can_go_on() {
    let stopped = || Plot { stop_at: Some(120), ..faster() };
    let (mut s, told) = ended_pictures("compared-stopped", stopped);
    assert_eq!(told.end.ending, Ending::Stopped);
    let text = everything(&mut s);
    for part in [
        "Stopped before its end. Preliminary (3 of 6 blocks); stopped by the user.",
        "Settings are as they were found.",
        "Go on: blktune ab --resume /var/lib/blktune",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn what_could_not_be_put_back_comes_first_and_loud() {
    let lost = || Plot { not_restored: vec!["scheduler: wanted none, reads bfq".to_owned()], ..faster() };
    let (s, _) = ended_pictures("compared-not-restored", lost);
    let lines = s.lines();
    assert!(lines[3].contains("! NOT PUT BACK: scheduler: wanted none, reads bfq"), "{}", s.text());
    let text = flat(&s);
    assert!(text.contains("sdb is not as it was found: blktune restore tries again"), "{text}");
    assert!(!text.contains("as they were found"), "{text}");
    let said = &s.model.messages.said.back().unwrap().text;
    assert!(said.contains("could not be put back: scheduler"), "{said}");
}

#[test]
fn each_other_ending_says_what_happened() {
    let at =
        |e: fn(String) -> BenchError, why: &str| Plot { breaks: Some((12, e(why.to_owned()))), ..faster() };
    let gone = || at(BenchError::Gone, "sdb is gone");
    let (s, told) = ended_pictures("compared-gone", gone);
    assert_eq!(told.end.ending, Ending::Gone);
    assert!(flat(&s).contains("The device went away: sdb is gone."), "{}", s.text());
    let refused = || at(BenchError::Refused, "scheduler=bfq: the kernel answers EINVAL");
    let (s, told) = ended_pictures("compared-refused", refused);
    assert_eq!(told.end.ending, Ending::Refused);
    assert!(flat(&s).contains("The kernel did not take it: scheduler=bfq: the kernel answers EINVAL."));
    let (s, told) = ended(at(BenchError::Broken, "no thread can be started"), 80, 24);
    assert_eq!(told.end.ending, Ending::Broken);
    assert!(flat(&s).contains("It could not go on: no thread can be started."), "{}", s.text());
    for s in [s, ended(refused(), 80, 24).0] {
        assert!(flat(&s).contains("Settings are as they were found."), "{}", s.text());
    }
    assert!(flat(&ended(gone(), 80, 24).0).contains("Nothing is left that could be put back."));
    // An Enter that was meant for a question does not take the result away.
    let mut s = ended(faster(), 80, 24).0;
    s.keys("<Enter>");
    assert!(s.model.course.is_some());
}

#[test]
fn what_did_not_begin_says_why_and_that_nothing_was_touched() {
    let make = |width, height| {
        let mut s = started(width, height);
        let why = "sdb: another program holds it".to_owned();
        s.send(Message::ExperimentEnded(Err(NotBegun::Refused(why))));
        s
    };
    pictures("compared-not-begun", make);
    let mut s = make(80, 24);
    let text = flat(&s);
    assert!(
        text.contains("It did not begin: sdb: another program holds it. No setting was touched."),
        "{text}"
    );
    s.keys("<Esc>");
    assert!(s.text().contains("COMPARE TWO CELLS ON sdb") && s.text().contains("[x] bfq"), "{}", s.text());
    // Stopped before it began there is nothing to show.
    let mut s = started(80, 24);
    s.send(Message::ExperimentEnded(Err(NotBegun::Stopped)));
    assert!(s.text().contains("COMPARE TWO CELLS ON sdb"), "{}", s.text());
    assert!(s.text().contains("stopped before it began; nothing was changed"), "{}", s.text());
}

#[test]
fn a_calibration_says_which_margin_makes_sense() {
    let make = |width, height| {
        let mut s = form(width, height);
        s.keys("a<Enter>");
        conducted(&s, same()).whole(&mut s);
        s
    };
    pictures("compared-calibration", make);
    let mut s = make(80, 24);
    let text = flat(&s);
    assert!(text.contains("calibration: the same twice, by throughput"), "{text}");
    assert!(text.contains("Equivalent within ±3 %"), "{text}");
    assert!(text.contains("the smallest margin that makes sense here is"), "{text}");
    s.keys("c");
    assert!(s.model.dialogs.is_empty() && s.text().contains("both cells were the same"), "{}", s.text());
}

#[test]
fn the_better_cell_is_kept_through_the_diff_and_by_enter_there_alone() {
    let (mut s, _) = ended(faster(), 80, 24);
    s.keys("c");
    assert!(matches!(s.model.dialogs.last(), Some(Dialog::Changes(_))), "{}", s.text());
    let text = flat(&s);
    assert!(text.contains("scheduler none -> bfq") || text.contains("scheduler none → bfq"), "{text}");
    s.keys("<Esc>");
    let wrote = |s: &Screen| s.effects.iter().any(|e| matches!(e, Effect::Apply { .. }));
    assert!(!wrote(&s));
    s.keys("c<Enter>");
    let Some(Effect::Apply { device, changes, revert_after: None }) = s.effects.last() else {
        panic!("{:?}", s.effects.last())
    };
    assert_eq!(device.name, name("sdb"));
    let changes: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.requested.as_str())).collect();
    assert_eq!(changes, [("scheduler", "bfq")]);
    // The result is still there, and the form behind it.
    s.keys("<Enter><Esc>");
    assert!(s.model.course.is_some() || s.text().contains("COMPARE"), "{}", s.text());
}

/// A write of a limit raises read-ahead on current kernels: kept without a word of it, the cell would not be what was measured.
#[test]
fn what_is_kept_is_what_was_measured_with_read_ahead_as_it_was() {
    let mut s = form(80, 24);
    s.keys(" lll jl h <Enter><Enter>");
    let design = ordered(&s).unwrap().designed.design;
    assert_eq!(design.cells[1].name, "bfq + rotational=1");
    conducted(&s, faster()).whole(&mut s);
    s.keys("c");
    let text = flat(&s);
    assert!(text.contains("rotational 0 → 1"), "{text}");
    assert!(
        text.contains("read_ahead_kb 64 KiB (128 sectors) → stays, also if the others move it"),
        "{text}"
    );
    s.keys("<Enter>");
    let Some(Effect::Apply { changes, .. }) = s.effects.last() else { panic!("{:?}", s.effects.last()) };
    let changes: Vec<_> = changes.iter().map(|c| (c.name.as_str(), c.requested.as_str())).collect();
    assert_eq!(changes, [("scheduler", "bfq"), ("rotational", "1"), ("read_ahead_kb", "64")]);
}

#[test]
fn without_a_better_cell_there_is_nothing_to_keep() {
    for (plot, why) in [
        (same(), "neither cell was found to be the better one"),
        (
            Plot { nature: Nature { effect: -FIVE, ..QUIET }, ..Plot::default() },
            "has the better cell's settings: none",
        ),
    ] {
        let (mut s, _) = ended(plot, 80, 24);
        s.keys("c");
        assert!(s.model.dialogs.is_empty() && flat(&s).contains(why), "{why}: {}", s.text());
    }
}

#[test]
fn a_new_experiment_begins_with_the_form_as_it_was_and_another_seed() {
    let (mut s, _) = ended(faster(), 80, 24);
    let before = s.model.experiment.clone();
    s.seconds(5);
    s.keys("n");
    assert!(s.text().contains("COMPARE TWO CELLS ON sdb"), "{}", s.text());
    let after = s.model.experiment.clone();
    assert_ne!(after.seed, before.seed);
    assert_eq!(blktune::app::screens::experiment::ExperimentScreen { seed: before.seed, ..after }, before);
    s.keys("<Enter><Enter>");
    assert_eq!(ordered(&s).unwrap().designed.design.seed, s.model.experiment.seed);
}

#[test]
fn leaving_asks_once_and_stopping_puts_back() {
    let going = || {
        let mut s = started(80, 24);
        conducted(&s, faster()).until(&mut s, measuring(2, 1));
        s
    };
    pictures("compared-stop", |width, height| {
        let mut s = started(width, height);
        conducted(&s, faster()).until(&mut s, measuring(2, 1));
        s.keys("<Esc>");
        s
    });
    let stops = |s: &Screen| s.effects.iter().filter(|e| **e == Effect::StopExperiment).count();
    let mut s = going();
    s.keys("q<Enter>");
    assert!(stops(&s) == 0 && !s.effects.contains(&Effect::Quit), "stay comes first");
    s.keys("<Esc>");
    let text = flat(&s);
    assert!(text.contains("Stop the experiment?") && text.contains("all settings are put back"), "{text}");
    s.keys("l<Enter>");
    assert!(stops(&s) == 1 && !s.effects.contains(&Effect::Quit));
    assert!(s.text().contains("stopping: the trial is ended and everything put back"), "{}", s.text());
    s.keys("<Esc>");
    assert!(s.model.dialogs.is_empty() && s.text().contains("the experiment is being stopped"));
    s.keys("q<Tab><Enter>");
    assert_eq!(s.effects.last(), Some(&Effect::Quit));
}

#[test]
fn the_end_answers_the_question_whether_to_stop() {
    let mut s = started(80, 24);
    let told = conducted(&s, faster());
    told.until(&mut s, measuring(2, 1));
    s.keys("<Esc>");
    s.send(Message::ExperimentEnded(Ok(Box::new(told.end.clone()))));
    assert!(s.model.dialogs.is_empty(), "{}", s.text());
}

#[test]
fn while_it_goes_on_its_device_is_not_written_nor_run_on() {
    let mut s = started(80, 24);
    conducted(&s, faster()).until(&mut s, measuring(2, 1));
    let before = s.effects.len();
    s.send(Message::Suspend);
    assert!(!s.effects.contains(&Effect::Suspend));
    let why = "no Ctrl-Z: an experiment holds the settings of sdb; stop it first (4, Esc)";
    assert!(flat(&s).contains(why), "{}", s.text());
    // A value is staged, and Enter in the diff says why it is not written.
    s.keys("2<Home>lc<Enter>");
    assert!(flat(&s).contains("an experiment goes on and holds the settings of sdb"), "{}", s.text());
    s.keys("<Esc>3<Enter><End><Enter>");
    assert!(flat(&s).contains("an experiment is going on; a run would spoil its trials"), "{}", s.text());
    let wrote =
        s.effects[before..].iter().any(|e| matches!(e, Effect::Apply { .. } | Effect::StartRun { .. }));
    assert!(!wrote, "{:?}", &s.effects[before..]);
}

#[test]
fn in_plain_characters_and_without_colours_it_says_the_same() {
    let mut s = started(80, 24);
    s.model.ascii = true;
    s.theme =
        blktune::config::theme::Theme::built_in("mono").at_depth(blktune::config::color::ColorDepth::None);
    conducted(&s, unsure()).until(&mut s, measuring(5, 2));
    insta::assert_snapshot!("compared-ascii-80x24", s.text());
    assert!(s.text().is_ascii(), "{}", s.text());
    assert!(!s.text().contains('?') || s.text().matches('?').count() == 1, "{}", s.text());
    let line = s.line_with("throughput  ");
    assert!(
        ["[", "--o-+--", "]"].iter().all(|c| line.contains(c)) && line.ends_with("preliminary"),
        "{line}"
    );
    // Each kind of trial has a character of its own.
    let legend = s.line_with("by trial");
    for kind in ["o none", "# bfq", "+ as found", ". lead-in", "x void", "^ look"] {
        assert!(legend.contains(kind), "{kind} in {legend}");
    }
}

#[test]
fn what_happens_elsewhere_is_among_the_messages() {
    let mut s = started(80, 24);
    s.keys("1");
    let told = conducted(&s, unsure());
    told.whole(&mut s);
    let said: Vec<&str> = s.model.messages.said.iter().map(|m| m.text.as_str()).collect();
    for part in ["A/B on sdb: block 2 is void and repeated", "look at 6 blocks: not decided yet"] {
        assert!(said.iter().any(|t| t.contains(part)), "{part} in {said:?}");
    }
    assert!(said.last().unwrap().contains(told.end.analysis.sentence()), "{said:?}");
    assert!(s.lines()[22].contains("A/B on sdb: "), "{}", s.text());
}

#[test]
fn how_to_read_it_is_one_key_away_and_scrolls() {
    let mut s = ended(faster(), 60, 16).0;
    s.keys("i");
    assert!(s.text().contains("How to read this"), "{}", s.text());
    let mut seen = flat(&s);
    for _ in 0..60 {
        s.keys("j");
        seen.push_str(&flat(&s));
    }
    for part in ["● candidate", "├──●──┤", "amber", "docs/statistics.md"] {
        assert!(seen.contains(part), "{part} in {seen}");
    }
    s.keys("<Esc>n");
    s.keys("i");
    assert!(s.text().contains("Comparing two cells"), "{}", s.text());
}

#[test]
fn other_screens_say_that_it_goes_on() {
    let mut s = started(80, 24);
    conducted(&s, faster()).until(&mut s, measuring(5, 2));
    s.send(progress(4));
    s.keys("1<Esc>");
    let line = s.line_with("A/B on sdb goes on (4): ");
    assert!(line.contains("1:21 to the look at 6 blocks; at most 14:44 left"), "{line}");
    s.keys("4");
    assert!(!s.text().contains("goes on (4)"), "{}", s.text());
}

#[test]
fn a_workload_that_writes_is_brought_to_its_steady_state_first() {
    let mut s = form(80, 24);
    let at = s.model.workload.presets.iter().position(|p| p.name == "randwrite-4k").unwrap();
    (s.model.experiment.preset, s.model.experiment.target) = (at, "/srv".to_owned());
    s.keys(" lll <Enter><Enter>");
    let told = conducted(&s, faster());
    let mut rounds = 0;
    told.until(&mut s, |e| {
        rounds += usize::from(matches!(e, Event::TrialStarted { .. }));
        rounds == 3
    });
    let text = flat(&s);
    assert!(text.contains("until it is steady trial 3"), "{text}");
    assert!(text.contains("2 rounds so far, at most 25; then at most 19:26"), "{text}");
}
