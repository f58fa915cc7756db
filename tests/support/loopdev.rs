//! Loop devices for tests: of the library's making, with their queue files at hand, gone at the end of the test.

use std::fs::File;
use std::ops::{ControlFlow, Deref, DerefMut};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use blktune::sys::loopdev::{self, LoopOptions};
use blktune::sys::name::KernelName;
use blktune::sys::root::SysRoot;
use blktune::sys::scratch;
use blktune::units::Bytes;

use super::privileged;

/// A device of the test's own. Dropped: removed, and the test fails if that is not possible.
pub struct LoopDevice {
    device: Option<loopdev::LoopDevice>,
}

/// A device of that many MiB, filled with [`scratch::content`]. None, and said why, without root.
pub fn loop_device(mib: u64) -> Option<LoopDevice> {
    LoopDevice::with(mib, |_| {})
}

impl LoopDevice {
    /// As [`loop_device`], with the options adjusted.
    pub fn with(mib: u64, adjust: impl FnOnce(&mut LoopOptions)) -> Option<Self> {
        let test = std::thread::current().name().unwrap_or("this test").to_owned();
        if !privileged(&test) {
            return None;
        }
        let dir = std::env::temp_dir();
        let file = scratch::nameless(&dir).unwrap_or_else(|e| panic!("{e}"));
        scratch::fill(&file, Bytes(mib << 20), &mut |_| ControlFlow::Continue(()))
            .unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
        let mut options = LoopOptions::default();
        adjust(&mut options);
        let device = loopdev::LoopDevice::over(file, options).unwrap_or_else(|e| panic!("{e}"));
        Some(Self { device: Some(device) })
    }

    /// The kernel name as text, for a command line.
    pub fn kernel(&self) -> String {
        self.name().kernel()
    }

    /// The node as text.
    pub fn dev(&self) -> String {
        self.node().display().to_string()
    }

    /// The node, opened for reading.
    pub fn open(&self) -> File {
        File::open(self.node()).unwrap_or_else(|e| panic!("{}: {e}", self.dev()))
    }

    /// The file of an attribute below `queue/`.
    pub fn queue_file(&self, attribute: &str) -> PathBuf {
        SysRoot::host().queue(self.name()).join(attribute)
    }

    /// An attribute below `queue/` as `cat` shows it, without the line end.
    pub fn get(&self, attribute: &str) -> String {
        let path = self.queue_file(attribute);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        text.trim_end().to_owned()
    }

    /// The active scheduler.
    pub fn scheduler(&self) -> String {
        let text = self.get("scheduler");
        text.split(['[', ']']).nth(1).unwrap_or(&text).to_owned()
    }

    /// Writes an attribute below `queue/` as `echo` does.
    pub fn put(&self, attribute: &str, value: &str) {
        let path = self.queue_file(attribute);
        std::fs::write(&path, value).unwrap_or_else(|e| panic!("{}: writing {value:?}: {e}", path.display()));
    }

    /// Puts the queue in a state that every test knows: what a new device has depends on the kernel and on the disk
    /// below (rotational, and with it read-ahead). In this order, since `rotational` and `scheduler` move the others.
    pub fn known_queue(&self) {
        for (attribute, value) in [
            ("rotational", "0"),
            ("scheduler", "none"),
            ("nr_requests", "128"),
            ("nomerges", "0"),
            ("read_ahead_kb", "128"),
        ] {
            self.put(attribute, value);
        }
    }

    /// The numbers of `/sys/block/NAME/stat`: read I/Os first, sectors read third, write I/Os fifth, sectors written
    /// seventh (`Documentation/block/stat.rst`).
    pub fn stat(&self) -> Vec<u64> {
        let path = SysRoot::host().block(self.name()).join("stat");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        text.split_whitespace().map(|n| n.parse().unwrap_or_else(|e| panic!("{n:?} in stat: {e}"))).collect()
    }
}

impl Deref for LoopDevice {
    type Target = loopdev::LoopDevice;
    fn deref(&self) -> &Self::Target {
        self.device.as_ref().expect("the device is taken out only while dropping")
    }
}

impl DerefMut for LoopDevice {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.device.as_mut().expect("the device is taken out only while dropping")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let Some(device) = self.device.take() else { return };
        if let Err(e) = device.remove()
            && !std::thread::panicking()
        {
            panic!("the test left its device open: {e}");
        }
    }
}

/// A device as it was while it lived, to ask later whether it is still there.
pub struct Footprint {
    name: KernelName,
    backing_file: Option<String>,
}

impl Footprint {
    /// Of a device that is bound now.
    pub fn of(name: &KernelName) -> Self {
        let footprint = Self { name: name.clone(), backing_file: backing_file(name) };
        assert!(footprint.backing_file.is_some(), "{name} is not bound");
        footprint
    }

    /// Whether it is still bound to the same file; waits up to five seconds for it not to be.
    pub fn is_bound(&self) -> bool {
        !within_seconds(5, || backing_file(&self.name) != self.backing_file)
    }

    /// Whether anything of it is left; waits up to five seconds for it not to be. Another test may have got the
    /// number meanwhile: then it is bound to another file.
    pub fn is_left(&self) -> bool {
        !within_seconds(5, || {
            let now = backing_file(&self.name);
            !SysRoot::host().block(&self.name).exists() || (now.is_some() && now != self.backing_file)
        })
    }
}

fn backing_file(name: &KernelName) -> Option<String> {
    std::fs::read_to_string(SysRoot::host().block(name).join("loop/backing_file")).ok()
}

/// Asks again and again until the answer is yes or time is up.
pub fn within_seconds(seconds: u64, mut ask: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        if ask() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether `bytes`, read at `offset` of a filled device, are what it was filled with.
pub fn is_content(offset: u64, bytes: &[u8]) -> bool {
    let mut expected = vec![0; bytes.len()];
    scratch::content(offset, &mut expected);
    expected == bytes
}
