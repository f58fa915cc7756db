//! Screen 2: all settings of one queue, and the values staged for it.

use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::tuning::catalogue::{self, Group, Legal, SettingRow};

use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::dialogs::explain::Explanation;
use crate::app::effect::Effect;
use crate::app::fleet::Entry;
use crate::app::model::{Model, Screen};

use super::devices;

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct SettingsScreen {
    /// Whose settings.
    pub device: Option<DeviceId>,
    /// The partition through which they were opened, if so.
    pub partition: Option<KernelName>,
    /// The setting under the cursor, by name: rows come and go with the scheduler.
    pub setting: Option<String>,
    /// First line shown.
    pub top: usize,
    pub(crate) row: usize,
}

/// A line of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The heading of a group.
    Heading(Group),
    /// A setting.
    Setting(Box<SettingRow>),
}

impl Line {
    fn is(&self, name: &str) -> bool {
        matches!(self, Line::Setting(r) if r.name == name)
    }
}

/// The heading of a group.
#[must_use]
pub const fn group_title(group: Group) -> &'static str {
    match group {
        Group::Scheduler => "SCHEDULER",
        Group::Queue => "REQUEST QUEUE",
        Group::Limits => "HARDWARE LIMITS (read only)",
    }
}

/// The device whose settings are shown.
#[must_use]
pub fn entry(model: &Model) -> Option<&Entry> {
    model.fleet.get(model.settings.device.as_ref()?)
}

/// All lines, in groups.
#[must_use]
pub fn lines(model: &Model) -> Vec<Line> {
    let Some(queue) = entry(model).and_then(|e| e.queue.as_ref()) else { return Vec::new() };
    let mut rows = catalogue::rows(queue, model.read_only());
    rows.sort_by_key(|r| r.group);
    let mut out = Vec::with_capacity(rows.len() + 3);
    let mut group = None;
    for row in rows {
        if group != Some(row.group) {
            group = Some(row.group);
            out.push(Line::Heading(row.group));
        }
        out.push(Line::Setting(Box::new(row)));
    }
    out
}

/// The setting under the cursor.
#[must_use]
pub fn current(model: &Model) -> Option<SettingRow> {
    let name = model.settings.setting.as_ref()?;
    lines(model).into_iter().find_map(|l| match l {
        Line::Setting(r) if r.name == *name => Some(*r),
        _ => None,
    })
}

/// Opens the settings of what is chosen in the list.
pub fn open(model: &mut Model) {
    let partition = match &model.devices.chosen {
        Some(devices::Chosen::Partition(_, name)) => Some(name.clone()),
        _ => None,
    };
    if let Some(id) = devices::chosen_device(model).map(|e| e.device.id.clone()) {
        let same = model.settings.device.as_ref().is_some_and(|d| d.same_device(&id));
        if !same {
            model.settings = SettingsScreen::default();
        }
        model.settings.device = Some(id);
        model.settings.partition = partition;
        model.screen = Screen::Settings;
    }
}

/// Moves the cursor by some settings; headings are passed over.
pub fn move_by(model: &mut Model, by: isize) {
    let lines = lines(model);
    let settings: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(i, l)| match l {
            Line::Setting(r) => Some((i, r.name.as_str())),
            Line::Heading(_) => None,
        })
        .collect();
    let Some(last) = settings.len().checked_sub(1) else { return };
    let at = settings.iter().position(|(i, _)| *i == model.settings.row).unwrap_or(0);
    let (row, name) = settings[at.saturating_add_signed(by).min(last)];
    let name = name.to_owned();
    model.settings.row = row;
    model.settings.setting = Some(name);
}

