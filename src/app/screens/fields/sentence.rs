//! What will happen, and for how long, in plain words.

use std::fmt::Write as _;

use super::{round_bytes, seconds};
use crate::trial::foreground;
use crate::units::{Bytes, events};
use crate::workload::arrivals::RateProcess;
use crate::workload::durability::{DropCaches, Sync, promise};
use crate::workload::job::{EngineKind, Job, Rw};

/// Where a run goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// In words: `loop3`, `sda2`, `a scratch file`.
    pub name: String,
    /// A file made for the run.
    pub scratch: bool,
    /// The device that was chosen and is not taken, since the screen writes to none.
    pub instead_of: Option<String>,
}

impl Place {
    /// A file made for the run.
    #[must_use]
    pub fn scratch_file() -> Self {
        Self { name: "a scratch file".to_owned(), scratch: true, instead_of: None }
    }
}

/// What will happen: each job, where, and for how long; then what is written.
#[must_use]
pub fn sentence(jobs: &[Job], place: &Place) -> String {
    let Some(first) = jobs.first() else { return String::new() };
    let mut s = match jobs {
        [one] => format!("{}{}", action(one, &format!(" {}", place.name), place), manner(one)),
        several => {
            let each: Vec<String> = several
                .iter()
                .map(|j| format!("{}: {}{}", j.name, action(j, "", place), manner(j)))
                .collect();
            let all = if several.len() == 2 { "both" } else { "all" };
            format!("{}; {all} at once on {}", each.join("; "), place.name)
        }
    };
    let _ = write!(s, ", for {}", seconds(first.runtime));
    if !first.ramp.is_zero() {
        let _ = write!(s, " after {} of ramp", seconds(first.ramp));
    }
    if let Some(first) = foreground::sentence(jobs) {
        let _ = write!(s, ". {}", first.trim_end_matches('.'));
    }
    let issues = jobs.iter().any(|j| j.engine != EngineKind::Null);
    match place {
        Place { scratch: false, .. } if issues => s.push_str("; nothing is written"),
        Place { scratch: false, .. } => {}
        Place { instead_of, .. } => {
            let _ = write!(s, ". The file, {}, is written in full first and removed at the end", size(jobs));
            match instead_of {
                Some(device) => {
                    let _ = write!(s, "; {device} is not written to");
                }
                None => s.push_str("; nothing else is written"),
            }
        }
    }
    s
}

/// What the way of reading and writing promises; said once where it is the same for all jobs.
#[must_use]
pub fn promises(jobs: &[Job]) -> Vec<String> {
    let mut all: Vec<String> = jobs.iter().filter(|j| j.engine != EngineKind::Null).map(promise).collect();
    all.dedup();
    all
}

/// `reads 4 KiB at random places of sdb`.
fn action(job: &Job, whole: &str, place: &Place) -> String {
    let verb = match (job.rw, job.rwmixread) {
        (Rw::Read | Rw::RandRead, _) => "reads".to_owned(),
        (Rw::Write | Rw::RandWrite, _) => "writes".to_owned(),
        (Rw::Rw | Rw::RandRw, share) => format!("reads and writes ({share} to {})", 100 - share.min(100)),
    };
    let of = |word: &str| if whole.is_empty() { String::new() } else { format!(" {word}{whole}") };
    let place_of = if job.rw.random() {
        format!("at random places{}", of("of"))
    } else {
        let word = match job.rw {
            Rw::Read => "from",
            Rw::Write => "to",
            _ => "on",
        };
        format!("one after the other{}", of(word))
    };
    let mut s = format!("{verb} {} {place_of}", round_bytes(job.bs));
    match (job.size, place.scratch) {
        (Some(size), false) if job.offset == Bytes(0) => {
            let _ = write!(s, " (its first {})", round_bytes(size));
        }
        (Some(size), _) if job.offset != Bytes(0) => {
            let _ = write!(s, " ({} from {} on)", round_bytes(size), round_bytes(job.offset));
        }
        (None, _) if job.offset != Bytes(0) => {
            let _ = write!(s, " (from {} on)", round_bytes(job.offset));
        }
        _ => {}
    }
    if job.engine == EngineKind::Null {
        s.push_str(" in thought only (null: no I/O is issued)");
    }
    s
}

