//! The trials of an experiment in the order of time, a mark each: a drift, a jump and what is void are seen at a glance.

use ratatui::layout::Rect;

use crate::app::screens::experiment::course::Course;
use crate::app::screens::experiment::tables::head;
use crate::config::theme::Role;
use crate::experiment::estimate::{in_block, looks_of};
use crate::experiment::observation::TRIALS_OF_TWO;
use crate::experiment::schedule::BASELINE_TRIALS;
use crate::experiment::trial::{self, Trial};

use super::text::{Pen, Piece, cut, piece, right};

/// What a mark stands for. Each has a character of its own, so that none is told by its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Baseline,
    Candidate,
    /// The settings that were found.
    Found,
    /// Discarded: lead-ins, and rounds before everything.
    Discarded,
    Void,
}

impl Mark {
    const fn look(self, ascii: bool) -> (Role, &'static str) {
        match (self, ascii) {
            (Mark::Baseline, false) => (Role::Engine, "○"),
            (Mark::Baseline, true) => (Role::Engine, "o"),
            (Mark::Candidate, false) => (Role::Kernel, "●"),
            (Mark::Candidate, true) => (Role::Kernel, "#"),
            (Mark::Found, _) => (Role::Text, "+"),
            (Mark::Discarded, false) => (Role::Muted, "·"),
            (Mark::Discarded, true) => (Role::Muted, "."),
            (Mark::Void, false) => (Role::Danger, "×"),
            (Mark::Void, true) => (Role::Danger, "x"),
        }
    }
}

fn mark(course: &Course, t: &Trial) -> Mark {
    match (t.plan.role, t.plan.cell) {
        _ if course.is_void(t) => Mark::Void,
        (trial::Role::LeadIn | trial::Role::Precondition, _) => Mark::Discarded,
        (_, Some(0)) => Mark::Baseline,
        (_, Some(_)) => Mark::Candidate,
        (_, None) => Mark::Found,
    }
}

/// Draws them, with what the marks mean above and the numbers of the trials below.
pub(super) fn draw(course: &Course, pen: &mut Pen<'_>, area: Rect) {
    let (title, below) = (Rect { height: 1, ..area }, area.height.saturating_sub(2));
    pen.rule(title, &legend(course, pen.ascii, usize::from(area.width).saturating_sub(4)));
    let metric = course.design().metric;
    let reading = |t: &Trial| t.readings.get(&metric).copied().filter(|v| v.is_finite() && *v > 0.0);
    let values: Vec<f64> = course.trials.iter().filter_map(reading).collect();
    let Some((low, high)) = range(&values, course.design().margin) else {
        pen.put(area.x + 1, area.y + 1, area.width, "no trial was measured yet", Role::Muted);
        return;
    };
    let labels = [metric.figure(high), metric.figure(low)];
    let wide = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let left = u16::try_from(wide).unwrap_or(0) + 2;
    let plot =
        Rect { x: area.x + left, y: area.y + 1, width: area.width.saturating_sub(left + 1), height: below };
    if plot.width == 0 || plot.height == 0 {
        return;
    }
    for (label, y) in labels.iter().zip([plot.y, plot.bottom() - 1]) {
        pen.put(area.x + 1, y, left, &right(label, wide), Role::Muted);
    }
    let last = last_number(course);
    let column =
        |number: u32| plot.x + share(f64::from(number.saturating_sub(1)) + 0.5, f64::from(last), plot.width);
    axis(course, pen, plot, last, &column);
    for t in &course.trials {
        let (role, glyph) = mark(course, t).look(pen.ascii);
        let y = match reading(t) {
            Some(v) => plot.bottom() - 1 - share(v - low, high - low, plot.height),
            // Without a reading it stands on the axis.
            None => plot.bottom(),
        };
        pen.put(column(t.plan.number), y, 1, glyph, role);
    }
}

/// Where a part of a whole is among so many columns or rows.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a share of a width
fn share(part: f64, whole: f64, width: u16) -> u16 {
    let at = f64::from(width) * (part / whole.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    (at as u16).min(width.saturating_sub(1))
}

/// Least and greatest; never closer than the margin to either side, so that noise does not look like much.
fn range(values: &[f64], margin: f64) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let middle = f64::midpoint(low, high);
    Some((low.min(middle * (1.0 - margin)), high.max(middle * (1.0 + margin))))
}

/// The number of the last trial that is drawn: of those that were run, or while it goes on of those up to the next look.
fn last_number(course: &Course) -> u32 {
    let done = course.trials.last().map_or(0, |t| t.plan.number);
    if !course.going() {
        return done.max(1);
    }
    let design = course.design();
    let far = course.far();
    let next = looks_of(design).into_iter().find(|l| *l > far.blocks).unwrap_or(far.blocks);
    let to_come = match far.to_look {
        Some(_) => ((next - far.blocks) * in_block(design)).saturating_sub(course.in_block()),
        // No more blocks come.
        None => BASELINE_TRIALS.saturating_sub(course.good(trial::Role::BaselineAfter)),
    };
    let to_come = u32::try_from(to_come).unwrap_or(0);
    done.saturating_add(to_come).max(1)
}

fn axis(course: &Course, pen: &mut Pen<'_>, plot: Rect, last: u32, column: &dyn Fn(u32) -> u16) {
    let (line, look) = if pen.ascii { ("-", "^") } else { ("─", "▲") };
    let y = plot.bottom();
    pen.put(plot.x, y, plot.width, &line.repeat(usize::from(plot.width)), Role::Border);
    // A look stands behind the last trial of its block.
    let mut blocks = 0;
    let ends_block = |t: &Trial| t.plan.position.map(usize::from) == Some(TRIALS_OF_TWO);
    for t in course.trials.iter().filter(|t| ends_block(t) && !course.is_void(t)) {
        blocks += 1;
        if looks_of(course.design()).contains(&blocks) {
            pen.put(column(t.plan.number), y, 1, look, Role::Accent);
        }
    }
    let words = format!(" trial {last}");
    let wide = u16::try_from(words.len()).unwrap_or(0);
    pen.put(plot.right().saturating_sub(wide), y, wide, &words, Role::Muted);
    pen.put(plot.x, y, 2, "1", Role::Muted);
}

fn legend(course: &Course, ascii: bool, width: usize) -> Vec<Piece<'static>> {
    let design = course.design();
    let name = |i: usize| design.cells.get(i).map_or_else(String::new, |c| cut(&c.name, 16));
    let look = if ascii { "^" } else { "▲" };
    let mut pieces = vec![piece(Role::Heading, format!("{} by trial ", head(design.metric)))];
    let marks = [
        (Mark::Baseline, name(0)),
        (Mark::Candidate, name(1)),
        (Mark::Found, "as found".to_owned()),
        (Mark::Discarded, "lead-in".to_owned()),
        (Mark::Void, "void".to_owned()),
    ];
    for (mark, word) in marks {
        let (role, glyph) = mark.look(ascii);
        pieces.push(piece(role, format!(" {glyph}")));
        pieces.push(piece(Role::Muted, format!(" {word}")));
    }
    pieces.push(piece(Role::Accent, format!(" {look}")));
    pieces.push(piece(Role::Muted, " look"));
    let mut left = width;
    // No half of a word at the end.
    pieces.retain(|(_, text)| {
        let n = text.chars().count();
        let fits = n <= left;
        left = if fits { left - n } else { 0 };
        fits
    });
    pieces
}
