//! L6: the command line. Definitions here, one file a subcommand.

pub mod outcome;
pub mod set;
pub mod undo;
