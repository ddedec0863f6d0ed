//! The handshake of a new connection, in which two processes prove to each other that both know the
//! same key: the key of their job, or that on which two jobs have agreed.
//!
//! The connecting side names both processes, with a nonce and a keyed hash of everything (hello).
//! The accepting side answers with a nonce of its own and a keyed hash of all of it (challenge).
//! The connecting side answers with another hash of the same (proof). Then the accepting side tells
//! whether it takes the connection (verdict). The key itself is never sent. A stranger who does not
//! know it gets no answer, unless it repeats a recorded hello, which is challenged; but a recorded
//! proof answers no new challenge, because both nonces are random. The hash is HMAC-SHA256 (RFC
//! 2104). What follows on the connection is neither encrypted nor authenticated.
//!
//! Decodes untrusted input: every message has a fixed length and is compared as a whole.
#![forbid(unsafe_code)]

use hmac_sha256::HMAC;
use towpath_base::ids::{JobId, ProcessId};

/// Sizes of the messages in bytes.
pub(super) const HELLO_BYTES: usize = SAID_BYTES + 32;
pub(super) const CHALLENGE_BYTES: usize = 48;
pub(super) const PROOF_BYTES: usize = 32;
pub(super) const VERDICT_BYTES: usize = 8;

/// The part of a hello that its hash covers.
const SAID_BYTES: usize = 64;

/// First bytes of a hello; the last one is the version of the whole protocol.
const MAGIC: [u8; 8] = *b"towpath\x02";
const ACCEPTED: [u8; VERDICT_BYTES] = *b"accepted";
const REFUSED: [u8; VERDICT_BYTES] = *b"refused\0";

/// A random number that is used once.
pub(super) type Nonce = [u8; 16];

/// The secret that all processes of a job, or of two jobs that are connected, share, and that no
/// one else knows.
#[derive(Clone)]
pub struct ConnectionKey([u8; 32]);

impl std::fmt::Debug for ConnectionKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl ConnectionKey {
    /// Derives the key from a secret of any length.
    pub fn of_secret(secret: &[u8]) -> ConnectionKey {
        ConnectionKey(HMAC::mac(b"towpath: connections between hosts", secret))
    }

    fn hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.hasher(parts).finalize()
    }

    /// True if this is the hash of the parts; compares in constant time.
    fn is_hash(&self, parts: &[&[u8]], hash: &[u8; 32]) -> bool {
        self.hasher(parts).finalize_verify(hash)
    }

    fn hasher(&self, parts: &[&[u8]]) -> HMAC {
        let mut hasher = HMAC::new(self.0);
        parts.iter().for_each(|part| hasher.update(part));
        hasher
    }
}

/// The contents of a hello: who connects to whom, with the connecting side's nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) from: ProcessId,
    pub(super) to: ProcessId,
    pub(super) nonce: Nonce,
}

impl Hello {
    /// What the hello says: [`MAGIC`], job and rank of both processes, and the nonce.
    fn said(&self) -> [u8; SAID_BYTES] {
        let mut bytes = [0; SAID_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        for (at, process) in [(8, self.from), (28, self.to)] {
            bytes[at..at + 16].copy_from_slice(&process.job.0.to_le_bytes());
            bytes[at + 16..at + 20].copy_from_slice(&process.rank.to_le_bytes());
        }
        bytes[48..].copy_from_slice(&self.nonce);
        bytes
    }

    /// Decodes what [`Hello::said`] encodes, except for [`MAGIC`].
    pub(super) fn parse(said: &[u8; SAID_BYTES]) -> Hello {
        let number = |at: usize, length: usize| {
            said[at..at + length].iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
        };
        let process =
            |at| ProcessId { job: JobId(number(at, 16)), rank: number(at + 16, 4) as u32 };
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&said[48..]);
        Hello { from: process(8), to: process(28), nonce }
    }

