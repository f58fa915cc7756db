//! L2: the change side. What can be set, what a change asks for, and what became of it.

pub mod catalogue;
pub mod change;
pub mod plan;
