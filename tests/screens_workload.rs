//! Screen 3 in each of its states: presets, the form, a run, its result; what a person must be able to read there, and a
//! picture of it.

mod support;

use blktune::app::effect::Effect;
use blktune::units::Bytes;
use support::model::Screen;
use support::scenes::{finished, running};

const SIZES: [(u16, u16); 3] = [(60, 16), (80, 24), (120, 40)];

/// Compares the screen with its picture at every size.
fn pictures(picture: &str, make: impl Fn(u16, u16) -> Screen) {
    for (width, height) in SIZES {
        let screen = make(width, height);
        insta::assert_snapshot!(format!("{picture}-{width}x{height}"), screen.text());
    }
}

#[test]
fn the_workload_says_what_will_happen() {
    let make = |width, height| {
        let mut s = Screen::live(width, height);
        s.keys("/sdb<Enter>3jj<Enter>jjj");
        s
    };
    pictures("workload", make);
    let text = make(120, 40).text().split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = "reads 4 KiB at random places of sdb, 32 in flight, past the page cache, for 10 s";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("nothing is written"), "{text}");
}

#[test]
fn fields_are_stepped_and_typed_and_nonsense_is_refused() {
    let mut s = Screen::live(120, 40);
    s.keys("/sdb<Enter>3<Enter>gjjj<Enter>");
    for _ in 0..10 {
        s.keys("<Backspace>");
    }
    s.keys("0,5<Enter>");
    assert!(s.text().contains("\"0,5\": a size is a whole number of bytes"), "{}", s.text());
    for _ in 0..10 {
        s.keys("<Backspace>");
    }
    s.keys("64k<Enter>");
    assert_eq!(s.model.workload.jobs[0].bs, Bytes(64 << 10));
    s.keys("l");
    assert_eq!(s.model.workload.jobs[0].bs, Bytes(128 << 10));
}

#[test]
fn a_busy_device_is_asked_about() {
    let mut s = Screen::live(80, 24);
    s.keys("/sda<Enter>3<Enter>G<Enter>");
    assert!(s.text().contains("sda is doing 61 I/O per second for others, 61.0 MiB/s"), "{}", s.text());
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::StartRun { .. })));
    s.keys("<Enter>");
    assert!(
        !s.effects.iter().any(|e| matches!(e, Effect::StartRun { .. })),
        "the harmless answer comes first"
    );
    s.keys("<Enter><Tab><Enter>");
    assert!(s.effects.iter().any(|e| matches!(e, Effect::StartRun { busy_ok: true, .. })));
}

#[test]
fn a_run_shows_both_sides() {
    pictures("run", running);
    let s = running(80, 24);
    let text = s.text();
    let legend = s.line_with("engine");
    let (engine, kernel) = (legend.find("█ engine").unwrap(), legend.find("◆ kernel").unwrap());
    assert!(engine < kernel);
    // 4.2e8 bytes per second, and two percent more.
    assert!(legend.contains("engine   401") && legend.contains("kernel   409"), "{legend}");
    for part in [
        "measuring",
        "6 s left",
        "p99.9",
        "1.90 ms",
        "request at the device 4.00 KiB; bs asked for 4 KiB",
        "errors 0",
        "CPU 27% of one",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn leaving_a_run_asks_once() {
    let mut s = running(80, 24);
    s.keys("q<Enter>");
    assert!(!s.effects.iter().any(|e| matches!(e, Effect::StopRun | Effect::Quit)), "stay comes first");
    s.keys("<Esc>");
    assert!(s.text().contains("Stop the run?"));
    s.keys("l<Enter>");
    assert!(s.effects.contains(&Effect::StopRun));
    assert!(!s.effects.contains(&Effect::Quit));
    s.keys("q<Tab><Enter>");
    assert_eq!(s.effects.last(), Some(&Effect::Quit));
}

#[test]
fn a_finished_run_is_summed_up_with_its_warnings() {
    pictures("run-finished", finished);
    let text = finished(80, 24).text();
    for part in ["done", "105k", "410", "8.80 ms", "! 2% of the device's reads were not", "98.0%"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let mut s = finished(80, 24);
    s.keys("<Esc>");
    assert!(s.text().contains("PRESET"));
}
