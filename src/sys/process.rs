//! Processes as `/proc` tells of them.

use std::path::PathBuf;

use super::root::SysRoot;

/// This program's own file, to be started again; works also when it was replaced or removed meanwhile.
#[must_use]
pub fn own_executable() -> PathBuf {
    SysRoot::host().proc("self/exe")
}

/// When a process started, in clock ticks since boot (`proc_pid_stat(5)`, field 22). With the number it names one
/// process for ever. None if there is none of that number.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    field(pid, 22)?.parse().ok()
}

/// The code a process exited with that is not gone yet, because one of its threads is stuck in the kernel (field 52).
/// None while it runs, or if it was ended by a signal.
#[must_use]
pub fn exit_code(pid: u32) -> Option<u8> {
    let zombie = field(pid, 3)? == "Z";
    let status: i32 = field(pid, 52)?.parse().ok()?;
    // As wait(2) has it: the code in the second byte, the signal in the first.
    let [signal, code, ..] = status.to_le_bytes();
    (zombie && signal == 0).then_some(code)
}

/// A field of `/proc/PID/stat`, counted from 1 as in the manual. The second, the name in parentheses, may hold
/// anything, so the rest is found behind its last parenthesis.
fn field(pid: u32, number: usize) -> Option<String> {
    let text = std::fs::read_to_string(SysRoot::host().proc_pid(pid).join("stat")).ok()?;
    let rest = text.get(text.rfind(')')? + 1..)?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?).map(str::to_owned)
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
