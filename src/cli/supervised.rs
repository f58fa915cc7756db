//! Commands that change settings, or hold the terminal, run under a supervisor (see [`crate::runtime::supervisor`]).

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::outcome::{CommandResult, Failure};
use crate::runtime::supervisor::{self, Ended, Supervised};

/// Runs `work` in this process if a supervisor started it, else starts this program anew under one and waits.
///
/// # Errors
/// What `work` answers; or, as the supervisor, how the program ended.
pub(super) fn run(screen: bool, work: impl FnOnce() -> CommandResult) -> CommandResult {
    if supervisor::is_supervised() {
        // The hook has given the terminal back and printed the message; what unwinding had to do is done.
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Failure::AlreadyTold(1)));
        supervisor::leaving();
        return result;
    }
    let program = supervisor::supervise(screen)
        .map_err(|e| Failure::Unexpected(format!("starting the program under its supervisor: {e}")))?;
    report(&program)
}

fn report(program: &Supervised) -> CommandResult {
    match program.ended {
        Ended::Exited(0) => Ok(()),
        Ended::Exited(code) => Err(Failure::AlreadyTold(code)),
        Ended::Killed(code) => {
            tell("blktune: the program was killed");
            Err(Failure::AlreadyTold(code))
        }
        Ended::Overdue(code) => {
            tell("blktune: the program did not end in time and was killed");
            Err(Failure::AlreadyTold(code))
        }
        Ended::Stuck(code) => {
            tell(&format!(
                "blktune: process {} can not end: a thread of it waits in the kernel for a device that does not answer",
                program.pid
            ));
            Err(Failure::AlreadyTold(code))
        }
    }
}

/// To stderr; where nobody reads it there is nothing more to be done.
fn tell(words: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{words}");
}
