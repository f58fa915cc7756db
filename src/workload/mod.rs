//! L2: the workload engine: jobs in fio's terms, targets, patterns, engines, latencies.

pub mod affinity;
pub mod arrivals;
pub mod buffer;
mod collector;
pub mod durability;
pub mod engine;
pub mod fairness;
pub mod figures;
pub mod guard;
pub mod histogram;
pub mod io;
pub mod job;
pub mod keys;
pub mod ledger;
pub mod live;
pub mod outcome;
pub mod pattern;
pub mod permutation;
pub mod preset;
pub mod priority;
pub mod result;
pub mod run;
pub mod scratch;
pub mod series;
pub mod target;
pub mod value;
pub mod worker;
