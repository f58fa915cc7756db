//! A record: lines of raw counters with their times, so that a later version can compute better from it.
//!
//! `docs/json.md` describes the format. A field is only ever added; what this version does not know it ignores.

mod bounded;
pub mod inventory;
mod seconds;
pub mod thinning;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::sample::Sample;
use super::total::Leaves;
use crate::sys::attr::clean;
use crate::sys::name::KernelName;
use crate::units::Nanos;
use inventory::RecordedDevice;

/// The longest line that is read. A host of 10,000 devices needs about a quarter.
pub const LONGEST_LINE: usize = 64 << 20;

/// Rows or devices of a line beyond which it is not taken for a sample: four times what device numbers of one driver
/// give, and little enough for memory.
pub const MOST_ROWS: usize = 1 << 18;

/// One sample as it is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// `CLOCK_MONOTONIC` of the sample.
    pub monotonic: Nanos,
    /// `CLOCK_BOOTTIME`, if it was recorded.
    pub boot: Option<Nanos>,
    /// The time of day in the recording host's zone, RFC 3339 to the second: a label.
    pub wall: Option<String>,
    /// The text of `/proc/diskstats`.
    pub diskstats: String,
    /// Sequence numbers of whole devices, where known.
    pub diskseq: BTreeMap<KernelName, u64>,
    /// Whole devices whose `queue/iostats` is 0.
    pub iostats_off: BTreeSet<KernelName>,
    /// Whole devices whose bytes count in a total, or do not, where their name would say otherwise.
    pub leaves: BTreeMap<KernelName, bool>,
    /// The recording host; on the first line.
    pub host: Option<RecordedHost>,
    /// The devices and their main settings; on the first line, and where something of it changed.
    pub inventory: Option<Vec<RecordedDevice>>,
}

/// The host that recorded. None is what is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedHost {
    /// Host name.
    pub name: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Logical processors.
    pub cpus: Option<usize>,
}

/// Why a line is no sample.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not an object with the fields of a sample.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// `t_s` is no time that a clock can show.
    #[error("t_s is not a number of seconds from 0 to 18446744073")]
    Time,
    /// More rows than a host can have.
    #[error("more than {MOST_ROWS} rows")]
    Rows,
}

#[derive(Serialize)]
struct Written<'a> {
    t_s: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_s: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall: Option<&'a str>,
    diskstats: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    diskseq: &'a BTreeMap<KernelName, u64>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    iostats_off: &'a BTreeSet<KernelName>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    leaves: &'a BTreeMap<KernelName, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a RecordedHost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inventory: Option<&'a [RecordedDevice]>,
}

#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow)]
    t_s: &'a RawValue,
    #[serde(borrow, default)]
    boot_s: Option<&'a RawValue>,
    diskstats: String,
    // A surprise in what is optional costs that field, not the sample.
    #[serde(borrow, default)]
    wall: Option<&'a RawValue>,
    #[serde(borrow, default)]
    diskseq: Option<&'a RawValue>,
    #[serde(borrow, default)]
    iostats_off: Option<&'a RawValue>,
    #[serde(borrow, default)]
    leaves: Option<&'a RawValue>,
    #[serde(borrow, default)]
    host: Option<&'a RawValue>,
    #[serde(borrow, default)]
    inventory: Option<&'a RawValue>,
}

