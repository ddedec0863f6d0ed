//! The wire format: a header of 32 bytes, little endian, after the Ethernet header or in a UDP
//! datagram, followed by a body.
//!
//! There are two classes of frames. *Ordered* frames ([`Kind::is_ordered`]: fragments of messages,
//! releases, completions, goodbyes) have a sequence number in the stream from one process to
//! another, are kept until acknowledged, and are delivered in order. All others are independent:
//! each may be lost, duplicated or delayed, and a process that needs an answer asks again.
//!
//! Every frame except greetings and broadcasts acknowledges what has arrived so far. There is no
//! frame for "asleep" or "awake": this is a flag in every frame, and an acknowledgement is sent
//! just to carry it when the peer must know at once.
//!
//! Nothing in a frame is trusted before its authentication tag is verified. The tag covers the
//! header, and the bodies of control frames. It does not cover the bytes of messages: those are
//! protected by the frame check sequence of Ethernet, and not at all against an attacker who can
//! modify frames in transit. Each segment of a super-frame has its own header.

#![forbid(unsafe_code)]

use super::Time;
use super::key::FrameKey;
use super::refusal::Refusal;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 32;

/// An encoded header.
pub type HeaderBytes = [u8; HEADER_BYTES];

/// The protocol version that this module implements.
pub const VERSION: u8 = 1;

/// The kind of a frame. Words and body are described with each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A message or a fragment of one. Words: timestamp, length of the whole message. Body: the
    /// bytes.
    Eager = 1,
    /// The receiver is done with a region. Words: timestamp, 0. Body: [`Pair`] slot and generation
    /// of the region.
    Release = 2,
    /// A receiver has a whole broadcast. Words: timestamp, 0. Body: [`Pair`] group and message.
    Complete = 3,
    /// Requests chunks of a region. Words: request, 0; sequence: timestamp. Body: [`BlockRequest`].
    Ask = 4,
    /// A chunk of a region. Words: request, index of the chunk; sequence: the timestamp of the
    /// request. Body: the bytes.
    Data = 5,
    /// Acknowledges. Words: the timestamp of the newest frame that is acknowledged, and how long it
    /// waited for this acknowledgement (same unit; all ones: there was none yet, and the timestamp
    /// is meaningless). Body: bit i is set if frame `acknowledged + 1 + i` has arrived.
    Acknowledge = 6,
    /// Negotiates a session. Words: the sender's incarnation, and the receiver's as far as the
    /// sender knows it.
    Greeting = 7,
    /// Tests whether a rail works. Sequence: timestamp.
    Probe = 8,
    /// Answers a probe over the same rail. Sequence: the timestamp of the probe.
    Echo = 9,
    /// A part of a broadcast, to all members or as a repair to one. Sequence: number of the
    /// message; `acknowledged`: its length; words: group, index of the part. Body: the bytes.
    Broadcast = 10,
    /// Asks the root of a broadcast for missing parts. Words: group, message. Body: [`Pair`] first
    /// index, and a bitmap of 32 indices from there (all ones: everything from there to the end).
    Repair = 11,
    /// The sender leaves; it sends nothing new after this. Words: timestamp, 0. Body: [`Pair`] 0,
    /// 0.
    Goodbye = 12,
}

impl Kind {
    fn of(number: u8) -> Option<Kind> {
        use Kind::*;
        [
            Eager,
            Release,
            Complete,
            Ask,
            Data,
            Acknowledge,
            Greeting,
            Probe,
            Echo,
            Broadcast,
            Repair,
            Goodbye,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == number)
    }

    /// Length of the body of control frames; `None` for frames that carry bytes of messages.
    pub fn body_bytes(self) -> Option<usize> {
        match self {
            Kind::Eager | Kind::Data | Kind::Broadcast => None,
            Kind::Release | Kind::Complete | Kind::Repair | Kind::Acknowledge | Kind::Goodbye => {
                Some(8)
            }
            Kind::Ask => Some(ASK_BYTES),
            Kind::Greeting | Kind::Probe | Kind::Echo => Some(0),
        }
    }

    /// True for frames with a sequence number in the ordered stream.
    pub fn is_ordered(self) -> bool {
        matches!(self, Kind::Eager | Kind::Release | Kind::Complete | Kind::Goodbye)
    }
}

/// The sender is about to sleep: its answers take longer, and every frame costs it a wake-up.
pub const ASLEEP: u8 = 0x10;
/// In a greeting: the session of these two incarnations has ended.
pub const ENDED: u8 = 0x20;

const RAIL_MASK: u8 = 0x0f;
const FLAGS: u8 = ASLEEP | ENDED;

