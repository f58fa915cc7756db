//! L3: does A beat B here? Cells, their schedule, the conduct of it, and what follows from what was measured.
//!
//! `docs/statistics.md` says in plain words what is decided and why. Everything here is pure: time, the queue and
//! the workload are reached through the bench that is handed in.

pub mod analysis;
pub mod bench;
mod blocks;
pub mod design;
mod figures;
mod judging;
pub mod metric;
pub mod observation;
pub mod order;
pub mod sentence;
pub mod table;
pub mod trial;
pub mod verdict;
mod warnings;
