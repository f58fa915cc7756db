//! The submission queue entries of a slot's I/Os. What they have in common is written down once; to aim an entry at another
//! offset takes fewer instructions than to build one for each I/O.

use std::os::fd::AsRawFd;

use rustix::io_uring::{
    IoringOp, IoringSqeFlags, addr_or_splice_off_in_union, buf_union, io_uring_ptr, io_uring_sqe,
    io_uring_user_data, ioprio_union, len_union, off_or_addr2_union,
};

use crate::workload::engine::Source;
use crate::workload::io::Direction;

/// What the kernel was told of before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registered {
    /// The file, as number 0.
    pub file: bool,
    /// The buffers, each under the number of its slot.
    pub buffers: bool,
}

/// The entry of a slot: reads or writes its whole buffer, at the offset that it was last aimed at.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) sqe: io_uring_sqe,
    /// What reads and what writes, by direction.
    operations: [IoringOp; 2],
}

impl Entry {
    /// The entry of the slot `index` with this buffer, at offset 0.
    pub(super) fn new(index: usize, buffer: *mut u8, source: &Source, registered: Registered) -> Self {
        // More buffers than a number can tell are never registered.
        #[allow(clippy::cast_possible_truncation)]
        let nr = index as u16;
        let sqe = io_uring_sqe {
            flags: if registered.file { IoringSqeFlags::FIXED_FILE } else { IoringSqeFlags::empty() },
            ioprio: ioprio_union { ioprio: source.ioprio },
            fd: if registered.file { 0 } else { source.fd.as_raw_fd() },
            addr_or_splice_off_in: addr_or_splice_off_in_union { addr: io_uring_ptr::new(buffer.cast()) },
            len: len_union { len: source.bs },
            user_data: io_uring_user_data { u64_: index as u64 },
            buf: buf_union { buf_index: if registered.buffers { nr } else { 0 } },
            ..Default::default()
        };
        let operations = if registered.buffers {
            [IoringOp::ReadFixed, IoringOp::WriteFixed]
        } else {
            [IoringOp::Read, IoringOp::Write]
        };
        Self { sqe, operations }
    }

    /// Aims it.
    #[inline]
    pub(super) const fn aim(&mut self, direction: Direction, offset: u64) {
        self.sqe.opcode = self.operations[direction as usize];
        self.sqe.off_or_addr2 = off_or_addr2_union { off: offset };
    }

    /// The same I/O without its first `done` bytes: `buffer` and `offset` are where the rest begins, `len` its length.
    pub(super) const fn rest(mut self, buffer: *mut u8, offset: u64, len: u32) -> Self {
        self.sqe.addr_or_splice_off_in =
            addr_or_splice_off_in_union { addr: io_uring_ptr::new(buffer.cast()) };
        self.sqe.off_or_addr2 = off_or_addr2_union { off: offset };
        self.sqe.len = len_union { len };
        self
    }
}
