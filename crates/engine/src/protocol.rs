//! What the engine writes into the headers: the protocol numbers and the two words of each.
//!
//! Messages of the program (`EAGER`, `EAGER_SYNCHRONOUS`, `ANNOUNCE`, `POSTPONE`) carry the
//! envelope: words[0] is the context, words[1] the tag in the low half and the sender's rank in the
//! high half. The other protocols have no payload and use the words as written below. Messages of
//! the program are numbered per pair by counting on both sides, which works because a wire keeps
//! order: that number names a message in a cancel request without a byte in the header.

use towpath_base::ids::ContextId;
use towpath_transport::Header;

/// The payload is the message.
pub const EAGER: u8 = 1;
/// The payload is the sender's request (8 bytes), then the message; the receiver answers
/// [`ACKNOWLEDGE`] on matching.
pub const EAGER_SYNCHRONOUS: u8 = 2;
/// The payload is a region key (16 bytes) and the message's length (8 bytes); the receiver pulls on
/// matching.
pub const ANNOUNCE: u8 = 3;
/// A synchronous message was matched: words[0] is the sender's request.
pub const ACKNOWLEDGE: u8 = 4;
/// The sender wants a message back: words[0] is the message's number in the pair, words[1] the
/// sender's request.
pub const CANCEL: u8 = 5;
/// Answer to [`CANCEL`]: words[0] is the sender's request, words[1] is 1 when the message was still
/// unmatched and is gone.
pub const CANCELLED: u8 = 6;
/// The sender may send words[0] more bytes of eager messages.
pub const CREDIT: u8 = 7;

/// As [`ANNOUNCE`], of a message that would have been eager had its sender had credit: the receiver
/// may pull before matching.
pub const POSTPONE: u8 = 8;

/// The receiver wants back up to words[0] bytes of credit that the sender does not use.
pub const RECALL: u8 = 9;
/// Answer to [`RECALL`]: the sender gives words[0] bytes of credit back.
pub const RETURN: u8 = 10;

/// Whether a message is about credit only.
pub(crate) fn is_credit(header: &Header) -> bool {
    matches!(header.protocol, CREDIT | RECALL | RETURN)
}

/// Bytes in front of a synchronous eager message.
pub const REQUEST_BYTES: usize = 8;
/// Payload bytes of an announcement.
pub const ANNOUNCEMENT_BYTES: usize = 24;

/// What one message costs of its sender's credit besides its bytes: the room that a waiting message
/// takes at the receiver.
pub const MESSAGE_OVERHEAD: usize = 64;

/// Header of a message of the program.
#[inline]
pub(crate) fn envelope(protocol: u8, context: ContextId, tag: i32, rank: u32) -> Header {
    Header { protocol, words: [context.0, u64::from(rank) << 32 | u64::from(tag.cast_unsigned())] }
}

/// Tag in the second word of an envelope.
#[inline]
pub(crate) fn tag(words: &[u64; 2]) -> i32 {
    words[1] as u32 as i32
}

/// Sender's rank in the second word of an envelope.
#[inline]
pub(crate) fn rank(words: &[u64; 2]) -> u32 {
    (words[1] >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_keep_tag_and_rank() {
        for (t, r) in [(0, 0), (-1, u32::MAX), (i32::MAX, 7), (i32::MIN, 1 << 31)] {
            let header = envelope(EAGER, ContextId(9), t, r);
            assert_eq!((tag(&header.words), rank(&header.words), header.words[0]), (t, r, 9));
        }
    }
}