/// Puts the cursor on a setting that exists, and scrolls to it, with the heading of the first in view.
pub fn settle(model: &mut Model, height: usize) {
    let lines = lines(model);
    let kept = model.settings.setting.as_ref().and_then(|n| lines.iter().position(|l| l.is(n)));
    let near = |from: usize| {
        let from = from.min(lines.len().saturating_sub(1));
        (from..lines.len()).chain((0..from).rev()).find(|&i| matches!(lines[i], Line::Setting(_)))
    };
    let row = kept.or_else(|| near(model.settings.row));
    model.settings.setting = row.and_then(|i| match &lines[i] {
        Line::Setting(r) => Some(r.name.clone()),
        Line::Heading(_) => None,
    });
    model.settings.row = row.unwrap_or(0);
    let row = model.settings.row;
    let mut top = super::scrolled(model.settings.top, row, lines.len(), height);
    if row == 1
        || (top > 0 && row == top && matches!(lines.get(top - 1), Some(Line::Heading(_))) && height > 1)
    {
        top = top.saturating_sub(1);
    }
    model.settings.top = top;
}

/// Whether the setting under the cursor can be staged.
///
/// # Errors
/// Why not.
pub fn can_stage(model: &Model) -> Result<(), String> {
    let Some(entry) = entry(model) else { return Err("no device is open".to_owned()) };
    if !entry.live() {
        return Err(format!("{} is gone", entry.device.name()));
    }
    let Some(row) = current(model) else { return Err("there is no setting here".to_owned()) };
    if row.writable {
        Ok(())
    } else {
        let why = row.why_not.unwrap_or_else(|| "it can not be changed here".to_owned());
        Err(format!("{}: {why}", row.name))
    }
}

/// Whether something is staged for the setting under the cursor.
///
/// # Errors
/// Why not.
pub fn can_unstage(model: &Model) -> Result<(), String> {
    let staged =
        entry(model).zip(model.settings.setting.as_ref()).is_some_and(|(e, s)| e.staged.contains_key(s));
    if staged { Ok(()) } else { Err("nothing is staged here".to_owned()) }
}

/// The device that `c`, `u` and the like are about: the open one, or the chosen one in the list.
#[must_use]
pub fn subject(model: &Model) -> Option<&Entry> {
    match model.screen {
        Screen::Settings => entry(model),
        _ => devices::chosen_device(model),
    }
}

fn can_write(model: &Model) -> Result<&Entry, String> {
    let Some(entry) = subject(model) else { return Err("choose a device first".to_owned()) };
    if !entry.live() {
        return Err(format!("{} is gone", entry.device.name()));
    }
    if let Some(why) = model.read_only() {
        return Err(why.to_owned());
    }
    if entry.work.is_some() {
        return Err(format!("{} is still being written", entry.device.name()));
    }
    Ok(entry)
}

/// Whether there are staged changes to review.
///
/// # Errors
/// Why not.
pub fn can_review(model: &Model) -> Result<(), String> {
    let entry = can_write(model)?;
    if entry.staged.is_empty() {
        return Err(format!("nothing is staged for {}; Space on a setting stages", entry.device.name()));
    }
    Ok(())
}

/// Whether an undo, a redo or a way back can be asked for.
///
/// # Errors
/// Why not.
pub fn can_go_back(model: &Model) -> Result<(), String> {
    can_write(model).map(|_| ())
}

/// Whether there are changes that would be put back, to be kept.
///
/// # Errors
/// Why not.
pub fn can_confirm(model: &Model) -> Result<(), String> {
    let Some(entry) = subject(model) else { return Err("choose a device first".to_owned()) };
    match entry.held {
        Some(_) => Ok(()),
        None => Err(format!("{}: nothing waits to be put back", entry.device.name())),
    }
}

/// Keeps the changes that would be put back.
#[must_use]
pub fn confirm(model: &Model) -> Vec<Effect> {
    let device = subject(model).map(|e| e.device.id.clone());
    device.map(|device| Effect::Confirm { device }).into_iter().collect()
}

/// Stages a value for the setting under the cursor; the value it has already unstages.
pub fn stage(model: &mut Model, row: &SettingRow, value: String) {
    let Some(id) = model.settings.device.clone() else { return };
    let Some(entry) = model.fleet.get_mut(&id) else { return };
    let other = row.value.as_deref() != Some(value.as_str());
    entry.stage(&row.name, other.then_some(value));
}

/// Drops what is staged for the setting under the cursor.
pub fn unstage(model: &mut Model) {
    let Some((id, name)) = model.settings.device.clone().zip(model.settings.setting.clone()) else { return };
    if let Some(entry) = model.fleet.get_mut(&id) {
        entry.stage(&name, None);
    }
}

