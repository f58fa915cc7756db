//! The report as Markdown: the verdict first, then all that it rests on.

use std::fmt::Write as _;

use super::Report;
use crate::experiment::design::{Blocks, FactorKind, Isolation};
use crate::experiment::metric::Metric;
use crate::experiment::trial::{Role, Trial};
use crate::experiment::verdict::Comparison;
use crate::units::{Bytes, three_digits};

impl Report<'_> {
    /// The text.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        self.head(&mut out);
        self.question(&mut out);
        self.result(&mut out);
        self.host(&mut out);
        self.settings(&mut out);
        self.workload(&mut out);
        self.trials(&mut out);
        self.end(&mut out);
        out
    }

    fn head(&self, out: &mut String) {
        let (m, r) = (&self.record.manifest, self.record);
        let names: Vec<String> = m.design.cells.iter().map(|c| text(&c.name)).collect();
        line(out, &format!("# {}: {}", text(&m.device.name), names.join(" against ")));
        if r.cut_off() {
            bold(out, &self.ending());
        }
        for damage in &r.damage {
            bold(out, damage);
        }
        match &self.analysis {
            Ok(a) => bold(out, a.sentence()),
            Err(why) => line(out, &format!("**No verdict: {}.**", text(why))),
        }
        if self.judged_now() {
            line(
                out,
                "Its end is not in this record: what follows was judged from the trials that are, by the last look there was.",
            );
        }
        if let Some(said) = &self.confirmation {
            line(out, &format!("{}.", opening(said.text.trim_end_matches('.'))));
        }
        if let Some(said) = m.calibration.as_ref().filter(|c| c.loud()) {
            bold(out, &said.text);
        }
        if !r.cut_off() {
            line(out, &opening(&self.ending()));
        }
    }

    fn question(&self, out: &mut String) {
        let d = &self.record.manifest.design;
        line(out, "## The question");
        let rows: Vec<Vec<String>> = d
            .factors
            .iter()
            .map(|f| {
                let kind = match f.kind {
                    FactorKind::Setting => "setting of the queue",
                    FactorKind::Workload => "key of the workload",
                };
                vec![f.name.clone(), kind.to_owned(), f.levels.join(", ")]
            })
            .collect();
        table(out, &["factor", "what it is", "levels, the first of the baseline"], &rows);
        let blocks = match d.blocks {
            Blocks::Fixed(n) => format!("{n}, judged once at the end"),
            Blocks::Adaptive => "until a look decides".to_owned(),
        };
        let isolation = match d.isolation {
            Isolation::Isolated => {
                "every setting is brought to the cell's value, so that the factors alone differ"
            }
            Isolation::SideEffects => "the settings that were found, then bare writes: what they move moves",
            Isolation::Sequence => "bare writes upon what the trial before left",
        };
        let rows = [
            ("decides", d.metric.word().to_owned()),
            ("smallest difference that matters", format!("{} %", three_digits(d.margin * 100.0))),
            ("a trial", format!("{:?} measured after {:?} of ramp", d.trial, d.ramp)),
            ("pause after a change", format!("{:?}", d.settle)),
            ("blocks", blocks),
            ("lead-ins", if d.lead_ins { "before each block" } else { "none" }.to_owned()),
            ("a trial starts from", isolation.to_owned()),
            ("seed", d.seed.to_string()),
        ];
        table(out, &["", ""], &rows.map(|(a, b)| vec![a.to_owned(), b]));
        if d.calibration {
            line(out, "Both cells are the same: a calibration, to learn how quiet the machine is.");
        }
        if d.control {
            line(out, "Cells that should make no difference were asked for as a control.");
        }
    }

    fn result(&self, out: &mut String) {
        line(out, "## What follows");
        let a = match &self.analysis {
            Ok(a) => a,
            Err(why) => return line(out, &format!("Nothing: {}.", text(why))),
        };
        for c in &a.comparisons {
            line(out, &format!("- {}", opening(&c.sentence)));
        }
        let rows: Vec<Vec<String>> = a.comparisons.iter().map(compared).collect();
        table(
            out,
            &["metric", "candidate", "candidate / baseline", "interval", "p", "blocks", "verdict"],
            &rows,
        );
        for cell in &a.cells {
            let figures: Vec<String> = cell
                .figures
                .iter()
                .map(|f| {
                    let [mean, min, max] = [f.mean, f.min, f.max].map(|v| Metric::reading_of(&f.metric, v));
                    format!("{} {mean} ({min} to {max})", f.metric)
                })
                .collect();
            line(
                out,
                &format!("- {}, {} trials: {}", opening(&cell.name), cell.trials, text(&figures.join("; "))),
            );
        }
        line(out, &format!("Order of trials: {}", text(&a.order.text)));
        for said in a.trade_offs.iter().chain(&a.warnings) {
            line(out, &format!("- {}", opening(said)));
        }
    }

    fn host(&self, out: &mut String) {
        let (m, h, d) = (&self.record.manifest, &self.record.manifest.host, &self.record.manifest.device);
        line(out, "## Device and host");
        let or = |s: &Option<String>| s.clone().unwrap_or_else(|| "unknown".to_owned());
        let rows = [
            ("device", format!("{} ({}: {})", d.name, d.kind, d.kind_evidence)),
            ("model", or(&d.model)),
            ("serial number", or(&d.serial)),
            ("world-wide id", or(&d.wwid)),
            ("size", Bytes(d.size_bytes).to_string()),
            (
                "number, sequence number",
                format!(
                    "{}, {}",
                    or(&d.devnum),
                    d.diskseq.map_or_else(|| "unknown".to_owned(), |n| n.to_string())
                ),
            ),
            (
                "built on",
                if d.built_on.is_empty() { "nothing else".to_owned() } else { d.built_on.join(", ") },
            ),
            ("file behind it", d.backing_file.clone().unwrap_or_else(|| "none".to_owned())),
            ("kernel", format!("{}, {}", or(&h.kernel), or(&h.build))),
            ("boot options", or(&h.boot_options)),
            ("boot", or(&h.boot_id)),
            (
                "processor",
                format!(
                    "{}, {} usable, {}",
                    or(&h.cpu),
                    h.cpus.map_or_else(|| "an unknown number".to_owned(), |n| n.to_string()),
                    or(&h.machine)
                ),
            ),
            ("program", m.program.clone()),
            ("began", m.started.clone()),
        ];
        table(out, &["", ""], &rows.map(|(a, b)| vec![a.to_owned(), b]));
        if let Some(where_) = &m.on_device {
            line(out, &format!("Note: {}; it was written between trials only.", text(where_)));
        }
    }

    fn settings(&self, out: &mut String) {
        let m = &self.record.manifest;
        line(out, "## Settings");
        line(out, "All that the queue had, as it was found. What the cells vary is in bold.");
        let queue = m.queue();
        let mut head = vec!["setting", "found"];
        head.extend(m.design.cells.iter().map(|c| c.name.as_str()));
        let factor = |name: &str| {
            m.design.factors.iter().position(|f| f.kind == FactorKind::Setting && f.name == name)
        };
        let mut names: Vec<&str> = m.settings.keys().map(String::as_str).collect();
        // Of a scheduler that was not active then.
        names.extend(
            m.design
                .factors
                .iter()
                .filter(|f| f.kind == FactorKind::Setting && !m.settings.contains_key(&f.name))
                .map(|f| f.name.as_str()),
        );
        let mut out_rows = String::new();
        for name in names {
            let found = queue.effective(name).unwrap_or_else(|| "not readable".to_owned());
            let varies = factor(name);
            let bold = |s: &str| match text(s) {
                inside if varies.is_some() && !inside.is_empty() => format!("**{inside}**"),
                inside => inside,
            };
            let cells = m.design.cells.iter().map(|c| {
                varies.and_then(|i| c.levels.get(i)).map_or_else(|| "as found".to_owned(), |l| bold(l))
            });
            let row: Vec<String> = [bold(name), text(&found)].into_iter().chain(cells).collect();
            let _ = writeln!(out_rows, "| {} |", row.join(" | "));
        }
        header(out, &head);
        out.push_str(&out_rows);
        out.push('\n');
        line(
            out,
            "Tunables of a scheduler (iosched/) are made anew with its defaults when a cell switches to it.",
        );
    }

    fn workload(&self, out: &mut String) {
        let (m, w) = (&self.record.manifest, &self.record.manifest.workload);
        line(out, "## Workload");
        let set = if w.set.is_empty() { String::new() } else { format!(" with {}", w.set.join(", ")) };
        let target = w.target.as_deref().unwrap_or("the device itself");
        line(out, &opening(&format!("{}{set}, on {target}.", w.preset)));
        if let Some(question) = &w.question {
            line(out, &format!("It asks: {}", text(question)));
        }
        if let Some(not_for) = &w.not_for {
            line(out, &format!("It is not for {}.", text(not_for)));
        }
        for (job, words) in w.jobs.iter().zip(&w.words) {
            let name = job.get("name").and_then(serde_json::Value::as_str).unwrap_or("job");
            line(out, &format!("- {}: {}", opening(name), text(words)));
        }
        for note in &m.notes {
            line(out, &format!("- {}", opening(note)));
        }
    }

    fn trials(&self, out: &mut String) {
        let d = &self.record.manifest.design;
        line(out, "## Trials, in the order of time");
        line(
            out,
            &format!(
                "{} were planned, {} were run.",
                self.record.manifest.plan.len(),
                self.record.trials.len()
            ),
        );
        let some = |n: Option<String>| n.unwrap_or_else(|| "-".to_owned());
        let rows: Vec<Vec<String>> = self
            .record
            .trials
            .iter()
            .map(|(t, _)| {
                let cell = t.plan.cell.and_then(|c| d.cells.get(c)).map(|c| c.name.clone());
                vec![
                    t.plan.number.to_string(),
                    format!("{:.1} s", t.started_s),
                    role(t.plan.role).to_owned(),
                    cell.unwrap_or_else(|| "as found".to_owned()),
                    some(t.plan.block.map(|b| b.to_string())),
                    some(t.plan.position.map(|p| p.to_string())),
                    t.plan.attempt.to_string(),
                    some(t.readings.get(&d.metric).map(|v| d.metric.reading(*v))),
                    remarks(t),
                ]
            })
            .collect();
        table(
            out,
            &["trial", "began", "for", "cell", "block", "place", "attempt", d.metric.word(), "remarks"],
            &rows,
        );
    }

    fn end(&self, out: &mut String) {
        line(out, "## How it ended");
        line(out, &opening(&self.ending()));
        line(out, &opening(&self.put_back()));
        line(out, "## How to repeat it");
        // Indented, so that nothing in it ends the block.
        line(out, &format!("    {}", self.command()));
    }
}

