//! One message in, the state changed, effects out.

use crate::sys::name::KernelName;
use crate::units::Nanos;

use super::actions::{self, ActionId, Place};
use super::dialogs::back;
use super::dialogs::changes::ChangesDialog;
use super::dialogs::columns::{self, ColumnsDialog};
use super::dialogs::leave::Choice;
use super::dialogs::{Busied, Dialog, edit, help, order};
use super::effect::Effect;
use super::key::Key;
use super::message::{Level, Message};
use super::model::{Model, Rights, STATUS_STAYS, Screen};
use super::outcome;
use super::purpose::Purpose;
use super::screens::{devices, experiment, settings, workload};
use super::{experimented, filter, layout, look, run::Run};

/// Takes in what happened and says what is to be done about it.
#[must_use = "the effects are to be carried out"]
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    // These come ten times a second and move no row.
    let still =
        matches!(message, Message::RunProgress(_) | Message::RunKernel(_) | Message::ExperimentProgress(_));
    let mut effects = match message {
        Message::Key(key) => press(model, key),
        Message::Tick { now, wall } => {
            tick(model, now, wall);
            Vec::new()
        }
        other => {
            model.dirty = true;
            take(model, other)
        }
    };
    if !still {
        settle(model, &mut effects);
    }
    effects
}

fn tick(model: &mut Model, now: Nanos, wall: String) {
    // What is held counts down in seconds.
    let before = model.now;
    let counted = model.fleet.entries().iter().any(|e| e.held_for(before) != e.held_for(now));
    model.now = now;
    if model.wall != wall {
        model.wall = wall;
        model.dirty = true;
    }
    // Waiting is shown in seconds, so it repaints while somebody waits, and only then.
    let waiting = model.fleet.entries().iter().any(|e| e.work.is_some());
    let forgot = model.fleet.forget_gone(now);
    let faded = model.status.as_ref().is_some_and(|s| now.since(s.at) >= STATUS_STAYS);
    if faded {
        model.status = None;
    }
    model.dirty |= waiting || counted || forgot || faded;
}

fn take(model: &mut Model, message: Message) -> Vec<Effect> {
    match message {
        Message::Resize { width, height } => {
            model.width = width;
            model.height = height;
        }
        Message::Host(host) => model.host = host,
        Message::Inventory(list) => {
            let seen = model.fleet.known().then(|| model.seen());
            model.fleet.take_inventory(list, model.now);
            look::newcomers(model, seen);
        }
        Message::Readings(list) => {
            model.fleet.take_readings(list, model.now);
            look::newcomers(model, Some(model.seen()));
        }
        Message::Rates { at, when, rows, total } => {
            if let Some(id) = devices::chosen_device(model).map(|e| e.device.id.clone()) {
                model.fleet.look_at(&id);
            }
            let seen = model.past.take(at, when);
            model.fleet.take_rates(rows, seen);
            model.total = total;
        }
        Message::Replay(state) => model.replay = Some(state),
        Message::Queue { device, state } => {
            let seen = model.seen();
            if let Some(entry) = model.fleet.named_mut(&device) {
                entry.mark_changes(&state, seen);
                entry.read_queue(state);
            }
        }
        Message::Rights(Ok(())) => model.rights = Rights::Write,
        Message::Rights(Err(why)) => {
            let rights = Rights::ReadOnly(why.clone());
            if model.rights != rights {
                model.rights = rights;
                model.say(Level::Warning, format!("read only: {why}"));
            }
        }
        Message::Applied { device, result } => {
            return outcome::changes_done(model, &device, result, Purpose::Apply);
        }
        Message::UndoDone { device, result } => {
            return outcome::changes_done(model, &device, result, Purpose::Undo);
        }
        Message::RedoDone { device, result } => {
            return outcome::changes_done(model, &device, result, Purpose::Redo);
        }
        Message::UndoPlan { device, plan } => outcome::planned(model, &device, plan, Purpose::Undo),
        Message::RedoPlan { device, plan } => outcome::planned(model, &device, plan, Purpose::Redo),
        Message::BootState { device, state } => back::take_boot(model, &device, state),
        Message::Held { device, until } => {
            if let Some(entry) = model.fleet.get_mut(&device) {
                entry.hold(until);
            }
        }
        Message::RunProgress(p) => {
            if let Some(run) = model.run.as_mut().filter(|r| r.going()) {
                run.take_progress(p);
            }
        }
        Message::RunKernel(figures) => {
            if let Some(run) = model.run.as_mut().filter(|r| r.going()) {
                run.take_kernel(figures);
            }
        }
        Message::RunFinished(result) => outcome::run_done(model, result),
        Message::Notice(level, text) => model.say(level, text),
        Message::Suspend => match model.why_not_suspend() {
            Some(why) => model.say(Level::Warning, why),
            None => return vec![Effect::Suspend],
        },
        message @ (Message::ExperimentBegan(_)
        | Message::Experiment(_)
        | Message::ExperimentProgress(_)
        | Message::ExperimentAnalysis(_)
        | Message::ExperimentEnded(_)) => {
            let effects = experimented::take(model, &message);
            experiment::told::take(model, message);
            return effects;
        }
        // Both were taken before.
        Message::Key(_) | Message::Tick { .. } => {}
    }
    Vec::new()
}