/// The header. In brackets: offset and length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// \[0, 4\] Sequence number of an ordered frame; otherwise a timestamp, see [`Kind`]. It comes
    /// first so that a packet-filter rule can match one particular frame. (\[4, 4\] is the
    /// authentication tag, which only encoding and decoding access.)
    pub sequence: u32,
    /// \[8, 4\] The rank of the sender in the job.
    pub source: u32,
    /// \[12, 2\] The destination endpoint on the host: a number that the receiver chose and
    /// published to its peers when the job started. The packet filter in the kernel matches it.
    pub endpoint: u16,
    /// \[14, 2\] Length of the body in bytes. The frame may be longer, because Ethernet pads short
    /// frames.
    pub length: u16,
    /// \[16, low half\] The kind of frame; the high half is the version.
    pub kind: Kind,
    /// \[17, low half\] The rail over which the frame is sent.
    pub rail: u8,
    /// \[17, high half\] [`ASLEEP`], [`ENDED`].
    pub flags: u8,
    /// \[18, 2\] The session of both incarnations ([`super::incarnations`]); in a broadcast, the
    /// session of the group.
    pub session: u16,
    /// \[20, 4\] Sequence number of the next ordered frame that the sender expects: all earlier
    /// ones are acknowledged.
    pub acknowledged: u32,
    /// \[24, 8\] Two words, see [`Kind`].
    pub words: [u32; 2],
}

impl FrameHeader {
    /// Encodes the header. `body` is the body of a control frame, which the authentication tag
    /// covers, and empty for frames that carry bytes of messages.
    #[inline]
    pub fn encode(&self, key: &FrameKey, body: &[u8]) -> HeaderBytes {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.source.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.endpoint.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16] = VERSION << 4 | self.kind as u8;
        bytes[17] = self.flags & FLAGS | self.rail & RAIL_MASK;
        bytes[18..20].copy_from_slice(&self.session.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.acknowledged.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.words[0].to_le_bytes());
        bytes[28..32].copy_from_slice(&self.words[1].to_le_bytes());
        let check = key.check(&bytes, body);
        bytes[4..8].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Decodes a frame into header and body. A valid frame may still be out of date or from the
    /// wrong peer.
    ///
    /// # Errors
    /// Why it is not a frame of this job.
    #[inline]
    pub fn decode<'a>(key: &FrameKey, frame: &'a [u8]) -> Result<(FrameHeader, &'a [u8]), Refusal> {
        let (bytes, rest) = frame.split_first_chunk::<HEADER_BYTES>().ok_or(Refusal::Short)?;
        FrameHeader::decode_apart(key, bytes, rest)
    }

    /// Like [`FrameHeader::decode`], for a frame whose header and body are not contiguous.
    ///
    /// # Errors
    /// Why it is not a frame of this job.
    #[inline]
    pub fn decode_apart<'a>(
        key: &FrameKey,
        bytes: &HeaderBytes,
        rest: &'a [u8],
    ) -> Result<(FrameHeader, &'a [u8]), Refusal> {
        if bytes[16] >> 4 != VERSION {
            return Err(Refusal::Version);
        }
        let kind = Kind::of(bytes[16] & 0x0f).ok_or(Refusal::Kind)?;
        let length = u16::from_le_bytes([bytes[14], bytes[15]]);
        let body = rest.get(..usize::from(length)).ok_or(Refusal::Length)?;
        let checked = match kind.body_bytes() {
            Some(own) if own == body.len() => body,
            Some(_) => return Err(Refusal::Length),
            None => &[],
        };
        if word(bytes, 4) != key.check(bytes, checked) {
            return Err(Refusal::Forged);
        }
        if bytes[17] & !(FLAGS | RAIL_MASK) != 0 {
            return Err(Refusal::Kind);
        }
        let header = FrameHeader {
            sequence: word(bytes, 0),
            source: word(bytes, 8),
            endpoint: u16::from_le_bytes([bytes[12], bytes[13]]),
            length,
            kind,
            rail: bytes[17] & RAIL_MASK,
            flags: bytes[17] & FLAGS,
            session: u16::from_le_bytes([bytes[18], bytes[19]]),
            acknowledged: word(bytes, 20),
            words: [word(bytes, 24), word(bytes, 28)],
        };
        Ok((header, body))
    }
}

