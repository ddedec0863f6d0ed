//! What arrives from one peer: frames out of a buffer, and bytes of pulls straight into the memory
//! of the program. Large path, except for a message that arrives alone: one read.
//!
//! While a pull is under way, the next read puts the bytes behind a head to where the pull's next
//! bytes go. If they turn out to be something else, they are moved to the buffer; that memory
//! belongs to the pull all the while.

use std::os::fd::OwnedFd;

use towpath_base::ids::PeerIndex;

use super::frame::{Frame, HEAD_BYTES, LONG_FRONT, front};
use super::socket::{self, Moved, row};
use super::transfers::{Pulls, Taken};
use super::{COPIED_LIMIT, Request};
use towpath_transport::{Header, Sink};

/// Bytes of a buffer: the longest frame, and as much again.
pub(super) const BUFFER_BYTES: usize = 2 * (COPIED_LIMIT + LONG_FRONT);
/// Bytes that are put to where they probably go, at most: what turns out to be something else must
/// fit into a buffer.
const GUESS_BYTES: usize = BUFFER_BYTES - LONG_FRONT;
/// Buffers kept for later.
const SPARE_BUFFERS: usize = 4;

/// Buffers that no connection holds.
#[derive(Default)]
pub(super) struct Buffers(Vec<Box<[u8]>>);

impl Buffers {
    fn take(&mut self) -> Box<[u8]> {
        self.0.pop().unwrap_or_else(|| vec![0; BUFFER_BYTES].into_boxed_slice())
    }

    fn give_back(&mut self, buffer: Box<[u8]>) {
        if self.0.len() < SPARE_BUFFERS {
            self.0.push(buffer);
        }
    }
}

/// What reading came to.
#[derive(Debug)]
pub(super) enum Read {
    /// Nothing new.
    Nothing,
    /// Bytes came, and no more than these were there.
    Some,
    /// Bytes came; there may be more.
    More,
    /// The peer has left MPI orderly.
    Goodbye,
    /// Nothing more will come, for this reason.
    Lost(String),
}

/// How far one connection has been read.
#[derive(Default)]
pub(super) struct Input {
    /// Held only while bytes wait in it.
    buffer: Option<Box<[u8]>>,
    begin: usize,
    end: usize,
    /// The pull whose bytes come next, and how many of them are left in this piece.
    data: Option<(u32, usize)>,
    /// The pull that was asked for first, of those that are not complete: its data is expected
    /// next.
    expected: std::collections::VecDeque<u32>,
    /// Bytes read in all.
    pub(super) read: u64,
}

/// What reading needs of the wire.
pub(super) struct Desk<'a, S> {
    pub(super) from: PeerIndex,
    pub(super) place: u32,
    pub(super) pulls: &'a mut Pulls,
    pub(super) buffers: &'a mut Buffers,
    /// What the peer asks for; done after the read.
    pub(super) requests: &'a mut Vec<Request>,
    pub(super) sink: &'a mut S,
}

/// Why frames cannot be taken further now.
enum Stop {
    /// The rest is not here.
    Missing,
    /// A device is at work.
    Device,
    Goodbye,
    Malformed(&'static str),
}

impl Input {
    /// A pull has been asked for.
    pub(super) fn expect(&mut self, number: u32) {
        self.expected.push_back(number);
    }

