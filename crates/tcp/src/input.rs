//! The input of one peer: frames are parsed from a buffer, and bytes of pulls are read directly
//! into user memory. Not on the fast path, except for a message that arrives alone: one read.
//!
//! While a pull is in flight, the next read speculatively puts the bytes after a header where the
//! pull's next bytes go. If they turn out to belong to other frames, they are moved to the buffer;
//! until then that memory belongs to the pull anyway.

use std::os::fd::OwnedFd;

use towpath_base::ids::PeerIndex;

use super::frame::{Frame, HEAD_BYTES, LONG_FRONT, front};
use super::socket::{self, Moved, iovec};
use super::transfers::{PullOutcome, TcpPulls};
use super::{COPIED_LIMIT, PeerRequest};
use towpath_transport::{Header, Sink};

/// Size of a buffer in bytes: the longest frame, twice.
pub(super) const BUFFER_BYTES: usize = 2 * (COPIED_LIMIT + LONG_FRONT);
/// Maximum number of bytes that are read speculatively into a pull's memory: if they turn out to
/// belong to other frames, they must fit into a buffer.
const GUESS_BYTES: usize = BUFFER_BYTES - LONG_FRONT;
/// Free buffers to keep.
const SPARE_BUFFERS: usize = 4;

/// Buffers that no connection uses.
#[derive(Default)]
pub(super) struct ReadBuffers(Vec<Box<[u8]>>);

impl ReadBuffers {
    fn take(&mut self) -> Box<[u8]> {
        self.0.pop().unwrap_or_else(|| vec![0; BUFFER_BYTES].into_boxed_slice())
    }

    fn give_back(&mut self, buffer: Box<[u8]>) {
        if self.0.len() < SPARE_BUFFERS {
            self.0.push(buffer);
        }
    }
}

/// The result of a read.
#[derive(Debug)]
pub(super) enum ReadOutcome {
    /// Nothing new.
    Nothing,
    /// Bytes arrived, and the socket is now empty.
    Some,
    /// Bytes arrived; there may be more.
    More,
    /// The peer has left MPI properly.
    Goodbye,
    /// Nothing more will come, for this reason.
    Lost(String),
}

/// The receive state of one connection.
#[derive(Default)]
pub(super) struct Input {
    /// Held only while it contains unparsed bytes.
    buffer: Option<Box<[u8]>>,
    begin: usize,
    end: usize,
    /// The pull whose bytes come next, and how many of them this piece still has.
    data: Option<(u32, usize)>,
    /// Requested pulls that are incomplete, in the order of the requests: data of the first one is
    /// expected next.
    expected: std::collections::VecDeque<u32>,
    /// Bytes read in total.
    pub(super) read: u64,
}

/// The parts of the wire that a read needs.
pub(super) struct ReadContext<'a, S> {
    pub(super) from: PeerIndex,
    pub(super) index: u32,
    pub(super) pulls: &'a mut TcpPulls,
    pub(super) buffers: &'a mut ReadBuffers,
    /// The peer's requests, to be served after the read.
    pub(super) requests: &'a mut Vec<PeerRequest>,
    pub(super) sink: &'a mut S,
}

/// Why parsing stops.
enum Stop {
    /// The rest has not arrived.
    Missing,
    /// A device is still busy.
    Device,
    Goodbye,
    Malformed(&'static str),
}

impl Input {
    /// Notes that a pull has been requested.
    pub(super) fn expect(&mut self, number: u32) {
        self.expected.push_back(number);
    }

