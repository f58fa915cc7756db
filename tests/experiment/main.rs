//! Experiments from the schedule to the end, conducted on a made-up bench.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "../tuning/fake.rs"]
#[allow(dead_code)] // faults that only the tests of settings need
mod fake;
#[path = "../support/fixtures.rs"]
#[allow(dead_code, unreachable_pub)] // shared by other tests; trees are all that is wanted here
mod fixtures;

mod conduct;
mod gates;
mod made;
mod schedule;
mod sequence;
mod simulation;
