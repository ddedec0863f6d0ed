//! What waits to be written to one peer: whole frames in private memory, and pieces of regions that
//! are written straight from the memory of the program. Large path.
//!
//! Order in the stream: frames in the order in which they were sent; pieces of regions between
//! them, whenever no frame waits. A piece of which a part is out is finished before anything else.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use towpath_base::transfer::{Source, Step};

use super::frame::{Frame, HEAD_BYTES, LONG_FRONT, front, long_front};
use super::socket::{self, Moved, row};
use super::transfers::Push;
use towpath_transport::bytes::Bytes;
use towpath_transport::{SHORT_BYTES, copy};

/// Bytes of a region that go in a row, before frames that wait go.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes that a packer fills at a time.
const FILL_BYTES: usize = 128 * 1024;
/// Bytes of frames that may wait; then messages are refused.
pub(super) const QUEUE_LIMIT: usize = 256 * 1024;

/// A part of a region on its way from the program's memory.
struct Piece {
    /// What goes in front of it, and how much of that is used.
    front: [u8; LONG_FRONT],
    used: usize,
    /// Bytes of the front that are out.
    begun: usize,
    at: *const u8,
    left: usize,
}

/// Everything that waits for one peer.
#[derive(Default)]
pub(super) struct Output {
    queue: Bytes,
    piece: Option<Piece>,
    /// Regions that the peer has asked for, in the order in which it asked.
    pushes: VecDeque<Push>,
    /// Bytes written to the connection that is open now.
    pub(super) written: u64,
}

impl Output {
    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.pushes.is_empty() && self.piece.is_none()
    }

    /// True when a message must be refused.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() >= QUEUE_LIMIT
    }

    /// True when a frame may be written past everything that waits.
    #[inline]
    pub(super) fn lets_pass(&self) -> bool {
        self.queue.is_empty() && self.piece.as_ref().is_none_or(|piece| piece.begun == 0)
    }

    /// Writes a message with its payload in a row, and keeps what the socket does not take. The
    /// connection must be open and [`Output::lets_pass`].
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
            // One row takes the system less time than two.
            let mut whole = [0; HEAD_BYTES + SHORT_BYTES];
            whole[..HEAD_BYTES].copy_from_slice(head);
            // SAFETY: the caller lends `length` bytes, which fit.
            unsafe { copy::short(payload, whole[HEAD_BYTES..].as_mut_ptr(), length) };
            socket::write_bytes(socket, &whole[..HEAD_BYTES + length])
        } else {
            let mut rows = [row(front.as_ptr(), front.len()), row(payload, length)];
            // SAFETY: the front is an array; the caller vouches for the payload.
            unsafe { socket::write(socket, &mut rows) }
        };
        let gone = match moved {
            Moved::Some(gone) => gone,
            _ => 0,
        };
        self.written += gone as u64;
        if gone < front.len() + length {
            self.queue.append(&front[gone.min(front.len())..]);
            let gone = gone.saturating_sub(front.len());
            // SAFETY: so many bytes of the payload are left.
            unsafe { self.append(payload.wrapping_add(gone), length - gone) };
        }
        moved
    }

    /// # Safety
    /// `payload` must be readable for `length` bytes.
    unsafe fn append(&mut self, payload: *const u8, length: usize) {
        if length > 0 {
            // SAFETY: promised by the caller. Others may write to the memory at the same time only
            // by mistake.
            self.queue.append(unsafe { std::slice::from_raw_parts(payload, length) });
        }
    }

    /// Keeps a frame whose `length` bytes of payload `write` puts at the pointer that it gets.
    pub(super) fn keep(&mut self, frame: &Frame, length: usize, write: impl FnOnce(*mut u8)) {
        let at = self.queue.data.len() + front(length as u64);
        self.queue.append(&frame.encode());
        self.queue.data.resize(at + length, 0);
        write(self.queue.data[at..].as_mut_ptr());
    }

    /// The peer has asked for a region.
    pub(super) fn push(&mut self, push: Push) {
        self.pushes.push_back(push);
    }

    /// Writes what the socket takes. Tokens of regions that are out go to `released`. `Moved::None`
    /// when nothing went.
    pub(super) fn flush(&mut self, socket: &OwnedFd, released: &mut Vec<u64>) -> Moved {
        let mut total = 0;
        loop {
            let prepared = self.prepare(released);
            let (rows, count) = self.rows();
            if count == 0 {
                return if total > 0 || prepared { Moved::Some(total) } else { Moved::None };
            }
            let wanted: usize = rows[..count].iter().map(|row| row.iov_len).sum();
            let mut rows = rows;
            // SAFETY: the rows are the own queue and head, and memory that `Wire::publish` was
            // promised to live.
            match unsafe { socket::write(socket, &mut rows[..count]) } {
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

    /// Takes the next piece of the first push, where none is on its way; true when a packer has
    /// moved.
    fn prepare(&mut self, released: &mut Vec<u64>) -> bool {
        let Some(push) = self.pushes.front_mut().filter(|_| self.piece.is_none()) else { return false };
        if push.left == 0 {
            self.end_of_push(released);
            return true;
        }
        let Push { source, left, pull, gone, .. } = push;
        let frame = |length: usize| Frame::Data { number: *pull, offset: *gone, length: length as u64 };
        if let Source::Bytes { pointer, .. } = source {
            let length = (*left).min(PIECE_BYTES);
            let (head, used) = (frame(length).encode(), front(length as u64));
            self.piece = Some(Piece { front: long_front(&head), used, begun: 0, at: *pointer, left: length });
            return false;
        }
        if self.queue.len() >= FILL_BYTES {
            return false;
        }
        let (before, capacity) = (self.queue.data.len(), (*left).min(FILL_BYTES));
        let room = before + front(capacity as u64);
        self.queue.data.resize(room + capacity, 0);
        let into = self.queue.data[room..].as_mut_ptr();
        // SAFETY: so many bytes are there; `Wire::publish` promised that the source lives.
        let filled = match unsafe { source.fill(into, capacity) } {
            Step::Done(filled) => Some(filled),
            Step::Pending => None,
        };
        if let Some(filled) = filled.filter(|filled| *filled > 0) {
            let begin = before + front(filled as u64);
            // Fewer bytes than there was room for may need less in front of them.
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
            // The source has yielded less than it said.
            (*left, push.short) = (0, true);
        }
        if push.left == 0 {
            self.end_of_push(released);
        }
        true
    }

    /// The first push is out.
    fn end_of_push(&mut self, released: &mut Vec<u64>) {
        if let Some(push) = self.pushes.pop_front() {
            released.push(push.token);
            if push.short {
                self.queue.append(&Frame::End { number: push.pull }.encode());
            }
        }
    }

    /// What to write next.
    fn rows(&self) -> ([libc::iovec; 3], usize) {
        let (mut rows, mut count) = ([row(std::ptr::null(), 0); 3], 0);
        let mut add = |pointer: *const u8, length: usize| {
            if length > 0 {
                rows[count] = row(pointer, length);
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
        (rows, count)
    }

    /// So many bytes of the rows are out.
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
