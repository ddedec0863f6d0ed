//! The header of a message on the fabric, with an authentication code that only processes of the
//! job can compute.
//!
//! A fabric does not authenticate the sender of a message. So each header carries the SipHash-2-4
//! of itself, of the message's number between these two processes, and of its receiver, under a key
//! of the job. A forged message passes with a probability of 2^-64, and a replayed one never.
//! Payloads are not covered.
//!
//! Decodes untrusted input: only sender and number are used before the check.
#![forbid(unsafe_code)]

use std::hash::Hasher;

use hmac_sha256::HMAC;
use siphasher::sip::SipHasher24;

use super::COPIED_LIMIT;

/// Size of a header in bytes.
pub(super) const HEAD_BYTES: usize = 48;

/// The secret that all processes of a job share, and that no one else knows.
#[derive(Clone, Copy)]
pub struct FabricKey([u64; 2]);

impl std::fmt::Debug for FabricKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl FabricKey {
    /// Derives the key from a secret of the job, of any length.
    pub fn of_secret(secret: &[u8]) -> FabricKey {
        let hash = HMAC::mac(b"towpath: messages over libfabric", secret);
        let (words, _) = hash.as_chunks::<8>();
        FabricKey([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    /// A number that is unpredictable without the key.
    pub(super) fn number(&self, one: u64, other: u64) -> u64 {
        self.hash(&[one, other])
    }

    fn hash(&self, words: &[u64]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.0[0], self.0[1]);
        words.iter().for_each(|word| hasher.write_u64(*word));
        hasher.finish()
    }
}

/// The error for a header that no process of this job encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// One message, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FabricFrame {
    /// A message of the engine; `length` bytes of payload follow.
    Message { protocol: u8, length: u32, words: [u64; 2] },
    /// Requests the first `wanted` bytes of the region `name`, for the requester's pull `number`.
    Pull { number: u32, name: u64, wanted: u64 },
    /// Releases the region `name` unread.
    Release { name: u64 },
    /// The next `length` bytes for the pull `number` may be read at `address`; `last` if no more
    /// follow.
    Grant { number: u32, last: bool, address: u64, key: u64, length: u64 },
    /// The oldest outstanding grant of the region `name` has been read.
    Done { name: u64 },
    /// The sender has left MPI: nothing follows.
    Goodbye,
    /// Requests an echo with this number.
    Probe { number: u32 },
    /// Answers a probe.
    Echo { number: u32 },
}

/// The sender that a message claims, and the lower half of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) from: u32,
    pub(super) low: u32,
}

impl Sender {
    /// Reads the claim, which is not verified yet.
    pub(super) fn of(head: &[u8; HEAD_BYTES]) -> Sender {
        let (words, _) = head.as_chunks::<4>();
        Sender { from: u32::from_le_bytes(words[2]), low: u32::from_le_bytes(words[3]) }
    }

    /// The complete number of the message, provided that it is near `expected`.
    pub(super) fn number(&self, expected: u64) -> u64 {
        expected.wrapping_add_signed(i64::from(self.low.wrapping_sub(expected as u32) as i32))
    }
}

/// The sender, the receiver and the number of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageWay {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) number: u64,
}

fn check(key: &FabricKey, way: MessageWay, head: &[u8; HEAD_BYTES]) -> u64 {
    let (words, _) = head.as_chunks::<8>();
    let word = |at: usize| u64::from_le_bytes(words[at]);
    let pair = u64::from(way.from) | u64::from(way.to) << 32;
    key.hash(&[pair, way.number, word(2), word(3), word(4), word(5)])
}

