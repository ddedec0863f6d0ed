//! Priorities that are strings of bits, as those of nodes in a search tree: a string is more urgent
//! than one that follows it in the order of dictionaries. An integer is the string of its 32 bits
//! with the sign flipped. A longer or shorter string stands in front of the payload: how many bits
//! it has, and the words behind the first one, which is in the header.

use crate::pool::Block;

/// The sign of an integer.
const SIGN: u32 = 1 << 31;

/// A priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitPriority {
    words: Vec<u32>,
    bits: u32,
}

impl BitPriority {
    /// The first bits of these words, each of which begins with its most significant bit; `None` if
    /// the words have fewer.
    #[must_use]
    pub fn new(words: &[u32], bits: u32) -> Option<BitPriority> {
        let mut words = words.get(..bits.div_ceil(u32::BITS) as usize)?.to_vec();
        let used = bits % u32::BITS;
        if let Some(last) = words.last_mut().filter(|_| used > 0) {
            *last &= u32::MAX << (u32::BITS - used);
        }
        Some(BitPriority { words, bits })
    }

    /// How many bits it has.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The integer of its first 32 bits, and the words that follow unless it is just that integer.
    pub(crate) fn split(&self) -> (i32, Option<&[u32]>) {
        let first = self.words.first().copied().unwrap_or(0) ^ SIGN;
        let rest = self.words.get(1..).unwrap_or(&[]);
        (first.cast_signed(), (self.bits != u32::BITS).then_some(rest))
    }
}

/// Bytes in front of the payload, which stays aligned.
pub(crate) fn front_bytes(bits: u32) -> usize {
    let words = 1 + bits.div_ceil(u32::BITS).saturating_sub(1) as usize;
    (words * size_of::<u32>()).next_multiple_of(size_of::<Block>())
}
