//! Dialogs, which lie on a stack above the screens. The top one gets the keys.

pub mod back;
pub mod changes;
pub mod columns;
pub mod edit;
pub mod explain;
pub mod help;
pub mod leave;
pub mod order;
pub mod plan;

use back::BackDialog;
use changes::ChangesDialog;
use columns::ColumnsDialog;
use edit::EditDialog;
use explain::Explanation;
use leave::Choice;
use order::OrderDialog;
use plan::PlanDialog;

use super::effect::ExperimentOrder;

/// A dialog with its state.
#[derive(Clone, Debug)]
pub enum Dialog {
    /// The keys of the place below; scrolled by this many lines.
    Help {
        /// First line shown.
        top: usize,
    },
    /// The staged changes, or an undo or redo, as a diff; then what became of them.
    Changes(ChangesDialog),
    /// A longer explanation.
    Explain(Explanation),
    /// The plan of an experiment.
    Plan(PlanDialog),
    /// A value is typed.
    Edit(EditDialog),
    /// The columns of the list are chosen.
    Columns(ColumnsDialog),
    /// What the list is ordered by.
    Order(OrderDialog),
    /// How far to go back?
    Back(BackDialog),
    /// A run or an experiment goes on: stop it, or stay?
    Leave {
        /// What Enter does.
        choice: Choice,
        /// The program is to end after the stop.
        quit: bool,
    },
    /// The device is busy with other people's I/O: start all the same?
    Busy {
        /// Whose and how much.
        text: String,
        /// What Enter does.
        start: bool,
        /// What is started then.
        then: Busied,
    },
}

/// What a busy device keeps waiting.
#[derive(Clone, Debug, PartialEq)]
pub enum Busied {
    /// The run of the form.
    Run,
    /// This experiment.
    Experiment(Box<ExperimentOrder>),
}
