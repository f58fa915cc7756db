//! The dialogs, each in a frame above the screen.

use ratatui::layout::Rect;

use crate::app::actions;
use crate::app::dialogs::back::{self, BackDialog};
use crate::app::dialogs::changes::{ChangesDialog, DiffLine, Phase, REVERT_AFTER};
use crate::app::dialogs::edit::EditDialog;
use crate::app::dialogs::explain::Explanation;
use crate::app::dialogs::leave::Choice;
use crate::app::dialogs::{Dialog, help};
use crate::app::layout;
use crate::app::model::Model;
use crate::app::purpose::Purpose;
use crate::app::screens::experiment::start;
use crate::app::screens::settings::value_with_unit;
use crate::config::theme::Role;
use crate::experiment::sentence;
use crate::tuning::catalogue;
use crate::tuning::change::{ApplyReport, Outcome};

use super::choosing;
use super::text::{Pen, Piece, cut, left, piece, wrap};

pub(super) type Line = Vec<Piece<'static>>;

/// Columns of a dialog with text to read.
const WIDE: u16 = 76;
/// Columns of a question.
pub(super) const NARROW: u16 = 56;

pub(super) fn draw(dialog: &Dialog, model: &Model, pen: &mut Pen<'_>, area: Rect) {
    match dialog {
        Dialog::Help { top } => {
            let lines = help_lines(model);
            framed(pen, area, WIDE, "Keys", &lines, &[], *top);
        }
        Dialog::Changes(c) => {
            let width = usize::from(WIDE.min(area.width)).saturating_sub(4);
            let lines = changes_lines(c, model, width, pen.ascii);
            let foot = changes_foot(c, model);
            framed(pen, area, WIDE, &changes_title(c), &lines, &foot, c.top);
        }
        Dialog::Explain(e) => {
            framed(pen, area, WIDE, &e.title, &explained(e, pen.ascii, area), &[], e.top);
        }
        Dialog::Plan(p) => {
            let width = usize::from(WIDE.min(area.width)).saturating_sub(4);
            let (role, words) = match start::may_start(model) {
                Ok(()) => (Role::Accent, format!("Enter starts it: {}", p.takes)),
                Err(why) => (Role::Warning, why),
            };
            let mut foot = vec![Vec::new()];
            foot.extend(text(role, &words, width));
            framed(pen, area, WIDE, &p.text.title, &explained(&p.text, pen.ascii, area), &foot, p.text.top);
        }
        Dialog::Edit(e) => framed(pen, area, NARROW, &e.title, &edit_lines(e, area), &[], 0),
        Dialog::Columns(c) => choosing::columns(c, pen, area),
        Dialog::Order(o) => choosing::order(o, model, pen, area),
        Dialog::Back(b) => {
            let title = format!("{}: go back", b.device.name);
            framed(pen, area, NARROW, &title, &back_lines(b, model, area), &[], 0);
        }
        Dialog::Leave { choice, quit } => {
            let stop = if *quit { "stop it and leave" } else { "stop it" };
            let (title, what) = leave(model);
            let width = usize::from(NARROW.min(area.width)).saturating_sub(4);
            let mut lines = text(Role::Text, &what, width);
            lines.extend([Vec::new(), answers("stay", stop, *choice == Choice::Stop)]);
            framed(pen, area, NARROW, title, &lines, &[], 0);
        }
        Dialog::Busy { text: why, start, .. } => {
            let width = usize::from(NARROW.min(area.width)).saturating_sub(4);
            let mut lines = text(Role::Text, &format!("{why}."), width);
            lines.push(Vec::new());
            lines.push(answers("do not start", "start all the same", *start));
            framed(pen, area, NARROW, "The device is busy", &lines, &[], 0);
        }
    }
}

