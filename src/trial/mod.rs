//! L3: one measured execution of a job: settings and counters around it, and what both sides counted.

pub mod result;
