//! The allocator of the command: mimalloc, asked without a detour.
//!
//! Its crate for Rust asks for every block by size and alignment. Then mimalloc answers quickly only for sizes
//! that are powers of two; all others go a long way and take up to 16 bytes more, since it makes room to move the
//! block to where it is aligned. But every block is aligned for what fits it, so there is no need to ask.
#![expect(unsafe_code, reason = "an allocator cannot be written in safe code")]

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mi;

/// mimalloc as an allocator for Rust.
#[derive(Debug)]
pub struct Allocator;

/// Whether any block of a size is aligned so: up to 16 bytes, as far as the size goes.
#[inline]
fn is_natural(size: usize, align: usize) -> bool {
    align <= 16 && align <= size
}

// SAFETY: mimalloc gives blocks of at least the size, aligned as asked for or as `is_natural` says; it takes back
// any of them whichever way they were asked for.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if is_natural(size, align) {
            // SAFETY: any size may be asked for.
            return unsafe { mi::mi_malloc(size) }.cast();
        }
        // SAFETY: the alignment of a layout is a power of two.
        unsafe { mi::mi_malloc_aligned(size, align) }.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        if is_natural(size, align) {
            // SAFETY: any size may be asked for.
            return unsafe { mi::mi_zalloc(size) }.cast();
        }
        // SAFETY: the alignment of a layout is a power of two.
        unsafe { mi::mi_zalloc_aligned(size, align) }.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block came from here, as the caller answers for.
        unsafe { mi::mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_natural(size, layout.align()) {
            // SAFETY: the block came from here, as the caller answers for.
            return unsafe { mi::mi_realloc(block.cast(), size) }.cast();
        }
        // SAFETY: as before, and the alignment of a layout is a power of two.
        unsafe { mi::mi_realloc_aligned(block.cast(), size, layout.align()) }.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_apart_and_keep_what_is_in_them() {
        let sizes = (1..200).chain([255, 256, 257, 1000, 4095, 4096, 5000, 1 << 16, (1 << 20) + 8, 1 << 25]);
        let aligns = [1, 2, 4, 8, 16, 32, 64, 4096];
        let mut blocks = Vec::new();
        for (size, align) in sizes.flat_map(|size| aligns.map(|align| (size, align))) {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            let mark = (size + align) as u8;
            // SAFETY: the layout is of some size, and the block is written and read inside of it.
            unsafe {
                let block = Allocator.alloc_zeroed(layout);
                assert_eq!((block.addr() % align, *block, *block.add(size - 1)), (0, 0, 0), "{layout:?}");
                block.write_bytes(mark, size);
                let grown = Layout::from_size_align(size + size / 2 + 3, align).expect("a layout");
                let block = Allocator.realloc(block, layout, grown.size());
                assert_eq!((block.addr() % align, *block, *block.add(size - 1)), (0, mark, mark));
                let other = Allocator.alloc(layout);
                assert_eq!(other.addr() % align, 0);
                other.write_bytes(!mark, size);
                blocks.extend([(block, grown, size, mark), (other, layout, size, !mark)]);
            }
            if size > 1 << 20 {
                release(&mut blocks);
            }
        }
        release(&mut blocks);
    }

    fn release(blocks: &mut Vec<(*mut u8, Layout, usize, u8)>) {
        for (block, layout, size, mark) in blocks.drain(..) {
            // SAFETY: the block is live, so long, and of this layout.
            unsafe {
                assert!(std::slice::from_raw_parts(block, size).iter().all(|byte| *byte == mark));
                Allocator.dealloc(block, layout);
            }
        }
    }
}
