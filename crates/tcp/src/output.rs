//! The output queue of one peer: complete frames in private memory, and pieces of regions that are
//! written directly from user memory. Not on the fast path.
//!
//! Order in the stream: frames in the order in which they were sent, and pieces of regions in
//! between, whenever no frame is pending. A piece that is partly written is completed before
//! anything else.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use towpath_base::transfer::{Source, Step};

use super::frame::{Frame, HEAD_BYTES, LONG_FRONT, front, long_front};
use super::socket::{self, Moved, iovec};
use super::transfers::TcpPush;
use towpath_transport::bytes::Bytes;
use towpath_transport::{SHORT_BYTES, copy};

/// Bytes of a region written in one piece before pending frames get their turn.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes that a packer fills at a time.
const FILL_BYTES: usize = 128 * 1024;
/// Pending bytes of frames; above this limit messages are refused.
pub(super) const QUEUE_LIMIT: usize = 256 * 1024;

/// A piece of a region that is written from user memory.
struct RegionPiece {
    /// The header in front of it, and how many bytes of `front` are in use.
    front: [u8; LONG_FRONT],
    used: usize,
    /// Bytes of `front` that are written.
    begun: usize,
    at: *const u8,
    left: usize,
}

/// All pending output of one peer.
#[derive(Default)]
pub(super) struct Output {
    queue: Bytes,
    piece: Option<RegionPiece>,
    /// Regions that the peer has requested, in the order of the requests.
    pushes: VecDeque<TcpPush>,
    /// Bytes written to the connection that is currently open.
    pub(super) written: u64,
}

