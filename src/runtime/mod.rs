//! L6: threads, terminal, signals, and the loop that ties them to the pure state.

pub mod sampler;