fn press(model: &mut Model, key: Key) -> Vec<Effect> {
    model.dirty = true;
    let place = actions::place(model);
    if let Some(text) = typed(model, place)
        && takes_text(text, key)
    {
        return Vec::new();
    }
    let Some(id) = actions::find(key, place) else {
        // The one key that must work everywhere, whatever is open.
        return if key == Key::Ctrl('c') { quit(model) } else { Vec::new() };
    };
    if let Err(why) = actions::available(id, model) {
        model.hint(why);
        return Vec::new();
    }
    act(model, id)
}

/// The text that keys go to, where one is being typed.
fn typed(model: &mut Model, place: Place) -> Option<Typed<'_>> {
    match place {
        Place::Filter => Some(Typed::Filter(&mut model.devices.filter)),
        Place::Edit => match model.dialogs.last_mut() {
            Some(Dialog::Edit(e)) => Some(Typed::Edit(e)),
            _ => None,
        },
        _ => None,
    }
}

enum Typed<'a> {
    Filter(&'a mut String),
    Edit(&'a mut edit::EditDialog),
}

fn takes_text(text: Typed<'_>, key: Key) -> bool {
    match (text, key) {
        (Typed::Filter(t), Key::Char(c)) => filter::type_char(t, c),
        (Typed::Filter(t), Key::Backspace | Key::Delete) => drop(t.pop()),
        (Typed::Edit(e), Key::Char(c)) => e.type_char(c),
        (Typed::Edit(e), Key::Backspace | Key::Delete) => e.erase(),
        _ => return false,
    }
    true
}

fn act(model: &mut Model, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::Up => move_by(model, -1),
        ActionId::Down => move_by(model, 1),
        ActionId::PageUp => move_by(model, -page(model)),
        ActionId::PageDown => move_by(model, page(model)),
        ActionId::First => move_by(model, isize::MIN / 2),
        ActionId::Last => move_by(model, isize::MAX / 2),
        ActionId::OpenSettings if model.devices.chosen == Some(devices::Chosen::Unused) => {
            model.devices.folds.unused ^= true;
        }
        ActionId::ShowPaths => model.devices.folds.paths ^= true,
        ActionId::OpenSettings => return open_settings(model),
        ActionId::GoSettings if model.screen != Screen::Settings => return open_settings(model),
        ActionId::EditFilter | ActionId::KeepFilter => model.devices.typing = id == ActionId::EditFilter,
        ActionId::ClearFilter if model.look.is_some() => look::live(model),
        ActionId::DropFilter | ActionId::ClearFilter => {
            model.devices.typing = false;
            model.devices.filter.clear();
        }
        ActionId::ScrollLeft => devices::scroll_sideways(model, false),
        ActionId::ScrollRight => devices::scroll_sideways(model, true),
        ActionId::ChooseColumns => columns::open(model),
        ActionId::ToggleColumn => columns::change(model, ColumnsDialog::toggle),
        ActionId::ColumnUp => columns::change(model, ColumnsDialog::up),
        ActionId::ColumnDown => columns::change(model, ColumnsDialog::down),
        ActionId::DefaultColumns => columns::change(model, ColumnsDialog::reset),
        ActionId::TakeColumns => return columns::take(model),
        ActionId::LeaveColumns => columns::leave(model),
        ActionId::Sort => order::open(model),
        ActionId::SortOnce => return order::take(model, false),
        ActionId::SortFollow => return order::take(model, true),
        ActionId::SortReverse => order::reverse(model),
        ActionId::StageNext => settings::step(model, true),
        ActionId::StagePrevious => settings::step(model, false),
        ActionId::TypeValue => model.dialogs.extend(settings::typed(model).map(Dialog::Edit)),
        ActionId::Unstage => settings::unstage(model),
        ActionId::Explain => model.dialogs.extend(settings::explanation(model).map(Dialog::Explain)),
        ActionId::ReviewChanges => return review(model, Purpose::Apply),
        ActionId::ReviewUndo => return review(model, Purpose::Undo),
        ActionId::ReviewRedo => return review(model, Purpose::Redo),
        ActionId::GoBack => back::open(model),
        ActionId::Confirm => return settings::confirm(model),
        ActionId::Hold => {
            if let Some(Dialog::Changes(c)) = model.dialogs.last_mut() {
                c.toggle_hold();
            }
        }
        ActionId::TakePreset => workload::take_preset(model),
        ActionId::LeaveFields => model.workload.in_fields = false,
        ActionId::AboutPreset => model.dialogs.extend(workload::about_preset(model).map(Dialog::Explain)),
        ActionId::UseField => return workload::use_field(model),
        ActionId::FieldNext | ActionId::FieldPrevious => workload::step(model, id == ActionId::FieldNext),
        ActionId::ResetField => workload::reset(model),
        ActionId::StopRun | ActionId::StopExperiment => ask_to_stop(model, false),
        ActionId::CloseResult => model.run = None,
        ActionId::Write => return write(model),
        ActionId::GiveUp => return give_up(model),
        ActionId::Close => drop(model.dialogs.pop()),
        ActionId::Accept => accept(model),
        ActionId::NextAnswer => mark(model, true),
        ActionId::PreviousAnswer => mark(model, false),
        ActionId::Answer => return answer(model),
        ActionId::GoDevices
        | ActionId::LeaveSettings
        | ActionId::LeaveWorkload
        | ActionId::LeaveExperiment
        | ActionId::LeaveMessages => model.screen = Screen::Devices,
        ActionId::GoExperiment => return open_experiment(model),
        ActionId::ToggleLevel
        | ActionId::LevelNext
        | ActionId::LevelPrevious
        | ActionId::TypeLevel
        | ActionId::ReviewPlan
        | ActionId::AboutExperiment
        | ActionId::Calibrate
        | ActionId::StartExperiment
        | ActionId::KeepCell
        | ActionId::CloseExperiment => return experiment::act(model, id),
        ActionId::GoSettings => {}
        ActionId::GoWorkload => model.screen = Screen::Workload,
        ActionId::GoMessages => {
            model.screen = Screen::Messages;
            model.messages.back = 0;
        }
        ActionId::Help => model.dialogs.push(Dialog::Help { top: 0 }),
        ActionId::Quit => return quit(model),
        ActionId::Freeze
        | ActionId::SampleBack
        | ActionId::SampleForward
        | ActionId::MinuteBack
        | ActionId::MinuteForward
        | ActionId::ChartSpan
        | ActionId::Faster
        | ActionId::Slower => return look::act(model, id),
    }
    Vec::new()
}

