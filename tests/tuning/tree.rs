//! A queue of real files in a directory: read and written as sysfs is, with the fake queue for a kernel behind it.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use blktune::sys::attr::{self, AttrError};
use blktune::sys::name::KernelName;
use blktune::sys::queue::QueueState;
use blktune::sys::root::SysRoot;
use blktune::tuning::control::QueueControl;

use super::fake::FakeQueue;

/// The directory and the kernel behind it.
pub(crate) struct Tree {
    pub(crate) kernel: FakeQueue,
    root: SysRoot,
    name: KernelName,
    shown: RefCell<QueueState>,
    _dir: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new(kernel: FakeQueue) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tree = Self {
            kernel,
            root: SysRoot::captured(dir.path()),
            name: KernelName::new("loop3").unwrap(),
            shown: RefCell::default(),
            _dir: dir,
        };
        fs::create_dir_all(tree.root.queue(&tree.name).join("iosched")).unwrap();
        tree.show("");
        tree
    }

    /// The files as the kernel would show them now that one was written to.
    fn show(&self, written: &str) {
        let queue = self.root.queue(&self.name);
        let state = self.kernel.read();
        let mut shown = self.shown.borrow_mut();
        for name in shown.attributes.keys().filter(|n| !state.attributes.contains_key(*n)) {
            fs::remove_file(queue.join(name)).unwrap();
        }
        for (name, attribute) in &state.attributes {
            if name == written || shown.attributes.get(name) != Some(attribute) {
                put(&queue.join(name), attribute.value.as_deref().unwrap(), attribute.writable);
            }
        }
        *shown = state;
    }
}

fn put(path: &Path, text: &str, writable: bool) {
    fs::write(path, format!("{text}\n")).unwrap();
    let mode = if writable { 0o644 } else { 0o444 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl QueueControl for Tree {
    fn read(&self) -> QueueState {
        QueueState::read(&self.root, &self.name)
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        attr::write(&self.root.queue(&self.name).join(name), value)?;
        let answer = self.kernel.write(name, value);
        self.show(name);
        answer
    }
}
