//! `libtowpath-malloc.so`, preloaded (`TOWPATH_MALLOC=1`, or LD_PRELOAD by hand): large blocks of
//! malloc lie where the other ranks of the host reach them, so that messages from and to them are
//! copied once.
//!
//! Everything below [`LARGE`], everything before MPI_Init and after MPI_Finalize, and whatever the
//! ranks' heap has no room for comes from the C library, by the names under which that calls its
//! own functions; so nothing is looked up, and what this library calls never comes back to it.
//! Whose block an address is, the address says.
//!
//! Small path: what a small block costs more is one comparison in malloc and one in free.

use std::ffi::{c_int, c_void};

use towpath_base::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Smallest block out of the shared heap: shorter messages go through a window all the same.
const LARGE: usize = 128 << 10;
/// Alignment of malloc.
const ALIGNMENT: usize = 16;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

/// What the MPI library offers (`towpath_machine::malloc::Heap` is the same table, seen from
/// there).
#[repr(C)]
pub struct Heap {
    /// Where all of its blocks lie.
    begin: usize,
    length: usize,
    /// A block, zeroed if the last argument is not 0; NULL where there is none.
    allocate: unsafe extern "C" fn(size: usize, alignment: usize, zeroed: c_int) -> *mut c_void,
    /// 1 if the block has got this size where it lies.
    resize: unsafe extern "C" fn(block: *mut c_void, size: usize) -> c_int,
    free: unsafe extern "C" fn(block: *mut c_void),
    /// How many bytes of it may be used.
    size: unsafe extern "C" fn(block: *const c_void) -> usize,
}

static HEAP: AtomicPtr<Heap> = AtomicPtr::new(std::ptr::null_mut());
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// The MPI library calls this when it is initialised, with a table that lives as long as the
/// process. Returns 1 unless there is a heap already.
///
/// # Safety
/// The table must be one, and its functions must not call this library's for large blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_malloc_attach_1(heap: *mut Heap) -> c_int {
    if !HEAP.load(Ordering::Acquire).is_null() {
        return 0;
    }
    // SAFETY: promised by the caller.
    let (begin, length) = unsafe { ((*heap).begin, (*heap).length) };
    HEAP.store(heap, Ordering::Release);
    BEGIN.store(begin, Ordering::Release);
    // Last: until there is a length, no address is one of the heap's.
    LENGTH.store(length, Ordering::Release);
    1
}

/// The heap, if this block is one of its.
#[inline(always)]
fn owner(block: *const c_void) -> Option<&'static Heap> {
    let length = LENGTH.load(Ordering::Acquire);
    if (block as usize).wrapping_sub(BEGIN.load(Ordering::Relaxed)) >= length {
        return None;
    }
    heap()
}

#[inline(always)]
fn heap() -> Option<&'static Heap> {
    // SAFETY: NULL, or the table that was promised to live as long as the process.
    unsafe { HEAP.load(Ordering::Acquire).as_ref() }
}

/// A block of the heap; NULL where the C library must give it.
#[inline(never)]
fn shared(size: usize, alignment: usize, zeroed: bool) -> *mut c_void {
    let Some(heap) = heap() else { return std::ptr::null_mut() };
    // SAFETY: the table's function may be called with any sizes.
    unsafe { (heap.allocate)(size, alignment, c_int::from(zeroed)) }
}

fn fail(error: c_int) -> *mut c_void {
    // SAFETY: the address of this thread's errno is always valid.
    unsafe { *libc::__errno_location() = error };
    std::ptr::null_mut()
}

/// `malloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if size >= LARGE {
        let block = shared(size, ALIGNMENT, false);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: the C library's own, with the caller's promise.
    unsafe { __libc_malloc(size) }
}

/// `free`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: the block is the heap's or the C library's, and the caller frees it once.
    unsafe {
        match owner(block) {
            None => __libc_free(block),
            Some(heap) => (heap.free)(block),
        }
    }
}

/// `calloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if let Some(bytes) = count.checked_mul(size).filter(|bytes| *bytes >= LARGE) {
        let block = shared(bytes, ALIGNMENT, true);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: as in malloc; the C library answers for a product that is too large.
    unsafe { __libc_calloc(count, size) }
}

/// `realloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the block is NULL, the heap's or the C library's, and the caller gives it up if it
    // gets another.
    unsafe {
        match owner(block) {
            Some(heap) => resize(heap, block, size),
            None if block.is_null() => malloc(size),
            None if size < LARGE || heap().is_none() => __libc_realloc(block, size),
            None => adopt(block, size),
        }
    }
}

/// # Safety
/// The block must be one of the heap.
#[inline(never)]
unsafe fn resize(heap: &Heap, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the block is one of the heap; it is freed once, after its content has been copied.
    unsafe {
        if size == 0 {
            (heap.free)(block);
            return std::ptr::null_mut();
        }
        if size >= LARGE && (heap.resize)(block, size) != 0 {
            return block;
        }
        let fresh = malloc(size);
        if !fresh.is_null() {
            fresh.cast::<u8>().copy_from_nonoverlapping(block.cast(), (heap.size)(block).min(size));
            (heap.free)(block);
        }
        fresh
    }
}

/// A block of the C library that becomes a large one.
///
/// # Safety
/// The block must be the C library's.
#[inline(never)]
unsafe fn adopt(block: *mut c_void, size: usize) -> *mut c_void {
    let fresh = shared(size, ALIGNMENT, false);
    // SAFETY: both blocks are as long as is copied, and the old one is freed once.
    unsafe {
        if fresh.is_null() {
            return __libc_realloc(block, size);
        }
        fresh.cast::<u8>().copy_from_nonoverlapping(block.cast(), size_in_library(block).min(size));
        __libc_free(block);
    }
    fresh
}

/// `reallocarray`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: the caller's promise.
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => fail(libc::ENOMEM),
    }
}

/// `memalign`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if size >= LARGE && alignment.is_power_of_two() {
        let block = shared(size, alignment.max(ALIGNMENT), false);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: the C library's own, with the caller's promise.
    unsafe { __libc_memalign(alignment, size) }
}

/// `aligned_alloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        return fail(libc::EINVAL);
    }
    // SAFETY: the caller's promise.
    unsafe { memalign(alignment, size) }
}

/// `posix_memalign`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(into: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let block = memalign(alignment, size);
        if block.is_null() {
            return libc::ENOMEM;
        }
        into.write(block);
    }
    0
}

fn page_size() -> usize {
    // SAFETY: asks for a constant of the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// `valloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { memalign(page_size(), size) }
}

/// `pvalloc`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let page = page_size();
    match size.checked_next_multiple_of(page) {
        // SAFETY: the caller's promise.
        Some(size) => unsafe { memalign(page, size) },
        None => fail(libc::ENOMEM),
    }
}

/// `malloc_usable_size`.
///
/// # Safety
/// That of the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: the block is NULL, the heap's or the C library's.
    unsafe { owner(block).map_or_else(|| size_in_library(block), |heap| (heap.size)(block)) }
}

/// The C library's `malloc_usable_size`, the one function of it that has no other name.
///
/// # Safety
/// The block must be NULL or the C library's.
unsafe fn size_in_library(block: *mut c_void) -> usize {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the name ends with a zero.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
        FOUND.store(found, Ordering::Relaxed);
    }
    if found.is_null() {
        return 0;
    }
    // SAFETY: the C library gives the function of this name this type, and the block is one of its
    // or NULL.
    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> usize>(found)(block) }
}
