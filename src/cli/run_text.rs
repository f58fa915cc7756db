//! A run's result as text.

use std::fmt::Write as _;

use crate::trial::result::TrialResult;
use crate::trial::words;
use crate::units::{Nanos, events, latency, mib_per_s};
use crate::workload::job::Job;
use crate::workload::result::{DirectionResult, JobResult, LatencySummary};

/// The result as text, a labelled line a fact.
pub(super) fn describe(r: &TrialResult) -> String {
    let mut out = Lines(String::new());
    for job in &r.asked {
        out.line("job", format!("{}: {job}", job.name));
    }
    out.line("target", r.target.clone());
    out.line("engine", r.engine.clone());
    for promise in &r.promises {
        out.line("means", promise.clone());
    }
    if let [_, _, ..] = r.jobs.as_slice() {
        for (job, result) in r.asked.iter().zip(&r.jobs) {
            out.line("", String::new());
            out.figures(Some(job), result, r.window_s);
        }
        if let Some(f) = &r.fairness {
            out.line("", String::new());
            for p in &f.jobs {
                let starved = if p.starved { "  starved" } else { "" };
                let text = format!(
                    "{} {:.1}% of the data, fair would be {:.1}%{starved}",
                    p.name,
                    p.share * 100.0,
                    p.fair_share * 100.0
                );
                out.line("share", text);
            }
        }
        out.line("", String::new());
    }
    out.figures(r.asked.first().filter(|_| r.jobs.len() == 1), &r.total, r.window_s);
    if let Some(f) = r.fairness.as_ref().filter(|f| !f.starved_workers.is_empty()) {
        out.line(
            "starved",
            format!("{} got less than a quarter of the mean of their job", f.starved_workers.join(", ")),
        );
    }
    for (label, text) in words::beside(&r.inflation) {
        out.line(label, text);
    }
    out.device(r);
    for (label, text) in words::surroundings(r).into_iter().chain(words::cpu(r)) {
        out.line(label, text);
    }
    for w in &r.warnings {
        out.line("warning", w.clone());
    }
    out.0
}

struct Lines(String);

impl Lines {
    #[allow(clippy::needless_pass_by_value)] // every caller has just made it
    fn line(&mut self, label: &str, text: String) {
        let mut label = label;
        for piece in pieces(&text) {
            // Writing to a String can not fail.
            let _ = writeln!(self.0, "{}", format!("{label:<9} {piece}").trim_end());
            label = "";
        }
    }

    /// One job's figures, or those of all together.
    fn figures(&mut self, job: Option<&Job>, r: &JobResult, window_s: f64) {
        for (word, d) in [("read", &r.read), ("write", &r.write)] {
            if d.ios == 0 && d.errors == 0 {
                continue;
            }
            let whose = match job {
                // A job that runs alone is all there is.
                Some(job) if job.name != r.name => String::new(),
                Some(job) => format!("{}: ", job.name),
                None => "all: ".to_owned(),
            };
            let text = format!(
                "{whose}{} MiB/s  {:.0} IOPS  ({} in {} I/Os, {window_s:.2} s)",
                mib_per_s(d.bytes_per_s),
                d.iops,
                d.bytes,
                d.ios,
            );
            self.line(word, text);
            self.latencies(job, d);
            if d.errors > 0 {
                self.line("errors", d.errors.to_string());
            }
        }
        if let Some(f) = &r.flush {
            self.line("flush", format!("{} calls  {}", f.calls, f.time_ns.map_or_else(String::new, cells)));
        }
        if r.not_started > 0 {
            self.line("late", format!("{} I/Os were due and not even started", r.not_started));
        }
    }

    fn latencies(&mut self, job: Option<&Job>, d: &DirectionResult) {
        if let (Some(lat), Some(asked)) = (d.lat_ns, d.asked_iops) {
            self.line("asked", format!("{} I/Os/s", events(asked)));
            self.line("latency", format!("{}  (from when due)", cells(lat)));
            self.line("service", d.clat_ns.map_or_else(String::new, cells));
        } else if let Some(clat) = d.clat_ns {
            let depth = job.map_or_else(String::new, |j| {
                format!("  (service time, {} in flight)", u64::from(j.depth_in_use()) * u64::from(j.numjobs))
            });
            self.line("latency", format!("{}{depth}", cells(clat)));
        }
        let over: Vec<String> = d
            .over_limit
            .iter()
            .filter_map(|o| Some(format!("{:.3}% over {} ms", o.share? * 100.0, o.limit_ns.millis())))
            .collect();
        if !over.is_empty() {
            self.line("limits", over.join("  "));
        }
    }

    fn device(&mut self, r: &TrialResult) {
        let Some(d) = &r.device else { return self.line("device", "not known".to_owned()) };
        let size = |s: Option<f64>| s.map_or(String::new(), |s| format!(" of {:.1} KiB", s / 1024.0));
        let share = d.engine_share.filter(|s| *s < 1.02);
        let text = format!(
            "{}: {} in {} reads{}, {} in {} writes{}, {} merged{}",
            d.name,
            d.read_bytes,
            d.read_ios,
            size(d.read_size_bytes),
            d.write_bytes,
            d.write_ios,
            size(d.write_size_bytes),
            d.merged,
            share.map_or(String::new(), |s| format!(", the engine's share {:.1}%", s * 100.0)),
        );
        self.line("device", text);
    }
}

/// The text in pieces that fit beside a label into 80 columns: broken between figures where there are any (two blanks),
/// else between words.
fn pieces(text: &str) -> Vec<&str> {
    const ROOM: usize = 70;
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((end, _)) = rest.char_indices().nth(ROOM) {
        // One blank may stand right behind the last column.
        let last = rest[end..].chars().next().map_or(0, char::len_utf8);
        let head = &rest[..end + last];
        let Some(at) =
            head.rfind("  ").or_else(|| head.rfind(' ')).filter(|at| !rest[..*at].trim().is_empty())
        else {
            break;
        };
        out.push(rest[..at].trim_end());
        rest = rest[at..].trim_start();
    }
    out.push(rest);
    out
}

fn cells(c: LatencySummary) -> String {
    let cells = [
        ("min", c.min),
        ("mean", c.mean.map(whole_ns)),
        ("p50", c.p50),
        ("p90", c.p90),
        ("p95", c.p95),
        ("p99", c.p99),
        ("p99.9", c.p99_9),
        ("p99.99", c.p99_99),
        ("max", c.max),
    ];
    cells.iter().filter_map(|(n, v)| v.map(|v| format!("{n} {}", latency(v)))).collect::<Vec<_>>().join("  ")
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a mean of times, to be shown
fn whole_ns(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_figures_or_words() {
        assert_eq!(pieces(""), [""]);
        assert_eq!(pieces("short"), ["short"]);
        let words = "word ".repeat(30);
        let broken = pieces(words.trim_end());
        assert!(broken.len() == 3 && broken.iter().all(|p| p.len() <= 70), "{broken:?}");
        assert_eq!(broken.join(" "), words.trim_end());
        let figures = ["p99.9 12.5 ms"; 8].join("  ");
        assert!(
            pieces(&figures).iter().all(|p| p.starts_with("p99.9") && p.ends_with("ms") && p.len() <= 70)
        );
        let one = "x".repeat(200);
        assert_eq!(pieces(&one), [one.as_str()]);
        let exact = format!("{} tail", "x".repeat(70));
        assert_eq!(pieces(&exact), ["x".repeat(70).as_str(), "tail"]);
    }
}
