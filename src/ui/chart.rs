//! Bars made of block elements, and marks above them for a second series.

use ratatui::layout::Rect;

use crate::app::timeline::Span;
use crate::config::theme::Role;

use super::text::Pen;

const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const PLAIN: [&str; 8] = [".", ".", ".", ":", ":", ":", "#", "#"];

/// The glyph of a full bar, for the legend.
pub(super) const fn bar_glyph(ascii: bool) -> &'static str {
    if ascii { "#" } else { "█" }
}

/// The glyph of a mark.
pub(super) const fn mark_glyph(ascii: bool) -> &'static str {
    if ascii { "o" } else { "◆" }
}

/// Height of a value in eighths of a row: 0 for zero, at least 1 for anything above it.
fn eighths(value: f64, top: f64, rows: u16) -> u32 {
    if !(value > 0.0 && top > 0.0) {
        return 0;
    }
    let all = u32::from(rows) * 8;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 8 times the rows
    let n = (value / top * f64::from(all)).round().clamp(1.0, f64::from(all)) as u32;
    n
}

/// Draws a column of bars for every column of the area. A column is solid up to its least value and shaded up to its
/// greatest. Zero is a thin line, unknown is nothing.
pub(super) fn bars(pen: &mut Pen<'_>, area: Rect, columns: &[Option<Span>], top: f64, role: Role) {
    let glyphs = if pen.ascii { &PLAIN } else { &BLOCKS };
    let shade = if pen.ascii { ":" } else { "░" };
    for (x, span) in (area.left()..area.right()).zip(columns) {
        let Some(span) = span else { continue };
        let low = eighths(span.low, top, area.height);
        let high = eighths(span.high, top, area.height);
        for row in 0..area.height {
            let y = area.bottom() - 1 - row;
            let floor = u32::from(row) * 8;
            let (glyph, role) = match (low.saturating_sub(floor), high.saturating_sub(floor)) {
                (_, 0) if row == 0 => (if pen.ascii { "_" } else { BLOCKS[0] }, Role::Border),
                (_, 0) => break,
                (0, _) => (shade, role),
                // The index is below 8.
                (solid, _) => (glyphs[solid.min(8) as usize - 1], role),
            };
            pen.put(x, y, 1, glyph, role);
        }
    }
}

/// Draws one mark a column at the column's greatest value.
pub(super) fn marks(pen: &mut Pen<'_>, area: Rect, columns: &[Option<Span>], top: f64, role: Role) {
    if area.height == 0 {
        return;
    }
    let glyph = mark_glyph(pen.ascii);
    for (x, span) in (area.left()..area.right()).zip(columns) {
        let Some(span) = span else { continue };
        let row = eighths(span.high, top, area.height).saturating_sub(1) / 8;
        let row = u16::try_from(row).unwrap_or(0).min(area.height - 1);
        pen.put(x, area.bottom() - 1 - row, 1, glyph, role);
    }
}

/// What is on the time axis below a chart.
pub(super) struct Axis<'a> {
    /// Columns in which something happened.
    pub marks: &'a [usize],
    /// The column of the moment that is looked at.
    pub cursor: Option<usize>,
}

/// Draws the axis into the first row of an area.
pub(super) fn axis(pen: &mut Pen<'_>, area: Rect, axis: &Axis<'_>) {
    let (line, mark, cursor) = if pen.ascii { ("-", "^", "|") } else { ("─", "▲", "┃") };
    pen.put(area.x, area.y, area.width, &line.repeat(usize::from(area.width)), Role::Border);
    let marks = axis.marks.iter().map(|c| (*c, mark, Role::Changed));
    for (column, glyph, role) in marks.chain(axis.cursor.map(|c| (c, cursor, Role::Accent))) {
        if let Some(column) = u16::try_from(column).ok().filter(|c| *c < area.width) {
            pen.put(area.x + column, area.y, 1, glyph, role);
        }
    }
}

/// Shows where the moment is that is looked at, over what is drawn.
pub(super) fn cursor(pen: &mut Pen<'_>, plot: Rect, column: Option<usize>) {
    if let Some(column) = column.and_then(|c| u16::try_from(c).ok()).filter(|c| *c < plot.width) {
        pen.tint(Rect { x: plot.x + column, width: 1, ..plot }, Role::Selected);
    }
}

/// The greatest value of several series, for a scale they share.
pub(super) fn top_of<'a>(series: impl IntoIterator<Item = &'a [Option<Span>]>) -> f64 {
    series.into_iter().flatten().flatten().map(|s| s.high).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::theme::Theme;
    use ratatui::buffer::Buffer;

    fn drawn(values: &[Option<(f64, f64)>], rows: u16) -> Vec<String> {
        let width = u16::try_from(values.len()).unwrap();
        let area = Rect::new(0, 0, width, rows);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::default();
        let columns: Vec<_> = values.iter().map(|v| v.map(|(low, high)| Span { low, high })).collect();
        bars(&mut Pen::new(&mut buffer, &theme, false), area, &columns, 16.0, Role::Read);
        (0..rows).map(|y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect()).collect()
    }

    #[test]
    fn height_tells_the_value_and_a_gap_is_no_zero() {
        let flat = |v: f64| Some((v, v));
        let lines = drawn(&[flat(16.0), flat(8.0), flat(0.01), flat(0.0), None, Some((4.0, 12.0))], 2);
        assert_eq!(lines, ["█    ░", "██▁▁ ▄"]);
    }
}
