//! The one way to a queue: read all of it, write one attribute. Real queues here; tests bring their own.

use std::io;

use super::catalogue;
use crate::sys::attr::{self, AttrError};
use crate::sys::device::{DevNum, DeviceId};
use crate::sys::queue::QueueState;
use crate::sys::root::SysRoot;

/// A queue that can be read and written.
///
/// A write returns when the kernel is done with it. It can block for as long as the queue takes to drain, so no
/// caller holds a lock over it that another device's change needs.
pub trait QueueControl {
    /// Every attribute as it reads now; empty if the device is gone.
    fn read(&self) -> QueueState;

    /// Writes one attribute: a regular file of `queue/` or `queue/iosched/`.
    ///
    /// # Errors
    /// The kernel's refusal, the lack of rights, ENOENT for what is no attribute, EINVAL for what is no line of text, or
    /// ENODEV if this is no longer the device it was.
    fn write(&self, name: &str, value: &str) -> Result<(), AttrError>;
}

impl<Q: QueueControl + ?Sized> QueueControl for &Q {
    fn read(&self) -> QueueState {
        (**self).read()
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        (**self).write(name, value)
    }
}

/// The queue of a device of this host.
#[derive(Clone, Debug)]
pub struct SysfsQueue {
    root: SysRoot,
    id: DeviceId,
}

impl SysfsQueue {
    /// The queue of that device. Its name may later belong to another device; then nothing is read or written.
    #[must_use]
    pub fn new(root: SysRoot, id: DeviceId) -> Self {
        Self { root, id }
    }

    /// Who the device is.
    #[must_use]
    pub fn id(&self) -> &DeviceId {
        &self.id
    }

    /// Why this process may not write this queue, in words; None if it may. Found by opening an attribute for writing,
    /// not by asking who runs it: a container's root may be refused, and a user with a capability may not.
    #[must_use]
    pub fn rights(&self) -> Option<String> {
        if !self.root.is_live() {
            return Some("a captured tree can be looked at, not changed".to_owned());
        }
        self.write_error().map(|e| attr::explain(&e.source))
    }

    /// The error of opening this queue's settings for writing; None if that works, or if there is no setting to open.
    #[must_use]
    pub fn write_error(&self) -> Option<AttrError> {
        let dir = self.root.queue(&self.id.name);
        catalogue::setting_names()
            .map(|name| dir.join(name))
            .find(|path| attr::writable_by_mode(path))
            .and_then(|path| attr::may_write(&path).err())
    }

    /// Whether the name still belongs to this device. Numbers are reused within seconds, `diskseq` never.
    #[must_use]
    pub fn is_still_there(&self) -> bool {
        let dir = self.root.block(&self.id.name);
        let devnum = attr::read_opt(&dir.join("dev")).and_then(|t| DevNum::parse(&t));
        let diskseq = attr::read_u64(&dir.join("diskseq"));
        dir.exists()
            && (self.id.devnum.is_none() || self.id.devnum == devnum)
            && (self.id.diskseq.is_none() || self.id.diskseq == diskseq)
    }
}

impl QueueControl for SysfsQueue {
    fn read(&self) -> QueueState {
        if self.is_still_there() {
            QueueState::read(&self.root, &self.id.name)
        } else {
            QueueState::default()
        }
    }

    fn write(&self, name: &str, value: &str) -> Result<(), AttrError> {
        let fail = |source| AttrError {
            path: self.root.queue(&self.id.name).join(name),
            value: Some(value.to_owned()),
            source,
        };
        let errno = |n| Err(fail(io::Error::from_raw_os_error(n)));
        // Names come from the command line and from the journal: only these ever become a path.
        if !catalogue::is_attribute_name(name) {
            return errno(libc::ENOENT);
        }
        if catalogue::no_line(value).is_some() {
            return errno(libc::EINVAL);
        }
        if !self.root.is_live() {
            return errno(libc::EROFS);
        }
        if !self.is_still_there() {
            return errno(libc::ENODEV);
        }
        let path = self.root.queue(&self.id.name).join(name);
        // No link, directory or fifo: an attribute is a regular file.
        if !std::fs::symlink_metadata(&path).map_err(fail)?.is_file() {
            return errno(libc::ENOENT);
        }
        attr::write(&path, value)
    }
}
