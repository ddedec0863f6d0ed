//! How an eager payload gets into the target of its receive.

use towpath_base::transfer::Target;
use towpath_transport::Payload;

/// Copies an eager payload into its target. Returns the bytes copied and whether the message was
/// truncated.
///
/// # Safety
/// `payload` must be readable for its length, and `target` writable for its own.
#[inline(always)]
pub(crate) unsafe fn deliver(target: &mut Target, payload: impl Payload) -> (u64, bool) {
    let (room, length) = (target.length(), payload.length());
    let taken = length.min(room);
    match target {
        // SAFETY: `taken` exceeds neither the readable payload nor the writable target.
        Target::Bytes { pointer, .. } => unsafe { payload.copy_to(*pointer, taken) },
        Target::Unpacker { .. } => {
            let payload = payload.whole();
            // SAFETY: `payload` is readable for `taken` bytes, and the memory behind the target is
            // valid (this function's contract).
            unsafe { target.drain_all(payload, taken) };
        }
    }
    (taken as u64, length > room)
}