/// The authentication tag that a frame should carry, for tests of decoders; `None` if the frame is
/// malformed.
pub fn right_check(key: &FrameKey, frame: &[u8]) -> Option<u32> {
    let (bytes, rest) = frame.split_first_chunk::<HEADER_BYTES>()?;
    let body = rest.get(..usize::from(u16::from_le_bytes([bytes[14], bytes[15]])))?;
    let own = Kind::of(bytes[16] & 0x0f)?.body_bytes().is_some();
    Some(key.check(bytes, if own { body } else { &[] }))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Two words as the body of a control frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair(pub u32, pub u32);

impl Pair {
    /// Encodes the body.
    pub fn encode(self) -> [u8; 8] {
        (u64::from(self.0) | u64::from(self.1) << 32).to_le_bytes()
    }

    /// Decodes a body of eight bytes; [`FrameHeader::decode`] has checked the length.
    pub fn decode(body: &[u8]) -> Pair {
        Pair(word(body, 0), word(body, 4))
    }
}

/// Length of the body of [`Kind::Ask`].
pub const ASK_BYTES: usize = 32;

/// The body of a request for a block of a region: chunk i is the bytes from `offset + i * chunk`
/// on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Slot of the region in its owner's table.
    pub slot: u32,
    /// Generation of the region.
    pub generation: u32,
    /// Offset of the block in the region.
    pub offset: u64,
    /// Length of the block.
    pub length: u32,
    /// Length of a chunk; the last one may be shorter.
    pub chunk: u32,
    /// Bit i: chunk i is requested.
    pub missing: u64,
}

impl BlockRequest {
    /// Encodes the body.
    pub fn encode(&self) -> [u8; ASK_BYTES] {
        let mut bytes = [0; ASK_BYTES];
        bytes[0..4].copy_from_slice(&self.slot.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.chunk.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.missing.to_le_bytes());
        bytes
    }

    /// Decodes a body. Missing bytes count as zero, which [`BlockRequest::chunks`] rejects.
    pub fn decode(body: &[u8]) -> BlockRequest {
        BlockRequest {
            slot: word(body, 0),
            generation: word(body, 4),
            offset: long(body, 8),
            length: word(body, 16),
            chunk: word(body, 20),
            missing: long(body, 24),
        }
    }

    /// The number of chunks of the block, 1 to 64; `None` if the request is invalid. Bits beyond
    /// the last chunk make it invalid too.
    pub fn chunks(&self) -> Option<u32> {
        if self.chunk == 0 || self.length == 0 {
            return None;
        }
        let chunks = self.length.div_ceil(self.chunk);
        (chunks <= 64 && self.missing != 0 && self.missing & !ones(chunks) == 0).then_some(chunks)
    }
}

