//! `blktune [DEVICE]`: the screen, from the command line's side.

use std::io::{IsTerminal as _, stdin, stdout};
use std::path::{Path, PathBuf};

use super::change_report::journal;
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use super::watch_replay::{self, row_of_record};
use super::{Cli, ColorWhen, Global, sandbox_arg};
use crate::app::model::{Options, PresetRow};
use crate::clock::{Clock as _, SystemClock};
use crate::config::color::{ColorChoice, ColorDepth, TerminalHints};
use crate::config::theme::Theme;
use crate::config::view::{self, View};
use crate::runtime::event_loop::Ending;
use crate::runtime::replay::{Replay, ReplayOpening};
use crate::runtime::screen::{self, Opening};
use crate::runtime::stop::Stop;
use crate::sandbox::Sandbox;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::workload::preset::{self, PRESETS};

/// How the screen looks.
pub(super) struct Look {
    theme: Theme,
    ascii: bool,
}

/// Reads the theme and what the terminal can show. Done for every command, so that a wrong theme is told at once.
///
/// # Errors
/// [`Failure::Config`] for a theme that is not there or not right.
pub(super) fn look(global: &Global) -> Result<Look, Failure> {
    let var = |name: &str| std::env::var(name).ok();
    let wanted = global.theme.as_deref().unwrap_or("default");
    let theme = Theme::load(wanted, themes_dir().as_deref()).map_err(|e| Failure::Config(e.to_string()))?;
    let choice = match global.color {
        ColorWhen::Auto => ColorChoice::Auto,
        ColorWhen::Always => ColorChoice::Always,
        ColorWhen::Never => ColorChoice::Never,
    };
    let (no_color, colorterm, term) = (var("NO_COLOR"), var("COLORTERM"), var("TERM"));
    let hints = TerminalHints {
        no_color: no_color.as_deref(),
        colorterm: colorterm.as_deref(),
        term: term.as_deref(),
    };
    Ok(Look { theme: theme.at_depth(ColorDepth::choose(choice, hints)), ascii: global.ascii || !utf8() })
}

/// Whether the locale has more than ASCII.
pub(super) fn utf8() -> bool {
    // The first that is set and not empty decides, as setlocale(3) has it.
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|v| std::env::var(v).ok().filter(|s| !s.is_empty()));
    locale.is_some_and(|l| {
        let l = l.to_ascii_lowercase();
        l.ends_with("utf-8") || l.ends_with("utf8")
    })
}

/// `$XDG_CONFIG_HOME/blktune/themes`, or the same below `~/.config`.
fn themes_dir() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|h| h.join(".config")))?;
    Some(config.join("blktune/themes"))
}

/// The screen is drawn on a terminal.
///
/// # Errors
/// There is none.
pub(super) fn needs_terminal() -> CommandResult {
    if stdin().is_terminal() && stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::Usage(
        "the screen needs a terminal; without one use `blktune list`, `blktune run` and the rest (blktune --help)"
            .to_owned(),
    ))
}

/// Opens the screen and tells, once it is gone, how it ended and what stays changed.
///
/// # Errors
/// The device does not exist, or what ended the screen was an error or a signal.
pub(super) fn open(cli: &Cli, root: SysRoot, look: Look) -> CommandResult {
    if let Some(file) = &cli.replay {
        // A device is a row of the record.
        let chosen = cli.device.as_deref().and_then(row_of_record);
        let replay = open_record(file, cli, &root)?;
        return show(cli, root, look, chosen, None, Some(replay));
    }
    let chosen = cli.device.as_deref().map(|typed| resolve(&root, typed)).transpose()?;
    // Signals while the scratch file is written end the program in order, too.
    let stop = match cli.global.sandbox {
        Some(_) => Stop::on_signals().map_err(|e| Failure::Unexpected(e.to_string()))?,
        None => Stop::default(),
    };
    let sandbox = sandbox_arg::create(cli.global.sandbox, &stop)?;
    let result = show(cli, root, look, chosen.map(|c| c.row), sandbox.as_ref(), None);
    let removed = sandbox.map_or(Ok(()), sandbox_arg::remove);
    result.and(removed)
}

