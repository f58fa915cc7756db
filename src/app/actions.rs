//! The one table of actions. Key dispatch, the footer and the help are all made of it.

mod table;

use super::dialogs::Dialog;
use super::key::Key;
use super::look;
use super::model::{Model, Screen};
pub use super::place::Place;
use super::screens::{devices, experiment, settings, workload};
pub use table::{EVERYWHERE, TABLE};

/// What a key can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the table below says of each what it does
pub enum ActionId {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    OpenSettings,
    ShowPaths,
    EditFilter,
    ClearFilter,
    ScrollLeft,
    ScrollRight,
    ChooseColumns,
    ToggleColumn,
    ColumnUp,
    ColumnDown,
    DefaultColumns,
    TakeColumns,
    LeaveColumns,
    Sort,
    SortOnce,
    SortFollow,
    SortReverse,
    Freeze,
    SampleBack,
    SampleForward,
    MinuteBack,
    MinuteForward,
    ChartSpan,
    Faster,
    Slower,
    KeepFilter,
    DropFilter,
    StageNext,
    StagePrevious,
    TypeValue,
    Unstage,
    Explain,
    ReviewChanges,
    ReviewUndo,
    ReviewRedo,
    GoBack,
    Confirm,
    LeaveSettings,
    TakePreset,
    AboutPreset,
    LeaveWorkload,
    FieldNext,
    FieldPrevious,
    ResetField,
    UseField,
    LeaveFields,
    ToggleLevel,
    LevelNext,
    LevelPrevious,
    TypeLevel,
    ReviewPlan,
    AboutExperiment,
    Calibrate,
    StartExperiment,
    StopExperiment,
    KeepCell,
    CloseExperiment,
    LeaveExperiment,
    StopRun,
    CloseResult,
    LeaveMessages,
    Write,
    Hold,
    GiveUp,
    Close,
    Accept,
    NextAnswer,
    PreviousAnswer,
    Answer,
    GoDevices,
    GoSettings,
    GoWorkload,
    GoExperiment,
    GoMessages,
    Help,
    Quit,
}

/// A row of the table.
#[derive(Debug)]
pub struct Action {
    /// What it is.
    pub id: ActionId,
    /// What it does, for the help.
    pub title: &'static str,
    /// The word in the footer; empty where it is left out there.
    pub short: &'static str,
    /// Its keys; the first is the one in the footer.
    pub keys: &'static [Key],
    /// Where it works.
    pub places: &'static [Place],
}

/// The actions of a place, in the order of the table.
pub fn at(place: Place) -> impl Iterator<Item = &'static Action> {
    TABLE.iter().filter(move |a| a.places.contains(&place))
}

/// What a key does in a place.
#[must_use]
pub fn find(key: Key, place: Place) -> Option<ActionId> {
    at(place).find(|a| a.keys.contains(&key)).map(|a| a.id)
}

/// The keys of an action, as the help writes them: `Up k`.
#[must_use]
pub fn key_words(keys: &[Key]) -> String {
    keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")
}

/// Where keys go now.
#[must_use]
pub fn place(model: &Model) -> Place {
    match model.dialogs.last() {
        Some(Dialog::Help { .. }) => Place::Help,
        Some(Dialog::Changes(c)) => match c.phase {
            super::dialogs::changes::Phase::Ask => Place::Changes,
            super::dialogs::changes::Phase::Working => Place::Writing,
            _ => Place::Reading,
        },
        Some(Dialog::Explain(_)) => Place::Reading,
        Some(Dialog::Plan(_)) => Place::Plan,
        Some(Dialog::Edit(_)) => Place::Edit,
        Some(Dialog::Back(_) | Dialog::Leave { .. } | Dialog::Busy { .. }) => Place::Question,
        Some(Dialog::Columns(_)) => Place::Columns,
        Some(Dialog::Order(_)) => Place::Order,
        None => screen_place(model),
    }
}

