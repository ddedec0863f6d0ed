//! Messages on a board of blocks whose lengths only their owners know.
//!
//! A message has blocks one behind another, and at its end a *record* of each: a word that says
//! where the block ends, or that it is sent apart, by a message of its own. So the owner of a block
//! says how it comes, and the other ranks act on that: ranks that disagree about a length do not
//! wait for each other (the same between hosts: `towpath_schedule::hierarchy::records`). The
//! records are behind the blocks so that the first block, often the only one, is aligned.

use towpath_engine::board::Posted;
use towpath_schedule::select::Subscription;

/// Bytes of a record.
const RECORD: usize = 4;
/// Says that the block is sent apart. The other bits of such a record are the end of the block
/// before it.
const APART: u32 = 1 << 31;
/// Fewest bytes for a block and its record, so that records are worth it.
const LEAST: usize = 16;
/// Longest block in a message when not oversubscribed. Longer ones are sent apart: messages copy
/// piece by piece, so that writer and reader work at the same time.
const LONGEST: usize = 64 << 10;

/// The blocks of a message, and their records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    pub(super) number: usize,
    longest: usize,
}

impl Records {
    /// The records of `number` blocks in messages of up to `largest` bytes.
    pub(super) fn new(number: usize, largest: usize, subscription: Subscription) -> Records {
        let longest = (largest / number.max(1)).saturating_sub(RECORD);
        let most = if subscription == Subscription::Full { LONGEST } else { usize::MAX };
        Records { number, longest: longest.min(most) }
    }

    /// True if messages of up to `largest` bytes have room for `number` blocks.
    pub(super) fn fit(number: usize, largest: usize) -> bool {
        number.saturating_mul(LEAST) <= largest
    }

    /// Bytes of a message whose blocks have `bytes` bytes.
    pub(super) fn bytes(self, bytes: usize) -> usize {
        bytes + self.number * RECORD
    }

    /// Bytes of `number` records.
    pub(super) fn alone(number: usize) -> i64 {
        (number * RECORD) as i64
    }

    /// The bytes of a block of this length in the message; `None` if it is sent apart.
    pub(super) fn held(self, bytes: i64) -> Option<usize> {
        usize::try_from(bytes).ok().filter(|&bytes| bytes <= self.longest)
    }

    /// The record of a block that ends at `end`, or of one that is sent apart behind that.
    pub(super) fn record(end: usize, is_apart: bool) -> [u8; RECORD] {
        (end as u32 | if is_apart { APART } else { 0 }).to_le_bytes()
    }

    /// The block with this index in a message; `None` if it is sent apart. What is missing, the
    /// message does not have.
    pub(super) fn block(self, posted: Posted, index: usize) -> Option<Posted> {
        let records = (self.number * RECORD).min(posted.length);
        let blocks = posted.length - records;
        let word = |index: usize| {
            let at = blocks + index * RECORD;
            if at + RECORD > posted.length {
                return 0;
            }
            // SAFETY: the bytes are within the message, which stays readable during its round.
            u32::from_le_bytes(unsafe { posted.pointer.add(at).cast().read() })
        };
        let end = |word: u32| ((word & !APART) as usize).min(blocks);
        let (own, first) = (word(index), if index > 0 { end(word(index - 1)) } else { 0 });
        if own & APART != 0 {
            return None;
        }
        // SAFETY: `first` is at most the length of the message.
        let pointer = unsafe { posted.pointer.add(first) };
        Some(Posted { pointer, length: end(own).saturating_sub(first), ..posted })
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    /// What is read of a message: the bytes of each block, or `None`.
    fn read(records: Records, message: &mut [u8]) -> Vec<Option<Vec<u8>>> {
        let pointer = NonNull::new(message.as_mut_ptr()).unwrap();
        let posted = Posted { stamp: 7, pointer, length: message.len() };
        let bytes = |block: Posted| {
            // SAFETY: the block is within the message.
            unsafe { std::slice::from_raw_parts(block.pointer.as_ptr(), block.length) }.to_vec()
        };
        (0..records.number).map(|index| records.block(posted, index).map(bytes)).collect()
    }

    #[test]
    fn a_message_has_its_blocks() {
        let records = Records::new(5, 5 * (6 + RECORD), Subscription::Over);
        let lengths = [3, 0, 6, 7, 1];
        let (mut message, mut ends) = (Vec::new(), Vec::new());
        for (index, &length) in lengths.iter().enumerate() {
            let held = records.held(length);
            message.extend(vec![index as u8; held.unwrap_or(0)]);
            ends.extend(Records::record(message.len(), held.is_none()));
        }
        message.extend(ends);
        assert_eq!(message.len(), records.bytes(3 + 6 + 1));
        let blocks = [Some(vec![0; 3]), Some(vec![]), Some(vec![2; 6]), None, Some(vec![4])];
        assert_eq!(read(records, &mut message), blocks);
    }

    #[test]
    fn records_that_fit_leave_room_for_blocks() {
        for (number, largest) in [(1, LEAST), (128, 2048), (512, 8192), (7, 1000)] {
            assert!(Records::fit(number, largest));
            let records = Records::new(number, largest, Subscription::Over);
            assert!(records.held((LEAST - RECORD) as i64).is_some());
            assert!(records.bytes(number * records.longest) <= largest);
        }
        for (number, largest) in [(1, LEAST - 1), (129, 2048), (513, 4096), (usize::MAX, 8192)] {
            assert!(!Records::fit(number, largest));
        }
    }

    #[test]
    fn no_block_reaches_beyond_its_message() {
        let records = Records::new(3, 1000, Subscription::Over);
        for length in 0..40 {
            for word in [0, 1, 5, 20, 1000, APART - 1] {
                let mut message = vec![0; length];
                let words = message.chunks_exact_mut(RECORD);
                words.for_each(|bytes| bytes.copy_from_slice(&word.to_le_bytes()));
                let blocks = length.saturating_sub(3 * RECORD);
                for block in read(records, &mut message).into_iter().flatten() {
                    assert!(block.len() <= blocks, "{length} {word}");
                }
            }
        }
    }

    #[test]
    fn long_blocks_are_sent_apart() {
        let records = |subscription| Records::new(1, 256 << 10, subscription);
        let longest = (256 << 10) - RECORD as i64;
        assert!(records(Subscription::Over).held(longest).is_some());
        assert!(records(Subscription::Over).held(longest + 1).is_none());
        assert!(records(Subscription::Full).held(LONGEST as i64).is_some());
        assert!(records(Subscription::Full).held(LONGEST as i64 + 1).is_none());
        assert!(records(Subscription::Full).held(-1).is_none());
    }
}
