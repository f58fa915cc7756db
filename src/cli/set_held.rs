//! `set` beyond the moment of writing: kept, held until a signal, or held until nobody confirms.

use std::time::Duration;

use serde::Serialize;

use super::change_report::{journal, print, unreadable};
use super::device_arg::resolve;
use super::outcome::{CommandResult, Failure};
use super::output;
use super::set::{SCHEMA, SetArgs};
use crate::runtime::hold::Caught;
use crate::runtime::keeper::{self, Keeper};
use crate::sys::device::DeviceId;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;
use crate::tuning::change::{ApplyReport, Outcome};
use crate::tuning::control::SysfsQueue;
use crate::tuning::held::Held;
use crate::tuning::journal::{Owner, Stage};
use crate::tuning::restore::{End, PutBack};
use crate::units::Nanos;

/// How long a set is to last.
#[derive(Debug)]
pub(super) enum Until {
    /// Until it is undone.
    Undone,
    /// Until a signal comes; caught from before the first write.
    Signal(std::cell::RefCell<Caught>),
    /// For so long, unless it is confirmed.
    Confirmed(Duration),
}

impl Until {
    /// What the command line asks for.
    pub(super) fn of(args: &SetArgs) -> Result<Self, Failure> {
        if args.hold {
            let caught = Caught::from_now()
                .map_err(|e| Failure::Unexpected(format!("installing signal handlers: {e}")))?;
            return Ok(Self::Signal(std::cell::RefCell::new(caught)));
        }
        Ok(args.revert_after.map_or(Self::Undone, Self::Confirmed))
    }

    /// Starts the process that puts back; None where none is needed.
    pub(super) fn start_keeper(&self) -> Result<Option<Keeper>, Failure> {
        let Self::Confirmed(after) = self else { return Ok(None) };
        let started = keeper::start(*after);
        started.map(Some).map_err(|e| {
            Failure::Unexpected(format!("starting the process that puts back: {e}; nothing was changed"))
        })
    }
}

/// A time from 1s to 1h.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let d = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    let range = Duration::from_secs(1)..=Duration::from_hours(1);
    if range.contains(&d) { Ok(d) } else { Err("must be from 1s to 1h".to_owned()) }
}

/// Prints the report of a set that was carried out and does with it what was asked for.
pub(super) fn finish(
    held: Vec<Held<&SysfsQueue>>,
    report: &ApplyReport,
    until: &Until,
    keeper: Option<Keeper>,
    as_json: bool,
) -> CommandResult {
    match (until, keeper) {
        (Until::Signal(caught), _) => {
            print(report, SCHEMA, as_json)?;
            if !as_json {
                output::say(format_args!("held until this is ended (Ctrl-c), then put back"));
            }
            let signal = caught.borrow_mut().wait();
            release(held, signal)
        }
        (Until::Confirmed(_), Some(keeper)) => {
            let changed = held.into_iter().filter_map(|h| h.leave().entry).count();
            print(report, SCHEMA, as_json)?;
            if changed > 0 {
                output::say(format_args!(
                    "reverts at {} unless `blktune set --confirm`",
                    clock_time(keeper.reverts_at)
                ));
            }
            Ok(())
        }
        (Until::Undone | Until::Confirmed(_), _) => {
            let mut changed: Vec<KernelName> = Vec::new();
            for one in held {
                if one.entry().is_some() {
                    changed.push(one.device().name.clone());
                }
                one.confirm().map_err(|e| {
                    Failure::Unexpected(format!("{e}; what could not be noted as kept was put back"))
                })?;
            }
            print(report, SCHEMA, as_json)?;
            for device in changed.iter().filter(|_| !as_json) {
                output::say(format_args!("take it back with: blktune undo {device}"));
            }
            Ok(())
        }
    }
}

