//! The only place that names atomics and cells (`make lint` forbids them elsewhere), so that a
//! model checker can replace them, and the memory trait over which lock-free protocols are written.
//!
//! loom's types cannot lie in shared memory: a protocol is generic over [`Words`], implemented once
//! over mapped memory and once over loom's atomics in the tests.

pub use std::cell::UnsafeCell;
pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    compiler_fence, fence,
};

/// Memory that is read and written as 32-bit words by several processes.
pub trait Words {
    /// Reads word `index` so that what its writer wrote before is visible.
    fn load_acquire(&self, index: usize) -> u32;
    /// Reads word `index` without ordering.
    fn load_relaxed(&self, index: usize) -> u32;
    /// Writes word `index` after everything this process wrote before.
    fn store_release(&self, index: usize, value: u32);
}

/// [`Words`] over a mapped region.
#[derive(Clone, Copy)]
pub struct MappedWords {
    first: *const AtomicU32,
    count: usize,
}

impl MappedWords {
    /// Sees `count` words from `first` on.
    ///
    /// # Safety
    /// The region must be 4-aligned, mapped readable and writable for as long as the value is used,
    /// and be accessed as atomics by everybody.
    pub unsafe fn new(first: *mut u8, count: usize) -> MappedWords {
        debug_assert_eq!(first as usize % 4, 0);
        MappedWords { first: first.cast(), count }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU32 {
        debug_assert!(index < self.count);
        // SAFETY: `index` is inside the region that `new` promised.
        unsafe { &*self.first.add(index) }
    }
}

impl Words for MappedWords {
    #[inline]
    fn load_acquire(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::Acquire)
    }
    #[inline]
    fn load_relaxed(&self, index: usize) -> u32 {
        self.word(index).load(Ordering::Relaxed)
    }
    #[inline]
    fn store_release(&self, index: usize, value: u32) {
        self.word(index).store(value, Ordering::Release);
    }
}

/// Memory that is read and written as 64-bit words by several processes.
pub trait LongWords {
    /// Reads word `index` so that what its writer wrote before is visible.
    fn load_acquire(&self, index: usize) -> u64;
    /// Writes word `index` after everything this process wrote before.
    fn store_release(&self, index: usize, value: u64);
    /// Writes `new` where the word is `old`; false when it is not. Orders like both functions
    /// above.
    fn replace(&self, index: usize, old: u64, new: u64) -> bool;
}

/// [`LongWords`] over a mapped region; neighbouring words lie `stride` words apart.
#[derive(Clone, Copy, Debug)]
pub struct MappedLongWords {
    first: *const AtomicU64,
    stride: usize,
}

impl MappedLongWords {
    /// Sees words that lie `stride` words apart, the first at `first`.
    ///
    /// # Safety
    /// The region must be 8-aligned, mapped readable and writable for as long as the value is used
    /// and for every index that is used, and these words must be accessed as atomics by everybody.
    pub unsafe fn new(first: *mut u8, stride: usize) -> MappedLongWords {
        debug_assert_eq!(first as usize % 8, 0);
        MappedLongWords { first: first.cast(), stride }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: `new` was promised that the word is mapped.
        unsafe { &*self.first.add(index * self.stride) }
    }
}

impl LongWords for MappedLongWords {
    #[inline]
    fn load_acquire(&self, index: usize) -> u64 {
        self.word(index).load(Ordering::Acquire)
    }
    #[inline]
    fn store_release(&self, index: usize, value: u64) {
        self.word(index).store(value, Ordering::Release);
    }
    #[inline]
    fn replace(&self, index: usize, old: u64, new: u64) -> bool {
        self.word(index).compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
