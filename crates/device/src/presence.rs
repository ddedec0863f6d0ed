//! Whether the program may have loaded the CUDA driver. This is asked for every buffer, so it costs
//! two loads and a comparison.
//!
//! The dynamic loader appends new libraries to its list. The last entry known is kept, and the
//! driver is looked for only if that entry has a successor. Its library is pinned, so the entry
//! stays in the list. Once the driver is found, an entry takes its place that always has one. An
//! entry is kept only when the search for the driver has found nothing: other threads must not take
//! the driver for absent while one searches.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use towpath_base::sync::{AtomicPtr, Ordering};

/// The public part of glibc's `struct link_map` (`<link.h>`).
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *mut c_void,
    next: *mut LinkMap,
    previous: *mut LinkMap,
}

// SAFETY: the loader's list is read with volatile loads only, and `SUCCEEDED` is constant.
unsafe impl Sync for LinkMap {}

/// An entry that has a successor.
static SUCCEEDED: LinkMap = LinkMap {
    address: 0,
    name: ptr::null(),
    dynamic: ptr::null_mut(),
    next: ptr::dangling_mut(),
    previous: ptr::null_mut(),
};

/// The end of the loader's list, as it was when there was no driver.
#[derive(Debug)]
pub(crate) struct Libraries {
    last: AtomicPtr<LinkMap>,
}

/// An end of the loader's list, if it could be found.
#[derive(Debug)]
pub(crate) struct End(Option<*mut LinkMap>);

impl Libraries {
    /// Nothing has been seen yet.
    pub(crate) const fn new() -> Libraries {
        Libraries { last: AtomicPtr::new((&raw const SUCCEEDED).cast_mut()) }
    }

    /// True if libraries may have been loaded since the end that was remembered, and for ever after
    /// [`Libraries::stop`].
    #[inline(always)]
    pub(crate) fn have_grown(&self) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        // SAFETY: `last` is `SUCCEEDED` or an entry of the loader's list whose library stays
        // loaded. The loader may write `next` at the same time; an aligned word is read as a
        // whole.
        unsafe { !ptr::read_volatile(&raw const (*last).next).is_null() }
    }

    /// The present end of the list, for [`Libraries::remember`]. Must precede the search for the
    /// driver, so that one that is loaded meanwhile is found the next time.
    #[cold]
    pub(crate) fn end(&self) -> End {
        let mut names: Vec<CString> = Vec::new();
        // SAFETY: `collect` is called during this call only, with the address of `names`.
        unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
        End(names.iter().rev().find_map(|name| pinned(name)))
    }

    /// There was no driver when the list ended there.
    pub(crate) fn remember(&self, end: End) {
        if let Some(last) = end.0 {
            self.last.store(last, Ordering::Relaxed);
        }
    }

    /// Ends the observation.
    pub(crate) fn stop(&self) {
        self.last.store((&raw const SUCCEEDED).cast_mut(), Ordering::Relaxed);
    }
}

/// Appends the name of a loaded library to the vector at `names`.
///
/// # Safety
/// `info` must be valid, and `names` point to a `Vec<CString>` that nothing else uses.
unsafe extern "C" fn collect(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    names: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description with a C string or NULL as name, and `names`
    // is the vector of `look` (this function's contract).
    unsafe {
        let name = (*info).dlpi_name;
        if !name.is_null() {
            (*names.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
        }
    }
    0
}

/// The list entry of a loaded library, which stays loaded from now on.
fn pinned(name: &CStr) -> Option<*mut LinkMap> {
    let path = if name.is_empty() { ptr::null() } else { name.as_ptr() };
    let how = libc::RTLD_NOW | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    let mut entry: *mut LinkMap = ptr::null_mut();
    // SAFETY: `path` is a C string, or NULL for the main program. RTLD_NOLOAD loads nothing.
    // `dlinfo` writes one pointer.
    unsafe {
        let handle = libc::dlopen(path, how);
        if handle.is_null() {
            return None;
        }
        let found = libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut entry).cast());
        (found == 0 && !entry.is_null()).then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_loaded_later_is_noticed_once() {
        let libraries = Libraries::new();
        assert!(libraries.have_grown(), "nothing has been looked at yet");
        let end = libraries.end();
        assert!(libraries.have_grown(), "only a search that found nothing ends here");
        libraries.remember(end);
        assert!(!libraries.have_grown());
        // SAFETY: the library's initializers are those of the C library's authors.
        let library = unsafe { libc::dlopen(c"libresolv.so.2".as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "the C library has a resolver");
        assert!(libraries.have_grown());
        libraries.remember(libraries.end());
        assert!(!libraries.have_grown());
        libraries.stop();
        assert!(libraries.have_grown());
    }
}
