//! blktune: see, change, prove and keep the block queue settings of a Linux host.

// They panic where nobody reads: `cli::output` says what there is to say.
#![cfg_attr(not(test), warn(clippy::print_stderr, clippy::print_stdout))]

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod experiment;
pub mod record;
pub mod report;
pub mod runtime;
pub mod sandbox;
pub mod stats;
pub mod sys;
pub mod telemetry;
pub mod trial;
pub mod tuning;
pub mod ui;
pub mod units;
pub mod workload;