    /// The wire format.
    pub(super) fn encode(&self, key: &ConnectionKey) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..SAID_BYTES].copy_from_slice(&self.said());
        bytes[SAID_BYTES..].copy_from_slice(&key.hash(&[b"hello", &self.said()]));
        bytes
    }

    /// Decodes a hello, and returns it with the key that `key_of` returns for it, under which the
    /// rest of the handshake continues. `None` if the hello is malformed, there is no such key, or
    /// the hello was not made with it.
    pub(super) fn decode<'a>(
        bytes: &[u8; HELLO_BYTES],
        key_of: impl FnOnce(&Hello) -> Option<&'a ConnectionKey>,
    ) -> Option<(Hello, &'a ConnectionKey)> {
        let (said, hash) = bytes.split_first_chunk::<SAID_BYTES>()?;
        let hello = Hello::parse(said);
        let key = key_of(&hello)?;
        (hello.said() == *said && key.is_hash(&[b"hello", said], hash.first_chunk()?))
            .then_some((hello, key))
    }

    /// The answer to this hello, with the accepting side's nonce.
    pub(super) fn challenge(&self, key: &ConnectionKey, nonce: &Nonce) -> [u8; CHALLENGE_BYTES] {
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes[..16].copy_from_slice(nonce);
        bytes[16..].copy_from_slice(&key.hash(&[b"challenge", &self.said(), nonce]));
        bytes
    }

    /// The proof that answers a challenge; `None` if the sender of the challenge does not know the
    /// key or answers another hello.
    pub(super) fn proof(
        &self,
        key: &ConnectionKey,
        challenge: &[u8; CHALLENGE_BYTES],
    ) -> Option<[u8; PROOF_BYTES]> {
        let (nonce, hash) = challenge.split_first_chunk::<16>()?;
        let is_known = key.is_hash(&[b"challenge", &self.said(), nonce], hash.first_chunk()?);
        is_known.then(|| self.proof_of(key, nonce))
    }

    /// True if this is the proof that answers the challenge with this nonce.
    pub(super) fn is_proved(
        &self,
        key: &ConnectionKey,
        nonce: &Nonce,
        proof: &[u8; PROOF_BYTES],
    ) -> bool {
        key.is_hash(&[b"proof", &self.said(), nonce], proof)
    }

    fn proof_of(&self, key: &ConnectionKey, nonce: &Nonce) -> [u8; PROOF_BYTES] {
        key.hash(&[b"proof", &self.said(), nonce])
    }
}

/// The last message of the handshake, after both sides are authenticated.
pub(super) fn verdict(accepted: bool) -> [u8; VERDICT_BYTES] {
    if accepted { ACCEPTED } else { REFUSED }
}

/// Decodes a verdict; `None` if it is malformed.
pub(super) fn read_verdict(bytes: &[u8; VERDICT_BYTES]) -> Option<bool> {
    match *bytes {
        ACCEPTED => Some(true),
        REFUSED => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn process(job: u128, rank: u32) -> ProcessId {
        ProcessId { job: JobId(job), rank }
    }

    const HELLO: Hello = Hello { from: process(1 << 100, 7), to: process(2, 300), nonce: [5; 16] };

    /// The hello that is decoded from these bytes under a key.
    fn decode(bytes: &[u8; HELLO_BYTES], key: &ConnectionKey) -> Option<Hello> {
        Hello::decode(bytes, |_| Some(key)).map(|(hello, _)| hello)
    }

    #[test]
    fn both_sides_prove_that_they_know_the_key() {
        let key = ConnectionKey::of_secret(b"secret");
        assert_eq!(decode(&HELLO.encode(&key), &key), Some(HELLO));
        let proof = HELLO.proof(&key, &HELLO.challenge(&key, &[6; 16])).unwrap();
        assert!(HELLO.is_proved(&key, &[6; 16], &proof));
        assert!(!HELLO.is_proved(&key, &[7; 16], &proof), "a proof of another connection");
        assert_eq!(
            [true, false].map(|said| read_verdict(&verdict(said))),
            [Some(true), Some(false)]
        );
    }

    #[test]
    fn another_key_proves_nothing() {
        let (key, other) =
            (ConnectionKey::of_secret(b"secret"), ConnectionKey::of_secret(b"Secret"));
        assert_eq!(decode(&HELLO.encode(&other), &key), None);
        assert_eq!(HELLO.proof(&key, &HELLO.challenge(&other, &[6; 16])), None);
        let forged = HELLO.proof_of(&other, &[6; 16]);
        assert!(!HELLO.is_proved(&key, &[6; 16], &forged));
    }

    #[test]
    fn nothing_that_is_sent_can_be_sent_back() {
        let key = ConnectionKey::of_secret(b"secret");
        // The hashes of one step differ from those of the others and of the other direction.
        let back = Hello { from: HELLO.to, to: HELLO.from, ..HELLO };
        let challenge = HELLO.challenge(&key, &HELLO.nonce);
        assert_ne!(challenge[16..], HELLO.encode(&key)[SAID_BYTES..]);
        assert_ne!(challenge[16..], HELLO.proof_of(&key, &HELLO.nonce));
        assert_eq!(back.proof(&key, &challenge), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), HELLO_BYTES), flip in 0..8 * HELLO_BYTES) {
            let key = ConnectionKey::of_secret(b"secret");
            let random: [u8; HELLO_BYTES] = bytes.try_into().unwrap();
            prop_assert_eq!(decode(&random, &key), None);
            let mut damaged = HELLO.encode(&key);
            damaged[flip / 8] ^= 1 << (flip % 8);
            prop_assert_eq!(decode(&damaged, &key), None);
            let mut challenge = HELLO.challenge(&key, &[6; 16]);
            challenge[flip / 8 % CHALLENGE_BYTES] ^= 1 << (flip % 8);
            prop_assert_eq!(HELLO.proof(&key, &challenge), None);
            prop_assert_eq!(read_verdict(random.first_chunk().unwrap()), None);
        }
    }
}
