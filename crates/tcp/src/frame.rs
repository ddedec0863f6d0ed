//! The frame header: the wire format after both sides have authenticated each other.
//!
//! Decodes untrusted input: the code that takes a frame checks every length and number against its
//! own state before it uses them. Anything else is [`Malformed`], which ends the connection.
#![forbid(unsafe_code)]

use towpath_transport::Header;

use super::COPIED_LIMIT;

/// Size of a frame header in bytes.
pub(super) const HEAD_BYTES: usize = 24;

/// A payload longer than this starts [`LONG_FRONT`] bytes after the start of its header.
const LONG: u64 = 1024;

/// Bytes in front of a long payload: the header, then zeros.
///
/// When nothing else is in flight, the kernel places stream bytes from the start of a page.
/// Programs, too, send from buffers that begin shortly after the start of a page (16 bytes, if
/// malloc has mapped the memory). On AMD processors with fast short `rep movsb` (FSRM), a copy
/// whose destination is 1 to 48 bytes after its source modulo 4096 runs at 2 GB/s instead of 50,
/// and at 25 GB/s a little further away (measured 2026-11-22). A header of 24 bytes would put the
/// payload there; 256 bytes are beyond the offsets that programs use.
pub(super) const LONG_FRONT: usize = 256;

/// Bytes in front of a payload of `length` bytes.
#[inline]
pub(super) fn front(length: u64) -> usize {
    if length > LONG { LONG_FRONT } else { HEAD_BYTES }
}

/// A header, and the zeros between it and a long payload.
pub(super) fn long_front(head: &[u8; HEAD_BYTES]) -> [u8; LONG_FRONT] {
    let mut bytes = [0; LONG_FRONT];
    bytes[..HEAD_BYTES].copy_from_slice(head);
    bytes
}

/// A request for a region, sent over another wire. The region itself is sent over the TCP
/// connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub(super) number: u32,
    pub(super) name: u64,
    pub(super) wanted: u64,
}

/// Size of a [`PullRequest`] in bytes.
pub const ASK_BYTES: usize = HEAD_BYTES;

impl PullRequest {
    /// The wire format.
    pub fn to_bytes(&self) -> [u8; ASK_BYTES] {
        let PullRequest { number, name, wanted } = *self;
        Frame::Pull { number, name, wanted }.encode()
    }

    /// Decodes a request; `None` if the bytes are malformed.
    pub fn of(bytes: &[u8; ASK_BYTES]) -> Option<PullRequest> {
        match Frame::decode(bytes) {
            Ok(Frame::Pull { number, name, wanted }) => Some(PullRequest { number, name, wanted }),
            _ => None,
        }
    }
}

/// The error for a header that no peer sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// One frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message of the engine; `length` bytes of payload follow.
    Message { protocol: u8, length: u32, words: [u64; 2] },
    /// Requests the first `wanted` bytes of the region `name`, for the requester's pull `number`.
    Pull { number: u32, name: u64, wanted: u64 },
    /// Releases the region `name` unread.
    Release { name: u64 },
    /// `length` bytes of the pull `number` follow, from `offset` on.
    Data { number: u32, offset: u64, length: u64 },
    /// No more bytes come for the pull `number`.
    End { number: u32 },
    /// The sender has left MPI: nothing follows.
    Goodbye,
}

impl Frame {
    /// The frame of a message of `length` bytes, which follow it.
    pub(super) fn message(header: &Header, length: usize) -> Frame {
        Frame::Message { protocol: header.protocol, length: length as u32, words: header.words }
    }

    /// The wire format: kind, protocol, two zero bytes, a number of four bytes, two numbers of
    /// eight bytes; little-endian.
    pub(super) fn encode(&self) -> [u8; HEAD_BYTES] {
        let (kind, protocol, short, words) = match *self {
            Frame::Message { protocol, length, words } => (1, protocol, length, words),
            Frame::Pull { number, name, wanted } => (2, 0, number, [name, wanted]),
            Frame::Release { name } => (3, 0, 0, [name, 0]),
            Frame::Data { number, offset, length } => (4, 0, number, [offset, length]),
            Frame::End { number } => (5, 0, number, [0, 0]),
            Frame::Goodbye => (6, 0, 0, [0, 0]),
        };
        let mut bytes = [0; HEAD_BYTES];
        (bytes[0], bytes[1]) = (kind, protocol);
        bytes[4..8].copy_from_slice(&short.to_le_bytes());
        bytes[8..16].copy_from_slice(&words[0].to_le_bytes());
        bytes[16..24].copy_from_slice(&words[1].to_le_bytes());
        bytes
    }

