//! Memory that I/O goes to: aligned for direct I/O, one piece for each I/O in flight.
#![allow(unsafe_code)] // an allocation aligned to a page can not be had from a Vec

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::sys::scratch::content;

/// Alignment of every buffer: a page, which satisfies the memory alignment of every device and file system.
pub const ALIGN: usize = 4096;

/// `count` buffers of `size` bytes, each aligned to [`ALIGN`].
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    layout: Layout,
    stride: usize,
    size: usize,
    count: usize,
}

// SAFETY: the arena owns its memory alone and hands out access only through its own borrow.
unsafe impl Send for Arena {}

impl Arena {
    /// Takes the memory and touches all of it, so that no page is faulted in during the run. None if the size is zero
    /// or beyond what can be addressed.
    #[must_use]
    pub fn new(size: usize, count: usize) -> Option<Self> {
        let stride = size.checked_next_multiple_of(ALIGN)?;
        let layout = Layout::from_size_align(stride.checked_mul(count)?, ALIGN).ok()?;
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: the layout has a size other than zero.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: `base` points to `layout.size()` bytes that nobody else knows of.
        unsafe { base.as_ptr().write_bytes(0xA5, layout.size()) };
        let mut arena = Self { base, layout, stride, size, count };
        // Data that can not be compressed, for writes; it also shows up if a read reports bytes that it did not deliver.
        for i in 0..count {
            content((i as u64).wrapping_mul(1 << 32), arena.slice_mut(i));
        }
        Some(arena)
    }

    /// Size of each buffer.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Where buffer `index` begins, for the kernel. The pointer is good for [`Arena::size`] bytes and as long as the
    /// arena lives.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[must_use]
    pub fn pointer(&self, index: usize) -> *mut u8 {
        assert!(index < self.count, "buffer {index} of {}", self.count);
        // SAFETY: index < count, so the offset lies inside the allocation of stride * count bytes.
        unsafe { self.base.as_ptr().add(index * self.stride) }
    }

    /// Makes the content of buffer `index` unlike that of any other write: where it goes, and a number, into every page
    /// of it, so that no device below can keep two for one.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[inline(never)] // reads pass by it
    pub fn stamp(&mut self, index: usize, offset: u64, number: u64) {
        let mark = (offset.rotate_left(20) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_ne_bytes();
        let buffer = self.slice_mut(index);
        for page in buffer.chunks_mut(ALIGN) {
            let n = mark.len().min(page.len());
            page[..n].copy_from_slice(&mark[..n]);
        }
    }

    /// Buffer `index`, to be read into by this thread.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[must_use]
    pub fn slice_mut(&mut self, index: usize) -> &mut [u8] {
        // SAFETY: the memory was initialised in `new`, is inside the allocation, and is borrowed through `self` alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(index), self.size) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buffers_are_aligned_and_do_not_overlap(size in 1usize..20_000, count in 1usize..20) {
            let mut a = Arena::new(size, count).unwrap();
            for i in 0..count {
                prop_assert_eq!(a.pointer(i) as usize % ALIGN, 0);
                a.slice_mut(i).fill(u8::try_from(i).unwrap());
            }
            for i in 0..count {
                prop_assert!(a.slice_mut(i).iter().all(|b| usize::from(*b) == i));
                prop_assert_eq!(a.slice_mut(i).len(), size);
            }
        }
    }

    #[test]
    fn what_can_not_be_had_is_none() {
        assert!(Arena::new(0, 4).is_none());
        assert!(Arena::new(4096, 0).is_none());
        assert!(Arena::new(usize::MAX, 1).is_none());
        assert!(Arena::new(1 << 40, 1 << 40).is_none());
    }
}
