//! The command line of a design.

use std::time::Duration;

use crate::experiment::design::{Blocks, Design, Isolation};
use crate::experiment::limits;
use crate::experiment::shell::quoted;

/// `blktune ab ...`, every word as a shell takes it. What has a default is said all the same: defaults may change. What was
/// asked on a sandbox is asked on a new one, since its device is gone.
pub(super) fn command(d: &Design, asked: &[String]) -> String {
    let mut words = Words(["blktune", "ab"].map(str::to_owned).to_vec());
    match asked.iter().find(|w| *w == "--sandbox" || w.starts_with("--sandbox=")) {
        Some(sandbox) => words.bare(sandbox),
        None => words.bare(&d.device),
    }
    for factor in &d.factors {
        words.flag("--factor", &format!("{}={}", factor.name, factor.levels.join(",")));
    }
    if d.factors.len() > 1 && d.cells.len() == 2 {
        words.bare("--together");
    }
    words.flag("--job", &d.workload.preset);
    for set in &d.workload.set {
        words.flag("--set", set);
    }
    if let Some(target) = &d.target {
        words.flag("--target", &target.to_string_lossy());
    }
    words.flag("--metric", d.metric.word());
    let margin = limits::percentage(d.margin).unwrap_or_else(|| format!("{}%", d.margin * 100.0));
    words.flag("--margin", &margin);
    for (flag, time) in [("--trial", d.trial), ("--ramp", d.ramp), ("--settle", d.settle)] {
        words.flag(flag, &exact(time));
    }
    if d.calibration {
        words.bare("--calibrate");
    } else {
        match d.blocks {
            Blocks::Fixed(n) => words.flag("--blocks", &n.to_string()),
            Blocks::Adaptive => words.flag("--blocks", "auto"),
        }
    }
    if !d.lead_ins {
        words.bare("--no-lead-in");
    }
    match d.isolation {
        Isolation::Isolated => {}
        Isolation::SideEffects => words.bare("--side-effects"),
        Isolation::Sequence => words.bare("--side-effects=sequence"),
    }
    if d.control {
        words.bare("--control");
    }
    words.flag("--seed", &d.seed.to_string());
    words.0.join(" ")
}

struct Words(Vec<String>);

impl Words {
    fn bare(&mut self, word: &str) {
        self.0.push(quoted(word));
    }

    fn flag(&mut self, flag: &str, value: &str) {
        // A value that looks like a flag is told from one by the sign of equality alone.
        if value.starts_with('-') {
            self.bare(&format!("{flag}={value}"));
        } else {
            self.bare(flag);
            self.bare(value);
        }
    }
}

/// A time to the nanosecond, in the unit that needs the fewest digits.
fn exact(time: Duration) -> String {
    match time.subsec_nanos() {
        0 => format!("{}s", time.as_secs()),
        n if n % 1_000_000 == 0 => format!("{}ms", time.as_millis()),
        n => format!("{}.{n:09}s", time.as_secs()),
    }
}
