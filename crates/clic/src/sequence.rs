//! The receiving side of the ordered stream of one peer: the next expected frame, and frames that
//! arrived out of order.
//!
//! Invariant: frames are delivered in order, each once. Bounded: at most `window` frames and
//! `limit` bytes are buffered; a frame for which there is no room counts as lost. The next frame in
//! order is never buffered, so the stream always makes progress.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::frame::Kind;
use super::refusal::Refusal;

/// An ordered frame that was buffered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredFrame {
    /// The kind of frame.
    pub kind: Kind,
    /// The second of its header words (the first is the timestamp).
    pub word: u32,
    /// Its body.
    pub body: Box<[u8]>,
}

/// What to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameVerdict {
    /// It is the next one: deliver it, call [`ReceiveSequence::step`], then deliver everything that
    /// [`ReceiveSequence::ready`] returns, with a step after each.
    Deliver,
    /// It arrived out of order and is buffered.
    Kept,
    /// It is a duplicate: acknowledge it again.
    Again,
}

/// The receive state of one stream.
#[derive(Debug)]
pub struct ReceiveSequence {
    next: u32,
    /// Entry i is frame `next + 1 + i`; the last entry is always occupied.
    early: VecDeque<Option<DeliveredFrame>>,
    bytes: usize,
    window: u32,
    limit: usize,
}

impl ReceiveSequence {
    /// Creates a stream that begins with number `first`.
    pub fn new(first: u32, window: u32, limit: usize) -> ReceiveSequence {
        ReceiveSequence { next: first, early: VecDeque::new(), bytes: 0, window, limit }
    }

    /// Number of the next frame in order: all earlier ones have arrived.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Bit i: frame `next + 1 + i` has arrived.
    pub fn bitmap(&self) -> u64 {
        let bits = self.early.iter().take(64).enumerate();
        bits.fold(0, |all, (bit, kept)| all | u64::from(kept.is_some()) << bit)
    }

    /// True if a frame arrived out of order: an earlier one is missing.
    pub fn has_gap(&self) -> bool {
        !self.early.is_empty()
    }

    /// Number of buffered bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Classifies an ordered frame, and buffers a copy if it is out of order.
    ///
    /// # Errors
    /// [`Refusal::Window`] if the number is outside the window, [`Refusal::Room`] if there is no
    /// room.
    pub fn arrived(
        &mut self,
        number: u32,
        kind: Kind,
        word: u32,
        body: &[u8],
    ) -> Result<FrameVerdict, Refusal> {
        let ahead = number.wrapping_sub(self.next);
        if ahead == 0 {
            return Ok(FrameVerdict::Deliver);
        }
        if ahead >= self.window {
            // Up to a window behind `next` it is a duplicate, otherwise it is invalid.
            let behind = self.next.wrapping_sub(number);
            return if behind <= self.window {
                Ok(FrameVerdict::Again)
            } else {
                Err(Refusal::Window)
            };
        }
        let place = ahead as usize - 1;
        if self.early.get(place).is_some_and(Option::is_some) {
            return Ok(FrameVerdict::Again);
        }
        if self.bytes + body.len() > self.limit {
            return Err(Refusal::Room);
        }
        if self.early.len() <= place {
            self.early.resize(place + 1, None);
        }
        self.bytes += body.len();
        self.early[place] = Some(DeliveredFrame { kind, word, body: body.into() });
        Ok(FrameVerdict::Kept)
    }

    /// The next frame has been delivered.
    #[inline]
    pub fn step(&mut self) {
        self.next = self.next.wrapping_add(1);
    }

    /// After a step: the next frame, if it is buffered.
    #[inline]
    pub fn ready(&mut self) -> Option<DeliveredFrame> {
        let kept = self.early.pop_front().flatten()?;
        self.bytes -= kept.body.len();
        Some(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers what is deliverable; returns the words.
    fn take(
        sequence: &mut ReceiveSequence,
        number: u32,
        length: usize,
    ) -> Result<Vec<u32>, Refusal> {
        let mut out = Vec::new();
        if sequence.arrived(number, Kind::Eager, number, &vec![1; length])? == FrameVerdict::Deliver
        {
            out.push(number);
            sequence.step();
            while let Some(kept) = sequence.ready() {
                out.push(kept.word);
                sequence.step();
            }
        }
        Ok(out)
    }

    #[test]
    fn what_comes_early_waits_for_its_turn() {
        let first = u32::MAX - 1;
        let number = |index: u32| first.wrapping_add(index);
        let mut sequence = ReceiveSequence::new(first, 8, 100);
        assert_eq!(take(&mut sequence, number(2), 10), Ok(vec![]));
        assert_eq!(take(&mut sequence, number(1), 10), Ok(vec![]));
        assert_eq!(take(&mut sequence, number(4), 10), Ok(vec![]));
        assert_eq!((sequence.bitmap(), sequence.bytes(), sequence.next()), (0b1011, 30, first));
        assert_eq!(take(&mut sequence, number(0), 10), Ok(vec![number(0), number(1), number(2)]));
        assert_eq!((sequence.bitmap(), sequence.has_gap()), (0b1, true));
        assert_eq!(take(&mut sequence, number(3), 10), Ok(vec![number(3), number(4)]));
        assert_eq!((sequence.next(), sequence.bytes(), sequence.has_gap()), (number(5), 0, false));
    }

    #[test]
    fn nothing_comes_twice_and_nothing_from_nowhere() {
        let mut sequence = ReceiveSequence::new(10, 8, 100);
        assert_eq!(take(&mut sequence, 12, 1), Ok(vec![]));
        for (number, wanted) in [
            (12, Ok(FrameVerdict::Again)),
            (9, Ok(FrameVerdict::Again)),
            (2, Ok(FrameVerdict::Again)),
        ] {
            assert_eq!(sequence.arrived(number, Kind::Eager, 0, &[]), wanted, "{number}");
        }
        for number in [18, 1, 10 + (1 << 31)] {
            assert_eq!(
                sequence.arrived(number, Kind::Eager, 0, &[]),
                Err(Refusal::Window),
                "{number}"
            );
        }
        assert_eq!(sequence.bytes(), 1);
    }

    #[test]
    fn a_flood_of_early_frames_finds_an_end() {
        let mut sequence = ReceiveSequence::new(0, 8, 100);
        for number in 1..8 {
            let verdict = sequence.arrived(number, Kind::Eager, 0, &[0; 40]);
            assert_eq!(
                verdict,
                if number < 3 { Ok(FrameVerdict::Kept) } else { Err(Refusal::Room) }
            );
        }
        assert_eq!(sequence.bytes(), 80);
        assert_eq!(
            take(&mut sequence, 0, 1000).unwrap().len(),
            3,
            "the next frame always has room"
        );
        assert_eq!(take(&mut sequence, 3, 40), Ok(vec![3]));
    }
}
