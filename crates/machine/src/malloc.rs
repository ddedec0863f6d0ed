//! The narrow door to `libtowpath-malloc.so`: if it is preloaded, it is told where large blocks
//! come from.

use std::ffi::{c_int, c_void};

/// Where large blocks come from, as the library sees it.
#[repr(C)]
#[derive(Debug)]
pub struct Heap {
    /// First address that a block can have.
    pub begin: usize,
    /// Bytes from there on in which all blocks lie.
    pub length: usize,
    /// A block of so many bytes with this alignment, zeroed if the last argument is not 0; NULL
    /// where there is none.
    pub allocate: unsafe extern "C" fn(usize, usize, c_int) -> *mut c_void,
    /// 1 if the block has got this size where it lies.
    pub resize: unsafe extern "C" fn(*mut c_void, usize) -> c_int,
    /// Takes a block back.
    pub free: unsafe extern "C" fn(*mut c_void),
    /// How many bytes of a block may be used.
    pub size: unsafe extern "C" fn(*const c_void) -> usize,
}

/// Tells the library; false when it is not preloaded, or serves another heap already.
pub fn attach(heap: &'static Heap) -> bool {
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"towpath_malloc_attach_1".as_ptr()) };
    if found.is_null() {
        return false;
    }
    // SAFETY: the library gives the function of this name this type; it only keeps the table, which
    // lives long enough.
    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const Heap) -> c_int>(found)(heap) == 1 }
}
