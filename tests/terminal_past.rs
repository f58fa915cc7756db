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

/// Whole seconds from the moment looked back to until now, which goes on.
fn age(text: &str) -> u64 {
    let head = head(text);
    let age = head.split_once("frozen ").and_then(|(_, t)| t.split_whitespace().nth(1)).unwrap_or_default();
    let parts = age.trim_start_matches('-').split([':', '.']);
    let [minutes, seconds] = parts.take(2).map(|n| n.parse().unwrap_or(0)).collect::<Vec<u64>>()[..] else {
        return 0;
    };
    60 * minutes + seconds
}

/// A load on a device until it is dropped.
struct Load(std::process::Child);

impl Load {
    fn on(name: &str) -> Self {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_blktune"));
        command.args(["run", "randread-4k", name, "--set", "runtime=600s"]);
        Self(command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

    let load = Load::on(&name);
    s.wait_until("the load", |t| reads(t) > 0.0);
    s.keys("p");
    s.wait_until("the freeze", |t| head(t).contains("frozen "));
    let frozen = row(&s.text());
    assert!(reads(&frozen) > 0.0, "{frozen}");
    drop(load);
    // The newest samples are idle again, two seconds later.
    let then = age(&s.text());
    s.wait_until("time to pass", |t| age(t) >= then + 2);
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
        // The head changes with every sample, so that is no answer.
        s.all_taken();
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
