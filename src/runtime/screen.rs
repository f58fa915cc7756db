//! Opening and leaving the screen: what is known is shown at once, then the threads start.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};

use super::control::Control;
use super::event::Event;
use super::event_loop::{self, Ending, Surroundings};
use super::outside::Outside;
use super::terminal::{self, TerminalSession};
use super::watcher::{self, Watcher};
use super::{input, sampler, signals, supervisor, thread};
use crate::app::message::{HostLine, Level, Message};
use crate::app::model::{Model, Options};
use crate::app::parting;
use crate::app::update::update;
use crate::clock::{Clock as _, SystemClock};
use crate::config::theme::Theme;
use crate::sys::attr;
use crate::sys::device::Device;
use crate::sys::host::Host;
use crate::sys::inventory;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Journal;
use crate::tuning::restore;

/// Events that may wait for the loop. Enough for a second of everything; beyond it the threads wait, not the loop.
const EVENTS: usize = 4096;

/// What the screen is opened with.
pub struct Opening {
    /// This host or a captured tree.
    pub root: SysRoot,
    /// Where changes are noted; None where nothing can be changed.
    pub journal: Option<Journal>,
    /// Colours.
    pub theme: Theme,
    /// State that is fixed at the start.
    pub options: Options,
    /// Time between samples.
    pub interval: Duration,
    /// What is not the plain host: `sandbox loop64`, `sysroot DIR`.
    pub place: Option<String>,
    /// What a run on a scratch file reads: a directory to make one in, or one that is there.
    pub scratch: PathBuf,
    /// Where what was chosen in the list is remembered; None if there is no place for it.
    pub state: Option<PathBuf>,
    /// What is to be said at the start.
    pub notice: Option<String>,
}

/// How the screen was left.
pub struct Left {
    /// Why.
    pub ending: Ending,
    /// What stays changed, a line each.
    pub changed: Vec<String>,
    /// What is put back unless it is confirmed, a line each.
    pub held: Vec<String>,
    /// What could not be stopped in time.
    pub stuck: Option<String>,
}

/// Opens the screen and runs it until something ends it. The terminal is as before when this returns.
///
/// # Errors
/// Devices can not be listed, the terminal can not be set up, or a thread not be started.
pub fn open(opening: Opening) -> io::Result<Left> {
    let Opening { root, journal, theme, options, interval, place, scratch, state, notice } = opening;
    let devices = inventory::scan(&root)?;
    let host = Host::read(&root);
    let line = host_line(&host, interval, place);
    let (events, inbox) = bounded(EVENTS);
    let (asks, asked) = watcher::asks();
    let left_held = journal.as_ref().map(restore::left_held).unwrap_or_default();
    let control = journal.map(|j| Control::new(root.clone(), j, events.clone(), asks.clone()));
    let mut outside = Outside::new(root.clone(), events.clone(), asks.clone(), control, scratch, state);
    let handlers = signals::listen(&events)?;

    let mut session = TerminalSession::enter()?;
    let mut model = Model::new(options);
    let size = session.terminal.size()?;
    let known = [
        // What is said below is said now.
        Message::Tick { now: SystemClock.monotonic(), wall: wall() },
        Message::Resize { width: size.width, height: size.height },
        Message::Host(line.clone()),
        Message::Rights(rights(&root, &devices)),
        Message::Inventory(devices.clone()),
    ];
    let left_held = left_held.into_iter().chain(notice).map(|words| Message::Notice(Level::Warning, words));
    for message in known.into_iter().chain(left_held) {
        for effect in update(&mut model, message) {
            outside.carry_out(effect);
        }
    }
    start_threads(&root, &events, asked, devices, host, line)?;
    #[cfg(debug_assertions)]
    crate::sys::fault::due("main");
    let around = Surroundings {
        theme: &theme,
        clock: &SystemClock,
        wall: &wall,
        lost: &lost,
        suspend: &terminal::suspend,
        take_again: &terminal::take_again,
    };
    let ending =
        event_loop::run(&mut session.terminal, &mut model, &inbox, &around, &mut |e| outside.carry_out(e));
    // The terminal first: whatever hangs below must not keep the prompt away.
    drop(session);
    supervisor::leaving();
    let (changed, held) = (parting::left_changed(&model), parting::left_held(&model));
    drop(inbox);
    let stuck = outside.leave();
    handlers.close();
    Ok(Left { ending, changed, held, stuck })
}

fn start_threads(
    root: &SysRoot,
    events: &Sender<Event>,
    asked: crossbeam_channel::Receiver<watcher::Ask>,
    devices: Vec<Device>,
    host: Host,
    line: HostLine,
) -> io::Result<()> {
    let to = events.clone();
    thread::spawn("input", events, move || input::read_keys(&to))?;
    let (to, from) = (events.clone(), root.clone());
    thread::spawn("sampler", events, move || sampler::run(&from, &to, host, line))?;
    let (to, from) = (events.clone(), root.clone());
    thread::spawn("watcher", events, move || Watcher::new(from, to, asked, devices).run())?;
    Ok(())
}

fn host_line(host: &Host, interval: Duration, place: Option<String>) -> HostLine {
    let user = rustix::process::geteuid();
    HostLine {
        hostname: host.name.clone().unwrap_or_default(),
        kernel: host.kernel.clone().unwrap_or_default(),
        cpus: host.cpus.unwrap_or_default(),
        user: if user.is_root() { "root".to_owned() } else { format!("uid {}", user.as_raw()) },
        io_pressure_pct: host.io_pressure_pct.map(f64::from),
        interval,
        place,
    }
}

/// Whether settings can be written, found by opening one for writing: root in a container may not, and a user may have
/// been given the right.
fn rights(root: &SysRoot, devices: &[Device]) -> Result<(), String> {
    if !root.is_live() {
        return Err("a captured tree can be looked at, not changed".to_owned());
    }
    let mut answer = Ok(());
    for d in devices {
        match attr::may_write(&root.queue(d.name()).join("read_ahead_kb")) {
            Ok(()) => return Ok(()),
            Err(e) => answer = Err(attr::explain(&e.source)),
        }
    }
    answer
}

/// How the screen ends once the terminal was given back under it.
fn lost() -> Option<Ending> {
    if terminal::held() {
        return None;
    }
    Some(terminal::panicked().map_or(Ending::TerminalGone, Ending::ThreadFailed))
}

/// The wall clock to the minute: a second hand would send bytes over a slow line every second.
fn wall() -> String {
    jiff::Zoned::now().strftime("%H:%M").to_string()
}