    /// Reads once from the socket and processes the bytes.
    pub(super) fn read<S: Sink>(
        &mut self,
        socket: &OwnedFd,
        context: &mut ReadContext<'_, S>,
    ) -> ReadOutcome {
        if self.waits_for_device() {
            match self.take_frames(context) {
                Stop::Device => return ReadOutcome::Nothing,
                stop => return self.outcome(&stop, true, context),
            }
        }
        let mut buffer = self.buffer.take().unwrap_or_else(|| context.buffers.take());
        self.make_room(&mut buffer);
        let guess = if self.begin < self.end { None } else { self.contiguous_expected(context) };
        let start = self.end;
        let free = iovec(buffer[start..].as_ptr(), buffer.len() - start);
        let (iovecs, count) = match (self.data, guess) {
            (None, None) | (Some(_), None) => ([free, free], 1),
            // The rest of a piece, then whatever follows.
            (Some(_), Some((at, length))) => ([iovec(at, length), free], 2),
            // A header, then the payload that it probably announces.
            (None, Some((at, length))) => (
                [iovec(buffer.as_ptr(), front(length as u64)), iovec(at, length.min(GUESS_BYTES))],
                2,
            ),
        };
        let wanted: usize = iovecs[..count].iter().map(|vector| vector.iov_len).sum();
        // SAFETY: `buffer` is owned here and has room for its part. `at` is writable for `length`
        // bytes until the pull is reported (contract of `Tcp::pull`), and that pull is incomplete.
        let moved = unsafe { socket::read(socket, &iovecs[..count]) };
        self.buffer = Some(buffer);
        let got = match moved {
            Moved::Some(got) => got,
            other => {
                self.let_go(context.buffers);
                return match other {
                    Moved::End => {
                        ReadOutcome::Lost("the process at its other end has ended".to_owned())
                    }
                    Moved::Broken(error) => ReadOutcome::Lost(error.to_string()),
                    _ => ReadOutcome::Nothing,
                };
            }
        };
        self.read += got as u64;
        match guess {
            None => self.end += got,
            Some((at, length)) if self.data.is_some() => {
                let placed = got.min(length);
                self.end += got - placed;
                self.placed(at, placed, context);
            }
            Some((at, length)) => self.guessed(at, front(length as u64), got, context),
        }
        let stop = self.take_frames(context);
        self.outcome(&stop, got < wanted, context)
    }

    fn outcome<S>(
        &mut self,
        stop: &Stop,
        all: bool,
        context: &mut ReadContext<'_, S>,
    ) -> ReadOutcome {
        self.let_go(context.buffers);
        match stop {
            Stop::Goodbye => ReadOutcome::Goodbye,
            Stop::Malformed(what) => {
                ReadOutcome::Lost(format!("it sent {what}, which Towpath never sends"))
            }
            _ if all => ReadOutcome::Some,
            _ => ReadOutcome::More,
        }
    }