    /// Reads once from the socket and takes what came.
    pub(super) fn read<S: Sink>(&mut self, socket: &OwnedFd, desk: &mut Desk<'_, S>) -> Read {
        if self.begin < self.end && self.is_stalled() {
            match self.take_frames(desk) {
                Stop::Device => return Read::Nothing,
                stop => return self.outcome(&stop, true, desk),
            }
        }
        let mut buffer = self.buffer.take().unwrap_or_else(|| desk.buffers.take());
        self.make_room(&mut buffer);
        let guess = if self.begin < self.end { None } else { self.row_expected(desk) };
        let start = self.end;
        let free = row(buffer[start..].as_ptr(), buffer.len() - start);
        let (rows, count) = match (self.data, guess) {
            (None, None) | (Some(_), None) => ([free, free], 1),
            // The rest of a piece, then whatever comes.
            (Some(_), Some((at, length))) => ([row(at, length), free], 2),
            // A head, then what it probably announces.
            (None, Some((at, length))) => {
                ([row(buffer.as_ptr(), front(length as u64)), row(at, length.min(GUESS_BYTES))], 2)
            }
        };
        let wanted: usize = rows[..count].iter().map(|row| row.iov_len).sum();
        // SAFETY: the buffer is ours, and the memory behind the target of a pull is, until the pull
        // is complete.
        let moved = unsafe { socket::read(socket, &rows[..count]) };
        self.buffer = Some(buffer);
        let got = match moved {
            Moved::Some(got) => got,
            other => {
                self.let_go(desk.buffers);
                return match other {
                    Moved::End => Read::Lost("the process at its other end has ended".to_owned()),
                    Moved::Broken(error) => Read::Lost(error.to_string()),
                    _ => Read::Nothing,
                };
            }
        };
        self.read += got as u64;
        match guess {
            None => self.end += got,
            Some((at, length)) if self.data.is_some() => {
                let placed = got.min(length);
                self.end += got - placed;
                self.placed(at, placed, desk);
            }
            Some((at, length)) => self.guessed(at, front(length as u64), got, desk),
        }
        let stop = self.take_frames(desk);
        self.outcome(&stop, got < wanted, desk)
    }

    fn outcome<S>(&mut self, stop: &Stop, all: bool, desk: &mut Desk<'_, S>) -> Read {
        self.let_go(desk.buffers);
        match stop {
            Stop::Goodbye => Read::Goodbye,
            Stop::Malformed(what) => Read::Lost(format!("it sent {what}, which no process of this job does")),
            _ if all => Read::Some,
            _ => Read::More,
        }
    }

