//! A queue, a journal of its own, and a device: what is kept and what is put back are tried on one of these.

use blktune::sys::device::{DevNum, DeviceId};
use blktune::sys::name::KernelName;
use blktune::tuning::journal::Journal;

use super::fake::FakeQueue;

pub(crate) const BOOT: &str = "11111111-2222-3333-4444-555555555555";

/// A queue, a journal in a directory of its own, and the device they are about.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) queue: FakeQueue,
    pub(crate) id: DeviceId,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let id = DeviceId {
            name: KernelName::new("loop3").unwrap(),
            devnum: DevNum::parse("7:3"),
            diskseq: Some(41),
            wwid: None,
            serial: None,
        };
        Self { dir: tempfile::tempdir().unwrap(), queue: FakeQueue::new(), id }
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::new(&self.dir.path().join("blktune"), BOOT)
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.dir.path().join("blktune/changes.jsonl")
    }
}
