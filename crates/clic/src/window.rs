//! The sending side of the ordered stream to one peer: frames that are not acknowledged, and frames
//! not sent yet.
//!
//! A frame holds no payload but a reference to the caller's buffer. The buffer is free again once
//! its last frame and all earlier ones are acknowledged. Loss is detected in two ways: a frame that
//! was sent sufficiently later has arrived (as in RACK, RFC 8985), or the oldest frame has timed
//! out. In the latter case only that frame is retransmitted, and its acknowledgement reveals what
//! else is missing.
//!
//! Bounded: at most `capacity` frames of all kinds.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::Time;
use super::frame::Kind;
use super::refusal::Refusal;

/// The body of an ordered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContent {
    /// Eight bytes of a control frame.
    Own([u8; 8]),
    /// A fragment of a message.
    Part {
        /// The caller's name for the message's bytes.
        buffer: u64,
        /// Offset of the fragment in the message.
        offset: u32,
        /// Its length.
        length: u16,
        /// True for the last fragment.
        last: bool,
    },
}

/// One frame of the stream.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// The kind of frame.
    pub kind: Kind,
    /// The second of its header words.
    pub word: u32,
    /// Its body.
    pub content: FrameContent,
    /// When it was last sent; before the first transmission: when it was queued.
    pub at: Time,
    /// The rail over which it was last sent.
    pub rail: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Sent,
    Lost,
    Here,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    /// The number of frames newly known to have arrived.
    pub frames: usize,
    /// Bit r: rail r has carried one of them.
    pub rails: u8,
}

/// The send window of one peer.
#[derive(Debug)]
pub struct SendWindow {
    first: u32,
    frames: VecDeque<Flight>,
    capacity: usize,
    /// The number of frames at the front that have been sent at least once.
    sent: usize,
    lost: usize,
    tries: u32,
}

impl SendWindow {
    /// Creates a stream that begins with number `first`.
    pub fn new(first: u32, capacity: usize) -> SendWindow {
        SendWindow { first, frames: VecDeque::new(), capacity, sent: 0, lost: 0, tries: 0 }
    }

    /// Sets the first number of a stream of which nothing has been sent yet.
    pub fn begin(&mut self, first: u32) {
        debug_assert_eq!(self.sent, 0);
        self.first = first;
    }

    /// The number of frames that can still be queued.
    pub fn room(&self) -> usize {
        self.capacity - self.frames.len()
    }

    /// True if everything is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The number of frames that have never been sent, and since when the oldest of them has been
    /// waiting.
    pub fn waiting(&self) -> (usize, Option<Time>) {
        (self.frames.len() - self.sent, self.frames.get(self.sent).map(|flight| flight.at))
    }

    /// Timeouts since the last progress.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// Queues a frame. There must be [`SendWindow::room`].
    pub fn push(&mut self, now: Time, kind: Kind, word: u32, content: FrameContent) {
        debug_assert!(self.room() > 0);
        self.frames.push_back(Flight {
            kind,
            word,
            content,
            at: now,
            rail: 0,
            state: State::Waiting,
        });
    }

    /// The next frame to send, with its number: a lost frame before a new one. New frames only if
    /// `new`.
    #[inline]
    pub fn next(&self, new: bool) -> Option<(u32, &Flight)> {
        let index = if self.lost > 0 {
            self.frames.iter().take(self.sent).position(|flight| flight.state == State::Lost)?
        } else if new && self.sent < self.frames.len() {
            self.sent
        } else {
            return None;
        };
        Some((self.first.wrapping_add(index as u32), &self.frames[index]))
    }

    /// The frame of this number, which [`SendWindow::next`] returned, has been sent.
    #[inline]
    pub fn sent(&mut self, number: u32, rail: u8, now: Time) {
        let index = number.wrapping_sub(self.first) as usize;
        let flight = &mut self.frames[index];
        self.lost -= usize::from(flight.state == State::Lost);
        self.sent = self.sent.max(index + 1);
        *flight = Flight { at: now, rail, state: State::Sent, ..*flight };
    }

