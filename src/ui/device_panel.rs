//! The panel below the list: the recent past of the chosen device, and what has no chart.

use ratatui::layout::Rect;

use crate::app::fleet::Entry;
use crate::app::layout;
use crate::app::look;
use crate::app::mark::{self, Mark};
use crate::app::model::Model;
use crate::app::screens::devices::{Chosen, chosen_device, used_by_words};
use crate::app::timeline::{Span, Window};
use crate::config::theme::Role;
use crate::telemetry::rates::Rates;
use crate::telemetry::series::Figure;
use crate::units::{Bytes, Nanos, mib_per_s, three_digits};

use super::chart::{self, Axis};
use super::devices::on;
use super::text::{Pen, left, piece, right};

/// Rows of a chart from which on its figures have room beside it.
const BESIDE: u16 = 4;

pub(super) fn draw(model: &Model, pen: &mut Pen<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let Some(entry) = chosen_device(model) else {
        pen.rule(area, &[]);
        return;
    };
    let rows = area.height.saturating_sub(4) / 2;
    title(pen, area, entry, model);
    let none = Rates::default();
    let rates = entry.shown_rates().unwrap_or(&none);
    let y = area.y + 2 + 2 * rows;
    let (mut left, mut right) = (Rect { y: area.y + 1, height: 2 * rows, ..area }, None);
    if area.width >= layout::WIDE {
        left.width = area.width * 2 / 3;
        right = Some(Rect { x: area.x + left.width, width: area.width - left.width, ..left });
    }
    let time = Time::of(model, entry, left);
    throughput(pen, left, entry, rates, &time);
    if let Some(right) = right {
        waiting(pen, right, entry, rates, &Time::of(model, entry, right));
    }
    below(pen, Rect { y, height: area.bottom().saturating_sub(y), ..area }, entry, rates, rows);
    happened(pen, Rect { y: area.bottom() - 1, height: 1, ..area }, &time.here);
}

/// What happened at the moment looked at. The line is its alone.
fn happened(pen: &mut Pen<'_>, area: Rect, marks: &[&Mark]) {
    if !marks.is_empty() {
        let words = format!("  {}", mark::words(marks));
        pen.line(area, &[piece(Role::Changed, left(&words, usize::from(area.width.saturating_sub(2))))]);
    }
}

/// Columns of a chart's label, and of the figures beside it.
const LABEL: u16 = 8;
const FIGURES: u16 = 19;

/// The charts' axis of time.
struct Time<'a> {
    window: Window,
    until: Nanos,
    end: String,
    span: &'static str,
    marks: Vec<usize>,
    cursor: Option<usize>,
    here: Vec<&'a Mark>,
}

impl<'a> Time<'a> {
    fn of(model: &Model, entry: &'a Entry, area: Rect) -> Self {
        let window = look::window(model, plot_width(area));
        let edge = look::edge(model).unwrap_or_default();
        let until = edge.at;
        let marks = entry.marks.iter().map(|m| m.seen.at.min(until));
        // What was seen after the newest sample is at the edge, until the next sample. Looking back it is not there yet.
        let shown = entry.marks.iter().zip(marks).filter(|(m, _)| model.look.is_none() || m.seen.at <= until);
        let end = match (&model.look, &model.replay) {
            (Some(_), _) => edge.time(),
            (None, Some(_)) => "newest".to_owned(),
            (None, None) => "now".to_owned(),
        };
        Self {
            marks: shown.filter_map(|(_, at)| window.column_of(at)).collect(),
            cursor: model.look.and_then(|l| window.column_of(l.moment.at)),
            here: look::marks_here(model, entry, &window),
            span: model.chart_span.words(),
            window,
            until,
            end,
        }
    }

    fn columns(&self, entry: &Entry, figure: Figure) -> Vec<Option<Span>> {
        self.window.columns(entry.history.as_deref(), figure, self.until)
    }

    fn axis(&self, pen: &mut Pen<'_>, plot: Rect) {
        let area = Rect { y: plot.bottom(), height: 1, ..plot };
        chart::axis(pen, area, &Axis { marks: &self.marks, cursor: self.cursor });
        pen.put(plot.x - LABEL + 1, area.y, LABEL - 1, &left(self.span, LABEL.into()), Role::Muted);
        pen.put(plot.right() + 1, area.y, FIGURES, &self.end, Role::Muted);
        chart::cursor(pen, plot, self.cursor);
    }
}

const fn plot_width(area: Rect) -> u16 {
    area.width.saturating_sub(LABEL + FIGURES + 1)
}

/// The greatest value of a chart, where there is any.
fn peak(columns: &[Option<Span>]) -> Option<f64> {
    columns.iter().any(Option::is_some).then(|| chart::top_of([columns]))
}

/// Reads and writes, each with its chart and its figures, on one scale.
fn throughput(pen: &mut Pen<'_>, area: Rect, entry: &Entry, rates: &Rates, time: &Time<'_>) {
    let rows = area.height / 2;
    let width = plot_width(area);
    let read = time.columns(entry, Figure::ReadBytes);
    let write = time.columns(entry, Figure::WriteBytes);
    let top = chart::top_of([read.as_slice(), write.as_slice()]);
    let both = [
        ("read", Role::Read, &read, rates.read_bytes_per_s, rates.read_await_ms, rates.read_size_bytes),
        ("write", Role::Write, &write, rates.write_bytes_per_s, rates.write_await_ms, rates.write_size_bytes),
    ];
    for ((name, role, columns, now, wait, size), i) in both.into_iter().zip(0u16..) {
        let y = area.y + i * rows;
        let plot = Rect { x: area.x + LABEL, y, width, height: rows };
        pen.put(area.x + 2, y + rows.saturating_sub(1), LABEL - 2, name, role);
        chart::bars(pen, plot, columns, top, role);
        let beside = [
            format!("{} MiB/s", right(&mib(now), 6)),
            format!("{} peak", right(&mib(peak(columns)), 6)),
            format!("{} ms {}_await", right(&wait.map_or_else(|| "-".into(), three_digits), 6), &name[..1]),
            format!(
                "{} {}-size",
                right(&size.map_or_else(|| "-".into(), |v| Bytes::rounded(v).short()), 6),
                &name[..1]
            ),
        ];
        for (y, text) in (y..y + rows).zip(&beside) {
            pen.put(plot.right() + 1, y, FIGURES, text, if y == plot.y { role } else { Role::Muted });
        }
    }
    time.axis(pen, Rect { x: area.x + LABEL, width, height: 2 * rows, ..area });
}

