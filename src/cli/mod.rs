//! L6: the command line. Definitions here, one file a subcommand.

pub mod ab;
mod ab_args;
mod ab_progress;
mod ab_report;
pub mod analyse;
mod analysis_text;
mod change_report;
pub mod device_arg;
mod device_json;
mod frame_output;
pub mod jobs;
pub mod list;
pub mod outcome;
pub mod output;
mod progress_line;
mod put_back;
pub mod report;
pub mod restore;
pub mod run;
mod run_text;
mod sandbox_arg;
mod screen;
pub mod set;
mod set_held;
pub mod show;
mod supervised;
pub mod undo;
pub mod watch;
mod watch_replay;
mod workload_failure;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::runtime::stop::Stop;
use crate::sys::attr;
use crate::sys::root::SysRoot;
use crate::tuning::journal::Owner;
use crate::units::{Bytes, Nanos};
use outcome::{CommandResult, Failure};

/// See, change, prove and keep the block queue settings of a Linux host
///
/// Without a command the screen opens, on DEVICE if one is given.
#[derive(Debug, Parser)]
#[command(version, subcommand_precedence_over_arg = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Device to open the screen on
    device: Option<String>,
    /// Show a record of `watch --record` on the screen, in place of this host
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Options that every command takes.
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options that every command takes.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// Read DIR/sys and DIR/proc, a captured tree, instead of this host's; nothing can be changed or run there
    #[arg(long, global = true, value_name = "DIR")]
    sysroot: Option<PathBuf>,
    /// Time between samples, 100ms to 60s [default: 1s; of a record: every sample, or those of this distance]
    #[arg(long, global = true, value_name = "TIME", value_parser = parse_interval)]
    interval: Option<Duration>,
    /// Make a loop device over a scratch file for this one run; DEVICE and TARGET may then be left out
    #[arg(long, global = true, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "1G",
          value_parser = parse_bytes, conflicts_with = "sysroot")]
    sandbox: Option<Bytes>,
    /// Colours by role: a built-in theme (default, light, mono), one of your own, or a file
    #[arg(long, global = true, value_name = "NAME|FILE")]
    theme: Option<String>,
    /// When to use colour; `NO_COLOR` is honoured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto)]
    color: ColorWhen,
    /// No characters beyond ASCII on the screen
    #[arg(long, global = true)]
    ascii: bool,
}

impl Global {
    /// Time between samples that are taken.
    fn interval(&self) -> Duration {
        self.interval.unwrap_or(Duration::from_secs(1))
    }
}

/// When colour is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ColorWhen {
    /// If the terminal has it and `NO_COLOR` is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List block devices and the settings that matter most
    List(list::ListArgs),
    /// Show one device and every setting of its queue
    Show(show::ShowArgs),
    /// Print live figures from /proc/diskstats
    Watch(watch::WatchArgs),
    /// Change settings: all of them, read back, or none
    Set(set::SetArgs),
    /// Take back the last change
    Undo(undo::UndoArgs),
    /// Put back what an interrupted program left held
    Restore(restore::RestoreArgs),
    /// Run a workload on a device, a file, or a scratch file of its own
    Run(run::RunArgs),
    /// Compare two settings of a device, or two workloads, and say what can be believed of it
    Ab(ab::AbArgs),
    /// Reach a verdict on trials measured elsewhere, from a CSV
    Analyse(analyse::AnalyseArgs),
    /// List the presets and the question each answers
    Jobs(jobs::JobsArgs),
    /// Write the record of an experiment as Markdown or JSON
    Report(report::ReportArgs),
    /// What a supervisor starts; not for people
    #[command(hide = true)]
    PutBack(put_back::PutBackArgs),
    /// Puts back what `set --revert-after` holds; started by it
    #[command(hide = true)]
    Keeper(KeeperArgs),
}

/// Arguments of `keeper`.
#[derive(Clone, Copy, Debug, clap::Args)]
struct KeeperArgs {
    /// When to put back, in nanoseconds of `CLOCK_BOOTTIME`
    deadline: u64,
    /// The process that makes the changes
    pid: u32,
    /// Its start time in clock ticks since boot
    started: u64,
}

impl Command {
    /// Whether it looks at a record, and so at no device of this host.
    const fn replays(&self) -> bool {
        matches!(self, Command::Watch(watch::WatchArgs { replay: Some(_), .. }))
    }

