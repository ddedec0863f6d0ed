//! The head of a message on the fabric, with a check that only processes of the job can make.
//!
//! A fabric says nothing about who has sent a message. So each head carries SipHash-2-4 of itself,
//! of the number that the message has between these two processes, and of its receiver, under a key
//! of the job: what a stranger makes up passes once in 2^64 messages, and what was recorded passes
//! never. Payloads are not covered.
//!
//! A decoder of bytes from outside: nothing is used before the check.
#![forbid(unsafe_code)]

use std::hash::Hasher;

use hmac_sha256::HMAC;
use siphasher::sip::SipHasher24;

use super::COPIED_LIMIT;

/// Bytes of a head.
pub(super) const HEAD_BYTES: usize = 48;

/// What all processes of a job know and nobody else does.
#[derive(Clone, Copy)]
pub struct Key([u64; 2]);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl Key {
    /// The key that comes of a secret of the job, of any length.
    pub fn of_secret(secret: &[u8]) -> Key {
        let hash = HMAC::mac(b"towpath: messages over libfabric", secret);
        let (words, _) = hash.as_chunks::<8>();
        Key([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    /// A number that nobody can foretell who does not know the key.
    pub(super) fn number(&self, one: u64, other: u64) -> u64 {
        self.hash(&[one, other])
    }

    fn hash(&self, words: &[u64]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.0[0], self.0[1]);
        words.iter().for_each(|word| hasher.write_u64(*word));
        hasher.finish()
    }
}

/// A message that nobody of this job sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// One message, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A message of the engine; `length` bytes of payload follow.
    Message { protocol: u8, length: u32, words: [u64; 2] },
    /// The first `wanted` bytes of the region `name` are wanted, for the pull `number` of whoever
    /// asks.
    Pull { number: u32, name: u64, wanted: u64 },
    /// The region `name` is not wanted.
    Release { name: u64 },
    /// The next `length` bytes for the pull `number` may be read there; no more follow if it is the
    /// last.
    Grant { number: u32, last: bool, address: u64, key: u64, length: u64 },
    /// The bytes of the first grant for the region `name` that was not done yet have been read.
    Done { name: u64 },
    /// The sender has left MPI: nothing follows.
    Goodbye,
    /// Asks for an echo with this number.
    Probe { number: u32 },
    /// Answers a probe.
    Echo { number: u32 },
}

/// Who a message says that it is from, and the lower half of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) from: u32,
    pub(super) low: u32,
}

impl Sender {
    /// What a message claims; nothing of it is proved yet.
    pub(super) fn of(head: &[u8; HEAD_BYTES]) -> Sender {
        let (words, _) = head.as_chunks::<4>();
        Sender { from: u32::from_le_bytes(words[2]), low: u32::from_le_bytes(words[3]) }
    }

    /// The whole number of the message, where one near `expected` is.
    pub(super) fn number(&self, expected: u64) -> u64 {
        expected.wrapping_add_signed(i64::from(self.low.wrapping_sub(expected as u32) as i32))
    }
}

/// The way of a message: between whom, and which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) number: u64,
}

fn check(key: &Key, way: Way, head: &[u8; HEAD_BYTES]) -> u64 {
    let (words, _) = head.as_chunks::<8>();
    let word = |at: usize| u64::from_le_bytes(words[at]);
    let pair = u64::from(way.from) | u64::from(way.to) << 32;
    key.hash(&[pair, way.number, word(2), word(3), word(4), word(5)])
}

impl Frame {
    /// As it travels: check of eight bytes, sender, number, kind, protocol, two zeros, a number of
    /// four bytes, three of eight; low bytes first.
    pub(super) fn encode(&self, key: &Key, way: Way) -> [u8; HEAD_BYTES] {
        let (kind, protocol, short, words) = match *self {
            Frame::Message { protocol, length, words } => (1, protocol, length, [words[0], words[1], 0]),
            Frame::Pull { number, name, wanted } => (2, 0, number, [name, wanted, 0]),
            Frame::Release { name } => (3, 0, 0, [name, 0, 0]),
            Frame::Grant { number, last, address, key, length } => {
                (4 + u8::from(last), 0, number, [address, key, length])
            }
            Frame::Done { name } => (6, 0, 0, [name, 0, 0]),
            Frame::Goodbye => (7, 0, 0, [0; 3]),
            Frame::Probe { number } => (8, 0, number, [0; 3]),
            Frame::Echo { number } => (9, 0, number, [0; 3]),
        };
        let mut head = [0; HEAD_BYTES];
        head[8..12].copy_from_slice(&way.from.to_le_bytes());
        head[12..16].copy_from_slice(&(way.number as u32).to_le_bytes());
        (head[16], head[17]) = (kind, protocol);
        head[20..24].copy_from_slice(&short.to_le_bytes());
        for (word, into) in words.iter().zip(head[24..].as_chunks_mut::<8>().0) {
            *into = word.to_le_bytes();
        }
        let check = check(key, way, &head);
        head[..8].copy_from_slice(&check.to_le_bytes());
        head
    }

