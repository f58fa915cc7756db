//! Screen 3 during a run and after it.

use ratatui::layout::Rect;

use crate::app::layout::split;
use crate::app::run::Run;
use crate::app::screens::fields::{round_bytes, seconds, sentence};
use crate::config::theme::Role;
use crate::trial::result::TrialResult;
use crate::units::{Bytes, Nanos, events, latency, mib_per_s, three_digits};
use crate::workload::live::{LivePercentiles, Phase};

use super::chart;
use super::text::{Pen, Piece, left, piece, right, wrap};

pub(super) fn draw(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let what = wrap(&sentence(&run.job, &run.target), usize::from(area.width).saturating_sub(2));
    let rows = u16::try_from(what.len()).unwrap_or(1);
    let (title, rest) = split(area, 1 + rows);
    pen.line(
        title,
        &[piece(Role::Title, format!(" {}", run.job.name)), piece(Role::Text, format!(" on {}", run.target))],
    );
    for (y, line) in (title.y + 1..title.bottom()).zip(&what) {
        pen.put(title.x + 1, y, title.width, line, Role::Muted);
    }
    match &run.ended {
        None => going(run, pen, rest),
        Some(Ok(result)) => result_of(run, result, pen, rest),
        Some(Err(why)) => {
            pen.put(rest.x + 1, rest.y + 1, rest.width, "the run did not come to an end", Role::Danger);
            let width = usize::from(rest.width).saturating_sub(2);
            for (y, line) in (rest.y + 2..rest.bottom()).zip(wrap(why, width)) {
                pen.put(rest.x + 1, y, rest.width, &line, Role::Text);
            }
        }
    }
}

fn going(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let row = |n: u16| Rect { y: area.y + n, height: u16::from(n < area.height), ..area };
    progress(run, pen, row(0));
    let p = run.progress.as_ref();
    let dash = || "-".to_owned();
    let iops = p.and_then(|p| p.iops).map_or_else(dash, events);
    let rate = p.and_then(|p| p.bytes_per_s).map_or_else(dash, mib_per_s);
    let (count, bytes, errors) = p.map_or((0, Bytes(0), 0), |p| (p.ios, p.bytes, p.errors));
    pen.line(
        row(2),
        &[
            piece(Role::Muted, " IOPS "),
            piece(Role::Text, right(&iops, 6)),
            piece(Role::Muted, "   MiB/s "),
            piece(Role::Text, right(&rate, 6)),
            piece(Role::Muted, "   measured "),
            piece(Role::Text, format!("{count} I/Os, {bytes}")),
            piece(Role::Muted, "   errors "),
            piece(if errors > 0 { Role::Danger } else { Role::Text }, errors.to_string()),
        ],
    );
    let clat = p.map(|p| p.clat).unwrap_or_default();
    pen.line(row(3), &percentiles(&clat));
    pen.line(row(4), &sizes(run));
    let plot = Rect { y: area.y + 6, height: area.height.saturating_sub(6), ..area };
    throughput(run, pen, plot);
}

fn progress(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    let word = match (run.stopping, run.progress.as_ref().map(|p| p.phase)) {
        (true, _) => "stopping",
        (_, None) => "starting",
        (_, Some(Phase::Preparing)) => "preparing",
        (_, Some(Phase::Ramp)) => "ramp",
        (_, Some(Phase::Measuring)) => "measuring",
        (_, Some(Phase::Draining)) => "draining",
    };
    let rest = run.time_left().map(|t| format!("{:.0} s left", t.seconds().ceil())).unwrap_or_default();
    let room = area.width.saturating_sub(28).min(72);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a width
    let full = (f64::from(room) * run.share_done().unwrap_or(0.0)) as u16;
    let (bar, back) = if pen.ascii { ("#", ".") } else { ("█", "░") };
    pen.line(
        area,
        &[
            piece(Role::Text, " "),
            piece(Role::Accent, bar.repeat(usize::from(full))),
            piece(Role::Border, back.repeat(usize::from(room - full))),
            piece(Role::Text, format!(" {}", left(word, 10))),
            piece(Role::Text, right(&rest, 11)),
        ],
    );
}

fn percentiles(clat: &LivePercentiles) -> Vec<Piece<'static>> {
    let all = [("p50", clat.p50), ("p95", clat.p95), ("p99", clat.p99), ("p99.9", clat.p99_9)];
    let mut out = vec![piece(Role::Muted, " clat")];
    for (name, value) in all {
        let shown = value.map_or_else(|| "-".to_owned(), latency);
        out.push(piece(Role::Muted, format!(" {name} ")));
        out.push(piece(Role::Text, format!("{}  ", right(&shown, 7))));
    }
    out
}

/// What the block layer made of the blocks that were asked for.
fn sizes(run: &Run) -> Vec<Piece<'static>> {
    let asked = round_bytes(run.job.bs);
    let request = run.kernel.request_bytes.map_or_else(|| "-".to_owned(), |v| Bytes::rounded(v).to_string());
    vec![
        piece(Role::Muted, " request at the device "),
        piece(Role::Text, right(&request, 9)),
        piece(Role::Muted, format!("   block size asked for {asked}")),
    ]
}

