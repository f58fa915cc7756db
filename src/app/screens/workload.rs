//! Screen 3: presets, the fields of their jobs, and the sentence that says what will happen.

use crate::sys::device::DeviceId;
use crate::trial::foreground;
use crate::units::Bytes;
use crate::workload::job::{EngineKind, Job};

use crate::app::dialogs::edit::{EditDialog, Purpose};
use crate::app::dialogs::explain::Explanation;
use crate::app::dialogs::{Busied, Dialog};
use crate::app::effect::{Effect, RunTarget};
use crate::app::fleet::Entry;
use crate::app::model::{Model, PresetRow};
use crate::app::run::Run;

use super::devices::{self, Chosen};
use super::fields::{self, Field, Place, Row, promises, sentence};

/// The state of the screen.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct WorkloadScreen {
    /// The presets, as given at the start.
    pub presets: Vec<PresetRow>,
    /// The preset under the cursor.
    pub preset: usize,
    /// The jobs as they stand, which run at the same time; empty without presets.
    pub jobs: Vec<Job>,
    /// The job whose fields are shown.
    pub job: usize,
    /// The keys go to the form.
    pub in_fields: bool,
    /// The row of the form under the cursor.
    pub row: Row,
    /// The fields that are rarely changed are shown, too.
    pub unfolded: bool,
    /// Use a scratch file rather than the chosen device.
    pub scratch: bool,
    /// The scratch file is a sandbox's and can only be read.
    pub scratch_is_read_only: bool,
}

impl WorkloadScreen {
    /// The screen with its presets; the first is taken.
    #[must_use]
    pub fn new(presets: Vec<PresetRow>) -> Self {
        let jobs = presets.first().map(|p| p.jobs.clone()).unwrap_or_default();
        Self { presets, jobs, ..Self::default() }
    }

    /// The job whose fields are shown.
    #[must_use]
    pub fn chosen(&self) -> Option<&Job> {
        self.jobs.get(self.job)
    }

    /// The same job as its preset has it.
    #[must_use]
    pub fn as_preset(&self) -> Option<&Job> {
        self.presets.get(self.preset)?.jobs.get(self.job)
    }

    /// The rows of the form.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        fields::rows(self.jobs.len() > 1, self.unfolded)
    }

    /// Whether any job writes.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.jobs.iter().any(|j| j.rw.writes())
    }

    /// What the jobs contradict themselves in, if they do.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let several = self.jobs.len() > 1;
        let alone = self.jobs.iter().find_map(|j| {
            let why = j.check().err()?;
            Some(if several { format!("{}: {why}", j.name) } else { why.to_string() })
        });
        let together = || Some(foreground::of(&self.jobs).err()?.to_string());
        alone.or_else(together).or_else(|| {
            let writer = self.jobs.iter().find(|j| j.rw.writes() && self.scratch_is_read_only)?;
            Some(format!(
                "{} writes, and the sandbox without root has a file for reads only; leave --sandbox out",
                writer.name
            ))
        })
    }

    /// Why a field of the shown job can not be changed; None if it can.
    #[must_use]
    pub fn greyed(&self, field: &Field) -> Option<&'static str> {
        let job = self.chosen()?;
        if field.key == "foreground" && self.jobs.len() < 2 && !job.foreground {
            return Some("there is no other job beside this one");
        }
        field.greyed(job)
    }

    /// Changes the shown job; what belongs to the run is changed in all.
    fn change(
        &mut self,
        field: &Field,
        change: impl Fn(&mut Job) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut jobs = self.jobs.clone();
        for (i, job) in jobs.iter_mut().enumerate() {
            if i == self.job || field.of_the_run() {
                change(job)?;
            }
        }
        self.jobs = jobs;
        Ok(())
    }

    /// Takes a typed text into a field of the shown job.
    ///
    /// # Errors
    /// Why the text is no value of it.
    pub fn take_text(&mut self, key: &str, text: &str) -> Result<(), String> {
        let Some(field) = fields::find(key) else { return Ok(()) };
        self.change(field, |job| field.take_text(job, text))
    }
}

/// The device or partition that a run would use, and where that is in words; a scratch file where none is chosen, or where
/// a job writes.
#[must_use]
pub fn target(model: &Model) -> (RunTarget, Place) {
    let scratch = (RunTarget::Scratch, Place::scratch_file());
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
    if model.workload.writes() {
        return (RunTarget::Scratch, Place { instead_of: Some(name), ..Place::scratch_file() });
    }
    match path {
        // A hidden path has none, and is refused before a run starts.
        Some(path) => {
            let place = Place { name, ..Place::default() };
            (RunTarget::Device { device: entry.device.id.clone(), path }, place)
        }
        None if entry.device.hidden => {
            (scratch.0, Place { name: format!("{name}, which has no node"), ..Place::default() })
        }
        None => scratch,
    }
}