fn open_settings(model: &mut Model) -> Vec<Effect> {
    settings::open(model);
    match (model.screen, &model.settings.device) {
        (Screen::Settings, Some(id)) => vec![Effect::ReadQueue(id.name.clone())],
        _ => Vec::new(),
    }
}

fn open_experiment(model: &mut Model) -> Vec<Effect> {
    experiment::open(model);
    model.screen = Screen::Experiment;
    let device = model.experiment.device.as_ref();
    device.map(|id| Effect::ReadQueue(id.name.clone())).into_iter().collect()
}

/// Enter in the diff.
fn write(model: &mut Model) -> Vec<Effect> {
    let now = model.now;
    let why_not = match model.dialogs.last() {
        Some(Dialog::Changes(c)) => model.why_not_write(&c.device),
        _ => None,
    };
    match model.dialogs.last_mut() {
        Some(Dialog::Changes(c)) => c.write(&mut model.fleet, why_not.as_deref(), now),
        _ => Vec::new(),
    }
}

/// Waits no longer for what the diff writes.
fn give_up(model: &mut Model) -> Vec<Effect> {
    match model.dialogs.pop() {
        Some(Dialog::Changes(c)) => c.give_up(&mut model.fleet, model.now),
        _ => Vec::new(),
    }
}

/// Opens the diff of the device that is meant.
fn review(model: &mut Model, purpose: Purpose) -> Vec<Effect> {
    let Some(device) = settings::subject(model).map(|e| e.device.id.clone()) else { return Vec::new() };
    model.dialogs.push(Dialog::Changes(ChangesDialog::new(device.clone(), purpose)));
    purpose.look_up(device).into_iter().collect()
}

