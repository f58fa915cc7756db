//! L1: what can be configured, and what is remembered of the screen.

pub mod color;
pub mod theme;
pub mod view;
