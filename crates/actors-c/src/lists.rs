//! Values of reductions that are lists: what a tuple has of each reducer, and all values of a set.

use std::ffi::{c_int, c_void};

use towpath_actors::reducers;

use crate::calls::contribute;
use crate::failure::status;
use crate::messages::{bytes, elements};
use crate::types::{CCallback, CChareId, CSection};

/// `towpath_part`.
#[repr(C)]
pub struct CPart {
    reducer: u32,
    data: *const c_void,
    bytes: usize,
}

/// Contributes values to several reducers at once.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_contribute_tuple(
    id: *const CChareId,
    section: *const CSection,
    parts: *const CPart,
    count: usize,
    callback: *const CCallback,
) -> c_int {
    // SAFETY: the caller has such a name, and a section and a callback or null.
    let (id, section, callback) = unsafe { (&*id, section.as_ref(), callback.as_ref()) };
    // SAFETY: the caller has so many parts.
    let parts = unsafe { elements(parts, count) }.iter().map(|part| {
        // SAFETY: the caller has so many bytes.
        (part.reducer, unsafe { bytes(part.data, part.bytes) })
    });
    let value = reducers::tuple(&parts.collect::<Vec<_>>());
    status(value.and_then(|value| contribute(id, section, reducers::TUPLE, value, callback)))
}

/// The parts of a list.
///
/// # Safety
/// The pointers are as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_parts(
    list: *const c_void,
    length: usize,
    parts: *mut CPart,
    room: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: the caller has so many bytes.
    let list = unsafe { bytes(list, length) };
    let found = reducers::parts(list);
    let found = found.ok_or_else(|| format!("{length} bytes are no list of a tuple or a set"));
    status(found.map(|found| {
        // SAFETY: the caller has memory for the number.
        unsafe { count.write(found.len()) };
        for (at, (reducer, value)) in found.into_iter().take(room).enumerate() {
            let part = CPart { reducer, data: value.as_ptr().cast(), bytes: value.len() };
            // SAFETY: the caller has memory for `room` parts.
            unsafe { parts.add(at).write(part) };
        }
    }))
}