impl Output {
    /// True if nothing is pending.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.pushes.is_empty() && self.piece.is_none()
    }

    /// True if a message must be refused.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() >= QUEUE_LIMIT
    }

    /// True if a frame may be written ahead of all pending output.
    #[inline]
    pub(super) fn lets_pass(&self) -> bool {
        self.queue.is_empty() && self.piece.as_ref().is_none_or(|piece| piece.begun == 0)
    }

    /// Writes a message with a contiguous payload, and enqueues what the socket does not accept.
    /// The connection must be open, and [`Output::lets_pass`] true.
    ///
    /// # Safety
    /// `payload` must be readable for `length` bytes.
    #[inline]
    pub(super) unsafe fn write(
        &mut self,
        socket: &OwnedFd,
        head: &[u8; HEAD_BYTES],
        payload: *const u8,
        length: usize,
    ) -> Moved {
        let long;
        let front: &[u8] = if front(length as u64) > HEAD_BYTES {
            long = long_front(head);
            &long
        } else {
            head
        };
        let moved = if length <= SHORT_BYTES {
            // One buffer costs the kernel less time than two.
            let mut whole = [0; HEAD_BYTES + SHORT_BYTES];
            whole[..HEAD_BYTES].copy_from_slice(head);
            // SAFETY: `payload` is readable for `length` bytes (this function's contract), and
            // `whole` has `SHORT_BYTES` bytes after the header.
            unsafe { copy::short(payload, whole[HEAD_BYTES..].as_mut_ptr(), length) };
            socket::write_bytes(socket, &whole[..HEAD_BYTES + length])
        } else {
            let mut iovecs = [iovec(front.as_ptr(), front.len()), iovec(payload, length)];
            // SAFETY: `front` is a live array, and `payload` is readable for `length` bytes (this
            // function's contract).
            unsafe { socket::write(socket, &mut iovecs) }
        };
        let gone = match moved {
            Moved::Some(gone) => gone,
            _ => 0,
        };
        self.written += gone as u64;
        if gone < front.len() + length {
            self.queue.append(&front[gone.min(front.len())..]);
            let gone = gone.saturating_sub(front.len());
            // SAFETY: `payload` is readable for `length` bytes (this function's contract), of which
            // `gone` are written.
            unsafe { self.append(payload.wrapping_add(gone), length - gone) };
        }
        moved
    }

    /// # Safety
    /// `payload` must be readable for `length` bytes.
    unsafe fn append(&mut self, payload: *const u8, length: usize) {
        if length > 0 {
            // SAFETY: `payload` is readable for `length` bytes (this function's contract). Only an
            // erroneous program writes to a send buffer at the same time.
            self.queue.append(unsafe { std::slice::from_raw_parts(payload, length) });
        }
    }

    /// Enqueues a frame whose `length` bytes of payload `write` stores at the pointer passed to it.
    pub(super) fn keep(&mut self, frame: &Frame, length: usize, write: impl FnOnce(*mut u8)) {
        let at = self.queue.data.len() + front(length as u64);
        self.queue.append(&frame.encode());
        self.queue.data.resize(at + length, 0);
        write(self.queue.data[at..].as_mut_ptr());
    }

    /// Enqueues a region that the peer has requested.
    pub(super) fn push(&mut self, push: TcpPush) {
        self.pushes.push_back(push);
    }

    /// Writes as much as the socket accepts. Appends the tokens of completely written regions to
    /// `released`. Returns `Moved::None` if nothing was written.
    pub(super) fn flush(&mut self, socket: &OwnedFd, released: &mut Vec<u64>) -> Moved {
        let mut total = 0;
        loop {
            let prepared = self.prepare(released);
            let (iovecs, count) = self.iovecs();
            if count == 0 {
                return if total > 0 || prepared { Moved::Some(total) } else { Moved::None };
            }
            let wanted: usize = iovecs[..count].iter().map(|vector| vector.iov_len).sum();
            let mut iovecs = iovecs;
            // SAFETY: the buffers are the queue and the header of the piece, which do not change
            // during the call, and memory of a region, which lives until it is released (contract
            // of `Tcp::publish`).
            match unsafe { socket::write(socket, &mut iovecs[..count]) } {
                Moved::Some(gone) => {
                    total += gone;
                    self.written += gone as u64;
                    self.forget(gone, released);
                    if gone < wanted {
                        return Moved::Some(total);
                    }
                }
                Moved::None if total > 0 => return Moved::Some(total),
                other => return other,
            }
        }
    }

    /// Takes the next piece of the first push, if none is being written; true if a packer has run
    /// or the push has ended.
    fn prepare(&mut self, released: &mut Vec<u64>) -> bool {
        let Some(push) = self.pushes.front_mut().filter(|_| self.piece.is_none()) else {
            return false;
        };
        if push.left == 0 {
            self.end_of_push(released);
            return true;
        }
        let TcpPush { source, left, pull, gone, .. } = push;
        let frame =
            |length: usize| Frame::Data { number: *pull, offset: *gone, length: length as u64 };
        if let Source::Bytes { pointer, .. } = source {
            let length = (*left).min(PIECE_BYTES);
            let (head, used) = (frame(length).encode(), front(length as u64));
            self.piece = Some(RegionPiece {
                front: long_front(&head),
                used,
                begun: 0,
                at: *pointer,
                left: length,
            });
            return false;
        }
        if self.queue.len() >= FILL_BYTES {
            return false;
        }
        let (before, capacity) = (self.queue.data.len(), (*left).min(FILL_BYTES));
        let room = before + front(capacity as u64);
        self.queue.data.resize(room + capacity, 0);
        let into = self.queue.data[room..].as_mut_ptr();
        // SAFETY: `into` is writable for `capacity` bytes, and the memory behind `source` lives
        // until the region is released (contract of `Tcp::publish`).
        let filled = match unsafe { source.fill(into, capacity) } {
            Step::Done(filled) => Some(filled),
            Step::Pending => None,
        };
        if let Some(filled) = filled.filter(|filled| *filled > 0) {
            let begin = before + front(filled as u64);
            // A shorter payload than planned may need a shorter front.
            self.queue.data.copy_within(room..room + filled, begin);
            self.queue.data[before..before + HEAD_BYTES].copy_from_slice(&frame(filled).encode());
        }
        self.queue.data.truncate(match filled {
            Some(filled) if filled > 0 => before + front(filled as u64) + filled,
            _ => before,
        });
        let Some(filled) = filled else { return false };
        *gone += filled as u64;
        *left -= filled;
        if filled == 0 {
            // The source has yielded less than its length.
            (*left, push.short) = (0, true);
        }
        if push.left == 0 {
            self.end_of_push(released);
        }
        true
    }

    /// Completes the first push.
    fn end_of_push(&mut self, released: &mut Vec<u64>) {
        if let Some(push) = self.pushes.pop_front() {
            released.push(push.token);
            if push.short {
                self.queue.append(&Frame::End { number: push.pull }.encode());
            }
        }
    }

    /// The buffers to write next.
    fn iovecs(&self) -> ([libc::iovec; 3], usize) {
        let (mut iovecs, mut count) = ([iovec(std::ptr::null(), 0); 3], 0);
        let mut add = |pointer: *const u8, length: usize| {
            if length > 0 {
                iovecs[count] = iovec(pointer, length);
                count += 1;
            }
        };
        let queue = self.queue.front();
        let begun = self.piece.as_ref().is_some_and(|piece| piece.begun > 0);
        if !begun {
            add(queue.as_ptr(), queue.len());
        }
        if let Some(piece) = &self.piece {
            add(piece.front[piece.begun..].as_ptr(), piece.used - piece.begun);
            add(piece.at, piece.left);
        }
        if begun {
            add(queue.as_ptr(), queue.len());
        }
        (iovecs, count)
    }

    /// Consumes `gone` bytes of the buffers.
    fn forget(&mut self, mut gone: usize, released: &mut Vec<u64>) {
        let begun = self.piece.as_ref().is_some_and(|piece| piece.begun > 0);
        if !begun {
            let of_queue = gone.min(self.queue.len());
            self.queue.forget(of_queue);
            gone -= of_queue;
        }
        if let Some(piece) = &mut self.piece {
            let of_front = gone.min(piece.used - piece.begun);
            let of_data = (gone - of_front).min(piece.left);
            piece.begun += of_front;
            piece.at = piece.at.wrapping_add(of_data);
            piece.left -= of_data;
            gone -= of_front + of_data;
            if piece.left == 0 && piece.begun == piece.used {
                self.end_of_piece(released);
            }
        }
        if begun {
            self.queue.forget(gone);
        }
    }

    fn end_of_piece(&mut self, released: &mut Vec<u64>) {
        self.piece = None;
        let Some(push) = self.pushes.front_mut() else { return };
        let length = push.left.min(PIECE_BYTES);
        if let Source::Bytes { pointer, length: rest } = &mut push.source {
            *pointer = pointer.wrapping_add(length);
            *rest -= length;
        }
        push.gone += length as u64;
        push.left -= length;
        if push.left == 0 {
            self.end_of_push(released);
        }
    }
}
