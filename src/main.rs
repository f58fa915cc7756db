//! The binary: parses the command line, calls the library, maps the result to an exit code.

use std::io::Write as _;
use std::process::ExitCode;

use blktune::cli::{self, Cli};
use clap::Parser as _;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors; a closed pipe is none either.
            let _ = e.print();
            return if e.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match cli::run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.already_told() {
                // A terminal that closed is no reason to end otherwise.
                let _ = writeln!(std::io::stderr(), "blktune: {failure}");
            }
            ExitCode::from(failure.code())
        }
    }
}
