//! L2: the change side. What can be set, what a change asks for, and what became of it.

pub mod apply;
pub mod catalogue;
pub mod change;
pub mod control;
pub mod journal;
pub mod keep;
pub mod plan;
mod rounding;
pub mod undo;
mod words;
