//! Opening and leaving the screen: what is known is shown at once, then the threads start.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use super::control::Control;
use super::event::Event;
use super::event_loop::{self, Ending, Surroundings};
use super::experimenter::LastWord;
use super::outside::Outside;
use super::replay::{LOOKED_AT, Replay};
use super::terminal::{self, TerminalSession};
use super::watcher::{self, Watcher};
use super::{devices, input, sampler, signals, supervisor, thread};
use crate::app::message::{HostLine, Level, Message};
use crate::app::model::{Model, Options};
use crate::app::parting;
use crate::app::replay::ReplayOrder;
use crate::app::update::update;
use crate::clock::{Clock as _, SystemClock};
use crate::config::theme::Theme;
use crate::sys::attr;
use crate::sys::device::Device;
use crate::sys::host::Host;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Journal;
use crate::tuning::restore;
use crate::units::Nanos;

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
    /// A record that is shown in place of the host.
    pub replay: Option<Replay>,
    /// Where what was chosen in the list is remembered and records of experiments are kept; None if there is no place for it.
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
    /// What there is to say of what was stopped.
    pub last: LastWord,
}

/// Opens the screen and runs it until something ends it. The terminal is as before when this returns.
///
/// # Errors
/// Devices can not be listed, the terminal can not be set up, or a thread not be started.
pub fn open(opening: Opening) -> io::Result<Left> {
    let Opening { root, journal, theme, options, interval, place, scratch, replay, state, notice } = opening;
    let (events, inbox) = bounded(EVENTS);
    let (asks, asked) = watcher::asks();
    let left_held = journal.as_ref().map(restore::left_held).unwrap_or_default();
    let control = journal.map(|j| Control::new(root.clone(), j, events.clone(), asks.clone()));
    let mut outside = Outside::new(root.clone(), events.clone(), asks.clone(), control, scratch, state);
    let mut wall: Box<dyn Fn() -> String> = Box::new(wall_of_this_host);
    let (source, known) = match replay {
        Some(replay) => {
            let (orders, ordered) = unbounded();
            outside = outside.replaying(orders);
            let recorded = replay.wall();
            let (replay, known) = first_of_record(replay, interval, place);
            wall = Box::new(move || recorded.shown());
            (Source::Record(Box::new(replay), ordered), known)
        }
        None => host_at_start(&root, interval, place)?,
    };
    let handlers = signals::listen(&events)?;

    let mut session = TerminalSession::enter()?;
    let mut model = Model::new(options);
    let size = session.terminal.size()?;
    let sized = [
        // What is said below is said now.
        Message::Tick { now: SystemClock.monotonic(), wall: wall() },
        Message::Resize { width: size.width, height: size.height },
    ];
    let left_held = left_held.into_iter().chain(notice).map(|words| Message::Notice(Level::Warning, words));
    for message in sized.into_iter().chain(known).chain(left_held) {
        for effect in update(&mut model, message) {
            outside.carry_out(effect);
        }
    }
    start_threads(&root, &events, asked, source)?;
    #[cfg(debug_assertions)]
    crate::sys::fault::due("main");
    let around = Surroundings {
        theme: &theme,
        clock: &SystemClock,
        wall: &*wall,
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
    let last = outside.leave();
    handlers.close();
    Ok(Left { ending, changed, held, last })
}

/// Where figures and devices come from.
enum Source {
    Host { devices: Vec<Device>, host: Box<Host>, line: Box<HostLine> },
    Record(Box<Replay>, Receiver<ReplayOrder>),
}

/// The host or captured tree as it is now, and what is shown of it at once.
fn host_at_start(
    root: &SysRoot,
    interval: Duration,
    place: Option<String>,
) -> io::Result<(Source, Vec<Message>)> {
    let devices = devices::first_look(root)?;
    let host = Host::read(root);
    let line = host_line(&host, interval, place);
    let known = vec![
        Message::Host(line.clone()),
        Message::Rights(rights(root, &devices)),
        Message::Inventory(devices.clone()),
    ];
    Ok((Source::Host { devices, host: Box::new(host), line: Box::new(line) }, known))
}

/// The first sample of a record, which is shown at once.
fn first_of_record(mut replay: Replay, interval: Duration, place: Option<String>) -> (Replay, Vec<Message>) {
    let mut first = Vec::new();
    replay.deliver(&mut |message| first.push(message));
    let host = replay.host().clone();
    let host = Host { name: host.name, kernel: host.kernel, cpus: host.cpus, ..Host::default() };
    let interval = replay.interval().map_or(interval, Nanos::duration);
    let mut known =
        vec![Message::Host(host_line(&host, interval, place)), Message::Rights(Err(LOOKED_AT.to_owned()))];
    known.append(&mut first);
    (replay, known)
}

fn start_threads(
    root: &SysRoot,
    events: &Sender<Event>,
    asked: Receiver<watcher::Ask>,
    source: Source,
) -> io::Result<()> {
    let to = events.clone();
    thread::spawn("input", events, move || input::read_keys(&to))?;
    let to = events.clone();
    match source {
        Source::Record(replay, orders) => {
            thread::spawn("replay", events, move || replay.run(&SystemClock, &to, &orders, &asked))?;
        }
        Source::Host { devices, host, line } => {
            let from = root.clone();
            thread::spawn("sampler", events, move || sampler::run(&from, &to, *host, *line))?;
            let (to, from) = (events.clone(), root.clone());
            thread::spawn("watcher", events, move || Watcher::new(from, to, asked, devices).run())?;
        }
    }
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
    // A few answer for all: what refuses one refuses the others.
    for d in devices.iter().take(16) {
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
fn wall_of_this_host() -> String {
    jiff::Zoned::now().strftime("%H:%M").to_string()
}