impl Line {
    /// The line as it is written, without its newline. Times keep every nanosecond.
    ///
    /// # Errors
    /// There is none that these values can cause.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Written {
            t_s: seconds::written(self.monotonic)?,
            boot_s: self.boot.map(seconds::written).transpose()?,
            wall: self.wall.as_deref(),
            diskstats: &self.diskstats,
            diskseq: &self.diskseq,
            iostats_off: &self.iostats_off,
            leaves: &self.leaves,
            host: self.host.as_ref(),
            inventory: self.inventory.as_deref(),
        })
    }

    /// Reads a line. Text in it is cleaned and names are checked; an optional field of another shape than is known here
    /// is taken as missing.
    ///
    /// # Errors
    /// See [`LineError`].
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let read: Read<'_> = serde_json::from_slice(line)?;
        let monotonic = seconds::read(read.t_s.get()).ok_or(LineError::Time)?;
        if read.diskstats.bytes().filter(|b| *b == b'\n').nth(MOST_ROWS).is_some() {
            return Err(LineError::Rows);
        }
        Ok(Self {
            monotonic,
            boot: read.boot_s.and_then(|v| seconds::read(v.get())),
            wall: lenient::<String>(read.wall).filter(|t| time_of_day(t).is_some()),
            diskstats: read.diskstats,
            diskseq: by_name(read.diskseq),
            iostats_off: names(read.iostats_off),
            leaves: by_name(read.leaves),
            host: lenient::<RecordedHost>(read.host).map(RecordedHost::cleaned),
            inventory: read.inventory.and_then(|v| inventory::read(v.get())),
        })
    }

    /// What a sample, made of this text, has to be recorded.
    #[must_use]
    pub fn of(sample: &Sample, text: &str, leaves: &Leaves) -> Self {
        Self {
            monotonic: sample.monotonic,
            boot: sample.boot,
            diskstats: text.to_owned(),
            diskseq: sample.diskseq.iter().map(|(name, seq)| (name.clone(), *seq)).collect(),
            iostats_off: sample.iostats_off.iter().cloned().collect(),
            leaves: leaves.surprises().map(|(name, leaf)| (name.clone(), leaf)).collect(),
            ..Self::default()
        }
    }

    /// The counters as a sample.
    #[must_use]
    pub fn sample(&self) -> Sample {
        let mut sample = Sample {
            monotonic: self.monotonic,
            boot: self.boot,
            diskseq: Arc::new(self.diskseq.iter().map(|(name, seq)| (name.clone(), *seq)).collect()),
            iostats_off: Arc::new(self.iostats_off.iter().cloned().collect()),
            ..Sample::default()
        };
        sample.read_rows(&self.diskstats, &[]);
        sample
    }

    /// Which devices count in a total, as the recording host knew.
    #[must_use]
    pub fn leaves(&self) -> Leaves {
        let mut leaves = Leaves::default();
        for (name, leaf) in &self.leaves {
            leaves.learn(name, *leaf);
        }
        leaves
    }
}

impl RecordedHost {
    fn cleaned(self) -> Self {
        let text = |t: Option<String>| t.map(|t| clean(t.as_bytes()));
        Self { name: text(self.name), kernel: text(self.kernel), cpus: self.cpus }
    }
}

fn lenient<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(value?.get()).ok()
}

/// Names of devices; what is none is left out.
fn names(value: Option<&RawValue>) -> BTreeSet<KernelName> {
    let all = value.and_then(|v| bounded::names(v.get())).unwrap_or_default();
    all.iter().filter_map(|name| KernelName::new(name)).collect()
}

/// Values by device; what is no name is left out.
fn by_name<'a, T: Deserialize<'a>>(value: Option<&'a RawValue>) -> BTreeMap<KernelName, T> {
    let all = value.and_then(|v| bounded::table(v.get())).unwrap_or_default();
    all.into_iter().filter_map(|(name, v)| Some((KernelName::new(&name)?, v))).collect()
}

