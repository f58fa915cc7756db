//! How much processes made devices read and write, from `/proc/PID/io`.
//!
//! The kernel counts by process and for all devices together (`Documentation/filesystems/proc.rst`): `read_bytes` is what
//! was really fetched, `write_bytes` what a process dirtied in the page cache or wrote past it, less what it deleted
//! before it was written. Only its owner and root may read a process's account.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use procfs::FromRead;
use procfs::process::{Io, Stat};
use serde::Serialize;

use super::attr;
use super::root::SysRoot;
use crate::units::Bytes;

/// No more processes than this are looked at, and no longer than this: the rest is left out, and said.
const MOST: usize = 20_000;
const LONGEST: Duration = Duration::from_millis(400);
/// `PF_KTHREAD` of `include/linux/sched.h`.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// What a process moved in some time, on all devices together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mover {
    /// Its number.
    pub pid: u32,
    /// What it calls itself, cleaned.
    pub name: String,
    /// A thread of the kernel.
    pub kernel: bool,
    /// What it read.
    pub read_bytes: Bytes,
    /// What it wrote.
    pub write_bytes: Bytes,
}

impl Mover {
    /// Both directions.
    #[must_use]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.read_bytes.0.saturating_add(self.write_bytes.0))
    }
}

/// The accounts of all processes at one moment.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    by_pid: HashMap<u32, (u64, u64)>,
    /// Those that may not be looked at.
    denied: HashSet<u32>,
    /// There were too many.
    cut: bool,
}

impl Accounts {
    /// Looks at every process but this one. About 10 us each.
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let began = Instant::now();
        let myself = root.is_live().then(std::process::id);
        let mut accounts = Self::default();
        let entries = std::fs::read_dir(root.proc_dir()).into_iter().flatten().flatten();
        for pid in entries.filter_map(|e| e.file_name().to_str()?.parse().ok()) {
            if Some(pid) == myself {
                continue;
            }
            if accounts.by_pid.len() >= MOST || began.elapsed() > LONGEST {
                accounts.cut = true;
                break;
            }
            match std::fs::read(root.of_process(pid, "io")) {
                Ok(text) => {
                    let written = |io: &Io| io.write_bytes.saturating_sub(io.cancelled_write_bytes);
                    if let Ok(io) = Io::from_read(text.as_slice()) {
                        accounts.by_pid.insert(pid, (io.read_bytes, written(&io)));
                    }
                }
                // One that went meanwhile is no gap.
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => {}
                Err(_) => {
                    accounts.denied.insert(pid);
                }
            }
        }
        accounts
    }

    /// Whether every process could be looked at.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.cut && self.denied.is_empty()
    }

    /// The processes that moved most since `earlier`, greatest first. One that started meanwhile is counted from its
    /// start, if it is known that it did; one that ended is missing.
    #[must_use]
    pub fn most_since(&self, root: &SysRoot, earlier: &Accounts, count: usize) -> Vec<Mover> {
        let mut moved: Vec<(u32, u64, u64)> = self
            .by_pid
            .iter()
            .filter_map(|(pid, now)| {
                let before = match earlier.by_pid.get(pid) {
                    Some(before) => *before,
                    None if !earlier.cut && !earlier.denied.contains(pid) => (0, 0),
                    None => return None,
                };
                // A number that another process has now counts from anew.
                let (read, write) = (now.0.checked_sub(before.0)?, now.1.checked_sub(before.1)?);
                (read > 0 || write > 0).then_some((*pid, read, write))
            })
            .collect();
        moved.sort_by_key(|(pid, read, write)| (std::cmp::Reverse(read.saturating_add(*write)), *pid));
        moved
            .into_iter()
            .take(count)
            .map(|(pid, read, write)| Mover {
                pid,
                name: attr::read_opt(&root.of_process(pid, "comm"))
                    .filter(|c| !c.is_empty())
                    .unwrap_or_else(|| "?".to_owned()),
                kernel: is_kernel_thread(root, pid),
                read_bytes: Bytes(read),
                write_bytes: Bytes(write),
            })
            .collect()
    }
}

fn is_kernel_thread(root: &SysRoot, pid: u32) -> bool {
    let stat = attr::read_bytes(&root.of_process(pid, "stat")).ok();
    stat.and_then(|text| Stat::from_read(text.as_slice()).ok()).is_some_and(|s| s.flags & KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(read: u64, write: u64, cancelled: u64) -> String {
        format!(
            "rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: {read}\nwrite_bytes: {write}\ncancelled_write_bytes: {cancelled}\n"
        )
    }

    #[test]
    fn the_greatest_movers_come_first_and_names_are_cleaned() {
        let dir = tempfile::tempdir().unwrap();
        let root = SysRoot::captured(dir.path());
        let put = |pid: u32, name: &str, io: String| {
            let p = dir.path().join("proc").join(pid.to_string());
            std::fs::create_dir_all(&p).unwrap();
            std::fs::write(p.join("comm"), name).unwrap();
            std::fs::write(p.join("io"), io).unwrap();
        };
        put(1, "idle\n", account(5, 5, 0));
        put(20, "post\x1b[2Jgres\n", account(100, 0, 0));
        put(21, "reused\n", account(1_000_000, 0, 0));
        let before = Accounts::read(&root);
        assert!(before.complete());
        put(20, "post\x1b[2Jgres\n", account(100, 5000, 1000));
        put(21, "reused\n", account(10, 0, 0));
        put(30, "new\n", account(300, 0, 0));
        let after = Accounts::read(&root);
        let most = after.most_since(&root, &before, 5);
        let words: Vec<(u32, &str, u64)> =
            most.iter().map(|m| (m.pid, m.name.as_str(), m.bytes().0)).collect();
        assert_eq!(words, [(20, "post\u{fffd}[2Jgres", 4000), (30, "new", 300)]);
        assert_eq!(after.most_since(&root, &before, 1).len(), 1);
        let partly = Accounts { cut: true, ..before };
        assert_eq!(after.most_since(&root, &partly, 5).len(), 1, "whether 30 is new is not known then");
    }

    #[test]
    fn this_process_is_left_out_and_another_one_is_seen() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let seen = Accounts::read(&SysRoot::host());
        let (own, other) =
            (seen.by_pid.contains_key(&std::process::id()), seen.by_pid.contains_key(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!own && other);
    }
}
