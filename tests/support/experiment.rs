//! `ab` as a process of its own: with its state in a directory of the test's, in a control group if need be.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::loopdev::within_seconds;

/// An `ab` that runs.
pub struct Ab {
    child: Child,
    /// Where its record is.
    pub record: PathBuf,
    /// Gone with it.
    home: TempDir,
}

impl Ab {
    /// Starts it on a device with these words behind it. Ramps and pauses are left out and trials as short as can be.
    pub fn start(device: &str, group: Option<&Path>, words: &str) -> Self {
        Self::start_with(device, group, words, &[])
    }

    /// The same with these variables in its environment.
    pub fn start_with(device: &str, group: Option<&Path>, words: &str, set: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let record = home.path().join("record");
        let mut command = match group {
            Some(group) => {
                let mut command = Command::new("sh");
                command.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(group);
                command.arg(env!("CARGO_BIN_EXE_blktune"));
                command
            }
            None => Command::new(env!("CARGO_BIN_EXE_blktune")),
        };
        command.args(["ab", device, "--trial", "3s", "--settle", "0s", "--json", "--record"]).arg(&record);
        command.args(words.split_whitespace());
        command.env("HOME", home.path()).env("XDG_STATE_HOME", home.path().join("state"));
        command.envs(set.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("the program can be started");
        Self { child, record, home }
    }

    /// The process that was started: the supervisor.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Waits for the end, and hands the record on with what it said: exit code, document (null without one), stderr.
    pub fn end(mut self, seconds: u64) -> Said {
        let ended = within_seconds(seconds, || self.ended());
        if !ended {
            // Its supervisor puts back what it holds.
            for child in super::children(self.pid()) {
                let pid =
                    rustix::process::Pid::from_raw(i32::try_from(child).expect("a pid")).expect("no zero");
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let output: Output = self.child.wait_with_output().expect("its output");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(ended, "does not end within {seconds} s: {stderr}");
        let document = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Said { code: output.status.code(), document, stderr, record: self.record, home: self.home }
    }
}

/// What an `ab` that has ended left.
pub struct Said {
    /// Exit code; None if a signal ended it.
    pub code: Option<i32>,
    /// Its document.
    pub document: Value,
    /// What it said besides.
    pub stderr: String,
    /// Its record.
    pub record: PathBuf,
    /// Gone with it.
    home: TempDir,
}

impl Said {
    /// The comparison on the primary metric: verdict and ratio.
    pub fn verdict(&self) -> (String, f64) {
        let c = &self.document["comparisons"][0];
        let verdict = c["verdict"].as_str().unwrap_or_else(|| panic!("no verdict: {}", self.stderr));
        (verdict.to_owned(), c["ratio"].as_f64().unwrap_or(f64::NAN))
    }

    /// The directory of its state, for programs after it.
    pub fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// Events of that name in the record.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.record.join("events.jsonl")).expect("the record has events");
        text.lines()
            .filter_map(|l| serde_json::from_str::<Value>(l).ok())
            .map(|l| l["event"].clone())
            .filter(|e| e["event"] == name)
            .collect()
    }
}
