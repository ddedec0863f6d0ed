//! The interface to `libtowpath-malloc.so`: if the library is preloaded, it is given an allocator
//! for large blocks.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::library::global_symbol;

/// An allocator for large blocks, as declared by the library.
#[repr(C)]
#[derive(Debug)]
pub struct MallocTable {
    /// First address that a block can have.
    pub begin: usize,
    /// Length in bytes of the range from `begin` that contains all blocks.
    pub length: usize,
    /// Allocates a block of the given size and alignment, zeroed if the last argument is not 0;
    /// NULL on failure.
    pub allocate: unsafe extern "C" fn(usize, usize, c_int) -> *mut c_void,
    /// Resizes a block in place; 1 on success.
    pub resize: unsafe extern "C" fn(*mut c_void, usize) -> c_int,
    /// Frees a block.
    pub free: unsafe extern "C" fn(*mut c_void),
    /// Usable bytes of a block.
    pub size: unsafe extern "C" fn(*const c_void) -> usize,
}

/// Passes `heap` to the library; false if it is not preloaded or already uses another heap.
pub fn attach(heap: &'static MallocTable) -> bool {
    let Some(found) = global_symbol(c"towpath_malloc_attach_1") else { return false };
    // SAFETY: the library defines the function of this name with this type, and `heap` lives as
    // long as the process.
    unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*const MallocTable) -> c_int>(
            found,
        )(heap)
            == 1
    }
}