/// Reads the first sample, so that a file without one is told before the terminal is taken.
fn open_record(file: &Path, cli: &Cli, root: &SysRoot) -> Result<Replay, Failure> {
    let opening = ReplayOpening {
        file,
        reader: watch_replay::open(file)?,
        tree: cli.global.sysroot.is_some().then(|| root.clone()),
        interval: cli.global.interval.map(Into::into),
    };
    Replay::open(opening, SystemClock.monotonic())
        .map_err(|e| watch_replay::unreadable(file, &e))?
        .ok_or_else(|| watch_replay::no_sample(file))
}

fn show(
    cli: &Cli,
    root: SysRoot,
    look: Look,
    chosen: Option<KernelName>,
    sandbox: Option<&Sandbox>,
    replay: Option<Replay>,
) -> CommandResult {
    let sysroot = cli.global.sysroot.as_ref().map(|d| format!("sysroot {}", d.display()));
    let place = sandbox.and_then(Sandbox::name).map(|n| format!("sandbox {n}")).or(sysroot);
    let journal = if root.is_live() && replay.is_none() { journal(&root).ok() } else { None };
    // Choices of looks are the person's, not the host's: they hold on a sandbox and a captured tree as well.
    let state = view::state_dir(|name| std::env::var_os(name), rustix::process::geteuid().is_root());
    let remembered = state.as_deref().map_or_else(|| Ok(View::default()), View::load);
    let notice = remembered.as_ref().err().cloned();
    let options = Options {
        ascii: look.ascii,
        presets: presets(),
        scratch_is_read_only: matches!(sandbox, Some(Sandbox::ScratchFile(_))),
        choose: chosen.or_else(|| sandbox.and_then(Sandbox::name).cloned()),
        view: remembered.unwrap_or_default(),
    };
    let opening = Opening {
        root,
        journal,
        theme: look.theme,
        options,
        interval: cli.global.interval(),
        place,
        scratch: match sandbox {
            Some(Sandbox::ScratchFile(file)) => file.path(),
            _ => PathBuf::from("."),
        },
        replay,
        state,
        notice,
    };
    let left = screen::open(opening).map_err(|e| Failure::Unexpected(format!("the screen: {e}")))?;
    // What was done to the sandbox goes with it.
    let sandbox_device = sandbox.and_then(Sandbox::name).map(|n| format!("{n} "));
    let stays = |line: &&String| sandbox_device.as_ref().is_none_or(|name| !line.starts_with(name.as_str()));
    for line in left.changed.iter().filter(stays) {
        output::say(format_args!("left changed: {line}"));
    }
    for line in left.held.iter().filter(stays) {
        output::say(format_args!("held: {line}"));
    }
    for line in left.last.said.iter().chain(&left.last.stuck) {
        output::say(format_args!("blktune: {line}"));
    }
    if !left.last.not_restored.is_empty() {
        let what = left.last.not_restored.join("; ");
        return Err(Failure::NotRestored(format!("could not be put back: {what}")));
    }
    match left.ending {
        Ending::Quit => Ok(()),
        Ending::Signal(n) => Err(Failure::Signal(u8::try_from(n).unwrap_or(0))),
        // What a terminal that closes sends.
        Ending::TerminalGone => Err(Failure::Signal(1)),
        Ending::ThreadFailed(name) => {
            Err(Failure::Unexpected(format!("thread {name} failed; this is a bug")))
        }
    }
}

/// The presets of the workload screen.
fn presets() -> Vec<PresetRow> {
    let row = |p: &preset::Preset| PresetRow {
        name: p.name.to_owned(),
        question: p.question.to_owned(),
        not_for: p.not_for.to_owned(),
        jobs: p.jobs(),
    };
    PRESETS.iter().map(row).collect()
}