/// Puts back in reverse order and says so in one line.
fn release(held: Vec<Held<&SysfsQueue>>, signal: u8) -> CommandResult {
    let done: Vec<PutBack> = held.into_iter().rev().filter_map(Held::release).collect();
    let failed: Vec<String> = done.iter().flat_map(|d| d.not_restored.iter().cloned()).collect();
    if !failed.is_empty() {
        return Err(Failure::NotRestored(format!("could not be put back: {}", failed.join("; "))));
    }
    output::say(format_args!("{}", words(&done)));
    Err(Failure::Signal(signal))
}

fn words(done: &[PutBack]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for d in done {
        let device = &d.device;
        for c in d.changes.iter().filter(|c| c.outcome != Outcome::Unchanged) {
            let (from, to) = (c.before.as_deref().unwrap_or("-"), c.effective.as_deref().unwrap_or("-"));
            parts.push(format!("{device} {} {from} -> {to}", c.name));
        }
        for f in &d.foreign {
            parts.push(format!("{device} {} {}", f.name, f.message.as_deref().unwrap_or("left alone")));
        }
        match d.end {
            End::Gone => parts.push(format!("{device} is gone, and its settings with it")),
            End::Busy(pid) => parts.push(format!("{device} is being put back by process {pid}")),
            End::Settled => parts.push(format!("{device} was dealt with by another program")),
            End::Done | End::Partly | End::NoJournal => {}
        }
    }
    if parts.is_empty() {
        return "nothing was to be put back".to_owned();
    }
    format!("put back: {}", parts.join(", "))
}

fn clock_time(seconds: u64) -> String {
    let stamp = i64::try_from(seconds).ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
    stamp.map_or_else(
        || "an unknown time".to_owned(),
        |t| t.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string(),
    )
}

#[derive(Serialize)]
struct Confirmed {
    schema: &'static str,
    confirmed: Vec<KernelName>,
}

/// `set --confirm`: what waits to be put back is kept from now on.
///
/// # Errors
/// [`Failure::GoneOrBusy`] if nothing waits (any more): whoever confirms must not believe that it is kept.
pub(super) fn confirm(
    items: &[String],
    root: &SysRoot,
    instead: Option<&str>,
    as_json: bool,
) -> CommandResult {
    if let Some(change) = items.iter().find(|i| i.contains('=') && !i.starts_with('/')) {
        let change = crate::sys::attr::clean(change.as_bytes());
        return Err(Failure::Usage(format!("{change}: --confirm takes devices, and changes nothing")));
    }
    let named = items.iter().map(String::as_str).chain(instead.filter(|_| items.is_empty()));
    let wanted: Vec<DeviceId> =
        named.map(|t| resolve(root, t).map(|found| found.id)).collect::<Result<_, _>>()?;
    let journal = journal(root)?;
    let entries = journal.entries().map_err(|e| unreadable(&e))?;
    let waiting = entries.iter().filter(|e| {
        e.stage == Stage::Held
            && e.reverts_at.is_some()
            && (wanted.is_empty() || wanted.iter().any(|w| w.same_device(&e.device)))
    });
    let mut confirmed = Vec::new();
    for entry in waiting {
        journal.confirm(entry).map_err(|e| unreadable(&e))?;
        confirmed.push(entry.device.name.clone());
    }
    if confirmed.is_empty() {
        return Err(Failure::GoneOrBusy(
            "nothing waits for a confirmation; what was held is back as it was".to_owned(),
        ));
    }
    if as_json {
        return output::json(&Confirmed { schema: SCHEMA, confirmed });
    }
    let lines: Vec<String> =
        confirmed.iter().map(|d| format!("{d} kept (blktune undo {d} takes it back)\n")).collect();
    output::text(&lines.concat())
}

/// The hidden `keeper`.
///
/// # Errors
/// What could not be put back, though nobody hears it: the journal is what tells.
pub(super) fn keep(root: &SysRoot, deadline: Nanos, front: Owner) -> CommandResult {
    let journal = journal(root)?;
    let report =
        keeper::run(&journal, root, deadline, front).map_err(|e| Failure::Unexpected(e.to_string()))?;
    if report.not_restored.is_empty() && report.stuck.is_empty() {
        return Ok(());
    }
    Err(Failure::NotRestored(report.not_restored.join("; ")))
}
