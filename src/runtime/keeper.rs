//! The dead man's switch: a process of its own that puts held settings back unless they are confirmed in time.
//!
//! It leads a session without a terminal, so that a lost connection does not end it, and is started before the first
//! write, so that a program that dies between two writes leaves it in charge. Entries are held in its name: it finds
//! them in the journal, and a confirmation is one more line there.

use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::clock::{Clock, SystemClock};
use crate::sys::process;
use crate::sys::root::SysRoot;
use crate::tuning::journal::{Journal, JournalError, Owner, Stage};
use crate::tuning::restore::{self, RestoreReport};
use crate::units::Nanos;

/// Time between two looks at the journal.
const LOOK: Duration = Duration::from_millis(250);
/// A front that has noted nothing by so long after the deadline never will: it was refused, or has confirmed.
const GRACE: Duration = Duration::from_secs(10);
/// How long a queue may take to drain before the keeper gives up on it. `restore` can still put it back.
const PATIENCE: Duration = Duration::from_hours(1);

/// A keeper that runs.
#[derive(Clone, Copy, Debug)]
pub struct Keeper {
    /// In whose name to hold.
    pub owner: Owner,
    /// When it puts back, in seconds since 1970.
    pub reverts_at: u64,
}

/// Starts a keeper that puts back, `after` from now, what is held in its name. On return it is ready, out of the
/// terminal's session, and ends by itself if this process dies without having held anything.
///
/// # Errors
/// This program can not be started once more.
pub fn start(after: Duration) -> io::Result<Keeper> {
    let nanos = u64::try_from(after.as_nanos()).unwrap_or(u64::MAX);
    let deadline = SystemClock.boot().0.saturating_add(nanos);
    let reverts_at = SystemClock.wall().0.saturating_add(nanos) / 1_000_000_000;
    let us = Owner::this();
    let mut child = Command::new(process::own_executable())
        .arg("keeper")
        .args([deadline, u64::from(us.pid), us.started].map(|n| n.to_string()))
        .current_dir(SysRoot::host().base())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut ready = [0];
    let answer = child.stdout.take().map(|mut out| out.read_exact(&mut ready));
    match (answer, Owner::of(child.id())) {
        (Some(Ok(())), Some(owner)) => Ok(Keeper { owner, reverts_at }),
        (answer, _) => {
            // It holds nothing yet, and must not be left behind.
            let _ = child.kill();
            let _ = child.wait();
            Err(answer.and_then(Result::err).unwrap_or_else(|| io::Error::other("it ended at once")))
        }
    }
}

/// What a keeper does: waits until `deadline` (of `CLOCK_BOOTTIME`, which counts suspend) or SIGTERM, then puts back
/// what is held in the name of this process; returns as soon as nothing is left to wait for. If `front`, which makes
/// the changes, dies in the middle of them, they are put back at once.
///
/// # Errors
/// Signals can not be caught, or the journal can not be read when it is time to put back.
pub fn run(journal: &Journal, root: &SysRoot, deadline: Nanos, front: Owner) -> io::Result<RestoreReport> {
    // Fails only for one who leads a session already.
    let _ = rustix::process::setsid();
    let (asked, hung_up) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    flag::register(SIGTERM, Arc::clone(&asked))?;
    flag::register(SIGINT, Arc::clone(&asked))?;
    // Caught and not looked at: a connection that is lost is what this is for.
    flag::register(SIGHUP, hung_up)?;
    say_ready()?;
    let us = Owner::this();
    loop {
        let front_alive = front.alive();
        let time_is_up = asked.load(Ordering::SeqCst) || SystemClock.boot().0 >= deadline.0;
        match journal.entries() {
            Ok(entries) => {
                let ours = restore::owned_by(&entries, us);
                let writing = ours.iter().any(|e| e.stage == Stage::Open);
                let long_over = SystemClock.boot().0 >= deadline.0.saturating_add(Nanos::from(GRACE).0);
                if ours.is_empty() && (!front_alive || long_over) {
                    return Ok(RestoreReport::default());
                }
                let orphaned = writing && !front_alive;
                if !ours.is_empty() && (orphaned || (time_is_up && !(writing && front_alive))) {
                    let report = restore::restore_owned_by(journal, root, us, PATIENCE).map_err(failed)?;
                    if !front_alive || !report.not_restored.is_empty() || !report.stuck.is_empty() {
                        return Ok(report);
                    }
                }
            }
            Err(e) if time_is_up => return Err(failed(e)),
            // Another look may find it readable.
            Err(_) => {}
        }
        std::thread::sleep(LOOK);
    }
}

fn failed(e: JournalError) -> io::Error {
    io::Error::other(e)
}

/// Tells the one who waits, and lets go of the pipe.
fn say_ready() -> io::Result<()> {
    io::stdout().write_all(b".")?;
    io::stdout().flush()?;
    rustix::stdio::dup2_stdout(io::stdin()).map_err(Into::into)
}