    /// Processes an acknowledgement of all frames before `next`, and of frame `next + 1 + i` for
    /// each bit i set in the bitmap. A frame counts as lost if another one that was sent more than
    /// `slack` later has arrived. Calls `free` for each buffer that is free again.
    ///
    /// # Errors
    /// [`Refusal::Acknowledgement`] if it acknowledges frames that were never sent.
    pub fn acknowledged(
        &mut self,
        next: u32,
        bitmap: u64,
        slack: Time,
        free: &mut impl FnMut(u64),
    ) -> Result<AckOutcome, Refusal> {
        let before = next.wrapping_sub(self.first) as usize;
        if before > self.sent {
            // An old acknowledgement carries no news; one beyond what was sent is invalid.
            let old = self.first.wrapping_sub(next) as usize <= 1 << 30;
            return if old { Ok(AckOutcome::default()) } else { Err(Refusal::Acknowledgement) };
        }
        let highest = 64 - bitmap.leading_zeros() as usize;
        if highest > 0 && before + highest >= self.sent {
            return Err(Refusal::Acknowledgement);
        }
        let mut progress = AckOutcome::default();
        let mut newest = 0;
        for _ in 0..before {
            let Some(flight) = self.frames.pop_front() else { break };
            self.lost -= usize::from(flight.state == State::Lost);
            progress.note(&flight, &mut newest);
            if let FrameContent::Part { buffer, last: true, .. } = flight.content {
                free(buffer);
            }
        }
        self.first = next;
        self.sent -= before;
        for bit in (0..highest).filter(|bit| bitmap >> bit & 1 != 0) {
            let flight = &mut self.frames[bit + 1];
            self.lost -= usize::from(flight.state == State::Lost);
            progress.note(flight, &mut newest);
            flight.state = State::Here;
        }
        if progress.frames > 0 {
            self.tries = 0;
            if highest > 0 {
                self.mark_overtaken(newest.saturating_sub(slack));
            }
        }
        Ok(progress)
    }

    /// Marks as lost all frames that were sent before `then` and have not arrived.
    fn mark_overtaken(&mut self, then: Time) {
        for flight in self.frames.iter_mut().take(self.sent) {
            if flight.state == State::Sent && flight.at < then {
                flight.state = State::Lost;
                self.lost += 1;
            }
        }
    }

    /// When the oldest frame times out; `None` if none is in flight.
    #[inline]
    pub fn deadline(&self, timeout: Time) -> Option<Time> {
        let oldest = self.frames.front()?;
        (oldest.state == State::Sent).then(|| oldest.at + timeout)
    }

    /// Marks the oldest frame as lost after its timeout, so that it is retransmitted. Returns the
    /// rail and the time of its last transmission.
    pub fn expired(&mut self) -> Option<(u8, Time)> {
        let oldest = self.frames.front_mut().filter(|oldest| oldest.state == State::Sent)?;
        oldest.state = State::Lost;
        self.lost += 1;
        self.tries = self.tries.saturating_add(1);
        Some((oldest.rail, oldest.at))
    }
}