/// The `HH:MM:SS` of an RFC 3339 time; None if the text is none.
#[must_use]
pub fn time_of_day(wall: &str) -> Option<&str> {
    let shape = |text: &str, like: &str| {
        text.len() == like.len()
            && text
                .bytes()
                .zip(like.bytes())
                .all(|(b, l)| if l == b'0' { b.is_ascii_digit() } else { b == l })
    };
    let (moment, zone) = (wall.get(..19)?, wall.get(19..)?);
    let zone_ok =
        zone == "Z" || zone.get(1..).is_some_and(|z| shape(z, "00:00") && zone.starts_with(['+', '-']));
    (shape(moment, "0000-00-00T00:00:00") && zone_ok).then(|| &moment[11..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Line {
        Line::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn the_least_that_is_a_sample_is_read() {
        let l = line(r#"{"t_s": 12.345, "diskstats": "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\n"}"#);
        assert_eq!((l.monotonic, l.boot, l.wall.as_ref()), (Nanos(12_345_000_000), None, None));
        assert_eq!(l.sample().rows.len(), 1);
    }

    #[test]
    fn what_is_missing_or_wrong_where_it_matters_is_no_sample() {
        for bad in [
            "",
            "null",
            "{}",
            r#"{"t_s": 1}"#,
            r#"{"diskstats": ""}"#,
            r#"{"t_s": "1", "diskstats": ""}"#,
            r#"{"t_s": -1, "diskstats": ""}"#,
            r#"{"t_s": 1e400, "diskstats": ""}"#,
            r#"{"t_s": 99999999999999999999, "diskstats": ""}"#,
            r#"{"t_s": 1, "diskstats": 5}"#,
            r#"{"t_s": 1, "diskstats": ""} trailing"#,
            r#"{"t_s": 1, "t_s": 2, "diskstats": ""}"#,
        ] {
            assert!(Line::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Line::parse(b"{\"t_s\": 1, \"diskstats\": \"\xff\"}").is_err());
    }

    #[test]
    fn a_surprise_in_what_is_optional_costs_that_field_only() {
        let l = line(
            r#"{"t_s": 1, "boot_s": "x", "wall": "\u001b[2J", "diskseq": {"sda": "x"}, "host": 3,
                "iostats_off": "sda", "leaves": {"sda": 1},
                "inventory": {"new": "shape"}, "later": {"a": [1]}, "diskstats": ""}"#,
        );
        assert_eq!(l, Line { monotonic: Nanos::SECOND, ..Line::default() });
        let l = line(r#"{"t_s": 1, "diskstats": "", "diskseq": {"../x": 1, "sda": 2}}"#);
        assert_eq!(l.diskseq.into_iter().collect::<Vec<_>>(), [(KernelName::new("sda").unwrap(), 2)]);
    }

    #[test]
    fn text_of_a_record_never_carries_an_escape() {
        let l = line(r#"{"t_s": 1, "diskstats": "", "host": {"name": "a\u001b[2J", "kernel": "6\u0007"}}"#);
        let host = l.host.unwrap();
        assert_eq!((host.name.as_deref(), host.kernel.as_deref()), (Some("a\u{fffd}[2J"), Some("6\u{fffd}")));
    }

    #[test]
    fn more_rows_than_a_host_can_have_are_no_sample() {
        let rows = "8 0 sda 1 0 8 0 0 0 0 0 0 0 0\\n".repeat(MOST_ROWS + 1);
        let text = format!("{{\"t_s\": 1, \"diskstats\": \"{rows}\"}}");
        assert!(matches!(Line::parse(text.as_bytes()), Err(LineError::Rows)));
    }

    #[test]
    fn a_deep_value_is_survived() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        for field in ["later", "inventory", "host", "diskseq"] {
            assert_eq!(line(&format!(r#"{{"t_s": 1, "diskstats": "", "{field}": {deep}}}"#)).inventory, None);
        }
    }

    #[test]
    fn a_time_of_day_is_one_or_nothing() {
        assert_eq!(time_of_day("2026-12-02T09:08:57+01:00"), Some("09:08:57"));
        assert_eq!(time_of_day("2026-12-02T09:08:57Z"), Some("09:08:57"));
        for bad in
            ["", "09:08", "2026-12-02 09:08:57Z", "2026-12-02T09:08:57", "2026-12-02T09:08:57\u{e9}0:00"]
        {
            assert_eq!(time_of_day(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = Line::parse(&bytes);
        }

        #[test]
        fn what_is_written_is_read_back_to_the_nanosecond(
            t: u64, boot: Option<u64>, text: String,
            seqs in proptest::collection::btree_map("[a-z]{1,8}", any::<(u64, bool)>(), 0..5),
        ) {
            let line = Line {
                monotonic: Nanos(t),
                boot: boot.map(Nanos),
                wall: Some("2026-12-02T09:08:57+01:00".to_owned()),
                diskstats: text,
                diskseq: seqs.iter().map(|(n, s)| (KernelName::new(n).unwrap(), s.0)).collect(),
                iostats_off: seqs.keys().filter_map(|n| KernelName::new(n)).collect(),
                leaves: seqs.iter().map(|(n, s)| (KernelName::new(n).unwrap(), s.1)).collect(),
                host: Some(RecordedHost { name: Some("db7".to_owned()), kernel: None, cpus: Some(8) }),
                inventory: None,
            };
            let json = line.to_json().unwrap();
            prop_assert!(!json.contains('\n'));
            prop_assert_eq!(Line::parse(json.as_bytes()).unwrap(), line);
        }
    }
}
