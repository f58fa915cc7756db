//! `blktune jobs`: the presets, the question each answers, what it must not be used for.

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
    runnable: bool,
    job: Job,
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
    Entry {
        name: p.name,
        question: p.question,
        not_for: p.not_for,
        writes: p.writes(),
        runnable: !p.writes(),
        job: p.job(),
    }
}

fn describe(p: &Preset) -> String {
    let note = if p.writes() { "\n  it writes: not supported yet" } else { "" };
    format!("{}\n  {}\n  not for: {}\n  {}{note}\n", p.name, p.question, p.not_for, p.job())
}
