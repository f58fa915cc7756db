//! `blktune jobs`: the presets, the question each answers, what it must not be used for.

use std::fmt::Write as _;

use serde::Serialize;

use super::outcome::CommandResult;
use super::output;
use crate::workload::job::Job;
use crate::workload::preset::{PRESETS, Preset};

/// Arguments of `jobs`.
#[derive(clap::Args, Clone, Debug)]
pub struct JobsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    jobs: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    question: &'static str,
    not_for: &'static str,
    writes: bool,
    jobs: Vec<Job>,
}

/// Prints the presets.
///
/// # Errors
/// When stdout can not be written, other than by a reader that went away.
pub fn run(args: &JobsArgs) -> CommandResult {
    if args.json {
        let jobs = PRESETS.iter().map(entry).collect();
        output::json(&Document { schema: "blktune.jobs/1", jobs })
    } else {
        output::text(&PRESETS.iter().map(describe).collect::<Vec<_>>().join("\n"))
    }
}

fn entry(p: &Preset) -> Entry {
    Entry { name: p.name, question: p.question, not_for: p.not_for, writes: p.writes(), jobs: p.jobs() }
}

fn describe(p: &Preset) -> String {
    let mut text = format!("{}\n  {}\n  not for: {}\n", p.name, p.question, p.not_for);
    for job in p.jobs() {
        let name = if job.name == p.name { String::new() } else { format!("{}: ", job.name) };
        // Writing to a String can not fail.
        let _ = writeln!(text, "  {name}{job}");
    }
    if p.writes() {
        text.push_str("  it writes: to a scratch file of its own\n");
    }
    text
}
