//! The devices that a record is shown with: its own, those of a captured tree, or what its rows tell.

use std::collections::BTreeMap;

use crate::sys::device::{Device, Partition, QueueSummary, Reading};
use crate::sys::inventory;
use crate::sys::name::KernelName;
use crate::sys::queue::{Attribute, QueueState, SchedulerList};
use crate::sys::root::SysRoot;
use crate::telemetry::recording::Line;
use crate::telemetry::recording::inventory::RecordedDevice;
use crate::telemetry::sample::{RowKey, Sample};
use crate::units::Bytes;

/// Where devices come from, and those that were last shown.
pub(super) struct Devices {
    tree: Option<SysRoot>,
    recorded: bool,
    rows: Vec<(RowKey, Option<u64>)>,
    shown: Vec<Device>,
}

impl Devices {
    /// With a captured tree its devices are shown, whatever the record says.
    pub(super) fn new(tree: Option<SysRoot>) -> Self {
        Self { tree, recorded: false, rows: Vec::new(), shown: Vec::new() }
    }

    /// The devices as of a sample, if they are not those that were last shown.
    pub(super) fn changed(&mut self, line: &Line, sample: &Sample) -> Option<Vec<Device>> {
        let devices = match (&self.tree, &line.inventory) {
            (Some(tree), _) if self.shown.is_empty() => inventory::scan(tree).ok()?,
            (Some(_), _) => return None,
            (None, Some(recorded)) => {
                self.recorded = true;
                recorded.iter().filter_map(RecordedDevice::device).collect()
            }
            (None, None) if self.recorded => return None,
            (None, None) => {
                let rows = sample.rows.iter();
                let rows: Vec<_> =
                    rows.map(|(k, _)| (k.clone(), sample.diskseq.get(&k.name).copied())).collect();
                if rows == self.rows {
                    return None;
                }
                let devices = of_rows(&rows);
                self.rows = rows;
                devices
            }
        };
        if devices == self.shown {
            return None;
        }
        self.shown.clone_from(&devices);
        Some(devices)
    }

    /// What is known of a device's queue; None if nothing is.
    pub(super) fn queue(&self, name: &KernelName) -> Option<QueueState> {
        let device = self.shown.iter().find(|d| d.name() == name)?;
        match &self.tree {
            Some(tree) => Some(QueueState::read(tree, name)),
            None => of_summary(&device.queue),
        }
    }
}

/// A record that lists no devices still names them: rows are devices, and those right behind one and named like its
/// partitions are its partitions.
fn of_rows(rows: &[(RowKey, Option<u64>)]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for (RowKey { devnum, name }, diskseq) in rows {
        if let Some(whole) = devices.last_mut().filter(|d| name.could_be_partition_of(d.name())) {
            let number = name.sysfs().rsplit(|c: char| !c.is_ascii_digit()).next();
            whole.partitions.push(Partition {
                name: name.clone(),
                path: SysRoot::node(name),
                devnum: Some(*devnum),
                number: number.and_then(|n| n.parse().ok()).unwrap_or_default(),
                size: Bytes(0),
                used_by: Vec::new(),
            });
            continue;
        }
        let mut device = Device::sketch(name.clone());
        device.id.devnum = Some(*devnum);
        device.id.diskseq = *diskseq;
        device.path = Some(SysRoot::node(name));
        device.reading = Reading::Row;
        "a row of a record that lists no devices".clone_into(&mut device.kind_evidence);
        devices.push(device);
    }
    devices
}

/// The attributes that a list of devices holds, as the kernel prints them. None if there is none: that is unknown, not
/// a device without a queue.
fn of_summary(queue: &QueueSummary) -> Option<QueueState> {
    let flag = |v: Option<bool>| v.map(|v| u8::from(v).to_string());
    let known = [
        ("scheduler", queue.scheduler.as_ref().map(printed)),
        ("rotational", flag(queue.rotational)),
        ("read_ahead_kb", queue.read_ahead.map(|k| k.0.to_string())),
        ("nr_requests", queue.nr_requests.map(|n| n.to_string())),
        ("logical_block_size", queue.logical_block.map(|b| b.0.to_string())),
        ("zoned", queue.zoned.clone()),
        ("iostats", flag(queue.iostats)),
    ];
    let attributes: BTreeMap<String, Attribute> = known
        .into_iter()
        .filter_map(|(name, value)| {
            Some((name.to_owned(), Attribute { value: Some(value?), writable: false }))
        })
        .collect();
    (!attributes.is_empty()).then_some(QueueState { attributes })
}

fn printed(list: &SchedulerList) -> String {
    let word = |name: &String| {
        if list.changeable && name == &list.active { format!("[{name}]") } else { name.clone() }
    };
    list.available.iter().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Kib, Nanos};

    fn line(diskstats: &str, more: &str) -> Line {
        let text =
            format!("{{\"t_s\": 1, \"diskstats\": {}{more}}}", serde_json::to_string(diskstats).unwrap());
        Line::parse(text.as_bytes()).unwrap()
    }

    const ROWS: &str = "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n8 1 sda1 1 0 8 0 0 0 0 0 0 0 0\n8 10 sda10 1 0 8 0 0 0 0 0 0 0 0\n\
        7 1 loop1 1 0 8 0 0 0 0 0 0 0 0\n7 10 loop10 1 0 8 0 0 0 0 0 0 0 0\n";

    #[test]
    fn rows_become_devices_with_their_partitions() {
        let mut devices = Devices::new(None);
        let first = line(ROWS, r#", "diskseq": {"sda": 4}"#);
        let found = devices.changed(&first, &first.sample()).unwrap();
        let names: Vec<_> =
            found.iter().map(|d| (d.name().sysfs(), d.partitions.len(), d.id.diskseq)).collect();
        assert_eq!(names, [("sda", 2, Some(4)), ("loop1", 0, None), ("loop10", 0, None)]);
        assert_eq!(found[0].partitions[1].number, 10);
        assert_eq!(devices.queue(found[0].name()), None);
        assert_eq!(devices.changed(&first, &first.sample()), None);
        let second = line(ROWS, r#", "diskseq": {"sda": 5}"#);
        assert_eq!(devices.changed(&second, &second.sample()).unwrap()[0].id.diskseq, Some(5));
    }

    #[test]
    fn the_records_own_devices_stay_until_it_says_otherwise() {
        let mut devices = Devices::new(None);
        let first = line(ROWS, r#", "inventory": [{"name": "sda", "read_ahead_kib": 128}]"#);
        assert_eq!(devices.changed(&first, &first.sample()).unwrap().len(), 1);
        let second = line("", "");
        assert_eq!(devices.changed(&second, &second.sample()), None);
        let third = line(ROWS, r#", "inventory": [{"name": "sda", "read_ahead_kib": 256}]"#);
        let changed = devices.changed(&third, &third.sample()).unwrap();
        assert_eq!(changed[0].queue.read_ahead, Some(Kib(256)));
        assert_eq!(devices.queue(changed[0].name()).unwrap().number("read_ahead_kb"), Some(256));
        assert_eq!(third.monotonic, Nanos::SECOND);
    }

    #[test]
    fn a_summary_reads_as_the_kernel_printed_it() {
        for text in ["none", "[none] mq-deadline", "none [bfq]"] {
            let scheduler = SchedulerList::parse(text);
            let state = of_summary(&QueueSummary { scheduler: scheduler.clone(), ..QueueSummary::default() });
            assert_eq!(state.unwrap().schedulers(), scheduler, "{text}");
        }
    }
}