/// The engine's throughput as bars, the kernel's as marks, each with its number.
fn throughput(run: &Run, pen: &mut Pen<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let engine_now = run.progress.as_ref().and_then(|p| p.bytes_per_s);
    let shown = |v: Option<f64>| right(&v.map_or_else(|| "-".to_owned(), mib_per_s), 6);
    let top = run.engine_line.peak().into_iter().chain(run.kernel_line.peak()).fold(0.0, f64::max);
    let title = [
        piece(Role::Engine, format!("{} engine ", chart::bar_glyph(pen.ascii))),
        piece(Role::Text, format!("{} MiB/s   ", shown(engine_now))),
        piece(Role::Kernel, format!("{} kernel ", chart::mark_glyph(pen.ascii))),
        piece(Role::Text, format!("{} MiB/s   ", shown(run.kernel.bytes_per_s))),
        piece(Role::Muted, format!("top {} MiB/s", shown((top > 0.0).then_some(top)).trim_start())),
    ];
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
        let all = run.job.ramp.saturating_add(run.job.runtime);
        pen.put(row.x, row.y, row.width, "0 s", Role::Muted);
        pen.line_right(row, row.x + 4, &[piece(Role::Muted, seconds(all))]);
    }
}

/// Columns of a latency in the table of the result: `9.99 ms` and one apart.
const LATENCY: usize = 8;

fn result_of(run: &Run, r: &TrialResult, pen: &mut Pen<'_>, area: Rect) {
    let mut lines: Vec<Vec<Piece<'_>>> = vec![Vec::new()];
    let word = if r.interrupted { "stopped early" } else { "done" };
    lines.push(vec![
        piece(if r.interrupted { Role::Warning } else { Role::Good }, format!(" {word}")),
        piece(Role::Muted, format!(", {} s measured, {}", three_digits(r.window_s), r.engine)),
    ]);
    lines.push(Vec::new());
    let mut heads = format!(" {} {} {}", left("", 5), right("IOPS", 7), right("MiB/s", 7));
    for name in ["mean", "p50", "p95", "p99", "p99.9", "max"] {
        heads.push(' ');
        heads.push_str(&right(name, LATENCY));
    }
    lines.push(vec![piece(Role::Heading, heads)]);
    for (name, role, d) in [("read", Role::Read, &r.total.read), ("write", Role::Write, &r.total.write)] {
        if d.ios > 0 || (name == "read" && r.total.write.ios == 0) {
            lines.push(direction(name, role, d));
        }
    }
    let errors = r.total.read.errors + r.total.write.errors;
    if errors > 0 {
        lines.push(vec![piece(Role::Danger, format!(" {errors} I/Os failed"))]);
    }
    lines.push(Vec::new());
    lines.extend(device_lines(run, r));
    lines.push(cpu_line(r));
    lines.push(Vec::new());
    let width = usize::from(area.width).saturating_sub(4);
    for warning in &r.warnings {
        for (i, line) in wrap(warning, width).into_iter().enumerate() {
            let mark = if i == 0 { " ! " } else { "   " };
            lines.push(vec![piece(Role::Warning, format!("{mark}{line}"))]);
        }
    }
    if r.warnings.is_empty() {
        lines.push(vec![piece(Role::Muted, " no warnings")]);
    }
    for (y, line) in (area.y..area.bottom()).zip(&lines) {
        pen.line(Rect { y, height: 1, ..area }, line);
    }
    let used = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(1);
    if area.height > used.saturating_add(4) {
        throughput(run, pen, Rect { y: area.y + used, height: area.height - used, ..area });
    }
}

fn direction(name: &str, role: Role, d: &crate::workload::result::DirectionResult) -> Vec<Piece<'static>> {
    let l = d.clat_ns.unwrap_or_default();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a latency, shown with three digits
    let mean = l.mean.map(|m| Nanos(m.round() as u64));
    let mut text = format!("{} {}", right(&events(d.iops), 7), right(&mib_per_s(d.bytes_per_s), 7));
    for t in [mean, l.p50, l.p95, l.p99, l.p99_9, l.max] {
        text.push(' ');
        text.push_str(&right(&t.map_or_else(|| "-".to_owned(), latency), LATENCY));
    }
    vec![piece(role, format!(" {} ", left(name, 5))), piece(Role::Text, text)]
}

fn device_lines(run: &Run, r: &TrialResult) -> Vec<Vec<Piece<'static>>> {
    let Some(d) = &r.device else {
        return vec![vec![piece(
            Role::Muted,
            " the kernel's count is not known: no device was found behind the target",
        )]];
    };
    let size = d.read_size_bytes.map_or_else(|| "-".to_owned(), |v| Bytes::rounded(v).to_string());
    let share = d.engine_share.map_or_else(|| "-".to_owned(), |s| format!("{:.1}%", s * 100.0));
    vec![
        vec![
            piece(Role::Muted, format!(" kernel, {}: ", d.name)),
            piece(Role::Text, format!("{} reads, {}", d.read_ios, d.read_bytes)),
            piece(Role::Muted, ", of which the engine's are "),
            piece(Role::Text, share),
        ],
        vec![
            piece(Role::Muted, " request at the device "),
            piece(Role::Text, size),
            piece(
                Role::Muted,
                format!(", block size asked for {}, {} merged", round_bytes(run.job.bs), d.merged),
            ),
        ],
    ]
}

fn cpu_line(r: &TrialResult) -> Vec<Piece<'static>> {
    let per = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), |n| format!("{} us", three_digits(n / 1e3)));
    vec![
        piece(Role::Muted, " CPU per I/O: "),
        piece(
            Role::Text,
            format!("{} user, {} kernel", per(r.cpu.user_ns_per_io), per(r.cpu.system_ns_per_io)),
        ),
    ]
}
