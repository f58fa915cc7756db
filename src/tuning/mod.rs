//! L2: the change side. What can be set, what a change asks for, and what became of it.

pub mod apply;
mod back;
pub mod catalogue;
pub mod change;
pub mod control;
mod entry;
pub mod held;
pub mod held_queue;
pub mod journal;
pub mod keep;
pub mod plan;
mod private;
pub mod restore;
pub mod rounding;
pub mod snapshot;
pub mod tag_depth;
pub mod undo;
mod words;
