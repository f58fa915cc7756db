//! The tables of an experiment: its cells, and what is compared on one axis, with the margin marked.

use crate::app::entries::Entry;
use crate::config::theme::Role;
use crate::experiment::analysis::{Analysis, CellFigures};
use crate::experiment::metric::Metric;
use crate::experiment::sentence;
use crate::experiment::verdict::{Comparison, Verdict};
use crate::stats::interval::Interval;

use super::course::Course;
use super::report::Paper;

/// From this width on there are columns for numbers beside those for marks.
const WIDE: u16 = 76;
/// From this width on cells have all their figures.
const WIDEST: u16 = 110;
/// Columns of a figure of a cell.
const FIGURE: usize = 10;
/// Columns of a name of a cell, at most.
const NAME: usize = 20;
/// Columns of a metric's name.
const METRIC: usize = 10;
/// Columns of a change, `−39.6 %`.
const CHANGE: usize = 9;
/// Columns of an interval, `−41.4…−37.8 %`.
const INTERVAL: usize = 17;
/// Columns of a verdict's word.
const VERDICT: usize = 13;
/// Widest axis: beyond, a mark is no finer to be read.
const AXIS: usize = 61;

type Piece = (Role, String);

/// Which metrics are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The one that decides.
    Primary,
    /// All but that.
    Others,
    /// All.
    All,
}

/// The word of a verdict. Of a rate a winner is faster.
#[must_use]
pub fn word(c: &Comparison) -> &'static str {
    match (c.verdict, c.more_is_better) {
        (Verdict::Better, true) => "faster",
        (Verdict::Better, false) => "better",
        (Verdict::Worse, true) => "slower",
        (Verdict::Worse, false) => "worse",
        (Verdict::Equivalent, _) => "equivalent",
        (Verdict::Inconclusive, _) => "inconclusive",
        (Verdict::Preliminary, _) => "preliminary",
        (Verdict::Invalid, _) => "not valid",
    }
}

/// How a verdict looks.
#[must_use]
pub const fn role(c: &Comparison) -> Role {
    match c.verdict {
        Verdict::Better => Role::Good,
        Verdict::Worse | Verdict::Inconclusive => Role::Warning,
        Verdict::Equivalent => Role::Accent,
        Verdict::Preliminary => Role::Muted,
        Verdict::Invalid => Role::Danger,
    }
}

/// A metric's name as the head of a column, with its unit where it has one of its own.
#[must_use]
pub const fn head(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "MiB/s",
        Metric::Iops => "IOPS",
        Metric::Mean => "mean",
        Metric::P99 => "p99",
        Metric::P999 => "p99.9",
        Metric::Max => "max",
        Metric::CpuPerGib => "CPU s/GiB",
    }
}

fn left(text: &str, width: usize) -> String {
    let cut: String = if text.chars().count() > width {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    } else {
        text.to_owned()
    };
    format!("{cut:<width$}")
}

fn right(text: &str, width: usize) -> String {
    format!("{text:>width$}")
}

/// The metrics of the table of cells: the one that decides first.
fn columns(course: &Course, paper: Paper) -> Vec<Metric> {
    let first = course.design().metric;
    let others: &[Metric] = match paper.width {
        0..WIDE => &[Metric::P99, Metric::CpuPerGib],
        WIDE..WIDEST => &[Metric::P99, Metric::P999, Metric::CpuPerGib],
        _ => &Metric::ALL,
    };
    std::iter::once(first).chain(others.iter().copied().filter(|m| *m != first)).collect()
}

/// The cells with their own figures, and the verdict.
pub(super) fn cells(course: &Course, analysis: Option<&Analysis>, paper: Paper) -> Vec<Entry> {
    let design = course.design();
    let metrics = columns(course, paper);
    let wide = design.cells.iter().map(|c| c.name.chars().count()).max().unwrap_or(0);
    let most = if paper.width < WIDE { 14 } else { NAME };
    let name = wide.clamp(4, most);
    let heads: String = metrics.iter().map(|m| right(head(*m), FIGURE)).collect();
    let mut out = vec![Entry::Line(vec![(Role::Heading, format!(" {}{heads}", left("CELL", name)))])];
    for (i, cell) in design.cells.iter().enumerate() {
        let own = analysis.and_then(|a| a.cells.get(i));
        // What not every block has a reading of is not compared, and its mean would be of some trials alone.
        let judged = |m: Metric| analysis.is_some_and(|a| a.comparisons.iter().any(|c| c.metric == m.word()));
        let own_of = |m: Metric| own.filter(|_| judged(m));
        let figures: String = metrics.iter().map(|m| right(&cell_figure(own_of(*m), *m), FIGURE)).collect();
        let compared = analysis.and_then(|a| a.primary().find(|c| c.candidate == cell.name));
        let (role, word) = match (i, compared) {
            (0, _) => (Role::Muted, "baseline"),
            (_, Some(c)) => (role(c), word(c)),
            (_, None) => (Role::Muted, "-"),
        };
        out.push(Entry::Line(vec![
            (Role::Text, format!(" {}{figures}", left(&cell.name, name))),
            (role, format!("  {word}")),
        ]));
    }
    out
}

