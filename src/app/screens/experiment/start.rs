//! From the form to an experiment: the plan, whether it may start, and the order.

use crate::app::dialogs::explain::Explanation;
use crate::app::dialogs::plan::PlanDialog;
use crate::app::dialogs::{Busied, Dialog};
use crate::app::effect::{Effect, ExperimentOrder};
use crate::app::model::Model;
use crate::app::run::Run;
use crate::experiment::design::FactorKind;
use crate::experiment::estimate;

use super::course::Course;
use super::{Kind, asked, command, designed, entry, weaknesses, words};
use crate::app::screens::workload;

/// Shows the plan of what is asked. Nothing is shown of what can not be designed.
pub fn review(model: &mut Model, kind: Kind) {
    let dialog = plan(model, kind);
    model.dialogs.extend(dialog.map(Dialog::Plan));
}

fn plan(model: &Model, kind: Kind) -> Option<PlanDialog> {
    let designed = designed(model, kind).ok()?;
    let asked = asked(model, kind)?;
    let device = entry(model)?.device.id.clone();
    let row = model.experiment.reads.clone().unwrap_or_else(|| device.name.clone());
    let words = words(&asked, &row);
    let mut paragraphs = estimate::what_will_happen(&designed.design);
    paragraphs.extend(designed.merged.iter().cloned());
    paragraphs.extend(designed.refusal());
    paragraphs.extend(weaknesses(model, &designed).into_iter().map(|w| format!("Weak: {}.", w.text)));
    paragraphs.push("The same as a command:".to_owned());
    paragraphs.push(command(&words));
    let takes = estimate::estimate(&designed.design).words();
    let order = ExperimentOrder { device, row, designed, busy_ok: false, command: words };
    let text = Explanation::new(format!("Experiment on {}", order.row), paragraphs);
    Some(PlanDialog { order: Box::new(order), text, takes })
}

/// Whether the plan that is shown may start.
///
/// # Errors
/// Why not.
pub fn may_start(model: &Model) -> Result<(), String> {
    match model.dialogs.last() {
        Some(Dialog::Plan(plan)) => may_order(model, &plan.order),
        _ => Err("no plan is shown".to_owned()),
    }
}

fn may_order(model: &Model, order: &ExperimentOrder) -> Result<(), String> {
    if model.run.as_ref().is_some_and(Run::going) {
        return Err("a run is going on; an experiment would measure it, too".to_owned());
    }
    if model.experimenting() {
        return Err("an experiment is going on already".to_owned());
    }
    let Some(entry) = model.fleet.get(&order.device).filter(|e| e.live()) else {
        return Err(format!("{} is gone", order.device.name));
    };
    if let Some(refusal) = order.designed.refusal() {
        return Err(refusal.replace("--control", "control: yes"));
    }
    let settings = order.designed.design.factors.iter().any(|f| f.kind == FactorKind::Setting);
    if let Some(why) = model.read_only().filter(|_| settings) {
        return Err(why.to_owned());
    }
    if entry.work.is_some() {
        return Err(format!("{} is still being written", order.device.name));
    }
    if entry.held.is_some() {
        return Err(format!(
            "changes of {} wait to be put back, which would void trials; y on the settings screen keeps them",
            order.device.name
        ));
    }
    Ok(())
}

/// Enter in the plan: starts it, or asks first where others use the device.
pub fn start(model: &mut Model) -> Vec<Effect> {
    if may_start(model).is_err() {
        return Vec::new();
    }
    let Some(Dialog::Plan(plan)) = model.dialogs.pop() else { return Vec::new() };
    let what = "an experiment would slow them down, and could not tell their I/O from its own";
    match model.fleet.get(&plan.order.device).and_then(|e| workload::io_of_others(e, what)) {
        Some(text) => {
            let then = Busied::Experiment(plan.order);
            model.dialogs.push(Dialog::Busy { text, start: false, then });
            Vec::new()
        }
        None => order(model, plan.order, false),
    }
}

/// Orders the experiment, if nothing speaks against it.
pub fn order(model: &mut Model, mut order: Box<ExperimentOrder>, busy_ok: bool) -> Vec<Effect> {
    if let Err(why) = may_order(model, &order) {
        model.hint(why);
        return Vec::new();
    }
    order.busy_ok = busy_ok;
    if busy_ok {
        order.command.push("--busy-ok".to_owned());
    }
    model.course = Some(Box::new(Course::new(order.clone(), model.now)));
    vec![Effect::StartExperiment(order)]
}
