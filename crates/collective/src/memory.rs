//! The memory that the steps of a plan name: as source and target of messages, copied, and reduced.

use towpath_base::transfer::{Source, Target};
use towpath_schedule::Reducer;
use towpath_schedule::buffers::Piece;
use towpath_schedule::reducer::ReduceFunction;

/// The piece as the source of a send.
///
/// # Safety
/// The memory must stay valid and unchanged while the source is in use.
pub(crate) unsafe fn source(piece: &Piece) -> Source {
    match &piece.datatype {
        None => Source::Bytes { pointer: piece.pointer, length: piece.count as usize },
        // SAFETY: the memory stays valid and unchanged while the source is in use (this function's
        // contract).
        Some(datatype) => unsafe { towpath_datatype::source(datatype, piece.pointer, piece.count) },
    }
}

/// The piece as the target of a receive.
///
/// # Safety
/// The memory must stay valid, and must not be accessed otherwise, while the target is in use.
pub(crate) unsafe fn target(piece: &Piece) -> Target {
    match &piece.datatype {
        None => Target::Bytes { pointer: piece.pointer, length: piece.count as usize },
        // SAFETY: the memory stays valid and unaccessed while the target is in use (this function's
        // contract).
        Some(datatype) => unsafe { towpath_datatype::target(datatype, piece.pointer, piece.count) },
    }
}

/// Copies the data of `from` to `to`; data that does not fit is dropped.
///
/// # Safety
/// The memory of both must be valid, and they must not overlap.
pub(crate) unsafe fn copy(from: &Piece, to: &Piece) {
    let bytes = from.bytes().min(to.bytes()).max(0) as usize;
    // SAFETY: both pieces have at least `bytes` bytes, are valid and do not overlap (this
    // function's contract).
    unsafe {
        match (&from.datatype, &to.datatype) {
            (None, None) => std::ptr::copy(from.pointer.cast_const(), to.pointer, bytes),
            (None, Some(_)) => target(to).drain_all(from.pointer, bytes),
            (Some(_), None) => source(from).fill_all(to.pointer, bytes),
            (Some(from_type), Some(to_type)) => {
                towpath_datatype::copy(
                    from_type,
                    from.pointer,
                    from.count,
                    to_type,
                    to.pointer,
                    to.count,
                );
            }
        }
    }
}

/// Computes `inout[i] = input[i] op inout[i]` for `count` elements.
///
/// # Safety
/// Both vectors must have `count` elements of the operation's type, and must not overlap.
pub unsafe fn reduce_elements(reducer: &Reducer, input: *const u8, inout: *mut u8, count: i64) {
    match reducer.function() {
        // SAFETY: both vectors have `count` elements of the kernel's type and do not overlap (this
        // function's contract).
        ReduceFunction::Kernel(kernel) => unsafe { kernel(input, inout, count as usize) },
        ReduceFunction::Callback(callback) => callback(input, inout, count),
    }
}
