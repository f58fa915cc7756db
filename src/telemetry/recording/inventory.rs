//! The devices in a record: enough for the list, on whichever host the record is looked at.
//!
//! A shape of its own, so that records stay readable when devices are known better here: every field but the name may
//! be missing. Serial numbers and world-wide ids are left out, since records are handed around.

use serde::de::value::{Error, StrDeserializer};
use serde::de::{IntoDeserializer as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::MOST_ROWS;
use super::bounded::parts;
use crate::sys::attr::clean;
use crate::sys::device::{
    DevNum, Device, DeviceId, Kind, Partition, QueueSummary, Reading, Usage, UsageKind,
};
use crate::sys::layer::Layer;
use crate::sys::name::KernelName;
use crate::sys::queue::SchedulerList;
use crate::sys::root::SysRoot;
use crate::units::{Bytes, Kib};

/// A device as it is recorded, in the words of `list --json`.
#[allow(clippy::struct_excessive_bools)] // independent facts, as in the device itself
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedDevice {
    name: String,
    dm_name: Option<String>,
    devnum: Option<String>,
    diskseq: Option<u64>,
    kind: String,
    kind_evidence: String,
    #[serde(deserialize_with = "layer")]
    layer: Option<Layer>,
    backing_file: Option<String>,
    size_bytes: u64,
    model: Option<String>,
    removable: bool,
    read_only: bool,
    hidden: bool,
    rotational: Option<bool>,
    scheduler: Option<RecordedScheduler>,
    read_ahead_kib: Option<u64>,
    nr_requests: Option<u64>,
    logical_block_bytes: Option<u64>,
    zoned: Option<String>,
    iostats: Option<bool>,
    #[serde(deserialize_with = "parts")]
    used_by: Vec<RecordedUsage>,
    used_by_complete: bool,
    #[serde(deserialize_with = "parts")]
    built_on: Vec<String>,
    #[serde(deserialize_with = "parts")]
    partitions: Vec<RecordedPartition>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedPartition {
    name: String,
    devnum: Option<String>,
    number: u64,
    size_bytes: u64,
    #[serde(deserialize_with = "parts")]
    used_by: Vec<RecordedUsage>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedScheduler {
    active: String,
    #[serde(deserialize_with = "parts")]
    available: Vec<String>,
    changeable: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct RecordedUsage {
    kind: String,
    what: String,
    detail: Option<String>,
}

/// Reads the list; None if it has another shape or more devices than a host can have.
pub(super) fn read(json: &str) -> Option<Vec<RecordedDevice>> {
    struct AtMost;
    impl<'de> Visitor<'de> for AtMost {
        type Value = Vec<RecordedDevice>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "at most {MOST_ROWS} devices")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut devices = Vec::new();
            let mut room = MOST_ROWS;
            while let Some(device) = list.next_element::<RecordedDevice>()? {
                let rows = 1 + device.partitions.len() + device.used_by.len() + device.built_on.len();
                room = room.checked_sub(rows).ok_or_else(|| serde::de::Error::invalid_length(rows, &self))?;
                devices.push(device);
            }
            Ok(devices)
        }
    }
    serde_json::Deserializer::from_str(json).deserialize_seq(AtMost).ok()
}

impl From<&Device> for RecordedDevice {
    fn from(d: &Device) -> Self {
        Self {
            name: d.name().kernel(),
            dm_name: d.dm_name.clone(),
            devnum: d.id.devnum.map(|n| n.to_string()),
            diskseq: d.id.diskseq,
            kind: d.kind.word().to_owned(),
            kind_evidence: d.kind_evidence.clone(),
            layer: d.layer.clone(),
            backing_file: d.backing_file.clone(),
            size_bytes: d.size.0,
            model: d.model.clone(),
            removable: d.removable,
            read_only: d.read_only,
            hidden: d.hidden,
            rotational: d.queue.rotational,
            scheduler: d.queue.scheduler.as_ref().map(|s| RecordedScheduler {
                active: s.active.clone(),
                available: s.available.clone(),
                changeable: s.changeable,
            }),
            read_ahead_kib: d.queue.read_ahead.map(|k| k.0),
            nr_requests: d.queue.nr_requests,
            logical_block_bytes: d.queue.logical_block.map(|b| b.0),
            zoned: d.queue.zoned.clone(),
            iostats: d.queue.iostats,
            used_by_complete: d.used_by_complete,
            used_by: d.used_by.iter().map(RecordedUsage::from).collect(),
            built_on: d.built_on.iter().map(KernelName::kernel).collect(),
            partitions: d.partitions.iter().map(RecordedPartition::from).collect(),
        }
    }
}

impl From<&Partition> for RecordedPartition {
    fn from(p: &Partition) -> Self {
        Self {
            name: p.name.kernel(),
            devnum: p.devnum.map(|n| n.to_string()),
            number: p.number,
            size_bytes: p.size.0,
            used_by: p.used_by.iter().map(RecordedUsage::from).collect(),
        }
    }
}

impl From<&Usage> for RecordedUsage {
    fn from(u: &Usage) -> Self {
        Self { kind: word_of(u.kind), what: u.what.clone(), detail: u.detail.clone() }
    }
}

impl RecordedDevice {
    /// The device, its text cleaned and its names checked. None if its name is none.
    #[must_use]
    pub fn device(&self) -> Option<Device> {
        let name = KernelName::new(&self.name)?;
        let text = |t: &Option<String>| t.as_ref().map(|t| clean(t.as_bytes()));
        let dm_name = text(&self.dm_name);
        let path = (!self.hidden)
            .then(|| dm_name.as_ref().map_or_else(|| SysRoot::node(&name), |dm| SysRoot::mapper_node(dm)));
        let scheduler = self.scheduler.as_ref().map(|s| SchedulerList {
            active: clean(s.active.as_bytes()),
            available: s.available.iter().map(|a| clean(a.as_bytes())).collect(),
            changeable: s.changeable,
        });
        Some(Device {
            reading: Reading::Whole,
            layer: self.layer.as_ref().and_then(cleaned_layer),
            backing_file: text(&self.backing_file),
            used_by_complete: self.used_by_complete,
            path,
            dm_name,
            kind: known(&self.kind).unwrap_or(Kind::Other),
            kind_evidence: clean(self.kind_evidence.as_bytes()),
            size: Bytes(self.size_bytes),
            model: text(&self.model),
            removable: self.removable,
            read_only: self.read_only,
            hidden: self.hidden,
            queue: QueueSummary {
                scheduler,
                rotational: self.rotational,
                read_ahead: self.read_ahead_kib.map(Kib),
                nr_requests: self.nr_requests,
                logical_block: self.logical_block_bytes.map(Bytes),
                zoned: text(&self.zoned),
                iostats: self.iostats,
            },
            used_by: uses(&self.used_by),
            built_on: self.built_on.iter().filter_map(|n| KernelName::new(n)).collect(),
            partitions: self.partitions.iter().filter_map(RecordedPartition::partition).collect(),
            id: DeviceId {
                name,
                devnum: self.devnum.as_deref().and_then(DevNum::parse),
                diskseq: self.diskseq,
                wwid: None,
                serial: None,
            },
        })
    }
}

impl RecordedPartition {
    fn partition(&self) -> Option<Partition> {
        let name = KernelName::new(&self.name)?;
        Some(Partition {
            path: SysRoot::node(&name),
            name,
            devnum: self.devnum.as_deref().and_then(DevNum::parse),
            number: self.number,
            size: Bytes(self.size_bytes),
            used_by: uses(&self.used_by),
        })
    }
}

/// A use of a sort that this version does not know can not be told, and is left out.
fn uses(list: &[RecordedUsage]) -> Vec<Usage> {
    let usage = |u: &RecordedUsage| {
        let what = clean(u.what.as_bytes());
        Some(Usage { kind: known(&u.kind)?, what, detail: u.detail.as_ref().map(|d| clean(d.as_bytes())) })
    };
    list.iter().filter_map(usage).collect()
}

/// A sort of layer that this version does not know is none.
fn layer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Layer>, D::Error> {
    let json = Box::<RawValue>::deserialize(from)?;
    Ok(serde_json::from_str(json.get()).ok())
}

fn cleaned_layer(layer: &Layer) -> Option<Layer> {
    serde_json::to_value(layer).and_then(|v| serde_json::from_value(cleaned(v))).ok()
}

/// A value with all text in it cleaned.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(s) => Value::String(clean(s.as_bytes())),
        Value::Array(list) => Value::Array(list.into_iter().map(cleaned).collect()),
        Value::Object(map) => map.into_iter().map(|(key, v)| (key, cleaned(v))).collect(),
        other => other,
    }
}