/// Marks the next or previous answer of a question.
fn mark(model: &mut Model, forward: bool) {
    match model.dialogs.last_mut() {
        Some(Dialog::Leave { choice, .. }) => *choice = choice.other(),
        Some(Dialog::Busy { start, .. }) => *start = !*start,
        Some(Dialog::Back(b)) => b.choice = if forward { b.choice.next() } else { b.choice.previous() },
        _ => {}
    }
}

fn ask_to_stop(model: &mut Model, quit: bool) {
    model.dialogs.push(Dialog::Leave { choice: Choice::default(), quit });
}

/// Leaves, or asks first while a run goes on. Asked already, the answer is taken as given.
fn quit(model: &mut Model) -> Vec<Effect> {
    let run = model.run.as_ref().is_some_and(Run::going);
    let course = model.experimenting();
    let asked = model.dialogs.iter().any(|d| matches!(d, Dialog::Leave { quit: true, .. }));
    if (run || course) && !asked {
        ask_to_stop(model, true);
        return Vec::new();
    }
    model.leaving = true;
    let stop = [run.then_some(Effect::StopRun), course.then_some(Effect::StopExperiment)];
    stop.into_iter().flatten().chain([Effect::Quit]).collect()
}

fn answer(model: &mut Model) -> Vec<Effect> {
    match model.dialogs.pop() {
        Some(Dialog::Leave { choice: Choice::Stop, quit }) => {
            let mut effects = Vec::new();
            if let Some(run) = model.run.as_mut().filter(|r| r.going()) {
                run.stopping = true;
                effects.push(Effect::StopRun);
            }
            if let Some(course) = model.course.as_mut().filter(|c| c.going()) {
                course.stopping = true;
                effects.push(Effect::StopExperiment);
            }
            if quit {
                model.leaving = true;
                effects.push(Effect::Quit);
            }
            effects
        }
        Some(Dialog::Busy { start: true, then: Busied::Run, .. }) => workload::start(model, true),
        Some(Dialog::Busy { start: true, then: Busied::Experiment(order), .. }) => {
            experiment::start::order(model, order, true)
        }
        Some(Dialog::Back(dialog)) => back::answer(model, dialog),
        _ => Vec::new(),
    }
}