/// A frame with a title around lines; the box is as high as the lines, or as the screen. The lines of the foot stay in
/// sight while those above are scrolled.
fn framed(pen: &mut Pen<'_>, area: Rect, width: u16, title: &str, lines: &[Line], foot: &[Line], top: usize) {
    framed_within(pen, area, (width, u16::MAX), title, lines, foot, top);
}

/// The same in a box of at most this size.
pub(super) fn framed_within(
    pen: &mut Pen<'_>,
    area: Rect,
    (width, highest): (u16, u16),
    title: &str,
    lines: &[Line],
    foot: &[Line],
    top: usize,
) {
    let height = u16::try_from(lines.len() + foot.len()).unwrap_or(u16::MAX).saturating_add(2).min(highest);
    // The last line is left free: it has the keys of the dialog.
    let r = layout::dialog(area.width, area.height.saturating_sub(1), width, height);
    if r.width < 4 || r.height < 3 {
        return;
    }
    pen.clear(r);
    let (h, v, corners) = if pen.ascii {
        ("-", "|", ["+", "+", "+", "+"])
    } else {
        ("─", "│", ["┌", "┐", "└", "┘"])
    };
    let across = h.repeat(usize::from(r.width - 2));
    for (y, left, right) in [(r.y, corners[0], corners[1]), (r.bottom() - 1, corners[2], corners[3])] {
        pen.put(r.x, y, r.width, &format!("{left}{across}{right}"), Role::Border);
    }
    let title = cut(title, usize::from(r.width.saturating_sub(6)));
    pen.put(r.x + 2, r.y, r.width - 4, &format!(" {title} "), Role::Title);
    let whole = Rect { x: r.x + 2, y: r.y + 1, width: r.width - 4, height: r.height - 2 };
    for y in whole.y..whole.bottom() {
        pen.put(r.x, y, 1, v, Role::Border);
        pen.put(r.right() - 1, y, 1, v, Role::Border);
    }
    let footing = u16::try_from(foot.len()).unwrap_or(u16::MAX);
    let (inner, below) = layout::split(whole, whole.height.saturating_sub(footing));
    for (y, line) in (below.y..below.bottom()).zip(foot) {
        pen.line(Rect { y, height: 1, ..below }, line);
    }
    if inner.height == 0 {
        return;
    }
    let shown = usize::from(inner.height);
    let top = top.min(lines.len().saturating_sub(shown));
    for (y, line) in (inner.y..inner.bottom()).zip(&lines[top..]) {
        pen.line(Rect { y, height: 1, ..inner }, line);
    }
    if top > 0 {
        pen.put(r.right() - 2, inner.y, 1, "^", Role::Muted);
    }
    if top + shown < lines.len() {
        pen.put(r.right() - 2, inner.bottom() - 1, 1, "v", Role::Muted);
    }
}

/// Paragraphs with an empty line between.
fn explained(e: &Explanation, ascii: bool, area: Rect) -> Vec<Line> {
    let width = usize::from(WIDE.min(area.width)).saturating_sub(4);
    let mut lines: Vec<Line> = Vec::new();
    for paragraph in &e.paragraphs {
        let plain = if ascii { sentence::ascii(paragraph) } else { paragraph.clone() };
        lines.extend(text(Role::Text, &plain, width));
        lines.push(Vec::new());
    }
    lines.pop();
    lines
}

fn text(role: Role, words: &str, width: usize) -> Vec<Line> {
    wrap(words, width).into_iter().map(|l| vec![piece(role, l)]).collect()
}

/// The question whether to stop what goes on, and what that is.
fn leave(model: &Model) -> (&'static str, String) {
    if let Some(course) = model.course.as_ref().filter(|c| c.going()) {
        let device = &course.design().device;
        let what = format!(
            "{} on {device} is still going on. Stopped, all settings are put back, and what was measured until now is kept.",
            course.cells()
        );
        return ("Stop the experiment?", what);
    }
    let run = model.run.as_ref();
    let what = run.map_or_else(|| "a run".to_owned(), |r| format!("{} on {}", r.name, r.place.name));
    ("Stop the run?", format!("{what} is still going on."))
}

