//! `blktune analyse`: a verdict on trials that were measured elsewhere, from a table.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::outcome::{CommandResult, Failure};
use super::{analysis_text, output, screen};
use crate::experiment::analysis::{Analysis, analyse};
use crate::experiment::design::Blocks;
use crate::experiment::limits;
use crate::experiment::sentence;
use crate::experiment::table::{MOST_BYTES, Table};
use crate::sys::attr::clean;

/// Options of `analyse`.
#[derive(Clone, Debug, clap::Args)]
pub struct AnalyseArgs {
    /// Table of trials: CSV with the columns block,position,cell,value and, if wanted, role (trial, lead-in, baseline,
    /// precondition), `started_s`, metric, number, void; `-` reads stdin
    file: PathBuf,
    /// Cell that the others are compared with [default: that of the baseline trials, else the first by name]
    #[arg(long, value_name = "CELL")]
    baseline: Option<String>,
    /// Smallest difference that matters, 0.5% to 50% [default: what the table says of itself, else 3%]
    #[arg(long, value_name = "SHARE", value_parser = parse_margin)]
    margin: Option<f64>,
    /// The blocks were added until a look decided: judge at the looks, each at its smaller alpha
    #[arg(long)]
    adaptive: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    adaptive: bool,
    #[serde(flatten)]
    analysis: &'a Analysis,
}

/// Reads the table and prints what follows from it.
///
/// # Errors
/// The file can not be read, or is no table of trials.
pub fn run(args: &AnalyseArgs, ascii: bool) -> CommandResult {
    let name = clean(args.file.as_os_str().as_encoded_bytes());
    let bytes = bytes(&args.file)?;
    let table =
        Table::read(&bytes, args.baseline.as_deref()).map_err(|e| Failure::Usage(format!("{name}: {e}")))?;
    let margin = args.margin.or(table.preamble.margin).unwrap_or(limits::MARGIN);
    let question = table.question(margin, args.adaptive);
    let analysis = analyse(&question, &table.observations, &table.circumstances());
    if args.json {
        let adaptive = question.blocks == Blocks::Adaptive;
        return output::json(&Document { schema: "blktune.analyse/1", adaptive, analysis: &analysis });
    }
    let text = analysis_text::of(&analysis);
    output::text(&if ascii || !screen::utf8() { sentence::ascii(&text) } else { text })
}

/// The file, and no more of it than a table may have.
fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let failure = |e: io::Error| {
        let text = format!("{}: {e}", clean(file.as_os_str().as_encoded_bytes()));
        match e.kind() {
            io::ErrorKind::PermissionDenied => Failure::NotPermitted(text),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                Failure::Usage(text)
            }
            _ => Failure::Unexpected(text),
        }
    };
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().take(most).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|f| f.take(most).read_to_end(&mut bytes))
    }
    .map_err(failure)?;
    Ok(bytes)
}

/// `3%`, `3 %` or `0.03`.
fn parse_margin(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text}: a margin is a share such as 3% or 0.03, with a decimal point");
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.trim().parse::<f64>().map_err(|_| wrong())?,
    };
    if (0.005..=0.5).contains(&share) { Ok(share) } else { Err("must be from 0.5% to 50%".to_owned()) }
}