/// Takes a typed text; the dialog stays, with the reason, if it is no value.
fn accept(model: &mut Model) {
    let Some(Dialog::Edit(mut dialog)) = model.dialogs.pop() else { return };
    let refused = match &dialog.purpose {
        edit::Purpose::Field(key) => model.workload.take_text(key, &dialog.text).err(),
        edit::Purpose::Level(what) => experiment::take_text(model, what, &dialog.text).err(),
        edit::Purpose::Setting(name) => match settings::current(model).filter(|r| r.name == *name) {
            None => Some(format!("{name} is not there any more")),
            Some(row) => {
                match settings::can_stage(model).and_then(|()| settings::check(&row, &dialog.text)) {
                    Ok(value) => {
                        settings::stage(model, &row, value);
                        None
                    }
                    Err(why) => Some(why),
                }
            }
        },
    };
    if refused.is_some() {
        dialog.refused = refused;
        model.dialogs.push(Dialog::Edit(dialog));
    }
}

fn page(model: &Model) -> isize {
    let rows = match model.screen {
        Screen::Devices => layout::devices(model.width, model.height).1.height,
        Screen::Settings => layout::settings(model.width, model.height).1.height,
        Screen::Workload | Screen::Experiment => 8,
        Screen::Messages => layout::messages(model.width, model.height).height,
    };
    isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
}

fn move_by(model: &mut Model, by: isize) {
    let keys = help::lines(actions::screen_place(model)).len();
    let size = (model.width, model.height);
    match model.dialogs.last_mut() {
        Some(Dialog::Help { top }) => *top = top.saturating_add_signed(by).min(keys - 1),
        Some(Dialog::Changes(c)) => {
            let length = c.length(&model.fleet);
            c.top = c.top.saturating_add_signed(by).min(length);
        }
        Some(Dialog::Plan(p)) => p.text.scroll(by),
        Some(Dialog::Explain(e)) => e.scroll(by),
        Some(Dialog::Columns(c)) => c.move_by(by),
        Some(Dialog::Order(o)) => o.move_by(by),
        Some(_) => {}
        None => match model.screen {
            Screen::Devices => devices::move_by(model, by),
            Screen::Settings => settings::move_by(model, by),
            Screen::Experiment => match &mut model.course {
                Some(course) => course.scroll(by, size, model.ascii),
                None => experiment::move_by(model, by),
            },
            Screen::Workload => match &mut model.run {
                Some(run) => run.scroll(by, size),
                None => workload::move_by(model, by),
            },
            Screen::Messages => {
                let height = usize::from(layout::messages(model.width, model.height).height);
                model.messages.scroll(by.saturating_neg(), height);
            }
        },
    }
}

/// After every message: choices that exist, scrolled into view, and the list of devices to be read.
fn settle(model: &mut Model, effects: &mut Vec<Effect>) {
    let list = layout::devices(model.width, model.height).1;
    devices::settle(model, usize::from(list.height));
    if model.screen == Screen::Settings {
        if settings::entry(model).is_some() {
            let height = layout::settings(model.width, model.height).1.height;
            settings::settle(model, usize::from(height));
        } else {
            model.screen = Screen::Devices;
            model.hint("the device is gone");
        }
    }
    if model.dirty {
        let watched = watch(model, usize::from(list.height));
        if watched != model.watched {
            model.watched.clone_from(&watched);
            effects.push(Effect::Watch(watched));
        }
    }
}

fn watch(model: &Model, height: usize) -> Vec<KernelName> {
    let mut names: Vec<KernelName> = model
        .fleet
        .entries()
        .iter()
        .filter(|e| e.live() && (!e.staged.is_empty() || e.work.is_some() || e.held.is_some()))
        .map(|e| e.device.name().clone())
        .collect();
    names.extend(settings::entry(model).filter(|e| e.live()).map(|e| e.device.name().clone()));
    let compared = experiment::entry(model).filter(|e| e.live() && model.screen == Screen::Experiment);
    names.extend(compared.map(|e| e.device.name().clone()));
    let rows = devices::rows(&model.fleet, &model.devices);
    for row in rows.iter().skip(model.devices.top).take(height) {
        if let devices::Row::Device { entry, .. } = row
            && entry.live()
        {
            names.push(entry.device.name().clone());
        }
    }
    names.sort();
    names.dedup();
    names
}
