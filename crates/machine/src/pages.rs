//! Private memory in whole pages, which returns to the system when it is dropped. Memory from
//! malloc may not: a small block in use above it keeps the heap from shrinking.

use rustix::mm::{MapFlags, ProtFlags};

/// Zeroed pages, which are allocated on first write.
#[derive(Debug)]
pub struct Pages {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: `Pages` is only an address range, and it never accesses the memory itself; users of the
// pointer synchronize their accesses.
unsafe impl Send for Pages {}
// SAFETY: its methods only read `pointer` and `length`, which never change.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `length` bytes; `None` if the system refuses the address space.
    pub fn new(length: usize) -> Option<Pages> {
        let length = length.max(1).checked_next_multiple_of(rustix::param::page_size())?;
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        };
        Some(Pages { pointer: mapped.ok()?.cast(), length })
    }

    /// First byte.
    #[inline]
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly this range, and only this value owns it.
        let _ = unsafe { rustix::mm::munmap(self.pointer.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zero_and_writable() {
        let pages = Pages::new(5000).unwrap();
        assert!(pages.length() >= 5000);
        // SAFETY: bytes 0 and 4999 are inside the mapping of at least 5000 bytes.
        unsafe {
            assert_eq!((pages.pointer().read(), pages.pointer().add(4999).read()), (0, 0));
            pages.pointer().add(4999).write(7);
            assert_eq!(pages.pointer().add(4999).read(), 7);
        }
        assert!(Pages::new(usize::MAX).is_none());
    }
}
