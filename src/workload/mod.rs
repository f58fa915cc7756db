//! L2: what is run against a device or file, and the engines that run it.

pub mod job;
pub mod live;
pub mod result;