impl FabricFrame {
    /// The wire format: eight bytes of authentication code, sender, number, kind, protocol, two
    /// zero bytes, a number of four bytes, three numbers of eight bytes; little-endian.
    pub(super) fn encode(&self, key: &FabricKey, way: MessageWay) -> [u8; HEAD_BYTES] {
        let (kind, protocol, short, words) = match *self {
            FabricFrame::Message { protocol, length, words } => {
                (1, protocol, length, [words[0], words[1], 0])
            }
            FabricFrame::Pull { number, name, wanted } => (2, 0, number, [name, wanted, 0]),
            FabricFrame::Release { name } => (3, 0, 0, [name, 0, 0]),
            FabricFrame::Grant { number, last, address, key, length } => {
                (4 + u8::from(last), 0, number, [address, key, length])
            }
            FabricFrame::Done { name } => (6, 0, 0, [name, 0, 0]),
            FabricFrame::Goodbye => (7, 0, 0, [0; 3]),
            FabricFrame::Probe { number } => (8, 0, number, [0; 3]),
            FabricFrame::Echo { number } => (9, 0, number, [0; 3]),
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

    /// True if a process of the job has sent this header as message `way`.
    pub(super) fn is_genuine(key: &FabricKey, way: MessageWay, head: &[u8; HEAD_BYTES]) -> bool {
        let said = u64::from_le_bytes(*head.first_chunk().expect("a head is longer"));
        check(key, way, head) == said
    }

    /// Decodes an authentic header.
    pub(super) fn decode(head: &[u8; HEAD_BYTES]) -> Result<FabricFrame, Malformed> {
        let [.., kind, protocol, 0, 0, s0, s1, s2, s3] =
            *head.first_chunk::<24>().expect("a head is longer")
        else {
            return Err(Malformed);
        };
        let short = u32::from_le_bytes([s0, s1, s2, s3]);
        let (words, _) = head[24..].as_chunks::<8>();
        let words = [0, 1, 2].map(|at: usize| u64::from_le_bytes(words[at]));
        Ok(match (kind, protocol, words) {
            (1, _, [one, two, 0]) if short as usize <= COPIED_LIMIT => {
                FabricFrame::Message { protocol, length: short, words: [one, two] }
            }
            (2, 0, [name, wanted, 0]) if wanted > 0 => {
                FabricFrame::Pull { number: short, name, wanted }
            }
            (3, 0, [name, 0, 0]) if short == 0 => FabricFrame::Release { name },
            (4 | 5, 0, [address, key, length]) if kind == 5 || length > 0 => {
                FabricFrame::Grant { number: short, last: kind == 5, address, key, length }
            }
            (6, 0, [name, 0, 0]) if short == 0 => FabricFrame::Done { name },
            (7, 0, [0, 0, 0]) if short == 0 => FabricFrame::Goodbye,
            (8, 0, [0, 0, 0]) => FabricFrame::Probe { number: short },
            (9, 0, [0, 0, 0]) => FabricFrame::Echo { number: short },
            _ => return Err(Malformed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = FabricFrame> {
        prop_oneof![
            (any::<u8>(), 0..=COPIED_LIMIT as u32, any::<[u64; 2]>()).prop_map(
                |(protocol, length, words)| FabricFrame::Message { protocol, length, words }
            ),
            (any::<u32>(), any::<u64>(), 1u64..)
                .prop_map(|(number, name, wanted)| FabricFrame::Pull { number, name, wanted }),
            any::<u64>().prop_map(|name| FabricFrame::Release { name }),
            (any::<u32>(), any::<bool>(), any::<[u64; 2]>(), 1u64..).prop_map(
                |(number, last, [address, key], length)| FabricFrame::Grant {
                    number,
                    last,
                    address,
                    key,
                    length
                }
            ),
            any::<u64>().prop_map(|name| FabricFrame::Done { name }),
            Just(FabricFrame::Goodbye),
            any::<u32>().prop_map(|number| FabricFrame::Probe { number }),
            any::<u32>().prop_map(|number| FabricFrame::Echo { number }),
        ]
    }

    fn ways() -> impl Strategy<Value = MessageWay> {
        any::<(u32, u32, u64)>().prop_map(|(from, to, number)| MessageWay { from, to, number })
    }

    proptest! {
        #[test]
        fn a_head_is_read_back(frame in frames(), way in ways(), behind in -2_000_000_000i64..2_000_000_000) {
            let key = FabricKey::of_secret(b"a test");
            let head = frame.encode(&key, way);
            let sender = Sender::of(&head);
            prop_assert_eq!(sender.from, way.from);
            prop_assert_eq!(sender.number(way.number.wrapping_add_signed(behind)), way.number);
            prop_assert!(FabricFrame::is_genuine(&key, way, &head));
            prop_assert_eq!(FabricFrame::decode(&head), Ok(frame));
        }

        #[test]
        fn a_head_with_any_change_is_refused(frame in frames(), way in ways(), at in 0..HEAD_BYTES, change in 1u8..) {
            let key = FabricKey::of_secret(b"a test");
            let mut head = frame.encode(&key, way);
            // Sender and number are taken from the header.
            let claimed = |head: &[u8; HEAD_BYTES]| {
                let sender = Sender::of(head);
                MessageWay { from: sender.from, number: sender.number(way.number), ..way }
            };
            prop_assert!(FabricFrame::is_genuine(&key, claimed(&head), &head));
            prop_assert!(!FabricFrame::is_genuine(&FabricKey::of_secret(b"another"), way, &head));
            let to_another = MessageWay { to: way.to ^ u32::from(change), ..way };
            let long_ago = MessageWay { number: way.number.wrapping_sub(1 << 32), ..way };
            prop_assert!(![to_another, long_ago].iter().any(|way| FabricFrame::is_genuine(&key, *way, &head)));
            head[at] ^= change;
            prop_assert!(!FabricFrame::is_genuine(&key, claimed(&head), &head));
        }

        #[test]
        fn any_bytes_are_a_frame_or_refused(bytes in any::<[u8; HEAD_BYTES]>(), kind in 0u8..11, zeros in any::<bool>()) {
            let mut bytes = bytes;
            if zeros {
                bytes[17..20].fill(0);
            }
            bytes[16] = kind;
            // A frame that decodes must survive encoding.
            if let Ok(frame) = FabricFrame::decode(&bytes) {
                let way = MessageWay { from: 1, to: 2, number: 3 };
                prop_assert_eq!(FabricFrame::decode(&frame.encode(&FabricKey::of_secret(b"a test"), way)), Ok(frame));
            }
        }
    }

    #[test]
    fn a_message_beyond_the_limit_is_refused() {
        let too_long =
            FabricFrame::Message { protocol: 1, length: COPIED_LIMIT as u32 + 1, words: [0; 2] };
        let way = MessageWay { from: 0, to: 1, number: 0 };
        assert_eq!(
            FabricFrame::decode(&too_long.encode(&FabricKey::of_secret(b""), way)),
            Err(Malformed)
        );
    }
}