    /// Whether it changes settings, and so runs under a supervisor that puts them back if it can not.
    const fn changes_settings(&self) -> bool {
        match self {
            Command::Ab(args) => !args.plan,
            Command::Set(_) | Command::Undo(_) => true,
            _ => false,
        }
    }
}

/// Carries out a command line.
///
/// # Errors
/// What the command says; [`Failure::code`] is the exit code.
pub fn run(cli: &Cli) -> CommandResult {
    let root = match &cli.global.sysroot {
        Some(dir) if !dir.is_dir() => {
            return Err(Failure::Usage(format!("--sysroot {}: not a directory", dir.display())));
        }
        Some(dir) => SysRoot::captured(dir),
        None => SysRoot::host(),
    };
    let look = screen::look(&cli.global)?;
    let replays = cli.replay.is_some() || cli.command.as_ref().is_some_and(Command::replays);
    if replays && cli.global.sandbox.is_some() {
        return Err(Failure::Usage(
            "--replay looks at a record; there is nothing for --sandbox to do".to_owned(),
        ));
    }
    let Some(command) = &cli.command else {
        screen::needs_terminal()?;
        return supervised::run(true, &root.clone(), || screen::open(cli, root, look));
    };
    if cli.replay.is_some() {
        return Err(Failure::Usage(
            "--replay goes behind the command, as in: blktune watch --replay FILE".to_owned(),
        ));
    }
    if let Some(device) = &cli.device {
        let device = attr::clean(device.as_bytes());
        return Err(Failure::Usage(format!(
            "{device}: a device goes behind the command, as in: blktune show {device}"
        )));
    }
    if command.changes_settings() && root.is_live() {
        return supervised::run(false, &root, || in_order(command, cli, &root));
    }
    in_order(command, cli, &root)
}

/// Carries out a command, with its sandbox made before and removed after it.
fn in_order(command: &Command, cli: &Cli, root: &SysRoot) -> CommandResult {
    // Caught before anything is made that has to be removed again.
    let catches = cli.global.sandbox.is_some() || matches!(command, Command::Run(_) | Command::Watch(_));
    let stop = match command {
        Command::Ab(args) if !args.plan && root.is_live() => Stop::under_supervisor(),
        _ if catches => Stop::on_signals(),
        _ => Ok(Stop::default()),
    };
    let stop = stop.map_err(|e| Failure::Unexpected(format!("installing signal handlers: {e}")))?;
    let sandbox = sandbox_arg::create(cli.global.sandbox, &stop)?;
    let instead = sandbox.as_ref().map(sandbox_arg::named);
    let result = dispatch(command, root, instead.as_deref(), &cli.global, &stop);
    let removed = sandbox.map_or(Ok(()), sandbox_arg::remove);
    match (result, stop.signal()) {
        // A command that was stopped says so in its own way; which signal it was is known here.
        (Ok(()) | Err(Failure::Signal(_)), Some(n)) => removed.and(Err(Failure::Signal(n))),
        (result, _) => result.and(removed),
    }
}

/// `instead` is what a device or target left out on the command line stands for.
fn dispatch(
    command: &Command,
    root: &SysRoot,
    instead: Option<&str>,
    global: &Global,
    stop: &Stop,
) -> CommandResult {
    match command {
        Command::List(args) => list::run(args, root),
        Command::Show(args) => show::run(args, root, instead),
        Command::Watch(args) => match &args.replay {
            Some(file) => watch_replay::run(args, file, global.interval, stop),
            None => watch::run(args, root, instead, global.interval(), stop),
        },
        Command::Set(args) => set::run(args, root, instead),
        Command::Undo(args) => undo::run(args, root, instead),
        Command::Restore(args) => restore::run(args, root),
        Command::Keeper(args) => {
            set_held::keep(root, Nanos(args.deadline), Owner { pid: args.pid, started: args.started })
        }
        Command::Run(args) => run::run(args, root, instead, &stop.flag()),
        Command::Ab(args) => ab::run(args, root, instead, &stop.flag()),
        Command::Analyse(args) => analyse::run(args, global.ascii),
        Command::Jobs(args) => jobs::run(args),
        Command::Report(args) => report::run(args),
        Command::PutBack(args) => put_back::run(args, root),
    }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let d = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    let range = Duration::from_millis(100)..=Duration::from_mins(1);
    if range.contains(&d) { Ok(d) } else { Err("must be from 100ms to 60s".to_owned()) }
}

fn parse_bytes(text: &str) -> Result<Bytes, String> {
    crate::workload::value::parse_size(text)
}