impl AckOutcome {
    fn note(&mut self, flight: &Flight, newest: &mut Time) {
        if flight.state != State::Here {
            self.frames += 1;
            self.rails |= 1 << (flight.rail & 7);
            *newest = flight.at.max(*newest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLACK: Time = 100;

    fn window(frames: u32) -> SendWindow {
        let mut window = SendWindow::new(u32::MAX, 8);
        for word in 0..frames {
            let content = FrameContent::Part {
                buffer: u64::from(word),
                offset: 0,
                length: 10,
                last: word % 2 == 1,
            };
            window.push(0, Kind::Eager, word, content);
        }
        window
    }

    /// Sends everything that is ready; returns the words.
    fn send_all(window: &mut SendWindow, now: Time) -> Vec<u32> {
        let mut words = Vec::new();
        while let Some((number, flight)) = window.next(true) {
            words.push(flight.word);
            window.sent(number, 1, now + words.len() as Time);
        }
        words
    }

    fn acknowledge(
        window: &mut SendWindow,
        next: u32,
        bitmap: u64,
    ) -> Result<(AckOutcome, Vec<u64>), Refusal> {
        let mut free = Vec::new();
        window
            .acknowledged(next, bitmap, SLACK, &mut |buffer| free.push(buffer))
            .map(|progress| (progress, free))
    }

    #[test]
    fn frames_go_in_order_and_are_kept_until_acknowledged() {
        let mut window = window(4);
        assert_eq!((window.room(), window.waiting()), (4, (4, Some(0))));
        assert_eq!(send_all(&mut window, 10), [0, 1, 2, 3]);
        assert_eq!(
            acknowledge(&mut window, 2, 0),
            Ok((AckOutcome { frames: 3, rails: 2 }, vec![1]))
        );
        assert_eq!(
            acknowledge(&mut window, 1, 0),
            Ok((AckOutcome::default(), vec![])),
            "an old one"
        );
        assert_eq!(
            acknowledge(&mut window, 3, 0),
            Ok((AckOutcome { frames: 1, rails: 2 }, vec![3]))
        );
        assert!(window.is_empty());
    }

    #[test]
    fn what_was_never_sent_cannot_be_acknowledged() {
        let mut window = window(4);
        assert_eq!(acknowledge(&mut window, 0, 0), Err(Refusal::Acknowledgement));
        let number = window.next(true).unwrap().0;
        window.sent(number, 0, 0);
        assert_eq!(acknowledge(&mut window, u32::MAX, 1), Err(Refusal::Acknowledgement));
        assert_eq!(acknowledge(&mut window, 1, 0), Err(Refusal::Acknowledgement));
        assert_eq!(acknowledge(&mut window, u32::MAX, 1 << 63), Err(Refusal::Acknowledgement));
        assert!(acknowledge(&mut window, 0, 0).is_ok());
    }

    #[test]
    fn what_was_overtaken_goes_again_and_only_that() {
        let mut window = window(6);
        send_all(&mut window, 0);
        // Frames 0, 2 and 5 are missing; 5 may still be in flight.
        assert_eq!(acknowledge(&mut window, u32::MAX, 0b1101).unwrap().0.frames, 3);
        assert_eq!(send_all(&mut window, 0), Vec::<u32>::new(), "within the slack nothing is lost");
        window.push(500, Kind::Eager, 6, FrameContent::Own([0; 8]));
        assert_eq!(send_all(&mut window, 500), [6]);
        assert_eq!(acknowledge(&mut window, u32::MAX, 0b10_1101).unwrap().0.frames, 1);
        assert_eq!(send_all(&mut window, 600), [0, 2, 5]);
        assert_eq!(acknowledge(&mut window, 6, 0).unwrap().0, AckOutcome { frames: 3, rails: 2 });
        assert!(window.is_empty());
    }

    #[test]
    fn the_oldest_goes_again_when_nothing_is_heard() {
        let mut window = window(3);
        assert_eq!(window.deadline(50), None, "nothing is under way");
        send_all(&mut window, 10);
        assert_eq!(window.deadline(50), Some(61));
        assert_eq!(window.expired(), Some((1, 11)));
        assert_eq!((window.expired(), window.tries()), (None, 1));
        assert_eq!(send_all(&mut window, 1000), [0], "one alone");
        assert_eq!(acknowledge(&mut window, 0, 0).unwrap().0.frames, 1);
        assert_eq!(window.tries(), 0);
        assert_eq!(send_all(&mut window, 2000), Vec::<u32>::new());
    }
}
