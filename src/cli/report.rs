//! `blktune report`: one record of an experiment as a text of its own.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::outcome::{CommandResult, Failure};
use super::output;
use crate::record::RecordError;
use crate::record::reader::Record;
use crate::report::Report;
use crate::sys::attr::clean;

/// Arguments of `report`.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportArgs {
    /// The directory of the record
    pub record: PathBuf,
    /// Markdown for people, JSON for programs, CSV for `blktune analyse` and for spreadsheets
    #[arg(long, value_enum, default_value_t = Format::Md)]
    pub format: Format,
    /// Write it to this file, which must not be there yet [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Markdown
    Md,
    /// JSON
    Json,
    /// The trials alone, as `blktune analyse` reads them
    Csv,
}

/// Prints the report.
///
/// # Errors
/// No record, one that can not be read, or a file that can not be written.
pub fn run(args: &ReportArgs) -> CommandResult {
    let record = Record::open(&args.record).map_err(unreadable)?;
    // Records lie beside one another.
    let beside = std::fs::canonicalize(&args.record).ok().and_then(|p| p.parent().map(Path::to_path_buf));
    let report = Report::of(&record, beside.as_slice());
    let text = match args.format {
        Format::Md => report.markdown(),
        Format::Csv => report.csv().map_err(|e| Failure::Unexpected(e.to_string()))?,
        Format::Json => {
            let document = serde_json::to_string_pretty(&report.document());
            document.map_err(|e| Failure::Unexpected(e.to_string()))? + "\n"
        }
    };
    let Some(path) = &args.output else { return output::text(&text) };
    let shown = clean(path.to_string_lossy().as_bytes());
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::Usage(format!("{shown}: is there already; name another file"))
        }
        std::io::ErrorKind::PermissionDenied => Failure::NotPermitted(format!("{shown}: {e}")),
        _ => Failure::Unexpected(format!("{shown}: {e}")),
    };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

#[allow(clippy::needless_pass_by_value)] // the shape map_err wants
fn unreadable(e: RecordError) -> Failure {
    match &e {
        RecordError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            Failure::NotPermitted(e.to_string())
        }
        RecordError::NotTrusted { .. } => Failure::Unsafe(e.to_string()),
        RecordError::Busy(_) => Failure::GoneOrBusy(e.to_string()),
        _ => Failure::Usage(e.to_string()),
    }
}
