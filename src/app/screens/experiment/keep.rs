//! The better cell of an experiment that has ended, staged as changes. Enter in their diff writes them, and nothing else does.

use std::collections::BTreeMap;

use crate::app::dialogs::Dialog;
use crate::app::dialogs::changes::ChangesDialog;
use crate::app::model::Model;
use crate::experiment::cell_state::CellStates;
use crate::experiment::design::FactorKind;
use crate::experiment::verdict::Verdict;
use crate::sys::device::DeviceId;
use crate::tuning::change::Change;
use crate::tuning::plan;

/// Whether there is a better cell, whose settings the queue does not have.
///
/// # Errors
/// Why not.
pub fn can_keep(model: &Model) -> Result<(), String> {
    better(model).map(drop)
}

/// Stages the better cell and shows the diff.
pub fn keep(model: &mut Model) {
    let Ok(better) = better(model) else { return };
    let device = better.device;
    let Some(entry) = model.fleet.get_mut(&device) else { return };
    let before = std::mem::replace(&mut entry.staged, better.differs).len();
    if before > 0 {
        model.hint(format!("it took the place of the {before} that were staged for {}", device.name));
    }
    model.dialogs.push(Dialog::Changes(ChangesDialog::beside(device, better.stays)));
}

/// The better cell.
struct Better {
    device: DeviceId,
    /// Its settings that the queue does not have.
    differs: BTreeMap<String, String>,
    /// Its settings that the queue has and that those may move: without them it would not be what was measured.
    stays: Vec<String>,
}

fn better(model: &Model) -> Result<Better, String> {
    let nothing = || "nothing was compared".to_owned();
    let course = model.course.as_ref().ok_or_else(nothing)?;
    let end = course.ended.as_ref().and_then(|e| e.as_ref().ok()).ok_or_else(nothing)?;
    let design = course.design();
    if design.calibration {
        return Err("both cells were the same".to_owned());
    }
    let verdict = end.analysis.primary().next().map(|c| c.verdict);
    let at = match verdict {
        Some(Verdict::Better) => 1,
        Some(Verdict::Worse) => 0,
        _ => return Err("neither cell was found to be the better one".to_owned()),
    };
    let cell = design.cells.get(at).ok_or_else(nothing)?;
    if design.factors.iter().all(|f| f.kind == FactorKind::Workload) {
        return Err(format!("{} differs in its workload, which is no setting of the queue", cell.name));
    }
    let device = &course.order.device;
    let entry = model.fleet.get(device).filter(|e| e.live());
    let Some(entry) = entry else { return Err(format!("{} is gone", device.name)) };
    if let Some(why) = model.read_only() {
        return Err(why.to_owned());
    }
    let Some(queue) = &entry.queue else { return Err(format!("{} is being read", device.name)) };
    // Trials began with all settings as they were found, and so does this.
    let writes = CellStates::new(design, queue.clone()).writes(Some(at), queue);
    let wanted = writes.settled.into_iter().chain(writes.bare);
    let has = |c: &Change| {
        queue.effective(&c.name).is_some_and(|now| plan::same_value(&c.name, &c.requested, &now))
    };
    let (stays, differs): (Vec<Change>, Vec<Change>) = wanted.partition(has);
    if differs.is_empty() {
        return Err(format!("{} has the better cell's settings: {}", device.name, cell.name));
    }
    let moved = differs.iter().any(|c| plan::moves_read_ahead(&c.name));
    let stays = stays.into_iter().filter(|c| moved && c.name == "read_ahead_kb");
    Ok(Better {
        device: device.clone(),
        differs: differs.into_iter().map(|c| (c.name, c.requested)).collect(),
        stays: stays.map(|c| c.name).collect(),
    })
}
