//! Atomics, cells, and the memory traits over which lock-free protocols are written.
//!
//! This is the only module that may name atomics and cells (`make lint` enforces it), so that loom
//! can replace them. loom's types cannot be placed in shared memory, so a protocol is generic over
//! [`Words`], which is implemented once for mapped memory and, in tests, for loom's atomics.

pub use std::cell::UnsafeCell;
pub use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize, Ordering, compiler_fence, fence,
};

/// Memory that several processes access as 32-bit words.
pub trait Words {
    /// Reads word `index` with acquire ordering.
    fn load_acquire(&self, index: usize) -> u32;
    /// Reads word `index` with relaxed ordering.
    fn load_relaxed(&self, index: usize) -> u32;
    /// Writes word `index` with release ordering.
    fn store_release(&self, index: usize, value: u32);
}

/// [`Words`] over a mapped region.
#[derive(Clone, Copy)]
pub struct MappedWords {
    first: *const AtomicU32,
    count: usize,
}

impl MappedWords {
    /// A view of `count` words starting at `first`.
    ///
    /// # Safety
    /// The region must be 4-byte aligned and mapped readable and writable for as long as the value
    /// is used, and every process must access it only atomically.
    pub unsafe fn new(first: *mut u8, count: usize) -> MappedWords {
        debug_assert_eq!(first as usize % 4, 0);
        MappedWords { first: first.cast(), count }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU32 {
        debug_assert!(index < self.count);
        // SAFETY: `index` is below `count` (checked in debug builds), and all `count` words from
        // `first` are mapped and aligned (contract of `new`).
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

/// Memory that several processes access as 64-bit words.
pub trait LongWords {
    /// Reads word `index` with acquire ordering.
    fn load_acquire(&self, index: usize) -> u64;
    /// Writes word `index` with release ordering.
    fn store_release(&self, index: usize, value: u64);
    /// Replaces word `index` by `new` if it equals `old`; returns false if it does not. Acquire and
    /// release on success, acquire on failure.
    fn replace(&self, index: usize, old: u64, new: u64) -> bool;
    /// A full fence.
    fn fence(&self);
}

/// [`LongWords`] over a mapped region, with consecutive indices `stride` words apart.
#[derive(Clone, Copy, Debug)]
pub struct MappedLongWords {
    first: *const AtomicU64,
    stride: usize,
}

impl MappedLongWords {
    /// A view of words that are `stride` words apart, the first at `first`.
    ///
    /// # Safety
    /// The region must be 8-byte aligned. For every index used, it must be mapped readable and
    /// writable for as long as the value is used, and every process must access these words only
    /// atomically.
    pub unsafe fn new(first: *mut u8, stride: usize) -> MappedLongWords {
        debug_assert_eq!(first as usize % 8, 0);
        MappedLongWords { first: first.cast(), stride }
    }

    #[inline]
    fn word(&self, index: usize) -> &AtomicU64 {
        // SAFETY: the word of every index used is mapped and aligned (contract of `new`).
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
    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}