fn compared(c: &Comparison) -> Vec<String> {
    let interval = match c.ci {
        Some([lo, hi]) => format!("{lo:.4} to {hi:.4} ({} %)", three_digits(c.confidence * 100.0)),
        None => "none".to_owned(),
    };
    // Without an interval a ratio says nothing.
    let ratio = c.ratio.filter(|_| c.ci.is_some()).map_or_else(|| "-".to_owned(), |r| format!("{r:.4}"));
    let p = c.p.map_or_else(|| "-".to_owned(), |p| format!("{p:.2e}"));
    let verdict = serde_json::to_value(c.verdict).ok();
    let verdict = verdict.as_ref().and_then(serde_json::Value::as_str).unwrap_or("-").to_owned();
    vec![c.metric.clone(), c.candidate.clone(), ratio, interval, p, c.blocks.to_string(), verdict]
}

fn remarks(t: &Trial) -> String {
    let gates =
        t.findings.iter().map(|f| format!("{}{:?}: {}", if f.voids { "void, " } else { "" }, f.gate, f.text));
    gates.chain(t.warnings.iter().cloned()).collect::<Vec<_>>().join("; ")
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Trial => "trial",
        Role::LeadIn => "lead-in",
        Role::BaselineBefore => "baseline before",
        Role::BaselineAfter => "baseline after",
        Role::Precondition => "precondition",
    }
}

