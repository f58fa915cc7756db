//! The unsafe edge: system calls that neither std nor rustix wrap. Each function here is safe to call with any
//! arguments; what could be unsound stays inside.

// The ioctls of loop devices take plain integers and one structure by pointer; no crate in use wraps them.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::units::Nanos;

/// `LOOP_CONFIGURE` of `linux/loop.h`, since Linux 5.8.
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
/// `LOOP_CTL_ADD` of `linux/loop.h`.
const LOOP_CTL_ADD: libc::Ioctl = 0x4C80;
/// `LOOP_CTL_REMOVE` of `linux/loop.h`.
const LOOP_CTL_REMOVE: libc::Ioctl = 0x4C81;

/// `LOOP_GET_STATUS64` of `linux/loop.h`.
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;

/// `LO_FLAGS_*` of `linux/loop.h`, as far as `LOOP_CONFIGURE` takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopFlags(u32);

impl LoopFlags {
    /// Writes are refused.
    pub const READ_ONLY: Self = Self(1);
    /// The kernel unbinds the device when its last descriptor is closed.
    pub const AUTOCLEAR: Self = Self(4);
    /// The backing file is read and written past the page cache, where its file system can.
    pub const DIRECT_IO: Self = Self(16);

    /// These flags, and `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { self }
    }
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

// The kernel reads exactly this many bytes; a layout that differs must not compile.
const _: () = assert!(size_of::<LoopInfo64>() == 232 && size_of::<LoopConfig>() == 304);

/// Adds a loop device of the given number; its queue has the driver's defaults.
///
/// # Errors
/// EEXIST if there is one, EACCES or EPERM without rights, EINVAL past the driver's greatest number.
pub fn loop_add(control: BorrowedFd<'_>, number: u32) -> io::Result<()> {
    ioctl_number(control, LOOP_CTL_ADD, number)
}

/// Removes a loop device that is neither bound nor open.
///
/// # Errors
/// EBUSY if it is bound or open, ENODEV if there is none.
pub fn loop_remove(control: BorrowedFd<'_>, number: u32) -> io::Result<()> {
    ioctl_number(control, LOOP_CTL_REMOVE, number)
}

