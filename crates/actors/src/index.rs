//! The index of a chare in its collection.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// Words of the longest index: arrays have up to six dimensions.
pub const LONGEST: usize = 6;

/// Up to six words of 32 bits: the coordinates of an array element, the rank of a branch of a
/// group, or the words of an index type of the program. Words that are not used are zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "AnyIndex")]
pub struct Index {
    words: [i32; LONGEST],
    length: u8,
}

/// By the length of an index: all bits of the words that it uses.
const USED: [[i32; LONGEST]; LONGEST + 1] = {
    let mut masks = [[0; LONGEST]; LONGEST + 1];
    let mut length = 0;
    while length <= LONGEST {
        let mut at = 0;
        while at < length {
            masks[length][at] = -1;
            at += 1;
        }
        length += 1;
    }
    masks
};

/// What was read as an index.
#[derive(Deserialize)]
struct AnyIndex {
    words: [i32; LONGEST],
    length: u8,
}

impl TryFrom<AnyIndex> for Index {
    type Error = &'static str;

    fn try_from(AnyIndex { words, length }: AnyIndex) -> Result<Index, &'static str> {
        let used = words.get(..usize::from(length)).ok_or("an index has six words at most")?;
        Index::new(used).ok_or("an index has six words at most")
    }
}

impl Index {
    /// An index of these words; `None` if there are more than [`LONGEST`].
    #[must_use]
    pub fn new(words: &[i32]) -> Option<Index> {
        let mut all = [0; LONGEST];
        all.get_mut(..words.len())?.copy_from_slice(words);
        Some(Index { words: all, length: u8::try_from(words.len()).ok()? })
    }

    /// The index of the first so many of these words; `None` if an index has less.
    #[inline]
    #[must_use]
    pub fn of(mut words: [i32; LONGEST], length: u8) -> Option<Index> {
        let masks = USED.get(usize::from(length))?;
        for (word, mask) in words.iter_mut().zip(masks) {
            *word &= mask;
        }
        Some(Index { words, length })
    }

    /// All its words, with zeros behind those that it uses, and how many it uses.
    #[inline]
    #[must_use]
    pub fn parts(&self) -> ([i32; LONGEST], u8) {
        (self.words, self.length)
    }

    /// The index of one word.
    #[must_use]
    pub fn one(word: i32) -> Index {
        Index { words: [word, 0, 0, 0, 0, 0], length: 1 }
    }

    /// Its words.
    #[must_use]
    pub fn words(&self) -> &[i32] {
        &self.words[..self.length as usize]
    }
}

impl Hash for Index {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for pair in self.words().chunks(2) {
            let high = pair.get(1).copied().unwrap_or(0);
            state.write_u64(
                u64::from(high.cast_unsigned()) << 32 | u64::from(pair[0].cast_unsigned()),
            );
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words().iter().map(i32::to_string).collect();
        write!(out, "[{}]", words.join(", "))
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
