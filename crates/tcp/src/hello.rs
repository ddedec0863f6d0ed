//! How two processes of a job prove to each other, when a connection opens, that both know the
//! job's key.
//!
//! Whoever connects says who it is with a number of its own and a keyed hash of both (hello); the
//! other side answers with a number of its own and a keyed hash of all (challenge); the first one
//! answers with another hash of the same (proof); then the second one says whether it takes the
//! connection (verdict). The key itself never travels, a stranger who does not know it is not
//! answered at all, and what was recorded on another connection proves nothing, because both
//! numbers are random. The hash is HMAC-SHA256 (RFC 2104). What follows on the connection is
//! neither encrypted nor authenticated.
//!
//! A decoder of bytes from outside: every message has a fixed length and is compared as a whole.
#![forbid(unsafe_code)]

use hmac_sha256::HMAC;

/// Bytes of the messages.
pub(super) const HELLO_BYTES: usize = 64;
pub(super) const CHALLENGE_BYTES: usize = 48;
pub(super) const PROOF_BYTES: usize = 32;
pub(super) const VERDICT_BYTES: usize = 8;

/// First bytes of a hello; the last one is the version of everything that follows.
const MAGIC: [u8; 8] = *b"towpath\x01";
const ACCEPTED: [u8; VERDICT_BYTES] = *b"accepted";
const REFUSED: [u8; VERDICT_BYTES] = *b"refused\0";

/// A random number that is used once.
pub(super) type Nonce = [u8; 16];

/// What all processes of a job know and nobody else does.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key")
    }
}

impl Key {
    /// The key that comes of a secret of the job, of any length.
    pub fn of_secret(secret: &[u8]) -> Key {
        Key(HMAC::mac(b"towpath: connections between hosts", secret))
    }

    fn hash(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hash = HMAC::new(self.0);
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize()
    }
}

/// Whether two hashes are equal, in a time that does not depend on where they differ.
fn equal(left: &[u8], right: &[u8; 32]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// Who opens a connection to whom, with the number of whoever opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) nonce: Nonce,
}

impl Hello {
    fn said(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.from.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.to.to_le_bytes());
        bytes[16..].copy_from_slice(&self.nonce);
        bytes
    }

    /// As it travels.
    pub(super) fn encode(&self, key: &Key) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..32].copy_from_slice(&self.said());
        bytes[32..].copy_from_slice(&key.hash(&[b"hello", &self.said()]));
        bytes
    }

    /// Reads a hello; `None` when it was not made with this key, or is something else.
    pub(super) fn decode(bytes: &[u8; HELLO_BYTES], key: &Key) -> Option<Hello> {
        let (said, hash) = bytes.split_first_chunk::<32>()?;
        let number = |at: usize| said[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let hello = Hello { from: number(8), to: number(12), nonce: *said.last_chunk()? };
        (hello.said() == *said && equal(hash, &key.hash(&[b"hello", said]))).then_some(hello)
    }

    /// The answer to this hello, with the answerer's number.
    pub(super) fn challenge(&self, key: &Key, nonce: &Nonce) -> [u8; CHALLENGE_BYTES] {
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes[..16].copy_from_slice(nonce);
        bytes[16..].copy_from_slice(&key.hash(&[b"challenge", &self.said(), nonce]));
        bytes
    }

    /// The proof that answers a challenge; `None` when whoever sent the challenge does not know the
    /// key, or answered another hello.
    pub(super) fn proof(&self, key: &Key, challenge: &[u8; CHALLENGE_BYTES]) -> Option<[u8; PROOF_BYTES]> {
        let (nonce, hash) = challenge.split_first_chunk::<16>()?;
        equal(hash, &key.hash(&[b"challenge", &self.said(), nonce])).then(|| self.proof_of(key, nonce))
    }

    /// Whether this is the proof that answers the challenge with that number.
    pub(super) fn is_proved(&self, key: &Key, nonce: &Nonce, proof: &[u8; PROOF_BYTES]) -> bool {
        equal(proof, &self.proof_of(key, nonce))
    }

    fn proof_of(&self, key: &Key, nonce: &Nonce) -> [u8; PROOF_BYTES] {
        key.hash(&[b"proof", &self.said(), nonce])
    }
}

/// The last word on a connection whose both sides are proved.
pub(super) fn verdict(accepted: bool) -> [u8; VERDICT_BYTES] {
    if accepted { ACCEPTED } else { REFUSED }
}

/// Reads a verdict; `None` when it is none.
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

    const HELLO: Hello = Hello { from: 7, to: 300, nonce: [5; 16] };

    #[test]
    fn both_sides_prove_that_they_know_the_key() {
        let key = Key::of_secret(b"secret");
        assert_eq!(Hello::decode(&HELLO.encode(&key), &key), Some(HELLO));
        let proof = HELLO.proof(&key, &HELLO.challenge(&key, &[6; 16])).unwrap();
        assert!(HELLO.is_proved(&key, &[6; 16], &proof));
        assert!(!HELLO.is_proved(&key, &[7; 16], &proof), "a proof of another connection");
        assert_eq!([true, false].map(|said| read_verdict(&verdict(said))), [Some(true), Some(false)]);
    }

    #[test]
    fn another_key_proves_nothing() {
        let (key, other) = (Key::of_secret(b"secret"), Key::of_secret(b"Secret"));
        assert_eq!(Hello::decode(&HELLO.encode(&other), &key), None);
        assert_eq!(HELLO.proof(&key, &HELLO.challenge(&other, &[6; 16])), None);
        let forged = HELLO.proof_of(&other, &[6; 16]);
        assert!(!HELLO.is_proved(&key, &[6; 16], &forged));
    }

    #[test]
    fn nothing_that_is_sent_can_be_sent_back() {
        let key = Key::of_secret(b"secret");
        // Hashes of one step are not those of another, nor those of the other direction.
        let back = Hello { from: HELLO.to, to: HELLO.from, ..HELLO };
        let challenge = HELLO.challenge(&key, &HELLO.nonce);
        assert_ne!(challenge[16..], HELLO.encode(&key)[32..]);
        assert_ne!(challenge[16..], HELLO.proof_of(&key, &HELLO.nonce));
        assert_eq!(back.proof(&key, &challenge), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), HELLO_BYTES), flip in 0..8 * HELLO_BYTES) {
            let key = Key::of_secret(b"secret");
            let random: [u8; HELLO_BYTES] = bytes.try_into().unwrap();
            prop_assert_eq!(Hello::decode(&random, &key), None);
            let mut damaged = HELLO.encode(&key);
            damaged[flip / 8] ^= 1 << (flip % 8);
            prop_assert_eq!(Hello::decode(&damaged, &key), None);
            let mut challenge = HELLO.challenge(&key, &[6; 16]);
            challenge[flip / 8 % CHALLENGE_BYTES] ^= 1 << (flip % 8);
            prop_assert_eq!(HELLO.proof(&key, &challenge), None);
            prop_assert_eq!(read_verdict(random.first_chunk().unwrap()), None);
        }
    }
}
