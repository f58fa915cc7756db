//! Changing settings: outcomes, all or nothing, undo; over a queue that fails on demand and over real ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test's helper fails the test by panicking

#[path = "../support/mod.rs"]
mod support;

mod attributes;
mod bench;
mod cases;
mod command;
mod device;
mod eight;
mod fake;
mod kept;
mod order;
mod replay;
mod restored;
mod tags;
mod transaction;
mod tree;

use blktune::sys::name::KernelName;
use blktune::tuning::apply::{Applied, apply};
use blktune::tuning::change::{Change, ChangeReport, Outcome};
use blktune::tuning::control::QueueControl;

/// A set from `NAME=VALUE` words.
fn set(text: &str) -> Vec<Change> {
    text.split_whitespace().map(|w| blktune::tuning::plan::parse_change(w).unwrap()).collect()
}

/// Carries a set out without a journal.
fn carry_out(queue: &dyn QueueControl, text: &str) -> Applied {
    apply(queue, &KernelName::new("loop3").unwrap(), &set(text), &mut |_, _| Ok(()))
}

/// The report of one setting.
fn of<'a>(applied: &'a Applied, name: &str) -> &'a ChangeReport {
    applied.report.changes.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no report of {name}"))
}

/// Outcome and effective value of the only change of a set.
fn only(applied: &Applied) -> (Outcome, &str) {
    assert_eq!(applied.report.changes.len(), 1);
    let c = &applied.report.changes[0];
    (c.outcome, c.effective.as_deref().unwrap_or("-"))
}