fn known<'a, T: Deserialize<'a>>(word: &'a str) -> Option<T> {
    let word: StrDeserializer<'a, Error> = word.into_deserializer();
    T::deserialize(word).ok()
}

fn word_of(kind: UsageKind) -> String {
    // A unit variant is its word; serde has the only table of them.
    serde_json::to_value(kind).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(json: &str) -> Option<Device> {
        read(&format!("[{json}]"))?.first()?.device()
    }

    #[test]
    fn a_name_is_enough_and_a_bad_name_is_no_device() {
        let d = device(r#"{"name": "cciss/c0d0", "later": [1, {"a": 2}]}"#).unwrap();
        assert_eq!(
            (d.name().sysfs(), d.kind, &d.queue),
            ("cciss!c0d0", Kind::Other, &QueueSummary::default())
        );
        assert_eq!(device(r#"{"name": "../sda"}"#), None);
        assert_eq!(device("{}"), None);
    }

    #[test]
    fn what_another_version_knows_better_is_survived() {
        let d = device(
            r#"{"name": "sda", "kind": "punched tape", "layer": {"later": 1}, "used_by": [{"kind": "mount", "what": "/a\u001b"},
                {"kind": "later", "what": "x"}], "built_on": ["..", "sdb"], "devnum": "x",
                "partitions": [{"name": "sda1", "number": 1}, {"name": "a/../b"}]}"#,
        )
        .unwrap();
        assert_eq!((d.kind, d.id.devnum, d.built_on.len(), d.partitions.len()), (Kind::Other, None, 1, 1));
        assert_eq!(d.used_by, [Usage::new(UsageKind::Mount, "/a\u{fffd}")]);
    }

    #[test]
    fn text_never_carries_an_escape_at_any_depth() {
        let d = device(
            r#"{"name": "dm-0", "layer": {"lvm": {"vg": "a\u001b[2J", "lv": "b"}}, "backing_file": "\u0007"}"#,
        );
        assert_eq!(d.as_ref().and_then(|d| d.layer.as_ref()).unwrap().words(), "LVM a\u{fffd}[2J/b");
        assert_eq!(d.unwrap().backing_file.as_deref(), Some("\u{fffd}"));
    }

    #[test]
    fn more_devices_than_a_host_can_have_are_none() {
        let many = r#"{"name":"a"},"#.repeat(MOST_ROWS + 1);
        assert_eq!(read(&format!("[{}]", many.trim_end_matches(','))), None);
        assert_eq!(read("{}"), None);
        let parts = "{},".repeat(MOST_ROWS);
        assert_eq!(
            read(&format!(r#"[{{"name": "a", "partitions": [{}]}}]"#, parts.trim_end_matches(','))),
            None
        );
    }
}
