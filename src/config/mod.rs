//! L1: what can be configured.

pub mod color;
pub mod theme;
