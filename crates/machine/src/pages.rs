//! Private memory in whole pages that goes back to the system when it is dropped, whatever lies
//! around it: memory of malloc may stay with the process because of one small block above it.

use rustix::mm::{MapFlags, ProtFlags};

/// Zeroed pages; a page takes memory when it is first written.
#[derive(Debug)]
pub struct Pages {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: the pages are only an address range; whoever reads or writes through it answers for the
// accesses.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `length` bytes; `None` where the system refuses the address space.
    pub fn new(length: usize) -> Option<Pages> {
        let length = length.max(1).checked_next_multiple_of(rustix::param::page_size())?;
        // SAFETY: the kernel chooses the address, so no memory in use is replaced.
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
        // SAFETY: the pages were mapped by `new`, and nobody may use them after their owner is
        // gone.
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
        // SAFETY: both bytes lie in the pages.
        unsafe {
            assert_eq!((pages.pointer().read(), pages.pointer().add(4999).read()), (0, 0));
            pages.pointer().add(4999).write(7);
            assert_eq!(pages.pointer().add(4999).read(), 7);
        }
        assert!(Pages::new(usize::MAX).is_none());
    }
}
