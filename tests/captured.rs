//! The captured trees that other tests look at are whole after unpacking.

mod support;

use std::os::unix::fs::PermissionsExt;

use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;

const TREES: [&str; 3] = ["linux-6.1-qemu", "linux-6.12-qemu", "linux-6.18-loop"];

#[test]
fn links_and_modes_survive_unpacking() {
    for tree in TREES {
        let fixture = support::fixtures::sysroot(tree);
        let mut with_queue = 0;
        for entry in std::fs::read_dir(fixture.root.block_dir()).unwrap() {
            let entry = entry.unwrap();
            assert!(entry.file_type().unwrap().is_symlink(), "{tree}: {:?} is no link", entry.path());
            let target = entry.path().canonicalize().unwrap();
            let inside = fixture.path().canonicalize().unwrap();
            assert!(target.starts_with(&inside), "{tree}: {} leads out", target.display());
            let name = KernelName::new(entry.file_name().to_str().unwrap()).unwrap();
            let state = QueueState::read(&fixture.root, &name);
            let Some(read_ahead) = state.attributes.get("read_ahead_kb") else { continue };
            with_queue += 1;
            assert!(read_ahead.writable, "{tree}: {name}");
            let size = fixture.root.block(&name).join("size");
            let mode = std::fs::metadata(&size).unwrap().permissions().mode();
            assert_eq!(mode & 0o222, 0, "{tree}: {} can be written", size.display());
        }
        assert!(with_queue > 0, "{tree} has no device with a queue");
    }
}

#[test]
fn lsblk_speaks_of_the_same_devices() {
    for tree in ["linux-6.1-qemu", "linux-6.12-qemu"] {
        let fixture = support::fixtures::sysroot(tree);
        let report = support::fixtures::lsblk(tree);
        let devices = report["blockdevices"].as_array().unwrap();
        assert!(!devices.is_empty(), "{tree}");
        for device in devices {
            let name = KernelName::new(device["kname"].as_str().unwrap()).unwrap();
            assert!(fixture.root.class_block(&name).exists(), "{tree}: {name}");
        }
    }
}
