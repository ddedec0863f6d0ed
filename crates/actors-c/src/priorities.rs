//! Messages whose priority is a string of bits.

use std::ffi::c_int;

use towpath_actors::message::MessageKind;
use towpath_actors::{ActorHeader, ActorMessage, BitPriority};

use crate::failure::status;
use crate::messages::{LONGEST_PAYLOAD, bytes};
use crate::types::CMessage;

/// Bits of the longest priority; more are a mistake.
const LONGEST: u32 = 1 << 20;

/// Makes a message with a priority that is a string of bits.
///
/// # Safety
/// There are as many words as the bits need, and memory for a message at `message`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_message_new_prioritized(
    length: usize,
    words: *const u32,
    bits: u32,
    message: *mut CMessage,
) -> c_int {
    // SAFETY: the caller has so many words.
    let priority = unsafe { priority(words, bits) };
    let (made, result) = match priority {
        Ok(priority) if length <= LONGEST_PAYLOAD => {
            let header = ActorHeader::new(MessageKind::Invoke, 0, None, 0);
            (CMessage::give(ActorMessage::prioritized(header, &priority, length)), Ok(()))
        }
        Ok(_) => (CMessage::NONE, Ok(())),
        Err(sentence) => (CMessage::NONE, Err(sentence)),
    };
    // SAFETY: the caller has memory for it.
    unsafe { message.write(made) };
    status(result)
}

/// # Safety
/// There are as many words as the bits need.
unsafe fn priority(words: *const u32, bits: u32) -> Result<BitPriority, String> {
    if bits > LONGEST {
        return Err(format!("a priority has up to {LONGEST} bits, but {bits} were given"));
    }
    let length = bits.div_ceil(u32::BITS) as usize * size_of::<u32>();
    // SAFETY: the caller has so many words.
    let given = unsafe { bytes(words.cast(), length) };
    let (words, _) = given.as_chunks();
    let words: Vec<u32> = words.iter().copied().map(u32::from_ne_bytes).collect();
    BitPriority::new(&words, bits).ok_or_else(|| {
        format!("a priority of {bits} bits was given without the words that contain them")
    })
}