/// Moves the cursor in the list that has the keys. Going to another preset takes its jobs.
pub fn move_by(model: &mut Model, by: isize) {
    let w = &mut model.workload;
    if w.in_fields {
        let rows = w.rows();
        let at = rows.iter().position(|r| *r == w.row).unwrap_or(rows.len() - 1);
        w.row = rows[at.saturating_add_signed(by).min(rows.len() - 1)];
    } else if let Some(last) = w.presets.len().checked_sub(1) {
        let to = w.preset.saturating_add_signed(by).min(last);
        if to != w.preset {
            w.preset = to;
            w.jobs = w.presets[to].jobs.clone();
            w.job = 0;
        }
    }
}

/// Goes from the list of presets to the form, onto its last row, which starts: Enter twice runs a preset as it is.
pub fn take_preset(model: &mut Model) {
    model.workload.in_fields = true;
    model.workload.row = Row::Start;
}

/// Whether the row under the cursor can be stepped.
///
/// # Errors
/// Why not.
pub fn can_step(model: &Model) -> Result<(), String> {
    let w = &model.workload;
    match w.row {
        Row::Target if w.writes() => Err(target_is_scratch(model)),
        row => match row.field().and_then(|f| w.greyed(f)) {
            Some(why) => Err(why.to_owned()),
            None => Ok(()),
        },
    }
}

/// Why the target of a job that writes is a scratch file.
fn target_is_scratch(model: &Model) -> String {
    match target(model).1.instead_of {
        Some(device) => {
            format!("for {device} itself: blktune run --write-device {device}; here a scratch file")
        }
        None => "a job that writes gets a scratch file".to_owned(),
    }
}

/// Steps the row under the cursor.
pub fn step(model: &mut Model, forward: bool) {
    let w = &mut model.workload;
    match w.row {
        Row::Target => w.scratch = !w.scratch,
        Row::Job => {
            let last = w.jobs.len().saturating_sub(1);
            w.job = w.job.saturating_add_signed(if forward { 1 } else { -1 }).min(last);
        }
        Row::More => w.unfolded = forward,
        Row::Field(_) => {
            if let Some(field) = w.row.field() {
                // Stepping can not fail.
                let _ = w.change(field, |job| {
                    field.step(job, forward);
                    Ok(())
                });
            }
        }
        Row::Start => {}
    }
}

/// Puts the field under the cursor back to what the preset has.
pub fn reset(model: &mut Model) {
    let w = &mut model.workload;
    let (Some(field), Some(preset)) = (w.row.field(), w.as_preset().cloned()) else { return };
    let text = field.value(&preset);
    let required = preset.engine_required;
    // The preset's own value is one that the field takes.
    let _ = w.change(field, |job| {
        field.take_text(job, &text)?;
        if field.key == "engine" {
            job.engine_required = required;
        }
        Ok(())
    });
}

/// Whether Enter does something on the row under the cursor.
///
/// # Errors
/// Why not.
pub fn can_use(model: &Model) -> Result<(), String> {
    let w = &model.workload;
    if w.jobs.is_empty() {
        return Err("there are no presets".to_owned());
    }
    match w.row {
        Row::Start if model.run.as_ref().is_some_and(Run::going) => {
            Err("a run is going on already".to_owned())
        }
        Row::Start if model.experimenting() => {
            Err("an experiment is going on; a run would spoil its trials".to_owned())
        }
        Row::Start => match w.contradiction() {
            Some(why) => Err(why),
            None => has_node(model).and_then(|()| on_step(model)),
        },
        Row::More => Ok(()),
        Row::Field(_) | Row::Target | Row::Job => can_step(model),
    }
}

/// Whether the chosen device can be opened at all: the paths of a multipath device have no node.
fn has_node(model: &Model) -> Result<(), String> {
    match devices::chosen_device(model) {
        Some(e) if e.live() && e.device.hidden && matches!(target(model).1, Place { scratch: false, .. }) => {
            let name = e.device.name();
            Err(format!("{name} is a path of a multipath device and has no node; choose the device above it"))
        }
        _ => Ok(()),
    }
}

