//! `blktune list`: the devices and the settings that matter most.

use std::collections::HashMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::device_json::DeviceJson;
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::chain;
use crate::sys::device::{Device, Usage};
use crate::sys::host::Host;
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::root::SysRoot;

/// Options of `list`.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArgs {
    /// Everything: also unused loop, ram and zram devices, drives of size 0, boot areas, hidden paths
    #[arg(long)]
    all: bool,
    /// JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    host: Host,
    devices: Vec<DeviceJson<'a>>,
    left_out: usize,
}

/// Lists the devices.
///
/// # Errors
/// `/sys/block` can not be read, or stdout not written.
pub fn run(args: &ListArgs, root: &SysRoot) -> CommandResult {
    let devices = scan(root)?;
    let shown: Vec<&Device> = devices.iter().filter(|d| args.all || !d.unused_or_uninteresting()).collect();
    let left_out = devices.len() - shown.len();
    if args.json {
        let devices = shown.into_iter().map(DeviceJson::from).collect();
        return output::json(&Document {
            schema: "blktune.list/1",
            host: Host::read(root),
            devices,
            left_out,
        });
    }
    let mut text = table(&shown, &devices);
    if shown.is_empty() {
        text.push_str("no block devices\n");
    }
    if left_out > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{left_out} unused or hidden left out (--all shows them)");
    }
    output::text(&text)
}

/// Scans, with the failure in words.
///
/// # Errors
/// `/sys/block` can not be read.
pub fn scan(root: &SysRoot) -> Result<Vec<Device>, Failure> {
    inventory::scan(root).map_err(|e| {
        let dir = root.block_dir();
        let hint = if root.is_live() { "is sysfs mounted?" } else { "is it a captured tree?" };
        Failure::Unexpected(format!("{}: {e}; {hint}", dir.display()))
    })
}

fn table(shown: &[&Device], all: &[Device]) -> String {
    let by_name: HashMap<&KernelName, &Device> = all.iter().map(|d| (d.name(), d)).collect();
    let users = |list: &[Usage]| chain::words(list, &|name| by_name.get(name).copied());
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["NAME", "KIND", "SIZE", "SCHED", "R", "RA", "NRQ", "USED BY", "MODEL"]);
    for d in shown {
        let q = &d.queue;
        table.add_row([
            d.name().kernel(),
            d.kind.word().to_owned(),
            d.size.short(),
            q.scheduler.as_ref().map_or_else(dash, |s| s.active.clone()),
            q.rotational.map_or_else(dash, |r| u8::from(r).to_string()),
            q.read_ahead.map_or_else(dash, |k| k.0.to_string()),
            q.nr_requests.map_or_else(dash, |n| n.to_string()),
            users(&d.used_by),
            d.model.clone().or_else(|| d.dm_name.clone()).unwrap_or_default(),
        ]);
        for p in &d.partitions {
            let name = format!("  {}", p.name);
            table.add_row([
                name,
                "part".to_owned(),
                p.size.short(),
                dash(),
                dash(),
                dash(),
                dash(),
                users(&p.used_by),
                String::new(),
            ]);
        }
    }
    for right in [2, 5, 6] {
        if let Some(column) = table.column_mut(right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

/// The table's text without the blanks that padding leaves at line ends.
pub(super) fn trimmed(table: &Table) -> String {
    let lines: Vec<String> =
        table.lines().map(|l| l.strip_prefix(' ').unwrap_or(&l).trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

fn dash() -> String {
    "-".to_owned()
}

/// Users in one cell.
pub(super) fn users(list: &[Usage]) -> String {
    list.iter().map(Usage::to_string).collect::<Vec<_>>().join(", ")
}