/// Stages the next or previous legal value.
pub fn step(model: &mut Model, forward: bool) {
    let Some(row) = current(model) else { return };
    let staged = entry(model).and_then(|e| e.staged.get(&row.name)).cloned();
    match catalogue::step(&row, staged.as_deref(), forward) {
        Some(value) => stage(model, &row, value),
        None => model.hint(format!("{}: there is no other value to step to; e types one", row.name)),
    }
}

/// The dialog that types a value for the setting under the cursor.
#[must_use]
pub fn typed(model: &Model) -> Option<EditDialog> {
    let row = current(model)?;
    let staged = entry(model)?.staged.get(&row.name).cloned();
    Some(EditDialog {
        title: if row.unit.is_empty() { row.name.clone() } else { format!("{} ({})", row.name, row.unit) },
        hint: format!("legal: {}", row.legal_text),
        text: staged.or(row.value).unwrap_or_default(),
        purpose: Purpose::Setting(row.name),
        refused: None,
    })
}

/// Whether a typed text is a legal value.
///
/// # Errors
/// Why not.
pub fn check(row: &SettingRow, text: &str) -> Result<String, String> {
    let text = text.trim();
    match &row.legal {
        Legal::Choice(values) if values.iter().any(|v| v == text) => Ok(text.to_owned()),
        Legal::Choice(values) => Err(format!("{text:?} is none of: {}", values.join(", "))),
        Legal::Number { min, max, .. } => {
            let n: i128 = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
            if n < i128::from(*min) {
                return Err(format!("{n} is below {min}"));
            }
            match max {
                Some(max) if n > i128::from(*max) => Err(format!("{n} is above {max}")),
                _ => Ok(n.to_string()),
            }
        }
        Legal::Text => match row.legal.refusal(&row.name, text) {
            Some(why) => Err(why),
            None => Ok(text.to_owned()),
        },
        Legal::Fixed => Err(row.why_not.clone().unwrap_or_else(|| "it can not be changed".to_owned())),
    }
}

/// The explanation of the setting under the cursor.
#[must_use]
pub fn explanation(model: &Model) -> Option<Explanation> {
    let row = current(model)?;
    let mut paragraphs = vec![row.explanation.to_owned()];
    paragraphs.push(match row.value.as_deref() {
        Some(v) => format!("Reads {}.", with_unit(&row, v)),
        None => "The kernel does not let it be read.".to_owned(),
    });
    if !row.legal_text.is_empty() {
        paragraphs.push(format!("Legal: {}.", row.legal_text));
    }
    if let Some(why) = &row.why_not {
        paragraphs.push(format!("Not changeable here: {why}."));
    }
    if let Some((by, was)) = entry(model).and_then(|e| e.changed(&row.name)) {
        paragraphs.push(format!("It read {} at the start; {}.", with_unit(&row, &was), changed_words(by)));
    }
    Some(Explanation::new(row.name, paragraphs))
}

/// Who changed it, in words.
#[must_use]
pub const fn changed_words(by: crate::app::fleet::ChangedBy) -> &'static str {
    use crate::app::fleet::ChangedBy;
    match by {
        ChangedBy::Us => "changed here",
        ChangedBy::Held => "held, put back unless confirmed",
        ChangedBy::SideEffect => "moved with a change made here",
        ChangedBy::Experiment => "changed by the experiment, put back when it ends",
        ChangedBy::Other => "changed by something else",
    }
}

/// A value with its unit; read-ahead with its sectors beside it.
#[must_use]
pub fn with_unit(row: &SettingRow, value: &str) -> String {
    value_with_unit(&row.name, row.unit, value)
}

/// The same from its parts.
#[must_use]
pub fn value_with_unit(name: &str, unit: &str, value: &str) -> String {
    if name == "read_ahead_kb"
        && let Ok(kib) = value.parse::<u64>()
    {
        return format!("{value} KiB ({} sectors)", crate::units::Kib(kib).sectors().0);
    }
    if unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}