    /// Returns the buffer to the pool if it is empty.
    fn let_go(&mut self, buffers: &mut ReadBuffers) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            if let Some(buffer) = self.buffer.take() {
                buffers.give_back(buffer);
            }
        }
    }

    /// True if bytes in the buffer wait for a device: they are those of a piece of a pull.
    #[inline]
    pub(super) fn waits_for_device(&self) -> bool {
        self.begin < self.end && self.data.is_some()
    }

    /// Moves the unparsed bytes to the start if the longest frame would not fit after them.
    fn make_room(&mut self, buffer: &mut [u8]) {
        if self.begin > 0 && buffer.len() - self.begin < COPIED_LIMIT + LONG_FRONT {
            buffer.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
    }

    /// Where the bytes of the current piece, or those after the next header, go.
    fn contiguous_expected<S>(
        &mut self,
        context: &mut ReadContext<'_, S>,
    ) -> Option<(*mut u8, usize)> {
        if let Some((number, left)) = self.data {
            let (at, room) = context.pulls.contiguous(context.index, number)?;
            return Some((at, left.min(room)));
        }
        context.pulls.contiguous(context.index, *self.expected.front()?)
    }

    /// Accounts for `length` bytes of the current piece that are already in place.
    fn placed<S: Sink>(&mut self, at: *const u8, length: usize, context: &mut ReadContext<'_, S>) {
        let Some((number, left)) = self.data else { return };
        // SAFETY: the bytes are where `TcpPulls::contiguous` said to put them.
        let taken = unsafe { context.pulls.take(context.index, number, at, length) };
        self.data = Some((number, left - length)).filter(|(_, left)| *left > 0);
        if let PullOutcome::Last(token) = taken {
            self.forget_pull(number);
            context.sink.pulled(token);
        }
    }

    /// Sorts out a speculative read: of `got` bytes the first `ahead` are in the buffer and the
    /// rest in the memory of a pull, where they stay if they belong to it.
    fn guessed<S: Sink>(
        &mut self,
        at: *mut u8,
        ahead: usize,
        got: usize,
        context: &mut ReadContext<'_, S>,
    ) {
        self.end = got.min(ahead);
        let mut beyond = got.saturating_sub(ahead);
        let mut from = at.cast_const();
        let head = self.buffer.as_deref().and_then(|buffer| Frame::at_front(&buffer[..self.end]));
        if let Some(Ok(Frame::Data { number, offset, length })) = head
            && Some(&number) == self.expected.front()
            && (front(length) == ahead && got >= ahead)
            && context.pulls.expects(context.index, number, offset, length)
        {
            let belongs = beyond.min(usize::try_from(length).unwrap_or(usize::MAX));
            self.data = Some((number, length as usize)).filter(|(_, length)| *length > 0);
            (self.begin, self.end) = (0, 0);
            beyond -= belongs;
            from = from.wrapping_add(belongs);
            // Move what does not belong there before the pull can complete.
            self.keep(from, beyond);
            self.placed(at, belongs, context);
        } else {
            self.keep(from, beyond);
        }
    }

    /// Copies bytes from the memory of a pull to the end of the buffer.
    fn keep(&mut self, from: *const u8, length: usize) {
        if let Some(buffer) = &mut self.buffer {
            let room = &mut buffer[self.end..self.end + length];
            // SAFETY: a read has just put `length` bytes at `from`, which is in the memory of an
            // incomplete pull, and `room` has `length` bytes.
            unsafe { std::ptr::copy_nonoverlapping(from, room.as_mut_ptr(), length) };
            self.end += length;
        }
    }

    fn forget_pull(&mut self, number: u32) {
        self.expected.retain(|other| *other != number);
    }

    /// Parses all complete frames and pull bytes in the buffer.
    fn take_frames<S: Sink>(&mut self, context: &mut ReadContext<'_, S>) -> Stop {
        let Some(buffer) = self.buffer.take() else { return Stop::Missing };
        let stop = loop {
            let bytes = &buffer[self.begin..self.end];
            let step = match self.data {
                Some((number, left)) => self.take_data(number, left, bytes, context),
                None => self.take_frame(bytes, context),
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
        context: &mut ReadContext<'_, S>,
    ) -> Result<usize, Stop> {
        let length = left.min(bytes.len());
        if length == 0 {
            return Err(Stop::Missing);
        }
        // SAFETY: `bytes` is a slice of at least `length` bytes.
        match unsafe { context.pulls.take(context.index, number, bytes.as_ptr(), length) } {
            PullOutcome::Nothing => return Err(Stop::Device),
            PullOutcome::All => {}
            PullOutcome::Last(token) => {
                self.forget_pull(number);
                context.sink.pulled(token);
            }
        }
        self.data = Some((number, left - length)).filter(|(_, left)| *left > 0);
        Ok(length)
    }

    fn take_frame<S: Sink>(
        &mut self,
        bytes: &[u8],
        context: &mut ReadContext<'_, S>,
    ) -> Result<usize, Stop> {
        let Some(frame) = Frame::at_front(bytes) else { return Err(Stop::Missing) };
        let Ok(frame) = frame else { return Err(Stop::Malformed("bytes that are not a frame")) };
        match frame {
            Frame::Message { protocol, length, words } => {
                let begin = front(u64::from(length));
                let whole = begin + length as usize;
                let Some(payload) = bytes.get(begin..whole) else { return Err(Stop::Missing) };
                context.sink.arrived(
                    context.from,
                    &Header { protocol, words },
                    payload.as_ptr(),
                    payload.len(),
                );
                return Ok(whole);
            }
            Frame::Data { number, offset, length } => {
                if !context.pulls.expects(context.index, number, offset, length) {
                    return Err(Stop::Malformed("data that was not requested"));
                }
                if bytes.len() < front(length) {
                    return Err(Stop::Missing);
                }
                self.data = Some((number, length as usize));
                return Ok(front(length));
            }
            Frame::End { number } => {
                if let Some(token) = context.pulls.end(context.index, number) {
                    self.forget_pull(number);
                    context.sink.pulled(token);
                }
            }
            Frame::Pull { number, name, wanted } => {
                context.requests.push(PeerRequest::Pull {
                    index: context.index,
                    number,
                    name,
                    wanted,
                });
            }
            Frame::Release { name } => {
                context.requests.push(PeerRequest::Release { index: context.index, name })
            }
            Frame::Goodbye => return Err(Stop::Goodbye),
        }
        Ok(HEAD_BYTES)
    }
}
