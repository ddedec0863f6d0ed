//! Messages as the library for C has them, and what this one says in them.

use std::ffi::c_void;
use std::mem::offset_of;

/// A message as in `towpath/actors.h`.
#[repr(C)]
pub(crate) struct TowpathMessage {
    pub(crate) payload: *mut c_void,
    pub(crate) bytes: usize,
    pub(crate) entry: u32,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) reference: u32,
    pub(crate) memory: *mut c_void,
    pub(crate) arrays: *mut c_void,
    pub(crate) array_count: usize,
}

// As in actors.h.
const _: () = assert!(
    size_of::<TowpathMessage>() == 56
        && offset_of!(TowpathMessage, memory) == 32
        && offset_of!(TowpathMessage, arrays) == 40
);

/// A callback as in `towpath/actors.h`.
#[repr(C)]
pub(crate) struct TowpathCallback {
    pub(crate) kind: u32,
    entry: u32,
    reference: u32,
    pub(crate) rank: u32,
    collection: u64,
    index: [i32; 7],
    pub(crate) function: u64,
}

const _: () = assert!(size_of::<TowpathCallback>() == 64);

impl TowpathCallback {
    /// Tells a function of this rank (`TOWPATH_CALL_FUNCTION`).
    pub(crate) fn function(rank: u32, function: u64) -> TowpathCallback {
        let (kind, index) = (4, [0; 7]);
        TowpathCallback { kind, entry: 0, reference: 0, rank, collection: 0, index, function }
    }
}

/// References of messages, as `messages.py` has them: there is a reply, and the arguments are as
/// `arguments.rs` writes them.
pub(crate) const HAS_REPLY: u32 = 1;
pub(crate) const SIMPLE: u32 = 4;
/// The payload begins with the number of bytes up to the data of arrays.
pub(crate) const VALUES: usize = size_of::<u64>();
/// `TOWPATH_RESULT`.
pub(crate) const RESULT: u32 = 8;
