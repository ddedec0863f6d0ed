//! Messages of frames, for blocks whose lengths only some ranks know.
//!
//! A frame is the length of a block in 4 bytes, and then the block. A block longer than a limit,
//! which all ranks derive from their team, is sent apart, from its owner straight to the rank that
//! needs it; its frame is only a mark. So the owner of a block says how it comes, and the others
//! act on that: ranks that disagree about a length do not wait for each other.

use crate::buffers::{Blocks, Element, Piece, Scratch};
use crate::builder::{Builder, Mark};
use crate::hierarchy::movement::pieces_of;

/// Turns of messages of frames, and of blocks that are sent apart.
const FRAMES: usize = 0;
pub(super) const APART: usize = 1;

/// Bytes of the length.
const HEAD: i64 = 4;
/// The length of a block that is sent apart.
const MARK: u32 = u32::MAX;

/// The frames of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frames {
    /// Most bytes of a block in a frame.
    longest: i64,
}

/// A frame in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its first byte.
    pub(super) first: i64,
    /// Bytes of the block in it.
    bytes: i64,
    /// True if the block is sent apart.
    pub(super) is_apart: bool,
}

impl Frame {
    /// Bytes of the frame.
    pub(super) fn length(self) -> i64 {
        HEAD + self.bytes
    }
}

impl Frames {
    /// Frames for blocks of up to `longest` bytes.
    pub(super) const fn up_to(longest: i64) -> Frames {
        assert!(longest < MARK as i64, "a length is not the mark");
        Frames { longest }
    }

    /// The same for frames of which there may be `number` in `bytes` bytes.
    pub(super) fn within(self, bytes: i64, number: usize) -> Frames {
        Frames { longest: self.longest.min(bytes / number as i64 - HEAD) }
    }

    /// True if a block of `bytes` bytes is sent in its frame.
    pub(super) fn hold(self, bytes: i64) -> bool {
        bytes <= self.longest
    }

    /// Most bytes of this many frames.
    pub(super) fn room(self, number: usize) -> i64 {
        (HEAD + self.longest.max(0)).saturating_mul(number as i64)
    }

    /// The frames of blocks of these bytes in a row.
    pub(super) fn row(self, blocks: impl Iterator<Item = i64>) -> Vec<Frame> {
        let mut first = 0;
        let frame = |block: i64| {
            let is_apart = !self.hold(block);
            let frame = Frame { first, bytes: if is_apart { 0 } else { block }, is_apart };
            first += frame.length();
            frame
        };
        blocks.map(frame).collect()
    }

    /// The first `number` frames of a message. What is missing, the message has not.
    pub(super) fn read(self, message: &[u8], number: usize) -> Vec<Frame> {
        let mut first = 0;
        let mut next = || {
            let rest = message.get(first..).unwrap_or_default();
            let word = rest.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
            let is_apart = word == MARK;
            let there = (rest.len() as i64 - HEAD).max(0);
            let bytes = if is_apart { 0 } else { i64::from(word).min(there) };
            let frame = Frame { first: first as i64, bytes, is_apart };
            first += frame.length() as usize;
            frame
        };
        (0..number).map(|_| next()).collect()
    }

    /// Copies blocks into frames. Returns these, and the steps that fill them.
    pub(super) fn pack(
        self,
        builder: &mut Builder,
        blocks: impl Iterator<Item = Piece>,
    ) -> (Piece, Vec<Mark>) {
        let blocks: Vec<Piece> = blocks.collect();
        let frames = self.row(blocks.iter().map(Piece::bytes));
        let length = frames.last().map_or(0, |last| last.first + last.length());
        let Some(mut memory) = Scratch::new(length) else {
            builder.exhausted(length);
            return (Piece::raw(std::ptr::dangling_mut(), 0), Vec::new());
        };
        for frame in &frames {
            let word = if frame.is_apart { MARK } else { frame.bytes as u32 };
            memory.write(frame.first as usize, &word.to_le_bytes());
        }
        let pointer = memory.pointer();
        builder.keep(vec![memory]);
        let framed = frames.iter().zip(blocks).filter(|(frame, _)| !frame.is_apart);
        let copies = framed.map(|(frame, block)| {
            builder.copy(block, Piece::range(pointer, frame.first + HEAD, frame.bytes))
        });
        let copies = copies.collect();
        (Piece::raw(pointer, length), copies)
    }

    /// Memory for up to `number` frames from `rank`, and the receive of them.
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

/// Receives frames from `rank` in `memory`.
pub(super) fn receive_in(builder: &mut Builder, rank: usize, memory: Piece) -> Mark {
    builder.receive(rank, FRAMES, memory)
}

/// Sends frames to `rank` after these steps.
pub(super) fn send(builder: &mut Builder, rank: usize, frames: Piece, after: &[Mark]) {
    let sent = builder.send(rank, FRAMES, frames);
    after.iter().for_each(|&mark| builder.after(sent, mark));
}

/// Receives of blocks that are probably sent apart, as they are long here. They are posted before
/// the frames tell, because a message that comes before its receive costs a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Posted {
    pub(super) receives: Vec<Mark>,
    /// For each block the index of its receive, if there is one.
    indices: Vec<Option<usize>>,
}

impl Posted {
    /// Posts the receives of blocks, each given by its owner and its destination.
    pub(super) fn new(
        builder: &mut Builder,
        frames: Frames,
        blocks: impl Iterator<Item = (usize, Piece)>,
    ) -> Posted {
        let mut posted = Posted::default();
        for (owner, block) in blocks {
            let is_long = !frames.hold(block.bytes());
            posted.indices.push(is_long.then_some(posted.receives.len()));
            if is_long {
                posted.receives.push(builder.receive(owner, APART, block));
            }
        }
        posted
    }

    /// Stores block `index`, whose frame has come in `message`, at its destination, or receives it
    /// there from its owner.
    pub(super) fn store(
        &self,
        builder: &mut Builder,
        index: usize,
        (message, frame): (*mut u8, Frame),
        (owner, block): (usize, Piece),
    ) {
        let posted = self.indices.get(index).copied().flatten();
        if frame.is_apart {
            if posted.is_none() {
                builder.receive_always(owner, APART, block);
            }
            return;
        }
        if let Some(posted) = posted {
            builder.withdraw(posted);
        }
        if frame.bytes > block.bytes() {
            builder.truncated();
        }
        if block.bytes() > 0 {
            builder.copy(Piece::range(message, frame.first + HEAD, frame.bytes), block);
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
    fn a_message_tells_its_frames() {
        let frames = Frames::up_to(5);
        let row = frames.row([3, 0, 5, 6, 1].into_iter());
        let mut message = Vec::new();
        for frame in &row {
            let word = if frame.is_apart { MARK } else { frame.bytes as u32 };
            message.extend(word.to_le_bytes());
            message.extend(vec![7; frame.bytes as usize]);
        }
        assert_eq!(row.iter().map(|frame| frame.is_apart).collect::<Vec<_>>()[3..], [true, false]);
        assert_eq!(frames.read(&message, 5), row);
        assert!(message.len() as i64 <= frames.room(5));
    }

    #[test]
    fn a_message_that_is_too_short_has_no_more_than_its_bytes() {
        let frames = Frames::up_to(100);
        for length in 0..10 {
            let message = [9, 0, 0, 0, 1, 2, 3, 4, 5, 6];
            for frame in frames.read(&message[..length], 3) {
                let end = if frame.bytes > 0 { frame.first + frame.length() } else { 0 };
                assert!(end <= length as i64 && !frame.is_apart, "{length}: {frame:?}");
            }
        }
    }
}