/// How many, how fast and through what.
fn manner(job: &Job) -> String {
    let in_flight = u64::from(job.depth_in_use()) * u64::from(job.numjobs);
    let mut s = match job.arrivals_per_s() {
        Some(rate) => {
            let whose =
                if job.numjobs == 1 { String::new() } else { format!(" of each of {} workers", job.numjobs) };
            let spread = match job.rate_process {
                RateProcess::Fixed => "evenly",
                RateProcess::Poisson => "at random times",
            };
            format!(
                ", {} I/Os a second due{whose} {spread} whether answered or not (open loop)",
                events(rate)
            )
        }
        None => format!(", {in_flight} in flight"),
    };
    if !job.thinktime.is_zero() {
        let _ = write!(s, ", {} of pause before each", seconds(job.thinktime));
    }
    s.push_str(if job.direct { ", past the page cache" } else { ", through the page cache" });
    match job.drop_caches {
        DropCaches::None => {}
        DropCaches::Target => s.push_str(" after its pages were dropped"),
        DropCaches::System => s.push_str(" after all pages of the whole system were dropped"),
    }
    match job.sync {
        Sync::None => {}
        Sync::Dsync | Sync::Sync => s.push_str(", each write waits until it is safe"),
    }
    for (call, every) in [("fsync", job.fsync), ("fdatasync", job.fdatasync)] {
        if every > 0 {
            let _ = write!(s, ", {call} after every {every}");
        }
    }
    if job.end_fsync {
        s.push_str(", one fsync at the end");
    }
    if let Some(n) = job.number_ios {
        let _ = write!(s, ", until {n} I/Os are done");
    }
    if !job.startdelay.is_zero() {
        let _ = write!(s, ", begins {} late", seconds(job.startdelay));
    }
    s
}

/// How large the scratch file is: what is free is not known before it is made.
fn size(jobs: &[Job]) -> String {
    let asked = |j: &Job| j.size.map(|s| s.0.saturating_add(j.offset.0));
    let largest = jobs.iter().filter_map(asked).max();
    let default = jobs.iter().any(|j| j.size.is_none());
    match largest.filter(|size| !default || *size >= 1 << 30) {
        Some(size) => round_bytes(Bytes(size)),
        None => "1 GiB or a tenth of the free space".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    fn said(name: &str, set: &[&str], place: &Place) -> String {
        let mut jobs = preset::find(name).unwrap().jobs();
        for s in set {
            for job in &mut jobs {
                job.set(s).unwrap();
            }
        }
        sentence(&jobs, place)
    }

    #[test]
    fn each_kind_has_its_words() {
        let sdb = Place { name: "sdb".to_owned(), ..Place::default() };
        let file = Place::scratch_file();
        let instead = Place { instead_of: Some("sdb".to_owned()), ..Place::scratch_file() };
        for (name, set, place, parts) in [
            (
                "randread-4k",
                &[][..],
                &sdb,
                &["reads 4 KiB at random places of sdb, 1 in flight", "; nothing is written"][..],
            ),
            ("seqread-1m", &["size=1g"], &sdb, &["one after the other from sdb (its first 1 GiB)"]),
            ("randread-4k", &["size=1g", "offset=4k"], &sdb, &["(1 GiB from 4 KiB on)"]),
            (
                "randrw-4k-70",
                &[],
                &instead,
                &[
                    "reads and writes (70 to 30) 4 KiB at random places of a scratch file, 16 in flight",
                    "1 GiB or a tenth of the free space, is written in full first and removed at the end",
                    "sdb is not written to",
                ],
            ),
            (
                "randwrite-4k",
                &["size=64m"],
                &file,
                &["The file, 64 MiB, is written", "nothing else is written"],
            ),
            (
                "commit-4k-dsync",
                &[],
                &file,
                &["writes 4 KiB one after the other to a scratch file", "waits until it is safe"],
            ),
            (
                "readers-vs-writer",
                &[],
                &file,
                &[
                    "readers: reads 4 KiB at random places, 4 in flight",
                    "writer: writes 1 MiB one after the other, 4 in flight",
                    "both at once on a scratch file, for 10 s after 1 s of ramp",
                ],
            ),
            (
                "readers-32",
                &["rate_iops=100", "rate_process=poisson"],
                &sdb,
                &[
                    "100 I/Os a second due of each of 32 workers at random times whether answered or not (open loop)",
                ],
            ),
            (
                "dd-1m",
                &["drop_caches=system"],
                &sdb,
                &["through the page cache after all pages of the whole system"],
            ),
            (
                "randwrite-4k",
                &["fdatasync=8", "end_fsync=1"],
                &file,
                &["fdatasync after every 8", "one fsync at the end"],
            ),
            ("randread-4k", &["engine=null"], &sdb, &["no I/O is issued"]),
        ] {
            let text = said(name, set, place);
            for part in parts {
                assert!(text.contains(part), "{part:?} in {text}");
            }
            assert!(!text.contains("nothing is written") || !place.scratch, "{text}");
        }
    }
}
