//! `libtowpath-malloc.so`, a preloaded library (`TOWPATH_MALLOC=1`, or LD_PRELOAD by hand) that
//! places large malloc blocks in memory shared by the ranks of the host, so that messages from and
//! to them are copied only once.
//!
//! Blocks smaller than [`LARGE`], all blocks allocated before MPI_Init and after MPI_Finalize, and
//! blocks that do not fit in the shared heap come from the C library. They are allocated through
//! the C library's internal names (`__libc_malloc`), so no symbol lookup is needed and these calls
//! cannot recurse into this library. The address of a block tells which allocator owns it.
//!
//! Overhead for a small block: one comparison in `malloc` and one in `free`.

use std::ffi::{c_int, c_void};

use towpath_base::sync::{AtomicPtr, AtomicUsize, Ordering};

/// Smallest block allocated in the shared heap; shorter messages go through a bounce buffer anyway.
const LARGE: usize = 128 << 10;
/// Alignment guaranteed by malloc.
const ALIGNMENT: usize = 16;

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
    fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
}

/// The functions of the MPI library's shared heap (`towpath_machine::malloc::MallocTable` is the
/// same table in the MPI library).
#[repr(C)]
pub struct HeapTable {
    /// Start of the heap's address range.
    begin: usize,
    length: usize,
    /// Allocates a block, zeroed if the last argument is not 0; NULL on failure.
    allocate: unsafe extern "C" fn(size: usize, alignment: usize, zeroed: c_int) -> *mut c_void,
    /// Resizes a block in place; returns 1 on success, else 0.
    resize: unsafe extern "C" fn(block: *mut c_void, size: usize) -> c_int,
    free: unsafe extern "C" fn(block: *mut c_void),
    /// Usable size of a block in bytes.
    size: unsafe extern "C" fn(block: *const c_void) -> usize,
}

static HEAP: AtomicPtr<HeapTable> = AtomicPtr::new(std::ptr::null_mut());
static BEGIN: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Called by the MPI library when it is initialized, with a table that lives as long as the
/// process. Returns 1, or 0 if a heap is already attached.
///
/// # Safety
/// `heap` must point to a valid table that is never freed. Its functions must not call this
/// library's functions for large blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_malloc_attach_1(heap: *mut HeapTable) -> c_int {
    if !HEAP.load(Ordering::Acquire).is_null() {
        return 0;
    }
    // SAFETY: `heap` points to a valid table (this function's contract).
    let (begin, length) = unsafe { ((*heap).begin, (*heap).length) };
    HEAP.store(heap, Ordering::Release);
    BEGIN.store(begin, Ordering::Release);
    // Stored last: while the length is 0, no address belongs to the heap.
    LENGTH.store(length, Ordering::Release);
    1
}

/// The heap, if it owns this block.
#[inline(always)]
fn owner(block: *const c_void) -> Option<&'static HeapTable> {
    let length = LENGTH.load(Ordering::Acquire);
    if (block as usize).wrapping_sub(BEGIN.load(Ordering::Relaxed)) >= length {
        return None;
    }
    heap()
}

#[inline(always)]
fn heap() -> Option<&'static HeapTable> {
    // SAFETY: the pointer is NULL, or a table that is never freed (contract of
    // `towpath_malloc_attach_1`).
    unsafe { HEAP.load(Ordering::Acquire).as_ref() }
}

/// Allocates a block in the heap; NULL if the C library must allocate it.
#[inline(never)]
fn shared(size: usize, alignment: usize, zeroed: bool) -> *mut c_void {
    let Some(heap) = heap() else { return std::ptr::null_mut() };
    // SAFETY: `allocate` accepts any size, and any power of two as alignment. All callers pass one.
    unsafe { (heap.allocate)(size, alignment, c_int::from(zeroed)) }
}

fn fail(error: c_int) -> *mut c_void {
    // SAFETY: `__errno_location` returns a valid pointer to this thread's errno.
    unsafe { *libc::__errno_location() = error };
    std::ptr::null_mut()
}

/// `malloc`.
///
/// # Safety
/// See malloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
    if size >= LARGE {
        let block = shared(size, ALIGNMENT, false);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: `__libc_malloc` accepts any size.
    unsafe { __libc_malloc(size) }
}

