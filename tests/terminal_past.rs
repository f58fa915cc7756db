//! Freezing and looking back in the real binary in a pseudo-terminal, with real keys, on a loop device under load.

// A test's functions fail the test by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use support::loop_device;
use support::pty::Session;

/// The row of the chosen device.
fn row(text: &str) -> String {
    text.lines().find(|l| l.starts_with('>')).unwrap_or_default().to_owned()
}

fn head(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Reads per second in the row of the chosen device.
fn reads(text: &str) -> f64 {
    row(text).split_whitespace().nth(6).and_then(|v| v.trim_end_matches('k').parse().ok()).unwrap_or(f64::NAN)
}

#[test]
fn frozen_figures_outlive_the_load_and_the_mark_of_a_change_is_found_by_looking_back() {
    let Some(device) = loop_device(16) else { return };
    device.known_queue();
    device.put("scheduler", "none");
    let name = device.kernel();
    let mut s = Session::start(&[&name, "--interval", "200ms"], 100, 30);
    s.wait_until("an idle device", |t| reads(t) == 0.0);
    device.put("scheduler", "bfq");
    s.wait_until("the change on the axis", |t| t.contains('▲') && row(t).contains("bfq"));

    let mut load = std::process::Command::new(env!("CARGO_BIN_EXE_blktune"))
        .args(["run", "randread-4k", &name, "--set", "runtime=3s"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    s.wait_until("the load", |t| reads(t) > 0.0);
    s.keys("p");
    s.wait_until("the freeze", |t| head(t).contains("frozen "));
    let frozen = row(&s.text());
    assert!(reads(&frozen) > 0.0, "{frozen}");
    assert!(load.wait().unwrap().success());
    // The newest samples are idle again, three seconds later.
    s.wait_until("time to pass", |t| ["-0:03", "-0:04", "-0:05"].iter().any(|age| head(t).contains(age)));
    assert_eq!(row(&s.text()), frozen);

    // Back to before the load, over the moment of the change.
    let mut told = false;
    for _ in 0..200 {
        let text = s.text();
        told |= text.contains("scheduler none -> bfq");
        if told && reads(&text) == 0.0 {
            break;
        }
        s.keys("[");
        s.wait_until("a step", |t| head(t) != head(&text) || row(t) != row(&text) || t != text);
    }
    assert!(told && s.text().contains("(by something else)"), "{}", s.text());
    s.keys("{");
    s.wait_until("the oldest", |t| row(t).split_whitespace().nth(6) == Some("-"));
    s.keys("{");
    s.wait_for("nothing older is kept");
    s.keys("}");
    s.wait_until("the newest", |t| !head(t).contains("frozen"));

    s.wait_for(" 2 min ");
    s.keys("t");
    s.wait_for(" 10 min");
    s.keys("t");
    s.wait_for(" 1 h ");
    s.keys("[");
    s.wait_until("a look back", |t| head(t).contains("frozen "));
    s.keys("]]]]]]]]]]");
    s.wait_until("the end of it", |t| !head(t).contains("frozen "));
    s.wait_until("live figures", |t| reads(t) == 0.0);
    assert_eq!(s.quit().exit_code(), 0);
}
