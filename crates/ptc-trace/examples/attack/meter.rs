//! What a job takes: bytes that are allocated, processor time of the thread, and where it is, in case that the
//! process is lost.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The system's allocator, counting.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    MOST.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller answers for the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller answers for the layout.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller answers for block and layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        more(size);
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller answers for block, layout and size.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Bytes since a job began.
pub struct Bytes {
    before: usize,
}

impl Bytes {
    pub fn begin() -> Bytes {
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        Bytes { before }
    }

    /// The most that were there at once, beyond those before.
    pub fn most(&self) -> usize {
        MOST.load(Relaxed).saturating_sub(self.before)
    }
}

/// Processor time of this thread: what others on the computer do does not count.
pub fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// Says where the process is, in a file that outlives it.
pub struct Place(Option<File>);

/// Bytes of a place.
const WIDTH: usize = 48;

impl Place {
    pub fn in_file(path: Option<&str>) -> Place {
        Place(path.and_then(|path| File::create(path).ok()))
    }

    pub fn at(&self, what: &str) {
        if let Some(file) = &self.0 {
            // Whoever reads it can do without.
            let _ = file.write_all_at(format!("{what:WIDTH$}").as_bytes(), 0);
        }
    }
}
