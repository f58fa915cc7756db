//! Data to stdout, and what is said beside it to stderr. A closed pipe (`blktune list | head -1`) is a quiet end, not an error.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use super::outcome::{CommandResult, Failure};

/// Writes text to stdout as it is.
///
/// # Errors
/// Stdout can not be written, for any reason but that its reader went away.
pub fn text(text: &str) -> CommandResult {
    let mut out = io::stdout().lock();
    settle(out.write_all(text.as_bytes()).and_then(|()| out.flush())).map(|_| ())
}

/// Writes a document as indented JSON with a newline.
///
/// # Errors
/// As [`text`].
pub fn json(document: &impl Serialize) -> CommandResult {
    let mut s = serde_json::to_string_pretty(document).map_err(|e| Failure::Unexpected(e.to_string()))?;
    s.push('\n');
    text(&s)
}

/// Writes one line and says whether anybody still reads: false means stop quietly.
///
/// # Errors
/// As [`text`].
pub fn line(line: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    settle(writeln!(out, "{line}").and_then(|()| out.flush()))
}

/// Says a line on stderr. Where nobody reads it there is nothing more to be done: `eprintln!` would panic, and change how the
/// program ends.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn settle(result: io::Result<()>) -> Result<bool, Failure> {
    match result {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::Unexpected(format!("writing to stdout: {e}"))),
    }
}