fn bold(out: &mut String, s: &str) {
    let inside = text(s);
    // Marks around nothing are a line across the page.
    if !inside.is_empty() {
        line(out, &format!("**{inside}**"));
    }
}

fn line(out: &mut String, text: &str) {
    // A list is kept together, and apart from what follows it.
    let item = text.starts_with("- ");
    if !item && !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(text);
    out.push_str(if item { "\n" } else { "\n\n" });
}

fn header(out: &mut String, head: &[&str]) {
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    let head: Vec<String> = head.iter().map(|h| text(h)).collect();
    let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), " --- |".repeat(head.len()));
}

fn table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    header(out, head);
    for row in rows {
        let row: Vec<String> = row.iter().map(|c| text(c)).collect();
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
}

/// Text of others within Markdown: what would be read as its marks stands for itself.
fn text(s: &str) -> String {
    let clean = crate::sys::attr::clean(s.as_bytes());
    // White space at its ends is of no matter on a page, but keeps marks around it from being marks.
    let clean = clean.trim();
    let mut out = String::with_capacity(clean.len());
    let mut before = ' ';
    for (i, c) in clean.char_indices() {
        let mark = matches!(c, '|' | '\\' | '`' | '*' | '<' | '>' | '[' | ']' | '#' | '~' | '^' | '&' | '$');
        // Within a word, as in read_ahead_kb, it is none.
        let next = clean[i..].chars().nth(1);
        let within = before.is_alphanumeric() && next.is_some_and(char::is_alphanumeric);
        if mark || c == '_' && !within {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// The same where it begins a line or an entry of a list: no list, no line across the page, no heading may come of it
/// (`- a`, `+ a`, `1. a`, `1) a`, `---`, `===`, `: a`).
fn opening(s: &str) -> String {
    let mut out = text(s);
    let digits = out.len() - out.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if out.starts_with(['-', '+', '=', ':']) || digits > 0 && out[digits..].starts_with(['.', ')']) {
        out.insert(digits, '\\');
    }
    out
}