/// The lowest `count` bits, at most 64.
pub(super) fn ones(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// A time in wire format: in units of 64 ns, so that it wraps around after 4.5 minutes.
pub fn stamp(now: Time) -> u32 {
    (now >> 6) as u32
}

/// Nanoseconds from a timestamp to now; `None` for a timestamp in the future or older than two
/// minutes.
pub fn since(stamp_then: u32, now: Time) -> Option<Time> {
    let passed = stamp(now).wrapping_sub(stamp_then);
    (passed < 1 << 31).then(|| Time::from(passed) << 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: FrameKey = FrameKey([3, 4]);

    fn header(kind: Kind, length: usize) -> FrameHeader {
        FrameHeader {
            sequence: 0x0403_0201,
            source: 0x0c0b_0a09,
            endpoint: 0x0e0d,
            length: length as u16,
            kind,
            rail: 2,
            flags: ASLEEP,
            session: 0x1413,
            acknowledged: 0x1817_1615,
            words: [0x1c1b_1a19, 0x201f_1e1d],
        }
    }

    #[test]
    fn every_field_lies_where_it_is_said_to() {
        let bytes = header(Kind::Ask, ASK_BYTES).encode(&KEY, &[0; ASK_BYTES]);
        let places =
            [(0..4, 1), (8..12, 9), (12..14, 0x0d), (18..20, 0x13), (20..24, 0x15), (24..32, 0x19)];
        for (place, first) in places {
            let wanted: Vec<u8> = (first..).take(place.len()).collect();
            assert_eq!(bytes[place.clone()], wanted[..], "{place:?}");
        }
        assert_eq!((bytes[14], bytes[15], bytes[16], bytes[17]), (ASK_BYTES as u8, 0, 0x14, 0x12));
        assert_eq!(bytes[4..8], KEY.check(&bytes, &[0; ASK_BYTES]).to_le_bytes());
    }

    #[test]
    fn a_frame_is_refused_for_the_first_thing_that_is_wrong() {
        let bytes = header(Kind::Release, 8).encode(&KEY, &[7; 8]);
        let mut frame = [&bytes[..], &[7; 8], &[0; 6]].concat();
        assert_eq!(
            FrameHeader::decode(&KEY, &frame),
            Ok((header(Kind::Release, 8), &[7; 8][..])),
            "padding is ignored"
        );
        assert_eq!(FrameHeader::decode(&KEY, &frame[..31]), Err(Refusal::Short));
        assert_eq!(FrameHeader::decode(&KEY, &frame[..39]), Err(Refusal::Length));
        assert_eq!(FrameHeader::decode(&FrameKey([3, 5]), &frame), Err(Refusal::Forged));
        for (at, wanted) in [
            (16, Refusal::Kind),
            (14, Refusal::Length),
            (4, Refusal::Forged),
            (39, Refusal::Forged),
        ] {
            let before = frame[at];
            frame[at] = if at == 16 { VERSION << 4 | 15 } else { before ^ 1 };
            assert_eq!(FrameHeader::decode(&KEY, &frame), Err(wanted), "byte {at}");
            frame[at] = before;
        }
        frame[16] = (VERSION + 1) << 4 | 2;
        assert_eq!(FrameHeader::decode(&KEY, &frame), Err(Refusal::Version));
    }

    #[test]
    fn every_kind_is_found_by_its_number() {
        let kinds: Vec<Kind> = (0..16).filter_map(Kind::of).collect();
        assert_eq!(kinds.len(), 12);
        assert!(kinds.iter().all(|kind| Kind::of(*kind as u8) == Some(*kind)));
        assert!(kinds.iter().all(|kind| kind.body_bytes().is_none_or(|bytes| bytes <= ASK_BYTES)));
    }

    #[test]
    fn requests_are_read_as_written_and_nonsense_is_refused() {
        let ask = BlockRequest {
            slot: 1,
            generation: 2,
            offset: 1 << 40,
            length: 100,
            chunk: 64,
            missing: 3,
        };
        assert_eq!(BlockRequest::decode(&ask.encode()), ask);
        assert_eq!(ask.chunks(), Some(2));
        let nonsense = [
            BlockRequest { chunk: 0, ..ask },
            BlockRequest { length: 0, ..ask },
            BlockRequest { missing: 0, ..ask },
            BlockRequest { missing: 4, ..ask },
            BlockRequest { chunk: 1, ..ask },
        ];
        assert!(nonsense.iter().all(|ask| ask.chunks().is_none()));
        assert_eq!(
            BlockRequest { chunk: 1, length: 64, missing: u64::MAX, ..ask }.chunks(),
            Some(64)
        );
        assert_eq!(BlockRequest::decode(&[]).chunks(), None);
        assert_eq!(Pair::decode(&Pair(5, u32::MAX).encode()), Pair(5, u32::MAX));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(bytes: Vec<u8>, kind in 0u8..16) {
            let _ = FrameHeader::decode(&KEY, &bytes);
            let _ = (BlockRequest::decode(&bytes).chunks(), Pair::decode(&bytes));
            // With the right version, length and tag, the remaining checks are reached too.
            let mut frame = bytes;
            if frame.len() >= HEADER_BYTES {
                let length = frame.len() - HEADER_BYTES;
                frame[16] = VERSION << 4 | kind;
                frame[14..16].copy_from_slice(&(length as u16).to_le_bytes());
                let known = frame[17] & !(FLAGS | RAIL_MASK) == 0;
                let check = right_check(&KEY, &frame).unwrap_or(0);
                frame[4..8].copy_from_slice(&check.to_le_bytes());
                let decoded = FrameHeader::decode(&KEY, &frame);
                let fits = Kind::of(kind).is_some_and(|kind| kind.body_bytes().is_none_or(|bytes| bytes == length));
                proptest::prop_assert_eq!(decoded.is_ok(), fits && known);
            }
        }

        #[test]
        fn what_was_encoded_is_decoded(
            numbers: (u32, u32, u16, u16, u32, u32, u32),
            kind in 1u8..12,
            rail in 0u8..16,
            body: Vec<u8>,
            asleep: bool,
        ) {
            let (sequence, source, endpoint, session, acknowledged, one, other) = numbers;
            let kind = Kind::of(kind).unwrap();
            let body: Vec<u8> = match kind.body_bytes() {
                Some(bytes) => body.into_iter().chain(std::iter::repeat(9)).take(bytes).collect(),
                None => body,
            };
            let flags = if asleep { ASLEEP } else { ENDED };
            let length = body.len() as u16;
            let words = [one, other];
            let header = FrameHeader { sequence, source, endpoint, length, kind, rail, flags, session, acknowledged, words };
            let checked = if kind.body_bytes().is_some() { &body[..] } else { &[] };
            let frame = [&header.encode(&KEY, checked)[..], &body].concat();
            proptest::prop_assert_eq!(FrameHeader::decode(&KEY, &frame), Ok((header, &body[..])));
        }
    }

    #[test]
    fn stamps_come_round() {
        let late = (1 << 38) - 64;
        assert_eq!(since(stamp(late), late + 640), Some(640));
        assert_eq!(since(stamp(late + 640), late), None);
    }
}
