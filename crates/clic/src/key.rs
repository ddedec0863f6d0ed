//! The job's key, and the authentication tag in every header: SipHash-2-4 (Aumasson and Bernstein,
//! 2012), truncated to 32 bits.
//!
//! A sender that does not know the key guesses a valid tag once in 2^32 frames. Fast path: 12
//! rounds per header.

#![forbid(unsafe_code)]

use super::frame::HEADER_BYTES;

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
    pub fn check(&self, header: &[u8; HEADER_BYTES], body: &[u8]) -> u32 {
        let mut sip = Sip::new(self.0);
        let (words, _) = header.as_chunks::<8>();
        sip.absorb(u64::from_le_bytes(words[0]) & u64::from(u32::MAX));
        words[1..].iter().for_each(|word| sip.absorb(u64::from_le_bytes(*word)));
        let (words, rest) = body.as_chunks::<8>();
        words.iter().for_each(|word| sip.absorb(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = (HEADER_BYTES + body.len()) as u8;
        sip.absorb(u64::from_le_bytes(last));
        sip.finish() as u32
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
        let mut sip = Sip::new(self.0);
        words.iter().for_each(|word| sip.absorb(*word));
        sip.absorb((8 * words.len() as u64) << 56);
        sip.finish()
    }
}

struct Sip([u64; 4]);

impl Sip {
    #[inline]
    fn new([low, high]: [u64; 2]) -> Sip {
        Sip([
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ])
    }

    #[inline]
    fn round(&mut self) {
        let [a, b, c, d] = &mut self.0;
        *a = a.wrapping_add(*b);
        *c = c.wrapping_add(*d);
        *b = b.rotate_left(13) ^ *a;
        *d = d.rotate_left(16) ^ *c;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*b);
        *a = a.wrapping_add(*d);
        *b = b.rotate_left(17) ^ *c;
        *d = d.rotate_left(21) ^ *a;
        *c = c.rotate_left(32);
    }

    #[inline]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        (0..4).for_each(|_| self.round());
        self.0.iter().fold(0, |all, word| all ^ word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(deprecated)]
    fn the_check_is_siphash() {
        use std::hash::{Hasher, SipHasher};
        let key = FrameKey([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);
        let bytes: Vec<u8> = (0..64).collect();
        let mut header: [u8; HEADER_BYTES] = bytes[..32].try_into().unwrap();
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