fn answers(harmless: &str, other: &str, other_chosen: bool) -> Line {
    let shown = |word: &str, chosen: bool| {
        let (role, text) = if chosen {
            (Role::Selected, format!("> {word} <"))
        } else {
            (Role::Muted, format!("  {word}  "))
        };
        piece(role, text)
    };
    vec![shown(harmless, !other_chosen), piece(Role::Text, "   "), shown(other, other_chosen)]
}

fn back_lines(b: &BackDialog, model: &Model, area: Rect) -> Vec<Line> {
    if b.looking {
        return vec![vec![piece(Role::Muted, "looking up what it was at boot")]];
    }
    let width = usize::from(NARROW.min(area.width)).saturating_sub(4);
    let mut lines = text(Role::Text, "Stages the way back and shows it before any write.", width);
    let staged = model.fleet.get(&b.device).map_or(0, |e| e.staged.len());
    if staged > 0 {
        lines.extend(text(Role::Warning, &format!("It takes the place of the {staged} staged now."), width));
    }
    lines.push(Vec::new());
    lines.extend(back::Choice::ALL.map(|choice| {
        let (word, what) = match choice {
            back::Choice::Stay => ("stay", ""),
            back::Choice::Start => ("back to start", "what was read here first"),
            back::Choice::Boot => ("back to boot", "before blktune changed anything"),
        };
        let chosen = choice == b.choice;
        let (role, ends) = if chosen { (Role::Selected, ["> ", " <"]) } else { (Role::Muted, ["  ", "  "]) };
        let word = format!("{}{word}{}", ends[0], ends[1]);
        let gap = " ".repeat(18usize.saturating_sub(word.len()));
        vec![piece(role, word), piece(Role::Muted, format!("{gap}{what}"))]
    }));
    lines
}

fn help_lines(model: &Model) -> Vec<Line> {
    let mut out = Vec::new();
    for (i, line) in help::lines(actions::screen_place(model)).into_iter().enumerate() {
        if line.keys.is_empty() {
            if i > 0 {
                out.push(Vec::new());
            }
            out.push(vec![piece(Role::Heading, line.text)]);
        } else {
            out.push(vec![piece(Role::Key, left(&line.keys, 18)), piece(Role::Text, line.text)]);
        }
    }
    out
}

fn edit_lines(e: &EditDialog, area: Rect) -> Vec<Line> {
    let width = usize::from(NARROW.min(area.width)).saturating_sub(4);
    let mut lines = vec![
        vec![piece(Role::Accent, "> "), piece(Role::Text, e.text.clone()), piece(Role::Accent, "_")],
        Vec::new(),
    ];
    lines.extend(text(Role::Muted, &e.hint, width));
    if let Some(why) = &e.refused {
        lines.extend(text(Role::Danger, why, width));
    }
    lines
}

fn changes_title(c: &ChangesDialog) -> String {
    let name = &c.device.name;
    match (c.purpose, &c.phase) {
        (purpose, Phase::Done(_)) => format!("{name}: what became of the {}", purpose.noun()),
        (Purpose::Apply, _) => format!("{name}: staged changes"),
        (Purpose::Undo, Phase::Looking) => format!("{name}: looking up the last change"),
        (Purpose::Undo, _) => format!("{name}: undo the last change"),
        (Purpose::Redo, Phase::Looking) => format!("{name}: looking up the last undo"),
        (Purpose::Redo, _) => format!("{name}: redo what was undone last"),
    }
}

const NAME: usize = 22;
/// Columns of the word before a line of a report; the longest is `also moved`.
const MARK: usize = 11;