    /// Gives the buffer back when nothing waits in it.
    fn let_go(&mut self, buffers: &mut Buffers) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if let Some(buffer) = self.buffer.take() {
                buffers.give_back(buffer);
            }
        }
    }

    /// Bytes that are here wait for a device.
    fn is_stalled(&self) -> bool {
        self.data.is_some()
    }

    /// Moves what waits to the front where the longest frame would not fit behind it.
    fn make_room(&mut self, buffer: &mut [u8]) {
        if self.begin > 0 && buffer.len() - self.begin < COPIED_LIMIT + LONG_FRONT {
            buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
    }

    /// Where the bytes of the current piece, or those behind the next head, go.
    fn row_expected<S>(&mut self, desk: &mut Desk<'_, S>) -> Option<(*mut u8, usize)> {
        if let Some((number, left)) = self.data {
            let (at, room) = desk.pulls.row(desk.place, number)?;
            return Some((at, left.min(room)));
        }
        desk.pulls.row(desk.place, *self.expected.front()?)
    }

    /// So many bytes of the current piece are where they go.
    fn placed<S: Sink>(&mut self, at: *const u8, length: usize, desk: &mut Desk<'_, S>) {
        let Some((number, left)) = self.data else { return };
        // SAFETY: the bytes are at the place that `Pulls::row` named.
        let taken = unsafe { desk.pulls.take(desk.place, number, at, length) };
        self.data = Some((number, left - length)).filter(|(_, left)| *left > 0);
        if let Taken::Last(token) = taken {
            self.forget_pull(number);
            desk.sink.pulled(token);
        }
    }

    /// Of `got` bytes the first `ahead` are in the buffer, the rest at the place of a pull: they
    /// stay there if they belong there.
    fn guessed<S: Sink>(&mut self, at: *mut u8, ahead: usize, got: usize, desk: &mut Desk<'_, S>) {
        self.end = got.min(ahead);
        let mut beyond = got.saturating_sub(ahead);
        let mut from = at.cast_const();
        let head = self.buffer.as_deref().and_then(|buffer| Frame::at_front(&buffer[..self.end]));
        if let Some(Ok(Frame::Data { number, offset, length })) = head
            && Some(&number) == self.expected.front()
            && (front(length) == ahead && got >= ahead)
            && desk.pulls.expects(desk.place, number, offset, length)
        {
            let belongs = beyond.min(usize::try_from(length).unwrap_or(usize::MAX));
            self.data = Some((number, length as usize)).filter(|(_, length)| *length > 0);
            (self.begin, self.end) = (0, 0);
            beyond -= belongs;
            from = from.wrapping_add(belongs);
            // What does not belong must leave before the pull can be complete.
            self.keep(from, beyond);
            self.placed(at, belongs, desk);
        } else {
            self.keep(from, beyond);
        }
    }

    /// Copies bytes from the place of a pull to the end of the buffer.
    fn keep(&mut self, from: *const u8, length: usize) {
        if let Some(buffer) = &mut self.buffer {
            let room = &mut buffer[self.end..self.end + length];
            // SAFETY: a read has just put so many bytes there, and the place belongs to the pull
            // until it is complete.
            unsafe { std::ptr::copy_nonoverlapping(from, room.as_mut_ptr(), length) };
            self.end += length;
        }
    }

    fn forget_pull(&mut self, number: u32) {
        self.expected.retain(|other| *other != number);
    }

    /// Takes all whole frames and bytes of pulls out of the buffer.
    fn take_frames<S: Sink>(&mut self, desk: &mut Desk<'_, S>) -> Stop {
        let Some(buffer) = self.buffer.take() else { return Stop::Missing };
        let stop = loop {
            let bytes = &buffer[self.begin..self.end];
            let step = match self.data {
                Some((number, left)) => self.take_data(number, left, bytes, desk),
                None => self.take_frame(bytes, desk),
            };
            match step {
                Ok(taken) => self.begin += taken,
                Err(stop) => break stop,
            }
        };
        self.buffer = Some(buffer);
        stop
    }

    fn take_data<S: Sink>(
        &mut self,
        number: u32,
        left: usize,
        bytes: &[u8],
        desk: &mut Desk<'_, S>,
    ) -> Result<usize, Stop> {
        let length = left.min(bytes.len());
        if length == 0 {
            return Err(Stop::Missing);
        }
        // SAFETY: the bytes are a slice.
        match unsafe { desk.pulls.take(desk.place, number, bytes.as_ptr(), length) } {
            Taken::Nothing => return Err(Stop::Device),
            Taken::All => {}
            Taken::Last(token) => {
                self.forget_pull(number);
                desk.sink.pulled(token);
            }
        }
        self.data = Some((number, left - length)).filter(|(_, left)| *left > 0);
        Ok(length)
    }

    fn take_frame<S: Sink>(&mut self, bytes: &[u8], desk: &mut Desk<'_, S>) -> Result<usize, Stop> {
        let Some(frame) = Frame::at_front(bytes) else { return Err(Stop::Missing) };
        let Ok(frame) = frame else { return Err(Stop::Malformed("bytes that are no frame")) };
        match frame {
            Frame::Message { protocol, length, words } => {
                let begin = front(u64::from(length));
                let whole = begin + length as usize;
                let Some(payload) = bytes.get(begin..whole) else { return Err(Stop::Missing) };
                desk.sink.arrived(desk.from, &Header { protocol, words }, payload.as_ptr(), payload.len());
                return Ok(whole);
            }
            Frame::Data { number, offset, length } => {
                if !desk.pulls.expects(desk.place, number, offset, length) {
                    return Err(Stop::Malformed("data that nobody asked for"));
                }
                if bytes.len() < front(length) {
                    return Err(Stop::Missing);
                }
                self.data = Some((number, length as usize));
                return Ok(front(length));
            }
            Frame::End { number } => {
                if let Some(token) = desk.pulls.end(desk.place, number) {
                    self.forget_pull(number);
                    desk.sink.pulled(token);
                }
            }
            Frame::Pull { number, name, wanted } => {
                desk.requests.push(Request::Pull { place: desk.place, number, name, wanted });
            }
            Frame::Release { name } => desk.requests.push(Request::Release { place: desk.place, name }),
            Frame::Goodbye => return Err(Stop::Goodbye),
        }
        Ok(HEAD_BYTES)
    }
}
