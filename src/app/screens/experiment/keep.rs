//! The better cell of an experiment that has ended, staged as changes. Enter in their diff writes them, and nothing else does.

use std::collections::BTreeMap;

use crate::app::dialogs::Dialog;
use crate::app::dialogs::changes::ChangesDialog;
use crate::app::model::Model;
use crate::app::purpose::Purpose;
use crate::experiment::cells;
use crate::experiment::verdict::Verdict;
use crate::sys::device::DeviceId;

/// Whether there is a better cell, whose settings the queue does not have.
///
/// # Errors
/// Why not.
pub fn can_keep(model: &Model) -> Result<(), String> {
    better(model).map(drop)
}

/// Stages the better cell and shows the diff.
pub fn keep(model: &mut Model) {
    let Ok((device, staged)) = better(model) else { return };
    let Some(entry) = model.fleet.get_mut(&device) else { return };
    let before = std::mem::replace(&mut entry.staged, staged).len();
    if before > 0 {
        model.hint(format!("it took the place of the {before} that were staged for {}", device.name));
    }
    model.dialogs.push(Dialog::Changes(ChangesDialog::new(device, Purpose::Apply)));
}

/// The device, and the settings of the better cell that it does not have.
fn better(model: &Model) -> Result<(DeviceId, BTreeMap<String, String>), String> {
    let nothing = || "nothing was compared".to_owned();
    let course = model.course.as_ref().ok_or_else(nothing)?;
    let end = course.ended.as_ref().and_then(|e| e.as_ref().ok()).ok_or_else(nothing)?;
    let design = course.design();
    if design.calibration {
        return Err("both cells were the same".to_owned());
    }
    let verdict = end.analysis.primary().next().map(|c| c.verdict);
    let cell = match verdict {
        Some(Verdict::Better) => design.cells.get(1),
        Some(Verdict::Worse) => design.cells.first(),
        _ => return Err("neither cell was found to be the better one".to_owned()),
    };
    let cell = cell.ok_or_else(nothing)?;
    let changes = cells::changes(&design.factors, cell);
    if changes.is_empty() {
        return Err(format!("{} differs in its workload, which is no setting of the queue", cell.name));
    }
    let device = &course.order.device;
    let entry = model.fleet.get(device).filter(|e| e.live());
    let Some(entry) = entry else { return Err(format!("{} is gone", device.name)) };
    if let Some(why) = model.read_only() {
        return Err(why.to_owned());
    }
    let Some(queue) = &entry.queue else { return Err(format!("{} is being read", device.name)) };
    let differs = changes.into_iter().filter(|c| queue.effective(&c.name).as_ref() != Some(&c.requested));
    let staged: BTreeMap<String, String> = differs.map(|c| (c.name, c.requested)).collect();
    if staged.is_empty() {
        return Err(format!("{} has the better cell's settings: {}", device.name, cell.name));
    }
    Ok((device.clone(), staged))
}
