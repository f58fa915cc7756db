//! Processes as `/proc` tells of them.

/// The state letter of a process; None if it is gone.
pub fn state_of(pid: u32) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// The processes whose parent this is.
pub fn children(pid: u32) -> Vec<u32> {
    let parent = pid.to_string();
    std::fs::read_dir("/proc")
        .expect("procfs")
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok())
        .filter(|p| fields(*p).is_some_and(|f| f.get(1) == Some(&parent)))
        .collect()
}

/// What stands behind the name in `/proc/PID/stat`: state, parent...
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
