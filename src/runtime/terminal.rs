//! The terminal as a guarded session: raw mode and the alternate screen are entered once and left once, whoever
//! leaves first. Leaving never panics: a terminal that is gone must not cause a second failure.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{
    Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

use super::frame::Frames;
use crate::sys::root::SysRoot;

/// Whether this process holds the terminal. Taken by whoever gives it back: the session or the panic hook.
static HELD: AtomicBool = AtomicBool::new(false);

/// The thread whose panic made the terminal be given back.
static PANICKED: Mutex<Option<String>> = Mutex::new(None);

/// The screen's terminal; given back when dropped.
pub struct TerminalSession {
    /// Where frames are drawn.
    pub terminal: Terminal<CrosstermBackend<Frames>>,
}

impl TerminalSession {
    /// Enters raw mode and the alternate screen. The panic hook comes first, so that no panic can leave the terminal
    /// unusable.
    ///
    /// # Errors
    /// The terminal can not be set up; it is as before.
    pub fn enter() -> io::Result<Self> {
        install_panic_hook();
        HELD.store(true, Ordering::SeqCst);
        let entered = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen, Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(Frames::default())));
        match entered {
            Ok(terminal) => Ok(Self { terminal }),
            Err(e) => {
                leave();
                Err(e)
            }
        }
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        leave();
    }
}

/// Whether frames may be drawn: false once the terminal was given back.
#[must_use]
pub fn held() -> bool {
    HELD.load(Ordering::SeqCst)
}

/// Stops this process, as Ctrl-Z does to any other, with the terminal given back meanwhile. Returns when it goes on.
pub fn suspend() {
    leave();
    let _ = kill_process(getpid(), Signal::STOP);
    take_again();
}

/// Takes the terminal again after the process was stopped: whoever had it meanwhile has set it as they like, so it is
/// set anew whatever is believed of it. Nothing happens once it was given back for good.
pub fn take_again() {
    HELD.store(true, Ordering::SeqCst);
    // crossterm does nothing if it believes that raw mode is on already.
    let _ = disable_raw_mode();
    let _ = enable_raw_mode();
    let _ = execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), Hide);
}

/// The thread that panicked first, if one did.
#[must_use]
pub fn panicked() -> Option<String> {
    PANICKED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Gives the terminal back: colours off, cursor shown, main screen, cooked mode. Each step is tried whatever became
/// of the others; nothing happens the second time. A frame that is being written comes first, whole, and none comes after.
pub fn leave() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout().lock();
    let _ = queue!(out, crossterm::style::ResetColor, Show, LeaveAlternateScreen);
    let _ = out.flush();
    drop(out);
    let _ = disable_raw_mode();
}

/// On a panic of any thread the terminal is given back before the message is printed, so that it can be read.
fn install_panic_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::SeqCst) {
        return;
    }
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let name = std::thread::current().name().unwrap_or("without a name").to_owned();
        PANICKED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(name);
        leave();
        report(info);
    }));
}

/// A terminal as it was before the program got it, kept by whoever can still give it back when the program can not.
pub struct SavedTerminal {
    modes: Option<Termios>,
    screen: bool,
}

impl SavedTerminal {
    /// Keeps the modes of the terminal at stdin, if it is one. `screen` says that the program will draw on it.
    #[must_use]
    pub fn now(screen: bool) -> Self {
        Self { modes: tcgetattr(rustix::stdio::stdin()).ok(), screen }
    }

    /// Gives the terminal back without ever blocking: what waits to be read by nobody is thrown away first, since a
    /// write before that would wait behind it; then the leaving codes on a descriptor of its own; then the modes.
    pub fn give_back(&self) {
        let Some(modes) = &self.modes else { return };
        let own = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC)
            .open(SysRoot::own_terminal());
        // Without a controlling terminal there is nobody to give it back to.
        let Ok(mut tty) = own else { return };
        if self.screen {
            let _ = tcflush(&tty, QueueSelector::OFlush);
            // What is thrown away may be the end of a frame.
            let _ =
                queue!(tty, EndSynchronizedUpdate, crossterm::style::ResetColor, Show, LeaveAlternateScreen);
            let _ = tty.flush();
        }
        let _ = tcsetattr(&tty, OptionalActions::Now, modes);
    }
}
