//! Writes a record while the experiment goes on.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::files::Dir;
use super::manifest::Manifest;
use super::summary::Summary;
use super::{EVENTS, MANIFEST, RecordError, SUMMARY, TRIALS};
use crate::clock::{Clock, SystemClock};
use crate::experiment::trial::Trial;
use crate::units::Nanos;

/// A record that is being written. Only one program writes to it at a time.
#[derive(Debug)]
pub struct Writer {
    dir: Dir,
    events: Lines,
    trials: Lines,
    /// Events that wait for the trial to end, where the record lies on what is measured.
    waiting: Option<Vec<u8>>,
    /// The boot clock at the start of the experiment, in ns; below zero if that was in a boot before.
    started: i128,
}

/// One line of events.
#[derive(Serialize)]
struct EventLine<'a, E> {
    /// Seconds since the experiment began.
    t_s: f64,
    event: &'a E,
}

#[derive(Serialize)]
struct TrialLine<'a> {
    #[serde(flatten)]
    trial: &'a Trial,
    detail: &'a Value,
}

impl Writer {
    /// Makes the directory and writes the manifest. On return it is on disk.
    ///
    /// # Errors
    /// [`RecordError::NotEmpty`] if something is there already, [`RecordError::NotTrusted`] if it is a link or another
    /// user's, [`RecordError::Busy`] if another program writes there, else if it can not be made.
    pub fn create(dir: &Path, manifest: &Manifest) -> Result<Self, RecordError> {
        let dir = Dir::create(dir)?;
        let events = Lines::new(EVENTS, dir.create_file(EVENTS)?);
        let trials = Lines::new(TRIALS, dir.create_file(TRIALS)?);
        // Last: with a manifest there is a record.
        dir.replace(MANIFEST, &document(&dir, MANIFEST, manifest)?)?;
        Ok(Self::with(dir, events, trials, manifest))
    }

    /// Goes on with a record that ended before its time. What was cut off in it stays there, on a line of its own; how it
    /// ended then is removed, since it has not ended.
    ///
    /// # Errors
    /// As [`Writer::create`], but that it has to be there.
    pub fn resume(dir: &Path, manifest: &Manifest) -> Result<Self, RecordError> {
        let dir = Dir::ours(dir)?;
        let mut events = Lines::new(EVENTS, dir.append_to(EVENTS)?);
        let mut trials = Lines::new(TRIALS, dir.append_to(TRIALS)?);
        events.look_for_cut(&dir)?;
        trials.look_for_cut(&dir)?;
        dir.remove(SUMMARY)?;
        Ok(Self::with(dir, events, trials, manifest))
    }

    fn with(dir: Dir, events: Lines, trials: Lines, manifest: &Manifest) -> Self {
        let waiting = manifest.on_device.is_some().then(Vec::new);
        Self { dir, events, trials, waiting, started: manifest.started_on_this_boot(&SystemClock) }
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Adds an event, with the time since the experiment began. It is on disk with the next trial.
    ///
    /// # Errors
    /// It can not be written; the record is one event short then, and may be written on.
    pub fn event(&mut self, event: &impl Serialize) -> Result<(), RecordError> {
        let t_s = seconds(i128::from(SystemClock.boot().0) - self.started);
        let text = line(&self.dir, EVENTS, &EventLine { t_s, event })?;
        match &mut self.waiting {
            Some(waiting) => {
                waiting.extend(text);
                Ok(())
            }
            None => self.events.append(&self.dir, &text),
        }
    }

    /// Adds a trial that has ended, with all that was measured in it. On return it and all events before are on disk.
    ///
    /// # Errors
    /// It can not be written: the record lacks this trial then, and may be written on.
    pub fn trial(&mut self, trial: &Trial, detail: &Value) -> Result<(), RecordError> {
        let text = line(&self.dir, TRIALS, &TrialLine { trial, detail })?;
        // First the trial: it is what an experiment can not do without.
        self.trials.append(&self.dir, &text)?;
        self.trials.sync(&self.dir)?;
        self.flush()
    }

    /// Writes how it ended. On return all of it is on disk.
    ///
    /// # Errors
    /// It can not be written. Trials and events are there all the same.
    pub fn finish(mut self, summary: &Summary) -> Result<(), RecordError> {
        let flushed = self.flush();
        self.dir.replace(SUMMARY, &document(&self.dir, SUMMARY, summary)?)?;
        flushed
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        if let Some(waiting) = &mut self.waiting {
            let text = std::mem::take(waiting);
            self.events.append(&self.dir, &text)?;
        }
        self.events.sync(&self.dir)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Left without a summary: what waits is worth keeping, and there is nobody left to tell of a failure.
        let _ = self.flush();
    }
}

/// A file of lines.
#[derive(Debug)]
struct Lines {
    name: &'static str,
    file: File,
    /// The last line was cut off; it must not swallow the next one.
    cut: bool,
}

impl Lines {
    fn new(name: &'static str, file: File) -> Self {
        Self { name, file, cut: false }
    }

    fn look_for_cut(&mut self, dir: &Dir) -> Result<(), RecordError> {
        let fail = |e| dir.io_at(self.name, e);
        if self.file.seek(SeekFrom::End(0)).map_err(fail)? > 0 {
            let mut last = [0];
            self.file.seek(SeekFrom::End(-1)).map_err(fail)?;
            self.file.read_exact(&mut last).map_err(fail)?;
            self.cut = last != *b"\n";
        }
        Ok(())
    }

    fn append(&mut self, dir: &Dir, text: &[u8]) -> Result<(), RecordError> {
        if text.is_empty() {
            return Ok(());
        }
        if self.cut {
            self.file.write_all(b"\n").map_err(|e| dir.io_at(self.name, e))?;
        }
        self.cut = true;
        self.file.write_all(text).map_err(|e| dir.io_at(self.name, e))?;
        self.cut = false;
        Ok(())
    }

    fn sync(&self, dir: &Dir) -> Result<(), RecordError> {
        self.file.sync_all().map_err(|e| dir.io_at(self.name, e))
    }
}

fn line(dir: &Dir, file: &str, value: &impl Serialize) -> Result<Vec<u8>, RecordError> {
    let mut text = serde_json::to_vec(value).map_err(|e| dir.io_at(file, e.into()))?;
    text.push(b'\n');
    Ok(text)
}

fn document(dir: &Dir, file: &str, value: &impl Serialize) -> Result<Vec<u8>, RecordError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| dir.io_at(file, e.into()))?;
    text.push(b'\n');
    Ok(text)
}

#[allow(clippy::cast_precision_loss)] // seconds for people; exact to the nanosecond for months
fn seconds(ns: i128) -> f64 {
    ns as f64 / 1e9
}

/// The boot clock now, as signed nanoseconds.
pub(super) fn signed(t: Nanos) -> i128 {
    i128::from(t.0)
}
