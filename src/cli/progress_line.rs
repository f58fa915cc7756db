//! How far a run is, on one line of stderr that is drawn over itself.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use crate::units::{latency, mib_per_s};
use crate::workload::live::{Phase, Progress};

/// The line; it is drawn on a terminal only.
pub(super) struct ProgressLine {
    on: bool,
    shown: usize,
    jobs: usize,
}

impl ProgressLine {
    /// For a run of so many jobs.
    pub(super) fn new(jobs: usize) -> Self {
        Self { on: std::io::stderr().is_terminal(), shown: 0, jobs }
    }

    /// Whether anything is drawn.
    pub(super) const fn is_on(&self) -> bool {
        self.on
    }

    pub(super) fn show(&mut self, p: &Progress) {
        self.show_behind("", p);
    }

    /// With words in front.
    pub(super) fn show_behind(&mut self, lead: &str, p: &Progress) {
        if self.on {
            self.draw(&format!("{lead}{}", words(p, self.jobs)));
        }
    }

    /// A sentence that stays, above the line.
    pub(super) fn say(&mut self, text: &str) {
        if self.on {
            self.clear();
            self.put(&format!("{text}\n"));
        }
    }

    /// Blanks the line.
    pub(super) fn clear(&mut self) {
        if self.shown > 0 {
            self.draw("");
            self.put("\r");
            self.shown = 0;
        }
    }

    fn draw(&mut self, text: &str) {
        let n = text.chars().count();
        self.put(&format!("\r{text}{:pad$}", "", pad = self.shown.saturating_sub(n)));
        self.shown = n;
    }

    /// A terminal that went away is no reason to stop measuring.
    fn put(&mut self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.write_all(text.as_bytes()).and_then(|()| err.flush()).is_err() {
            self.on = false;
        }
    }
}

fn words(p: &Progress, jobs: usize) -> String {
    let phase = match p.phase {
        Phase::Preparing => "writing the scratch file",
        Phase::Ramp => "ramp",
        Phase::Measuring => "measuring",
        Phase::Draining => "waiting for I/O in flight",
    };
    // Of several, some run alone first.
    let alone = if p.jobs.is_empty() || p.jobs.len() == jobs {
        String::new()
    } else {
        let names: Vec<&str> = p.jobs.iter().map(|j| j.name.as_str()).collect();
        format!("{} alone: ", names.join(", "))
    };
    let mut text = format!("{alone}{phase} {:.1}", p.elapsed.seconds());
    // Writing to a String can not fail.
    if let Some(planned) = p.planned {
        _ = write!(text, " of {:.1} s", planned.seconds());
    } else {
        text.push_str(" s");
    }
    if let (Some(iops), Some(rate)) = (p.iops, p.bytes_per_s) {
        _ = write!(text, "  {iops:.0} IOPS  {} MiB/s", mib_per_s(rate));
    }
    if let Some(p99) = p.clat.p99 {
        _ = write!(text, "  p99 {}", latency(p99));
    }
    if p.errors > 0 {
        _ = write!(text, "  {} errors", p.errors);
    }
    text
}
