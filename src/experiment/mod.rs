//! L3: does A beat B here? Cells, their schedule, the conduct of it, and what follows from what was measured.
//!
//! `docs/statistics.md` says in plain words what is decided and why. Everything here is pure: time, the queue and
//! the workload are reached through the bench that is handed in.

pub mod analysis;
pub mod asked;
pub mod bench;
mod blocks;
pub mod calibration;
mod carried;
pub mod cell_state;
pub mod cells;
pub mod circumstances;
pub mod conductor;
pub mod design;
pub mod drive;
pub mod estimate;
pub mod event;
pub mod factor;
mod figures;
pub mod gate;
pub mod jobs;
mod judging;
pub mod limits;
mod look;
pub mod measured;
pub mod metric;
pub mod observation;
pub mod order;
pub mod passage;
pub mod plan;
pub mod schedule;
pub mod sense;
pub mod sentence;
pub mod shell;
pub mod so_far;
pub mod table;
pub mod trial;
pub mod verdict;
mod warnings;
pub mod weak;
