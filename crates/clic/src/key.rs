//! The job's key, and the authentication tag in every header: SipHash-2-4 (Aumasson and Bernstein,
//! 2012), truncated to 32 bits.
//!
//! A sender that does not know the key guesses a valid tag once in 2^32 frames.

#![forbid(unsafe_code)]

use std::hash::Hasher;
use std::ops::Range;

use siphasher::sip::SipHasher24;

use super::frame::HeaderBytes;

/// The bytes of the tag in a header.
const TAG: Range<usize> = 4..8;

/// A secret of the job, which the launcher generates from random bits and distributes to every
/// process over its own channel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameKey(pub [u64; 2]);

impl std::fmt::Debug for FrameKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("FrameKey(secret)")
    }
}

impl FrameKey {
    /// Returns the tag over a header, whose own four tag bytes count as zero, and the body that
    /// follows it.
    #[inline]
    pub fn check(&self, header: &HeaderBytes, body: &[u8]) -> u32 {
        let mut unmarked = *header;
        unmarked[TAG].fill(0);
        let mut hasher = self.hasher();
        hasher.write(&unmarked);
        hasher.write(body);
        hasher.finish() as u32
    }

    /// Derives the key from a secret of the job of any length (HMAC-SHA256, RFC 2104).
    pub fn of_secret(secret: &[u8]) -> FrameKey {
        let hash = hmac_sha256::HMAC::mac(b"towpath: frames between hosts", secret);
        let (words, _) = hash.as_chunks::<8>();
        FrameKey([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    /// Derives a number from two others; it cannot be predicted without the key.
    pub(super) fn mix(&self, one: u64, other: u64) -> u64 {
        self.hash(&[one, other])
    }

    /// Returns the hash of `words`.
    #[inline]
    pub(crate) fn hash(&self, words: &[u64]) -> u64 {
        let mut hasher = self.hasher();
        words.iter().for_each(|word| hasher.write_u64(*word));
        hasher.finish()
    }

    #[inline]
    fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_keys(self.0[0], self.0[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated)]
    fn the_check_is_siphash() {
        use std::hash::SipHasher;
        let key = FrameKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let bytes: Vec<u8> = (0..64).collect();
        let mut header: HeaderBytes = bytes[..32].try_into().unwrap();
        header[4..8].fill(0);
        for body in [0, 4, 8, 28, 32] {
            let mut oracle = SipHasher::new_with_keys(key.0[0], key.0[1]);
            oracle.write(&header);
            oracle.write(&bytes[32..32 + body]);
            let mut with_check = header;
            with_check[4..8].fill(0xa5);
            assert_eq!(key.check(&with_check, &bytes[32..32 + body]), oracle.finish() as u32);
        }
        let mut oracle = SipHasher::new_with_keys(key.0[0], key.0[1]);
        oracle.write_u64(5);
        oracle.write_u64(6);
        assert_eq!(key.mix(5, 6), oracle.finish());
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", FrameKey([1, 2])), "FrameKey(secret)");
    }
}
