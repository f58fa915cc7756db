//! Screen 3 during a run and after it.

use ratatui::layout::Rect;

use crate::app::entries::Entry;
use crate::app::layout::split;
use crate::app::report::entries;
use crate::app::run::Run;
use crate::app::screens::fields::{seconds, sentence};
use crate::config::theme::Role;
use crate::units::{Nanos, latency, mib_per_s};
use crate::workload::live::{LatencyStep, Phase};

use super::chart;
use super::entries::{LEAST_CHARTS, Line, lines, scrolled};
use super::text::{Pen, cut, piece, right, wrap};
use crate::app::timeline::Span;

pub(super) fn draw(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let width = usize::from(area.width).saturating_sub(2);
    let entries = entries(run, area.width);
    // What was asked for is part of a result, and scrolled with it.
    let mut what = if run.going() { wrap(&sentence(&run.jobs, &run.place), width) } else { Vec::new() };
    // What is going on matters more than what was asked; rows that would be empty are for that.
    let most = if area.height < 30 { 2 } else { 4 };
    let most = most.max(empty_rows(&entries, area).min(4));
    if what.len() > most {
        what.truncate(most);
        if let Some(last) = what.last_mut() {
            *last = cut(&format!("{last} …"), width);
        }
    }
    let rows = u16::try_from(what.len()).unwrap_or_default();
    let (title, rest) = split(area, 1 + rows);
    pen.line(
        title,
        &[piece(Role::Title, format!(" {}", run.name)), piece(Role::Text, format!(" on {}", run.place.name))],
    );
    for (y, line) in (title.y + 1..title.bottom()).zip(&what) {
        pen.put(title.x + 1, y, title.width, line, Role::Muted);
    }
    if run.going() {
        let (bar, below) = split(rest, 2);
        progress(run, pen, bar);
        going(run, &entries, pen, below);
    } else {
        scrolled(&entries, run.top, pen, rest, title, &mut |pen, room| draw_charts(run, pen, room));
    }
}

/// Rows for the sentence where there is no room for charts below the figures.
fn empty_rows(entries: &[Entry], area: Rect) -> usize {
    let figures: usize = entries.iter().map(|e| lines(e, area.width).len()).sum();
    // The title, the bar and a row below it.
    let free = usize::from(area.height).saturating_sub(3 + figures);
    if free < usize::from(LEAST_CHARTS) + 3 { free } else { 0 }
}

/// The figures, scrolled where there are too many of them, and the charts below.
fn going(run: &Run, entries: &[Entry], pen: &mut Pen<'_>, area: Rect) {
    let top = run.top.min(entries.len().saturating_sub(1));
    let figures: Vec<Line> = entries[top..].iter().flat_map(|e| lines(e, area.width)).collect();
    let all = u16::try_from(figures.len()).unwrap_or(u16::MAX).saturating_add(1);
    // Low screens show the charts when the figures are scrolled away.
    let charts = if area.height < all.saturating_add(LEAST_CHARTS) { 0 } else { area.height - all };
    let (above, below) = split(area, area.height - charts);
    for (y, line) in (above.y..above.bottom()).zip(&figures) {
        pen.line(Rect { y, height: 1, ..above }, line);
    }
    draw_charts(run, pen, below);
}

fn progress(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let p = run.progress.as_ref();
    let alone = run.alone().map(|who| format!(" {who} alone")).unwrap_or_default();
    let word = match (run.stopping, p.map(|p| p.phase)) {
        (true, _) => "stopping".to_owned(),
        (_, None) => "starting".to_owned(),
        (_, Some(Phase::Preparing)) => match p.and_then(|p| p.written) {
            Some((done, all)) => format!("writing the scratch file, {done} of {all}"),
            None => "preparing".to_owned(),
        },
        (_, Some(Phase::Ramp)) => format!("ramp{alone}"),
        (_, Some(Phase::Measuring)) => format!("measuring{alone}"),
        (_, Some(Phase::Draining)) => "draining".to_owned(),
    };
    let rest = run.time_left().map(|t| format!("  {:.0} s left", t.seconds().ceil())).unwrap_or_default();
    let words = format!(" {word:<10}{rest}");
    let taken = u16::try_from(words.len()).unwrap_or(u16::MAX).max(24);
    let room = area.width.saturating_sub(taken.saturating_add(3)).min(72);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a width
    let full = (f64::from(room) * run.share_done().unwrap_or(0.0)) as u16;
    let (bar, back) = if pen.ascii { ("#", ".") } else { ("█", "░") };
    pen.line(
        area,
        &[
            piece(Role::Text, " "),
            piece(Role::Accent, bar.repeat(usize::from(full))),
            piece(Role::Border, back.repeat(usize::from(room - full))),
            piece(Role::Text, words),
        ],
    );
}

