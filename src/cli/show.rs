//! `blktune show DEVICE`: one device with every setting of its queue.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::device_arg::resolve;
use super::device_json::DeviceJson;
use super::list::{scan, trimmed, users};
use super::outcome::{CommandResult, Failure};
use super::output;
use crate::sys::attr;
use crate::sys::device::Device;
use crate::sys::link;
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;
use crate::tuning::catalogue::{self, Group, SettingRow};
use crate::tuning::tag_depth;

/// Options of `show`.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Kernel name, node, link to a node, or device-mapper name
    device: Option<String>,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    device: DeviceJson<'a>,
    note: Option<&'a str>,
    /// Of a hardware queue, in use by the driver; None where debugfs does not tell.
    tags: Option<u32>,
    settings: Vec<SettingJson<'a>>,
}

#[derive(Serialize)]
struct SettingJson<'a> {
    name: &'a str,
    value: Option<&'a str>,
    unit: Option<&'a str>,
    writable: bool,
    legal: &'a str,
    why_not: Option<&'a str>,
    explanation: &'a str,
    changed_since_start: Option<bool>,
    changed_by: Option<&'a str>,
}

/// Shows one device.
///
/// # Errors
/// There is no such device, or stdout can not be written.
pub fn run(args: &ShowArgs, root: &SysRoot, instead: Option<&str>) -> CommandResult {
    let typed = args.device.as_deref().or(instead);
    let typed =
        typed.ok_or_else(|| Failure::Usage("no device named; `blktune list` names them".to_owned()))?;
    let found = resolve(root, typed)?;
    let devices = scan(root)?;
    let device = devices
        .iter()
        .find(|d| d.id.same_device(&found.id))
        .ok_or_else(|| Failure::GoneOrBusy(format!("{}: gone while it was looked at", found.id.name)))?;
    let state = QueueState::read(root, device.name());
    let rights = write_rights(root, device);
    let rows = catalogue::rows(&state, rights.as_deref());
    let tags = link::tags_in_use(root, device.name());
    if args.json {
        let settings = rows.iter().map(setting_json).collect();
        let device = DeviceJson::from(device);
        return output::json(&Document {
            schema: "blktune.show/1",
            device,
            note: found.note.as_deref(),
            tags,
            settings,
        });
    }
    if let Some(note) = &found.note {
        output::say(format_args!("blktune: {note}"));
    }
    let shortfall = tags.and_then(|n| tag_depth::shortfall(device.name(), n, &state));
    output::text(&text(device, &rows, shortfall.as_deref().unwrap_or_default()))
}

/// Why this process may not change the device's queue; None if it may. Found by trying, not by user id.
#[must_use]
pub fn write_rights(root: &SysRoot, device: &Device) -> Option<String> {
    if !root.is_live() {
        return Some("a captured tree can be looked at, not changed".to_owned());
    }
    let file = root.queue(device.name()).join("read_ahead_kb");
    attr::may_write(&file).err().map(|e| attr::explain(&e.source))
}

fn setting_json(r: &SettingRow) -> SettingJson<'_> {
    SettingJson {
        name: &r.name,
        value: r.value.as_deref(),
        unit: (!r.unit.is_empty()).then_some(r.unit),
        writable: r.writable,
        legal: &r.legal_text,
        why_not: r.why_not.as_deref(),
        explanation: r.explanation,
        // One look has no start to compare with; the screen has.
        changed_since_start: None,
        changed_by: None,
    }
}

fn text(d: &Device, rows: &[SettingRow], shortfall: &str) -> String {
    let mut out = String::new();
    let mut fact = |label: &str, value: &str| {
        if !value.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{label:<12}{value}");
        }
    };
    fact("device", &d.name().kernel());
    fact("node", &d.path.as_ref().map_or_else(|| "none (hidden)".to_owned(), |p| p.display().to_string()));
    fact("mapper name", d.dm_name.as_deref().unwrap_or_default());
    fact("kind", &format!("{} ({})", d.kind.word(), d.kind_evidence));
    fact("model", d.model.as_deref().unwrap_or_default());
    fact("serial", d.id.serial.as_deref().unwrap_or_default());
    fact("wwid", d.id.wwid.as_deref().unwrap_or_default());
    fact("number", &d.id.devnum.map(|n| n.to_string()).unwrap_or_default());
    fact("size", &d.size.to_string());
    let flags = [(d.read_only, "read-only"), (d.removable, "removable"), (d.hidden, "hidden")];
    fact("flags", &flags.iter().filter(|f| f.0).map(|f| f.1).collect::<Vec<_>>().join(", "));
    fact("zoned", d.queue.zoned.as_deref().unwrap_or_default());
    fact("used by", &users(&d.used_by));
    if !d.used_by_complete {
        fact("not seen", "other users' processes, or namespaces out of reach: there may be more users");
    }
    fact("built on", &d.built_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    fact("warning", shortfall);
    for p in &d.partitions {
        fact("partition", &format!("{}  {}  {}", p.name, p.size, users(&p.used_by)));
    }
    for (group, title) in [
        (Group::Scheduler, "scheduler and its tunables"),
        (Group::Queue, "request queue"),
        (Group::Limits, "limits of hardware and driver"),
    ] {
        let rows: Vec<&SettingRow> = rows.iter().filter(|r| r.group == group).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n{title}");
        out.push_str(&group_table(&rows));
    }
    out
}

fn group_table(rows: &[&SettingRow]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    for r in rows {
        let mark = if r.writable { "*" } else { "" };
        let value = r.value.as_deref().unwrap_or("-");
        table.add_row([mark, &r.name, value, r.unit, &r.legal_text]);
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    trimmed(&table)
}