    /// Whether a process of the job has sent this on that way.
    pub(super) fn is_genuine(key: &Key, way: Way, head: &[u8; HEAD_BYTES]) -> bool {
        let said = u64::from_le_bytes(*head.first_chunk().expect("a head is longer"));
        check(key, way, head) == said
    }

    /// Reads a head that is genuine.
    pub(super) fn decode(head: &[u8; HEAD_BYTES]) -> Result<Frame, Malformed> {
        let [.., kind, protocol, 0, 0, s0, s1, s2, s3] = *head.first_chunk::<24>().expect("a head is longer") else {
            return Err(Malformed);
        };
        let short = u32::from_le_bytes([s0, s1, s2, s3]);
        let (words, _) = head[24..].as_chunks::<8>();
        let words = [0, 1, 2].map(|at: usize| u64::from_le_bytes(words[at]));
        Ok(match (kind, protocol, words) {
            (1, _, [one, two, 0]) if short as usize <= COPIED_LIMIT => {
                Frame::Message { protocol, length: short, words: [one, two] }
            }
            (2, 0, [name, wanted, 0]) if wanted > 0 => Frame::Pull { number: short, name, wanted },
            (3, 0, [name, 0, 0]) if short == 0 => Frame::Release { name },
            (4 | 5, 0, [address, key, length]) if kind == 5 || length > 0 => {
                Frame::Grant { number: short, last: kind == 5, address, key, length }
            }
            (6, 0, [name, 0, 0]) if short == 0 => Frame::Done { name },
            (7, 0, [0, 0, 0]) if short == 0 => Frame::Goodbye,
            (8, 0, [0, 0, 0]) => Frame::Probe { number: short },
            (9, 0, [0, 0, 0]) => Frame::Echo { number: short },
            _ => return Err(Malformed),
        })
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
            (any::<u32>(), any::<bool>(), any::<[u64; 2]>(), 1u64..)
                .prop_map(|(number, last, [address, key], length)| Frame::Grant { number, last, address, key, length }),
            any::<u64>().prop_map(|name| Frame::Done { name }),
            Just(Frame::Goodbye),
            any::<u32>().prop_map(|number| Frame::Probe { number }),
            any::<u32>().prop_map(|number| Frame::Echo { number }),
        ]
    }

    fn ways() -> impl Strategy<Value = Way> {
        any::<(u32, u32, u64)>().prop_map(|(from, to, number)| Way { from, to, number })
    }

    proptest! {
        #[test]
        fn a_head_is_read_back(frame in frames(), way in ways(), behind in -2_000_000_000i64..2_000_000_000) {
            let key = Key::of_secret(b"a test");
            let head = frame.encode(&key, way);
            let sender = Sender::of(&head);
            prop_assert_eq!(sender.from, way.from);
            prop_assert_eq!(sender.number(way.number.wrapping_add_signed(behind)), way.number);
            prop_assert!(Frame::is_genuine(&key, way, &head));
            prop_assert_eq!(Frame::decode(&head), Ok(frame));
        }

        #[test]
        fn a_head_with_any_change_is_refused(frame in frames(), way in ways(), at in 0..HEAD_BYTES, change in 1u8..) {
            let key = Key::of_secret(b"a test");
            let mut head = frame.encode(&key, way);
            // Sender and number are taken from the head.
            let claimed = |head: &[u8; HEAD_BYTES]| {
                let sender = Sender::of(head);
                Way { from: sender.from, number: sender.number(way.number), ..way }
            };
            prop_assert!(Frame::is_genuine(&key, claimed(&head), &head));
            prop_assert!(!Frame::is_genuine(&Key::of_secret(b"another"), way, &head));
            let to_another = Way { to: way.to ^ u32::from(change), ..way };
            let long_ago = Way { number: way.number.wrapping_sub(1 << 32), ..way };
            prop_assert!(![to_another, long_ago].iter().any(|way| Frame::is_genuine(&key, *way, &head)));
            head[at] ^= change;
            prop_assert!(!Frame::is_genuine(&key, claimed(&head), &head));
        }

        #[test]
        fn any_bytes_are_a_frame_or_refused(bytes in any::<[u8; HEAD_BYTES]>(), kind in 0u8..11, zeros in any::<bool>()) {
            let mut bytes = bytes;
            if zeros {
                bytes[17..20].fill(0);
            }
            bytes[16] = kind;
            // What is taken for a frame means the same when it is sent on.
            if let Ok(frame) = Frame::decode(&bytes) {
                let way = Way { from: 1, to: 2, number: 3 };
                prop_assert_eq!(Frame::decode(&frame.encode(&Key::of_secret(b"a test"), way)), Ok(frame));
            }
        }
    }

    #[test]
    fn a_message_beyond_the_limit_is_refused() {
        let too_long = Frame::Message { protocol: 1, length: COPIED_LIMIT as u32 + 1, words: [0; 2] };
        let way = Way { from: 0, to: 1, number: 0 };
        assert_eq!(Frame::decode(&too_long.encode(&Key::of_secret(b""), way)), Err(Malformed));
    }
}
