//! The command line of a design.

use crate::experiment::design::{Blocks, Design, Isolation};

/// `blktune ab ...`, every word as a shell takes it. What has a default is said all the same: defaults may change.
pub(super) fn command(d: &Design) -> String {
    let mut words: Vec<String> = ["blktune", "ab"].map(str::to_owned).to_vec();
    let mut say = |words_: &[&str]| words.extend(words_.iter().map(|w| quoted(w)));
    say(&[&d.device]);
    for factor in &d.factors {
        say(&["--factor", &format!("{}={}", factor.name, factor.levels.join(","))]);
    }
    if d.factors.len() > 1 && d.cells.len() == 2 {
        say(&["--together"]);
    }
    say(&["--job", &d.workload.preset]);
    for set in &d.workload.set {
        say(&["--set", set]);
    }
    if let Some(target) = &d.target {
        say(&["--target", &target.to_string_lossy()]);
    }
    say(&["--metric", d.metric.word(), "--margin", &format!("{}%", trimmed(d.margin * 100.0))]);
    for (flag, time) in [("--trial", d.trial), ("--ramp", d.ramp), ("--settle", d.settle)] {
        say(&[flag, &format!("{}ms", time.as_millis())]);
    }
    if d.calibration {
        say(&["--calibrate"]);
    } else {
        match d.blocks {
            Blocks::Fixed(n) => say(&["--blocks", &n.to_string()]),
            Blocks::Adaptive => say(&["--blocks", "auto"]),
        }
    }
    if !d.lead_ins {
        say(&["--no-lead-in"]);
    }
    match d.isolation {
        Isolation::Isolated => {}
        Isolation::SideEffects => say(&["--side-effects"]),
        Isolation::Sequence => say(&["--side-effects=sequence"]),
    }
    if d.control {
        say(&["--control"]);
    }
    say(&["--seed", &d.seed.to_string()]);
    words.join(" ")
}

/// Without the digits that binary fractions add: 0.07 * 100 is 7.000000000000001.
fn trimmed(v: f64) -> String {
    let text = format!("{v:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=,./:%!+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
