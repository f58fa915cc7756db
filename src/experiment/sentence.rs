//! The wording: every sentence that is made of a figure. No percentage without its interval.

use super::circumstances::Early;
use super::order::{Light, Order};
use super::verdict::{Comparison, Verdict};
use crate::stats::interval::Interval;

/// What a sentence depends on beside the comparison itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saying<'a> {
    /// Why nothing follows.
    pub invalid: Option<&'a str>,
    /// The margin as a share.
    pub margin: f64,
    /// The order light; only said beside the primary metric.
    pub order: &'a Order,
    /// The looks that there are.
    pub looks: &'a [usize],
    /// More than one look, each at its smaller alpha.
    pub adaptive: bool,
    /// The look that the experiment goes on to, if it does.
    pub next_look: Option<usize>,
    /// Between two looks.
    pub interim: bool,
    /// Complete blocks.
    pub blocks: usize,
    /// Why it ended before its end.
    pub early: Option<Early>,
    /// How long a block takes, seconds.
    pub block_s: Option<f64>,
    /// Number of candidates.
    pub candidates: usize,
}

/// The verdict in words.
pub(super) fn of(c: &Comparison, s: &Saying<'_>) -> String {
    let said = match s.invalid {
        Some(why) => format!("Not valid: {why}."),
        None => match c.verdict {
            Verdict::Better | Verdict::Worse => winner(c, s),
            Verdict::Equivalent => equivalent(c, s),
            Verdict::Inconclusive => inconclusive(c, s),
            Verdict::Preliminary | Verdict::Invalid => preliminary(c, s),
        },
    };
    if c.primary { said } else { format!("{}: {said}", c.metric) }
}

fn winner(c: &Comparison, s: &Saying<'_>) -> String {
    let candidate_wins = c.verdict == Verdict::Better;
    let (name, whose) = if candidate_wins {
        (&c.candidate, String::new())
    } else {
        (&c.baseline, format!("{} ", c.candidate))
    };
    let by = if c.at_least_margin { format!(" by at least {}", margin(s.margin)) } else { String::new() };
    let touches = c.ci.is_some_and(|[lo, hi]| lo <= 1.0 && hi >= 1.0);
    let note = if touches { " The interval, made for all candidates together, touches 0." } else { "" };
    format!(
        "{name} is {}{by}: {whose}{}.{note}{}",
        if c.more_is_better { "faster" } else { "better" },
        with_interval(c, c.ci, c.confidence, s),
        order(c, s)
    )
}

fn equivalent(c: &Comparison, s: &Saying<'_>) -> String {
    let confidence = 1.0 - 2.0 * (1.0 - c.confidence);
    format!(
        "Equivalent within ±{}: {} {}{}.{}",
        margin(s.margin),
        c.candidate,
        with_interval(c, c.ci_equivalence, confidence, s),
        if c.measurable { "; small but measurable" } else { "" },
        order(c, s)
    )
}

fn inconclusive(c: &Comparison, s: &Saying<'_>) -> String {
    let next = if c.carryover_against.is_some() {
        " What ran before accounts for as much: a new experiment with lead-ins could tell.".to_owned()
    } else if let Some(n) = c.new_experiment_blocks {
        format!(
            " A new experiment of {n} blocks would decide if mean and spread stay as they are{}.",
            s.block_s.map_or_else(String::new, |one| time(one, n))
        )
    } else {
        " More than 100 blocks would be needed if mean and spread stay as they are.".to_owned()
    };
    let stopped = match (c.look, s.early) {
        (Some(look), Some(early)) if s.blocks > look => {
            let ended = match early {
                Early::Stopped => "Stopped by the user at",
                Early::Failed => "It could not go on after",
                Early::CutOff => "The record was cut off after",
            };
            format!(" {ended} {} blocks; judged by the look at {look}.", s.blocks)
        }
        _ => String::new(),
    };
    format!(
        "Inconclusive: {} {}.{stopped}{next}{}",
        c.candidate,
        with_interval(c, c.ci, c.confidence, s),
        red(c, s)
    )
}

fn preliminary(c: &Comparison, s: &Saying<'_>) -> String {
    let first = s.looks.first().copied().unwrap_or_default();
    match s.next_look {
        Some(next) if s.blocks >= first => format!(
            "Continuing to {next} blocks: {} {}{}.",
            c.candidate,
            with_interval(c, c.ci, c.confidence, s),
            if s.interim { "; not a decision point" } else { "" }
        ),
        _ => {
            let ended = match s.early {
                None => "",
                Some(Early::Stopped) => "; stopped by the user",
                Some(Early::Failed) => "; it could not go on",
                Some(Early::CutOff) => "; the record was cut off",
            };
            format!("Preliminary ({} of {first} blocks){ended}.", s.blocks)
        }
    }
}

/// `+4.6 % (98.3 % CI +2.8…+6.4 %, look at 6 blocks; 95 % over all four looks)`.
fn with_interval(c: &Comparison, ci: Option<[f64; 2]>, confidence: f64, s: &Saying<'_>) -> String {
    let (Some(ratio), Some([lo, hi])) = (c.ratio, ci) else { return "no interval".to_owned() };
    let when = match c.look {
        Some(look) if s.adaptive => {
            format!(", look at {look} blocks; 95 % over all {} looks", number(s.looks.len()))
        }
        Some(look) => format!(", {look} blocks"),
        None => format!(", {} blocks so far", c.blocks),
    };
    let simultaneous = if s.candidates > 1 { ", all candidates together" } else { "" };
    format!(
        "{} ({} CI {}{when}{simultaneous})",
        percent(ratio.ln()),
        margin(confidence),
        range(Interval { lo: lo.ln(), hi: hi.ln() })
    )
}

