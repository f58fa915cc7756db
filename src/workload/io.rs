//! One I/O as an engine is asked for it.

use serde::Serialize;

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the target.
    Read = 0,
    /// To the target.
    Write = 1,
}

impl Direction {
    /// Both, reads first.
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// The word for results: `read`, `write`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// One I/O: a whole block at an offset of the target, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Where it begins.
    pub offset: u64,
    /// Which way it goes.
    pub direction: Direction,
}