/// Where keys go below all dialogs.
#[must_use]
pub fn screen_place(model: &Model) -> Place {
    match model.screen {
        Screen::Devices if model.devices.typing => Place::Filter,
        Screen::Devices => Place::Devices,
        Screen::Settings => Place::Settings,
        Screen::Messages => Place::Messages,
        Screen::Experiment => match &model.course {
            Some(course) if course.going() => Place::Comparing,
            Some(_) => Place::Compared,
            None => Place::Experiment,
        },
        Screen::Workload => match &model.run {
            Some(run) if run.going() => Place::Run,
            Some(_) => Place::Result,
            None if model.workload.in_fields => Place::Fields,
            None => Place::Presets,
        },
    }
}

/// Whether an action can be done now.
///
/// # Errors
/// Why not, in words for the person.
pub fn available(id: ActionId, model: &Model) -> Result<(), String> {
    match id {
        ActionId::GoSettings | ActionId::OpenSettings => devices::can_open(model),
        ActionId::StageNext | ActionId::StagePrevious | ActionId::TypeValue => settings::can_stage(model),
        ActionId::ShowPaths => devices::can_show_paths(model),
        ActionId::Unstage => settings::can_unstage(model),
        ActionId::ReviewChanges => settings::can_review(model),
        ActionId::ReviewUndo | ActionId::ReviewRedo | ActionId::GoBack => settings::can_go_back(model),
        ActionId::Confirm => settings::can_confirm(model),
        ActionId::Freeze
        | ActionId::SampleBack
        | ActionId::SampleForward
        | ActionId::MinuteBack
        | ActionId::MinuteForward
        | ActionId::Faster
        | ActionId::Slower => look::can(id, model),
        ActionId::Hold => match model.dialogs.last() {
            Some(Dialog::Changes(c)) => c.may_hold(),
            _ => Err("nothing is to be written".to_owned()),
        },
        ActionId::TakePreset if model.workload.jobs.is_empty() => Err("there are no presets".to_owned()),
        ActionId::ToggleLevel | ActionId::TypeLevel => experiment::can_change(model),
        ActionId::ReviewPlan => experiment::designed(model, experiment::Kind::Levels).map(drop),
        ActionId::Calibrate => experiment::designed(model, experiment::Kind::Calibration).map(drop),
        ActionId::StartExperiment => experiment::start::may_start(model),
        ActionId::KeepCell => experiment::keep::can_keep(model),
        ActionId::StopExperiment if model.course.as_ref().is_some_and(|c| c.stopping) => {
            Err("the experiment is being stopped".to_owned())
        }
        ActionId::UseField => workload::can_use(model),
        ActionId::FieldNext | ActionId::FieldPrevious => workload::can_step(model),
        ActionId::StopRun if model.run.as_ref().is_some_and(|r| r.stopping) => {
            Err("the run is being stopped".to_owned())
        }
        ActionId::GiveUp => match model.dialogs.last() {
            Some(Dialog::Changes(c)) => c.may_give_up(&model.fleet, model.now),
            _ => Err("nothing is waited for".to_owned()),
        },
        ActionId::Write => match model.dialogs.last() {
            Some(Dialog::Changes(c)) => c.may_write(&model.fleet, model.why_not_write(&c.device).as_deref()),
            _ => Err("nothing is to be written".to_owned()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_thing_in_a_place() {
        for (i, a) in TABLE.iter().enumerate() {
            for b in &TABLE[i + 1..] {
                let both = a.places.iter().find(|p| b.places.contains(p));
                let key = a.keys.iter().find(|k| b.keys.contains(k));
                assert!(
                    both.is_none() || key.is_none(),
                    "{:?} and {:?} share {key:?} in {both:?}",
                    a.id,
                    b.id
                );
            }
        }
    }

    #[test]
    fn only_enter_in_the_plan_starts_an_experiment() {
        for a in TABLE.iter().filter(|a| a.id == ActionId::StartExperiment) {
            assert_eq!((a.keys, a.places), (&[Key::Enter][..], &[Place::Plan][..]));
        }
    }

    #[test]
    fn only_enter_in_the_diff_writes() {
        for a in TABLE.iter().filter(|a| a.id == ActionId::Write) {
            assert_eq!((a.keys, a.places), (&[Key::Enter][..], &[Place::Changes][..]));
        }
    }
}
