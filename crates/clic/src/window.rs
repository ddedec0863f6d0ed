//! The sending end of the ordered stream to one peer: frames that are not acknowledged, and those
//! not sent yet.
//!
//! A frame keeps no bytes but a reference to the caller's buffer, which is free again when the
//! buffer's last frame and all before it are acknowledged. Loss is found in two ways: a frame that
//! was sent clearly later is here (as in RACK, RFC 8985), or the oldest frame has waited too long;
//! then that one alone goes again, and its answer tells of the others.
//!
//! Bounded: at most `capacity` frames, whatever they are for.

#![forbid(unsafe_code)]

use std::collections::VecDeque;

use super::Time;
use super::frame::Kind;
use super::refusal::Refusal;

/// What stands behind the header of an ordered frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Eight bytes of the protocol's own.
    Own([u8; 8]),
    /// A part of a message.
    Part {
        /// The caller's name for the message's bytes.
        buffer: u64,
        /// Where the part begins.
        offset: u32,
        /// How long it is.
        length: u16,
        /// True for the last part.
        last: bool,
    },
}

/// One frame of the stream.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// What it is.
    pub kind: Kind,
    /// The second of its words.
    pub word: u32,
    /// Its body.
    pub content: Content,
    /// When it was sent last; before that: when it came to the window.
    pub at: Time,
    /// Over which rail it was sent last.
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

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// So many frames are newly known to be there.
    pub frames: usize,
    /// Bit r: rail r has carried one of them.
    pub rails: u8,
}

/// The state.
#[derive(Debug)]
pub struct Window {
    first: u32,
    frames: VecDeque<Flight>,
    capacity: usize,
    /// Frames at the front that were sent at least once.
    sent: usize,
    lost: usize,
    tries: u32,
}

impl Window {
    /// A stream that begins with `first`.
    pub fn new(first: u32, capacity: usize) -> Window {
        Window { first, frames: VecDeque::new(), capacity, sent: 0, lost: 0, tries: 0 }
    }

    /// The stream begins with this number; nothing has been sent yet.
    pub fn begin(&mut self, first: u32) {
        debug_assert_eq!(self.sent, 0);
        self.first = first;
    }

    /// How many more frames there is room for.
    pub fn room(&self) -> usize {
        self.capacity - self.frames.len()
    }

    /// True when everything is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Frames that were never sent, and since when the oldest of them waits.
    pub fn waiting(&self) -> (usize, Option<Time>) {
        (self.frames.len() - self.sent, self.frames.get(self.sent).map(|flight| flight.at))
    }

    /// Attempts in vain since something was acknowledged last.
    pub fn tries(&self) -> u32 {
        self.tries
    }

    /// Puts a frame at the end. There must be [`Window::room`].
    pub fn push(&mut self, now: Time, kind: Kind, word: u32, content: Content) {
        debug_assert!(self.room() > 0);
        self.frames.push_back(Flight { kind, word, content, at: now, rail: 0, state: State::Waiting });
    }

    /// The next frame that goes out: a lost one before a new one. New ones only if `new`. With its
    /// number.
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

    /// The frame of this number, which [`Window::next`] gave, has gone out.
    #[inline]
    pub fn sent(&mut self, number: u32, rail: u8, now: Time) {
        let index = number.wrapping_sub(self.first) as usize;
        let flight = &mut self.frames[index];
        self.lost -= usize::from(flight.state == State::Lost);
        self.sent = self.sent.max(index + 1);
        *flight = Flight { at: now, rail, state: State::Sent, ..*flight };
    }

