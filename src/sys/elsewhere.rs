//! What other processes do with block devices: mounts in namespaces that are not ours, nodes held open.
//!
//! Dear with many processes (one look at every open file of each), so whoever polls reads it seldom.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};

use super::attr;
use super::device::DevNum;
use super::mounts::{self, Mount};
use super::root::SysRoot;

/// The inode number of the first pid namespace (`PROC_PID_INIT_INO` in `include/linux/proc_ns.h`). In another one the
/// processes outside of it are out of sight.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// What was seen at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Mounts of other namespaces, each with a process that sees it.
    pub(super) mounts: Vec<(String, Mount)>,
    /// Block devices held open.
    pub(super) opened: Vec<Opened>,
    /// Whether `/proc` shows all processes of the host.
    pub(super) all_in_sight: bool,
    /// Processes that may not be looked into: number and name.
    pub(super) out_of_reach: Vec<(u32, String)>,
}

/// A node that a process has open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// The device's number; None in a captured tree, where only the node's name is known.
    pub(super) devnum: Option<DevNum>,
    /// The node.
    pub(super) node: PathBuf,
    /// The process, `qemu (1234)`.
    pub(super) who: String,
    /// Opened for writing; None if that could not be read.
    pub(super) writes: Option<bool>,
}

impl Elsewhere {
    /// Looks at every process but this one. What can not be read (another user's process) is no error; that it was not
    /// read is kept, see [`super::usage::Users::complete`].
    #[must_use]
    pub fn read(root: &SysRoot) -> Self {
        let mut seen = Self { all_in_sight: sees_all_processes(root), ..Self::default() };
        let own = std::fs::read(root.proc("self/mountinfo")).unwrap_or_default();
        let mut namespaces = Namespaces {
            names: link(&root.proc("self/ns/mnt")).into_iter().collect(),
            mounts: HashSet::from([first_mount(&own)]),
        };
        let myself = if root.is_live() { Some(std::process::id()) } else { None };
        for pid in processes(root).into_iter().filter(|pid| Some(*pid) != myself) {
            seen.look_at_namespace(root, pid, &mut namespaces);
            seen.look_at_files(root, pid);
        }
        seen.opened.sort_by(|a, b| (a.devnum, &a.node).cmp(&(b.devnum, &b.node)));
        seen
    }

    /// One process of each namespace speaks for all in it. One whose namespace may not be asked for still lists its mounts.
    fn look_at_namespace(&mut self, root: &SysRoot, pid: u32, known: &mut Namespaces) {
        let namespace = match std::fs::read_link(root.of_process(pid, "ns/mnt")) {
            Ok(namespace) => Some(namespace),
            Err(e) if is_gone(&e) => return,
            Err(_) => None,
        };
        if namespace.as_ref().is_some_and(|n| known.names.contains(n)) {
            return;
        }
        match std::fs::read(root.of_process(pid, "mountinfo")) {
            Ok(text) => {
                known.names.extend(namespace);
                if !known.mounts.insert(first_mount(&text)) {
                    return;
                }
                let who = format!("{pid} {}", command(root, pid));
                // Numbers with major 0 are made up by file systems: without a node nothing ties them to a device.
                let of_devices = |m: &Mount| m.devnum.major != 0 || m.node().is_some();
                self.mounts
                    .extend(mounts::mounts(&text).into_iter().filter(of_devices).map(|m| (who.clone(), m)));
            }
            Err(e) => self.missed(root, pid, &e),
        }
    }