/// Binds a loop device to a file, with everything set at once. `block_size` is the logical block in bytes; None
/// leaves it to the kernel.
///
/// # Errors
/// EBUSY if the device is bound, EINVAL for a block size the kernel does not take and before Linux 5.8, EBADF.
pub fn loop_configure(
    device: BorrowedFd<'_>,
    backing: BorrowedFd<'_>,
    block_size: Option<u32>,
    flags: LoopFlags,
) -> io::Result<()> {
    let fd = u32::try_from(backing.as_raw_fd()).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
    let config = LoopConfig {
        fd,
        block_size: block_size.unwrap_or(0),
        info: LoopInfo64 {
            device: 0,
            inode: 0,
            rdevice: 0,
            offset: 0,
            size_limit: 0,
            number: 0,
            encrypt_type: 0,
            encrypt_key_size: 0,
            flags: flags.0,
            file_name: [0; 64],
            crypt_name: [0; 64],
            encrypt_key: [0; 32],
            init: [0; 2],
        },
        reserved: [0; 8],
    };
    // SAFETY: `device` is open for the length of the call. LOOP_CONFIGURE reads one `struct loop_config`, whose size
    // and field order `config` has (asserted above), and keeps no pointer to it. On a descriptor that is no loop
    // device the request is unknown and answered with ENOTTY.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The number of the device that a loop device has as its backing file; 0 if that is a plain file.
///
/// # Errors
/// ENXIO if it is not bound, ENOTTY if it is no loop device.
pub fn loop_backing_rdev(device: BorrowedFd<'_>) -> io::Result<u64> {
    let mut info = std::mem::MaybeUninit::<LoopInfo64>::zeroed();
    // SAFETY: `device` is open for the length of the call. LOOP_GET_STATUS64 writes one `struct loop_info64`, whose size and
    // field order `info` has (asserted above). On a descriptor that is no loop device the request is unknown.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, info.as_mut_ptr()) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed before the call, so initialised whatever was written; every bit pattern is a value.
    Ok(unsafe { info.assume_init() }.rdevice)
}

/// `BLKGETDISKSEQ` of `linux/fs.h` (Linux 5.15): the sequence number of the disk that this very descriptor is open on.
///
/// # Errors
/// ENOTTY before Linux 5.15, and for anything but a block device.
pub fn disk_sequence(device: BorrowedFd<'_>) -> io::Result<u64> {
    #[allow(clippy::cast_lossless, clippy::cast_possible_wrap)] // an unsigned long or an int, by C library
    let request = rustix::ioctl::opcode::read::<u64>(0x12, 128) as libc::Ioctl;
    let mut sequence = 0u64;
    // SAFETY: `device` is open for the length of the call. BLKGETDISKSEQ writes one u64 through the pointer, which is that
    // of a live u64. On a descriptor that is no block device the request is unknown and answered with ENOTTY.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), request, &raw mut sequence) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(sequence) }
}

/// An ioctl of `/dev/loop-control`, which takes the device's number by value.
fn ioctl_number(control: BorrowedFd<'_>, request: libc::Ioctl, number: u32) -> io::Result<()> {
    // SAFETY: `control` is open for the length of the call, and the argument is an integer that the kernel does not
    // follow as a pointer. On any other descriptor the request is unknown and answered with ENOTTY.
    let answer = unsafe { libc::ioctl(control.as_raw_fd(), request, libc::c_ulong::from(number)) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// CPU time of a thread or a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// In user space.
    pub user: Nanos,
    /// In the kernel, on behalf of the thread. Work done by kernel threads (a loop device's, io_uring's own workers) is
    /// not in it.
    pub system: Nanos,
}

impl ThreadCpu {
    /// What was used since `earlier`.
    #[must_use]
    pub const fn since(self, earlier: ThreadCpu) -> ThreadCpu {
        ThreadCpu { user: self.user.since(earlier.user), system: self.system.since(earlier.system) }
    }

    /// The sum of two threads' times.
    #[must_use]
    pub const fn plus(self, other: ThreadCpu) -> ThreadCpu {
        ThreadCpu {
            user: Nanos(self.user.0.saturating_add(other.user.0)),
            system: Nanos(self.system.0.saturating_add(other.system.0)),
        }
    }
}

/// CPU time of the calling thread so far (`getrusage(RUSAGE_THREAD)`), in the microseconds the kernel gives.
#[must_use]
pub fn thread_cpu() -> ThreadCpu {
    cpu_of(libc::RUSAGE_THREAD)
}

/// CPU time of this process so far, all its threads together.
#[must_use]
pub fn process_cpu() -> ThreadCpu {
    cpu_of(libc::RUSAGE_SELF)
}

fn cpu_of(who: libc::c_int) -> ThreadCpu {
    // SAFETY: rusage is a plain struct of integers, for which all zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a rusage of our own; a known `who` can only fail for a bad pointer.
    unsafe { libc::getrusage(who, &raw mut usage) };
    ThreadCpu { user: nanos(usage.ru_utime), system: nanos(usage.ru_stime) }
}

/// Sets the I/O priority of the calling thread (`ioprio_set(2)`): class and level as the kernel packs them.
///
/// # Errors
/// EPERM for the realtime class without the right to it, EINVAL for a number that is no priority.
pub fn set_io_priority(value: u16) -> io::Result<()> {
    const IOPRIO_WHO_PROCESS: libc::c_int = 1;
    // SAFETY: three integers; 0 stands for the calling thread.
    let answer = unsafe {
        libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0 as libc::c_int, libc::c_int::from(value))
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Says how late the calling thread may be woken from a sleep, in nanoseconds (`PR_SET_TIMERSLACK`).
pub fn set_timer_slack(ns: u32) {
    // SAFETY: integers only; it can not fail for a positive number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, libc::c_ulong::from(ns), 0, 0, 0) };
}

fn nanos(t: libc::timeval) -> Nanos {
    let s = u64::try_from(t.tv_sec).unwrap_or(0);
    let us = u64::try_from(t.tv_usec).unwrap_or(0);
    Nanos(s.saturating_mul(1_000_000_000).saturating_add(us.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    #[test]
    fn a_descriptor_that_is_no_loop_device_is_refused_and_not_changed() {
        let file = tempfile::tempfile().unwrap();
        let refused = |r: io::Result<()>| r.unwrap_err().raw_os_error() == Some(libc::ENOTTY);
        assert!(refused(loop_add(file.as_fd(), 1)));
        assert!(refused(loop_remove(file.as_fd(), 1)));
        assert!(refused(loop_configure(file.as_fd(), file.as_fd(), None, LoopFlags::AUTOCLEAR)));
        assert_eq!(file.metadata().unwrap().len(), 0);
    }

    #[test]
    fn only_the_calling_thread_is_counted() {
        let before = thread_cpu();
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut n = 0u64;
        while thread_cpu().since(before) == ThreadCpu::default() {
            n = n.wrapping_mul(31).wrapping_add(1);
            assert!(Instant::now() < deadline, "no CPU time after {n} rounds");
        }
        let other = std::thread::spawn(thread_cpu).join().unwrap();
        assert!(other.user.0 + other.system.0 < Nanos::SECOND.0);
    }
}
