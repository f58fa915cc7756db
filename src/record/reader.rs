//! Reads a record, also one that was cut off. Nothing in it is trusted: lengths are bounded, text is cleaned.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::files::Dir;
use super::manifest::Manifest;
use super::summary::Summary;
use super::{EVENTS, MANIFEST, RecordError, SCHEMA, SUMMARY, TRIALS};
use crate::experiment::trial::Trial;
use crate::sys::attr::clean;

/// More of a manifest or summary is not read.
const MOST_OF_A_DOCUMENT: u64 = 16 << 20;
/// More of trials or events is not read.
const MOST_OF_LINES: u64 = 128 << 20;
/// A longer line is passed over.
const LONGEST_LINE: usize = 4 << 20;
/// More lines are not read. The longest experiment has some hundred trials, each with a few events.
const MOST_LINES: usize = 100_000;

/// A record that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Where it lies.
    pub dir: PathBuf,
    /// What was asked, of what.
    pub manifest: Manifest,
    /// The trials in the order they were written, each with all that was measured in it.
    pub trials: Vec<(Trial, Value)>,
    /// What happened: objects with `t_s`, seconds since the start, and `event`.
    pub events: Vec<Value>,
    /// How it ended; None if it was cut off, or goes on.
    pub summary: Option<Summary>,
    /// What is missing or can not be read, each a sentence.
    pub damage: Vec<String>,
}

impl Record {
    /// Reads a directory.
    ///
    /// # Errors
    /// [`RecordError::NotARecord`] without a whole manifest; else if a file can not be read, or is none.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let dir = Dir::open(path)?;
        let manifest: Manifest = match document(&dir, MANIFEST)? {
            Document::Whole(m) => m,
            Document::Missing => return Err(no_record(&dir, "no such file")),
            Document::Bad(why) => return Err(no_record(&dir, &why)),
        };
        if manifest.schema != SCHEMA {
            return Err(no_record(
                &dir,
                &format!("its format is {:?}, and this reads {SCHEMA}", manifest.schema),
            ));
        }
        let mut damage = Vec::new();
        let trials = lines(&dir, TRIALS, &mut damage, |mut value| {
            let detail = value.as_object_mut().and_then(|o| o.remove("detail")).unwrap_or_default();
            Ok((serde_json::from_value::<Trial>(value)?, detail))
        })?;
        let events = lines(&dir, EVENTS, &mut damage, Ok)?;
        let summary = match document(&dir, SUMMARY)? {
            Document::Whole(s) => Some(s),
            Document::Missing => None,
            Document::Bad(why) => {
                damage.push(format!("{SUMMARY} is not used: {why}."));
                None
            }
        };
        Ok(Self { dir: path.to_path_buf(), manifest, trials, events, summary, damage })
    }

    /// Whether it ended without a word: cut off, or still going on.
    #[must_use]
    pub const fn cut_off(&self) -> bool {
        self.summary.is_none()
    }
}

fn no_record(dir: &Dir, why: &str) -> RecordError {
    RecordError::NotARecord { path: dir.place(MANIFEST), why: why.to_owned() }
}

enum Document<T> {
    Whole(T),
    Missing,
    Bad(String),
}

fn document<T: DeserializeOwned>(dir: &Dir, file: &str) -> Result<Document<T>, RecordError> {
    let Some((bytes, whole)) = dir.read(file, MOST_OF_A_DOCUMENT)? else { return Ok(Document::Missing) };
    if !whole {
        return Ok(Document::Bad(format!("longer than {} MiB", MOST_OF_A_DOCUMENT >> 20)));
    }
    let value: Value = match serde_json::from_slice(&bytes) {
        Ok(v) => v,
        Err(e) if e.is_eof() => return Ok(Document::Bad("it was cut off".to_owned())),
        Err(e) => return Ok(Document::Bad(format!("no JSON: {}", clean(e.to_string().as_bytes())))),
    };
    Ok(match serde_json::from_value(cleaned(value)) {
        Ok(document) => Document::Whole(document),
        // The message may repeat what is in the file.
        Err(e) => Document::Bad(clean(e.to_string().as_bytes())),
    })
}

fn lines<T>(
    dir: &Dir,
    file: &str,
    damage: &mut Vec<String>,
    of: impl Fn(Value) -> serde_json::Result<T>,
) -> Result<Vec<T>, RecordError> {
    let Some((bytes, whole)) = dir.read(file, MOST_OF_LINES)? else {
        damage.push(format!("{file} is missing."));
        return Ok(Vec::new());
    };
    let (mut out, mut bad, mut cut, mut more) = (Vec::new(), 0_usize, false, !whole);
    let ends = bytes.last() == Some(&b'\n') || bytes.is_empty();
    let count = bytes.split(|b| *b == b'\n').count();
    for (i, text) in bytes.split(|b| *b == b'\n').enumerate() {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if i >= MOST_LINES {
            more = true;
            break;
        }
        let value = if text.len() > LONGEST_LINE { None } else { serde_json::from_slice::<Value>(text).ok() };
        match value.map(cleaned).filter(Value::is_object).and_then(|v| of(v).ok()) {
            Some(item) => out.push(item),
            None if i + 1 == count && !ends => cut = true,
            None => bad += 1,
        }
    }
    if cut && whole {
        damage.push(format!("The last line of {file} was cut off; the {} before it were read.", out.len()));
    }
    if bad > 0 {
        damage.push(format!("{file} has {bad} line(s) that can not be read; they are left out."));
    }
    if more {
        damage.push(format!("{file} is longer than is read; the rest of it is left out."));
    }
    Ok(out)
}

/// The same with every text cleaned.
pub(super) fn cleaned(value: Value) -> Value {
    match value {
        Value::String(s) => Value::String(clean(s.as_bytes())),
        Value::Array(items) => Value::Array(items.into_iter().map(cleaned).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(k, v)| (clean(k.as_bytes()), cleaned(v))).collect())
        }
        other => other,
    }
}
