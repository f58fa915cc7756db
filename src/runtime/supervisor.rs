//! What the shell starts: a small process that starts the program itself (re-executed, on the same terminal), waits, and
//! puts things in order when the program can not do so any more.
//!
//! A panic that aborts, a SIGKILL, a thread stuck in the kernel on a hung device (which nothing can kill, and which keeps
//! the whole process from ending), a terminal that nobody reads: to the person at the shell they all end alike. The
//! prompt is back within two seconds, the terminal as it was, held settings put back, and one line says what is still
//! stuck. When the supervisor itself is killed the program is told by SIGTERM (`PR_SET_PDEATHSIG`) and ends in order.
//!
//! The supervisor must never hang itself, so it writes to the terminal without blocking, and has settings put back by
//! yet another process: a write to a queue that can not drain blocks for good.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_parent_process_death_signal,
    waitpid,
};

use super::inbox::Inbox;
use super::terminal::SavedTerminal;
use crate::clock::{Clock, SystemClock};
use crate::sys::process;
use crate::units::Nanos;

/// Names the supervisor's process to the program it started.
const SUPERVISOR: &str = "BLKTUNE_SUPERVISOR";

/// How long the program may take to end once it was told to, or says that it does.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How long a killed program is waited for: one that can be killed is gone at once.
const AFTER_KILL: Duration = Duration::from_millis(100);

/// Sent by the program to its supervisor when it begins to end by itself.
const LEAVING: Signal = Signal::USR1;

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code; it has said everything itself.
    Exited(u8),
    /// By a signal that it could not or did not catch; the exit code that shells give for it.
    Killed(u8),
    /// It was told to end, did not in time, and was killed. The exit code that it would have had.
    Overdue(u8),
    /// It was told to end, or began to, and could not: something in the kernel does not let it go. The exit code that
    /// it would have had.
    Stuck(u8),
}

/// A program under supervision that has ended, or can not.
#[derive(Debug)]
pub struct Supervised {
    /// Its process.
    pub pid: u32,
    /// Start time, which tells its process number from a reused one; None if it was gone too soon to ask.
    pub started: Option<u64>,
    /// How it ended.
    pub ended: Ended,
}

/// Whether this process is the program that a supervisor started. If so it is told by SIGTERM when that supervisor
/// dies.
#[must_use]
pub fn is_supervised() -> bool {
    let named = std::env::var(SUPERVISOR).ok().and_then(|v| v.parse().ok()).and_then(Pid::from_raw);
    if named.is_none() || named != getppid() {
        return false;
    }
    // Without it only the death of both is left to `restore`.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    // It may have died between the two looks.
    if getppid() != named {
        let _ = kill_process(getpid(), Signal::TERM);
    }
    true
}

/// Tells the supervisor that this program begins to end: from now on it has [`PATIENCE`]. Without a supervisor nothing
/// happens.
pub fn leaving() {
    let named = std::env::var(SUPERVISOR).ok().and_then(|v| v.parse().ok()).and_then(Pid::from_raw);
    if let (Some(pid), true) = (named, named == getppid()) {
        let _ = kill_process(pid, LEAVING);
    }
}

/// Starts this program anew with the same arguments and waits for its end. `screen` says that it draws on the terminal,
/// so that a terminal it could not give back itself is given back here.
///
/// # Errors
/// Signals can not be caught, or the program not be started.
pub fn supervise(screen: bool) -> io::Result<Supervised> {
    let terminal = SavedTerminal::now(screen);
    let inbox =
        Inbox::catching(&[Signal::INT, Signal::TERM, Signal::HUP, Signal::TSTP, Signal::CHILD, LEAVING])?;
    let mut arguments = std::env::args_os();
    let mut command = Command::new(process::own_executable());
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let child = command.args(arguments).env(SUPERVISOR, getpid().as_raw_nonzero().to_string()).spawn()?;
    let pid = child.id();
    let started = process::start_time(pid);
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let mut watch = Watch { child: raw, told: None, code_when_stuck: None };
    let ended = watch.until_the_end(&inbox);
    if !matches!(ended, Ended::Exited(_)) {
        terminal.give_back();
    }
    Ok(Supervised { pid, started, ended })
}

/// The supervisor's view of the program.
struct Watch {
    child: Pid,
    /// When it was first told to end, or said that it does.
    told: Option<Nanos>,
    /// The exit code that the first signal asks for.
    code_when_stuck: Option<u8>,
}

impl Watch {
    fn until_the_end(&mut self, inbox: &Inbox) -> Ended {
        loop {
            if let Some(ended) = self.look() {
                return ended;
            }
            let left =
                self.told.map(|t| PATIENCE.saturating_sub(SystemClock.monotonic().since(t).duration()));
            if left.is_some_and(|l| l.is_zero()) {
                return self.give_up();
            }
            for signal in inbox.wait(left) {
                self.take(signal);
            }
        }
    }

    fn take(&mut self, signal: Signal) {
        match signal {
            Signal::CHILD => {}
            LEAVING => {
                self.told.get_or_insert(SystemClock.monotonic());
            }
            // The program gives the terminal back and stops; then so do we.
            Signal::TSTP => self.pass_on(Signal::TSTP),
            signal => {
                self.told.get_or_insert(SystemClock.monotonic());
                self.code_when_stuck.get_or_insert(code_of(signal.as_raw()));
                self.pass_on(signal);
            }
        }
    }

    fn pass_on(&self, signal: Signal) {
        // It may have ended a moment ago.
        let _ = kill_process(self.child, signal);
    }

    /// Whether it has ended. If it stopped, this process stops too, and both go on together.
    fn look(&self) -> Option<Ended> {
        let (_, status) = waitpid(Some(self.child), WaitOptions::NOHANG | WaitOptions::UNTRACED).ok()??;
        if status.stopped() {
            let _ = kill_process(getpid(), Signal::STOP);
            self.pass_on(Signal::CONT);
            return None;
        }
        ended(status)
    }

    /// It does not end. What can be killed is killed, so that it draws no more.
    fn give_up(&self) -> Ended {
        let own_code = process::exit_code(self.child.as_raw_nonzero().get().unsigned_abs());
        let code = self.code_when_stuck.or(own_code).unwrap_or(1);
        self.pass_on(Signal::KILL);
        let end = SystemClock.monotonic();
        while SystemClock.monotonic().since(end).duration() < AFTER_KILL {
            if let Ok(Some((_, status))) = waitpid(Some(self.child), WaitOptions::NOHANG)
                && ended(status).is_some()
            {
                return Ended::Overdue(code);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ended::Stuck(code)
    }
}

fn ended(status: WaitStatus) -> Option<Ended> {
    if let Some(code) = status.exit_status() {
        return Some(Ended::Exited(u8::try_from(code).unwrap_or(1)));
    }
    status.terminating_signal().map(|n| Ended::Killed(code_of(n)))
}

/// The exit code of a program ended by a signal.
fn code_of(signal: i32) -> u8 {
    u8::try_from(signal).map_or(1, |n| 128u8.saturating_add(n))
}
