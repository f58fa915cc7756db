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

/// The keepers that hold something of this device, from the host's journal.
pub fn keepers(device: &str) -> Vec<u32> {
    use blktune::sys::root::SysRoot;
    use blktune::tuning::journal::{Journal, Stage};
    let root = SysRoot::host();
    let boot = std::fs::read_to_string(root.proc("sys/kernel/random/boot_id")).expect("a boot id");
    let entries = Journal::new(&root.run_dir(), boot.trim()).entries().expect("the journal can be read");
    let held = entries.iter().filter(|e| e.stage == Stage::Held && e.device.name.kernel() == device);
    held.map(|e| e.owner.pid).collect()
}

/// What stands behind the name in `/proc/PID/stat`: state, parent...
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