fn cell_figure(cell: Option<&CellFigures>, metric: Metric) -> String {
    let mean = cell.and_then(|c| c.figures.iter().find(|f| f.metric == metric.word())).map(|f| f.mean);
    mean.map_or_else(|| "-".to_owned(), |v| metric.figure(v))
}

/// The metrics with their change, interval and verdict, all marks on one axis.
pub(super) fn compared(a: &Analysis, paper: Paper, which: Which) -> Vec<Entry> {
    let rows: Vec<&Comparison> = (a.comparisons.iter())
        .filter(|c| match which {
            Which::Primary => c.primary,
            Which::Others => !c.primary,
            Which::All => true,
        })
        .filter(|c| c.ratio.is_some())
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let numbers = if paper.width < WIDE { 0 } else { INTERVAL };
    let room = usize::from(paper.width).saturating_sub(1 + METRIC + CHANGE + numbers + 2 + VERDICT + 2);
    let axis = Axis::of(a, room.min(AXIS), paper.ascii);
    let against = a.primary().next().map(|c| format!("{} / {}", c.candidate, c.baseline));
    let title =
        against.filter(|t| t.chars().count() < METRIC + CHANGE).unwrap_or_else(|| "CHANGE".to_owned());
    let zone = format!("  {} margin {}", axis.glyphs.zone, sentence::margin(a.margin));
    let mut out = vec![Entry::Line(vec![
        (Role::Heading, format!(" {}", left(&title, METRIC + CHANGE))),
        (Role::Heading, if numbers > 0 { right("interval", numbers) } else { String::new() }),
        (Role::Muted, format!("  {}{zone}", axis.ends())),
    ])];
    out.extend(rows.into_iter().map(|c| Entry::Line(row(c, &axis, numbers))));
    out
}

fn row(c: &Comparison, axis: &Axis, numbers: usize) -> Vec<Piece> {
    let role = role(c);
    let metric = Metric::parse(&c.metric).map_or(c.metric.as_str(), |m| short(m));
    let change = c.ratio.map_or_else(|| "-".to_owned(), |r| sentence::percent(r.ln()));
    let interval = interval(c);
    let shown = interval.map_or_else(|| "-".to_owned(), sentence::range);
    let mut pieces = vec![
        (if c.primary { Role::Text } else { Role::Muted }, format!(" {}", left(metric, METRIC))),
        (role, right(&change, CHANGE)),
    ];
    if numbers > 0 {
        pieces.push((role, right(&shown, numbers)));
    }
    pieces.push((Role::Text, "  ".to_owned()));
    pieces.extend(axis.marks(c.ratio.map(f64::ln), interval, role));
    pieces.push((role, format!("  {}", word(c))));
    pieces
}

const fn short(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::CpuPerGib => "CPU/GiB",
        m => head(m),
    }
}

/// The interval that the verdict rests on, in log ratios.
fn interval(c: &Comparison) -> Option<Interval> {
    let [lo, hi] = match c.verdict {
        Verdict::Equivalent => c.ci_equivalence.or(c.ci)?,
        _ => c.ci?,
    };
    Some(Interval { lo: lo.ln(), hi: hi.ln() })
}

#[derive(Clone, Copy, Debug)]
struct Glyphs {
    zone: char,
    zero: char,
    line: char,
    cross: char,
    ends: [char; 2],
    point: char,
    beyond: [char; 2],
}

const DRAWN: Glyphs =
    Glyphs {
        zone: '░', zero: '│', line: '─', cross: '┼', ends: ['├', '┤'], point: '●', beyond: ['◀', '▶']
    };
const PLAIN: Glyphs =
    Glyphs { zone: ':', zero: '|', line: '-', cross: '+', ends: ['[', ']'], point: 'o', beyond: ['<', '>'] };

/// An axis of log ratios with 0 in its middle, the margin marked around it.
#[derive(Clone, Copy, Debug)]
struct Axis {
    width: usize,
    /// What the ends stand for.
    reach: f64,
    theta: f64,
    glyphs: Glyphs,
}

