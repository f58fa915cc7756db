//! The one table of actions. Key dispatch, the footer and the help are all made of it.

use super::dialogs::Dialog;
use super::key::Key;
use super::look;
use super::model::{Model, Screen};
pub use super::place::Place;
use super::screens::{devices, experiment, settings, workload};

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

/// The screens: places that are no dialog and take no text.
pub const EVERYWHERE: &[Place] = &[
    Place::Devices,
    Place::Settings,
    Place::Presets,
    Place::Fields,
    Place::Experiment,
    Place::Comparing,
    Place::Compared,
    Place::Run,
    Place::Result,
    Place::Messages,
];

const LISTS: &[Place] = &[
    Place::Devices,
    Place::Settings,
    Place::Presets,
    Place::Fields,
    Place::Experiment,
    Place::Plan,
    Place::Comparing,
    Place::Compared,
    Place::Run,
    Place::Result,
    Place::Messages,
    Place::Help,
    Place::Changes,
    Place::Reading,
    Place::Columns,
    Place::Order,
];

const fn row(
    id: ActionId,
    keys: &'static [Key],
    short: &'static str,
    title: &'static str,
    places: &'static [Place],
) -> Action {
    Action { id, title, short, keys, places }
}

/// All actions. Of two rows with the same key in the same place the first wins; a test sees to it that there are none.
pub const TABLE: &[Action] = &[
    row(
        ActionId::Confirm,
        &[Key::Char('y')],
        "keep",
        "keep the changes that would be put back",
        &[Place::Devices, Place::Settings],
    ),
    row(
        ActionId::OpenSettings,
        &[Key::Enter],
        "",
        "open the settings of the device; unfold unused devices",
        &[Place::Devices],
    ),
    row(
        ActionId::ShowPaths,
        &[Key::Char(' ')],
        "",
        "show or fold the paths of multipath devices",
        &[Place::Devices],
    ),
    row(
        ActionId::EditFilter,
        &[Key::Char('/')],
        "filter",
        "show only devices that contain a text",
        &[Place::Devices],
    ),
    row(ActionId::Sort, &[Key::Char('s')], "sort", "put the list into an order", &[Place::Devices]),
    row(ActionId::ChooseColumns, &[Key::Char('o')], "columns", "choose the columns", &[Place::Devices]),
    row(
        ActionId::ScrollRight,
        &[Key::Right, Key::Char('l')],
        "",
        "to the columns at the right",
        &[Place::Devices],
    ),
    row(
        ActionId::ScrollLeft,
        &[Key::Left, Key::Char('h')],
        "",
        "back to those at the left",
        &[Place::Devices],
    ),
    row(
        ActionId::SortOnce,
        &[Key::Enter],
        "sort once",
        "sort once; rows stay until asked again",
        &[Place::Order],
    ),
    row(
        ActionId::SortFollow,
        &[Key::Char('f')],
        "follow",
        "sort, and move rows with every sample",
        &[Place::Order],
    ),
    row(ActionId::SortReverse, &[Key::Char('r')], "reverse", "least first, or from Z", &[Place::Order]),
    row(ActionId::TakeColumns, &[Key::Enter], "take", "take these columns", &[Place::Columns]),
    row(ActionId::ToggleColumn, &[Key::Char(' ')], "show/hide", "show or hide the column", &[Place::Columns]),
    row(ActionId::ColumnDown, &[Key::Char('J')], "later", "move the column to the right", &[Place::Columns]),
    row(ActionId::ColumnUp, &[Key::Char('K')], "earlier", "move the column to the left", &[Place::Columns]),
    row(ActionId::DefaultColumns, &[Key::Char('d')], "default", "back to the default", &[Place::Columns]),
    row(
        ActionId::LeaveColumns,
        &[Key::Esc, Key::Char('q')],
        "cancel",
        "leave them as they were",
        &[Place::Columns],
    ),
    row(
        ActionId::Freeze,
        &[Key::Char('p')],
        "freeze",
        "freeze what is shown, or go on; pause or play a record",
        &[Place::Devices],
    ),
    row(ActionId::SampleBack, &[Key::Char('[')], "", "look back to the sample before", &[Place::Devices]),
    row(
        ActionId::SampleForward,
        &[Key::Char(']')],
        "",
        "to the next sample; behind the newest live, or a step of the record",
        &[Place::Devices],
    ),
    row(ActionId::MinuteBack, &[Key::Char('{')], "", "look back a minute", &[Place::Devices]),
    row(
        ActionId::MinuteForward,
        &[Key::Char('}')],
        "",
        "a minute forward, in a record also behind the newest",
        &[Place::Devices],
    ),
    row(ActionId::ChartSpan, &[Key::Char('t')], "", "chart 2 minutes, 10 minutes, 1 hour", &[Place::Devices]),
    row(ActionId::Faster, &[Key::Char('+')], "", "play the record faster", &[Place::Devices]),
    row(ActionId::Slower, &[Key::Char('-')], "", "play the record slower", &[Place::Devices]),
    row(ActionId::ClearFilter, &[Key::Esc], "", "stop looking back; clear the filter", &[Place::Devices]),
    row(
        ActionId::KeepFilter,
        &[Key::Enter, Key::Down, Key::Up],
        "keep",
        "keep the filter and go to the list",
        &[Place::Filter],
    ),
    row(ActionId::DropFilter, &[Key::Esc], "clear", "clear the filter", &[Place::Filter]),
    row(
        ActionId::StageNext,
        &[Key::Char(' '), Key::Right, Key::Char('l')],
        "stage",
        "stage the next legal value (nothing is written)",
        &[Place::Settings],
    ),
    row(
        ActionId::StagePrevious,
        &[Key::Left, Key::Char('h')],
        "",
        "stage the previous legal value (nothing is written)",
        &[Place::Settings],
    ),
    row(ActionId::TypeValue, &[Key::Char('e')], "type", "type a value to be staged", &[Place::Settings]),
    row(
        ActionId::Unstage,
        &[Key::Char('x'), Key::Backspace],
        "",
        "drop the staged value",
        &[Place::Settings],
    ),
    row(
        ActionId::ReviewChanges,
        &[Key::Char('c')],
        "changes",
        "review what is staged; Enter there writes",
        &[Place::Devices, Place::Settings],
    ),
    row(
        ActionId::ReviewUndo,
        &[Key::Char('u')],
        "undo",
        "review an undo of the last change; Enter there writes",
        &[Place::Devices, Place::Settings],
    ),
    row(
        ActionId::ReviewRedo,
        &[Key::Ctrl('r')],
        "redo",
        "review a redo of the last undo; Enter there writes",
        &[Place::Devices, Place::Settings],
    ),
    row(
        ActionId::GoBack,
        &[Key::Char('b')],
        "back",
        "go back to the start or to boot; asks, then shows it",
        &[Place::Devices, Place::Settings],
    ),
    row(ActionId::Explain, &[Key::Enter], "explain", "explain the setting", &[Place::Settings]),
    row(ActionId::LeaveSettings, &[Key::Esc], "", "back to the devices", &[Place::Settings]),
    row(
        ActionId::TakePreset,
        &[Key::Enter, Key::Right, Key::Char('l'), Key::Tab],
        "fields",
        "go to the fields of the preset",
        &[Place::Presets],
    ),
    row(
        ActionId::AboutPreset,
        &[Key::Char('i')],
        "about",
        "what the preset answers, and what not; what would happen",
        &[Place::Presets, Place::Fields],
    ),
    row(ActionId::LeaveWorkload, &[Key::Esc], "", "back to the devices", &[Place::Presets]),
    row(
        ActionId::UseField,
        &[Key::Enter],
        "type/start",
        "type a value; on the last line: start the run",
        &[Place::Fields],
    ),
    row(
        ActionId::FieldNext,
        &[Key::Right, Key::Char(' '), Key::Char('l')],
        "next",
        "next value",
        &[Place::Fields],
    ),
    row(ActionId::FieldPrevious, &[Key::Left, Key::Char('h')], "", "previous value", &[Place::Fields]),
    row(
        ActionId::ResetField,
        &[Key::Char('x'), Key::Backspace],
        "",
        "the value that the preset has",
        &[Place::Fields],
    ),
    row(
        ActionId::LeaveFields,
        &[Key::Esc, Key::Tab, Key::BackTab],
        "presets",
        "back to the presets",
        &[Place::Fields],
    ),
    row(
        ActionId::ToggleLevel,
        &[Key::Char(' ')],
        "on/off",
        "switch the level on or off; next value",
        &[Place::Experiment],
    ),
    row(ActionId::LevelNext, &[Key::Right, Key::Char('l')], "", "next level or value", &[Place::Experiment]),
    row(
        ActionId::LevelPrevious,
        &[Key::Left, Key::Char('h')],
        "",
        "previous level or value",
        &[Place::Experiment],
    ),
    row(
        ActionId::TypeLevel,
        &[Key::Char('e')],
        "type",
        "type a level, what is set of the workload, or its target",
        &[Place::Experiment],
    ),
    row(
        ActionId::ReviewPlan,
        &[Key::Enter],
        "plan/start",
        "read the whole plan; Enter there starts it",
        &[Place::Experiment],
    ),
    row(
        ActionId::Calibrate,
        &[Key::Char('a')],
        "calibrate",
        "plan a calibration: the same twice, to learn how quiet the machine is",
        &[Place::Experiment, Place::Compared],
    ),
    row(ActionId::StartExperiment, &[Key::Enter], "start", "start this experiment", &[Place::Plan]),
    row(ActionId::Close, &[Key::Esc, Key::Char('q')], "back", "close, start nothing", &[Place::Plan]),
    row(
        ActionId::StopExperiment,
        &[Key::Esc],
        "stop",
        "stop it and put everything back (asks once)",
        &[Place::Comparing],
    ),
    row(
        ActionId::KeepCell,
        &[Key::Char('c')],
        "keep the better",
        "review the settings of the better cell as changes; Enter there writes",
        &[Place::Compared],
    ),
    row(
        ActionId::CloseExperiment,
        &[Key::Char('n'), Key::Esc, Key::Enter],
        "new",
        "close the result, to the form as it was",
        &[Place::Compared],
    ),
    row(ActionId::LeaveExperiment, &[Key::Esc], "", "back to the devices", &[Place::Experiment]),
    row(ActionId::StopRun, &[Key::Esc], "stop", "stop the run (asks once)", &[Place::Run]),
    row(ActionId::CloseResult, &[Key::Esc, Key::Enter], "close", "close the result", &[Place::Result]),
    row(ActionId::LeaveMessages, &[Key::Esc], "", "back to the devices", &[Place::Messages]),
    row(ActionId::Write, &[Key::Enter], "write", "write this to the kernel", &[Place::Changes]),
    row(
        ActionId::Hold,
        &[Key::Char('r')],
        "put back or keep",
        "put back after 60 s unless confirmed, or keep",
        &[Place::Changes],
    ),
    row(ActionId::Close, &[Key::Esc, Key::Char('q')], "back", "close, write nothing", &[Place::Changes]),
    row(
        ActionId::GiveUp,
        &[Key::Esc],
        "stop waiting",
        "stop waiting: nothing more is written, what was is put back",
        &[Place::Writing],
    ),
    row(
        ActionId::Close,
        &[Key::Enter, Key::Char('q')],
        "leave",
        "leave this window; the writing goes on",
        &[Place::Writing],
    ),
    row(
        ActionId::Close,
        &[Key::Esc, Key::Enter, Key::Char('q'), Key::Char('?')],
        "close",
        "close",
        &[Place::Help, Place::Reading],
    ),
    row(ActionId::Accept, &[Key::Enter], "take", "take the text", &[Place::Edit]),
    row(ActionId::Close, &[Key::Esc], "cancel", "leave it as it was", &[Place::Edit]),
    row(ActionId::Answer, &[Key::Enter], "choose", "give the marked answer", &[Place::Question]),
    row(
        ActionId::NextAnswer,
        &[Key::Right, Key::Tab, Key::Down, Key::Char('j'), Key::Char('l'), Key::Char(' ')],
        "other answer",
        "mark the next answer",
        &[Place::Question],
    ),
    row(
        ActionId::PreviousAnswer,
        &[Key::Left, Key::BackTab, Key::Up, Key::Char('h'), Key::Char('k')],
        "",
        "mark the previous answer",
        &[Place::Question],
    ),
    row(ActionId::Close, &[Key::Esc, Key::Char('q')], "stay", "go back", &[Place::Question]),
    row(ActionId::Close, &[Key::Esc, Key::Char('q')], "cancel", "leave it as it was", &[Place::Order]),
    row(ActionId::Up, &[Key::Up, Key::Char('k')], "", "up", LISTS),
    row(ActionId::Down, &[Key::Down, Key::Char('j')], "", "down", LISTS),
    row(ActionId::PageUp, &[Key::PageUp, Key::Ctrl('b')], "", "a page up", LISTS),
    row(ActionId::PageDown, &[Key::PageDown, Key::Ctrl('f')], "", "a page down", LISTS),
    row(ActionId::First, &[Key::Home, Key::Char('g')], "", "to the first", LISTS),
    row(ActionId::Last, &[Key::End, Key::Char('G')], "", "to the last", LISTS),
    row(ActionId::GoDevices, &[Key::Char('1')], "devices", "devices", EVERYWHERE),
    row(ActionId::GoSettings, &[Key::Char('2')], "settings", "settings of the chosen device", EVERYWHERE),
    row(ActionId::GoWorkload, &[Key::Char('3')], "workload", "workload and run", EVERYWHERE),
    row(ActionId::GoExperiment, &[Key::Char('4')], "A/B", "compare two cells", EVERYWHERE),
    row(ActionId::GoMessages, &[Key::Char('7')], "messages", "everything that was said", EVERYWHERE),
    row(ActionId::Help, &[Key::Char('?')], "help", "the keys of this place", EVERYWHERE),
    row(
        ActionId::Quit,
        &[Key::Char('q'), Key::Ctrl('c')],
        "quit",
        "leave (asks once while a run or an experiment goes on)",
        EVERYWHERE,
    ),
];

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
            Some(Dialog::Changes(c)) => c.may_write(&model.fleet, model.read_only()),
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
