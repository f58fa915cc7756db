//! What is done when something that was asked for has come to its end.

use crate::sys::device::DeviceId;
use crate::trial::result::TrialResult;
use crate::tuning::change::{ApplyReport, Outcome};

use super::dialogs::Dialog;
use super::dialogs::changes::{ChangesDialog, Phase};
use super::effect::Effect;
use super::message::{Level, UndoStep};
use super::model::Model;
use super::purpose::Purpose;

/// Changes, an undo or a redo ended: the dialog that asked for them shows what became of them. If it was closed meanwhile, it
/// comes back, below whatever is open, so that no key goes to it unseen.
pub(super) fn changes_done(
    model: &mut Model,
    device: &DeviceId,
    result: Result<ApplyReport, String>,
    purpose: Purpose,
) -> Vec<Effect> {
    let mut revert_after = None;
    if let Some(entry) = model.fleet.get_mut(device) {
        revert_after = entry.work.take().and_then(|w| w.revert_after);
        if let Ok(report) = &result {
            entry.took(report, revert_after.is_some());
        }
    }
    let (level, text) = in_one_line(device, &result, purpose);
    model.say(level, text);
    let asked = model.dialogs.iter_mut().find_map(|d| match d {
        Dialog::Changes(c)
            if matches!(c.phase, Phase::Working) && c.device.same_device(device) && c.purpose == purpose =>
        {
            Some(c)
        }
        _ => None,
    });
    if let Some(dialog) = asked {
        dialog.phase = Phase::Done(result);
        dialog.top = 0;
    } else {
        let mut dialog = ChangesDialog::new(device.clone(), purpose);
        dialog.revert_after = revert_after;
        dialog.phase = Phase::Done(result);
        model.dialogs.insert(0, Dialog::Changes(dialog));
    }
    vec![Effect::ReadQueue(device.name.clone())]
}

/// What an undo or redo would do was looked up: the dialog that waits for it asks now, or goes if there is nothing to ask. If
/// it was closed meanwhile the answer is of no use.
pub(super) fn planned(
    model: &mut Model,
    device: &DeviceId,
    plan: Result<Vec<UndoStep>, String>,
    purpose: Purpose,
) {
    let waits = |d: &Dialog| match d {
        Dialog::Changes(c) => {
            matches!(c.phase, Phase::Looking) && c.purpose == purpose && c.device.same_device(device)
        }
        _ => false,
    };
    let Some(at) = model.dialogs.iter().position(waits) else { return };
    match plan {
        Ok(steps) if !steps.is_empty() => {
            if let Dialog::Changes(dialog) = &mut model.dialogs[at] {
                dialog.steps = steps;
                dialog.phase = Phase::Ask;
            }
            return;
        }
        Ok(_) => model.hint(format!("{}: there is nothing to {}", device.name, purpose.noun())),
        Err(why) => model.say(Level::Warning, format!("{}: {why}", device.name)),
    }
    model.dialogs.remove(at);
}

/// What became of a set of changes, for the status line and the messages.
fn in_one_line(device: &DeviceId, result: &Result<ApplyReport, String>, purpose: Purpose) -> (Level, String) {
    let name = &device.name;
    let what = purpose.noun();
    let report = match result {
        Err(why) => return (Level::Error, format!("{name}: {what}: {why}")),
        Ok(report) => report,
    };
    if !report.not_restored.is_empty() {
        return (Level::Error, format!("{name}: could not be put back: {}", report.not_restored.join("; ")));
    }
    let parts: Vec<String> = report
        .changes
        .iter()
        .map(|c| {
            let before = c.before.as_deref().unwrap_or("-");
            let now = c.effective.as_deref().unwrap_or("-");
            match c.outcome {
                Outcome::Applied => format!("{} {before} -> {now}", c.name),
                Outcome::Clamped => format!("{} {before} -> {now} (asked for {})", c.name, c.requested),
                Outcome::Unchanged => format!("{} is {now} already", c.name),
                Outcome::Refused => format!("{} {} refused", c.name, c.requested),
            }
        })
        .collect();
    let text = format!("{name}: {}", parts.join(", "));
    if report.rolled_back {
        (Level::Error, format!("{text}; all put back"))
    } else if report.changes.iter().any(|c| c.outcome == Outcome::Clamped) {
        (Level::Warning, text)
    } else if report.changes.iter().any(|c| c.outcome == Outcome::Refused) {
        (Level::Error, text)
    } else {
        let done = match purpose {
            Purpose::Apply => "",
            Purpose::Undo => "undone: ",
            Purpose::Redo => "done again: ",
        };
        (Level::Info, format!("{done}{text}"))
    }
}

/// The run ended.
pub(super) fn run_done(model: &mut Model, result: Result<Box<TrialResult>, String>) {
    let Some(run) = model.run.as_mut().filter(|r| r.going()) else { return };
    let (name, target) = (run.name.clone(), run.place.name.clone());
    let said = match &result {
        Ok(r) => {
            let (read, write) = (&r.total.read, &r.total.write);
            let word = if r.interrupted { "stopped" } else { "done" };
            (
                Level::Info,
                format!(
                    "run {name} on {}: {word}, {} MiB/s, {} IOPS",
                    target,
                    crate::units::mib_per_s(read.bytes_per_s + write.bytes_per_s),
                    crate::units::events(read.iops + write.iops)
                ),
            )
        }
        Err(why) => (Level::Error, format!("run {name} on {target}: {why}")),
    };
    run.ended = Some(result);
    run.stopping = false;
    // The question whether to stop has answered itself; the wish to leave has not.
    model.dialogs.retain(|d| !matches!(d, Dialog::Leave { quit: false, .. }));
    model.say(said.0, said.1);
}