impl Axis {
    /// As far as the primary metric needs, and the margin twice; what reaches further ends in an arrow.
    fn of(a: &Analysis, room: usize, ascii: bool) -> Self {
        let theta = a.margin.ln_1p();
        let ends = a.primary().filter_map(interval).flat_map(|i| [i.lo.abs(), i.hi.abs()]);
        let points = a.primary().filter_map(|c| Some(c.ratio?.ln().abs()));
        let far = ends.chain(points).filter(|v| v.is_finite()).fold(2.0 * theta, f64::max);
        // An odd number, so that 0 has a column.
        let width = room.max(5) - usize::from(room.max(5).is_multiple_of(2));
        Self { width, reach: far * 1.1, theta, glyphs: if ascii { PLAIN } else { DRAWN } }
    }

    /// The column of a value; beyond the ends as well.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // columns of a screen, bounded before
    fn column(&self, log: f64) -> isize {
        let half = (self.width / 2) as f64;
        let at = (log / self.reach).clamp(-2.0, 2.0) * half;
        half as isize + at.round() as isize
    }

    /// Both ends and 0, as wide as the axis.
    fn ends(&self) -> String {
        let (lo, hi) = (sentence::percent(-self.reach), sentence::percent(self.reach));
        let half = self.width / 2;
        let (l, h) = (lo.chars().count(), hi.chars().count());
        if l + h + 3 > self.width {
            return " ".repeat(self.width);
        }
        let gap = |used: usize| " ".repeat(half.saturating_sub(used));
        format!("{lo}{}0{}{hi}", gap(l), gap(h))
    }

    fn marks(&self, point: Option<f64>, interval: Option<Interval>, role: Role) -> Vec<Piece> {
        let g = self.glyphs;
        let last = self.width.cast_signed() - 1;
        let ends = interval.filter(|i| i.lo.is_finite() && i.hi.is_finite());
        let ends = ends.map(|i| (self.column(i.lo), self.column(i.hi)));
        let point = point.filter(|p| p.is_finite()).map(|p| self.column(p));
        let (zone, zero) = ((self.column(-self.theta), self.column(self.theta)), self.column(0.0));
        let mut pieces: Vec<Piece> = Vec::new();
        for x in 0..=last {
            let beyond = |end: isize| (x == 0 && end < 0) || (x == last && end > last);
            let drawn = match ends {
                _ if point == Some(x) => Some(g.point),
                Some((lo, _)) if beyond(lo) => Some(g.beyond[usize::from(x > 0)]),
                Some((_, hi)) if beyond(hi) => Some(g.beyond[usize::from(x > 0)]),
                Some((lo, _)) if x == lo => Some(g.ends[0]),
                Some((_, hi)) if x == hi => Some(g.ends[1]),
                Some((lo, hi)) if lo < x && x < hi => Some(if x == zero { g.cross } else { g.line }),
                _ => None,
            };
            let (role, c) = match drawn {
                Some(c) => (role, c),
                None if x == zero => (Role::Muted, g.zero),
                None if zone.0 <= x && x <= zone.1 => (Role::Border, g.zone),
                None => (Role::Border, ' '),
            };
            match pieces.last_mut() {
                Some((before, text)) if *before == role => text.push(c),
                _ => pieces.push((role, c.to_string())),
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(point: f64, lo: f64, hi: f64) -> String {
        let axis = Axis { width: 21, reach: 0.1, theta: 0.03, glyphs: DRAWN };
        let pieces = axis.marks(Some(point), Some(Interval { lo, hi }), Role::Text);
        pieces.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn a_whisker_stands_where_its_numbers_are() {
        assert_eq!(drawn(0.05, 0.03, 0.07), "       ░░░│░░├─●─┤   ");
        assert_eq!(drawn(-0.05, -0.08, -0.02), "  ├──●──┤░│░░░       ");
        assert_eq!(drawn(0.0, -0.01, 0.01), "       ░░├●┤░░       ");
        // Beyond the axis the ends are arrows.
        assert_eq!(drawn(0.3, 0.05, 0.4), "       ░░░│░░░ ├────▶");
        assert_eq!(drawn(-0.3, -0.4, 0.4), "◀─────────┼─────────▶");
        assert_eq!(drawn(f64::NAN, f64::NAN, f64::INFINITY), "       ░░░│░░░       ");
    }

    #[test]
    fn the_ends_of_the_axis_are_as_wide_as_it() {
        let axis = Axis { width: 21, reach: 0.1, theta: 0.03, glyphs: DRAWN };
        let ends = axis.ends();
        assert_eq!(ends.chars().count(), 21);
        assert_eq!(ends.chars().nth(10), Some('0'));
    }
}