/// The mean time of an I/O, on a scale of its own.
fn waiting(pen: &mut Pen<'_>, area: Rect, entry: &Entry, rates: &Rates, time: &Time<'_>) {
    let columns = time.columns(entry, Figure::Await);
    let top = chart::top_of([columns.as_slice()]);
    let plot = Rect { x: area.x + LABEL, width: plot_width(area), ..area };
    pen.put(area.x + 2, area.bottom() - 1, LABEL - 2, "await", Role::Accent);
    chart::bars(pen, plot, &columns, top, Role::Accent);
    let shown = |v: Option<f64>| right(&v.map_or_else(|| "-".to_owned(), three_digits), 6);
    pen.put(plot.right() + 1, area.y, FIGURES, &format!("{} ms", shown(rates.await_ms())), Role::Accent);
    pen.put(plot.right() + 1, area.y + 1, FIGURES, &format!("{} peak", shown(peak(&columns))), Role::Muted);
    time.axis(pen, plot);
}

fn mib(v: Option<f64>) -> String {
    v.map_or_else(|| "-".to_owned(), mib_per_s)
}

fn title(pen: &mut Pen<'_>, area: Rect, entry: &Entry, model: &Model) {
    let d = &entry.device;
    let mut pieces = vec![piece(Role::Title, d.name().kernel())];
    if let Some(Chosen::Partition(_, name)) = &model.devices.chosen {
        pieces.push(piece(Role::Muted, format!("  (whole device of {name})")));
    }
    let facts = [
        d.dm_name.clone(),
        Some(d.kind.word().to_owned()),
        d.model.clone(),
        d.known_size().map(|s| s.to_string()),
    ];
    for fact in facts.into_iter().flatten().filter(|f| !f.is_empty()) {
        pieces.push(piece(Role::Muted, format!("  {fact}")));
    }
    let row = Rect { height: 1, ..area };
    let end = pen.rule(row, &pieces);
    // Of the past there is no total; and with one device it would say its figures twice.
    let several =
        model.fleet.entries().iter().filter(|e| !e.device.unused_or_uninteresting()).nth(1).is_some();
    if let Some(total) = model.total.as_ref().filter(|_| several && model.look.is_none()) {
        let [read, written] = [total.read_bytes_per_s, total.write_bytes_per_s].map(|v| right(&mib(v), 6));
        let row = Rect { width: row.width.saturating_sub(1), ..row };
        let long = format!(" all devices read {read} write {written} MiB/s ");
        let short = format!(" all r {read} w {written} MiB/s ");
        let fits = |text: &String| text.len() + usize::from(end) < usize::from(row.right());
        if let Some(text) = [long, short].into_iter().find(fits) {
            pen.line_right(row, end + 1, &[piece(Role::Muted, text)]);
        }
    }
}

/// What has no chart: waiting times, sizes, the queue, and the users.
fn below(pen: &mut Pen<'_>, area: Rect, entry: &Entry, r: &Rates, rows: u16) {
    let number = |v: Option<f64>| left(&v.map_or_else(|| "-".to_owned(), three_digits), 4);
    let bytes = |v: Option<f64>| left(&v.map_or_else(|| "-".to_owned(), |v| Bytes::rounded(v).short()), 5);
    let in_flight = r.in_flight.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let mut pairs = Vec::new();
    if rows < BESIDE {
        pairs.push(("await ms r", number(r.read_await_ms)));
        pairs.push(("w", number(r.write_await_ms)));
        pairs.push((" size r", bytes(r.read_size_bytes)));
        pairs.push(("w", bytes(r.write_size_bytes)));
    }
    pairs.push((" aqu-sz", number(r.aqu_sz)));
    pairs.push((" in flight", in_flight));
    let mut pieces = vec![piece(Role::Text, " ")];
    for (name, value) in pairs {
        pieces.push(piece(Role::Muted, format!(" {name} ")));
        pieces.push(piece(Role::Text, value));
    }
    pen.line(Rect { height: area.height.min(1), ..area }, &pieces);
    let mut facts = Vec::new();
    let used = used_by_words(&entry.device.used_by);
    if !used.is_empty() {
        facts.push(format!("used by {used}"));
    }
    if !entry.device.built_on.is_empty() {
        facts.push(on(entry));
    }
    if entry.device.read_only {
        facts.push("read only".to_owned());
    }
    if entry.device.queue.iostats == Some(false) {
        facts.push("iostats is 0: the kernel may count nothing for it".to_owned());
    }
    facts.extend(r.notes.iter().map(ToString::to_string));
    let row = Rect { y: area.y + 1, height: 1, ..area };
    if area.height > 1 && !facts.is_empty() {
        pen.line(row, &[piece(Role::Muted, format!("  {}", facts.join(", ")))]);
    }
}