fn order(c: &Comparison, s: &Saying<'_>) -> String {
    if !c.primary {
        return String::new();
    }
    match s.order.light {
        Light::Green => " Order effect: none seen.".to_owned(),
        Light::Amber if s.order.carryover_ci.is_none() => " Order effect: not known.".to_owned(),
        Light::Amber => " Order effect: not ruled out.".to_owned(),
        Light::Red => red(c, s),
    }
}

fn red(c: &Comparison, s: &Saying<'_>) -> String {
    let warning = s.order.warning.as_ref().filter(|_| c.primary);
    warning.map_or_else(String::new, |w| format!(" {w}"))
}

/// Metrics that contradict the primary one, a sentence for each candidate.
pub(super) fn trade_offs(all: &[Comparison]) -> Vec<String> {
    let opposite = |a: Verdict, b: Verdict| {
        matches!((a, b), (Verdict::Better, Verdict::Worse) | (Verdict::Worse, Verdict::Better))
    };
    let tail = |c: &Comparison| matches!(c.metric.as_str(), "p99" | "p99_9" | "max");
    all.iter()
        .filter(|c| c.primary)
        .filter_map(|first| {
            let against: Vec<&Comparison> = all
                .iter()
                .filter(|c| {
                    !c.primary && c.candidate == first.candidate && opposite(first.verdict, c.verdict)
                })
                .collect();
            let list: Vec<String> = against.iter().map(|c| figure(c)).collect();
            if list.is_empty() {
                return None;
            }
            let better = first.verdict == Verdict::Better;
            let (good, bad) = if first.more_is_better { ("faster", "slower") } else { ("better", "worse") };
            let (word, other) = if better { (good, "worse") } else { (bad, "better") };
            // Only the tail can be told from an average.
            let by_tail = !tail(first) && against.iter().all(|c| tail(c));
            let (on, where_) =
                if by_tail { ("on average", "in the tail") } else { (&*first.metric, "elsewhere") };
            let on = if by_tail { on.to_owned() } else { format!("by {on}") };
            Some(format!(
                "Trade-off: {} is {word} {on}, {other} {where_}: {}.",
                first.candidate,
                list.join("; ")
            ))
        })
        .collect()
}

/// `p99 +12.3 % (95 % CI +8.0…+16.9 %)`.
fn figure(c: &Comparison) -> String {
    let interval = c.ci.map_or_else(String::new, |[lo, hi]| {
        format!(" ({} CI {})", margin(c.confidence), range(Interval { lo: lo.ln(), hi: hi.ln() }))
    });
    format!("{} {}{interval}", c.metric, c.ratio.map_or_else(String::new, |r| percent(r.ln())))
}

/// What a carry-over means, in words: `a trial right after B is 5.1 % faster than one right after A (90 % CI ...)`.
pub(super) fn carried_over(value: f64, ci: Option<Interval>, names: [&str; 2], rate: bool) -> String {
    let [baseline, candidate] = names;
    let word = match (rate, value > 0.0) {
        (true, true) => "faster",
        (true, false) => "slower",
        (false, true) => "worse",
        (false, false) => "better",
    };
    let interval = ci.map_or_else(String::new, |i| format!(" (90 % CI {})", range(i)));
    format!(
        "a trial right after {candidate} is {} {word} than one right after {baseline}{interval}",
        unsigned(value)
    )
}

/// A log quantity as a signed percentage: `+4.6 %`, `−39.6 %`.
#[must_use]
pub fn percent(log: f64) -> String {
    format!("{} %", signed(log))
}

/// Both ends of an interval of log ratios: `−41.4…−37.8 %`.
#[must_use]
pub fn range(log: Interval) -> String {
    format!("{}…{} %", signed(log.lo), signed(log.hi))
}

/// A log quantity as a signed percentage with two decimals, for what adds up over many trials: `+0.20 %`.
#[must_use]
pub fn share(log: f64) -> String {
    format!("{} %", rounded(log, 2))
}

/// Both ends of such an interval.
#[must_use]
pub fn shares(lo: f64, hi: f64) -> String {
    format!("{}…{} %", rounded(lo, 2), rounded(hi, 2))
}

/// A share without sign or needless zeros: `3 %`, `98.3 %`.
#[must_use]
pub fn margin(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn unsigned(log: f64) -> String {
    format!("{:.1} %", (log.exp_m1() * 100.0).abs())
}

fn signed(log: f64) -> String {
    rounded(log, 1)
}

/// With the minus of typography; a rounded zero has no sign.
fn rounded(log: f64, decimals: usize) -> String {
    let value = log.exp_m1() * 100.0;
    let size = value.abs();
    let digits = if size < 1e6 { format!("{size:.decimals$}") } else { format!("{size:.1e}") };
    if digits.bytes().all(|b| matches!(b, b'0' | b'.')) {
        digits
    } else if value < 0.0 {
        format!("−{digits}")
    } else {
        format!("+{digits}")
    }
}

fn number(n: usize) -> String {
    match n {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        4 => "four".to_owned(),
        n => n.to_string(),
    }
}

#[allow(clippy::cast_precision_loss)] // at most 100 blocks
fn time(one_block_s: f64, blocks: usize) -> String {
    let minutes = one_block_s * blocks as f64 / 60.0;
    if minutes < 1.0 { " (under a minute)".to_owned() } else { format!(" (about {minutes:.0} min)") }
}

/// The same text in characters of ASCII, for a terminal that has no others.
#[must_use]
pub fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '−' | '–' => out.push('-'),
            '…' => out.push_str(".."),
            '±' => out.push_str("+/-"),
            '·' => out.push('*'),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}
