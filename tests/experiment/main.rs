//! Experiments from the schedule to the end, conducted on a made-up bench.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "../support/experiment_record.rs"]
#[allow(dead_code, unreachable_pub)] // shared by other tests; the manifest is all that is wanted here
mod experiment_record;
#[path = "../tuning/fake.rs"]
#[allow(dead_code)] // faults that only the tests of settings need
mod fake;
#[path = "../support/fixtures.rs"]
#[allow(dead_code, unreachable_pub)] // shared by other tests; trees are all that is wanted here
mod fixtures;

mod conduct;
mod gates;
mod made;
mod recorded;
mod schedule;
mod sequence;
mod simulation;
