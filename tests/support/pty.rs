//! The real binary in a pseudo-terminal: keys in, the screen as a person would see it out.

use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use rustix::termios::tcgetattr;
use tempfile::TempDir;

use super::frames::{FrameStream, outside_frames};

/// Longest wait for anything on the screen. Far more than needed: machines that run tests are slow and busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running program and its terminal. Killed when dropped, if it still runs.
pub struct Session {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    outside: Arc<Mutex<Vec<u8>>>,
    modes_before: [u64; 4],
    reader: JoinHandle<()>,
    look_away: Arc<AtomicBool>,
    home: TempDir,
}

impl Session {
    /// Starts the binary with these arguments in a terminal of this size.
    pub fn start(args: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(args, &[], columns, rows)
    }

    /// The same with more environment.
    pub fn start_with(args: &[&str], env: &[(&str, &str)], columns: u16, rows: u16) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_blktune"));
        command.args(args);
        Self::start_command(command, env, columns, rows)
    }

    /// The same in this directory, where scratch files are made.
    pub fn start_in(dir: &Path, args: &[&str], columns: u16, rows: u16) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_blktune"));
        command.args(args);
        command.cwd(dir);
        Self::start_command(command, &[], columns, rows)
    }

    /// The same below a control group: a shell joins it first.
    pub fn start_below(group: &Path, args: &[&str], columns: u16, rows: u16) -> Self {
        let mut command = CommandBuilder::new("sh");
        let join = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        command.args(["-c", join]);
        command.arg(group);
        command.arg(env!("CARGO_BIN_EXE_blktune"));
        command.args(args);
        Self::start_command(command, &[], columns, rows)
    }

    fn start_command(mut command: CommandBuilder, env: &[(&str, &str)], columns: u16, rows: u16) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
            command.env(variable, home.path());
        }
        for variable in ["NO_COLOR", "COLORTERM", "COLUMNS", "LINES"] {
            command.env_remove(variable);
        }
        // A backtrace would push the message off the screen.
        command.env("RUST_BACKTRACE", "0");
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for (name, value) in env {
            command.env(name, value);
        }
        let modes_before = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("the binary starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let mut reader = pair.master.try_clone_reader().expect("the terminal's output");
        let (to, look_away) = (Arc::clone(&screen), Arc::new(AtomicBool::new(false)));
        let looking_away = Arc::clone(&look_away);
        let outside = Arc::new(Mutex::new(Vec::new()));
        let strays = Arc::clone(&outside);
        let reader = std::thread::spawn(move || {
            let (mut bytes, mut stream) = ([0; 4096], FrameStream::default());
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                let shown = stream.take(&bytes[..n]);
                strays.lock().unwrap_or_else(PoisonError::into_inner).extend(outside_frames(&shown));
                to.lock().unwrap_or_else(PoisonError::into_inner).process(&shown);
                if looking_away.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let writer = pair.master.take_writer().expect("the terminal's input");
        Self { child, master: pair.master, writer, screen, outside, modes_before, reader, look_away, home }
    }

    /// What came so far that was not part of a frame.
    pub fn outside_frames(&self) -> String {
        String::from_utf8_lossy(&self.outside.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.writer.flush().expect("the terminal takes keys");
    }

    /// Types a key that moves the cursor or changes what it is on, and waits for that: other figures on the screen may change
    /// at any time, and are no answer.
    pub fn press(&mut self, key: &str) {
        let under_cursor = |text: &str| -> Vec<(usize, String)> {
            text.lines()
                .enumerate()
                .filter(|(_, l)| l.contains('>'))
                .map(|(n, l)| (n, l.to_owned()))
                .collect()
        };
        let before = under_cursor(&self.text());
        self.keys(key);
        self.wait_until(&format!("an answer to {key:?}"), |t| under_cursor(t) != before);
    }

    /// Waits until all keys before this were taken, where nothing else tells: they are taken one after the other, so that the
    /// help opens after them. It is closed again.
    pub fn all_taken(&mut self) {
        self.keys("?");
        self.wait_for("Keys");
        self.keys("\x1b");
        self.wait_until("the help closed", |t| !t.contains("Keys"));
    }

    /// From the list: stages the next scheduler of the chosen device and opens the diff. Nothing is written yet.
    pub fn stage_scheduler(&mut self) {
        self.keys("2");
        self.wait_for("> scheduler");
        self.keys(" ");
        self.wait_for("1 staged");
        self.keys("c");
        self.wait_for("staged changes");
    }

    /// What is on the screen, line by line.
    pub fn text(&self) -> String {
        self.with_screen(vt100::Screen::contents)
    }

    /// Looks at the screen.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen())
    }

    /// Waits until the screen shows this text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |s| s.contains(text));
    }

    /// Waits until the screen's text satisfies `holds`.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if holds(&text) {
                return;
            }
            assert!(Instant::now() < end, "waited in vain for {what}; the screen is:\n{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The line that contains this text; empty if none does.
    pub fn line_with(&self, text: &str) -> String {
        self.text().lines().find(|l| l.contains(text)).unwrap_or_default().to_owned()
    }

    /// Changes the terminal's size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen_mut().set_size(rows, columns);
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("the terminal can be resized");
    }

    /// The terminal's modes as they are now: input, output, control and local flags.
    pub fn modes(&self) -> [u64; 4] {
        modes(&*self.master)
    }

    /// What they were before the program started.
    pub fn modes_before(&self) -> [u64; 4] {
        self.modes_before
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.process_id().expect("a running program")
    }

    /// The directory of its state, gone with the session.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Presses q until the program ends. Once is not enough if the key arrives together with an Esc before it.
    pub fn quit(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        let mut status = None;
        while status.is_none() {
            assert!(Instant::now() < end, "the program does not end; the screen is:\n{}", self.text());
            // A program that just ended takes no keys.
            let _ = self.writer.write_all(b"q");
            std::thread::sleep(Duration::from_millis(200));
            status = self.child.try_wait().expect("the program can be waited for");
        }
        status.expect("the loop ends with one")
    }

    /// Reads no more of what the program draws, as a stalled connection does.
    pub fn stop_reading(&self) {
        self.look_away.store(true, Ordering::SeqCst);
    }

    /// Waits for the end.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                return status;
            }
            assert!(Instant::now() < end, "the program does not end; the screen is:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Closes the terminal from outside, as a dropped connection does, and waits for the end. What is left is the directory of
    /// its state.
    pub fn hang_up(self) -> (ExitStatus, TempDir) {
        let Self { mut child, master, writer, reader, look_away, screen, home, .. } = self;
        // The reader holds the terminal open until it has read once more; a new size makes the program draw.
        look_away.store(true, Ordering::SeqCst);
        let (rows, columns) = screen.lock().unwrap_or_else(PoisonError::into_inner).screen().size();
        let size = PtySize { rows, cols: columns - 1, pixel_width: 0, pixel_height: 0 };
        master.resize(size).expect("the terminal can be resized");
        reader.join().expect("the reader ends");
        drop(writer);
        drop(master);
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait().expect("the program can be waited for") {
                return (status, home);
            }
            assert!(Instant::now() < end, "the program outlives its terminal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn modes(master: &dyn MasterPty) -> [u64; 4] {
    let path = master.tty_name().expect("the terminal's node");
    let tty = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(path)
        .expect("the terminal's node");
    let t = tcgetattr(&tty).expect("the terminal's modes");
    [t.input_modes.bits(), t.output_modes.bits(), t.control_modes.bits(), t.local_modes.bits()].map(u64::from)
}
