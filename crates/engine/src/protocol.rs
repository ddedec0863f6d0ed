//! The engine's header format: the protocol numbers and the two words of each.
//!
//! Application messages (`EAGER`, `EAGER_SYNCHRONOUS`, and those of [`EarlyPull`]) carry the
//! envelope: words[0] is the context; words[1] has the tag in the low half and the sender's rank in
//! the high half. The other protocols use the words as described below, and of these only
//! [`ACTIVE`] has a payload. Both sides number the application messages of a pair by counting them,
//! which works because a wire keeps their order. A cancel request names a message by this sequence
//! number, so the number needs no space in the header.

use towpath_base::ids::ContextId;
use towpath_transport::Header;

/// The payload is the message.
pub const EAGER: u8 = 1;
/// The payload is the sender's request (8 bytes), then the message. The receiver replies
/// [`ACKNOWLEDGE`] on matching.
pub const EAGER_SYNCHRONOUS: u8 = 2;
/// The payload is a region key (16 bytes) and the message's length (8 bytes). The receiver pulls on
/// matching.
pub const ANNOUNCE: u8 = 3;
/// A synchronous message was matched: words[0] is the sender's request.
pub const ACKNOWLEDGE: u8 = 4;
/// The sender asks to cancel a message: words[0] is the message's sequence number in the pair,
/// words[1] the sender's request.
pub const CANCEL: u8 = 5;
/// Reply to [`CANCEL`]: words[0] is the sender's request, words[1] is 1 if the message was still
/// unmatched and has been dropped.
pub const CANCELLED: u8 = 6;
/// The sender may send words[0] more bytes of eager messages.
pub const CREDIT: u8 = 7;

/// Like [`ANNOUNCE`], for a message that would have been eager if its sender had had credit. The
/// receiver may pull before matching.
pub const POSTPONE: u8 = 8;

/// The receiver recalls up to words[0] bytes of unused credit.
pub const RECALL: u8 = 9;
/// Reply to [`RECALL`]: the sender returns words[0] bytes of credit.
pub const RETURN: u8 = 10;

/// An active message: words[0] names its handler, words[1] is the argument.
pub const ACTIVE: u8 = 11;

/// Like [`ANNOUNCE`], for a message that would have been eager in host memory, but is in the memory
/// of a device. The receiver may pull before matching.
pub const ANNOUNCE_ON_DEVICE: u8 = 12;

/// Whether the receiver of an announced message may pull it before matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlyPull {
    /// No: the message is long or synchronous.
    Never,
    /// As soon as there is room: only credit was missing.
    WithRoom,
    /// If no receive matches soon: a device copies the message, which is faster once it is known
    /// where to.
    IfLate,
}

impl EarlyPull {
    /// The protocol of the announcement.
    pub(crate) fn protocol(self) -> u8 {
        match self {
            EarlyPull::Never => ANNOUNCE,
            EarlyPull::WithRoom => POSTPONE,
            EarlyPull::IfLate => ANNOUNCE_ON_DEVICE,
        }
    }

    /// The opposite of [`EarlyPull::protocol`].
    pub(crate) fn of(protocol: u8) -> EarlyPull {
        match protocol {
            POSTPONE => EarlyPull::WithRoom,
            ANNOUNCE_ON_DEVICE => EarlyPull::IfLate,
            _ => EarlyPull::Never,
        }
    }
}

/// True if the message only concerns credit.
pub(crate) fn is_credit(header: &Header) -> bool {
    matches!(header.protocol, CREDIT | RECALL | RETURN)
}

/// Bytes before the message in the payload of [`EAGER_SYNCHRONOUS`].
pub const REQUEST_BYTES: usize = 8;
/// Payload bytes of an announcement.
pub const ANNOUNCEMENT_BYTES: usize = 24;

/// Credit that a message costs in addition to its bytes: the space that an unexpected message
/// occupies at the receiver.
pub const MESSAGE_OVERHEAD: usize = 64;

/// Header of an application message.
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

/// Send modes (MPI 5.0, 3.4) that the engine distinguishes; a buffered send is a standard send of a
/// copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Complete once the source may be reused.
    Standard,
    /// Like `Standard`, but complete only after the receive has been matched.
    Synchronous,
    /// Like `Standard`: the application guarantees that the receive is posted.
    Ready,
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