    fn look_at_files(&mut self, root: &SysRoot, pid: u32) {
        let dir = root.of_process(pid, "fd");
        let files = match std::fs::read_dir(&dir) {
            Ok(files) => files,
            Err(e) => return self.missed(root, pid, &e),
        };
        let mut who = None;
        for file in files.flatten() {
            let (devnum, node) = match block_device(root, &file.path()) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                // The list may be seen and what is on it not (a process that guards itself, even from root).
                Err(e) => {
                    self.missed(root, pid, &e);
                    continue;
                }
            };
            let writes = opened_for_writing(root, pid, &file.file_name());
            let who = who.get_or_insert_with(|| format!("{} ({pid})", command(root, pid)));
            let same =
                self.opened.iter_mut().rev().find(|o| o.who == *who && o.devnum == devnum && o.node == node);
            match same {
                Some(same) if same.writes == Some(true) => {}
                Some(same) => same.writes = writes,
                None => self.opened.push(Opened { devnum, node, who: who.clone(), writes }),
            }
        }
    }

    /// A process that went meanwhile uses nothing; one that may not be looked into may use anything.
    fn missed(&mut self, root: &SysRoot, pid: u32, e: &std::io::Error) {
        if !is_gone(e) && self.out_of_reach.last().is_none_or(|(last, _)| *last != pid) {
            self.out_of_reach.push((pid, command(root, pid)));
        }
    }
}

/// The answers of a process that has ended; EINVAL is that of its mountinfo while its parent has not asked for it.
fn is_gone(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::EINVAL))
}

fn processes(root: &SysRoot) -> Vec<u32> {
    let entries = std::fs::read_dir(root.proc_dir()).into_iter().flatten().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Whether `/proc` lists every process of the host: not from within a container, not where it hides other users'. A
/// captured tree holds none but its own, so nothing is known of them.
fn sees_all_processes(root: &SysRoot) -> bool {
    let hides = |text: Vec<u8>| {
        String::from_utf8_lossy(&text).lines().any(|l| l.contains(" - proc ") && l.contains("hidepid="))
    };
    root.is_live()
        && link(&root.proc("self/ns/pid")).is_some_and(|l| l.as_os_str() == FIRST_PID_NAMESPACE)
        && !std::fs::read(root.proc("self/mountinfo")).is_ok_and(hides)
}

/// The mount namespaces that were looked at.
struct Namespaces {
    /// As `/proc/PID/ns/mnt` names them.
    names: HashSet<PathBuf>,
    /// By their first mount: the kernel gives a mount's number to no other while it is there, in any namespace. For the
    /// first process of a host, whose namespace may not be asked for.
    mounts: HashSet<Option<u64>>,
}

/// The number of the first mount of a mountinfo; None of an empty one.
fn first_mount(mountinfo: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(mountinfo.get(..32.min(mountinfo.len()))?).into_owned();
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// The number and the node of a block device behind `/proc/PID/fd/N`; None for anything else.
///
/// # Errors
/// The link may not be followed; ENOENT if it was closed meanwhile.
fn block_device(root: &SysRoot, fd: &Path) -> std::io::Result<Option<(Option<DevNum>, PathBuf)>> {
    let target = std::fs::read_link(fd)?;
    // `socket:[1]`, `anon_inode:[eventfd]` and their like.
    if !target.is_absolute() {
        return Ok(None);
    }
    if !root.is_live() {
        // The link of a captured tree would lead to this host's file.
        return Ok(SysRoot::below_dev(&target).map(|_| (None, target)));
    }
    // Without asking the server of a network file system, which may not answer.
    let Ok(stat) = rustix::fs::statx(CWD, fd, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE) else {
        return Ok(None);
    };
    if FileType::from_raw_mode(stat.stx_mode.into()) != FileType::BlockDevice {
        return Ok(None);
    }
    Ok(Some((Some(DevNum { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor }), target)))
}

/// From the line `flags:` of `/proc/PID/fdinfo/N`, octal, the access mode in the last two bits.
fn opened_for_writing(root: &SysRoot, pid: u32, number: &OsStr) -> Option<bool> {
    let number: u32 = std::str::from_utf8(number.as_bytes()).ok()?.parse().ok()?;
    let text = attr::read_bytes(&root.of_process(pid, "fdinfo").join(number.to_string())).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let flags = text.lines().find_map(|l| l.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    Some(flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// What a process calls itself, cleaned: any process can choose its name.
fn command(root: &SysRoot, pid: u32) -> String {
    attr::read_opt(&root.of_process(pid, "comm")).filter(|c| !c.is_empty()).unwrap_or_else(|| "?".to_owned())
}

fn link(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}