/// Whether direct I/O of these blocks can be on the chosen device at all.
fn on_step(model: &Model) -> Result<(), String> {
    let (RunTarget::Device { .. }, place) = target(model) else { return Ok(()) };
    let block =
        devices::chosen_device(model).and_then(|e| e.device.queue.logical_block).map_or(1, |b| b.0.max(1));
    for job in model.workload.jobs.iter().filter(|j| j.direct && j.engine != EngineKind::Null) {
        let fields = [("bs", job.bs), ("offset", job.offset), ("align", job.align.unwrap_or(job.bs))];
        if let Some((what, value)) = fields.into_iter().find(|(_, v)| !v.0.is_multiple_of(block)) {
            return Err(format!(
                "{what}={}: {} takes direct I/O in multiples of {} only; use one, or direct=false",
                fields::round_bytes(value),
                place.name,
                fields::round_bytes(Bytes(block))
            ));
        }
    }
    Ok(())
}

/// Enter on a row: types a value, unfolds, or starts.
pub fn use_field(model: &mut Model) -> Vec<Effect> {
    match model.workload.row {
        Row::Start => {
            if let Some(text) = others_io(model) {
                model.dialogs.push(Dialog::Busy { text, start: false, then: Busied::Run });
                return Vec::new();
            }
            return start(model, false);
        }
        Row::More => model.workload.unfolded = !model.workload.unfolded,
        Row::Target => step(model, true),
        Row::Job => {
            let w = &mut model.workload;
            w.job = (w.job + 1) % w.jobs.len().max(1);
        }
        Row::Field(key) => {
            let field = fields::find(key).zip(model.workload.chosen());
            model.dialogs.extend(field.map(|(field, job)| {
                Dialog::Edit(EditDialog {
                    purpose: Purpose::Field(key),
                    title: key.to_owned(),
                    hint: field.hint.to_owned(),
                    text: field.value(job),
                    refused: None,
                })
            }));
        }
    }
    Vec::new()
}

/// Other people's I/O on the target that a run would disturb: whose device, and how much. None if it is quiet, or
/// if the run uses a scratch file.
#[must_use]
pub fn others_io(model: &Model) -> Option<String> {
    let (RunTarget::Device { device, .. }, _) = target(model) else { return None };
    io_of_others(model.fleet.get(&device)?, "the run would slow them down, and they the run")
}

/// Other people's I/O on a device: whose device, how much, and what to think of before something is started on it. None if
/// it is quiet.
#[must_use]
pub fn io_of_others(entry: &Entry, what: &str) -> Option<String> {
    let rates = entry.rates.as_ref()?;
    let busy = rates.busy_pct.unwrap_or(0.0);
    let iops = rates.read_iops.unwrap_or(0.0) + rates.write_iops.unwrap_or(0.0);
    // A quiet system disk still sees a commit of its journal now and then.
    if busy < 5.0 && iops < 50.0 {
        return None;
    }
    let mib = rates.bytes_per_s().map_or_else(|| "-".to_owned(), crate::units::mib_per_s);
    Some(format!(
        "{} is doing {} I/O per second for others, {mib} MiB/s, {busy:.0}% busy; {what}",
        entry.device.name(),
        crate::units::events(iops.round())
    ))
}

/// Starts the run of the form.
pub fn start(model: &mut Model, busy_ok: bool) -> Vec<Effect> {
    let jobs = model.workload.jobs.clone();
    let going = model.run.as_ref().is_some_and(Run::going);
    let going = going || model.experimenting();
    if going || jobs.is_empty() || model.workload.contradiction().is_some() {
        return Vec::new();
    }
    let (target, place) = target(model);
    let device = match &target {
        RunTarget::Device { device, .. } => Some(device.clone()),
        RunTarget::Scratch => None::<DeviceId>,
    };
    let preset = model.workload.presets.get(model.workload.preset);
    let name = preset.map_or_else(String::new, |p| p.name.clone());
    model.run = Some(Run::new(name, jobs.clone(), place, device));
    vec![Effect::StartRun { jobs, target, busy_ok }]
}

/// What the preset under the cursor is for, and what the form would do.
#[must_use]
pub fn about_preset(model: &Model) -> Option<Explanation> {
    let w = &model.workload;
    let p = w.presets.get(w.preset)?;
    let mut paragraphs =
        vec![p.question.clone(), format!("Not for {}.", p.not_for), format!("It {}.", p.nature())];
    paragraphs.extend(w.contradiction());
    paragraphs.push(format!("{}.", sentence(&w.jobs, &target(model).1)));
    paragraphs.extend(promises(&w.jobs));
    Some(Explanation::new(p.name.clone(), paragraphs))
}
