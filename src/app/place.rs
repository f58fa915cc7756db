//! The places that keys go to.

/// Where keys go: the top dialog, or what is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The list of devices.
    Devices,
    /// The filter of the list is typed.
    Filter,
    /// The settings of a device.
    Settings,
    /// The presets.
    Presets,
    /// The fields of the workload.
    Fields,
    /// What is to be compared.
    Experiment,
    /// The plan of an experiment, waiting for Enter.
    Plan,
    /// An experiment goes on.
    Comparing,
    /// What follows from an experiment.
    Compared,
    /// A run goes on.
    Run,
    /// A run's result.
    Result,
    /// The messages.
    Messages,
    /// The help.
    Help,
    /// The diff, waiting for Enter.
    Changes,
    /// The diff, while the kernel takes its time with it.
    Writing,
    /// What became of the changes, or an explanation: only to be read.
    Reading,
    /// A value is typed.
    Edit,
    /// A question with a few answers.
    Question,
    /// The columns of the list are chosen.
    Columns,
    /// The order of the list is chosen.
    Order,
}

impl Place {
    /// The heading of its keys.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Place::Devices => "Devices",
            Place::Filter => "Filter",
            Place::Settings => "Settings",
            Place::Presets => "Workload: presets",
            Place::Fields => "Workload: fields",
            Place::Experiment => "A/B: what is compared",
            Place::Plan => "A/B: the plan",
            Place::Comparing => "A/B: going on",
            Place::Compared => "A/B: the result",
            Place::Run => "Run",
            Place::Result => "Result",
            Place::Messages => "Messages",
            Place::Help => "Help",
            Place::Changes => "Changes",
            Place::Writing => "Changes being written",
            Place::Reading => "Reading",
            Place::Edit => "Typing a value",
            Place::Question => "Question",
            Place::Columns => "Columns",
            Place::Order => "Order",
        }
    }
}