fn changes_lines(c: &ChangesDialog, model: &Model, width: usize, ascii: bool) -> Vec<Line> {
    match &c.phase {
        Phase::Done(Ok(report)) => report_lines(report, width, ascii),
        Phase::Done(Err(why)) => text(Role::Danger, why, width),
        Phase::Looking => text(Role::Muted, "nothing is written before you have seen it", width),
        Phase::Ask | Phase::Working => {
            let mut lines = diff(&c.lines(&model.fleet), model, c, ascii);
            let effects = c.side_effects(&model.fleet);
            if !effects.is_empty() {
                lines.push(Vec::new());
                lines.push(vec![piece(Role::Heading, "What else happens")]);
                for e in effects {
                    lines.extend(bullet(Role::Muted, &e, width));
                }
            }
            lines
        }
    }
}

/// What stays in sight below the diff: whether it is kept, and what Enter does.
fn changes_foot(c: &ChangesDialog, model: &Model) -> Vec<Line> {
    match &c.phase {
        Phase::Looking | Phase::Done(Err(_)) => Vec::new(),
        Phase::Done(Ok(_)) => {
            let held = model.fleet.get(&c.device).and_then(|e| e.held_for(model.now));
            let Some(seconds) = held.filter(|_| c.revert_after.is_some()) else { return Vec::new() };
            vec![
                Vec::new(),
                vec![
                    piece(Role::Warning, format!("held: put back in {seconds} s; ")),
                    piece(Role::Key, "y"),
                    piece(Role::Text, " in the list or the settings keeps the changes"),
                ],
            ]
        }
        Phase::Ask | Phase::Working => {
            let mut lines = vec![Vec::new()];
            lines.extend(hold(c));
            lines.push(closing(c, model));
            lines
        }
    }
}

/// The line that says whether the changes are put back by themselves, with its key while it can be changed.
fn hold(c: &ChangesDialog) -> Option<Line> {
    c.may_hold().ok()?;
    let ask = matches!(c.phase, Phase::Ask);
    let held = c.revert_after.is_some();
    let role = if held { Role::Warning } else { Role::Text };
    let mark = if held { "x" } else { " " };
    let text = format!("    [{mark}] put back after {:.0} s unless confirmed with y", REVERT_AFTER.seconds());
    Some(vec![piece(Role::Key, if ask { "r" } else { " " }), piece(role, text)])
}

fn closing(c: &ChangesDialog, model: &Model) -> Line {
    if matches!(c.phase, Phase::Working) {
        return match c.may_give_up(&model.fleet, model.now) {
            Err(why) => vec![piece(Role::Accent, why)],
            Ok(()) => vec![
                piece(Role::Accent, "waiting for the queue     "),
                piece(Role::Key, "Esc"),
                piece(Role::Text, " stops waiting     "),
                piece(Role::Key, "Enter"),
                piece(Role::Text, " leaves it going"),
            ],
        };
    }
    if let Err(why) = c.may_write(&model.fleet, model.read_only()) {
        return vec![piece(Role::Warning, why)];
    }
    let what = match c.purpose {
        Purpose::Apply => " writes this, all or nothing",
        Purpose::Undo => " puts this back, all or nothing",
        Purpose::Redo => " does this again, all or nothing",
    };
    vec![
        piece(Role::Key, "Enter"),
        piece(Role::Text, what),
        piece(Role::Text, "     "),
        piece(Role::Key, "Esc"),
        piece(Role::Text, " writes nothing"),
    ]
}

fn unit_of(name: &str, model: &Model, c: &ChangesDialog) -> &'static str {
    let state = model.fleet.get(&c.device).and_then(|e| e.queue.as_ref());
    state.and_then(|s| catalogue::rows(s, None).into_iter().find(|r| r.name == name)).map_or("", |r| r.unit)
}

