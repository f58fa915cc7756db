//! L2: counters to sample to rates to series. Pure: time comes from the sample, unknown is None, never 0.

pub mod delta;
pub mod note;
mod paths;
pub mod rates;
pub mod recording;
pub mod sample;
pub mod series;
pub mod total;
pub mod tracker;