/// Throughput at the left, latencies at the right.
fn draw_charts(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    if area.height < 3 {
        return;
    }
    let wide = (area.width * 2 / 5).min(64);
    let throughput_area = Rect { width: area.width - wide, ..area };
    let latency_area = Rect { x: area.x + throughput_area.width, width: wide, ..area };
    throughput(run, pen, throughput_area);
    let steps = run.progress.as_ref().map(|p| p.histogram.as_slice()).unwrap_or_default();
    histogram(steps, pen, latency_area);
}

/// The engine's throughput as bars, the kernel's as marks, each with its number.
fn throughput(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let engine_now = run.progress.as_ref().and_then(|p| p.bytes_per_s).filter(|_| run.going());
    let shown = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), mib_per_s);
    let top = run.engine_line.peak().into_iter().chain(run.kernel_line.peak()).fold(0.0, f64::max);
    let mut title = vec![piece(Role::Engine, format!("{} engine ", chart::bar_glyph(pen.ascii)))];
    let now = |v: Option<f64>| piece(Role::Text, format!("{} ", right(&shown(v), 5)));
    if run.going() {
        title.push(now(engine_now));
    }
    title.push(piece(Role::Kernel, format!("{} kernel ", chart::mark_glyph(pen.ascii))));
    if run.going() {
        title.push(now(run.kernel.bytes_per_s));
    }
    title.push(piece(Role::Muted, format!("top {} MiB/s", shown((top > 0.0).then_some(top)))));
    pen.rule(Rect { height: 1, ..area }, &title);
    let axis = u16::from(area.height > 4);
    let plot = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(1 + axis),
    };
    let width = usize::from(plot.width);
    chart::bars(pen, plot, &run.engine_line.columns(width), top, Role::Engine);
    chart::marks(pen, plot, &run.kernel_line.columns(width), top, Role::Kernel);
    if axis == 1 {
        let row = Rect { x: plot.x, y: plot.bottom(), width: plot.width, height: 1 };
        let end = pen.put(row.x, row.y, row.width, "0 s", Role::Muted);
        ramp_end(run, pen, row, end);
        let all = seconds(run.length().duration());
        pen.line_right(row, row.x + 4, &[piece(Role::Muted, all)]);
    }
}

/// Says below the chart where the engine begins to count.
fn ramp_end(run: &Run, pen: &mut Pen<'_>, row: Rect, after: u16) {
    let ramp = run.times().0;
    let (r, all) = (ramp.seconds(), run.length().seconds());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a width
    let column = (r / all.max(f64::MIN_POSITIVE) * f64::from(row.width)) as u16;
    for text in [
        format!("^ {}: measured from here", seconds(ramp.duration())),
        "^ counts from here".to_owned(),
        "^".to_owned(),
    ] {
        let width = u16::try_from(text.len()).unwrap_or(u16::MAX);
        if r > 0.0 && row.x + column > after && column.saturating_add(width) + 8 < row.width {
            pen.put(row.x + column, row.y, width, &text, Role::Muted);
            return;
        }
    }
}

/// Latencies so far: a bar for every step of 1, 2 and 5, as high as its share of the I/Os. A step with a single I/O is
/// seen.
fn histogram(steps: &[LatencyStep], pen: &mut Pen<'_>, area: Rect) {
    let all: u64 = steps.iter().map(|s| s.ios).sum();
    let most = steps.iter().map(|s| s.ios).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss)] // counts as heights
    let (all, most) = (all as f64, most as f64);
    let title = if steps.is_empty() {
        "latency: nothing yet".to_owned()
    } else {
        format!("latency, top {:.0}%", most / all.max(1.0) * 100.0)
    };
    pen.rule(
        Rect { height: 1, ..area },
        &[piece(Role::Heading, cut(&title, usize::from(area.width).saturating_sub(4)))],
    );
    let plot = Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    };
    let count = u16::try_from(steps.len()).unwrap_or(u16::MAX);
    if count == 0 || plot.width < count {
        return;
    }
    let each = (plot.width / count).min(6);
    #[allow(clippy::cast_precision_loss)] // counts as heights
    let heights = steps.iter().map(|s| (s.ios > 0).then_some(Span { low: s.ios as f64, high: s.ios as f64 }));
    let columns: Vec<Option<Span>> =
        heights.flat_map(|h| std::iter::repeat_n(h, usize::from(each))).collect();
    chart::bars(pen, plot, &columns, most, Role::Engine);
    // The upper end of a step below its right edge, where there is room for it.
    let mut free = plot.x;
    for (i, step) in (0u16..).zip(steps) {
        let end = plot.x + (i + 1) * each;
        let text = edge(step.up_to);
        let width = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let power_of_ten = text.starts_with('1');
        if (power_of_ten || i == 0 || i + 1 == count) && end >= free + width && end <= area.right() {
            pen.put(end - width, plot.bottom(), width, &text, Role::Muted);
            free = end + 1;
        }
    }
}

/// `100us`, `2ms`: the edges are whole numbers of a unit.
fn edge(t: Nanos) -> String {
    if t.0 == u64::MAX {
        return "more".to_owned();
    }
    latency(t).replace(".00", "").replace(".0 ", " ").replace(' ', "")
}
