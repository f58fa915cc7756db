//! L2: what is run against a device or file, and the engines that run it.

pub mod buffer;
pub mod engine;
pub mod histogram;
pub mod job;
pub mod ledger;
pub mod live;
pub mod pattern;
pub mod preset;
pub mod result;
pub mod run;
pub mod scratch;
pub mod target;
pub mod value;
pub mod worker;
