//! The screen on a record: what is asked of the source, and where the source is.
//!
//! The source only goes forward. Going back is looking at the past that the screen keeps, as it is live.

use crate::units::Nanos;

/// What the screen asks of a record's source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplayOrder {
    /// Go on, at the speed last asked for.
    Play,
    /// Stand still.
    Pause,
    /// One sample, at once.
    Step,
    /// All samples of the next so much recorded time, at once.
    Skip(Nanos),
    /// So much recorded time in a second; 1 is as it was.
    Speed(f64),
}

/// Where the source is. Sent after every order and every sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayState {
    /// Name of the record, cleaned.
    pub record: String,
    /// Recorded time of the newest sample.
    pub at: Nanos,
    /// Whether samples come by themselves.
    pub playing: bool,
    /// Recorded seconds in a second.
    pub speed: f64,
    /// There is nothing behind the newest sample.
    pub ended: bool,
}
