//! Processes as `/proc` tells of them.

use std::path::PathBuf;

use procfs::process::{Process, Stat};

use super::root::SysRoot;

/// This program's own file, to be started again: by its path, so that it is listed under its name; by the kernel's link
/// to it where it was replaced or removed meanwhile.
#[must_use]
pub fn own_executable() -> PathBuf {
    let path = std::env::current_exe().ok().filter(|p| p.exists());
    path.unwrap_or_else(|| SysRoot::host().proc("self/exe"))
}

/// When a process started, in clock ticks since boot. With the number it names one process for ever. None if there is
/// none of that number.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    stat(pid).map(|s| s.starttime)
}

/// The code a process exited with that is not gone yet, because one of its threads is stuck in the kernel or nobody
/// has waited for it. None while it runs, or if it was ended by a signal.
#[must_use]
pub fn exit_code(pid: u32) -> Option<u8> {
    let stat = stat(pid).filter(|s| s.state == 'Z')?;
    // As wait(2) has it: the code in the second byte, the signal in the first.
    let [signal, code, ..] = stat.exit_code?.to_le_bytes();
    (signal == 0).then_some(code)
}

fn stat(pid: u32) -> Option<Stat> {
    Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_start_and_no_exit_code() {
        let pid = std::process::id();
        assert!(start_time(pid).is_some_and(|t| t > 0));
        assert_eq!(exit_code(pid), None);
        assert_eq!(start_time(u32::MAX), None);
    }

    #[test]
    fn a_child_that_was_not_waited_for_has_its_code() {
        let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while exit_code(child.id()).is_none() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(exit_code(child.id()), Some(7));
        child.wait().unwrap();
    }
}