/// `free`.
///
/// # Safety
/// See free(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: `block` is NULL or a block that is not yet freed (free(3)), and `owner` selects its
    // allocator.
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
/// See calloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    if let Some(bytes) = count.checked_mul(size).filter(|bytes| *bytes >= LARGE) {
        let block = shared(bytes, ALIGNMENT, true);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: `__libc_calloc` accepts any sizes and fails if the product overflows.
    unsafe { __libc_calloc(count, size) }
}

/// `realloc`.
///
/// # Safety
/// See realloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: `block` is NULL or a block that is not yet freed (realloc(3)), and `owner` selects
    // its allocator. The program does not use it after it has been replaced.
    unsafe {
        match owner(block) {
            Some(heap) => resize(heap, block, size),
            None if block.is_null() => malloc(size),
            None if size < LARGE || heap().is_none() => __libc_realloc(block, size),
            None => adopt(block, size),
        }
    }
}

/// Resizes a block of the heap in place, or else moves its content to a new block.
///
/// # Safety
/// `block` must be a block of `heap` that is not yet freed.
#[inline(never)]
unsafe fn resize(heap: &HeapTable, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: `block` belongs to `heap` (this function's contract). It is freed once, after its
    // content has been copied, and both blocks hold the bytes copied.
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

/// Moves a block of the C library to the heap when it is resized to `LARGE` bytes or more.
///
/// # Safety
/// `block` must be a block of the C library that is not yet freed.
#[inline(never)]
unsafe fn adopt(block: *mut c_void, size: usize) -> *mut c_void {
    let fresh = shared(size, ALIGNMENT, false);
    // SAFETY: `block` belongs to the C library (this function's contract). Both blocks hold the
    // bytes copied, and the old one is freed once.
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
/// See reallocarray(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    match count.checked_mul(size) {
        // SAFETY: `block` is NULL or a block that is not yet freed (reallocarray(3)).
        Some(bytes) => unsafe { realloc(block, bytes) },
        None => fail(libc::ENOMEM),
    }
}

/// `memalign`.
///
/// # Safety
/// See memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, size: usize) -> *mut c_void {
    if size >= LARGE && alignment.is_power_of_two() {
        let block = shared(size, alignment.max(ALIGNMENT), false);
        if !block.is_null() {
            return block;
        }
    }
    // SAFETY: `__libc_memalign` accepts any arguments.
    unsafe { __libc_memalign(alignment, size) }
}

/// `aligned_alloc`.
///
/// # Safety
/// See aligned_alloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        return fail(libc::EINVAL);
    }
    // SAFETY: `memalign` accepts any alignment and size.
    unsafe { memalign(alignment, size) }
}

/// `posix_memalign`.
///
/// # Safety
/// See posix_memalign(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(
    into: *mut *mut c_void,
    alignment: usize,
    size: usize,
) -> c_int {
    if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<*mut c_void>()) {
        return libc::EINVAL;
    }
    // SAFETY: `memalign` accepts any alignment and size, and `into` is writable
    // (posix_memalign(3)).
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
    // SAFETY: `sysconf` has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// `valloc`.
///
/// # Safety
/// See valloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn valloc(size: usize) -> *mut c_void {
    // SAFETY: `memalign` accepts any alignment and size.
    unsafe { memalign(page_size(), size) }
}

/// `pvalloc`.
///
/// # Safety
/// See pvalloc(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pvalloc(size: usize) -> *mut c_void {
    let page = page_size();
    match size.checked_next_multiple_of(page) {
        // SAFETY: `memalign` accepts any alignment and size.
        Some(size) => unsafe { memalign(page, size) },
        None => fail(libc::ENOMEM),
    }
}

/// `malloc_usable_size`.
///
/// # Safety
/// See malloc_usable_size(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    // SAFETY: `block` is NULL or a block that is not yet freed, and `owner` selects its allocator.
    unsafe { owner(block).map_or_else(|| size_in_library(block), |heap| (heap.size)(block)) }
}

/// The C library's `malloc_usable_size`, its only allocation function without an internal name.
///
/// # Safety
/// `block` must be NULL or a block of the C library that is not yet freed.
unsafe fn size_in_library(block: *mut c_void) -> usize {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let mut found = FOUND.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the name is a NUL-terminated string.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"malloc_usable_size".as_ptr()) };
        FOUND.store(found, Ordering::Relaxed);
    }
    if found.is_null() {
        return 0;
    }
    // SAFETY: `found` is the C library's `malloc_usable_size`, which has this type; `block` is NULL
    // or a block of the C library (this function's contract).
    unsafe {
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> usize>(found)(block)
    }
}
