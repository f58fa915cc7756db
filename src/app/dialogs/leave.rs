//! The question asked once when something runs and the person wants out.

/// What Enter does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Nothing; the harmless answer comes first.
    #[default]
    Stay,
    /// The run is stopped.
    Stop,
}

impl Choice {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Choice::Stay => Choice::Stop,
            Choice::Stop => Choice::Stay,
        }
    }
}
