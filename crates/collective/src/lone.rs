//! Collectives of a team of one rank: a copy, or nothing.

use towpath_schedule::Operation;
use towpath_schedule::buffers::Piece;

use crate::memory::copy_pieces;

/// A call of one rank that is over as soon as it is performed.
#[derive(Clone, Debug)]
pub struct LoneCall {
    /// From the first to the second piece; `None` if nothing is copied.
    copy: Option<(Piece, Piece)>,
}

// SAFETY: only `perform` dereferences the pointers, which must be valid then whatever thread calls
// it, and a copy of a call has no state that it shares with the other one but these pointers.
unsafe impl Send for LoneCall {}

impl LoneCall {
    /// The call of one rank; `None` if a device must copy, which may take time.
    pub fn new(operation: &Operation) -> Option<LoneCall> {
        let copy = operation.copy_of_one();
        let is_on_device = |(from, to): &(Piece, Piece)| from.device().or(to.device()).is_some();
        (!copy.as_ref().is_some_and(is_on_device)).then_some(LoneCall { copy })
    }

    /// Performs the call.
    ///
    /// # Safety
    /// The memory that the operation names must satisfy the standard's requirements for the buffers
    /// of the call.
    pub unsafe fn perform(&self) {
        // SAFETY: the buffers are valid and do not overlap (this function's contract).
        unsafe { copy_pieces(self.copy.as_slice(), &mut || {}) };
    }
}

/// Performs a call of one rank. Calls `wait` while a device is busy. Not inlined, so that a barrier
/// saves no registers for it.
///
/// # Safety
/// Same as for [`LoneCall::perform`].
#[inline(never)]
pub unsafe fn perform_alone(operation: &Operation, wait: &mut dyn FnMut()) {
    // SAFETY: the buffers are valid and do not overlap (this function's contract).
    unsafe { copy_pieces(operation.copy_of_one().as_slice(), wait) };
}
