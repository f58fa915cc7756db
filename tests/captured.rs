//! The captured trees that other tests look at are whole after unpacking.

mod support;

use std::os::unix::fs::PermissionsExt;

use blktune::experiment::asked::{self, Asked};
use blktune::experiment::weak::Weakness;
use blktune::runtime::experiment::weaknesses;
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::workload::target::{Backing, Target};

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

#[test]
fn what_is_used_lies_elsewhere_or_on_a_stack_over_the_device_that_is_tuned() {
    let fixture = support::fixtures::sysroot("linux-6.12-qemu");
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    // A file on dm-7, which is built on dm-6, which is built on sdh and sdi.
    let mut target = Target::open(&SysRoot::host(), file.path()).unwrap().unwrap();
    let name = |n: &str| KernelName::new(n).unwrap();
    target.backing = Some(Backing { row: name("dm-7"), whole: name("dm-7") });
    let found = |tuned: &str| {
        let state = QueueState::read(&fixture.root, &name(tuned));
        let factors = vec!["bs=4k,8k".to_owned()];
        let design =
            asked::design(&Asked { factors, ..Asked::new(tuned, "randread-4k", 1) }, &state).unwrap().design;
        let weak = weaknesses(&fixture.root, &design, &name(tuned), &state, Some(&target)).unwrap();
        let mut where_it_lies = weak
            .into_iter()
            .filter(|w| matches!(w.weakness, Weakness::OtherDevice | Weakness::AboveDevice))
            .map(|w| (w.weakness, w.text));
        let one = where_it_lies.next();
        assert_eq!(where_it_lies.next(), None);
        one
    };
    for tuned in ["sdh", "dm-6"] {
        let (weakness, text) = found(tuned).unwrap();
        assert_eq!(weakness, Weakness::AboveDevice, "{text}");
        assert!(text.contains(&format!("lies on dm-7, which is built on {tuned}")), "{text}");
    }
    let (weakness, text) = found("sda").unwrap();
    assert!(weakness == Weakness::OtherDevice && text.contains("name a target on sda"), "{text}");
    assert_eq!(found("dm-7"), None);
}