    /// Decodes a header.
    pub(super) fn decode(bytes: &[u8; HEAD_BYTES]) -> Result<Frame, Malformed> {
        let [kind, protocol, 0, 0, s0, s1, s2, s3, rest @ ..] = *bytes else {
            return Err(Malformed);
        };
        let short = u32::from_le_bytes([s0, s1, s2, s3]);
        let word = |at: usize| {
            rest[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let words = [word(0), word(8)];
        Ok(match (kind, protocol) {
            (1, _) if short as usize <= COPIED_LIMIT => {
                Frame::Message { protocol, length: short, words }
            }
            (2, 0) if words[1] > 0 => {
                Frame::Pull { number: short, name: words[0], wanted: words[1] }
            }
            (3, 0) if short == 0 && words[1] == 0 => Frame::Release { name: words[0] },
            (4, 0) if words[1] > 0 => {
                Frame::Data { number: short, offset: words[0], length: words[1] }
            }
            (5, 0) if words == [0, 0] => Frame::End { number: short },
            (6, 0) if short == 0 && words == [0, 0] => Frame::Goodbye,
            _ => return Err(Malformed),
        })
    }

    /// Decodes the header at the start of `bytes`; `None` while it is incomplete.
    pub(super) fn at_front(bytes: &[u8]) -> Option<Result<Frame, Malformed>> {
        bytes.first_chunk().map(Frame::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Frame> {
        prop_oneof![
            (any::<u8>(), 0..=COPIED_LIMIT as u32, any::<[u64; 2]>())
                .prop_map(|(protocol, length, words)| Frame::Message { protocol, length, words }),
            (any::<u32>(), any::<u64>(), 1u64..).prop_map(|(number, name, wanted)| Frame::Pull {
                number,
                name,
                wanted
            }),
            any::<u64>().prop_map(|name| Frame::Release { name }),
            (any::<u32>(), any::<u64>(), 1u64..).prop_map(|(number, offset, length)| Frame::Data {
                number,
                offset,
                length
            }),
            any::<u32>().prop_map(|number| Frame::End { number }),
            Just(Frame::Goodbye),
        ]
    }

    proptest! {
        #[test]
        fn a_head_is_read_back(frame in frames()) {
            prop_assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
        }

        #[test]
        fn any_bytes_are_a_frame_or_refused(bytes in any::<[u8; HEAD_BYTES]>(), kind in 0u8..8) {
            let mut bytes = bytes;
            for first in [bytes[0], kind] {
                bytes[0] = first;
                // A frame that decodes must survive encoding.
                if let Ok(frame) = Frame::decode(&bytes) {
                    prop_assert_eq!(Frame::decode(&frame.encode()), Ok(frame));
                }
            }
        }

        #[test]
        fn a_part_of_a_head_is_no_head(bytes in proptest::collection::vec(any::<u8>(), 0..HEAD_BYTES)) {
            prop_assert_eq!(Frame::at_front(&bytes), None);
        }
    }

    #[test]
    fn an_ask_is_read_back_and_nothing_else_is_one() {
        let ask = PullRequest { number: 7, name: 1 << 40, wanted: 9 };
        assert_eq!(PullRequest::of(&ask.to_bytes()), Some(ask));
        assert_eq!(PullRequest::of(&Frame::Release { name: 3 }.encode()), None);
        assert_eq!(PullRequest::of(&[0xff; ASK_BYTES]), None);
    }

    #[test]
    fn a_message_beyond_the_limit_is_refused() {
        let length = COPIED_LIMIT as u32 + 1;
        let too_long = Frame::Message { protocol: 1, length, words: [0; 2] };
        assert_eq!(Frame::decode(&too_long.encode()), Err(Malformed));
    }
}