/// The diff in columns as wide as their longest text.
fn diff(lines: &[DiffLine], model: &Model, c: &ChangesDialog, ascii: bool) -> Vec<Line> {
    let shown: Vec<[String; 3]> = lines
        .iter()
        .map(|l| {
            let unit = unit_of(&l.name, model, c);
            let from =
                l.from.as_deref().map_or_else(|| "-".to_owned(), |v| value_with_unit(&l.name, unit, v));
            let stays = l.from.as_ref() == Some(&l.to);
            let to = value_with_unit(&l.name, unit, &l.to);
            [l.name.clone(), from, if stays { "stays, also if the others move it".to_owned() } else { to }]
        })
        .collect();
    let widest = |i: usize| shown.iter().map(|l| l[i].chars().count()).max().unwrap_or(0).min(28);
    let (name, from) = (widest(0), widest(1));
    let line = |[n, f, t]: &[String; 3]| {
        vec![
            piece(Role::Text, left(n, name)),
            piece(Role::Muted, format!("  {}", left(f, from))),
            piece(Role::Muted, arrow(ascii)),
            piece(Role::Staged, t.clone()),
        ]
    };
    shown.iter().map(line).collect()
}

const fn arrow(ascii: bool) -> &'static str {
    if ascii { " -> " } else { " → " }
}

fn bullet(role: Role, words: &str, width: usize) -> Vec<Line> {
    let lines = wrap(words, width.saturating_sub(2));
    let line =
        |(i, l): (usize, String)| vec![piece(role, format!("{}{l}", if i == 0 { "- " } else { "  " }))];
    lines.into_iter().enumerate().map(line).collect()
}

fn report_lines(report: &ApplyReport, width: usize, ascii: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for c in &report.changes {
        let (role, word) = match c.outcome {
            Outcome::Applied => (Role::Good, "applied"),
            Outcome::Clamped => (Role::Warning, "clamped"),
            Outcome::Refused => (Role::Danger, "refused"),
            Outcome::Unchanged => (Role::Muted, "unchanged"),
        };
        let or_dash = |v: &Option<String>| v.clone().unwrap_or_else(|| "-".to_owned());
        let values = format!("{}{}{}", or_dash(&c.before), arrow(ascii), or_dash(&c.effective));
        let mut line = vec![
            piece(role, left(word, MARK)),
            piece(Role::Text, left(&c.name, NAME)),
            piece(Role::Text, values),
        ];
        if c.effective.as_deref() != Some(c.requested.as_str()) {
            line.push(piece(Role::Muted, format!("  asked for {}", c.requested)));
        }
        lines.push(line);
        if let Some(message) = &c.message {
            let indent = " ".repeat(MARK);
            let room = width.saturating_sub(MARK);
            lines.extend(
                wrap(message, room).into_iter().map(|l| vec![piece(Role::Muted, format!("{indent}{l}"))]),
            );
        }
    }
    for s in &report.side_effects {
        let (Some(before), Some(after)) = (&s.before, &s.after) else { continue };
        lines.push(vec![
            piece(Role::Changed, left("also moved", MARK)),
            piece(Role::Text, left(&s.name, NAME)),
            piece(Role::Text, format!("{before}{}{after}", arrow(ascii))),
        ]);
    }
    let gone = report.side_effects.iter().filter(|s| s.after.is_none()).count();
    let come = report.side_effects.iter().filter(|s| s.before.is_none()).count();
    for (n, what) in [(gone, "are gone with the former scheduler"), (come, "came with the scheduler")] {
        if n > 0 {
            lines.push(vec![
                piece(Role::Changed, left("also moved", MARK)),
                piece(Role::Text, format!("{n} tunables {what}")),
            ]);
        }
    }
    if report.rolled_back {
        lines.push(Vec::new());
        lines.extend(text(
            Role::Warning,
            "rolled back: one change was refused, so everything was put back",
            width,
        ));
    }
    for what in &report.not_restored {
        lines.extend(text(Role::Danger, &format!("could not be put back: {what}"), width));
    }
    if lines.is_empty() {
        lines.push(vec![piece(Role::Muted, "nothing had to be written")]);
    }
    lines
}
