//! An analysis as text: the cells, what follows, and what should be known beside it.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};

use super::list::trimmed;
use crate::experiment::analysis::{Analysis, CellFigure};
use crate::experiment::metric::Metric;
use crate::experiment::sentence;
use crate::experiment::trial::Role;
use crate::experiment::verdict::{Comparison, Unblocked, Verdict};
use crate::units::{Nanos, latency, mib_per_s, three_digits};

/// The text, with a newline at its end.
pub(super) fn of(analysis: &Analysis) -> String {
    let mut text = cells(analysis);
    text.push('\n');
    // Writing to a String cannot fail.
    for c in analysis.comparisons.iter().filter(|c| c.primary) {
        let _ = writeln!(text, "{}", c.sentence);
        if let Some(shown) = &c.unblocked {
            let _ = writeln!(text, "  {}", unblocked(c, shown));
        }
    }
    // What makes the primary metric not valid is said once, and holds for all of them.
    let invalid = analysis.comparisons.iter().any(|c| c.primary && c.verdict == Verdict::Invalid);
    let others: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|c| !(c.primary || invalid && c.verdict == Verdict::Invalid))
        .collect();
    if !others.is_empty() {
        text.push_str("\nThe other metrics:\n");
        for c in others {
            let _ = writeln!(text, "  {}", c.sentence);
        }
    }
    for trade_off in &analysis.trade_offs {
        let _ = writeln!(text, "{trade_off}");
    }
    let _ = write!(text, "\nOrder of trials: {}: {}.\n", light(analysis), analysis.order.text);
    if let (Some(slope), Some([lo, hi])) = (analysis.order.drift_per_trial, analysis.order.drift_per_trial_ci)
    {
        let _ = writeln!(
            text,
            "Drift: {} a trial (95 % CI {}).",
            sentence::share(slope),
            sentence::shares(lo, hi)
        );
    }
    if !analysis.warnings.is_empty() {
        text.push_str("\nWarnings:\n");
        for warning in &analysis.warnings {
            let _ = writeln!(text, "  {warning}");
        }
    }
    text
}

const fn light(analysis: &Analysis) -> &'static str {
    match analysis.order.light {
        crate::experiment::order::Light::Green => "green",
        crate::experiment::order::Light::Amber => "amber",
        crate::experiment::order::Light::Red => "red",
    }
}

fn cells(analysis: &Analysis) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let words: Vec<&str> =
        analysis.cells.first().map_or_else(Vec::new, |c| c.figures.iter().map(|f| &*f.metric).collect());
    let mut header = vec!["CELL".to_owned(), "TRIALS".to_owned()];
    for word in &words {
        header.extend([word.to_uppercase(), "FROM".to_owned(), "TO".to_owned()]);
    }
    header.push(String::new());
    let columns = header.len();
    table.set_header(header);
    for (i, cell) in analysis.cells.iter().enumerate() {
        let mut row = vec![cell.name.clone(), cell.trials.to_string()];
        for word in &words {
            match cell.figures.iter().find(|f| f.metric == *word) {
                Some(f) => row.extend([f.mean, f.min, f.max].map(|v| shown(f, v))),
                None => row.extend(["-", "-", "-"].map(str::to_owned)),
            }
        }
        row.push(if i == 0 { "baseline".to_owned() } else { String::new() });
        table.add_row(row);
    }
    for right in 1..columns - 1 {
        if let Some(column) = table.column_mut(right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let used = analysis.trials.iter().filter(|t| t.used).count();
    let discarded = analysis.trials.iter().filter(|t| t.role == Role::LeadIn).count();
    let lead_ins = if discarded > 0 { format!(", {discarded} lead-ins discarded") } else { String::new() };
    format!(
        "{}{} complete {} of {used} trials{lead_ins}; margin {}\n",
        trimmed(&table),
        analysis.complete_blocks,
        if analysis.complete_blocks == 1 { "block" } else { "blocks" },
        sentence::margin(analysis.margin)
    )
}

/// A reading in the unit of its metric: MiB/s of throughput, a time of latencies, else as it is.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // saturating is what is wanted
fn shown(f: &CellFigure, value: f64) -> String {
    match &*f.metric {
        "throughput" => format!("{} MiB/s", mib_per_s(value)),
        "mean" | "p99" | "p99_9" | "max" => latency(Nanos(value as u64)),
        "cpu_per_gib" => Metric::CpuPerGib.figure(value),
        _ => three_digits(value),
    }
}

fn unblocked(c: &Comparison, shown: &Unblocked) -> String {
    let interval = match (shown.shift.ci, shown.shift.confidence) {
        (Some([lo, hi]), Some(confidence)) => {
            format!("{} CI {}", sentence::margin(confidence), sentence::shares(lo.ln(), hi.ln()))
        }
        _ => "too few trials for an interval".to_owned(),
    };
    format!(
        "{}: typical reading of {} against {} {} ({interval}, p {} by Mann and Whitney); no verdict follows.",
        shown.label,
        c.candidate,
        c.baseline,
        sentence::share(shown.shift.ratio.ln()),
        if shown.p < 0.001 { "below 0.001".to_owned() } else { format!("{:.3}", shown.p) }
    )
}
