//! L3: what is kept of an experiment, and reading it again. A directory for each:
//!
//! - `manifest.json`: what was asked, of which device on which host, with which settings. Written as a whole before the
//!   first trial.
//! - `events.jsonl`: what happened, a line each with its time.
//! - `trials.jsonl`: a line for every trial, on disk before the next one begins.
//! - `summary.json`: how it ended and what follows. Written as a whole at the end.
//!
//! A record may be cut off anywhere, since a program may be killed anywhere: what was written until then is read, and
//! what is missing is said.

pub mod calibrations;
pub mod confirmation;
mod files;
pub mod fit;
mod judged;
pub mod manifest;
pub mod place;
pub mod reader;
pub mod summary;
pub mod writer;

use std::io;
use std::path::PathBuf;

use crate::sys::attr::clean;

/// The format of the files.
pub const SCHEMA: &str = "blktune.record/1";

const MANIFEST: &str = "manifest.json";
const EVENTS: &str = "events.jsonl";
const TRIALS: &str = "trials.jsonl";
const SUMMARY: &str = "summary.json";

/// Why a record can not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file or directory could not be made, read or written.
    #[error("{}: {source}", shown(path))]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something is there already.
    #[error("{}: not empty; name another directory, or go on with the experiment in it by --resume", shown(.0))]
    NotEmpty(PathBuf),
    /// Someone else could have put it there, or it leads elsewhere.
    #[error("{}: {what}; name another place, or remove it if you did not put it there", shown(path))]
    NotTrusted {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another program writes to it.
    #[error("{}: another program writes to this record; wait until it has ended", shown(.0))]
    Busy(PathBuf),
    /// Its manifest is missing, cut off or of another form, and without it the trials say nothing.
    #[error("{}: {why}; this is no record of an experiment, or it ended before it began", shown(path))]
    NotARecord {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

fn shown(path: &std::path::Path) -> String {
    clean(path.to_string_lossy().as_bytes())
}
