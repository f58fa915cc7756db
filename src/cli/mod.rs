//! L6: the command line. Definitions here, one file a subcommand.

pub mod device_arg;
mod device_json;
pub mod list;
pub mod outcome;
pub mod output;
pub mod show;
pub mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::sys::root::SysRoot;
use outcome::{CommandResult, Failure};

/// See, change, prove and keep the block queue settings of a Linux host
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Device to open the screen on
    device: Option<String>,
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
    /// Time between samples, 100ms to 60s
    #[arg(long, global = true, value_name = "TIME", default_value = "1s", value_parser = parse_interval)]
    interval: Duration,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List block devices and the settings that matter most
    List(list::ListArgs),
    /// Show one device and every setting of its queue
    Show(show::ShowArgs),
    /// Print live figures from /proc/diskstats
    Watch(watch::WatchArgs),
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
    match &cli.command {
        Some(Command::List(args)) => list::run(args, &root),
        Some(Command::Show(args)) => show::run(args, &root),
        Some(Command::Watch(args)) => watch::run(args, &root, cli.global.interval),
        None => Err(Failure::Usage("no screen yet".to_owned())),
    }
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let d = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    let range = Duration::from_millis(100)..=Duration::from_mins(1);
    if range.contains(&d) { Ok(d) } else { Err("must be from 100ms to 60s".to_owned()) }
}
