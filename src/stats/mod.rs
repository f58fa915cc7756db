//! L0: pure numbers: from readings to estimates, intervals, tests and a decision. No I/O, no clock, nothing of ours.
//!
//! `docs/statistics.md` says in plain words what is computed and why. Readings are positive and compared as natural
//! logarithms, so an effect is a ratio: `exp(x) - 1` is what is shown. Nothing here panics on any numbers; what can not
//! be computed is `None`.

pub mod block;
pub mod bootstrap;
pub mod carry_over;
pub mod decision;
pub mod distribution;
pub mod drift;
pub mod effective_size;
pub mod hodges_lehmann;
pub mod holm;
pub mod interval;
pub mod latch;
pub mod least_squares;
pub mod light;
pub mod looks;
pub mod mann_whitney;
pub mod mser;
pub mod outlier;
pub mod planning;
pub mod splitmix64;
pub mod steady;
pub mod summary;
pub mod t_test;
pub mod tost;
pub mod wilcoxon;
pub mod williams;
