//! The terminal as a guarded session: raw mode and the alternate screen are entered once and left once, whoever
//! leaves first. Leaving never panics: a terminal that is gone must not cause a second failure.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::{Hide, Show};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

/// Whether this process holds the terminal. Taken by whoever gives it back: the session or the panic hook.
static HELD: AtomicBool = AtomicBool::new(false);

/// The screen's terminal; given back when dropped.
pub struct TerminalSession {
    /// Where frames are drawn.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
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
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
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

/// Gives the terminal back: colours off, cursor shown, main screen, cooked mode. Each step is tried whatever became
/// of the others; nothing happens the second time.
pub fn leave() {
    if !HELD.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = queue!(out, crossterm::style::ResetColor, Show, LeaveAlternateScreen);
    let _ = out.flush();
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
        leave();
        report(info);
    }));
}
