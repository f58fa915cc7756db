//! How a command ends: the message and the exit code (the contract's table).

/// Why a command failed. Each kind has an exit code of its own.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something that should not happen.
    #[error("{0}")]
    Unexpected(String),
    /// The command line does not make sense.
    #[error("{0}")]
    Usage(String),
    /// A configuration or theme file is wrong.
    #[error("{0}")]
    Config(String),
    /// Rights are missing.
    #[error("{0}")]
    NotPermitted(String),
    /// The device is gone, or busy.
    #[error("{0}")]
    GoneOrBusy(String),
    /// It could destroy data or disturb others.
    #[error("{0}")]
    Unsafe(String),
    /// The workload could not be run to its end.
    #[error("{0}")]
    Workload(String),
    /// An experiment gave no verdict, and one was required.
    #[error("{0}")]
    NoVerdict(String),
    /// Settings could not be put back.
    #[error("{0}")]
    NotRestored(String),
    /// The kernel refused a setting; everything was rolled back.
    #[error("{0}")]
    Refused(String),
    /// The program that did the work has said why and ended with this code.
    #[error("ended with exit code {0}")]
    AlreadyTold(u8),
    /// Ended by a signal.
    #[error("ended by signal {0}")]
    Signal(u8),
}

impl Failure {
    /// Whether its words were printed before, by another process.
    #[must_use]
    pub const fn already_told(&self) -> bool {
        matches!(self, Failure::AlreadyTold(_))
    }

    /// The exit code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Failure::Unexpected(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Config(_) => 3,
            Failure::NotPermitted(_) => 4,
            Failure::GoneOrBusy(_) => 5,
            Failure::Unsafe(_) => 6,
            Failure::Workload(_) => 7,
            Failure::NoVerdict(_) => 8,
            Failure::NotRestored(_) => 9,
            Failure::Refused(_) => 10,
            Failure::AlreadyTold(code) => *code,
            Failure::Signal(n) => 128u8.saturating_add(*n),
        }
    }
}

/// What a command returns.
pub type CommandResult = Result<(), Failure>;
