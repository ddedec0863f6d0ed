//! Messages of records, for blocks whose lengths only some ranks know.
//!
//! A record is the length of a block in 4 bytes, and then the block. A block longer than a limit,
//! which all ranks derive from their team, is sent apart, from its owner straight to the rank that
//! needs it; its record is only a mark. So the owner of a block says how it comes, and the others
//! act on that: ranks that disagree about a length do not wait for each other.

use crate::buffers::{Blocks, Element, Piece, Scratch};
use crate::builder::{Builder, Mark};
use crate::hierarchy::movement::pieces_of;

/// Turns of messages of records, and of blocks that are sent apart.
const RECORDS: usize = 0;
pub(super) const APART: usize = 1;

/// Bytes of the length.
const HEAD: i64 = 4;
/// The length of a block that is sent apart.
const MARK: u32 = u32::MAX;

/// The records of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    /// Most bytes of a block in a record.
    longest: i64,
}

/// A record in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Its first byte.
    pub(super) first: i64,
    /// Bytes of the block in it.
    bytes: i64,
    /// True if the block is sent apart.
    pub(super) is_apart: bool,
}

impl Record {
    /// Bytes of the record.
    pub(super) fn length(self) -> i64 {
        HEAD + self.bytes
    }
}

impl Records {
    /// Records for blocks of up to `longest` bytes.
    pub(super) const fn up_to(longest: i64) -> Records {
        assert!(longest < MARK as i64, "a length is not the mark");
        Records { longest }
    }

    /// The same for records of which there may be `number` in `bytes` bytes.
    pub(super) fn within(self, bytes: i64, number: usize) -> Records {
        Records { longest: self.longest.min(bytes / number as i64 - HEAD) }
    }

    /// True if a block of `bytes` bytes is sent in its record.
    pub(super) fn hold(self, bytes: i64) -> bool {
        bytes <= self.longest
    }

    /// Most bytes of this many records.
    pub(super) fn room(self, number: usize) -> i64 {
        (HEAD + self.longest.max(0)).saturating_mul(number as i64)
    }

    /// The records of blocks of these bytes in a row.
    pub(super) fn row(self, blocks: impl Iterator<Item = i64>) -> Vec<Record> {
        let mut first = 0;
        let record = |block: i64| {
            let is_apart = !self.hold(block);
            let record = Record { first, bytes: if is_apart { 0 } else { block }, is_apart };
            first += record.length();
            record
        };
        blocks.map(record).collect()
    }

    /// The first `number` records of a message, which never reach beyond the room for so many. What
    /// is missing, the message has not.
    pub(super) fn read(self, message: &[u8], number: usize) -> Vec<Record> {
        let mut first = 0;
        let mut next = || {
            let rest = message.get(first..).unwrap_or_default();
            let word = rest.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
            let is_apart = word == MARK;
            let most = (rest.len() as i64 - HEAD).min(self.longest).max(0);
            let bytes = if is_apart { 0 } else { i64::from(word).min(most) };
            let record = Record { first: first as i64, bytes, is_apart };
            first += record.length() as usize;
            record
        };
        (0..number).map(|_| next()).collect()
    }

    /// Copies blocks into records. Returns these, and the steps that fill them.
    pub(super) fn pack(
        self,
        builder: &mut Builder,
        blocks: impl Iterator<Item = Piece>,
    ) -> (Piece, Vec<Mark>) {
        let blocks: Vec<Piece> = blocks.collect();
        let records = self.row(blocks.iter().map(Piece::bytes));
        let length = records.last().map_or(0, |last| last.first + last.length());
        let Some(mut memory) = Scratch::new(length) else {
            builder.exhausted(length);
            return (Piece::raw(std::ptr::dangling_mut(), 0), Vec::new());
        };
        for record in &records {
            let word = if record.is_apart { MARK } else { record.bytes as u32 };
            memory.write(record.first as usize, &word.to_le_bytes());
        }
        let pointer = memory.pointer();
        builder.keep(vec![memory]);
        let whole = records.iter().zip(blocks).filter(|(record, _)| !record.is_apart);
        let copies = whole.map(|(record, block)| {
            builder.copy(block, Piece::range(pointer, record.first + HEAD, record.bytes))
        });
        let copies = copies.collect();
        (Piece::raw(pointer, length), copies)
    }

