//! The question how far to go back. The harmless answer comes first, and the others only lead to the diff.

use crate::sys::device::DeviceId;

use crate::app::back;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::changes::ChangesDialog;
use crate::app::dialogs::explain::Explanation;
use crate::app::effect::Effect;
use crate::app::message::Level;
use crate::app::model::Model;
use crate::app::purpose::Purpose;
use crate::app::screens::settings;
use crate::sys::queue::QueueState;

/// How far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Not at all.
    #[default]
    Stay,
    /// To what was read first.
    Start,
    /// To what there was before the first change since boot.
    Boot,
}

impl Choice {
    /// All, in the order they are shown.
    pub const ALL: [Choice; 3] = [Choice::Stay, Choice::Start, Choice::Boot];

    /// The next one, round and round.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Choice::Stay => Choice::Start,
            Choice::Start => Choice::Boot,
            Choice::Boot => Choice::Stay,
        }
    }

    /// The one before, round and round.
    #[must_use]
    pub const fn previous(self) -> Self {
        self.next().next()
    }
}

/// The dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackDialog {
    /// The device.
    pub device: DeviceId,
    /// What Enter does.
    pub choice: Choice,
    /// The state at boot is being looked up. Enter only closes it then, so that none can answer what was not shown.
    pub looking: bool,
}

impl BackDialog {
    /// The dialog as it opens.
    #[must_use]
    pub fn new(device: DeviceId) -> Self {
        Self { device, choice: Choice::default(), looking: false }
    }
}

/// Asks about the device that is meant.
pub fn open(model: &mut Model) {
    let device = settings::subject(model).map(|e| e.device.id.clone());
    model.dialogs.extend(device.map(|d| Dialog::Back(BackDialog::new(d))));
}

/// Enter was pressed in the dialog, which is off the stack already.
pub fn answer(model: &mut Model, mut dialog: BackDialog) -> Vec<Effect> {
    match dialog.choice {
        _ if dialog.looking => {}
        Choice::Stay => {}
        Choice::Start => {
            let first = model.fleet.get(&dialog.device).and_then(|e| e.first_queue.clone());
            match first {
                Some(goal) => {
                    let diff = diff(model, &dialog.device, &goal, "what it was at the start");
                    model.dialogs.extend(diff);
                }
                None => model.hint(format!("the settings of {} were not read yet", dialog.device.name)),
            }
        }
        Choice::Boot => {
            let device = dialog.device.clone();
            dialog.looking = true;
            model.dialogs.push(Dialog::Back(dialog));
            return vec![Effect::ReadBoot { device }];
        }
    }
    Vec::new()
}

/// The state at boot was looked up: the dialog that waits for it becomes the diff, or the reason why there is none. If
/// it was closed meanwhile the answer is of no use.
pub fn take_boot(model: &mut Model, device: &DeviceId, state: Result<QueueState, String>) {
    let waits = |d: &Dialog| matches!(d, Dialog::Back(b) if b.looking && b.device.same_device(device));
    let Some(at) = model.dialogs.iter().position(waits) else { return };
    let next = match state {
        Ok(goal) => diff(model, device, &goal, "what it was before its first change since boot"),
        Err(why) => {
            model.say(Level::Info, why.clone());
            let title = format!("{}: back to boot", device.name);
            Some(Dialog::Explain(Explanation::new(title, vec![why])))
        }
    };
    match next {
        Some(next) => model.dialogs[at] = next,
        None => drop(model.dialogs.remove(at)),
    }
}

/// Stages the way back, in place of whatever was staged, and gives the diff of it; None with a hint if there is none.
fn diff(model: &mut Model, device: &DeviceId, goal: &QueueState, what: &str) -> Option<Dialog> {
    let entry = model.fleet.get_mut(device).filter(|e| e.live() && e.work.is_none());
    let Some(entry) = entry else {
        model.hint(format!("{} is gone or still being written", device.name));
        return None;
    };
    let differences = back::differences(entry, goal);
    if differences.is_empty() {
        model.hint(format!("{} is {what} already", device.name));
        return None;
    }
    entry.staged = differences;
    Some(Dialog::Changes(ChangesDialog::new(device.clone(), Purpose::Apply)))
}
