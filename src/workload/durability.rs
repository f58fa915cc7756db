//! What a job's writes promise, and what it does about caches before it starts: named choices, each with a sentence.

use std::fmt::Write as _;

use serde::Serialize;

use super::job::Job;

/// Whether each write waits until it is safe, fio's `sync`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// It does not.
    #[default]
    None,
    /// `O_DSYNC`: the data, and what is needed to find it again.
    Dsync,
    /// `O_SYNC`: the data and all metadata.
    Sync,
}

impl Sync {
    /// The word of `--set sync=`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Sync::None => "none",
            Sync::Dsync => "dsync",
            Sync::Sync => "sync",
        }
    }

    /// Reads the word.
    ///
    /// # Errors
    /// The words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" | "0" => Ok(Sync::None),
            "dsync" => Ok(Sync::Dsync),
            "sync" | "1" => Ok(Sync::Sync),
            _ => Err("it is none, dsync or sync".to_owned()),
        }
    }
}

/// What is dropped from the page cache before the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DropCaches {
    /// Nothing.
    #[default]
    None,
    /// The target's clean pages (`POSIX_FADV_DONTNEED`).
    Target,
    /// Page cache, dentries and inodes of the whole system (`/proc/sys/vm/drop_caches`): every program on the host reads
    /// from its devices again.
    System,
}

impl DropCaches {
    /// The word of `--set drop_caches=`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            DropCaches::None => "none",
            DropCaches::Target => "target",
            DropCaches::System => "system",
        }
    }

    /// Reads the word.
    ///
    /// # Errors
    /// The words there are.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" | "false" | "0" => Ok(DropCaches::None),
            "target" | "true" | "1" => Ok(DropCaches::Target),
            "system" => Ok(DropCaches::System),
            _ => Err("it is true (the target's pages), false, or system (every program's)".to_owned()),
        }
    }
}

/// What the job's way of reading or writing promises, and what it does not, in a sentence for the result.
#[must_use]
pub fn promise(job: &Job) -> String {
    let reads = match (job.reads(), job.direct) {
        (false, _) => None,
        (true, true) => {
            Some("Reads go past the page cache (O_DIRECT); a device's own cache may still answer them.")
        }
        (true, false) => Some(
            "Reads go through the page cache (buffered): some may be answered from memory, and the kernel reads ahead.",
        ),
    };
    let writes = job.rw.writes().then(|| written(job));
    reads.map(str::to_owned).into_iter().chain(writes).collect::<Vec<_>>().join(" ")
}

fn written(job: &Job) -> String {
    let flush = match (job.fsync, job.fdatasync) {
        (0, 0) => None,
        (n, 0) => Some(("fsync", n)),
        (_, n) => Some(("fdatasync", n)),
    };
    let mut text = match (job.direct, job.sync) {
        (true, Sync::None) => {
            "A write is done when the device has taken it (O_DIRECT): it may lie in the device's cache and be lost with its power"
        }
        (true, Sync::Dsync) => {
            "A write is done when its data is on stable media (O_DIRECT with O_DSYNC), as far as the device obeys flushes and FUA"
        }
        (true, Sync::Sync) => {
            "A write is done when its data and all metadata are on stable media (O_DIRECT with O_SYNC), as far as the device obeys flushes and FUA"
        }
        (false, Sync::None) => {
            "A write is done when it is in the page cache (buffered): the device may see it later or, if power fails, never"
        }
        (false, Sync::Dsync) => {
            "A write passes the page cache and is done when its data is on stable media (O_DSYNC), as far as the device obeys flushes and FUA"
        }
        (false, Sync::Sync) => {
            "A write passes the page cache and is done when its data and all metadata are on stable media (O_SYNC), as far as the device obeys flushes and FUA"
        }
    }
    .to_owned();
    if let Some((call, n)) = flush {
        // Writing to a String can not fail.
        let _ = write!(text, "; {call} after every {n} of a worker makes those safe");
    }
    if job.end_fsync {
        text.push_str("; one fsync at the end, inside the measured time, makes all safe");
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn the_sentence_follows_the_choice() {
        let said = |preset: &str, keys: &[&str]| {
            let mut job = preset::find(preset).unwrap().jobs().remove(0);
            for k in keys {
                job.set(k).unwrap();
            }
            promise(&job)
        };
        assert!(said("randread-4k", &[]).contains("past the page cache"));
        assert!(said("dd-1m", &[]).contains("answered from memory"));
        assert!(said("randwrite-4k", &[]).contains("lost with its power"));
        assert!(said("commit-4k-dsync", &[]).contains("O_DIRECT with O_DSYNC"));
        let both = said("randrw-4k-70", &["direct=false", "fdatasync=8", "end_fsync=1"]);
        for part in ["reads ahead", "in the page cache", "fdatasync after every 8", "one fsync at the end"] {
            assert!(both.contains(part), "{both}");
        }
    }
}
