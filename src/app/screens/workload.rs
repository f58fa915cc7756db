//! Screen 3: presets, the fields of the job, and the sentence that says what will happen.

use crate::sys::device::DeviceId;
use crate::workload::job::Job;

use crate::app::dialogs::Dialog;
use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::dialogs::explain::Explanation;
use crate::app::effect::{Effect, RunTarget};
use crate::app::model::{Model, PresetRow};
use crate::app::run::Run;

use super::devices::{self, Chosen};
use super::fields::{self, FIELDS, Field, sentence, value};

/// The state of the screen.
#[derive(Clone, Debug, Default)]
pub struct WorkloadScreen {
    /// The presets, as given at the start.
    pub presets: Vec<PresetRow>,
    /// The preset under the cursor.
    pub preset: usize,
    /// First preset shown.
    pub top: usize,
    /// The job as it stands; None without presets.
    pub job: Option<Job>,
    /// The keys go to the fields.
    pub in_fields: bool,
    /// The field under the cursor.
    pub field: usize,
    /// Read a scratch file rather than the chosen device.
    pub scratch: bool,
}

impl WorkloadScreen {
    /// The screen with its presets; the first is taken.
    #[must_use]
    pub fn new(presets: Vec<PresetRow>) -> Self {
        let job = presets.first().map(|p| p.job.clone());
        Self { presets, job, ..Self::default() }
    }
}

/// The device or partition that a run would read, and its name; None for a scratch file.
#[must_use]
pub fn target(model: &Model) -> (RunTarget, String) {
    let scratch = (RunTarget::Scratch, "a scratch file".to_owned());
    if model.workload.scratch {
        return scratch;
    }
    let Some(entry) = devices::chosen_device(model).filter(|e| e.live()) else { return scratch };
    let (path, name) = match &model.devices.chosen {
        Some(Chosen::Partition(_, name)) => {
            let part = entry.device.partitions.iter().find(|p| p.name == *name);
            (part.map(|p| p.path.clone()), name.kernel())
        }
        _ => (entry.device.path.clone(), entry.device.name().kernel()),
    };
    match path {
        // A hidden path has none, and is refused before a run starts.
        Some(path) => (RunTarget::Device { device: entry.device.id.clone(), path }, name),
        None if entry.device.hidden => (scratch.0, format!("{name}, which has no node")),
        None => scratch,
    }
}

/// Moves the cursor in the list that has the keys. Going to another preset takes its job.
pub fn move_by(model: &mut Model, by: isize) {
    let w = &mut model.workload;
    if w.in_fields {
        w.field = w.field.saturating_add_signed(by).min(FIELDS.len() - 1);
    } else if let Some(last) = w.presets.len().checked_sub(1) {
        let to = w.preset.saturating_add_signed(by).min(last);
        if to != w.preset {
            w.preset = to;
            w.job = Some(w.presets[to].job.clone());
        }
    }
}

/// Goes from the list of presets to the fields, onto the last, which starts: Enter twice runs a preset as it is.
pub fn take_preset(model: &mut Model) {
    model.workload.in_fields = true;
    model.workload.field = FIELDS.len() - 1;
}

/// Steps the field under the cursor.
pub fn step(model: &mut Model, forward: bool) {
    let w = &mut model.workload;
    match (FIELDS.get(w.field), &mut w.job) {
        (Some(Field::Target), _) => w.scratch = !w.scratch,
        (Some(field), Some(job)) => fields::step(job, *field, forward),
        _ => {}
    }
}

/// Whether Enter does something on the field under the cursor.
///
/// # Errors
/// Why not.
pub fn can_use(model: &Model) -> Result<(), String> {
    if model.workload.job.is_none() {
        return Err("there are no presets".to_owned());
    }
    match FIELDS.get(model.workload.field) {
        Some(Field::Start) if model.run.as_ref().is_some_and(Run::going) => {
            Err("a run is going on already".to_owned())
        }
        Some(Field::Start) => match &model.workload.job {
            Some(job) if job.rw.writes() => Err(format!("{} writes; only reads can be run", job.name)),
            _ => has_node(model),
        },
        Some(f) if f.typed() => Ok(()),
        _ => Err("this field is not typed; Left and Right change it".to_owned()),
    }
}

/// Whether the chosen device can be opened at all: the paths of a multipath device have no node.
fn has_node(model: &Model) -> Result<(), String> {
    match devices::chosen_device(model) {
        Some(e) if e.live() && e.device.hidden && !model.workload.scratch => {
            let name = e.device.name();
            Err(format!("{name} is a path of a multipath device and has no node; choose the device above it"))
        }
        _ => Ok(()),
    }
}

/// Enter on a field: types a value, or starts.
pub fn use_field(model: &mut Model) -> Vec<Effect> {
    let Some(field) = FIELDS.get(model.workload.field).copied() else { return Vec::new() };
    let Some(job) = model.workload.job.clone() else { return Vec::new() };
    if field == Field::Start {
        if let Some(text) = others_io(model) {
            model.dialogs.push(Dialog::Busy { text, start: false });
            return Vec::new();
        }
        return start(model, false);
    }
    let hint = match field {
        Field::Bs => "512, 4k, 1m",
        Field::Size => "all, 256m, 4g",
        Field::Runtime | Field::Ramp => "seconds, or 500ms, 2m",
        _ => "a whole number",
    };
    let text = value(&job, field, "");
    model.dialogs.push(Dialog::Edit(EditDialog {
        purpose: Purpose::Field(field),
        title: field.name().to_owned(),
        hint: hint.to_owned(),
        text,
        refused: None,
    }));
    Vec::new()
}

/// Other people's I/O on the target that a run would disturb: whose device, and how much. None if it is quiet, or
/// if the run reads a scratch file.
#[must_use]
pub fn others_io(model: &Model) -> Option<String> {
    let (RunTarget::Device { device, .. }, _) = target(model) else { return None };
    let rates = model.fleet.get(&device)?.rates.as_ref()?;
    let busy = rates.busy_pct.unwrap_or(0.0);
    let iops = rates.read_iops.unwrap_or(0.0) + rates.write_iops.unwrap_or(0.0);
    // A quiet system disk still sees a commit of its journal now and then.
    if busy < 5.0 && iops < 50.0 {
        return None;
    }
    let mib = rates.bytes_per_s().map_or_else(|| "-".to_owned(), crate::units::mib_per_s);
    Some(format!(
        "{} is doing {} I/O per second for others, {mib} MiB/s, {busy:.0}% busy; the run would slow them down, and they the run",
        device.name,
        crate::units::events(iops.round())
    ))
}

/// Starts the run of the form.
pub fn start(model: &mut Model, busy_ok: bool) -> Vec<Effect> {
    let Some(job) = model.workload.job.clone() else { return Vec::new() };
    if model.run.as_ref().is_some_and(Run::going) {
        return Vec::new();
    }
    let (target, name) = target(model);
    let device = match &target {
        RunTarget::Device { device, .. } => Some(device.clone()),
        RunTarget::Scratch => None::<DeviceId>,
    };
    model.run = Some(Run::new(job.clone(), name, device));
    vec![Effect::StartRun { job: Box::new(job), target, busy_ok }]
}

/// What the preset under the cursor is for.
#[must_use]
pub fn about_preset(model: &Model) -> Option<Explanation> {
    let p = model.workload.presets.get(model.workload.preset)?;
    Some(Explanation {
        title: p.name.clone(),
        paragraphs: vec![
            p.question.clone(),
            format!("Not for: {}", p.not_for),
            sentence(&p.job, &target(model).1),
        ],
    })
}
