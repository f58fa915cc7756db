//! The whole plan of an experiment, to be read before it starts. Enter here is the only key that starts one.

use crate::app::effect::ExperimentOrder;

use super::explain::Explanation;

/// The dialog.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanDialog {
    /// What Enter orders: what was shown, whatever the form says by then.
    pub order: Box<ExperimentOrder>,
    /// What will happen.
    pub text: Explanation,
    /// How long it takes, in words.
    pub takes: String,
}
