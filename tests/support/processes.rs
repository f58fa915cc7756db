//! Processes as `/proc` tells of them.

/// The state letter of a process; None if it is gone.
pub fn state_of(pid: u32) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// Whether the thread of this name waits in the kernel and can not be disturbed, which it is found doing for a tenth of a
/// second: a device that answers keeps nobody for so long.
pub fn is_stuck(pid: u32, thread: &str) -> bool {
    (0..10).all(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let stats = threads.filter_map(|t| std::fs::read_to_string(t.path().join("stat")).ok());
        let waits = format!("({thread}) D ");
        stats.into_iter().any(|s| s.contains(&waits))
    })
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

/// The keepers that hold something of this device, from the host's journal. Not of one that had its name before.
pub fn keepers(device: &blktune::sys::name::KernelName) -> Vec<u32> {
    use blktune::sys::inventory;
    use blktune::sys::root::SysRoot;
    use blktune::tuning::journal::{Journal, Stage};
    let root = SysRoot::host();
    let boot = std::fs::read_to_string(root.proc("sys/kernel/random/boot_id")).expect("a boot id");
    let entries = Journal::new(&root.run_dir(), boot.trim()).entries().expect("the journal can be read");
    let id = inventory::identify(&root, device).expect("the device is there");
    let held = entries.iter().filter(|e| e.stage == Stage::Held && e.device.same_device(&id));
    held.map(|e| e.owner.pid).collect()
}

/// What stands behind the name in `/proc/PID/stat`: state, parent...
fn fields(pid: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}