    /// Takes an acknowledgement: all before `next`, and bit i of the bitmap for `next + 1 + i`. A
    /// frame counts as lost when another is here that was sent more than `slack` later. `free`
    /// hears of buffers that are free again.
    pub fn acknowledged(
        &mut self,
        next: u32,
        bitmap: u64,
        slack: Time,
        free: &mut impl FnMut(u64),
    ) -> Result<Progress, Refusal> {
        let before = next.wrapping_sub(self.first) as usize;
        if before > self.sent {
            // An old one says nothing new; one of the future is a lie.
            let old = self.first.wrapping_sub(next) as usize <= 1 << 30;
            return if old { Ok(Progress::default()) } else { Err(Refusal::Acknowledgement) };
        }
        let highest = 64 - bitmap.leading_zeros() as usize;
        if highest > 0 && before + highest >= self.sent {
            return Err(Refusal::Acknowledgement);
        }
        let mut progress = Progress::default();
        let mut newest = 0;
        for _ in 0..before {
            let Some(flight) = self.frames.pop_front() else { break };
            self.lost -= usize::from(flight.state == State::Lost);
            progress.note(&flight, &mut newest);
            if let Content::Part { buffer, last: true, .. } = flight.content {
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

    /// Everything that was sent before `then`, and is not here, counts as lost.
    fn mark_overtaken(&mut self, then: Time) {
        for flight in self.frames.iter_mut().take(self.sent) {
            if flight.state == State::Sent && flight.at < then {
                flight.state = State::Lost;
                self.lost += 1;
            }
        }
    }

    /// When the oldest frame counts as lost, with a patience of `timeout`. Nothing when none is
    /// under way.
    #[inline]
    pub fn deadline(&self, timeout: Time) -> Option<Time> {
        let oldest = self.frames.front()?;
        (oldest.state == State::Sent).then(|| oldest.at + timeout)
    }

    /// The oldest frame has waited too long: it goes again. Says over which rail it went, and when.
    pub fn expired(&mut self) -> Option<(u8, Time)> {
        let oldest = self.frames.front_mut().filter(|oldest| oldest.state == State::Sent)?;
        oldest.state = State::Lost;
        self.lost += 1;
        self.tries = self.tries.saturating_add(1);
        Some((oldest.rail, oldest.at))
    }
}

impl Progress {
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

    fn window(frames: u32) -> Window {
        let mut window = Window::new(u32::MAX, 8);
        for word in 0..frames {
            let content = Content::Part { buffer: u64::from(word), offset: 0, length: 10, last: word % 2 == 1 };
            window.push(0, Kind::Eager, word, content);
        }
        window
    }

    /// Sends all that wants to go; gives the words.
    fn send_all(window: &mut Window, now: Time) -> Vec<u32> {
        let mut words = Vec::new();
        while let Some((number, flight)) = window.next(true) {
            words.push(flight.word);
            window.sent(number, 1, now + words.len() as Time);
        }
        words
    }

    fn acknowledge(window: &mut Window, next: u32, bitmap: u64) -> Result<(Progress, Vec<u64>), Refusal> {
        let mut free = Vec::new();
        window.acknowledged(next, bitmap, SLACK, &mut |buffer| free.push(buffer)).map(|progress| (progress, free))
    }

    #[test]
    fn frames_go_in_order_and_are_kept_until_acknowledged() {
        let mut window = window(4);
        assert_eq!((window.room(), window.waiting()), (4, (4, Some(0))));
        assert_eq!(send_all(&mut window, 10), [0, 1, 2, 3]);
        assert_eq!(acknowledge(&mut window, 2, 0), Ok((Progress { frames: 3, rails: 2 }, vec![1])));
        assert_eq!(acknowledge(&mut window, 1, 0), Ok((Progress::default(), vec![])), "an old one");
        assert_eq!(acknowledge(&mut window, 3, 0), Ok((Progress { frames: 1, rails: 2 }, vec![3])));
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
        // Frames 0, 2 and 5 are missing; 5 may still be under way.
        assert_eq!(acknowledge(&mut window, u32::MAX, 0b1101).unwrap().0.frames, 3);
        assert_eq!(send_all(&mut window, 0), Vec::<u32>::new(), "within the slack nothing is lost");
        window.push(500, Kind::Eager, 6, Content::Own([0; 8]));
        assert_eq!(send_all(&mut window, 500), [6]);
        assert_eq!(acknowledge(&mut window, u32::MAX, 0b10_1101).unwrap().0.frames, 1);
        assert_eq!(send_all(&mut window, 600), [0, 2, 5]);
        assert_eq!(acknowledge(&mut window, 6, 0).unwrap().0, Progress { frames: 3, rails: 2 });
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
