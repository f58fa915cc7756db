//! L6: the command line. Definitions here, one file a subcommand.

pub mod jobs;
pub mod outcome;
pub mod run;
