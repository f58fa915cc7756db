//! Commands that change settings, or hold the terminal, run under a supervisor (see [`crate::runtime::supervisor`]).

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::change_report::journal;
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::runtime::supervisor::{self, Ended, Supervised};
use crate::sys::process;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Owner;
use crate::tuning::restore::owned_by;

/// How long settings that are put back for a dead program keep the prompt. A queue that takes longer is waited for
/// without anybody waiting.
const PUT_BACK_WITHIN: Duration = Duration::from_millis(350);

/// Runs `work` in this process if a supervisor started it, else starts this program anew under one and waits.
///
/// # Errors
/// What `work` answers; or, as the supervisor, how the program ended.
pub(super) fn run(screen: bool, root: &SysRoot, work: impl FnOnce() -> CommandResult) -> CommandResult {
    if supervisor::is_supervised() {
        // The hook has given the terminal back and printed the message; what unwinding had to do is done.
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Failure::AlreadyTold(1)));
        supervisor::leaving();
        return result;
    }
    let program = supervisor::supervise(screen)
        .map_err(|e| Failure::Unexpected(format!("starting the program under its supervisor: {e}")))?;
    if let Some(why) = in_words(&program) {
        output::say(format_args!("blktune: {why}"));
    }
    put_back(&program, root);
    match program.ended {
        Ended::Exited(0) => Ok(()),
        Ended::Exited(code) | Ended::Killed(code) | Ended::Overdue(code) | Ended::Stuck(code) => {
            Err(Failure::AlreadyTold(code))
        }
    }
}

/// What there is to say of an end that the program could not speak of itself.
fn in_words(program: &Supervised) -> Option<String> {
    match program.ended {
        Ended::Exited(_) => None,
        Ended::Killed(_) => Some("the program was killed".to_owned()),
        Ended::Overdue(_) => Some("the program did not end in time and was killed".to_owned()),
        Ended::Stuck(_) => Some(format!(
            "process {} can not end: a thread of it waits in the kernel for a device that does not answer",
            program.pid
        )),
    }
}

/// Puts back what the program held, whichever way it ended: one that ended in order has done so itself.
fn put_back(program: &Supervised, root: &SysRoot) {
    let Some(started) = program.started else { return };
    let owner = Owner { pid: program.pid, started };
    let Ok(journal) = journal(root) else { return };
    let Ok(entries) = journal.entries() else { return };
    let due = owned_by(&entries, owner);
    let Some(first) = due.first() else { return };
    let device = first.device.name.clone();
    match put_back_elsewhere(owner) {
        Some(said) => said.lines().for_each(|line| output::say(format_args!("{line}"))),
        None => output::say(format_args!(
            "blktune: the settings of {device} are put back as soon as the kernel lets them; `blktune restore --dry-run` \
             says what is still to be done"
        )),
    }
}

/// Has another process do it, and waits for what that says. None if it takes longer.
fn put_back_elsewhere(owner: Owner) -> Option<String> {
    let mut child = Command::new(process::own_executable())
        .args(["put-back", &owner.pid.to_string(), &owner.started.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        // A terminal that closes must not take it along.
        .process_group(0)
        .spawn()
        .ok()?;
    let mut out = child.stdout.take()?;
    let (to, from) = crossbeam_channel::bounded(1);
    std::thread::Builder::new()
        .name("put-back".to_owned())
        .spawn(move || {
            let mut said = String::new();
            let _ = out.read_to_string(&mut said);
            let _ = to.send(said);
        })
        .ok()?;
    from.recv_timeout(PUT_BACK_WITHIN).ok()
}