    /// Memory for up to `number` records from `rank`, and the receive of them.
    pub(super) fn receive(
        self,
        builder: &mut Builder,
        rank: usize,
        number: usize,
    ) -> (*mut u8, Mark) {
        let room = self.room(number);
        let memory = builder.bytes(room);
        (memory, receive_in(builder, rank, Piece::raw(memory, room)))
    }
}

/// Receives records from `rank` in `memory`.
pub(super) fn receive_in(builder: &mut Builder, rank: usize, memory: Piece) -> Mark {
    builder.receive(rank, RECORDS, memory)
}

/// Sends records to `rank` after these steps.
pub(super) fn send(builder: &mut Builder, rank: usize, records: Piece, after: &[Mark]) {
    let sent = builder.send(rank, RECORDS, records);
    after.iter().for_each(|&mark| builder.after(sent, mark));
}

/// Receives of blocks that are probably sent apart, as they are long here. They are posted before
/// the records tell, because a message that comes before its receive costs a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct PostedReceives {
    pub(super) receives: Vec<Mark>,
    /// For each block the index of its receive, if there is one.
    indices: Vec<Option<usize>>,
}

impl PostedReceives {
    /// Posts the receives of blocks, each given by its owner and its destination.
    pub(super) fn new(
        builder: &mut Builder,
        records: Records,
        blocks: impl Iterator<Item = (usize, Piece)>,
    ) -> PostedReceives {
        let mut posted = PostedReceives::default();
        for (owner, block) in blocks {
            let is_long = !records.hold(block.bytes());
            posted.indices.push(is_long.then_some(posted.receives.len()));
            if is_long {
                posted.receives.push(builder.receive(owner, APART, block));
            }
        }
        posted
    }

    /// Stores block `index`, whose record has come in `message`, at its destination, or receives it
    /// there from its owner.
    pub(super) fn store(
        &self,
        builder: &mut Builder,
        index: usize,
        (message, record): (*mut u8, Record),
        (owner, block): (usize, Piece),
    ) {
        let posted = self.indices.get(index).copied().flatten();
        if record.is_apart {
            if posted.is_none() {
                builder.receive_always(owner, APART, block);
            }
            return;
        }
        if let Some(posted) = posted {
            builder.withdraw(posted);
        }
        if record.bytes > block.bytes() {
            builder.truncated();
        }
        if block.bytes() > 0 {
            builder.copy(Piece::range(message, record.first + HEAD, record.bytes), block);
        }
    }
}

/// Ranges of the bytes at `memory`, each given by its first byte and its length, as one piece.
pub(super) fn joined(builder: &mut Builder, memory: *mut u8, ranges: &[(i64, i64)]) -> Piece {
    let (displacements, counts) = ranges.iter().copied().unzip::<i64, i64, Vec<_>, Vec<_>>();
    let blocks = Blocks::Varying {
        pointer: memory,
        counts: counts.into(),
        displacements: displacements.into(),
        element: Element::dense(1),
    };
    let all: Vec<usize> = (0..ranges.len()).collect();
    pieces_of(builder, &blocks, &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_its_records() {
        let records = Records::up_to(5);
        let row = records.row([3, 0, 5, 6, 1].into_iter());
        let mut message = Vec::new();
        for record in &row {
            let word = if record.is_apart { MARK } else { record.bytes as u32 };
            message.extend(word.to_le_bytes());
            message.extend(vec![7; record.bytes as usize]);
        }
        assert_eq!(
            row.iter().map(|record| record.is_apart).collect::<Vec<_>>()[3..],
            [true, false]
        );
        assert_eq!(records.read(&message, 5), row);
        assert!(message.len() as i64 <= records.room(5));
    }

    #[test]
    fn no_record_reaches_beyond_the_room_for_all() {
        let records = Records::up_to(5);
        for word in [6, 27, 0x7fff_ffff, u32::MAX - 1] {
            let mut message = vec![0; records.room(3) as usize];
            message[..4].copy_from_slice(&u32::to_le_bytes(word));
            let read = records.read(&message, 3);
            assert!(read.iter().all(|record| record.first + record.length() <= records.room(3)));
        }
    }

    #[test]
    fn a_message_that_is_too_short_has_no_more_than_its_bytes() {
        let records = Records::up_to(100);
        for length in 0..10 {
            let message = [9, 0, 0, 0, 1, 2, 3, 4, 5, 6];
            for record in records.read(&message[..length], 3) {
                let end = if record.bytes > 0 { record.first + record.length() } else { 0 };
                assert!(end <= length as i64 && !record.is_apart, "{length}: {record:?}");
            }
        }
    }
}
